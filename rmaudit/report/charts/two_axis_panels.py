"""Draw panels with two axes: box plots, a grid of counts, a matrix, names on a plane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rmaudit import svg
from rmaudit.charts import Boxes, CountField, Matrix, NamedPlace, Plane
from rmaudit.report.charts.picture_and_labels import (
    as_label,
    framed,
    quoted_term,
    seen_term,
    term_text,
)

_RIGHT = 20  # pixels right of a plot: half of the last tick's text
_HEIGHT = 160  # of boxes
_FIELD = 240  # of a side of a field of counts
_MATRIX, _WIDEST, _NARROWEST, _TALLEST = 215, 40, 19, 24  # all columns; one column; one row
_NAMES = 150  # at most, of the names of its rows and columns
_PLANE = 290  # a side of the plane
_LABEL = 130  # at most, of a name beside its point
FAINTEST, DENSEST = 0.08, 0.5  # opacities of a cell: text on it keeps its contrast


def boxes(panel: Boxes, of: str) -> str:
    """Draw a box plot of each bin: a box from quartile 1 to quartile 3, and a bar at the median."""
    bins = panel.bins
    ends = [end for each in bins for end in (each.q25, each.q75)]
    y = svg.Axis(*(panel.domain or (min(0.0, *ends), max(0.0, *ends))), _HEIGHT, 0)
    beside, left = svg.axis_left(y, as_label(panel.values))
    x = svg.Axis(bins[0].low, bins[-1].high, 0, svg.WIDTH - left - _RIGHT)
    beneath, height = svg.axis_below(x, _HEIGHT, as_label(panel.axis))
    marks = [beside, beneath]
    for each in bins:
        low, high, middle = x.at(each.low), x.at(each.high), y.at(each.median)
        marks.append(svg.boxes([(low, y.at(each.q25), high, y.at(each.q75))], 0.25))
        marks.append(svg.line(low, middle, high, middle, "blue bar"))
    if y.holds(0.0):
        marks.append(svg.line(0, y.at(0.0), x.end, y.at(0.0), "ink dashed"))
    said = (
        f"median from {bins[0].median:+.2f} sd in the lowest bin "
        f"to {bins[-1].median:+.2f} sd in the highest"
    )
    return framed(panel, of, marks, height=_HEIGHT + height, facts=[said], left=left)


def count_field(panel: CountField, of: str) -> str:
    """Draw a grid of cells, darker where more points lie in them, and label the named points."""
    most = max((count for row in panel.counts for count in row), default=0)
    y = svg.Axis(panel.y[0], panel.y[-1], _FIELD, 0)
    beside, left = svg.axis_left(y, as_label(panel.y_axis))
    x = svg.Axis(panel.x[0], panel.x[-1], 0, _FIELD)
    beneath, height = svg.axis_below(x, _FIELD, as_label(panel.x_axis))
    right, up = list(map(x.at, panel.x)), list(map(y.at, panel.y))
    cells: dict[float, list[tuple[float, float, float, float]]] = {}
    for i, row in enumerate(panel.counts):
        for j, count in enumerate(row):
            if count:
                # The root of the share: a linear scale shows the peak and nothing else.
                alike = cells.setdefault(round(shaded((count / most) ** 0.5), 2), [])
                alike.append((right[i], up[j], right[i + 1], up[j + 1]))
    shades = (svg.boxes(corners, opacity) for opacity, corners in cells.items())
    marks = ['<g shape-rendering="crispEdges">', *shades, "</g>", beside, beneath]
    if panel.diagonal:
        marks.append(svg.line(0, _FIELD, _FIELD, 0, "ink dashed"))
    named = panel.named or ()
    marks += _named_points(named, x, y, _FIELD + 10, _FIELD, "ink", 2.0)
    said = f"{sum(map(sum, panel.counts)):,} in all"
    width = left + _FIELD + _RIGHT + 6
    return framed(panel, of, marks, height=_FIELD + height, facts=[said], left=left, width=width)


def matrix(panel: Matrix, of: str) -> str:
    """Draw numbers from 0 to 1 as shaded cells with two decimals each; None is an empty cell."""
    wide = min(_WIDEST, max(_NARROWEST, _MATRIX // len(panel.columns)))
    tall, marks, said = min(wide, _TALLEST), [], []
    # Of a matrix of one list of names the lower half says it all.
    half = panel.rows == panel.columns
    rows, columns = (list(map(as_label, names)) for names in (panel.rows, panel.columns))
    for i, numbers in enumerate(panel.values):
        for j, value in enumerate(numbers):
            if value is None:
                continue
            x, y = wide * j, tall * i
            marks.append(svg.boxes([(x + 1, y + 1, x + wide - 1, y + tall - 1)], shaded(value)))
            at = x + wide / 2, y + tall / 2 + 4
            marks.append(svg.text(*at, _short(value), anchor="middle", kind="number"))
            if j < i or not half:
                said.append(f"{rows[i]} and {columns[j]} {value:.2f}")
    beside, beneath = (
        [svg.fitted(name, _NAMES - 8) for name in names] for names in (rows, columns)
    )
    for i, name in enumerate(beside):
        marks.append(svg.text(-6, tall * (i + 0.5) + 4, name, anchor="end"))
    bottom = tall * len(rows) + 10
    for j, name in enumerate(beneath):
        marks.append(svg.text(wide * (j + 0.5) + 3, bottom, name, anchor="end", turn=-60))
    reach = 0.5 * max(map(svg.width_of, beneath))  # to the left, of a name at 60 degrees
    left = 8 + max(reach, *map(svg.width_of, beside))
    height = bottom + 3**0.5 * reach
    width = max(svg.WIDTH, left + wide * len(columns) + 16)
    return framed(panel, of, marks, height=height, facts=said, left=left, width=width)


def _short(value: float) -> str:
    """Format a number for a narrow cell, without its leading zero: `.75`, `-.05` or `1`."""
    return f"{value:.2f}".replace("0.", ".").replace("1.00", "1").replace("-.00", ".00")


def shaded(share: float) -> float:
    """Convert a number from 0 to 1 to a cell's opacity, at which the cell's text stays readable."""
    return FAINTEST + (DENSEST - FAINTEST) * min(max(share, 0.0), 1.0)


def plane(panel: Plane, of: str) -> str:
    """Draw named points on a plane whose two axes have the same scale."""
    wide = 1.05 * max(max(abs(each.x), abs(each.y)) for each in panel.places) or 1.0
    x, y = svg.Axis(-wide, wide, 0, _PLANE), svg.Axis(-wide, wide, _PLANE, 0)
    marks = _named_points(panel.places, x, y, _PLANE, _PLANE, "blue", 3.5)
    said = [f"{quoted_term(each.name)} at {each.x:+.2f}, {each.y:+.2f}" for each in panel.places]
    left = (svg.WIDTH - 16 - _PLANE) / 2
    return framed(panel, of, marks, height=_PLANE, facts=said, left=left)


def _named_points(  # noqa: PLR0913, PLR0917
    places: Sequence[NamedPlace],
    x: svg.Axis,
    y: svg.Axis,
    width: float,
    height: float,
    kind: str,
    radius: float,
) -> Iterator[str]:
    """Yield a point for each place and its name, with a line to it where it had to move away."""
    points = [(x.at(each.x), y.at(each.y)) for each in places]
    wide = [svg.width_of(seen_term(each.name, _LABEL)) for each in places]
    apart = names_apart(points, wide, width=width, height=height)
    for each, (at, up), size, (left, middle) in zip(places, points, wide, apart, strict=True):
        near = min(max(at, left), left + size)
        if abs(middle - up) > svg.LINE / 2:
            yield svg.line(at, up, near, middle, "faint")
        yield svg.dot(at, up, kind, radius)
        anchor, end = ("end", left + size) if left < at else ("", left)
        yield term_text(end, middle + 4, each.name, room=_LABEL, anchor=anchor)


def names_apart(
    points: Sequence[tuple[float, float]], widths: Sequence[float], *, width: float, height: float
) -> list[tuple[float, float]]:
    """Return for each point the left end and the middle of a name that lies on nothing else.

    It stands right or left of its point, where there is room between 0 and `width`, as near to the
    point's height as other names and points let it; if there is no such place, beside the point.
    """
    dots = [(x - 4, x + 4, y - 4, y + 4) for x, y in points]
    taken: list[tuple[float, float, float, float]] = []
    for place, ((x, y), wide) in enumerate(zip(points, widths, strict=True)):
        sides = sorted((x + 6, x - 6 - wide), key=lambda left: abs(left + wide / 2 - width / 2))
        around = [*dots[:place], *dots[place + 1 :], *taken]
        boxes = [
            (left, left + wide, y + up - 6, y + up + 6)
            for up in sorted(range(-100, 101, 5), key=abs)
            for left in sides
            if 0 <= left <= width - wide and 0 <= y + up <= height
        ]
        boxes.append((sides[0], sides[0] + wide, y - 6, y + 6))
        taken.append(next((box for box in boxes if not _hit(box, around)), boxes[-1]))
    return [(left, (top + bottom) / 2) for left, _, top, bottom in taken]


def _hit(
    box: tuple[float, float, float, float], others: Iterable[tuple[float, float, float, float]]
) -> bool:
    """Return whether a box (left, right, top, bottom) touches one of the others."""
    left, right, top, bottom = box
    return any(a < right and left < b and c < bottom and top < d for a, b, c, d in others)
