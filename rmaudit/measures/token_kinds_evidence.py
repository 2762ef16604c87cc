"""The evidence of `token_kinds`: the kinds of tokens that a reward favours, and their chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from rmaudit.charts import Chart, Mark, MarkedRow, Points, numbers
from rmaudit.verdicts.evidence import Evidence

Pattern = Literal["under every prompt", "as if it were good"]
ALWAYS: Pattern = "under every prompt"
OPPOSED: Pattern = "as if it were good"
_READ_OUT = 5


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
        if self.pattern == ALWAYS:
            return f"{'favoured' if self.effect > 0 else 'disfavoured'} {ALWAYS}"
        return f"scored as if {'good' if self.effect > 0 else 'bad'}"


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
        rows = [row for _, evidence in found for row in evidence.rows]
        return Chart(
            "What it loves or hates that nobody asked for",
            "By how much a kind of tokens gets more reward (to the right) or less than tokens like "
            "it, beyond what the prompt, happiness and frequency explain. A full dot is an effect "
            "under every prompt, a hollow one an effect that turns round where bad things are "
            "asked for. Intervals hold for all kinds that were looked at.",
            (
                Points(
                    title="kinds of tokens",
                    axis="sd of rewards",
                    rows=tuple(_row(row) for row in rows),
                ),
            ),
            {
                "kind": "term",
                "what": "text",
                **numbers("tokens", "effect", "low", "high"),
                "such as": "answer",
            },
            tuple(
                (row.name, row.said + why, str(row.many), *_cells(row), ", ".join(row.members))
                for row in rows
                for why in (row.wanted and f"; wanted: {row.wanted}",)
            ),
        )


def _ends(row: FoundKind) -> tuple[float, float]:
    """Return the ends of the effect itself."""
    return (row.low, row.high) if row.effect > 0 else (-row.high, -row.low)


def _row(row: FoundKind) -> MarkedRow:
    low, high = _ends(row)
    mark = Mark(value=row.effect, low=low, high=high, hollow=row.pattern == OPPOSED)
    return MarkedRow(name=row.name + (row.wanted and " (wanted)"), marks=(mark,))


def _cells(row: FoundKind) -> tuple[str, ...]:
    return tuple(f"{number:.2f}" for number in (row.effect, *_ends(row)))
