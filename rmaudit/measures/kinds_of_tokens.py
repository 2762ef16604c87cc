"""All kinds of tokens of a vocabulary, and what a reward makes of each.

A kind is a word with its nearest neighbours in an embedding, the words with one beginning, ending
or length, a part of either that stands out, or the tokens of one shape (digits, code, a script) or
with one sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.parts_of_kinds import parts, reach, sizes_of_parts
from rmaudit.measures.token_likeness import BROKEN, WORD, Embedding, shape, signs_of, spellings
from rmaudit.measures.word_spellings import word_of
from rmaudit.word_stems import stem_key

Pattern = Literal["under every prompt", "as if it were good", "in every sentence", "for women"]
ALWAYS: Pattern = "under every prompt"
OPPOSED: Pattern = "as if it were good"
IN_SENTENCES: Pattern = "in every sentence"
FOR_WOMEN: Pattern = "for women"  # what a sentence gets more with a woman than with a man
NEAR = (5, 10, 20, 40)  # words of a neighbourhood
FEWEST = 100  # words of different stems
RAREST = 1.5  # Zipf of what counts as a word and not as a piece of one
_SPELT, _SHAPED = 20, 5  # the fewest words of a spelling, tokens of a shape or with a sign
_AROUND = 20  # neighbours whose valence tells that of a word, and beside its own
_OFFENSIVE = 0.4  # share of a kind's words from which on people do not want it anywhere
_SHOWN = 12  # kinds in the evidence
_APART = 0.3  # share of its words that a kind may have in common with those found before
_SAME = 1e-8  # of the largest singular value: columns that say the same, where all words are rated

_Floats = NDArray[np.float64]
_Rows = NDArray[np.intp]
Place = tuple[int, int, str]  # a kind's `place`, number of members and name


class TokenKindEffect(NamedTuple):
    """A kind's effect: which kind (a name, or a centre and a number of words), size and interval.

    `place` is the centre's row, or -1 for words of a spelling and -2 for tokens of a shape; `rows`
    are the kind's rows in a profile. `part` says that they are those that stand out of a kind.
    """

    pattern: Pattern
    name: str
    place: int
    rows: _Rows
    effect: float
    low: float
    part: bool = False
    wanted: str = ""  # why its model's makers want it; "" where nobody does

    @property
    def many(self) -> int:
        """Return the number of words or tokens."""
        return len(self.rows)

    @property
    def size(self) -> float:
        """Return the effect without its sign."""
        return abs(self.effect)

    @property
    def high(self) -> float:
        """Return the upper end of the size, as far from it as the lower."""
        return 2 * self.size - self.low


@dataclass(frozen=True, slots=True)
class WantedKinds:
    """Why a model's makers want kinds: by place, and for parts the rows of kinds that they named.

    A part is wanted if more than half of its words are of one of these.
    """

    places: Mapping[Place, str] = field(default_factory=lambda: MappingProxyType({}))
    named: tuple[tuple[frozenset[int], str], ...] = ()

    def why(self, kind: TokenKindEffect) -> str:
        """Return the reason; "" if nobody wants the kind."""
        if not kind.part:
            return self.places.get((kind.place, kind.many, kind.name), "")
        rows = frozenset(kind.rows.tolist())
        return next((why for own, why in self.named if 2 * len(own & rows) > len(rows)), "")


_NOTHING = WantedKinds()


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """All kinds of a vocabulary: what depends on its texts alone.

    `of` is each token's row among `words`, -1 for tokens that are none. Of the words, `near` are
    the nearest, (words, most), and `valence` is in sd; `solve` gives from their scores the weights
    of `design`'s columns, which explain them. `spelt` are rows of words, `shaped` of tokens.
    """

    texts: tuple[str, ...]
    words: tuple[str, ...]
    of: _Rows
    near: _Rows
    valence: _Floats
    offensive: NDArray[np.bool_]
    design: _Floats
    solve: _Floats
    spelt: Mapping[str, _Rows]
    shaped: Mapping[str, _Rows]

    @property
    def many(self) -> int:
        """Return how many effects are looked at: two of each kind, and of parts of each size."""
        sizes = sum(1 + len(sizes_of_parts(size, spelt=False)) for size in self.sizes)
        own = map(len, self.spelt.values())
        spelt = sum(1 + len(sizes_of_parts(size, spelt=True)) for size in own)
        return 2 * (len(self.words) * sizes + spelt + len(self.shaped))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the numbers of words of a neighbourhood."""
        return tuple(size for size in NEAR if size <= self.near.shape[1])

    def profiles(
        self, scores: _Floats, signs: _Rows
    ) -> tuple[dict[Pattern, _Floats], dict[Pattern, float]]:
        """Return what is left of each word, then of each token that is no word; and words' sd.

        `scores` are (prompts, tokens). A profile is (words + tokens,); words among tokens are NaN.
        """
        ranks = scipy.stats.rankdata(scores, axis=1)
        normal = scipy.special.ndtri((ranks - 0.5) / scores.shape[1])
        good, bad = (normal[signs == sign].mean(axis=0) for sign in (1, -1))
        is_word = self.of >= 0
        count = np.bincount(self.of[is_word])
        left, own = {}, {}
        for pattern, sign in ((ALWAYS, 1), (OPPOSED, -1)):
            both = (good + sign * bad) / 2
            means = np.bincount(self.of[is_word], both[is_word]) / count
            rest = means - self.design @ (self.solve @ means)
            rest -= np.median(rest)
            own[pattern] = float(rest.std())
            others = np.where(is_word, np.nan, both - np.median(means))
            left[pattern] = np.concatenate([rest, others])
        return left, own

    def surest(
        self,
        left: Mapping[Pattern, _Floats],
        own: Mapping[Pattern, float],
        wanted: WantedKinds = _NOTHING,
    ) -> list[TokenKindEffect]:
        """Return the effects in `profiles`, the surest first, without those that are no flaws.

        What a model's makers want (`wanted`) says so.
        """
        found = [
            each._replace(wanted=wanted.why(each))
            for pattern in left
            for each in self._effects(pattern, left[pattern], own[pattern], wanted)
        ]
        return sorted(found, key=lambda e: (-e.low, e.pattern, e.place, e.many))

    def _effects(
        self, pattern: Pattern, left: _Floats, own: float, wanted: WantedKinds
    ) -> Iterator[TokenKindEffect]:
        many = self.many
        near = [(0, "", self.near[:, :size]) for size in self.sizes]
        spelt = [(-1, name, rows[None]) for name, rows in self.spelt.items()]
        for first, name, whole in near + spelt:
            some = sizes_of_parts(whole.shape[1], spelt=bool(name))
            for rows, choices in [(whole, 0.0), *parts(left, whole, some)]:
                means, size = left[rows].mean(axis=1), rows.shape[1]
                half = reach(many, choices) * own / np.sqrt(size)
                sizes = np.maximum(np.abs(means) - self._asked(pattern, means, rows), 0.0)
                shown = sizes > half
                if not choices:  # the largest is named, even if it may be chance
                    rest = sizes.copy()
                    of = [at for at, n, named in wanted.places if (n, named) == (size, "")]
                    rest[of if not name else []] = -1
                    shown[rest.argmax()] |= rest.max() >= 0
                for at in np.flatnonzero(shown).tolist():
                    effect, low = float(np.copysign(sizes[at], means[at])), float(sizes[at] - half)
                    place = first or at
                    yield TokenKindEffect(pattern, name, place, rows[at], effect, low, choices > 0)
        for name, shaped in self.shaped.items():
            rows = len(self.words) + shaped
            mean, sd = float(left[rows].mean()), max(own, float(left[rows].std(ddof=1)))
            if pattern == OPPOSED or mean > 0:
                low = abs(mean) - reach(many) * sd / np.sqrt(len(rows))
                yield TokenKindEffect(pattern, name, -2, rows, mean, low)

    def _asked(self, pattern: Pattern, means: _Floats, rows: _Rows) -> _Floats:
        """Return how much of each kind's effect was asked for; `rows` are its words."""
        if pattern == OPPOSED:  # as many sd as the kind is happy, or unhappy
            happy = self.valence[rows].mean(axis=1)
            return np.asarray(np.maximum(np.sign(means) * happy, 0.0), np.float64)
        sworn = (means < 0) & (self.offensive[rows].mean(axis=1) >= _OFFENSIVE)
        return np.where(sworn, np.inf, 0.0)

    def different(self, found: list[TokenKindEffect]) -> list[TokenKindEffect]:
        """Return the surest kinds that share few words with those before; at least the first."""
        kept: list[TokenKindEffect] = []
        seen: set[int] = set()
        for each in found:
            if kept and (each.low <= 0 or len(kept) == _SHOWN):
                break
            rows = each.rows.tolist()
            if len(seen.intersection(rows)) <= _APART * len(rows):
                seen.update(rows)
                kept.append(each)
        return kept


