"""The distribution of each sweep, as Figure 1 of Christian et al. 2025: violins, lying down.

Rewards are in sd of the model's own sweep ("sd"), counted from that sweep's mean: raw scales differ
a thousandfold across models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rmaudit.report.charts.drawing import BLUE, FAINT, INK, VERMILLION, as_svg, chart_of
from rmaudit.report.charts.labels import as_label
from rmaudit.report.charts.picture import Picture, table
from rmaudit.report.document import SweepSummary

_WIDTH, _HEIGHT = 310, 96
_UNIT = 0.1  # sd: heights are tokens in so much, whatever the histogram's bins were
_COLUMNS = {"prompt": "text", "tokens": "number", "mean": "number", "sd": "number"}


def of_sweeps(sweeps: Sequence[SweepSummary]) -> Picture | None:
    """A violin of each sweep that varies, its extreme tokens ticked beneath."""
    rows = [sweep for sweep in sweeps if varies(sweep)]
    if not rows:
        return None
    domain = domain_of(rows)
    what = "a sample of the" if rows[0].sample else "the whole"
    columns = _COLUMNS | {"skewness": "number", "least, sd": "number", "most, sd": "number"}
    cells = [
        (
            *(as_label(sweep.prompt), f"{sweep.n:,}"),
            *(f"{sweep.mean:.4g}", f"{sweep.sd:.4g}", f"{sweep.skewness:+.2f}"),
            *(f"{end:+.2f}" for end in _ends(sweep)),
        )
        for sweep in rows
    ]
    return Picture(
        f"Scores of {what} vocabulary",
        f"How many tokens score how far from the mean of their sweep, in its sd; the violin is as "
        f"wide as there are tokens in {_UNIT} sd. Ticks beneath are the most extreme tokens.",
        "".join(_violin(sweep, domain=domain, what=what) for sweep in rows),
        table(columns, cells),
    )


def steps_of(sweep: SweepSummary) -> list[dict[str, float]]:
    """The histogram as steps: `sd`, and `high` and `low`, plus and minus the tokens in `_UNIT`."""
    edges = [_in_sd(sweep, edge) for edge in sweep.histogram.edges]
    bins = zip(sweep.histogram.counts, edges[:-1], edges[1:], strict=True)
    heights = [_UNIT * count / (right - left) for count, left, right in bins]
    pairs = zip(edges, [*heights, heights[-1]], strict=True)
    return [{"sd": sd, "high": height, "low": -height} for sd, height in pairs]


def varies(sweep: SweepSummary) -> bool:
    """Without spread there is no unit to draw it in."""
    return bool(sweep.sd > 0 and math.isfinite(sweep.sd))


def domain_of(sweeps: Sequence[SweepSummary]) -> tuple[float, float]:
    """The ends of all sweeps, in sd."""
    ends = [end for sweep in sweeps for end in _ends(sweep)]
    return min(ends), max(ends)


def _violin(sweep: SweepSummary, *, domain: tuple[float, float], what: str) -> str:
    import altair as alt

    x = alt.X("sd:Q").scale(domain=domain, nice=False)
    bare, y = x.axis(None), alt.Y("high:Q").axis(None)
    steps = steps_of(sweep)
    area = chart_of(steps).mark_area(interpolate="step-after", color=FAINT, opacity=0.6)
    mean = chart_of([{"sd": 0}]).mark_rule(color=INK, strokeDash=[3, 3])
    titled = x.axis(title="sd from the sweep's own mean", tickCount=6)
    ticks = [
        chart_of([{"sd": token.z} for token in tokens])
        .mark_tick(color=color, thickness=1.2, height=10, y=5, orient="vertical", opacity=0.8)
        .encode(x=titled)
        for tokens, color in ((sweep.bottom, VERMILLION), (sweep.top, BLUE))
    ]
    peak = max(step["high"] for step in steps)
    lines = [f"skewness {sweep.skewness:+.2f}; widest {peak:,.0f} tokens", *_ticked(sweep)]
    prompt = as_label(sweep.prompt)
    chart = alt.vconcat(
        alt.layer(area.encode(x=bare, y=y, y2="low:Q"), mean.encode(x=bare)).properties(
            width=_WIDTH, height=_HEIGHT, title=alt.TitleParams(prompt, subtitle=lines)
        ),
        alt.layer(*ticks).properties(width=_WIDTH, height=10),
        spacing=2,
    )
    facts = [f"{sweep.n:,} tokens", *lines]
    title = f"Distribution of the scores of {what} vocabulary, {prompt}"
    return as_svg(chart, title=title, facts=facts)


def _ticked(sweep: SweepSummary) -> list[str]:
    """For example `bottom 25 at -2.9 sd or less`, `top 25 at +6.0 sd or more`."""
    parts = []
    if bottom := [token.z for token in sweep.bottom]:
        parts.append(f"bottom {len(bottom)} at {max(bottom):+.1f} sd or less")
    if top := [token.z for token in sweep.top]:
        parts.append(f"top {len(top)} at {min(top):+.1f} sd or more")
    return parts


def _ends(sweep: SweepSummary) -> tuple[float, float]:
    edges = sweep.histogram.edges
    return _in_sd(sweep, edges[0]), _in_sd(sweep, edges[-1])


def _in_sd(sweep: SweepSummary, score: float) -> float:
    return float((score - sweep.mean) / sweep.sd)
