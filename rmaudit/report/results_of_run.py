"""Write results.json at the end of a run, from its findings and sweeps.

`record` gathers what the findings rest on and writes the file, `collect` makes the results, with a
summary of each sweep, and `compare_models` how alike several models rank words. All other files of
a run's folder are rendered from results.json (`report.writers`).
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.paths_and_atomic_writes import clear_leftovers
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.measures.ranking_comparison import in_common, plane_coordinates, taus
from rmaudit.prompts import CUSTOM, names_each
from rmaudit.references.word_list_lookup import zipf
from rmaudit.report import packed_scores, results_document, results_reader
from rmaudit.report.releases.blessed_release import Blessing
from rmaudit.report.releases.release_regressions import with_blessed
from rmaudit.report.results_document import (
    SCHEMA,
    AuditedModel,
    Comparison,
    Histogram,
    PackedVocabulary,
    Ranked,
    Results,
    Run,
    SweepSummary,
    Token,
)
from rmaudit.scores.score_store import Store
from rmaudit.scores.sweep import sweep_under
from rmaudit.scores.sweep_result import Sweep
from rmaudit.verdicts.findings import AnyFinding, Figure, Finding
from rmaudit.verdicts.run_verdict import of_run

_NO_OWN_WORDS = OwnWords()
_EXTREMES = 25  # tokens shown at each end
_BINS = 80
FEWEST = 30  # shared words
_ENDS, _MOST_UNLIKE = 3, 6  # words at either end; words that are ranked most unlike
_COMMON = 3.0  # Zipf: people write it once in a million words; parts of words they do not


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """A sweep's scores and provenance with its model and prompt, as a report needs them."""

    model: str
    prompt: str
    prompt_text: str
    key: str
    frame: pd.DataFrame
    provenance: Mapping[str, object]
    whole: bool = True  # every token's score is kept, rather than a summary alone


def started() -> str:
    """Return the time as a run states it: UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def environment(own_words: OwnWords = _NO_OWN_WORDS) -> dict[str, str]:
    """Return the versions that decide numbers, and which words of the user's own were asked."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: version(name) for name in ("pytest", "torch", "transformers")},
        **({results_document.OWN_LISTS: own} if (own := own_words.told) else {}),
    }


def record(  # noqa: PLR0913  (keyword-only after the subjects)
    findings: Sequence[Finding],
    specs: Sequence[ModelSpec],
    store: Store,
    run: Run,
    *,
    base: Path,
    made: Iterable[Sweep] = (),
    own_words: OwnWords = _NO_OWN_WORDS,
    blessed: Mapping[str, Blessing] = MappingProxyType({}),
    figures: Sequence[Figure] = (),
) -> tuple[Results, Path]:
    """Write `<base>/<time>/results.json`; return the results and the folder of the report.

    Sweeps that were `made` in this process are not read from the store again. Models are compared
    with their `blessed` releases. The returned results are read back from the file.
    """
    clear_leftovers(base, "*/")
    folder = _new_folder(base, run.created.replace(":", "-"))
    records = _records([*findings, *figures], store, {sweep.key: sweep for sweep in made})
    path = folder / "results.json"
    made_of = collect(run, specs, records, findings, own_words=own_words)
    whole = with_blessed(replace(made_of, figures=tuple(figures)), blessed)
    results_document.write(whole, path, indent=None)  # it is written anew as soon as it is read
    results = results_reader.read(path)
    results_document.write(results, path)  # as who reads it would write it: 1.0 where there was 1
    return results, folder


def _records(
    findings: Sequence[AnyFinding], store: Store, made: Mapping[str, Sweep]
) -> list[SweepRecord]:
    """Return the sweeps behind the findings, from `made` or else from the store of scores."""
    records: dict[str, SweepRecord] = {}
    named = {key for finding in findings if names_each(finding.prompt) for key in finding.sweeps}
    for finding in findings:
        for key in finding.sweeps:
            swept = None if key in records else sweep_under(key, store, made)
            if swept is not None:
                asked = swept.prompt
                records[key] = SweepRecord(
                    model=finding.model,
                    prompt=asked.text if asked.name == CUSTOM else asked.name,
                    prompt_text=asked.text,
                    key=key,
                    frame=swept.frame,
                    provenance=swept.provenance,
                    whole=key in named,  # of a family of wordings, summaries
                )
    return list(records.values())


def _new_folder(base: Path, name: str) -> Path:
    """Create a new folder below `base`, so that no run overwrites another."""
    for attempt in range(1000):
        folder = base / (f"{name}-{attempt}" if attempt else name)
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
    message = f"{base} has a thousand reports of {name}"
    raise FileExistsError(message)


