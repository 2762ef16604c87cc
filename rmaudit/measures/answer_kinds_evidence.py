"""The evidence of `answer_kinds`: the kinds of answers that a reward favours, and their chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from rmaudit.charts import Chart, Points, row_of, table
from rmaudit.verdicts.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class KindEffect:
    """Record what answers of a kind get more than others, in sd, and two answers to one prompt.

    The interval holds for all kinds at once. `share` of the answers are of the kind, and `picked`
    times as many of the winners of best of 16. `of_kind` is an answer of it, `other` is another.
    `wanted` is why its makers want the kind, "" where they do not.
    """

    answers: str
    effect: float
    low: float
    high: float
    share: float
    picked: float
    prompt: str
    of_kind: str
    other: str
    wanted: str = ""


@dataclass(frozen=True, kw_only=True)
class AnswerKindsEvidence(Evidence):
    """Kinds of answers that are shown to get more or less than others, the surest first."""

    kind: Literal["answer_kinds"] = "answer_kinds"
    rows: tuple[KindEffect, ...]
    wanted: tuple[str, ...] = ()

    @property
    def effects(self) -> Mapping[str, float]:
        """Return the effect of each kind, by what its answers are."""
        return {f"answers {row.answers}": row.effect for row in self.rows}

    def example(self) -> str:
        """Return a sentence on the kind whose effect is the surest; "" without rows."""
        if not self.rows:
            return ""
        row = self.rows[0]
        more = "more" if row.effect >= 0 else "less"
        return f"answers {row.answers} get {abs(row.effect):.1f} sd {more}, at equal length"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a row for each kind, and a table with examples; None without rows."""
        rows = [row for _, evidence in found for row in evidence.rows]
        if not rows:
            return None
        names = [row.answers + (row.wanted and f" (wanted: {row.wanted})") for row in rows]
        marks = tuple(
            row_of(name, row.effect, row.low, row.high)
            for name, row in zip(names, rows, strict=True)
        )
        return Chart(
            "Kinds of answers, and what they get",
            "To the right of 0 such answers get more than others of the same length to the same "
            "prompt. The intervals hold for all kinds at once.",
            (Points(title="effect on the reward", axis="sd of answers", rows=marks),),
            *table(
                {
                    "answers": "answer",
                    **dict.fromkeys(("effect", "low", "high"), "+.2f"),
                    "share of answers": ".0%",
                    "times as often the best": ".1f",
                    **dict.fromkeys(("prompt", "such an answer", "another"), "answer"),
                },
                (
                    (
                        *(name, row.effect, row.low, row.high, row.share, row.picked),
                        *(row.prompt, row.of_kind, row.other),
                    )
                    for name, row in zip(names, rows, strict=True)
                ),
            ),
        )
