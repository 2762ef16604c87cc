"""Count the token ids that come back from a round trip through text.

    python -m lab round_trip MODEL [--prompt greatest]

No weights are needed. The protocol of Christian et al. 2025 scores an id by its text, tokenized
again: where that gives another id, the score is that other id's. The hole is where the answer's ids
stand in the rendered row; a doubled BOS is taken out first, and so are the ids that the tokenizer
puts at the end of every text.

itself          the hole holds the id and nothing else
another token   one other id: "␣love" trimmed to "love", a fragment of a character to U+FFFD
several tokens  more than one id
nothing         the hole is empty: white space that was trimmed
merged          the id merged with the template's own, before or after the hole
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lab.harness import arguments
from rmaudit.checkpoints import adapter_files, checkpoint_source
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import ModelSpec, known_models
from rmaudit.config.paths_and_atomic_writes import default_cache, is_folder
from rmaudit.conversation import Asked
from rmaudit.layout import tokenizers
from rmaudit.layout.answer_slot import Slot
from rmaudit.layout.layouts import layout_of
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.prompts import prompt_meant

Row = tuple[int, ...]
ITSELF, ANOTHER, SEVERAL, NOTHING, MERGED = FATES = (
    "itself",
    "another token",
    "several tokens",
    "nothing",
    "merged",
)


@dataclass(frozen=True, slots=True)
class Survival:
    """How the protocol of Christian et al. 2025 scores each token id: as itself, merged, ...

    Attributes:
        frame: one row per token id: `token_id` (int32), `token`, `text`, `fate` (one of `FATES`)
            and `hole`, the ids in the hole as a tuple, or None where they merged.
        distinct_rows: how many different rows the ids became.
        doubled_bos: every row begins with two BOS.
        closing: ids that the tokenizer put at the end of every row.
    """

    frame: pd.DataFrame
    distinct_rows: int
    doubled_bos: bool
    closing: Row

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many token ids have each fate ("itself", "merged", ...), as in `FATES`."""
        seen = self.frame["fate"].value_counts()
        return {fate: int(seen.get(fate, 0)) for fate in FATES}


def survival(
    vocabulary: Vocabulary, slot: Slot, rows: Sequence[Row], *, closing: Row = ()
) -> Survival:
    """Return each token id's fate under the protocol of Christian et al. 2025: itself, merged, ...

    `slot` is the exact protocol's, `rows` has the paper's row of each id (`retokenized`),
    and `closing` the ids that the tokenizer puts at the end of every text.
    """
    bos = slot.prefix[:1] * 2
    doubled = bool(rows) and slot.prefix[:2] != bos and all(row[:2] == bos for row in rows)
    holes = {row: _hole(row[doubled : len(row) - len(closing)], slot) for row in set(rows)}
    frame = pd.DataFrame(
        {
            "token_id": pd.Series(vocabulary.ids, dtype="int32"),
            "token": list(vocabulary.pieces),
            "text": list(vocabulary.texts),
            "fate": [_fate(i, holes[row]) for i, row in zip(vocabulary.ids, rows, strict=True)],
            "hole": pd.Series([holes[row] for row in rows], dtype=object),
        }
    )
    return Survival(frame, len(holes), doubled, closing)


def examples(result: Survival, fate: str, n: int = 4) -> list[str]:
    """Return the first `n` token ids of this fate as strings, with their texts if without letters.

    The text is escaped, and left out if it has a letter or digit: a vocabulary holds every slur.
    """
    found = result.frame[result.frame["fate"] == fate].head(n)
    return [_shown(i, text) for i, text in zip(found["token_id"], found["text"], strict=True)]


def _hole(row: Row, slot: Slot) -> Row | None:
    start, end = len(slot.prefix), len(row) - len(slot.suffix)
    framed = row[:start] == slot.prefix and end >= start and row[end:] == slot.suffix
    return row[start:end] if framed else None


def _fate(token_id: int, hole: Row | None) -> str:
    if hole is None:
        return MERGED
    if len(hole) != 1:
        return SEVERAL if hole else NOTHING
    return ITSELF if hole[0] == token_id else ANOTHER


def _shown(token_id: int, text: str) -> str:
    wordless = all(unicodedata.category(character)[0] not in "LMN" for character in text)
    return f"{token_id} {text!a}" if wordless else str(token_id)


def of_tokenizer(spec: ModelSpec, prompt: Asked) -> Survival:
    """Return each token id's fate under the protocol of Christian et al. 2025, for this prompt."""
    found = checkpoint_source.find(spec, default_cache())
    folder = adapter_files.tokenizer_folder(found, spec, default_cache())
    layout = layout_of(folder, spec, found.path)
    known = tokenizers.vocabulary(layout.tokenizer)
    rows = layout.retokenized(prompt, known.texts)
    return survival(known, layout.slot(prompt), rows, closing=layout.closing)


def _lines(name: str, text: str, result: Survival) -> Iterator[str]:
    total = len(result.frame)
    yield f"{name}: {total:,} token ids, {text!r}"
    yield "decoded, rendered and tokenized again, as the paper did, an id becomes:"
    for fate, count in result.counts.items():
        shown = ", ".join(examples(result, fate))
        line = f"  {fate:<14} {count:>9,}  {100 * count / total:6.2f} %"
        yield f"{line}  ids {shown}" if shown else line
    yield f"  {'different rows':<14} {result.distinct_rows:>9,}"
    yield f"BOS at the start of each row: {'two' if result.doubled_bos else 'not doubled'}"
    if result.closing:
        yield f"ids that the tokenizer adds at the end of each row: {list(result.closing)}"


def main() -> None:
    """Print what the ids of a model's tokenizer become."""
    parser = arguments(__doc__)
    parser.add_argument("model", help="a folder, which needs no weights, a name or a hub id")
    parser.add_argument("--prompt", default="greatest", help="its name, or any text")
    asked = parser.parse_args()
    prompt = prompt_meant(asked.prompt)
    if is_folder(Path(asked.model)):
        spec = ModelSpec(Path(asked.model).name, asked.model)
    else:
        (spec,) = resolve(known_models(), asked.model)
    for line in _lines(spec.name, prompt.text, of_tokenizer(spec, prompt.asked)):
        print(line)
