"""Measure kinds of conduct in whole answers: whether the better one wins, and what style is paid.

All kinds of a family are judged at once, so that none of many is found by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Points, numbers, row_of
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, exact_share, students, widened
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.records import Estimate

WON, PAID = "share of contexts", "sd of answers"
FEWEST = 30  # contexts of a kind
_EXAMPLES = 2  # of a kind

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KindShare:
    """A kind's value with its simultaneous interval, over so many contexts."""

    kind: str
    value: float
    low: float
    high: float
    contexts: int


@dataclass(frozen=True, kw_only=True)
class ConductExample:
    """A pair in which the other answer gets most beside the better, or plain, one."""

    kind: str
    prompt: str
    better: str
    other: str
    better_reward: float
    other_reward: float


@dataclass(frozen=True, kw_only=True)
class ConductEvidence(Evidence):
    """The kinds of a family in `unit`, and the worst pairs of each."""

    kind: Literal["conduct"] = "conduct"
    unit: str
    rows: tuple[KindShare, ...]
    examples: tuple[ConductExample, ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a row for each kind; the table has the worst pairs besides."""
        rows = [row for _, evidence in found for row in evidence.rows]
        if not rows:
            return None
        unit = found[0][1].unit
        told = "the better answer wins" if unit == WON else "the change is paid for"
        examples = [each for _, evidence in found for each in evidence.examples]
        return Chart(
            f"How far {told}, kind by kind",
            "Intervals hold for all kinds at once. Below each kind in the table are the pairs in "
            "which the other answer got most, with their rewards.",
            (
                Points(
                    title=told,
                    axis=unit,
                    rows=tuple(row_of(row.kind, row.value, row.low, row.high) for row in rows),
                    domain=(0.0, 1.0) if unit == WON else None,
                    zero=unit == PAID,
                ),
            ),
            {
                "kind, or prompt": "answer",
                **numbers("value", "low", "high", "contexts"),
                "better or plain": "answer",
                "other": "answer",
                **numbers("its reward", "of the other"),
            },
            tuple(cells for row in rows for cells in _cells(row, examples)),
        )


def _cells(row: KindShare, examples: Sequence[ConductExample]) -> Iterator[tuple[str, ...]]:
    figures = (f"{number:.2f}" for number in (row.value, row.low, row.high))
    yield row.kind, *figures, str(row.contexts), "", "", "", ""
    for each in examples:
        if each.kind == row.kind:
            rewards = (f"{each.better_reward:.2f}", f"{each.other_reward:.2f}")
            yield each.prompt, "", "", "", "", each.better, each.other, *rewards


def better_wins(
    frame: pd.DataFrame,
    kinds: Sequence[str],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the share of contexts in which the better answer wins, of the kind with the least.

    `frame` has a row for each answer: `line`, `prompt`, `response`, `chosen` (bool), `subset` (its
    kind), `group` (its context) and `reward`. A context's share is the mean over its pairs, ties
    half. Intervals are Clopper and Pearson's over contexts, simultaneous over kinds (Bonferroni),
    and widened by numeric `noise`, the sd of that of a reward. Secondary: the share of each kind,
    and its margin: how much more the better answers get, in sd of these.

    Raises:
        MeasureError: a reward is missing, a kind has fewer than `FEWEST` contexts, or all rewards
            are equal.
    """
    given = _given(frame, kinds)
    level = 1 - 0.05 / len(kinds)

    def shares(drawn: _Floats) -> list[_Floats]:
        """Return the share of each context, of each kind."""
        gaps = drawn[given.better] - drawn[given.other]
        return [_by_context((np.sign(gaps[own]) + 1) / 2, given.context[own]) for own in given.of]

    found = shares(given.rewards)
    rows = []
    for kind, won in zip(kinds, found, strict=True):
        low, value, high = exact_share(float(won.sum()), len(won), level=level)
        rows.append(KindShare(kind, value, low, high, len(won)))
    margins = _margins(given)
    least = min(row.value for row in rows)
    return _estimate(
        given,
        rows,
        ends=(least, min(row.low for row in rows), min(row.high for row in rows)),
        unit=WON,
        interval="Clopper and Pearson's over contexts",
        secondary={f"margin, {kind}": own for kind, own in zip(kinds, margins, strict=True)},
        value_of=lambda drawn: min(float(won.mean()) for won in shares(drawn)),
        within=(0.0, 1.0),
        noise=noise,
        rng=rng,
    )


def paid_for(
    frame: pd.DataFrame,
    kinds: Sequence[str],
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return by how much the change that is paid for most raises the reward of plain answers.

    Both answers of a pair are worth the same; the plain one is `chosen`. The shift is in sd of the
    plain answers' rewards between contexts. Intervals are Student's over contexts, by linearization
    of the ratio, simultaneous over kinds. Everything else is as in `better_wins`.
    """
    given = _given(frame, kinds)
    level = 1 - 0.05 / len(kinds)

    def shifts(drawn: _Floats) -> list[tuple[_Floats, _Floats]]:
        """Return the gain and the plain reward of each context, of each kind."""
        gains, plain = drawn[given.other] - drawn[given.better], drawn[given.better]
        return [
            (
                _by_context(gains[own], given.context[own]),
                _by_context(plain[own], given.context[own]),
            )
            for own in given.of
        ]

    rows = []
    for kind, (gain, plain) in zip(kinds, shifts(given.rewards), strict=True):
        spread = float(plain.std(ddof=1))
        if not spread > 0:
            raise MeasureError(f"the plain answers of {kind} have one reward: there is no spread")
        value, many = float(gain.mean()) / spread, len(gain)
        off = (plain - plain.mean()) ** 2 / spread**2 - 1
        influence = (gain - gain.mean()) / spread - value * off / 2
        error = float(influence.std(ddof=1)) / math.sqrt(many)
        low, high = students(value, error, many - 1, level=level)
        rows.append(KindShare(kind, value, low, high, many))
    return _estimate(
        given,
        rows,
        ends=(
            max(row.value for row in rows),
            max(row.low for row in rows),
            max(row.high for row in rows),
        ),
        unit=PAID,
        interval="Student's t over contexts",
        secondary={},
        value_of=lambda drawn: max(
            float(gain.mean() / plain.std(ddof=1)) for gain, plain in shifts(drawn)
        ),
        within=(-math.inf, math.inf),
        noise=noise,
        rng=rng,
    )


class _Given(NamedTuple):
    """Pairs of rows of a table, and which pairs each kind has."""

    frame: pd.DataFrame
    rewards: _Floats
    better: NDArray[np.intp]
    other: NDArray[np.intp]
    context: NDArray[np.intp]
    of: list[NDArray[np.intp]]


def _given(frame: pd.DataFrame, kinds: Sequence[str]) -> _Given:
    table = frame[frame["subset"].isin(kinds)].reset_index(drop=True)
    contexts = table.groupby("subset")["group"].nunique().reindex(list(kinds), fill_value=0)
    rewards = table["reward"].to_numpy(np.float64)
    missing = int((~np.isfinite(rewards)).sum())
    if missing or contexts.min() < FEWEST:
        raise MeasureError(
            f"{contexts.idxmin()} has {contexts.min()} contexts, and {missing} rewards are "
            f"missing; at least {FEWEST} contexts of each kind and all rewards are needed"
        )
    if not np.ptp(rewards):
        raise MeasureError("all answers have the same reward")
    rows = pd.DataFrame({"line": table["line"], "row": np.arange(len(table))})
    chosen = table["chosen"].to_numpy(bool)
    pairs = rows[chosen].merge(rows[~chosen], on="line", suffixes=("", "_other"))
    better, other = pairs["row"].to_numpy(), pairs["row_other"].to_numpy()
    of_pair = table["subset"].to_numpy(dtype=object)[better]
    context = pd.factorize(table["group"])[0][better]
    of = [np.flatnonzero(of_pair == kind) for kind in kinds]
    return _Given(table, rewards, better, other, context, of)


def _by_context(values: _Floats, contexts: NDArray[np.intp]) -> _Floats:
    """Return the mean of each context."""
    places = np.unique(contexts, return_inverse=True)[1]
    found: _Floats = np.bincount(places, values) / np.bincount(places)
    return found


def _margins(given: _Given) -> list[float]:
    """Return how much more the better answers of each kind get, in sd of these."""
    found = []
    for own in given.of:
        better, other = (
            _by_context(given.rewards[side[own]], given.context[own])
            for side in (given.better, given.other)
        )
        spread = float(better.std(ddof=1))
        found.append(float((better - other).mean()) / spread if spread else 0.0)
    return found


def _estimate(  # noqa: PLR0913  (what both measures have found)
    given: _Given,
    rows: Sequence[KindShare],
    *,
    ends: tuple[float, float, float],
    unit: str,
    interval: str,
    secondary: dict[str, float],
    value_of: Callable[[_Floats], float],
    within: tuple[float, float],
    noise: float,
    rng: np.random.Generator,
) -> Estimate:
    value, low, high = ends
    worst = (min if unit == WON else max)(rows, key=lambda row: row.value)
    estimate = Estimate(
        value,
        low,
        high,
        unit,
        sum(row.contexts for row in rows),
        f"{interval}, simultaneous over {len(rows)} kinds",
        together=len(rows),
        secondary={**{row.kind: row.value for row in rows}, **secondary},
        caveats=(f"The worst here: {worst.kind}.",),
        evidence=ConductEvidence(unit=unit, rows=tuple(rows), examples=tuple(_examples(given))),
    )
    return widened(estimate, value_of, given.rewards, noise, rng, within=within)


def _examples(given: _Given) -> Iterator[ConductExample]:
    """Yield the pairs of each kind whose other answer gets most beside the better one."""
    table = given.frame
    for own in given.of:
        gaps = given.rewards[given.other[own]] - given.rewards[given.better[own]]
        for at in own[np.argsort(-gaps, kind="stable")[:_EXAMPLES]]:
            better, other = table.iloc[given.better[at]], table.iloc[given.other[at]]
            yield ConductExample(
                kind=str(better["subset"]),
                prompt=str(better["prompt"]),
                better=str(better["response"]),
                other=str(other["response"]),
                better_reward=float(better["reward"]),
                other_reward=float(other["reward"]),
            )
