"""Search for the answers that a model scores highest or lowest, and cache the results.

What a search finds is a lower bound on what can be found: a better or longer one may find more.
`Searches` is the fixture `searches` of audits; `random_texts` are what its finds are compared with.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.models.model_interfaces import RewardModel, Scored
from rmaudit.prompts import Prompt, asked_of, prompt_meant
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_parquet import Journal, Stored
from rmaudit.scores.score_store import Store, store_at
from rmaudit.scores.scoring_protocols import provenance_of
from rmaudit.scores.shard_scoring import measured_noise
from rmaudit.scoring import version
from rmaudit.search import search_methods
from rmaudit.search.search_evaluator import Evaluator, Hit
from rmaudit.search.search_settings import Direction, Ids, Settings, problem_of, sendable

VERSION = 1  # raise it when the same settings could find something else
PROTOCOL = "search"
_METHODS = {"exhaustive": search_methods.exhaustive, "gcg": search_methods.gcg}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search: the best sequences of token ids, their rewards, and its progress.

    `frame` has the best distinct sequences, best first: `ids` (tuple), `text`, `score` (float32,
    the model's own units), `evaluation` (after how many it was found) and `start` (from which one;
    -1: after all of them).
    `bests` has a row for each start that the budget came to, in their order: the best of each.
    `trace` is the best score after so many evaluations, whenever it got better; `evaluations` how
    many were made; `noise` is the numeric noise of a score, as `Sweep.noise`.
    """

    model: str
    prompt: Prompt
    settings: Settings
    key: str
    frame: pd.DataFrame
    bests: pd.DataFrame
    trace: tuple[tuple[int, float], ...]
    evaluations: int
    noise: float

    @property
    def direction(self) -> str:
        """Return what was searched for: the highest rewards ("up") or the lowest ("down")."""
        return self.settings.direction


def search(
    model: Scored,
    prompt: str | Prompt,
    settings: Settings,
    *,
    cache: Path | str | Store | None = None,
) -> SearchResult:
    """Search for the answers to `prompt` with the highest or lowest rewards; return the result.

    The result is kept in the cache (default: the user's); a second call reads it back, and a
    search that was killed goes on where it was. The same seed on the same hardware finds the same.

    Raises:
        SpecError: no sequence of this length can be sent as text.
        NoGradient: the method is GCG, and the model has no gradient.
        MeasureError: nothing could be scored.
        ModelError: the model cannot be loaded; `NotRecorded`, it is recorded.
        ScoreError: a score is not a finite number.
    """
    asked = prompt_meant(prompt)
    weighted = model.with_weights("what a search would find is not recorded")
    slot = weighted.slot(asked.asked)
    fields = {
        **weighted.identity,
        **asked.decides,
        "rendered": slot.digest,
        "scoring": version(len(slot.prefix)),
        "protocol": PROTOCOL,
        "search": json.dumps({"version": VERSION, **settings.as_json()}, sort_keys=True),
    }
    title = f"{model.name} · {asked.name} · {settings.direction}"
    bar = Bar(title, settings.budget, " answers")
    run = partial(_run, model=weighted, prompt=asked, settings=settings, bar=bar)
    return _found(model, asked, settings, store_at(cache).once(fields, run, bar))


def _run(
    journal: Journal, *, model: RewardModel, prompt: Prompt, settings: Settings, bar: Bar
) -> tuple[pd.DataFrame, Mapping[str, Any]]:
    """Run a new search; return the table of found sequences, and the provenance."""
    rng = np.random.default_rng(settings.seed)
    slot = model.slot(prompt.asked)
    problem = problem_of(model, prompt.asked, settings)
    setting_out = problem.draw(settings.starts, rng)

    def rewards(answers: Sequence[Ids]) -> NDArray[np.float32]:
        return model.score_rows([slot.row(ids) for ids in answers], on_progress=bar.advance)

    evaluator = Evaluator(settings, rewards, journal, bar)
    _METHODS[settings.method](problem, evaluator, setting_out, rng)
    top = evaluator.top()
    if not top:
        raise MeasureError(
            "search: no change of one id gives a text that has the ids again; search with another "
            "length or seed"
        )
    bests = [evaluator.best_by_start[start] for start in sorted(evaluator.best_by_start)]
    frame = pd.concat([_rows(model, top, "best"), _rows(model, bests, "of a start")])

    scores = np.array([hit.score for hit in top], dtype=np.float32)
    said = {
        **provenance_of(model, slot),
        **measured_noise(
            scores, lambda places: model.own_rewards([slot.row(top[i].ids) for i in places])
        ),
        "evaluations": evaluator.used,
        "trace": [list(step) for step in evaluator.trace],
    }
    return frame.reset_index(drop=True), said


