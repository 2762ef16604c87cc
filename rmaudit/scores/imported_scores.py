"""Import published tables of scores into the cache, and look up scores of tokens and texts there.

Published scores have cache keys of their own: the fields of such a key have `recorded` and neither
weights nor tokenizer nor rendered ids, so that no sweep of real weights can have it. What was
imported stays: another table of the same model and prompt is an error, not another result.

A table of every token is preferred to a list of words, which stands for a vocabulary where nothing
else is recorded (`WORDS`).
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import ReferenceMissing, SpecError
from rmaudit.models.recorded_model import ITEMS, TOKENS, WORDS, Recorded
from rmaudit.prompts import FAMILY, PROMPTS, Prompt
from rmaudit.references import human_ratings, published_score_tables
from rmaudit.references.published_score_tables import PublishedTable
from rmaudit.references.sources import locate
from rmaudit.scores.score_parquet import Stored, checksum, key_of
from rmaudit.scores.score_store import Store
from rmaudit.scores.shard_scoring import Work

_MOST_SHOWN = 3  # texts that are shown
_Table = tuple[str, Stored, Mapping[str, float]]


def sweep(model: Recorded, prompt: Prompt, *, store: Store) -> Stored:
    """Return the published scores under a prompt: of every token, or else of the published words.

    Raises:
        NotRecorded: there is neither.
    """
    found = _stored(model, prompt, store)
    if found is None:
        have = [name for name, each in PROMPTS.items() if _stored(model, each, store)]
        others = [each for each in FAMILY.values() if each.name not in PROMPTS]
        more = sum(_stored(model, each, store) is not None for each in others)
        known = f"{', '.join(have) or 'none'}{f' and {more} more wordings' if more else ''}"
        what = f"no sweep under {prompt.text!r} is recorded; recorded: {known}"
        if model.files:
            what += f"; for all tokens, DIR (data/reward_model_scores) must hold {model.files[0]}"
        raise model.unrecorded(what, command=_import_command(model, store))
    return found


def items(model: Recorded, prompt: Prompt, texts: Sequence[str], *, store: Store) -> Stored:
    """Return the published scores of `texts` by exact spelling; raise unless one table has all.

    One row each. All come from one table: of items, those that were imported or else those of the
    reference file of that prompt; or of words.

    Raises:
        NotRecorded: a text, or any under this prompt, is not recorded.
        ReferenceMissing: the reference cannot be had.
    """
    tried: list[str] = []
    unknown = list(dict.fromkeys(texts))
    for what, stored, known in _tables(model, prompt, store):
        missing = set(texts) - known.keys()
        if not missing:
            scores = np.array([known[text] for text in texts], dtype=np.float32)
            frame = pd.DataFrame({"text": list(texts), "score": scores})
            return replace(stored, frame=frame)
        unknown = [text for text in unknown if text in missing]
        tried.append(f"{len(known):,} {what}")
    if not unknown:
        both = f"none of {' and '.join(tried)} that are recorded under {prompt.text!r}"
        raise model.unrecorded(f"{both} has all of these {len(texts):,} texts")
    # Of many none is named: they may be words that nobody asked to read.
    some = f": {', '.join(map(repr, unknown))}" if len(unknown) <= _MOST_SHOWN else ""
    among = f"among the {' and '.join(tried)} that are recorded under {prompt.text!r}"
    raise model.unrecorded(f"{len(unknown):,} texts have no score {among}{some}")


def texts_with_scores(
    model: Recorded, prompt: Prompt, texts: Sequence[str], *, store: Store
) -> list[str]:
    """Return the `texts` with a published score, taken from the one table that has most of them."""
    best: list[str] = []
    for _, _, known in _tables(model, prompt, store):
        there = [text for text in texts if not math.isnan(known.get(text, math.nan))]
        best = max(best, there, key=len)
    return best


def digest(model: Recorded, prompts: Sequence[Prompt], *, store: Store) -> str:
    """Return the cache keys and file hashes of a model's tables under `prompts`, as one string.

    A cache key contains it: another table gives another string, and so does another model, whose
    scores in the same table may be missing elsewhere. Raises as `items` does.
    """
    tables = [_tables(model, prompt, store) for prompt in prompts]
    return json.dumps(
        [[(each.key, each.provenance["sha256"]) for _, each, _ in some] for some in tables]
    )


def _tables(model: Recorded, prompt: Prompt, store: Store) -> list[_Table]:
    """Return the published tables under a prompt, each as (kind, table, scores by text).

    The kinds are "items", which come first, and "words".

    The model remembers them: audits look up texts under 54 prompts. Raises as `items` does where
    there is no table.
    """

    def read() -> list[_Table]:
        found = zip(("items", "words"), _read_tables(model, prompt, store), strict=True)
        return [(what, each, _by_text(each.frame)) for what, each in found if each is not None]

    return model.remembered(("tables", store.root, prompt.text), read)


def _by_text(frame: pd.DataFrame) -> dict[str, float]:
    return dict(zip(frame["text"].tolist(), frame["score"].tolist(), strict=True))


def _read_tables(
    model: Recorded, prompt: Prompt, store: Store
) -> tuple[Stored | None, Stored | None]:
    items = store.read(key_of(_fields(model, prompt.text, ITEMS)))
    words = _stored(model, prompt, store, [WORDS])
    if items is None and (words is None or prompt.text in human_ratings.PROMPTS):
        try:
            items = _items_of_reference(model, prompt, store)
        except ReferenceMissing:
            if words is None:
                raise
    return items, words


def _stored(
    model: Recorded, prompt: Prompt, store: Store, kinds: Sequence[str] = (TOKENS, WORDS)
) -> Stored | None:
    """Return a prompt's scores of the first of `kinds` that is there, else None.

    Words, which are the last kind, are imported from RMAUDIT_DATA if need be.
    """
    for kind in kinds:
        if (found := store.read(key_of(_fields(model, prompt.text, kind)))) is not None:
            return found
    asked = [name for name, each in FAMILY.items() if each.text == prompt.text]
    if asked and (paths := published_score_tables.mirrored(model.spec.source)):
        table = published_score_tables.merged(paths)[0]
        for name in asked:
            found = _store_words(model, table, name, store)[0]
    return found


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: the table's kind (TOKENS, ITEMS or WORDS), models, and a summary."""

    answers: str
    models: tuple[str, ...]
    said: str


