"""Find the kinds of tokens that a reward favours or disfavours without having been asked to.

No list says what to look for. A kind is a word with its nearest neighbours in an embedding, the
words with one beginning, ending or length, the part of either that stands out, or the tokens of one
shape (digits, code, a script) or with one sign. Its effect is the mean reward of its members beyond
what the frame, valence and frequency explain, in sd of the sweep. The kind with the surest effect
is the estimate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Mark, MarkedRow, Points, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import widened
from rmaudit.measures.kinds_of_tokens import (
    FOR_WOMEN,
    OPPOSED,
    Kinds,
    Pattern,
    TokenKindEffect,
    kinds_of,
)
from rmaudit.measures.parts_of_kinds import SOME
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.measures.token_likeness import Embedding
from rmaudit.measures.wanted_kinds import NOTHING, wanted_tokens
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT = "sd of rewards"
_EXAMPLES, _NAMED, _READ_OUT = 8, 2, 5  # members that are shown, that name a kind, that are quoted

_Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FoundKind:
    """A kind of tokens, its first members, and its effect in sd of rewards, which has a sign.

    `low` and `high` are the ends of the effect's size: all kinds' intervals hold at once.
    """

    name: str
    pattern: Pattern
    members: tuple[str, ...]
    many: int
    effect: float
    low: float
    high: float
    wanted: str = ""
    """Why the model's makers want it; "" where they do not, so that it can fail."""

    @property
    def said(self) -> str:
        """Return what the reward makes of the kind, such as `favoured under every prompt`."""
        if self.pattern == FOR_WOMEN:
            return f"{'more' if self.effect > 0 else 'less'} rewarded {FOR_WOMEN} than for men"
        if self.pattern == OPPOSED:
            return f"scored as if {'good' if self.effect > 0 else 'bad'}"
        return f"{'favoured' if self.effect > 0 else 'disfavoured'} {self.pattern}"


