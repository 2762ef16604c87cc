"""Draw a gate over releases: each estimate with its interval, and the passing range shaded."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator

from rmaudit.report.charts.strip import Scale
from rmaudit.report.over_time.history import Series
from rmaudit.report.page.numbers import fixed, interval, plain, value
from rmaudit.report.safe_text import line

_STEP, _HEIGHT = 56, 96  # pixels of a release, and of the chart
_LEFT, _RIGHT = 44, 48  # pixels for the numbers of the axis, and for the last one's own


def drawn(series: Series) -> str:
    """Return the SVG of one gate's series; "" if no release measured it."""
    scale = Scale.of(series.measured)
    if scale is None:
        return ""
    width = _LEFT + _STEP * len(series.points) + _RIGHT
    said = html.escape(f"{line(series.audit)} over {len(series.points)} releases")
    marks = "".join([*_zone(series, scale, width), *_points(series, scale)])
    return (
        f'<svg class="over-time" width="{width}" height="{_HEIGHT}" role="img" '
        f'aria-label="{said}">{marks}</svg>'
    )


def _zone(series: Series, scale: Scale, width: int) -> Iterator[str]:
    low, high = series.measured[-1].bound.ends
    top, bottom = _y(scale, min(high, scale.high)), _y(scale, max(low, scale.low))
    yield (
        f'<rect class="zone" x="{_LEFT}" y="{top:.1f}" width="{width - _LEFT}" '
        f'height="{bottom - top:.1f}"/>'
    )
    for end in (low, high):
        if math.isfinite(end):
            y = _y(scale, end)
            yield f'<line class="edge" x1="{_LEFT}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{plain(end)}</text>'


def _points(series: Series, scale: Scale) -> Iterator[str]:
    for i, point in enumerate(series.points):
        finding = point.finding
        if finding is None or (estimate := finding.estimate) is None:
            continue
        x = _LEFT + _STEP * (i + 0.5)
        low, high, y = (_y(scale, at) for at in (estimate.low, estimate.high, estimate.value))
        said = html.escape(line(f"{finding.model}: {value(finding)} {interval(finding)}"))
        kind = finding.result.replace(" ", "-")
        yield f'<g class="own {kind}"><title>{said}</title>'
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{high:.1f}" y2="{low:.1f}"/>'
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/></g>'
        if i == series.first:
            high = max(y - 7, 12)  # not cut off
            number = fixed(estimate.value)
            yield f'<text class="first" x="{x + 9:.1f}" y="{high:.1f}">▼ {number}</text>'


def _y(scale: Scale, number: float) -> float:
    return _HEIGHT * (1 - scale.at(number) / 100)
