"""Evidence is known by its kind, checks itself, and is recorded with its chart."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

import pytest

from rmaudit.charts import Chart
from rmaudit.errors import EvidenceError
from rmaudit.measures.model_agreement import ModelAgreementEvidence
from rmaudit.verdicts.evidence import Evidence, OwnEvidence, checked, recorded

CODE = """
from dataclasses import dataclass
from typing import Literal
from rmaudit.verdicts.evidence import Evidence

@dataclass(frozen=True)
class Mine(Evidence):
    kind: Literal["of two files"] = "of two files"
"""


def test_two_files_cannot_define_one_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names both; a file may be loaded again, and one that is gone leaves its kind."""

    def load(name: str) -> None:
        """As pytest loads a file."""
        module = ModuleType(name)
        module.__file__ = str(tmp_path / f"{name}.py")
        monkeypatch.setitem(sys.modules, name, module)
        exec(CODE, vars(module))  # noqa: S102  (a file of a test)

    load("first")
    load("first")
    with pytest.raises(TypeError, match=r"of two files.*first\.py: Mine and .*second\.py: Mine"):
        load("second")
    monkeypatch.delitem(sys.modules, "first")
    load("second")


def test_evidence_without_a_kind_is_refused() -> None:
    """As soon as it is defined; the error shows the line that is missing."""
    with pytest.raises(TypeError, match=r'Kindless has no kind.*kind: Literal\["mine"\] = "mine"'):

        class Kindless(Evidence):
            """None of its own."""


def test_a_class_that_is_no_dataclass_is_refused() -> None:
    """Its values would be lost."""

    class Bare(Evidence):
        kind = "bare"

    with pytest.raises(TypeError, match=r"Bare, which is no dataclass; add @dataclass"):
        checked(Bare())


def test_evidence_checks_itself() -> None:
    """As it is made: the error names the class and the place."""
    with pytest.raises(EvidenceError, match=r"^ModelAgreementEvidence\.cells\[0\] has 3 counts"):
        ModelAgreementEvidence(cells=((1, 2, 3), (1, 2)), fell=(), rose=())


def test_recorded_evidence_gives_the_charts_of_all_prompts() -> None:
    """Their panels and rows in one, those of a table with other columns left out."""

    @dataclass(frozen=True)
    class Shown(Evidence):
        kind: Literal["shown here"] = "shown here"
        column: str = "a"
        numbers: tuple[float, ...] = (0.5,)

        @classmethod
        def chart(cls, found: object) -> Chart:
            ((prompt, evidence),) = found  # type: ignore[misc,attr-defined]
            return Chart("T", "C.", columns={evidence.column: "text"}, rows=((prompt,),))

    given = [("best", Shown()), ("worst", Shown()), ("odd", Shown(column="b"))]
    found = [(prompt, recorded(evidence, prompt)) for prompt, evidence in given]

    first = found[0][1]
    assert isinstance(first, OwnEvidence)
    assert (first.own_kind, first.values) == ("shown here", {"column": "a", "numbers": [0.5]})
    chart = OwnEvidence.chart([(p, each) for p, each in found if isinstance(each, OwnEvidence)])
    assert chart
    assert chart.rows == (("best",), ("worst",))