def import_table(path: Path, models: Sequence[Recorded], store: Store) -> Imported | None:
    """Store a published table of scores of tokens or items for its models; None for other files.

    A table of tokens belongs to the model that its file name gives. A table of items belongs to the
    prompt in its file name, and to the models in its columns. Tables of words, of which a model has
    several, are left to `import_words`: None.

    Raises:
        SpecError: the table is not as the authors write it, or another was imported before.
        StoreError: the cache cannot be written.
    """
    kind = published_score_tables.kind(path)
    if kind is None or kind == "words":  # of these a model has several: `import_words`
        return None
    if kind == "tokens":
        named = [model for model in models if path.name in model.files]
        if not named:
            return Imported(TOKENS, (), "")
        return _import_tokens(named[0], published_score_tables.tokens(path), store)
    table = published_score_tables.items(path)
    own, prompt = [model for model in models if _column(model, table)], f"{path.stem}?"
    before = [_store_items(model, table, prompt, store)[1] for model in own]
    return _imported(ITEMS, own, f"{len(table.frame):,} items under {prompt!r}", before)


def import_words(paths: Sequence[Path], model: Recorded, store: Store) -> Imported:
    """Store a model's published word scores, merged from files, under 54 prompts.

    Raises as `import_table` does.
    """
    table, said = published_score_tables.merged(tuple(paths))
    before = [_store_words(model, table, name, store)[1] for name in FAMILY]
    return _imported(WORDS, [model], said, before)


def _store_words(
    model: Recorded, table: PublishedTable, prompt_name: str, store: Store
) -> tuple[Stored, bool]:
    """Store word scores under a prompt; return them, and whether they were stored before."""
    words = table.frame[published_score_tables.WORDS]
    rows = pd.DataFrame({"token_id": np.arange(len(words), dtype=np.int32)})
    rows = rows.assign(token=words, text=words)
    prompt = FAMILY[prompt_name].text
    return _store_table(model, prompt, WORDS, rows, table.frame[prompt_name], table, store)


