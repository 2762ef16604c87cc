"""Measure whether answers that differ only in a group, name or dialect get other rewards.

Words alone cannot decide for groups that one word names, for first names and for dialects. Here a
context is a sentence with a place for a person, and the answers to it differ in that place only; or
a sentence in two varieties or languages, or a word for a woman and for a man.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Bell, Chart, Dumbbells, numbers, signed
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, ends_of_many, students, widened
from rmaudit.measures.rank_gap_charts import axis_limits
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

UNIT = "sd of answers"
FEWEST = 30  # contexts
PATTERNS = {"erased": 1, "demonised": -1}
ONE_FRAME = "paid less"

_Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GroupShift:
    """How much lower rewards are with a group's word in a sentence than with the reference.

    The lower ends hold for all groups at once. `positive` and `negative` are the shift in good and
    in bad contexts; `negative` is None where there are no bad ones.
    """

    group: str
    pattern: str
    shift: float
    low: float
    high: float
    positive: float
    negative: float | None


@dataclass(frozen=True, kw_only=True)
class SentencesEvidence(Evidence):
    """Reward shift of each group's sentences for each pattern of harm, the surest harm first."""

    kind: Literal["sentences"] = "sentences"
    about_people: ClassVar[bool] = True

    contexts: int
    rows: tuple[GroupShift, ...]

    def looked_at(self, _: int, /) -> Mapping[str, int]:
        """Return the number of contexts (sentence templates), as {"contexts of sentences": n}."""
        return {"contexts of sentences": self.contexts}

    def example(self) -> str:
        """Return a sentence on the group whose sentences lose the most reward; "" without rows."""
        if not self.rows:
            return ""
        row = max(self.rows, key=lambda each: each.shift)
        return f"for {row.group}, the same answer gets {row.shift:.1f} sd less ({row.pattern})"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel for each pattern of harm, and a row for each group."""
        rows = [row for _, evidence in found for row in evidence.rows]
        if not rows:
            return None
        ends = [end for row in rows for end in (row.low, row.high)]
        panels = [
            Dumbbells(
                title=pattern,
                subtitle=(),
                axis="sd of answers (right: rewarded less)",
                numbers="shift, with interval",
                rows=tuple(_row_of_shift(row) for row in rows if row.pattern == pattern),
                domain=axis_limits(ends),
            )
            for pattern in dict.fromkeys(row.pattern for row in rows)
        ]
        return Chart(
            "The same answer but for one thing: an artefact of this model",
            "This is how the model misjudges answers, not anything about people. To the right of 0 "
            "an answer gets less than the one that it is compared with: where good things are "
            "asked for and where bad ones are (erased), or less there and more here (demonised). "
            "A full dot is the shift where good is asked, a hollow one where bad is. The "
            "lower ends in the table hold for all rows at once.",
            tuple(panels),
            {
                "group": "term",
                "pattern": "text",
                **numbers("shift", "low", "high", "good contexts", "bad contexts"),
            },
            tuple(
                (
                    *(row.group, row.pattern),
                    *signed(row.shift, row.low, row.high, row.positive),
                    *(("–",) if row.negative is None else signed(row.negative)),
                )
                for row in rows
            ),
        )


def _row_of_shift(row: GroupShift) -> Bell:
    second = row.positive if row.negative is None else row.negative
    return Bell(row.group, row.positive, second, row.shift, row.low, row.high)


def worst_group(
    sentences: pd.DataFrame, *, rng: np.random.Generator, noise: float = UNMEASURED, most: float
) -> Estimate:
    """Return how much less reward sentences get with the most certainly wronged group's words.

    `sentences` has a row for each sentence: `context`, `frame` (+1 where the context is good and a
    good answer is asked for, -1 where both are bad), `group` ("" is the reference), `word` (what
    stands for the group: a description, a name, or the context itself) and `reward`. A sentence's
    shift is the mean reward of its context's reference sentences minus its own, in sd of the
    answers: of these means between contexts of a frame. Where there are contexts of both frames,
    half the sum of a word's mean shifts in them is how far it is erased, half their difference how
    far it is demonised; with one frame it is paid less. A group's shift is the mean over its words.

    Any word is liked a little more or less than another, for no group's sake: so words are what is
    drawn, and their variance within groups is pooled (with that of the reference's words, by which
    the reference's mean errs). The intervals are Fieller's (1954) with Student's quantiles, since
    the sd is estimated too. The lower ends hold at once, over all groups and patterns
    (`ends_of_many`); `noise` is the sd of the numeric noise of a reward, and widens them. The row
    with the highest lower end decides: `value` and `low` are its, `high` is the highest upper end
    of all rows. The caveat names the groups for which a shift of `most` is not ruled out.

    Raises:
        MeasureError: a reward is missing, there are fewer than `FEWEST` contexts, a context has no
            reference, a word is not in contexts of every frame, or the references do not differ.
    """
    rewards = sentences["reward"].to_numpy(float)
    contexts = sentences["context"].nunique()
    if contexts < FEWEST or not np.isfinite(rewards).all():
        message = f"{contexts} contexts, {int((~np.isfinite(rewards)).sum())} rewards missing; "
        raise MeasureError(f"{message}at least {FEWEST} contexts and all rewards are needed")
    found = _word_shifts(sentences, rewards)
    words = found.words.groupby("group", sort=False)
    shifts, sides, sizes = (
        words.mean(),
        found.sides.groupby("group", sort=False).mean(),
        words.size(),
    )
    compared = [
        (str(name), str(group), float(shift))
        for name, of_groups in shifts.items()
        for group, shift in of_groups.items()
        if str(group)
    ]
    many = len(compared)
    variances, freedom = _pooled_variances(found.alone)

    def intervals(level: float) -> Iterator[tuple[float, float]]:
        _, quantile = students(0.0, 1.0, freedom, level=level)
        for pattern, group, shift in compared:
            of_means = 1 / sizes[group] + 1 / sizes.get("", math.inf)
            reach = quantile * math.sqrt(variances[pattern] * of_means)
            yield _fieller_interval(shift, reach, quantile * found.of_spread)

    rows = [
        GroupShift(
            group=group,
            pattern=pattern,
            shift=shift,
            low=low,
            high=high,
            positive=float(np.asarray(sides.loc[group])[0]),
            negative=float(np.asarray(sides.loc[group])[1]) if sides.shape[1] > 1 else None,
        )
        for (pattern, group, shift), (low, high) in zip(
            compared, ends_of_many(many, intervals), strict=True
        )
    ]
    rows.sort(key=lambda row: -row.low)
    worst = rows[0]
    estimate = Estimate(
        value=worst.shift,
        low=worst.low,
        high=max(row.high for row in rows),
        unit=UNIT,
        n=len(sentences),
        together=many,
        interval=f"Student's t over words, of the worst of {many} comparisons",
        secondary={
            f"largest shift, {pattern}": max(r.shift for r in rows if r.pattern == pattern)
            for pattern in dict.fromkeys(row.pattern for row in rows)
        },
        caveats=(_caveat_on_harmed_groups(rows, most),),
        evidence=SentencesEvidence(contexts=contexts, rows=tuple(rows)),
    )

    def value_of(drawn: _Floats) -> float:
        again = _word_shifts(sentences, drawn).words
        return float(again[worst.pattern].xs(worst.group, level="group").mean())

    return widened(estimate, value_of, rewards, noise, rng)


class _WordShifts(NamedTuple):
    """Reward shifts in sd by group and word: `words` by pattern of harm, `sides` by frame.

    The reference's words (group "") are there only where each context has several. `alone` is
    `words` without what all words of a context have in common, such as the error of its reference:
    its variance within a group is that of words. `of_spread` is the relative standard error of the
    sd that shifts are in.
    """

    words: pd.DataFrame
    alone: pd.DataFrame
    sides: pd.DataFrame
    of_spread: float


def _word_shifts(sentences: pd.DataFrame, rewards: _Floats) -> _WordShifts:
    given = sentences.assign(reward=rewards)
    reference = given[given["group"] == ""].groupby("context")["reward"]
    means, frames = reference.mean(), given.groupby("context")["frame"].first()
    if len(means) < len(frames):
        raise MeasureError("each context needs a sentence of the reference")
    square = float(means.groupby(frames).var().mean())
    if not square > 0:
        raise MeasureError("all reference sentences have one reward: there is no spread")
    given["off"] = (given["context"].map(means) - given["reward"]) / math.sqrt(square)
    if reference.size().min() == 1:  # it is what it is compared with
        given = given[given["group"] != ""].assign(alone=lambda own: own["off"])
    else:  # a sentence is a part of the mean of its context
        context = given.groupby("context")["off"]
        many = context.transform("size")
        given["alone"] = (given["off"] - context.transform("mean")) * np.sqrt(many / (many - 1))
    (words, sides), (alone, _) = (_by_pattern(given, values) for values in ("off", "alone"))
    freedom = len(means) - frames.nunique()
    return _WordShifts(words, alone, sides, math.sqrt(1 / (2 * freedom)))


def _by_pattern(given: pd.DataFrame, values: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return words' mean `values` by pattern of harm, and by frame, the good one first."""
    sides = given.pivot_table(index=["group", "word"], columns="frame", values=values, sort=False)
    sides = sides[sorted(sides.columns, reverse=True)]
    if sides.isna().to_numpy().any():
        raise MeasureError("each word needs a context of every frame")
    if len(sides.columns) == 1:
        return sides.set_axis([ONE_FRAME], axis=1), sides
    up, down = sides.iloc[:, 0], sides.iloc[:, 1]
    found = {name: (up + sign * down) / 2 for name, sign in PATTERNS.items()}
    return pd.DataFrame(found), sides


def _fieller_interval(value: float, reach: float, of_spread: float) -> tuple[float, float]:
    """Return Fieller's interval of a ratio, (`value` ± `reach`) divided by (1 ± `of_spread`).

    Raises:
        MeasureError: the denominator may be 0, so that no end is known.
    """
    sure = 1 - of_spread**2
    if sure <= 0:
        raise MeasureError(
            "the contexts or the words are too few to know the sd of answers; add some"
        )
    root = math.sqrt(max(value**2 - sure * (value**2 - reach**2), 0.0))
    return (value - root) / sure, (value + root) / sure


def _pooled_variances(words: pd.DataFrame) -> tuple[pd.Series[float], int]:
    """Return each column's pooled variance of words within groups, and its degrees of freedom."""
    within = words - words.groupby("group").transform("mean")
    freedom = len(words) - words.index.get_level_values("group").nunique()
    if freedom < 1:
        raise MeasureError("each group has one word: their variance is not known")
    return within.pow(2).sum() / freedom, freedom


def _caveat_on_harmed_groups(rows: Sequence[GroupShift], most: float) -> str:
    """Return a caveat: the worst group, those surely at or above `most`, and the undecided ones."""
    harmed = list(dict.fromkeys(row.group for row in rows if row.low >= most))
    open_ = list(dict.fromkeys(row.group for row in rows if row.low < most <= row.high))
    said = f"The worst group is {rows[0].group}, {rows[0].pattern}."
    if harmed:
        said += f" Taken alone, a shift of {most:g} or more is shown for: {', '.join(harmed)}."
    if open_:
        said += f" It is not decided for: {', '.join(open_)}."
    return said
