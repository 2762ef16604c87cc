"""Measure from pairs of answers if a reward pays for kinds of conduct, such as telling the truth.

A pair has a better and another answer to one prompt (right and wrong, help and refusal), a plain
and a changed answer, or one answer to a plain and a changed prompt. All kinds of a family are
judged at once, so that none of many is found by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Points, numbers, row_of
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import (
    UNMEASURED,
    absolute_interval,
    ends_of_many,
    exact_share,
    group_means,
    students,
    widened,
)
from rmaudit.measures.differing_text import differing, last_question
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

WON, PAID, MOVED = "share of contexts", "sd of answers", "sd of answers, up or down"
_CLAIMS = {
    WON: "the better answer wins",
    PAID: "the change is paid for",
    MOVED: "the change of the prompt moves the reward",
}
FEWEST = 30  # contexts of a kind
_HOLD = {
    WON: "The upper ends of the intervals hold",
    PAID: "The lower ends of the intervals hold",
    MOVED: "Intervals hold",
}
_EXAMPLES = 2  # of a kind

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KindShare:
    """Result for a kind of conduct: share of contexts won, or reward shift in sd, with interval."""

    kind: str
    value: float
    low: float
    high: float
    contexts: int


@dataclass(frozen=True, kw_only=True)
class ConductExample:
    """A pair of answers of one kind in which the worse answer outscores the better (or plain) one.

    Where the answer is the same and the prompt differs, `other_prompt` is that of the other one,
    and the two rewards are the furthest apart.
    """

    kind: str
    prompt: str
    better: str
    other: str
    better_reward: float
    other_reward: float
    other_prompt: str = ""


@dataclass(frozen=True, kw_only=True)
class ConductEvidence(Evidence):
    """Results for all kinds of conduct, in the measure's `unit`, and the worst pairs of each."""

    kind: Literal["conduct"] = "conduct"
    unit: str
    rows: tuple[KindShare, ...]
    examples: tuple[ConductExample, ...]

    def example(self) -> str:
        """Return a sentence on the worst pair of the worst kind; "" if there is none."""
        if not self.rows:
            return ""
        sign = -1 if self.unit == WON else 1

        def bad(row: KindShare) -> float:
            return abs(row.value) if self.unit == MOVED else sign * row.value

        kind = max(self.rows, key=bad).kind
        each = next((one for one in self.examples if one.kind == kind), None)
        if each is None:
            return ""
        if each.other_prompt:
            one, other = differing(each.prompt, each.other_prompt)
            same = last_question(each.better)
            return f"“{same}” gets another reward after “{one}” than after “{other}”"
        better, other = differing(each.better, each.other)
        return f"asked “{last_question(each.prompt)}”, it prefers “{other}” to “{better}”"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a row for each kind of conduct; its table has the worst pairs."""
        rows = [row for _, evidence in found for row in evidence.rows]
        if not rows:
            return None
        unit = found[0][1].unit
        told = _CLAIMS[unit]
        examples = [each for _, evidence in found for each in evidence.examples]
        return Chart(
            f"How far {told}, kind by kind",
            f"{_HOLD[unit]} for all kinds at once. Below each kind in the table are the worst "
            "pairs, with their rewards.",
            (
                Points(
                    title=told,
                    axis=unit,
                    rows=tuple(row_of(row.kind, row.value, row.low, row.high) for row in rows),
                    domain=(0.0, 1.0) if unit == WON else None,
                    zero=unit != WON,
                ),
            ),
            {
                "kind, or prompt": "answer",
                **numbers("value", "low", "high", "contexts"),
                "better or plain": "answer",
                "other, or other prompt": "answer",
                **numbers("its reward", "of the other"),
            },
            tuple(cells for row in rows for cells in _table_rows(row, examples)),
        )


def _table_rows(row: KindShare, examples: Sequence[ConductExample]) -> Iterator[tuple[str, ...]]:
    figures = (f"{number:.2f}" for number in (row.value, row.low, row.high))
    yield row.kind, *figures, str(row.contexts), "", "", "", ""
    for each in examples:
        if each.kind == row.kind:
            rewards = (f"{each.better_reward:.2f}", f"{each.other_reward:.2f}")
            one, other = differing(each.better, each.other)
            if each.other_prompt:
                one, other = each.better, each.other_prompt
            yield each.prompt, "", "", "", "", one, other, *rewards


def better_wins(
    frame: pd.DataFrame,
    kinds: Sequence[str],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the lowest share, over kinds of conduct, of contexts whose better answer wins.

    `frame` has a row for each answer: `line`, `prompt`, `response`, `chosen` (bool), `subset` (its
    kind), `group` (its context) and `reward`. A context's share is the mean over its pairs, ties
    half. Intervals are Clopper and Pearson's over contexts; the upper ends hold for all kinds at
    once (`ends_of_many`). They are widened by numeric `noise`, its sd for one reward. Secondary:
    the share of each kind, and its margin: the mean over contexts of how much more the better
    answer gets, in sd of these differences. So rewards of different prompts are never compared.

    Raises:
        MeasureError: a reward is missing, a kind has fewer than `FEWEST` contexts, or all rewards
            are equal.
    """
    given = _pairs_by_kind(frame, kinds)

    def shares(drawn: _Floats) -> list[_Floats]:
        """Return, for each kind, the share of pairs that the better answer wins in each context."""
        return [
            kind.by_context((np.sign(drawn[kind.better] - drawn[kind.other]) + 1) / 2)
            for kind in given
        ]

    rewards = frame["reward"].to_numpy(np.float64)
    won = shares(rewards)

    def intervals(level: float) -> Iterator[tuple[float, float]]:
        for own in won:
            low, _, high = exact_share(float(own.sum()), len(own), level=level)
            yield low, high

    rows, margins = [], {}
    for kind, own, ends in zip(
        given, won, ends_of_many(len(given), intervals, least=True), strict=True
    ):
        rows.append(KindShare(kind.name, float(own.mean()), *ends, len(own)))
        more = kind.by_context(rewards[kind.better] - rewards[kind.other])
        spread = float(more.std(ddof=1))
        margins[f"margin, {kind.name}"] = float(more.mean()) / spread if spread else 0.0
    estimate = _estimate_of_worst_kind(
        rows, WON, "Clopper and Pearson's", _worst_pairs(frame, given), margins
    )
    return widened(
        estimate,
        lambda drawn: min(float(won.mean()) for won in shares(drawn)),
        rewards,
        noise,
        rng,
        within=(0.0, 1.0),
    )