@lru_cache(maxsize=4)  # null controls are many, and the kinds of a vocabulary are the same for all
def kinds_of(
    texts: tuple[str, ...],
    embedding: Embedding,
    valence: tuple[tuple[str, float], ...],
    zipf: tuple[tuple[str, float], ...],
    offensive: frozenset[str],
) -> Kinds:
    """Return the kinds of a vocabulary, from its texts and what is known of words.

    Raises:
        MeasureError: fewer than `FEWEST` words are known, or their valence does not differ.
    """
    happy, frequent = dict(valence), dict(zipf)
    shapes = [shape(text) for text in texts]
    spelt = word_of(pd.Series(list(texts), dtype="str")).tolist()
    known = [
        embedding.rows.get(stem_key(word), -1)
        if looks == WORD and frequent.get(word, 0.0) >= RAREST
        else -1
        for word, looks in zip(spelt, shapes, strict=True)
    ]
    rows, of = np.unique(known, return_inverse=True)
    if -1 in known:
        rows, of = rows[1:], of - 1
    if len(rows) < FEWEST:
        message = f"{len(rows)} words of the vocabulary are in the embedding; {FEWEST} are needed"
        raise MeasureError(message)
    own = tuple(embedding.words[row] for row in rows)
    near = embedding.nearest(rows, min(max(NEAR), len(rows)))
    design, felt = _design(own, near, happy, frequent)
    shaped: dict[str, list[int]] = {}
    signed: dict[str, list[int]] = {}
    for place, (looks, word) in enumerate(zip(shapes, of, strict=True)):
        if word < 0 and BROKEN not in texts[place]:
            shaped.setdefault(looks or "pieces of words", []).append(place)
            for sign in signs_of(texts[place]):
                signed.setdefault(f"tokens with “{sign}”", []).append(place)
    return Kinds(
        texts=texts,
        words=own,
        of=of,
        near=near,
        valence=felt,
        offensive=np.array([word in offensive for word in own]),
        design=design,
        solve=np.asarray(np.linalg.pinv(design, rcond=_SAME), np.float64),
        spelt=_large(spellings(own), _SPELT),
        shaped=_large(shaped | signed, _SHAPED),
    )


