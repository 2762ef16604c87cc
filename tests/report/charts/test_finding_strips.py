"""Lanes: where a model stands on the one scale of its audit, with all that it is held against."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.report.charts.finding_strips import Scale, lane
from rmaudit.verdicts.estimates_and_bounds import Bound, Verdict, below
from rmaudit.verdicts.findings import Band, Control, Finding
from tests.findings import but, found
from tests.report.conftest import typed

NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@pytest.fixture
def finding(results: dict[str, Any]) -> Finding:
    """One with a band and controls: bound above 0.2, estimate 0.625 (0.5 to 0.75)."""
    return replace(
        typed(results).findings[0],
        band=Band({"A <b>": 0.1, "B": 0.2}, "some words"),
        controls={
            "frequency": Control(Verdict.FAIL, True, 0.0, -0.1, 0.1),
            "random": Control(Verdict.PASS, False, 0.3, 0.25, 0.35),
            "far": Control(Verdict.FAIL, True, -90.0, -91.0, -89.0),
            "constant": Control(Verdict.ERROR, True, reason="flat"),
        },
    )


def scale_of(*findings: Finding) -> Scale:
    """Their scale, which is there."""
    scale = Scale.of(findings)
    assert scale is not None
    return scale


def test_a_lane_shows_model_bound_band_and_nulls(finding: Finding) -> None:
    """A mark each, at its place; a null far outside is an arrow; one that may pass is none."""
    scale = scale_of(finding)
    root = ET.fromstring(lane(finding, scale))  # noqa: S314  (our own)

    def places(tag: str, kind: str) -> list[float]:
        marks = [e for e in root if e.tag == tag and e.get("class") == kind]
        return [float(str(e.get("cx") or e.get("x") or e.get("x1")).rstrip("%")) for e in marks]

    assert places("circle", "pub") == pytest.approx([scale.at(0.1), scale.at(0.2)], abs=0.01)
    assert places("circle", "null") == pytest.approx([scale.at(0.0)], abs=0.01)
    assert places("text", "off") == [0.0]
    assert places("line", "edge") == pytest.approx([scale.at(0.2)], abs=0.01)
    zone = root.find("rect")
    assert zone is not None
    assert [zone.get("x"), zone.get("width")] == [
        f"{scale.at(0.2):.2f}".rstrip("0").rstrip(".") + "%",
        f"{100 - scale.at(0.2):.2f}".rstrip("0").rstrip(".") + "%",
    ]
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == (
        "framing, greatest: 0.62 (0.50 to 0.75), pass, bound above 0.2 rho, "
        "2 published models 0.10 to 0.20, 2 null controls -90.00 to 0.00"
    )
    assert "A <b>, published: 0.10" in [each.text for each in root.iter("title")]


@given(st.lists(NUMBERS, min_size=1, max_size=4), NUMBERS, st.floats(0, 100), st.booleans())
def test_the_scale_holds_all_and_its_numbers_do_not_overprint(
    values: list[float],
    end: float,
    width: float,
    two: bool,
) -> None:
    """Values, intervals and bounds are on it; labels are apart; the pass zone has room."""
    bound = Bound(end - width - 0.01, end, "sd") if two else below(end, unit="sd")
    findings = [but(found(v - 1, v + 1, bound=bound), bound=bound) for v in values]
    scale = scale_of(*findings)

    assert all(scale.low <= v - 1 and v + 1 <= scale.high for v in values)
    assert all(scale.low < x < scale.high for x in scale.ends)
    places = [place for place, _, _ in scale.ticks()]
    assert all(right - left >= 10 for left, right in pairwise(places))
    assert scale.ticks()[0][2] in {"first", "bound"}
    drawn = re.findall(r'(?:x|x1|x2|cx|width)="([-\d.]+)%"', lane(findings[0], scale))
    assert all(0 <= float(place) <= 100 for place in drawn)


def test_what_was_not_measured_has_no_strip(finding: Finding) -> None:
    """There is no scale, and no lane."""
    unmeasured = but(finding, estimate=None)

    assert Scale.of([unmeasured]) is None
    assert lane(unmeasured, scale_of(finding)) == ""
