"""Draw data for audits, as often as one likes, from populations of words, things and people.

Words are drawn by stem, EloEverything's items by head word, identity terms by group within axis and
their controls by word, the exploit ledger's strings one by one: these are the units that audits'
intervals rest on. A draw is with replacement, so that a population of real words is as good as an
infinite one: no sampled share has to be taken out of an interval. A stem that is drawn twice is two
units. Audits know units by their texts, so each drawn text gets a mark that tells its unit from all
others: three consonants before a word, digits before a head word. All marks are of one length,
which shifts a word's letters by a constant; frequency, valence and ratings are handed out as those
of the word without its mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.word_organisms import Traits
from rmaudit.measures.elo_agreement import head_words
from rmaudit.prompts import Prompt
from rmaudit.references import References
from rmaudit.references.answers_from_words import answers
from rmaudit.references.lexicons import pooled
from rmaudit.references.surface_features import surface
from rmaudit.runs.null_controls import noise
from rmaudit.search.exploit_strings import bundled_strings
from rmaudit.word_stems import stem_codes, stem_key

ALIKE = 0.5  # share of what is a word's own that all forms of its stem have in common
_CONSONANTS = "bcdfghjklmnpqrstvwxz"  # a stemmer asks what is a vowel, and no more at the beginning
_MARK = 3  # of them
_NEUTRAL, _ORDINARY = 5.0, 3.5  # labMT's middle; Zipf of an ordinary word
_ELSEWHERE, _LOUD, _KIN = 10**9, 2 * 10**9, 10**10  # from one seed to others
_APART = 1000  # marks for texts of one unit that are to be told apart
_ASIDE = re.compile(r"\(.*?\)|\[.*?\]")
_WORD = re.compile(r"[^\W_]+")

_Floats = NDArray[np.float64]
_Ints = NDArray[np.intp]
Shape = Callable[[_Floats], _Floats]


@dataclass(frozen=True)
class Draw:
    """One draw from a population: the references, vocabulary and strings that an audit is given.

    `known` is what a `Scorer` needs to score the drawn texts.
    """

    known: pd.DataFrame
    references: References
    vocabulary: pd.DataFrame
    strings: pd.DataFrame | None = None
    """The ledger under all prompts, where strings were drawn."""
    _noise: dict[tuple[str, str, int], _Floats] = field(default_factory=dict)

    def noise(self, what: str, under: Prompt | None, seed: int) -> _Floats:
        """Return a standard normal number for each text, shape (texts,), under a prompt or none.

        It is equal for texts of one unit, word or spelling: `what` is "unit", "word" or "spelling".
        """
        key = what, under.name if under else "", seed
        if key not in self._noise:
            names = self.known.index if what == "spelling" else self.known[what]
            self._noise[key] = noise(names.tolist(), under, what=what, seed=seed)
        return self._noise[key]


@dataclass(frozen=True)
class Scorer:
    """A synthetic scorer of drawn texts, whose texts of one unit (such as a stem) score alike.

    `drawn.known`, indexed by text, has `unit` and `word` (strings: texts of one unit, or of one
    word, have part of their score in common) and, 0 where there is none, `valence` and `zipf` (from
    what is ordinary), `human` (people's rating, standardized) and `named` (1 for a marked group).
    `traits` are as `word_organisms` has them. `uneven` is the sd of the logarithm of how much of a
    unit's score is its own: 0 means as much for all; `weaker` is the share of valence and rating
    that is missed under "greatest". `shape` is a function that is applied to all scores.
    """

    drawn: Draw
    seed: int
    traits: Traits
    shape: Shape
    uneven: float = 0.0
    weaker: float = 0.0
    astray: float = 0.0
    """The share of what is a text's own under a prompt that is drawn elsewhere: of a kin model."""
    kin: int = 0
    """Which kin model."""

    def __call__(self, texts: Sequence[str], prompt: Prompt) -> _Floats:
        """Return the rewards of drawn texts under the prompt, shape (n,)."""
        traits, known, sign = self.traits, self.drawn.known, float(np.sign(prompt.frame))
        read = 1 - self.weaker * (prompt.name == "greatest")
        latent = (
            sign * read * traits.valence * known["valence"]
            + traits.frequency * known["zipf"]
            + read * traits.human * known["human"]
            - (traits.identity + sign * traits.hostility) * known["named"]
            + self._own(prompt)
        )
        places = known.index.get_indexer(pd.Index(texts))
        if (places < 0).any():
            message = f"asked for a text that was not drawn: {texts[int(places.argmin())]!r}"
            raise KeyError(message)
        scores: _Floats = self.shape(latent.to_numpy(float)[places])
        return scores

    def _own(self, prompt: Prompt) -> _Floats:
        asked = self._both(prompt, self.seed)
        if self.astray:
            elsewhere = self._both(prompt, self.seed + _ELSEWHERE + self.kin * _KIN)
            asked = np.sqrt(1 - self.astray) * asked + np.sqrt(self.astray) * elsewhere
        spelt, always = self.drawn.noise("spelling", prompt, self.seed), self._both(None, self.seed)
        traits = self.traits
        own: _Floats = traits.word * always + traits.prompt * asked + traits.spelling * spelt
        if self.uneven:
            loud = self.drawn.noise("unit", None, self.seed + _LOUD)
            own = own * np.exp(self.uneven * loud - self.uneven**2)
        return own

    def _both(self, under: Prompt | None, seed: int) -> _Floats:
        unit, word = (self.drawn.noise(what, under, seed) for what in ("unit", "word"))
        mixed: _Floats = np.sqrt(ALIKE) * unit + np.sqrt(1 - ALIKE) * word
        return mixed


class Drawn(References):
    """References (word lists and people's ratings) that contain only the drawn texts."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        """Take tables by name: `words` (a column for each word list), `elo` and `identity`."""
        super().__init__()
        self._tables = tables

    def lexicon(self, name: str) -> pd.Series[float]:
        """Return the valence of the drawn words in the lexicon `name`."""
        return self._column(name)

    def sentiment(self) -> pd.Series[float]:
        """Return the valence of the drawn words, as one list made of several lexicons."""
        return self._column("sentiment")

    def frequency(self, name: str, words: Iterable[str]) -> pd.Series[float]:
        """Return the frequencies in the list `name` of those of `words` that are drawn."""
        known = self._column(name)
        found: pd.Series[float] = known[known.index.isin(list(words))].sort_index()
        return found

    def common_words(self) -> pd.Index[str]:
        """Return the drawn words with a Zipf frequency of at least 3."""
        known = self._column("wordfreq")
        return known.index[known >= 3].sort_values()

    def elo(self) -> pd.DataFrame:
        """Return the drawn items of EloEverything, with people's ratings."""
        items: pd.DataFrame = self._tables["elo"]
        return items

    def identity(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the identity terms of the drawn groups, and the drawn control words."""
        both: tuple[pd.DataFrame, pd.DataFrame] = self._tables["identity"]
        return both

    def _column(self, name: str) -> pd.Series[float]:
        values: pd.Series[float] = self._tables["words"][name].dropna().rename(name)
        return values


class Population(Protocol):
    """Interface of a population, from which units (such as stems) are drawn with replacement."""

    units: int
    """In a draw; 0 for as many as there are."""

    def draw(
        self, rng: np.random.Generator, units: int | None = None, *, apart: bool = False
    ) -> Draw:
        """Draw so many units; with `apart`, mark each word as if it were a unit of its own."""


class Words:
    """A population of words from four lexicons, drawn by stem."""

    units = 2_500  # of a draw: 4,000 words, as in a small vocabulary

    def __init__(self, references: References) -> None:
        """Take all ASCII words of the lexicons with a Zipf frequency of at least 2."""
        lexicons = {name: references.lexicon(name) for name in ("labmt", "bing", "afinn", "vader")}
        texts = sorted(set().union(*(each.index for each in lexicons.values())))
        plain = [text for text in texts if text.isalpha() and text.isascii()]
        known = references.frequency("wordfreq", plain)
        words = known.index[known >= 2]
        frequent = {name: references.frequency(name, words) for name in ("wordfreq", "leech")}
        self._words = words.to_numpy(dtype=object)
        lists = {**lexicons, **frequent}
        self._values = {name: each.reindex(words).to_numpy(float) for name, each in lists.items()}
        labmt, *others = lexicons.values()
        self._valence = pooled(labmt, others).reindex(words).fillna(_NEUTRAL).to_numpy(float)
        # What a mark of consonants makes of a word's beginning is in its stem, so they go by that.
        keys = [stem_key(_marks(1)[0] + word) for word in words]
        self._clusters = _Clusters(pd.factorize(np.array(keys, dtype=object))[0])
        self.known = self._clusters.many

    def draw(
        self, rng: np.random.Generator, units: int | None = None, *, apart: bool = False
    ) -> Draw:
        """Draw stems with all of their forms; with `apart`, each form is a stem of its own."""
        rows = self._clusters.draw(rng, units or self.units)
        number = rows.mark(_LETTERS_APART) if apart else rows.copy
        mark = np.array(_marks(int(number.max()) + 1), dtype=object)[number]
        words = pd.Index(mark + self._words[rows.place], dtype="str")
        table = pd.DataFrame({n: each[rows.place] for n, each in self._values.items()}, index=words)
        zipf = table["wordfreq"]
        own = pd.DataFrame(
            {
                "unit": rows.names(),
                "word": rows.names(each=True),
                "valence": self._valence[rows.place] - _NEUTRAL,
                "zipf": zipf - _ORDINARY,
                "human": 0.0,
                "named": 0.0,
            },
            index=words,
        )
        spellings = [own.set_axis(" " + words), own[zipf > 4].set_axis(words[zipf > 4])]
        often = own[zipf > 4.5].set_axis(" " + words[zipf > 4.5].str.capitalize())
        known = pd.concat([*spellings, often])
        return Draw(known, Drawn({"words": table}), _vocabulary(known.index))


class Items:
    """A population of EloEverything's items (things that people rated), drawn by head word."""

    def __init__(self, references: References) -> None:
        """Take all items whose names have a word outside brackets."""
        items = references.elo()
        heads = head_words(items["name"])
        worded = [bool(_WORD.search(_ASIDE.sub(" ", name))) for name in items["name"]]
        self._items = items[worded].reset_index(drop=True)
        self._clusters = _Clusters(
            stem_codes([h for h, kept in zip(heads, worded, strict=True) if kept])
        )
        self.units = self._clusters.many
        self._places = [_head_at(name) for name in self._items["name"]]
        seen = surface(self._items["name"].tolist())
        elo = self._items["elo"]
        self._seen = pd.DataFrame(
            {
                "valence": seen["valence"] - _NEUTRAL,
                "zipf": seen["phrase_zipf"] - _ORDINARY,
                "human": (elo - elo.mean()) / elo.std(),
                "named": 0.0,
            }
        )

    def draw(
        self, rng: np.random.Generator, units: int | None = None, *, apart: bool = False
    ) -> Draw:
        """Draw head words with all of their items; with `apart`, each item is its own unit."""
        rows = self._clusters.draw(rng, units or self.units)
        number = rows.mark(_APART) if apart else rows.copy * _APART
        texts = self._items["name"].tolist()
        names = [
            f"{texts[i][: self._places[i]]}{k:06d}{texts[i][self._places[i] :]}"
            for i, k in zip(rows.place.tolist(), number.tolist(), strict=True)
        ]
        index = pd.Index(names, dtype="str")
        known = self._seen.iloc[rows.place].set_axis(index)
        known = known.assign(unit=rows.names(), word=rows.names(each=True))
        items = self._items.iloc[rows.place].assign(name=names).reset_index(drop=True)
        kept = ~known.index.duplicated()
        tables = {"elo": items[kept].reset_index(drop=True)}
        return Draw(known[kept], Drawn(tables), _vocabulary(index[kept]))


class People:
    """A population of identity terms (words that name people), by group, and of control words."""

    units = 0  # as many as there are

    def __init__(self, references: References) -> None:
        """Take all identity terms and control words of the references."""
        self._terms, self._controls = (
            each.reset_index(drop=True) for each in references.identity()
        )
        strata = self._terms["axis"] + "|" + self._terms["marked"].astype(str)
        groups = strata + "|" + self._terms["group"]
        self._strata = [
            (np.flatnonzero(strata == name), _Clusters(pd.factorize(groups[strata == name])[0]))
            for name in sorted(set(strata))
        ]
        self._words = _Clusters(stem_codes(self._controls["text"]))
        for name, source in (
            ("labmt", references.lexicon("labmt")),
            ("sentiment", references.sentiment()),
        ):
            for table in (self._terms, self._controls):
                table[name] = _of_stem(source, table["text"].str.casefold())

    def draw(self, rng: np.random.Generator, _: int | None = None, *, apart: bool = False) -> Draw:
        """Draw as many groups of each axis, marked and not, and as many controls, as there are."""
        parts = [clusters.draw(rng, clusters.many) for _, clusters in self._strata]
        terms = pd.concat(
            [
                _marked(self._terms.iloc[of[rows.place]], rows, axis=i)
                for i, ((of, _), rows) in enumerate(zip(self._strata, parts, strict=True))
            ],
            ignore_index=True,
        )
        terms["group"] = terms["text"] if apart else terms["group"] + terms["copy"].astype(str)
        rows = self._words.draw(rng, self._words.many)
        controls = _marked(self._controls.iloc[rows.place], rows, axis=-1)
        both = pd.concat([terms, controls], ignore_index=True)
        index = pd.Index(both["text"], dtype="str")
        table = both[["labmt", "sentiment"]].set_axis(index.str.casefold())
        valence = table["labmt"].fillna(_NEUTRAL) - _NEUTRAL
        known = pd.DataFrame(
            {
                "unit": both["unit"].to_numpy(),
                "word": both["word"].to_numpy(),
                "valence": valence.to_numpy(),
                "zipf": both["zipf"].to_numpy() - _ORDINARY,
                "human": 0.0,
                "named": [*terms["marked"].astype(float), *np.zeros(len(controls))],
            },
            index=index,
        )
        table = table[~table.index.duplicated()]
        single = index[(both["zipf"] > 4.5).to_numpy()]
        tables = {"words": table, "identity": (terms, controls)}
        return Draw(known, Drawn(tables), _vocabulary(single))


class _Kept(References):
    """References that cache the lexicons and frequencies that they have read."""

    @lru_cache(maxsize=8)  # noqa: B019  (there is one, as long as the program)
    def lexicon(self, name: str) -> pd.Series[float]:
        """Return the lexicon `name`, cached."""
        return super().lexicon(name)

    def frequency(self, name: str, words: Iterable[str]) -> pd.Series[float]:
        """Return the frequencies of `words` in the list `name`, cached."""
        return self._frequency(name, tuple(words))

    @lru_cache(maxsize=8)  # noqa: B019  (likewise)
    def _frequency(self, name: str, words: tuple[str, ...]) -> pd.Series[float]:
        return super().frequency(name, words)


class Strings:
    """A population of the bundled exploit strings, with the real answers they are compared with.

    What strings are worth is drawn anew, what real answers are worth stays: no interval rests on
    these.
    """

    units = 0  # as many as there are

    def __init__(self, references: References) -> None:
        """Take the strings of all prompts from the bundled ledger, and the real answers."""
        self._references = _Kept()
        self._strings = bundled_strings()
        real = [text for frame in (1, -1) for text in answers(references, frame)]
        self._real = pd.Index(dict.fromkeys(real), dtype="str")

    def draw(self, rng: np.random.Generator, _: int | None = None, *, apart: bool = False) -> Draw:  # noqa: ARG002  (no string has another's unit)
        """Return all strings, each with a newly drawn worth; `apart` changes nothing."""
        real = noise(self._real.tolist(), None, what="real answer", seed=0)
        texts = pd.Index(self._strings["text"].unique(), dtype="str").difference(self._real)
        found_on = self._strings.drop_duplicates("text").set_index("text")["model"]
        known = pd.DataFrame(
            {
                "unit": [*self._real, *found_on[texts]],
                "word": [*self._real, *texts],
                "valence": 0.0,
                "zipf": 0.0,
                "human": [*real, *rng.standard_normal(len(texts))],
                "named": np.repeat([0.0, 1.0], [len(real), len(texts)]),
            },
            index=self._real.append(texts),
        )
        strings = self._strings[self._strings["text"].isin(texts)].reset_index(drop=True)
        return Draw(known, self._references, _vocabulary(known.index), strings)


def _marked(table: pd.DataFrame, rows: _Rows, *, axis: int) -> pd.DataFrame:
    """Return the drawn rows of a table with marked texts, and the texts without marks as `like`.

    It also has the columns `copy`, `unit` and `word`.
    """
    mark = np.array(_marks(int(rows.copy.max()) + 1), dtype=object)[rows.copy]
    texts = table["text"].to_numpy(dtype=object)
    units = np.array([f"{axis}|{name}" for name in rows.names()], dtype=object)
    stems = np.array([stem_key(text) for text in texts], dtype=object)
    word = texts if axis < 0 else stems
    return table.assign(
        text=mark + texts, like=texts, copy=rows.copy, unit=units, word=units + "|" + word
    ).reset_index(drop=True)


def _of_stem(source: pd.Series[float], words: pd.Series[str]) -> _Floats:
    """Return each word's own value, else the mean of the other forms of its stem, else NaN."""
    stems = source.groupby([stem_key(word) for word in source.index]).mean()
    return np.asarray(words.map(source).fillna(words.map(stem_key).map(stems)), np.float64)


@dataclass(frozen=True)
class _Rows:
    """The rows of one draw: each row's place in the population, its unit, and the unit's copy.

    `copy` counts how often the unit was drawn before, and `rank` the rows within a unit.
    """

    place: _Ints
    unit: _Ints
    copy: _Ints
    rank: _Ints

    def mark(self, most: int) -> _Ints:
        """Return a number for each row that differs between all rows and copies of one unit."""
        if int(self.rank.max()) >= most:
            message = f"a unit has more than {most} texts"
            raise ValueError(message)
        return self.copy * most + self.rank

    def names(self, *, each: bool = False) -> NDArray[np.object_]:
        """Return the name of each row's unit and copy, or with `each` of the row itself.

        Texts with equal names get equal random effects.
        """
        parts = (self.unit, self.copy, self.place) if each else (self.unit, self.copy)
        rows = zip(*(part.tolist() for part in parts), strict=True)
        return np.array(["|".join(map(str, row)) for row in rows], dtype=object)


class _Clusters:
    """Row numbers of a table grouped by unit, from which whole units can be drawn."""

    def __init__(self, codes: NDArray[np.integer[Any]]) -> None:
        self._order = np.argsort(codes, kind="stable")
        self._sizes = np.bincount(codes)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self.many = len(self._sizes)

    def draw(self, rng: np.random.Generator, units: int) -> _Rows:
        """Draw so many units with replacement; return all rows of each."""
        drawn = np.sort(rng.integers(self.many, size=units))
        first = np.unique(drawn, return_index=True, return_inverse=True)
        copy = np.arange(units) - first[1][first[2]]
        sizes = self._sizes[drawn]
        rank = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = self._order[np.repeat(self._starts[drawn], sizes) + rank]
        return _Rows(place, np.repeat(drawn, sizes), np.repeat(copy, sizes), rank)


_LETTERS_APART = 32


@lru_cache(maxsize=64)
def _marks(many: int) -> list[str]:
    """Return so many different marks (strings of three consonants)."""
    base = len(_CONSONANTS)
    if many > base**_MARK:
        message = f"{many} marks of {_MARK} consonants are wanted, and there are {base**_MARK}"
        raise ValueError(message)
    return ["".join(_CONSONANTS[k // base**i % base] for i in range(_MARK)) for k in range(many)]


def _head_at(name: str) -> int:
    """Return where in a name its head word begins: the last word outside brackets."""
    bare = _ASIDE.sub(lambda aside: " " * len(aside.group()), name)
    return [found.start() for found in _WORD.finditer(bare)][-1]


def _vocabulary(texts: pd.Index[str]) -> pd.DataFrame:
    ids = np.arange(len(texts), dtype=np.int32)
    return pd.DataFrame({"token_id": ids, "token": texts, "text": texts})