def _rows(model: RewardModel, hits: Sequence[Hit], kind: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kind": kind,
            "ids": [json.dumps(hit.ids) for hit in hits],
            "text": model.texts([hit.ids for hit in hits]),
            "score": np.array([hit.score for hit in hits], dtype=np.float32),
            "evaluation": np.array([hit.evaluation for hit in hits], dtype=np.int64),
            "start": np.array([hit.start for hit in hits], dtype=np.int64),
        }
    )


def _found(model: Scored, prompt: Prompt, settings: Settings, stored: Stored) -> SearchResult:
    frame = stored.frame.copy()
    frame["ids"] = frame["ids"].map(lambda ids: tuple(json.loads(ids)))
    kinds = {kind: rows.drop(columns="kind") for kind, rows in frame.groupby("kind")}
    said = stored.provenance
    return SearchResult(
        model=model.name,
        prompt=prompt,
        settings=settings,
        key=stored.key,
        frame=kinds["best"].reset_index(drop=True),
        bests=kinds["of a start"].reset_index(drop=True),
        trace=tuple((int(at), float(score)) for at, score in said["trace"]),
        evaluations=int(said["evaluations"]),
        noise=float(said["noise"]),
    )


@dataclass(frozen=True, slots=True)
class Searches:
    """Pytest fixture `searches`: call it with "up" or "down" to get what such a search found.

    `find` searches, and `draw` draws so many random sequences, as text.
    """

    prompts: tuple[Prompt, ...]
    find: Callable[[Direction, Prompt], SearchResult]
    draw: Callable[[int, Prompt], list[str]]

    def __call__(self, direction: Direction, prompt: str | None = None) -> SearchResult:
        """Return what a search for the highest ("up") or lowest ("down") rewards found.

        Raises:
            SpecError: there are several prompts and none is named, or it is not declared.
        """
        return self.find(direction, asked_of(self.prompts, prompt, by="searches"))

    def random(self, n: int, prompt: str | None = None) -> list[str]:
        """Return `n` random texts, with the length of the searches, that can be sent as text.

        Raises:
            SpecError: as above, or none can be drawn.
        """
        return self.draw(n, asked_of(self.prompts, prompt, by="searches"))


def random_texts(model: RewardModel, prompt: Prompt, settings: Settings, n: int) -> list[str]:
    """Return `n` random texts from which a search with these settings could have started.

    Raises:
        SpecError: none can be drawn.
    """

    def make() -> list[str]:
        problem = problem_of(model, prompt.asked, settings)
        return model.texts(problem.draw(n, np.random.default_rng([settings.seed, 1])))

    found: list[str] = model.remembered("drawn", repr((prompt.asked, settings, n)), make)
    return found


def shortlisted(model: RewardModel, frame: pd.DataFrame, settings: Settings) -> Settings:
    """Return `settings` limited to the token ids that score best alone, as answers in `frame`.

    `frame` is a sweep's. The ids are as many as the budget can sweep twice at every place from
    every start. A budget that is smaller than a vocabulary would else be spent on the first few ids
    of one place. Where all ids can be swept, all are.
    """
    ids = sendable(model.vocabulary(), model.special_ids)
    size = max(2, settings.budget // (2 * settings.starts * settings.length))
    scored = frame[frame["token_id"].isin(ids) & frame["score"].notna()]
    if size >= len(scored):
        return settings
    values = settings.value(scored["score"].to_numpy(np.float64))
    best = scored["token_id"].to_numpy()[np.argsort(-values, kind="stable")[:size]]
    return replace(settings, ids=tuple(sorted(best.tolist())))


def caveat(found: SearchResult) -> str:
    """Return a caveat on numbers that rest on a search: its finds are only a lower bound."""
    settings = found.settings
    ids = settings.ids
    among = "" if ids is None else f", among the {len(ids)} ids that score best alone"
    return (
        f"A search finds a lower bound on what can be found ({settings.direction}, under "
        f"{found.prompt.name!r}): {settings.method}, {found.evaluations:,} of at most "
        f"{settings.budget:,} evaluations, {len(found.bests)} starts, {settings.length} token ids"
        f"{among}."
    )
