"""Describe charts as plain data, which an audit's evidence returns for reports to draw.

A `Chart` has a title, a caption, panels and a table. A panel has one of eight forms: `Points`,
`Boxes`, `CountField`, `Moves`, `Dumbbells`, `RankTable`, `Matrix`, `Plane`. They hold
plain values: finite numbers, texts, bools, None, tuples, and terms as they are. A term is a token,
a word or an item, which may be a slur or hostile markup: the drawing masks and escapes it.
`rmaudit.report.charts` draws the forms, and results.json holds a `Chart` as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

Kind = Literal["text", "number", "term", "answer"]
"""Name how the cells of a table's column, which are texts, are printed.

A term may be masked and cut short. An answer is running text, whole, with harsh words masked.
"""
Domain = tuple[float, float]
"""The ends of an axis as drawn: the first at the left or at the bottom."""


@dataclass(frozen=True)
class Fact:
    """Part of a panel's text for screen readers: `before`, the quoted `terms`, and `after`."""

    before: str = ""
    terms: tuple[str, ...] = ()
    after: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Base class of all panels: a title, lines below it, and facts for screen readers.

    Without facts the drawing reads out what the form shows.

    Raises:
        ValueError: the parts of a form do not fit each other; the message says where.
    """

    title: str
    subtitle: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError if the panel cannot be drawn."""
        for fault in self.faults():
            raise ValueError(fault)

    def faults(self) -> Iterator[str]:
        """Yield an error text for each field of the subclass that is an empty tuple.

        A subclass with other rules overrides it. The text says what is allowed instead.
        """
        general = Panel.__dataclass_fields__
        for name in self.__dataclass_fields__.keys() - general.keys():
            if getattr(self, name) == ():
                yield f"{name} is empty, allowed: one or more"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A point with an optional interval; `second` draws the point in the other colour."""

    value: float
    low: float | None = None
    high: float | None = None
    second: bool = False
    hollow: bool = False


@dataclass(frozen=True, kw_only=True)
class MarkedRow:
    """Row of a `Points` panel: a name and its points; `stroke` marks a value for comparison."""

    name: str
    marks: tuple[Mark, ...]
    stroke: float | None = None


def row_of(
    name: str, value: float, low: float | None = None, high: float | None = None
) -> MarkedRow:
    """Return the row of a `Points` panel with one point and, if given, its interval."""
    return MarkedRow(name=name, marks=(Mark(value=value, low=low, high=high),))


@dataclass(frozen=True, kw_only=True)
class Points(Panel):
    """Panel with a row of points for each term, and a dashed line at 0 if `zero` is true.

    Without a `domain` the axis is as wide as the points need.
    """

    form: Literal["points"] = "points"
    axis: str
    rows: tuple[MarkedRow, ...]
    domain: Domain | None = None
    zero: bool = True


@dataclass(frozen=True)
class Bin:
    """A bin from `low` to `high` on the first axis, with the count and quartiles of its values."""

    low: float
    high: float
    n: int
    median: float
    q25: float
    q75: float


@dataclass(frozen=True, kw_only=True)
class Boxes(Panel):
    """Panel of box plots: for each bin of the first axis, the quartiles and a bar at the median."""

    form: Literal["boxes"] = "boxes"
    axis: str
    values: str
    """The title of the second axis."""
    bins: tuple[Bin, ...]
    domain: Domain | None = None
    """Of the second axis."""


@dataclass(frozen=True, kw_only=True)
class NamedPlace:
    """A term with its coordinates on a plane."""

    name: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class CountField(Panel):
    """Panel with a heat map: `counts[i][j]` is the count in bin i of x and bin j of y.

    `x` and `y` are edges in the order of drawing, one more than there are bins.
    """

    form: Literal["counts"] = "counts"
    x_axis: str
    y_axis: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    diagonal: bool = False
    """Whether a dashed line goes from corner to corner."""
    named: tuple[NamedPlace, ...] | None = None

    def faults(self) -> Iterator[str]:
        """Yield an error text for each wrong size and each negative row of `counts`."""
        yield from misfits("counts", self.counts, len(self.x) - 1, len(self.y) - 1)


@dataclass(frozen=True)
class Move:
    """Row of a `Moves` panel: a term, and the values at which it starts and ends."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Moves(Panel):
    """Panel with a row for each term: a hollow point at its start, a full one at its end."""

    form: Literal["moves"] = "moves"
    axis: str
    rows: tuple[Move, ...]
    ends: tuple[str, str]
    """What the start and what the end are."""
    domain: Domain


@dataclass(frozen=True)
class Bell:
    """Row of a `Dumbbells` panel: a term, two values, and a third one with an interval."""

    name: str
    first: float
    second: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Dumbbells(Panel):
    """Panel with a row for each term: a full point, a hollow point, and a number as text."""

    form: Literal["dumbbells"] = "dumbbells"
    axis: str
    numbers: str
    """What the numbers at the right are."""
    rows: tuple[Bell, ...]
    domain: Domain


