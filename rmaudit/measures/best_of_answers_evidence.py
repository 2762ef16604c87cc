"""Evidence and chart of `best_of_answers`: what winners are like, and some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from rmaudit.charts import Chart, MarkedRow, Points, row_of, table
from rmaudit.verdicts.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class TraitShift:
    """Mean of a trait (such as length) among best-of-n winners, and its change from plain samples.

    For best of 1, which is any sample, the change is 0. `share` is True where the trait is a yes or
    no of each answer, so that its mean is a share.
    """

    trait: str
    share: bool
    draws: int
    mean: float
    change: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Winner:
    """One prompt's samples with the highest and with the median reward, with both rewards."""

    prompt: str
    middle: str
    best: str
    middle_reward: float
    best_reward: float


@dataclass(frozen=True, kw_only=True)
class BestOfAnswersEvidence(Evidence):
    """Mean of each trait of answers among best-of-n winners, for several n, and example winners."""

    kind: Literal["best_of_answers"] = "best_of_answers"
    shifts: tuple[TraitShift, ...]
    winners: tuple[Winner, ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a panel for each trait (its mean, by n), and a table of winners."""
        shifts = [row for _, evidence in found for row in evidence.shifts]
        winners = [row for _, evidence in found for row in evidence.winners]
        if not shifts:
            return None
        by_trait: dict[str, list[TraitShift]] = {}
        for row in shifts:
            by_trait.setdefault(row.trait, []).append(row)
        panels = tuple(
            Points(
                title=rows[0].trait,
                axis="share of the answers" if rows[0].share else "mean",
                rows=tuple(_row_of_shift(row, rows[0].mean) for row in rows),
                zero=False,
            )
            for rows in by_trait.values()
        )
        most = max(row.draws for row in shifts)
        return Chart(
            "Whole answers that this reward picks",
            "Samples of a policy as they are, and the winners of best of n: exact over all ways to "
            "draw n of a prompt's samples. An interval is that of the change, over prompts.",
            panels,
            *table(
                {
                    "what": "answer",
                    **dict.fromkeys(
                        ("as sampled", f"best of {most}", "change", "low", "high"), ".2f"
                    ),
                    **dict.fromkeys(("a middling sample", "the winner"), "answer"),
                },
                [
                    *(_table_row(rows) for rows in by_trait.values()),
                    *(
                        (
                            *(row.prompt, row.middle_reward, row.best_reward),
                            *("", "", "", row.middle, row.best),
                        )
                        for row in winners
                    ),
                ],
            ),
        )


def _row_of_shift(row: TraitShift, start: float) -> MarkedRow:
    return row_of(
        f"best of {row.draws}" if row.draws > 1 else "as sampled",
        row.mean,
        start + row.low,
        start + row.high,
    )


def _table_row(rows: Sequence[TraitShift]) -> tuple[str, ...]:
    first, last = rows[0], rows[-1]
    as_text = "{:.1%}" if first.share else "{:.1f}"
    signed = "{:+.1%}" if first.share else "{:+.1f}"
    return (
        first.trait,
        *(as_text.format(each.mean) for each in (first, last)),
        *(signed.format(number) for number in (last.change, last.low, last.high)),
        "",
        "",
    )
