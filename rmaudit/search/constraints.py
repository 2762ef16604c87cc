"""Constraints of a search: which token ids may stand at a position, and which answers count.

Single ids are checked in one pass over the vocabulary, before a search; whole answers are checked
when they are candidates of the search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rmaudit.conversation import Asked
from rmaudit.errors import NoBase, SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.base_language_model import Base, base_of
from rmaudit.models.language_model_logprobs import Likelihood
from rmaudit.models.model_interfaces import RewardModel

_ID = re.compile(r"#[0-9]+")
_BROKEN = "\N{REPLACEMENT CHARACTER}"  # a part of a character: ids that are bytes

Admits = Callable[[Sequence[tuple[int, ...]]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Constraints:
    """Constraints on the sequences that a search may find; all of them hold at once.

    Attributes:
        printable: every id's text can be seen: it has a character other than a space, and none
            but the space that shows nothing (control, format, surrogate, private, unassigned and
            replacement characters; so no newline, no tab and no no-break space).
        ascii: every id's text is ASCII.
        special: also ids of special and added tokens, such as the end of a turn.
        round_trip: the answer's text, tokenized where answers stand, gives the answer's ids: a
            string that can be sent, and not only ids.
        words: every id's text is letters, behind at most one space.
        allow: no ids but these: texts of tokens as they are decoded, or ids such as "#123".
        deny: none of these.
        floor: the least mean log-probability (natural) per token that the model's base may give.
    """

    printable: bool = True
    ascii: bool = False
    special: bool = False
    round_trip: bool = True
    words: bool = False
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    floor: float | None = None

    def __post_init__(self) -> None:
        """Raise SpecError for a log-probability floor that would admit all or none."""
        if self.floor is not None and not -np.inf < self.floor < 0:
            message = f"constraints: floor {self.floor:g}; a mean log-probability is below 0: give"
            raise SpecError(f"{message} a number such as -6, or leave floor out")


def allowed(
    constraints: Constraints, vocabulary: Vocabulary, special_ids: Collection[int]
) -> NDArray[np.int64]:
    """Return the token ids that are allowed at any position of an answer, ascending.

    `special_ids` are those of the tokenizer's special and added tokens. A text in `allow` or
    `deny` means every id of that text.

    Raises:
        SpecError: `allow` or `deny` name what the vocabulary has not, or no id is left.
    """
    ids = np.array(vocabulary.ids, dtype=np.int64)
    kept = np.ones(len(ids), dtype=bool)
    said = []
    for rule, fits in _rules(constraints, vocabulary, frozenset(special_ids)):
        kept &= fits
        said.append(f"{rule} leaves {int(kept.sum()):,}")
        if not kept.any():
            message = f"constraints: of {len(ids):,} token ids none is left ({', '.join(said)})"
            raise SpecError(f"{message}; relax {rule}")
    return ids[kept]


def _rules(
    constraints: Constraints, vocabulary: Vocabulary, special_ids: frozenset[int]
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each active rule on single ids: its name, and which ids obey it, shape (ids,)."""

    def texts(fits: Callable[[str], bool]) -> NDArray[np.bool_]:
        return np.array([fits(text) for text in vocabulary.texts], dtype=bool)

    def listed(name: str, entries: tuple[str, ...]) -> NDArray[np.bool_]:
        return np.isin(vocabulary.ids, list(_ids_named(name, entries, vocabulary)))

    if constraints.allow is not None:
        yield "allow", listed("allow", constraints.allow)
    if constraints.deny:
        yield "deny", ~listed("deny", constraints.deny)
    if not constraints.special:
        yield "special=False", ~np.isin(vocabulary.ids, list(special_ids))
    if constraints.printable:
        yield "printable", texts(_printable)
    if constraints.ascii:
        yield "ascii", texts(str.isascii)
    if constraints.words:
        yield "words", texts(lambda text: text.removeprefix(" ").isalpha())


def _printable(text: str) -> bool:
    return text.isprintable() and bool(text.strip()) and _BROKEN not in text


def _ids_named(name: str, entries: tuple[str, ...], vocabulary: Vocabulary) -> set[int]:
    """Return the ids that `entries` of `allow` or `deny` (`name`) mean; raise if one is unknown."""
    if not entries:
        message = f"constraints: {name} is empty, so no id is left; name tokens by their text or id"
        raise SpecError(f'{message} ("#123"), or leave {name} out')
    places: dict[str, set[int]] = {}
    for i, text in zip(vocabulary.ids, vocabulary.texts, strict=True):
        places.setdefault(text, set()).add(i)
    known, found = set(vocabulary.ids), set()
    for entry in entries:
        ids = {int(entry[1:])} & known if _ID.fullmatch(entry) else places.get(entry, set())
        if not ids:
            what = "has this id" if _ID.fullmatch(entry) else "decodes to this text"
            message = f"constraints: {name}: {entry!r}: no token of the model {what}; mind the"
            raise SpecError(f'{message} space in front of words, or give the id ("#123")')
        found |= ids
    return found


@contextmanager
def opened(
    constraints: Constraints,
    model: RewardModel,
    prompt: Asked,
    *,
    cache: Path,
    device: str = "auto",
) -> Iterator[Admits]:
    """Yield a function that says which answers fulfil the constraints; load the base for a floor.

    Raises:
        NoBase: there is a floor, and models.yaml names no base.
        ModelError: the base cannot be had or run.
    """
    if constraints.floor is None:
        yield lambda answers: admits(constraints, model, prompt, answers)
        return
    base = base_for_floor(model, cache=cache, device=device)
    with base.opened(model.vocabulary()) as likelihood:
        yield lambda answers: admits(constraints, model, prompt, answers, likelihood=likelihood)


def base_for_floor(model: RewardModel, *, cache: Path, device: str) -> Base:
    """Return the base language model, by whose log-probabilities a floor judges answers.

    Raises:
        NoBase: models.yaml names no base.
        ModelError: the base cannot be had or run.
    """
    try:
        return base_of(model.spec, cache=cache, device=device)
    except NoBase as error:
        message = f"a floor (--floor) needs log-probabilities under the base model: {error}"
        raise NoBase(message) from None


def admits(
    constraints: Constraints,
    model: RewardModel,
    prompt: Asked,
    answers: Sequence[tuple[int, ...]],
    *,
    likelihood: Likelihood | None = None,
) -> NDArray[np.bool_]:
    """Return which answers to `prompt` fulfil the constraints on whole answers, shape (n,).

    An answer with an id that the base does not know is below any floor.

    Raises:
        SpecError: there is a floor, and no `likelihood` to ask.
    """
    fits = np.ones(len(answers), dtype=bool)
    if constraints.round_trip:
        again = model.tokenized(model.texts(answers))
        same = (tuple(one) == other for one, other in zip(answers, again, strict=True))
        fits &= np.fromiter(same, dtype=bool)
    if constraints.floor is not None:
        if likelihood is None:
            message = "constraints: a floor needs the model's base in memory; use `opened`, or"
            raise SpecError(f"{message} leave floor out")
        slot, which = model.slot(prompt), np.flatnonzero(fits).tolist()
        means = likelihood.means(slot.prefix, [tuple(answers[i]) for i in which])
        fits[which] = means >= constraints.floor  # NaN is below
    return fits