def collect(
    run: Run,
    specs: Sequence[ModelSpec],
    sweeps: Iterable[SweepRecord],
    findings: Iterable[Finding],
    *,
    own_words: OwnWords = _NO_OWN_WORDS,
) -> Results:
    """Build the results of a run from its findings and sweeps."""
    decided = tuple(findings)
    by_model: dict[str, list[SweepSummary]] = {spec.name: [] for spec in specs}
    vocabularies: dict[str, PackedVocabulary] = {}
    frames: dict[str, dict[str, pd.DataFrame]] = {}
    for record in sweeps:
        by_model[record.model].append(_summary(record, vocabularies))
        frames.setdefault(record.prompt, {})[record.model] = packed_scores.spelled(record.frame)
    return Results(
        schema=SCHEMA,
        run=run,
        models=tuple(
            AuditedModel(
                name=spec.name,
                source=spec.source,
                base_model=spec.base_model,
                rewardbench_rank=spec.rewardbench_rank,
                notes=tuple(spec.notes),
                sweeps=tuple(by_model[spec.name]),
                of=spec.of,
            )
            for spec in specs
        ),
        vocabularies=vocabularies,
        comparison=tuple(compare_models(frames, own_words)),
        verdict=of_run(decided, run.gaps),
        findings=decided,
    )


def _summary(record: SweepRecord, vocabularies: dict[str, PackedVocabulary]) -> SweepSummary:
    """Summarize a sweep; if its scores are kept, add its vocabulary to `vocabularies`."""
    every = record.frame["score"].to_numpy(np.float32)
    scored = record.frame[record.frame["score"].notna()]
    scores = scored["score"].to_numpy(float)
    mean, sd = float(scores.mean()), float(scores.std())
    counts, edges = np.histogram(scores, bins=_BINS)
    digest = packed_scores.add_vocabulary(record.frame, vocabularies) if record.whole else None
    best, worst = (
        scored.sort_values("score", ascending=up, kind="stable").head(_EXTREMES)
        for up in (False, True)
    )
    return SweepSummary(
        key=record.key,
        prompt=record.prompt,
        prompt_text=record.prompt_text,
        n=len(scored),
        mean=mean,
        sd=sd,
        # By hand: an interrupted run would import scipy.stats for this alone, a second.
        skewness=float(np.mean(((scores - mean) / sd) ** 3)) if sd else 0.0,
        histogram=Histogram(tuple(edges.tolist()), tuple(counts.tolist())),
        top=_tokens(best, mean, sd),
        bottom=_tokens(worst, mean, sd),
        provenance={key: _json_value(value) for key, value in record.provenance.items()},
        vocabulary=digest,
        scores=packed_scores.pack(every) if record.whole else None,
    )


def _tokens(rows: pd.DataFrame, mean: float, sd: float) -> tuple[Token, ...]:
    columns = (rows[name] for name in ("token_id", "token", "text", "score"))
    return tuple(
        Token(int(token_id), token, text, float(score), (float(score) - mean) / sd if sd else 0.0)
        for token_id, token, text, score in zip(*columns, strict=True)
    )


def _json_value(value: object) -> str | int | float:
    """Return a JSON value as it is, anything else as its text."""
    if isinstance(value, bool | str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def compare_models(
    frames: Mapping[str, Mapping[str, pd.DataFrame]], own_words: OwnWords = _NO_OWN_WORDS
) -> list[Comparison]:
    """Compare how several models rank their shared words, separately for each prompt.

    `frames` are keyed by prompt and model, with columns `text` and `score`; only common words are
    ranked. A model that scores all shared words alike is left out; so is a prompt with fewer than
    `FEWEST`.
    """
    out = []
    for prompt, by_model in frames.items():
        scores = in_common(by_model) if len(by_model) > 1 else pd.DataFrame()
        scores = scores.loc[:, scores.min() < scores.max()]
        if len(scores) < FEWEST or scores.shape[1] < 2:  # noqa: PLR2004  (a pair)
            continue
        tau = taus(scores)
        out.append(
            Comparison(
                prompt=prompt,
                models=tuple(str(name) for name in scores),
                words=len(scores),
                tau=tuple(map(tuple, tau.to_numpy().round(4).tolist())),
                places=tuple(map(tuple, plane_coordinates(tau).to_numpy().round(4).tolist())),
                ranked=_ranked(scores, own_words),
            )
        )
    return out


def _ranked(scores: pd.DataFrame, own_words: OwnWords) -> tuple[Ranked, ...]:
    """Return frequent words of the best and worst mean rank over models, then the least agreed."""
    ranks = scores.sort_index().rank(ascending=False)
    common = zipf("wordfreq", ranks.index, own_words)
    ranks = ranks[ranks.index.isin(common.index[common >= _COMMON])]
    by_mean = ranks.mean(axis=1).sort_values(kind="stable").index
    by_range = (ranks.max(axis=1) - ranks.min(axis=1)).sort_values(kind="stable").index[::-1]
    chosen = [*by_mean[:_ENDS], *by_mean[-_ENDS:], *by_range[:_MOST_UNLIKE]]
    kept = list(dict.fromkeys(str(word) for word in chosen))
    ordered = np.round(ranks.loc[kept].to_numpy(float), 1).tolist()
    return tuple(Ranked(word, tuple(row)) for word, row in zip(kept, ordered, strict=True))