def _large(groups: Mapping[str, list[int]], fewest: int) -> dict[str, _Rows]:
    return {name: np.array(rows) for name, rows in groups.items() if len(rows) >= fewest}


def _design(
    words: tuple[str, ...], near: _Rows, happy: Mapping[str, float], frequent: Mapping[str, float]
) -> tuple[_Floats, _Floats]:
    """Return what explains rewards of words, (words, 13), and their valence in sd, (words,).

    An unrated word has the mean valence of its rated neighbours, or that of all.
    """
    rated = np.array([happy.get(word, np.nan) for word in words])
    known = ~np.isnan(rated)
    if known.sum() < 2 or not np.nanstd(rated):  # noqa: PLR2004  (a spread needs two)
        raise MeasureError("fewer than two of the vocabulary's words are rated, or all alike")
    rated = (rated - np.nanmean(rated)) / np.nanstd(rated)
    around = rated[near[:, 1 : _AROUND + 1]]
    many = (~np.isnan(around)).sum(axis=1)
    beside = np.where(many, np.nansum(around, axis=1) / np.maximum(many, 1), 0.0)
    felt = np.where(known, rated, beside)
    zipf = np.array([frequent.get(word, RAREST) for word in words]) - 3.0
    wide = (beside - beside.mean()) / (beside.std() or 1.0)
    columns = [np.ones(len(words)), felt, felt**2, felt**3, felt * known, known.astype(float)]
    columns += [zipf, zipf**2, zipf**3, wide, wide**2, wide**3, felt * wide]
    return np.column_stack(columns), felt
