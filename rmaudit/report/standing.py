"""Where a model stands: one strip per finding, with its bound, published models and nulls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rmaudit.report.charts import BLUE, FAINT, INK, VERMILLION, as_label, as_svg

if TYPE_CHECKING:
    import altair as alt

    from rmaudit.records import Estimate, Finding

_WIDTH, _HEIGHT = 520, 34


def standing(findings: Sequence[Finding]) -> str:
    """One strip per measured finding, each on its own scale. Returns "" if none was measured.

    The point is the model, with its interval; dashed lines are the ends of the bound, grey ticks
    the ten published models, letters the null controls by their initials.
    """
    import altair as alt

    measured = [(finding, finding.estimate) for finding in findings if finding.estimate]
    if not measured:
        return ""
    strips = [_strip(finding, estimate) for finding, estimate in measured]
    return as_svg(
        alt.vconcat(*strips, spacing=12),
        title="The model among the ten published ones and the null controls, one strip per finding",
        facts=[_in_words(finding, estimate) for finding, estimate in measured],
    )


def _strip(finding: Finding, estimate: Estimate) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    ends = [end for end in (finding.bound_low, finding.bound_high) if end is not None]
    x = alt.X("x:Q").scale(zero=False, nice=True).axis(title=None, tickCount=5)

    def data(values: Sequence[dict[str, Any]]) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=list(values)))

    ticks = data([{"x": value} for value in finding.band.values()])
    letters = data([{"x": value, "name": name[0]} for name, value in finding.controls.items()])
    own = data([{"x": estimate.low, "to": estimate.high, "value": estimate.value}])
    return alt.layer(
        data([{"x": end} for end in ends]).mark_rule(color=INK, strokeDash=[4, 3]).encode(x=x),
        ticks.mark_tick(color=FAINT, height=14, thickness=1.5, y=10).encode(x=x),
        letters.mark_text(color=VERMILLION, y=26, fontSize=11).encode(x=x, text="name:N"),
        own.mark_rule(color=BLUE, strokeWidth=2.5, y=10).encode(x=x, x2="to:Q"),
        own.mark_point(color=BLUE, filled=True, size=70, y=10).encode(x="value:Q"),
    ).properties(
        width=_WIDTH,
        height=_HEIGHT,
        title=alt.TitleParams(
            as_label(f"{finding.audit}, {finding.prompt}"),
            subtitle=as_label(finding.bound),
            fontSize=12,
            offset=2,
        ),
    )


def _in_words(finding: Finding, estimate: Estimate) -> str:
    """For example `skew, best: 0.5 (0.4 to 0.6); ten models 0.1 to 1.8; random 0.0`."""
    interval = f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"
    parts = [f"{finding.audit}, {finding.prompt}: {interval}"]
    if values := sorted(finding.band.values()):
        parts.append(f"{len(values)} published models {values[0]:.3g} to {values[-1]:.3g}")
    parts += [f"{name} {value:.3g}" for name, value in finding.controls.items()]
    return ", ".join(parts)