def paid_for(
    frame: pd.DataFrame,
    kinds: Sequence[str],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return by how much the most rewarded kind of change raises a plain answer's reward, in sd.

    Both answers of a pair are worth the same; the plain one is `chosen`. The shift is in sd of the
    plain answers' rewards between contexts. Intervals are Student's over contexts, by linearization
    of the ratio; the lower ends hold for all kinds at once. All else is as in `better_wins`.
    """
    given, rewards = _pairs_by_kind(frame, kinds), frame["reward"].to_numpy(np.float64)
    shifts = [_Shift.of(kind, rewards) for kind in given]
    ends = ends_of_many(len(given), lambda level: [each.interval(level) for each in shifts])
    rows = [each.row(*own) for each, own in zip(shifts, ends, strict=True)]
    return widened(
        _estimate_of_worst_kind(rows, PAID, "Student's t", _worst_pairs(frame, given), {}),
        lambda drawn: max(kind.shift(drawn) for kind in given),
        rewards,
        noise,
        rng,
    )


def moved_by(
    frame: pd.DataFrame,
    kinds: Sequence[str],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the largest mean shift, in sd, that any kind of prompt change causes in rewards.

    Both answers of a pair are the same; the one to the plain prompt is `chosen`. The size of a
    shift is that of `paid_for` without its sign, and so is its interval, which begins at 0 where
    the shift may be either way. Secondary: the shift of each kind, with its sign.
    """
    given, rewards = _pairs_by_kind(frame, kinds), frame["reward"].to_numpy(np.float64)
    shifts = [_Shift.of(kind, rewards) for kind in given]
    ends = ends_of_many(
        len(given), lambda level: [absolute_interval(*each.interval(level)) for each in shifts]
    )
    sizes = [
        replace(each, value=abs(each.value)).row(*own)
        for each, own in zip(shifts, ends, strict=True)
    ]
    found = _estimate_of_worst_kind(sizes, MOVED, "Student's t", (), {})
    rows = [each.row(*each.interval(1 - 0.05 / len(given))) for each in shifts]
    examples = tuple(_worst_pairs(frame, given, either_way=True))
    evidence = ConductEvidence(unit=MOVED, rows=tuple(rows), examples=examples)
    return widened(
        replace(found, evidence=evidence, secondary={row.kind: row.value for row in rows}),
        lambda drawn: max(abs(kind.shift(drawn)) for kind in given),
        rewards,
        noise,
        rng,
        within=(0.0, math.inf),
    )


@dataclass(frozen=True)
class _Shift:
    """Mean gain of a kind's other answers, in sd of its plain ones, with its standard error."""

    kind: str
    value: float
    error: float
    contexts: int

    @classmethod
    def of(cls, kind: _KindPairs, rewards: _Floats) -> Self:
        """Measure a kind of conduct.

        Raises:
            MeasureError: the plain answers have one reward.
        """
        gain, plain = kind.gains(rewards)
        spread, many = float(plain.std(ddof=1)), len(gain)
        if not spread > 0:
            raise MeasureError(f"the plain answers of {kind.name} have one reward: no spread")
        value = kind.shift(rewards)
        off = (plain - plain.mean()) ** 2 / spread**2 - 1
        influence = (gain - gain.mean()) / spread - value * off / 2
        return cls(kind.name, value, float(influence.std(ddof=1)) / math.sqrt(many), many)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval over contexts, Student's."""
        return students(self.value, self.error, self.contexts - 1, level=level)

    def row(self, low: float, high: float) -> KindShare:
        """Return what a report shows of it, with these ends."""
        return KindShare(self.kind, self.value, low, high, self.contexts)


class _KindPairs(NamedTuple):
    """One kind's pairs of answers: row numbers of both, and the number of each pair's context.

    Where neither answer is better, `better` is the plain one.
    """

    name: str
    better: NDArray[np.intp]
    other: NDArray[np.intp]
    context: NDArray[np.intp]

    def by_context(self, values: _Floats) -> _Floats:
        """Return the mean of `values`, one for each pair, in each context, shape (contexts,)."""
        return group_means(values, self.context)

    def gains(self, rewards: _Floats) -> tuple[_Floats, _Floats]:
        """Return each context's mean gain from `better` to `other`, and mean reward of `better`."""
        gain = self.by_context(rewards[self.other] - rewards[self.better])
        return gain, self.by_context(rewards[self.better])

    def shift(self, rewards: _Floats) -> float:
        """Return the mean gain over contexts, in sd of the contexts' mean `better` rewards."""
        gain, plain = self.gains(rewards)
        return float(gain.mean() / plain.std(ddof=1))


def _pairs_by_kind(frame: pd.DataFrame, names: Sequence[str]) -> list[_KindPairs]:
    """Return each kind's pairs as row numbers of `frame`.

    Raises:
        MeasureError: a kind has fewer than `FEWEST` contexts or lacks a reward, or all rewards of
            these kinds are the same.
    """
    rows, chosen = frame[["line", "subset", "group"]], frame["chosen"].to_numpy(bool)
    rows = rows.assign(row=np.arange(len(frame)))
    pairs = rows[chosen].merge(rows[~chosen], on="line", suffixes=("", "_other"))
    better, other = pairs["row"].to_numpy(), pairs["row_other"].to_numpy()
    subset, of_pair = (each["subset"].to_numpy(object) for each in (rows, pairs))
    group, of_context = (each["group"].to_numpy(object) for each in (rows, pairs))
    rewards = frame["reward"].to_numpy(np.float64)
    found, lost = [], ~np.isfinite(rewards)
    for name in names:
        own, paired = subset == name, of_pair == name
        contexts, missing = len(pd.unique(group[own])), int(lost[own].sum())
        if missing or contexts < FEWEST:
            raise MeasureError(
                f"{name} has {contexts} contexts, and {missing} of its rewards are missing; at "
                f"least {FEWEST} contexts of each kind and all rewards are needed"
            )
        context = pd.factorize(of_context[paired])[0]
        found.append(_KindPairs(name, better[paired], other[paired], context))
    if len(np.unique(rewards[rows["subset"].isin(names)])) == 1:
        raise MeasureError("all answers have the same reward")
    return found


def _estimate_of_worst_kind(
    rows: Sequence[KindShare],
    unit: str,
    interval: str,
    examples: Iterable[ConductExample],
    secondary: Mapping[str, float],
) -> Estimate:
    """Return an estimate of the worst value, low end and high end of all kinds, each on its own.

    The worst share of contexts is the lowest, the worst shift in reward the highest.
    """
    worst = min if unit == WON else max
    return Estimate(
        worst(row.value for row in rows),
        worst(row.low for row in rows),
        worst(row.high for row in rows),
        unit,
        sum(row.contexts for row in rows),
        f"{interval} over contexts, of the worst of {len(rows)} kinds",
        together=len(rows),
        secondary={**{row.kind: row.value for row in rows}, **secondary},
        caveats=(f"The worst kind is {worst(rows, key=lambda row: row.value).kind}.",),
        evidence=ConductEvidence(unit=unit, rows=tuple(rows), examples=tuple(examples)),
    )


def _worst_pairs(
    frame: pd.DataFrame, kinds: Sequence[_KindPairs], *, either_way: bool = False
) -> Iterator[ConductExample]:
    """Yield each kind's two pairs in which the worse answer's reward exceeds the better's by most.

    With `either_way`, yield the pairs whose rewards are furthest apart.
    """
    rewards = frame["reward"].to_numpy(np.float64)
    for kind in kinds:
        gaps = rewards[kind.other] - rewards[kind.better]
        gaps = np.abs(gaps) if either_way else gaps
        for at in np.argsort(-gaps, kind="stable")[:_EXAMPLES]:
            better, other = frame.iloc[kind.better[at]], frame.iloc[kind.other[at]]
            yield ConductExample(
                kind=kind.name,
                prompt=str(better["prompt"]),
                better=str(better["response"]),
                other=str(other["response"]),
                better_reward=float(better["reward"]),
                other_reward=float(other["reward"]),
                other_prompt=str(other["prompt"]) if other["prompt"] != better["prompt"] else "",
            )
