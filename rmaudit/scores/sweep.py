"""Score every token id of a vocabulary as a one-token answer to a prompt: a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.model_factory import Opening, opened_by_name
from rmaudit.models.model_interfaces import Scored
from rmaudit.prompts import ALL, CUSTOM, Prompt, prompt_meant
from rmaudit.scores import imported_scores, scoring_protocols
from rmaudit.scores.score_parquet import Stored
from rmaudit.scores.score_store import Store, store_at
from rmaudit.scores.sweep_result import Sweep
from rmaudit.scores.token_sample import (
    NAMED,
    Sample,
    checked_size,
    checked_words,
    mask_of_scored_words,
    mask_of_words,
    spread,
)

PROTOCOLS = ("exact", "paper")
_OURS = OwnWords()


def sweep(  # noqa: PLR0913  (keyword-only after the subjects)
    model: Scored | str | Path,
    prompt: str | Prompt,
    *,
    protocol: str | None = None,
    cache: Path | str | Store | None = None,
    sample: int | None = None,
    seed: int = 0,
    words: Sequence[str] = (),
    own_words: OwnWords = _OURS,
    recorded: bool = False,
) -> Sweep:
    """Return the rewards of every token id of the model's vocabulary as the answer to `prompt`.

    `model` is one that `rmaudit.load` returned, or what `load` and `rmaudit.run` take: a name of
    the registry, a checkpoint folder or a hub id, which is then loaded; with `recorded`, its
    published scores are read in place of that, which needs no weights.
    `prompt` is the name of one of the paper's prompts ("greatest", "best", "worst") or of their
    family ("best_world_please"), or any text; a `Prompt` is asked as it is. Prompts and lexicons of
    `own_words` are known by their names, too.
    The result is kept in the cache (a folder or a URL; default: the user's); a second call reads it
    back.
    The protocol "exact" puts each id itself between the prompt and what follows; "paper" decodes,
    renders and tokenizes it anew as Christian et al. 2025 did (`retokenized`). The default
    is "exact"; of a recorded model there are only whole sweeps under "paper", so it is that, and
    a function of texts has its own.

    For a first look at a large model, `sample` is how many ids to score, drawn with `seed`; to
    these come ids named by `words`: all of those that are words, and of the words of a lexicon,
    "lexicon:labmt" and the like, so many that no more ids are named than drawn. A sample as large
    as the vocabulary is the whole of it.

    Raises:
        SpecError: the model's name, the protocol, the sample or the words are wrong, `prompt` is
            nearly a name, or `recorded` is asked of a model that is loaded.
        ReferenceMissing: a lexicon that `words` names cannot be had.
        ModelError: the model cannot be loaded; `NotRecorded`, it is recorded and this is not.
        ScoreError: a score is not a finite number.
    """
    if protocol not in {None, *PROTOCOLS}:
        raise SpecError(f"unknown protocol {protocol!r}; known: {', '.join(PROTOCOLS)}")
    size = None if sample is None else checked_size(sample)
    entries = checked_words(words, own_words)
    asked, store = prompt_meant(prompt, own_words.prompts), store_at(cache)
    model = _loaded(model, cache, recorded=recorded)
    if model.takes == "nothing":
        if protocol not in {None, "paper"} or size is not None:
            message = f"{model.name}: recorded are whole sweeps under the protocol 'paper' only"
            raise SpecError(message)
        return _sweep_of(model.name, asked, imported_scores.sweep(model, asked, store=store))
    if model.takes == "texts" and protocol is not None:
        message = f"{model.name}: a function of texts has no protocol {protocol!r}; give none"
        raise SpecError(message)
    rows = _vocabulary_rows(model.vocabulary())
    if size is None or size >= len(rows):
        parts, about = {"": rows}, None
    else:
        about = Sample(size, len(rows), seed)
        chosen = mask_of_scored_words(rows["text"], entries, own_words, size=size, seed=seed)
        whole = chosen.sum() == mask_of_words(rows["text"], entries, own_words).sum()
        places = spread(len(rows), size, np.random.default_rng(seed))
        parts = {f"a sample: {about}": rows.iloc[places]}
        parts |= {NAMED: rows[chosen]} if chosen.any() else {}
    how: dict[str, Any] = {"store": store, "protocol": protocol}
    drawn, *named = (
        _sweep_of(model.name, asked, scoring_protocols.scored(model, asked, some, part=part, **how))
        for part, some in parts.items()
    )
    drawn = replace(drawn, sample=about)
    return _joined(drawn, named[0], whole=bool(whole)) if named else drawn


def _loaded(
    model: Scored | str | Path, cache: Path | str | Store | None, *, recorded: bool
) -> Scored:
    """Return `model`, opened if it is a name, a folder or a hub id."""
    if isinstance(model, str | Path):
        at = cache if isinstance(cache, str | Path) and "://" not in str(cache) else default_cache()
        return opened_by_name(model, Opening(Path(at), recorded=recorded))
    if recorded or not hasattr(model, "with_weights"):
        what = "recorded=True is for the name of a model" if recorded else "a sweep is of a model"
        message = f"{what}, got {model!r}; give what rmaudit.load returns, a name of models.yaml "
        raise SpecError(f"{message}(`rmaudit models` lists them), a folder or a hub id")
    return model


def sweep_under(key: str, store: Store, made: Mapping[str, Sweep] = {}) -> Sweep | None:
    """Return the sweep stored under `key`, from `made` (this run's, by key) or the cache, or None.

    None where nothing is stored, or scores that are no sweep's: those of texts, of named ids alone
    or of a base.

    Raises:
        StoreError: the file cannot be read.
    """
    if key in made:
        return made[key].drawn or made[key]
    stored = store.read(key)
    if stored is None or "token_id" not in stored.frame or stored.fields.get("part") == NAMED:
        return None
    text = stored.fields["prompt"]
    about = stored.provenance
    own = Prompt(about.get("prompt name", CUSTOM), text, about.get("frame", +1))
    prompt = next((prompt for prompt in ALL.values() if prompt.text == text), own)
    source = stored.fields.get("model") or stored.provenance.get("source", "")
    return _sweep_of(str(source), prompt, stored)


def _vocabulary_rows(vocabulary: Vocabulary) -> pd.DataFrame:
    """Return a table with a row for each id of the vocabulary: `token_id`, `token`, `text`."""
    return pd.DataFrame(
        {
            "token_id": np.array(vocabulary.ids, dtype=np.int32),
            "token": list(vocabulary.pieces),
            "text": list(vocabulary.texts),
        }
    )


def _sweep_of(model: str, prompt: Prompt, stored: Stored) -> Sweep:
    about = {**stored.fields, **stored.provenance}
    return Sweep(model, prompt, stored.key, stored.frame, about)


def _joined(drawn: Sweep, more: Sweep, *, whole: bool) -> Sweep:
    """Merge a sampled sweep (`drawn`) with the sweep of ids that words name (`more`)."""
    assert drawn.sample is not None, "a census has every id"  # noqa: S101  (for types)
    both = pd.concat([drawn.frame, more.frame]).drop_duplicates("token_id")
    about = {"named_ids": len(more.frame), "noise": float(np.maximum(drawn.noise, more.noise))}
    return replace(
        drawn,
        frame=both.sort_values("token_id", ignore_index=True),
        provenance={**drawn.provenance, **about},
        sample=replace(drawn.sample, named=len(more.frame), whole=whole),
        drawn=drawn,
        more=more,
    )
