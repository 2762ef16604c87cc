"""Where a model stands: one strip per finding, with its bound, published models and nulls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmaudit.report.charts.drawing import BLUE, FAINT, INK, as_svg
from rmaudit.report.safe_text import line

if TYPE_CHECKING:
    from rmaudit.verdicts.findings import Finding
    from rmaudit.verdicts.records import Estimate

_WIDTH, _STEP = 420, 34
_SIDE, _TOP = 10, 4  # of padding, around all strips
_MARGIN = 0.04  # of a strip, on either side of what lies outermost


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of the sheet: its `viewBox`, and what it shows in words."""

    box: str
    words: str


def sheet(findings: Sequence[Finding], *, id: str) -> str:  # noqa: A002  (as SVG has it)
    """The strips of all measured findings, one below the other, each on its own scale, as SVG.

    The point is the model, with its interval; upright lines are the ends of the bound, grey ticks
    the ten published models, crosses the null controls. A page draws it once and
    shows its rows one by one (`<use>` of `id`, at `strips`). Returns "" if none was measured.
    """
    import altair as alt

    measured = [(finding, finding.estimate) for finding in findings if finding.estimate]
    if not measured:
        return ""
    # Not a chart a strip: compiling one costs a tenth of a second.
    marks = [mark for pair in enumerate(measured) for mark in _marks(pair[0], *pair[1])]
    x = alt.X("x:Q").scale(domain=[0, 1]).axis(None)
    y = alt.Y("row:N").axis(None).sort(None)

    def of(kind: str) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=[mark for mark in marks if mark["kind"] == kind]))

    own = of("own")
    chart = alt.layer(
        own.mark_rule(color=FAINT, strokeWidth=0.5, x=0, x2=_WIDTH).encode(y=y),
        of("bound").mark_tick(color=INK, thickness=1.5, height=26).encode(x=x, y=y),
        of("band").mark_tick(color=FAINT, thickness=1.5, height=14).encode(x=x, y=y),
        of("null").mark_text(text="×", color=INK, dy=11, fontSize=11).encode(x=x, y=y),
        own.mark_rule(color=BLUE, strokeWidth=2.5).encode(x=x, x2="to:Q", y=y),
        of("value").mark_point(color=BLUE, filled=True, size=70).encode(x=x, y=y),
    ).properties(
        width=_WIDTH,
        height=alt.Step(_STEP),
        padding={"left": _SIDE, "right": _SIDE, "top": _TOP, "bottom": _TOP},
    )
    return as_svg(chart, title="A strip for each finding", facts=[], id=id)


def strips(findings: Sequence[Finding]) -> list[Strip | None]:
    """Where in the `sheet` of these findings each is; None for what was not measured."""
    found: list[Strip | None] = []
    row = 0
    for finding in findings:
        if finding.estimate is None:
            found.append(None)
            continue
        box = f"0 {_TOP + _STEP * row} {_WIDTH + 2 * _SIDE} {_STEP}"
        found.append(Strip(box, _in_words(finding, finding.estimate)))
        row += 1
    return found


def _marks(row: int, finding: Finding, estimate: Estimate) -> list[dict[str, Any]]:
    """All that is drawn in one strip, between 0 and 1 of its own scale."""
    ends = [end for end in (finding.bound.low, finding.bound.high) if end is not None]
    band = _published(finding)
    nulls = [null.value for null in finding.controls.values() if null.value is not None]
    every = [*ends, *band, *nulls, estimate.low, estimate.high]
    low, wide = min(every), (max(every) - min(every)) or 1.0

    def at(value: float) -> float:
        return _MARGIN + (1 - 2 * _MARGIN) * (value - low) / wide

    marks: list[dict[str, Any]] = [
        {"kind": "own", "x": at(estimate.low), "to": at(estimate.high)},
        {"kind": "value", "x": at(estimate.value)},
        *({"kind": "bound", "x": at(end)} for end in ends),
        *({"kind": "band", "x": at(value)} for value in band),
        *({"kind": "null", "x": at(value)} for value in nulls),
    ]
    return [mark | {"row": row} for mark in marks]


def _published(finding: Finding) -> list[float]:
    return list(finding.band.models.values()) if finding.band else []


def _in_words(finding: Finding, estimate: Estimate) -> str:
    """For example `skew, best: 0.5 (0.4 to 0.6), bound above 0, 10 published models 0.1 to 2`."""
    interval = f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"
    parts = [f"{finding.audit}, {finding.prompt}: {interval}", f"bound {finding.bound}"]
    if values := sorted(_published(finding)):
        parts.append(f"{len(values)} published models {values[0]:.3g} to {values[-1]:.3g}")
    parts += [f"{name} {control}" for name, control in finding.controls.items()]
    return line(", ".join(parts))