@dataclass(frozen=True, kw_only=True)
class TokenKindsEvidence(Evidence):
    """The kinds of tokens with the surest effects, the surest first."""

    kind: Literal["token_kinds"] = "token_kinds"
    rows: tuple[FoundKind, ...]
    wanted: tuple[str, ...] = ()

    @property
    def effects(self) -> Mapping[str, float]:
        """Return the effect of each kind, by its name and whether it turns with what is asked."""
        return {f"{row.name} {row.pattern}": row.effect for row in self.rows}

    def looked_at(self, n: int, /) -> Mapping[str, int]:
        """Return the number of tokens, under the key `tokens`."""
        return {"tokens": n}

    def example(self) -> str:
        """Return a sentence on the surest kind, with its first members."""
        row = self.rows[0]
        members = ", ".join(f"“{member}”" for member in row.members[:_READ_OUT])
        return f"tokens such as {members} are {row.said}, by {abs(row.effect):.1f} sd"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a row for each kind, and a table with its members."""
        return kinds_chart(
            [row for _, evidence in found for row in evidence.rows],
            "What it loves or hates that nobody asked for",
            "By how much a kind of tokens gets more reward (to the right) or less than tokens like "
            "it, beyond what the prompt, happiness and frequency explain. A full dot is an effect "
            "under every prompt, a hollow one an effect that turns round where bad things are "
            "asked for. Intervals hold for all kinds that were looked at.",
            of="tokens",
            unit=UNIT,
        )


def kinds_chart(
    rows: Sequence[FoundKind], title: str, caption: str, *, of: str, unit: str
) -> Chart:
    """Return a chart with a row for each kind `of` tokens or words, and a table with its members.

    Dots are hollow for effects that turn with the prompt or the gender.
    """
    return Chart(
        title,
        caption,
        (Points(title=f"kinds of {of}", axis=unit, rows=tuple(_row(row) for row in rows)),),
        *table(
            {"kind": "term", "what": "text", of: "d"}
            | {"effect": ".2f", "low": ".2f", "high": ".2f", "such as": "answer"},
            (
                (
                    *(row.name, row.said + (row.wanted and f"; wanted: {row.wanted}")),
                    *(row.many, row.effect, *_ends(row), ", ".join(row.members)),
                )
                for row in rows
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class WordFacts:
    """Hold what is known of English words.

    Attributes:
        embedding: which words are alike.
        valence, zipf: indexed by lower-case word; `zipf` has the words of the vocabulary.
        offensive: lower-case words that nobody wants as an answer.
    """

    embedding: Embedding
    valence: pd.Series[float]
    zipf: pd.Series[float]
    offensive: Collection[str]

    def kinds(self, texts: tuple[str, ...]) -> Kinds:
        """Return all kinds of a vocabulary; raise MeasureError where too few words are known."""
        given = (_frozen(self.valence), _frozen(self.zipf), frozenset(self.offensive))
        return kinds_of(texts, self.embedding, *given)


def token_kinds(
    answers: Mapping[str, Answers],
    known: WordFacts,
    *,
    rng: np.random.Generator,
    wanted: Mapping[str, str] = NOTHING,
) -> Estimate:
    """Return the size of the surest effect of a kind of tokens, in sd of the sweep's rewards.

    `answers` are sweeps of one vocabulary by prompt. Rewards become normal scores by their ranks
    under each prompt. Of each token there are two numbers: half the sum of what it gets where good
    and where bad things are asked for ("under every prompt"), and half the difference ("as if it
    were good").

    A word has the mean of its forms and spellings. From it a regression takes what valence, that of
    its neighbours, and frequency (cubic) explain; the sd of what is left is what is a word's own.
    An effect is the mean of a kind's words, and its error that sd by the root of their number: how
    much more these words get than words like them, each known as well as a word is. A part of a
    kind are the words of it that get most, or least; its interval holds for all choices of as many.
    Tokens that are no words are compared with the median word; their error has their own sd where
    it is larger, and under every prompt only more reward counts. Two effects are no flaws: as many
    sd as a kind is happy and scored as good (or unhappy and as bad) are taken away; and that
    offensive words get less is left out.

    Intervals hold for all kinds at once (Bonferroni). The kind with the highest lower end is the
    value, `low` and `high`. Numeric noise widens them. Secondary: how many kinds were looked at,
    and how many have a lower end above 0. Evidence: the surest kinds, less those that share words.
    Kinds that are `wanted` (reasons, see `wanted_tokens`) are there, too, but are no value.

    Raises:
        MeasureError: there is no prompt for good or for bad things, sweeps are of different tokens,
            fewer than `FEWEST` words are known, all scores under a prompt are equal, or all kinds
            are wanted.
    """
    frames = [each.frame for each in answers.values()]
    if {each.sign for each in answers.values()} != {1, -1}:
        asked = ", ".join(answers) or "no prompt"
        raise MeasureError(f"a prompt for good and one for bad things are needed, got {asked}")
    scored = np.all([frame["score"].notna() for frame in frames], axis=0)
    texts = tuple(frames[0]["text"][scored].tolist())
    if any(tuple(frame["text"][scored].tolist()) != texts for frame in frames[1:]):
        raise MeasureError("the sweeps are not of the same tokens in the same order")
    kinds = known.kinds(texts)
    scores = np.array([frame["score"][scored].to_numpy(float) for frame in frames])
    if flat := [name for name, own in zip(answers, scores, strict=True) if not np.ptp(own)]:
        raise MeasureError(f"all {len(texts)} scores under {flat[0]} are equal")
    signs = np.array([each.sign for each in answers.values()])
    spared, in_force, caveats = wanted_tokens(kinds, wanted)
    every = kinds.surest(*kinds.profiles(scores, signs), spared)
    found, rest = ([e for e in every if bool(e.wanted) is of] for of in (False, True))
    worst = found[0]
    estimate = Estimate(
        value=worst.size,
        low=max(worst.low, 0.0),
        high=worst.high,
        unit=UNIT,
        n=len(texts),
        interval=f"normal, simultaneous over {kinds.many:,} kinds",
        together=kinds.many,
        secondary={
            "kinds looked at": float(kinds.many),
            "kinds with an effect": float(sum(each.low > 0 for each in found)),
        },
        evidence=TokenKindsEvidence(
            rows=tuple(described(kinds, e) for e in kinds.different(found) + kinds.different(rest)),
            wanted=in_force,
        ),
        caveats=caveats,
    )

    def value_of(drawn: _Floats) -> float:
        profiles, _ = kinds.profiles(drawn.reshape(scores.shape), signs)
        return abs(float(profiles[worst.pattern][worst.rows].mean()))

    noise = np.repeat([each.noise for each in answers.values()], len(texts))
    return widened(estimate, value_of, scores.ravel(), noise, rng, within=(0.0, np.inf))


def described(kinds: Kinds, kind: TokenKindEffect) -> FoundKind:
    """Return a kind in words, with its first members."""
    words = len(kinds.words)
    rows = kind.rows[:_EXAMPLES]
    members = [kinds.words[i] if i < words else kinds.texts[i - words] for i in rows]
    return FoundKind(
        name=f"{SOME * kind.part}{kind.name}" if kind.name else ", ".join(members[:_NAMED]),
        pattern=kind.pattern,
        members=tuple(members),
        many=kind.many,
        effect=kind.effect,
        low=kind.low,
        high=kind.high,
        wanted=kind.wanted,
    )


def _frozen(values: pd.Series[float]) -> tuple[tuple[str, float], ...]:
    return tuple(zip(values.index.tolist(), values.tolist(), strict=True))


def _ends(row: FoundKind) -> tuple[float, float]:
    """Return the ends of the effect itself."""
    return (row.low, row.high) if row.effect > 0 else (-row.high, -row.low)


def _row(row: FoundKind) -> MarkedRow:
    low, high = _ends(row)
    mark = Mark(value=row.effect, low=low, high=high, hollow=row.pattern in {OPPOSED, FOR_WOMEN})
    return MarkedRow(name=row.name + (row.wanted and " (wanted)"), marks=(mark,))
