"""Define evidence: the details behind an audit's estimate, and the chart that shows them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from rmaudit.charts import Chart
from rmaudit.errors import EvidenceError
from rmaudit.verdicts.plain_python_values import plain


@dataclass(frozen=True)
class Evidence:
    """Base class of the details behind an estimate; each audit has a dataclass derived from it.

    Its first field is `kind: Literal["NAME"] = "NAME"`, by which a reader tells evidence apart;
    all others are plain values: finite numbers, texts, bools, None, tuples of these, and frozen
    dataclasses of these. A subclass is known by its kind as soon as it is defined. That of
    rmaudit's own audits is written to results.json as it is, that of others as `OwnEvidence`.
    """

    about_people: ClassVar[bool] = False
    """Whether its words name groups of people, so that the page reminds readers of that."""

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return what models.yaml keeps from failing; () by default. A subclass has a field."""
        return ()

    @property
    def effects(self) -> Mapping[str, float]:
        """Return the effects, in sd, of kinds that nobody named beforehand; none by default."""
        return {}

    def __init_subclass__(cls, **options: object) -> None:
        """Register a subclass by its `kind`; raise TypeError if it has none, or one that is taken.

        Readers of results.json tell evidence apart by its kind.

        Raises:
            TypeError: it has no kind of its own, or another class of this process has the same.
        """
        super().__init_subclass__(**options)
        fields_of = cls.__dict__.get("__dataclass_fields__", {})  # where `slots` made a new class
        kind = fields_of["kind"].default if "kind" in fields_of else cls.__dict__.get("kind")
        if not isinstance(kind, str):
            message = (
                f'{_place_of(cls)} has no kind; begin it with `kind: Literal["mine"] = "mine"`'
            )
            raise TypeError(message)
        other = _KINDS.get(kind)
        if other is not None and _place_of(other) != _place_of(cls) and _is_still_defined(other):
            places = f"{_place_of(other)} and {_place_of(cls)}"
            raise TypeError(
                f"two classes of evidence are of the kind {kind!r}: {places}; rename one"
            )
        _KINDS[kind] = cls

    def __post_init__(self) -> None:
        """Raise EvidenceError with the first of `faults`, if there is any.

        Raises:
            EvidenceError: the evidence is invalid; the message says where.
        """
        for fault in self.faults():
            raise EvidenceError(type(self).__name__, fault)

    def looked_at(self, _: int, /) -> Mapping[str, int]:
        """Return counts of what was looked at by noun, such as words or pairs; {} by default.

        The run's summary says them. The argument is the estimate's `n`: how many words, tokens or
        pairs it rests on.
        """
        return {}

    def example(self) -> str:
        """Return one example of what was found, as a sentence without a full stop; "" by default.

        The page shows it with a finding that does not pass, and masks and escapes what it quotes.
        """
        return ""

    def faults(self) -> Iterable[str]:
        """Yield a sentence for each invalid value: where it is, what was found, what is allowed."""
        return ()

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:  # noqa: ARG003  (of a subclass)
        """Return one chart of the evidence under all prompts in `found`; by default None.

        `found` has pairs of a prompt's name and its evidence. Of a user's own class, `found` is one
        prompt at a time.
        """
        return None

    @classmethod
    def kinds(cls) -> tuple[type[Evidence], ...]:
        """Return rmaudit's own evidence classes that are imported so far, ordered by kind."""
        return tuple(each for _, each in sorted(_KINDS.items()) if _bundled(each))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:  # noqa: ANN401  (pydantic's)
        """Return a pydantic schema; for `Evidence` itself, the union of rmaudit's subclasses."""
        if cls is not Evidence:
            return handler(source)
        from functools import reduce
        from operator import or_

        from pydantic import Field

        kind = reduce(or_, cls.kinds())
        return handler.generate_schema(Annotated[kind, Field(discriminator="kind")])


_KINDS: dict[str, type[Evidence]] = {}


@dataclass(frozen=True, kw_only=True)
class OwnEvidence(Evidence):
    """Evidence of a class that a user wrote, as stored in results.json: fields as JSON, and chart.

    So whoever reads a results.json can draw it, without the file that defines the class.
    """

    kind: Literal["own"] = "own"
    own_kind: str
    """The kind of the class."""
    values: Mapping[str, Any]
    """Its fields, as JSON."""
    own_chart: Chart | None
    """What it gave to be drawn under its prompt."""

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return the first prompt's chart with all prompts' panels and rows; None without any.

        Rows of a table with other columns than the first one's are left out.
        """
        charts = [each.own_chart for _, each in found if each.own_chart]
        if not charts:
            return None
        first = charts[0]
        alike = [chart for chart in charts if list(chart.columns) == list(first.columns)]
        return replace(
            first,
            panels=tuple(panel for chart in charts for panel in chart.panels),
            rows=tuple(row for chart in alike for row in chart.rows),
        )


def recorded(evidence: Evidence | None, prompt: str) -> Evidence | None:
    """Return the evidence as results.json stores it; that of a user's class as `OwnEvidence`.

    Raises:
        TypeError: its chart is no `Chart`, or holds what JSON cannot; the message says where.
        ValueError: a number of its chart is not finite.
    """
    if evidence is None or _bundled(type(evidence)):
        return evidence
    where = f"{type(evidence).__name__}.chart"
    chart = evidence.chart([(prompt, evidence)])
    if not isinstance(chart, Chart | None):
        raise TypeError(f"{where} gave a {type(chart).__name__}, allowed: a rmaudit.charts.Chart")
    values = json.loads(json.dumps(asdict(evidence)))
    kind = values.pop("kind")
    return OwnEvidence(own_kind=kind, values=values, own_chart=plain(chart, where))


def checked(evidence: Evidence | None) -> Evidence | None:
    """Return evidence with numpy's numbers replaced by Python's; raise if JSON cannot hold it.

    Raises:
        TypeError: it is no evidence, no dataclass, or holds what JSON cannot; it says where.
        ValueError: a number in it is not finite.
    """
    if evidence is None or isinstance(evidence, OwnEvidence):  # which was checked, or is JSON
        return evidence
    name = type(evidence).__name__
    if not isinstance(evidence, Evidence):
        message = f"evidence is a {name}, allowed: None, or a dataclass derived from Evidence"
        raise TypeError(message)
    if "kind" not in {own.name for own in fields(evidence)}:
        raise TypeError(f"evidence is a {name}, which is no dataclass; add @dataclass(frozen=True)")
    found: Evidence = plain(evidence, "evidence")
    return found


def _bundled(kind: type[Evidence]) -> bool:
    return kind.__module__.startswith("rmaudit.")


def _is_still_defined(kind: type[Evidence]) -> bool:
    """Return whether the module that defines the class is loaded and still defines it."""
    return getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind


def _place_of(kind: type[Evidence]) -> str:
    """Return "file: class name" of a class; reloading the file does not change it."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or kind.__module__
    return f"{file}: {kind.__qualname__}"
