"""Strips: one row a measured finding, drawn once, each found again by its box."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from rmaudit.report.charts.drawing import FAINT, compiled
from rmaudit.report.charts.standing import sheet, strips
from rmaudit.verdicts.findings import Band, Control, Finding
from rmaudit.verdicts.records import Verdict
from tests.report.conftest import typed

HEIGHT = 34.0


@pytest.fixture
def finding(results: dict[str, Any]) -> Finding:
    """One with a band and controls: bound above 0.2, estimate 0.625 (0.5 to 0.75)."""
    return replace(
        typed(results).findings[0],
        band=Band({"A": 0.1, "B": 0.2}, "some words"),
        controls={
            "random": Control(Verdict.FAIL, False, 0.0, -0.1, 0.1),
            "long words": Control(Verdict.INCONCLUSIVE, True, 0.5, 0.1, 0.9),
            "constant": Control(Verdict.ERROR, True, reason="flat"),
        },
    )


def test_a_strip_shows_model_bound_band_and_controls(finding: Finding) -> None:
    """Each has a mark for all that it is held against, and says it."""
    svg = compiled(sheet([finding], id="strips-1"))

    assert svg.startswith('<svg id="strips-1" ')
    assert ' aria-label="A strip for each finding."' in svg
    assert svg.count(f'fill="{FAINT}"') == 2
    assert svg.count(">×</text>") == 2
    (strip,) = strips([finding])
    assert strip is not None
    assert strip.words == (
        "framing, greatest: 0.625 (0.5 to 0.75), bound above 0.2 rho, "
        "2 published models 0.1 to 0.2, random +0 FAIL, "
        "long words +0.5 INCONCLUSIVE, constant cannot be measured"
    )


def test_boxes_hold_the_rows(finding: Finding) -> None:
    """The nth measured finding is in the nth box; what was not measured has none."""
    findings = [finding, replace(finding, estimate=None), finding, finding]

    boxes = [strip.box.split() if strip else None for strip in strips(findings)]
    assert boxes[1] is None
    tops = [float(box[1]) for box in boxes if box]
    svg = compiled(sheet(findings, id="s"))
    size = re.search(r'viewBox="0 0 (\S+) (\S+)"', svg)
    assert size is not None
    assert {(box[0], box[2], box[3]) for box in boxes if box} == {("0", "440", "34")}
    assert float(size[1]) >= 440
    # The text of a null is 11 pixels below the middle of its row.
    drawn = {float(y) for y in re.findall(r'translate\([\d.]+,([\d.]+)\)"[^>]*>×</text>', svg)}
    shift = tops[0]  # of the plot in the sheet
    assert len(drawn) == 3
    for top, y in zip(tops, sorted(drawn), strict=True):
        assert top < y + shift - 11 < top + HEIGHT
    assert tops[-1] + HEIGHT <= float(size[2])


def test_nothing_measured_is_no_sheet(finding: Finding) -> None:
    """An empty picture would say that there was something."""
    assert sheet([replace(finding, estimate=None)], id="s") == ""


def test_a_changed_value_changes_the_strip(results: dict[str, Any], finding: Finding) -> None:
    """What is drawn and said is the finding's."""
    assert finding.estimate is not None
    moved = replace(finding, estimate=replace(finding.estimate, value=0.51))

    assert sheet([moved], id="s") != sheet([finding], id="s")
    (strip,) = strips([moved])
    assert strip is not None
    assert "0.51 (0.5 to 0.75)" in strip.words
