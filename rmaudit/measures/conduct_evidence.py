"""Show the evidence of `conduct`: each kind's share or shift, and the worst pairs of answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Points, row_of, table
from rmaudit.verdicts.evidence import Evidence

WON, PAID, MOVED = "share of contexts", "sd of answers", "sd of answers, up or down"
_TOLD = {  # what is shown of each kind, and which ends
    WON: ("the better answer wins", "The upper ends of the intervals hold"),
    PAID: ("the change is paid for", "The lower ends of the intervals hold"),
    MOVED: ("the change of the prompt moves the reward", "Intervals hold"),
}
_EXAMPLES = 2  # of a kind
_Rows = NDArray[np.intp]
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LAST_TURN = re.compile(r"(?:^|\n)user: ")
_LONGEST = 120  # characters of a part
_CUT = "…"


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
        which = "the better answer " if self.unit == WON else ""
        return f"asked “{last_question(each.prompt)}”, it prefers “{other}” to {which}“{better}”"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a row for each kind of conduct; its table has the worst pairs."""
        rows = [row for _, evidence in found for row in evidence.rows]
        if not rows:
            return None
        unit = found[0][1].unit
        told, hold = _TOLD[unit]
        examples = [each for _, evidence in found for each in evidence.examples]
        return Chart(
            f"How far {told}, kind by kind",
            f"{hold} for all kinds at once. Below each kind in the table are the worst "
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
            *table(
                {
                    "kind, or prompt": "answer",
                    **dict.fromkeys(("value", "low", "high"), ".2f"),
                    "contexts": "d",
                    **dict.fromkeys(("better or plain", "other, or other prompt"), "answer"),
                    **dict.fromkeys(("its reward", "of the other"), ".2f"),
                },
                (cells for row in rows for cells in _table_rows(row, examples)),
            ),
        )


def _table_rows(row: KindShare, examples: Sequence[ConductExample]) -> Iterator[tuple[object, ...]]:
    yield row.kind, row.value, row.low, row.high, row.contexts, "", "", "", ""
    for each in examples:
        if each.kind == row.kind:
            both = differing(each.better, each.other)
            if each.other_prompt:
                both = each.better, each.other_prompt
            yield each.prompt, "", "", "", "", *both, each.better_reward, each.other_reward


def worst_pairs(
    frame: pd.DataFrame, kinds: Iterable[tuple[str, _Rows, _Rows, _Rows]], *, either_way: bool
) -> Iterator[ConductExample]:
    """Yield each kind's two pairs in which the worse answer's reward exceeds the better's by most.

    A kind has its name, and for each pair the rows of `frame` with the better and the other answer,
    and its context. With `either_way`, yield the pairs whose rewards are furthest apart.
    """
    rewards = frame["reward"].to_numpy(np.float64)
    for kind, better, other, _ in kinds:
        gaps = rewards[other] - rewards[better]
        gaps = np.abs(gaps) if either_way else gaps
        for at in np.argsort(-gaps, kind="stable")[:_EXAMPLES]:
            one, two = frame.iloc[better[at]], frame.iloc[other[at]]
            yield ConductExample(
                kind=kind,
                prompt=str(one["prompt"]),
                better=str(one["response"]),
                other=str(two["response"]),
                better_reward=float(one["reward"]),
                other_reward=float(two["reward"]),
                other_prompt="" if one["prompt"] == two["prompt"] else str(two["prompt"]),
            )


def differing(one: str, other: str) -> tuple[str, str]:
    """Return of two texts the sentences in which they differ; `…` stands where others were.

    Sentences that both have at the beginning or at the end are left out; a long rest is cut.
    """
    both = [_SENTENCE.split(text.strip()) for text in (one, other)]
    start = _alike(*both)
    ends = _alike(*(list(reversed(each[start:])) for each in both))
    shown = []
    for each in both:
        part = " ".join(each[start : len(each) - ends])
        cut = len(part) > _LONGEST
        part = f"{part[:_LONGEST].rstrip()}{_CUT}" if cut else part
        before, after = (f"{_CUT} " if start else ""), (f" {_CUT}" if ends and not cut else "")
        shown.append(f"{before}{part}{after}" if part else _CUT)
    return shown[0], shown[1]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def last_question(prompt: str) -> str:
    """Return a prompt's last turn of the user, cut if long; a text without turns as it is."""
    text = _LAST_TURN.split(prompt)[-1].strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}{_CUT}"
