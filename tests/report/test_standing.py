"""The strips: where a model stands among bounds, published models and null controls."""

from __future__ import annotations

from typing import Any

from rmaudit.records import Finding
from rmaudit.report.pictures.drawing import FAINT
from rmaudit.report.standing import standing


def test_a_strip_shows_model_bound_band_and_controls(results: dict[str, Any]) -> None:
    """Each measured finding has a strip, with a mark for all that it is held against."""
    data = results["findings"][0] | {
        "band": {"A": 0.1, "B": 0.2},
        "controls": {"random": 0.0, "length only": -0.2},
    }
    unmeasured = results["findings"][0] | {"estimate": None}

    svg = standing([Finding.from_json(data), Finding.from_json(unmeasured)])

    assert svg.count(f'fill="{FAINT}"') == 2
    assert "2 published models 0.1 to 0.2, random 0, length only -0.2" in svg
    assert ">r</text>" in svg
    assert ">l</text>" in svg
    assert standing([Finding.from_json(unmeasured)]) == ""