@dataclass(frozen=True)
class TermRanks:
    """Row of a `RankTable`: a term, and its rank in each of the columns `by`."""

    name: str
    ranks: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class RankTable(Panel):
    """Panel with a table of ranks, a row per term: from 1 (best, the darkest) to `of` (worst)."""

    form: Literal["ranks"] = "ranks"
    by: tuple[str, ...]
    rows: tuple[TermRanks, ...]
    of: float

    def faults(self) -> Iterator[str]:
        """Yield an error text for each empty field, and each row without one rank per column."""
        yield from super().faults()
        for i, row in enumerate(self.rows):
            if len(row.ranks) != len(self.by):
                yield f"rows[{i}] has {len(row.ranks)} ranks, allowed: {len(self.by)}"


@dataclass(frozen=True, kw_only=True)
class Matrix(Panel):
    """Panel of numbers by rows and columns, shaded from 0 to 1; None leaves a cell empty."""

    form: Literal["matrix"] = "matrix"
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]

    def faults(self) -> Iterator[str]:
        """Yield an error text for each empty field, and one if `values` has another size."""
        yield from super().faults()
        lengths = {len(line) for line in self.values}
        if len(self.values) != len(self.rows) or lengths != {len(self.columns)}:
            found = f"{len(self.values)} rows of {sorted(lengths)} numbers"
            yield f"values has {found}, allowed: {len(self.rows)} rows of {len(self.columns)}"


@dataclass(frozen=True, kw_only=True)
class Plane(Panel):
    """Panel of names as points on a plane, where only distances count; 0 is in the middle."""

    form: Literal["plane"] = "plane"
    places: tuple[NamedPlace, ...]


class _ByForm:
    """Annotation that lets pydantic choose a panel's class by its field `form`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:  # noqa: ANN401  (pydantic's)
        from pydantic import Field

        return handler.generate_schema(Annotated[source, Field(discriminator="form")])


Form = Annotated[
    Points | Boxes | CountField | Moves | Dumbbells | RankTable | Matrix | Plane,
    _ByForm(),
]


@dataclass(frozen=True)
class Chart:
    """Chart of a report: panels in a row, and a table of the same numbers.

    `columns` has the kind of each column by its name; `rows` has a cell for each of them, ready to
    print: numbers as texts, terms as they are.

    Raises:
        ValueError: a row has more or fewer cells than there are columns.
    """

    title: str
    caption: str
    panels: tuple[Form, ...] = ()
    columns: Mapping[str, Kind] = field(default_factory=dict)
    rows: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for a row whose cells do not match the columns."""
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"rows[{i}] has {len(row)} cells, allowed: {len(self.columns)}")


def table(
    columns: Mapping[str, str], rows: Iterable[Sequence[object]]
) -> tuple[dict[str, Kind], tuple[tuple[str, ...], ...]]:
    """Return `columns` and `rows` of a `Chart`, given values and how each column prints them.

    A column is of texts ("text", "term" or "answer"), or its numbers have a format, such as
    "+.2f". A cell that is a text is printed as it is, also in a column of numbers.
    """
    kinds = {name: kind for kind in get_args(Kind) for name in columns if columns[name] == kind}
    cells = (
        tuple(
            cell if isinstance(cell, str) else format(cell, form)
            for cell, form in zip(row, columns.values(), strict=True)
        )
        for row in rows
    )
    return {name: kinds.get(name, "number") for name in columns}, tuple(cells)


def numbers(*names: str) -> dict[str, Kind]:
    """Return the kind "number" by column name, for `columns` of a `Chart`."""
    return dict.fromkeys(names, "number")


def texts(*names: str) -> dict[str, Kind]:
    """Return the kind "text" by column name, for `columns` of a `Chart`."""
    return dict.fromkeys(names, "text")


def signed(*values: float, digits: int = 2) -> tuple[str, ...]:
    """Return numbers as cells of a table, each with its sign and so many decimals."""
    return tuple(f"{value:+.{digits}f}" for value in values)


def misfits(name: str, counts: Sequence[Sequence[int]], rows: int, columns: int) -> Iterator[str]:
    """Yield an error text, begun with `name`, for each fault of `rows` × `columns` counts."""
    if len(counts) != rows:
        yield f"{name} has {len(counts)} rows, allowed: {rows}, one less than there are edges"
    for i, row in enumerate(counts):
        if len(row) != columns:
            yield f"{name}[{i}] has {len(row)} counts, allowed: {columns}"
        if min(row, default=0) < 0:
            yield f"{name}[{i}] has {min(row)}, allowed: counts of 0 or more"
    if rows < 1 or columns < 1:
        yield f"{name} has {rows} rows and {columns} columns, allowed: one or more of each"