def _import_tokens(model: Recorded, table: PublishedTable, store: Store) -> Imported:
    frame = table.frame.sort_values("token_id", ignore_index=True)
    rows = pd.DataFrame(
        {
            "token_id": frame["token_id"].astype(np.int32),
            "token": frame["token_name"],
            "text": frame["token_decoded"],
        }
    )
    before = [
        _store_table(model, prompt.text, TOKENS, rows, frame[name], table, store)[1]
        for name, prompt in PROMPTS.items()
    ]
    missing = int(frame[list(PROMPTS)].isna().sum().sum())
    told = f" ({missing:,} scores missing)" if missing else ""
    said = f"{len(rows):,} token ids under {', '.join(PROMPTS)}{told}"
    return _imported(TOKENS, [model], said, before)


def _imported(
    answers: str, models: Sequence[Recorded], said: str, before: Sequence[bool]
) -> Imported:
    """Return the result of an import; `before` says which scores were stored before."""
    told = f"{said}{', as imported before' if all(before) else ''}"
    return Imported(answers, tuple(model.name for model in models), told)


def _store_items(
    model: Recorded, table: PublishedTable, prompt: str, store: Store
) -> tuple[Stored, bool]:
    rows = table.frame[["name"]].rename(columns={"name": "text"})
    return _store_table(
        model, prompt, ITEMS, rows, table.frame[_column(model, table)], table, store
    )


def _store_table(  # noqa: PLR0913, PLR0917  (what is kept, of whom, and from where)
    model: Recorded,
    prompt: str,
    kind: str,
    rows: pd.DataFrame,
    scores: pd.Series[float],
    table: PublishedTable,
    store: Store,
) -> tuple[Stored, bool]:
    """Store scores unless they are stored; return them and whether they were; raise if others are.

    `kind` is TOKENS, ITEMS or WORDS, and `table` is where `rows` and `scores` come from.
    """
    fields = _fields(model, prompt, kind)
    values = scores.to_numpy(dtype=np.float32)
    before = store.read(key_of(fields))
    about = {**model.provenance, "file": table.path.name, "sha256": table.sha256}
    if kind == WORDS:
        about["source"] = f"published scores of {model.spec.source} (Christian et al. 2026)"
    work = Work(fields, rows, lambda which: values[which], lambda: about)
    stored = before or store.complete(work)
    same = stored.provenance["sha256"] == table.sha256
    if not same and checksum(stored.frame) != checksum(rows.assign(score=values)):
        path = store.where(stored.key)
        message = (
            f"{table.path}: another table of {model.name} under {prompt!r} was imported before, "
            f"{stored.provenance['file']} (sha256 {stored.provenance['sha256'][:12]}); one is "
            f"kept. To have this one instead, delete {path} and import again"
        )
        raise SpecError(message)
    return stored, before is not None


def _items_of_reference(model: Recorded, prompt: Prompt, store: Store) -> Stored:
    """Read a model's scores of items from a prompt's reference file; store and return them."""
    what = f"no scores of items under {prompt.text!r} are recorded"
    if not model.files or prompt.text not in human_ratings.PROMPTS:
        known = f"; recorded are those under {', '.join(map(repr, human_ratings.PROMPTS))}"
        raise model.unrecorded(what + known)  # nobody published any: there is nothing to import
    table = published_score_tables.items(locate(human_ratings.PROMPTS[prompt.text]))
    if not _column(model, table):
        known = (
            f"; those of {', '.join(table.frame.columns[len(published_score_tables.ITEMS) :])} are"
        )
        raise model.unrecorded(what + known, command=_import_command(model, store))
    return _store_items(model, table, prompt.text, store)[0]


def _column(model: Recorded, table: PublishedTable) -> str:
    """Return the name of the model's column in a table: its hub id or name; "" if there is none."""
    columns = list(table.frame.columns[len(published_score_tables.ITEMS) :])
    return next((name for name in (model.spec.source, model.name) if name in columns), "")


def _fields(model: Recorded, prompt: str, kind: str) -> Mapping[str, str]:
    return {**model.identity, "prompt": prompt, "answers": kind, "protocol": "paper"}


def _import_command(model: Recorded, store: Store) -> str:
    own = store.root == str(default_cache())
    where = "" if own else f" --cache {shlex.quote(store.root)}"
    return f"rmaudit data import DIR --model {model.name}{where}"
