"""An audit in one file outside the package: its evidence is recorded, and its chart is drawn."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from rmaudit.charts import Chart, Points, row_of
from rmaudit.report import charts, json_codec, results_document, results_reader, writers
from rmaudit.report.replay import replay
from rmaudit.verdicts.evidence import Evidence, OwnEvidence, recorded
from rmaudit.verdicts.verdict_policy import Policy
from tests.findings import TODAY
from tests.plugin.conftest import Run

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-an-audit.md"
TITLE = "Gain from capital letters"


def file_of_the_page() -> str:
    """The complete file that the page shows."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (whole,) = (block for block in blocks if "Evidence" in block)
    return str(whole)


@pytest.mark.slow
def test_its_chart_is_on_the_page_and_on_a_replayed_one(run: Run) -> None:
    """The second is made where the file is gone, and its class is unloaded."""
    ran = run(file_of_the_page(), pages=True)
    assert TITLE in (ran.report / "index.html").read_text(encoding="utf-8")

    (ran.folder / "test_toy.py").unlink()
    assert not [name for name in sys.modules if name.endswith("test_toy")]
    results = results_reader.read(ran.report / "results.json")
    found = [finding.estimate.evidence for finding in results.findings if finding.estimate]
    assert len(found) == 2
    for evidence in found:
        assert isinstance(evidence, OwnEvidence)
        assert evidence.own_kind == "capitals"
        assert [word["word"] for word in evidence.values["words"]][:2] == ["love", "peace"]
    (picture,) = charts.of_findings(results.findings)
    assert (picture.title, len(picture.rows)) == (TITLE, 12)
    titles = re.findall("<title>(.*?)</title>", picture.svg)
    assert titles == [f"{TITLE}, greatest", f"{TITLE}, worst"]
    assert json_codec.decode(results_document.Results, json_codec.encode(results)) == results
    assert TITLE in writers.own()["index.html"](replay(results, Policy(), TODAY))


@pytest.mark.parametrize(
    ("chart", "says"),
    [
        ("no chart", r"BadEvidence\.chart gave a str"),
        (
            Chart("A", "B.", (Points(title="x", axis="y", rows=(row_of("w", math.nan),)),)),
            r"BadEvidence\.chart\.panels\[0\]\.rows\[0\]\.marks\[0\]\.value is nan",
        ),
    ],
)
def test_a_chart_that_cannot_be_recorded_is_an_error(chart: Any, says: str) -> None:
    """It names the place."""

    @dataclass(frozen=True, kw_only=True)
    class BadEvidence(Evidence):
        kind: Literal["bad"] = "bad"

        @classmethod
        def chart(cls, found: Any) -> Any:
            return chart

    with pytest.raises((TypeError, ValueError), match=says):
        recorded(BadEvidence(), "best")
