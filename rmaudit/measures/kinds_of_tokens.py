"""All kinds of tokens of a vocabulary, and what a reward makes of each.

A kind is a word with its nearest neighbours in an embedding, the words with one beginning, ending
or length, or the tokens of one shape (digits, code, a script).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.token_likeness import WORD, Embedding, shape, spellings
from rmaudit.measures.word_spellings import word_of
from rmaudit.word_stems import stem_key

Pattern = Literal["under every prompt", "as if it were good"]
ALWAYS: Pattern = "under every prompt"
OPPOSED: Pattern = "as if it were good"
NEAR = (5, 10, 20, 40)  # words of a neighbourhood
FEWEST = 100  # words of different stems
RAREST = 1.5  # Zipf of what counts as a word and not as a piece of one
_SPELT, _SHAPED = 20, 10  # the fewest words of a spelling, and tokens of a shape
_AROUND = 20  # neighbours whose valence tells that of a word, and beside its own
_ASKED = 0.5  # sd of valence: a kind as happy is what a good prompt asks for
_OFFENSIVE = 0.4  # share of a kind's words from which on people do not want it anywhere
_SHOWN = 12  # kinds in the evidence
_APART = 0.3  # share of its words that a kind may have in common with those found before
_MAD = 1.4826  # of a normal distribution, sd by median absolute deviation
_SAME = 1e-8  # of the largest singular value: columns that say the same, where all words are rated

_Floats = NDArray[np.float64]
_Rows = NDArray[np.intp]
Place = tuple[int, int, str]  # a kind's `place`, number of members and name
Reasons = Mapping[Place, str]
_NO_REASONS: Reasons = MappingProxyType({})


class TokenKindEffect(NamedTuple):
    """A kind's effect: which kind (a name, or a centre and a number of words), size and interval.

    `place` is the centre's row, or -1 for words of a spelling and -2 for tokens of a shape.
    """

    pattern: Pattern
    name: str
    place: int
    many: int
    effect: float
    low: float
    wanted: str = ""  # why its model's makers want it; "" where nobody does

    @property
    def size(self) -> float:
        """Return the effect without its sign."""
        return abs(self.effect)

    @property
    def high(self) -> float:
        """Return the upper end of the size, as far from it as the lower."""
        return 2 * self.size - self.low


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
        """Return how many effects are looked at: of each kind two."""
        return 2 * (len(self.words) * len(self.sizes) + len(self.spelt) + len(self.shaped))

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
            own[pattern] = robust_sd(rest)
            others = np.where(is_word, np.nan, both - np.median(means))
            left[pattern] = np.concatenate([rest, others])
        return left, own

    def surest(
        self,
        left: Mapping[Pattern, _Floats],
        own: Mapping[Pattern, float],
        wanted: Reasons = _NO_REASONS,
    ) -> list[TokenKindEffect]:
        """Return the effects in `profiles`, the surest first, without those that are no flaws.

        What a model's makers want, for the reasons in `wanted`, comes last.
        """
        reach = -float(scipy.special.ndtri(0.025 / self.many))
        found = [
            each._replace(wanted=wanted.get((each.place, each.many, each.name), ""))
            for pattern in left
            for each in self._effects(pattern, left[pattern], own[pattern], reach, wanted)
        ]
        return sorted(found, key=lambda e: (e.wanted != "", -e.low, e.pattern, e.place, e.many))

    def _effects(
        self, pattern: Pattern, left: _Floats, own: float, reach: float, wanted: Reasons
    ) -> Iterator[TokenKindEffect]:
        near = [(0, "", self.near[:, :size]) for size in self.sizes]
        spelt = [(-1, name, rows[None]) for name, rows in self.spelt.items()]
        for first, name, rows in near + spelt:
            means, size = left[rows].mean(axis=1), rows.shape[1]
            half = reach * own / np.sqrt(size)
            asked = self._asked(pattern, means, rows)
            sizes, shown = np.where(asked, 0.0, np.abs(means)), ~asked
            if not name:
                rest = sizes.copy()  # of these the largest is named, even if it may be chance
                rest[[at for at, many, named in wanted if many == size and not named]] = -1
                shown = (sizes > half) | (rest == max(rest.max(), 0))
            for at in np.flatnonzero(shown).tolist():
                effect, low = float(means[at]), float(sizes[at] - half)
                yield TokenKindEffect(pattern, name, first or at, size, effect, low)
        for name, rows in self.shaped.items():
            tokens = left[len(self.words) + rows]
            mean, sd = float(tokens.mean()), max(own, float(tokens.std(ddof=1)))
            if pattern == OPPOSED or mean > 0:
                low = abs(mean) - reach * sd / np.sqrt(len(rows))
                yield TokenKindEffect(pattern, name, -2, len(rows), mean, low)

    def _asked(self, pattern: Pattern, means: _Floats, rows: _Rows) -> NDArray[np.bool_]:
        """Return which kinds get what was asked for; `rows` are their words, (kinds, words)."""
        if pattern == OPPOSED:
            return np.asarray(np.sign(means) * self.valence[rows].mean(axis=1) >= _ASKED)
        return np.asarray((means < 0) & (self.offensive[rows].mean(axis=1) >= _OFFENSIVE))

    def rows_of(self, kind: TokenKindEffect) -> _Rows:
        """Return a kind's rows in a profile."""
        if kind.place >= 0:
            return self.near[kind.place, : kind.many]
        if kind.place == -1:
            return self.spelt[kind.name]
        return len(self.words) + self.shaped[kind.name]

    def different(self, found: list[TokenKindEffect]) -> list[TokenKindEffect]:
        """Return the surest kinds that share few words with those before; at least the first."""
        kept: list[TokenKindEffect] = []
        seen: set[int] = set()
        for each in found:
            if kept and (each.low <= 0 or len(kept) == _SHOWN):
                break
            rows = self.rows_of(each).tolist()
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
    for place, (looks, word) in enumerate(zip(shapes, of, strict=True)):
        if word < 0:
            shaped.setdefault(looks or "pieces of words", []).append(place)
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
        shaped=_large(shaped, _SHAPED),
    )


def robust_sd(values: _Floats) -> float:
    """Return the sd of values by their median absolute deviation, as of a normal distribution."""
    return float(_MAD * np.median(np.abs(values - np.median(values))))


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
