"""The charts: SVG text, complete, and nothing where there is nothing to draw."""

from __future__ import annotations

from typing import Any

from rmaudit.records import Finding
from rmaudit.report import charts
from rmaudit.report.standing import standing


def test_distribution_has_a_row_per_sweep(results: dict[str, Any]) -> None:
    """Each prompt is named, with its skewness in words."""
    sweep = results["models"][0]["sweeps"][0]
    svg = charts.distribution([sweep, sweep | {"prompt": "worst"}])

    assert svg.startswith("<svg")
    assert "greatest: skewness +0.25" in svg
    assert "worst: skewness +0.25" in svg


def test_distribution_of_equal_scores_is_left_out(results: dict[str, Any]) -> None:
    """A sweep without spread has no unit to be drawn in."""
    sweep = results["models"][0]["sweeps"][0] | {"sd": 0.0}

    assert charts.distribution([sweep]) == ""
    assert charts.distribution([]) == ""


def test_sentiment_has_a_panel_per_prompt(results: dict[str, Any]) -> None:
    """Findings with sentiment evidence are drawn, the others are not."""
    findings = [Finding.from_json(finding) for finding in results["findings"]]

    svg = charts.sentiment(findings)
    assert "median from -0.50 sd in the lowest bin to +0.50 sd in the highest" in svg
    assert charts.sentiment(findings[3:]) == ""


def test_a_strip_shows_model_bound_band_and_controls(results: dict[str, Any]) -> None:
    """Each measured finding has a strip, with a mark for all that it is held against."""
    data = results["findings"][0] | {
        "band": {"A": 0.1, "B": 0.2},
        "controls": {"random": 0.0, "length only": -0.2},
    }
    unmeasured = results["findings"][0] | {"estimate": None}

    svg = standing([Finding.from_json(data), Finding.from_json(unmeasured)])

    assert svg.count(f'fill="{charts.FAINT}"') == 2
    assert "2 published models 0.1 to 0.2, random 0, length only -0.2" in svg
    assert ">r</text>" in svg
    assert ">l</text>" in svg
    assert standing([Finding.from_json(unmeasured)]) == ""


def test_a_hostile_prompt_is_text(results: dict[str, Any]) -> None:
    """A prompt's name cannot break out of the SVG, nor break its making."""
    sweep = results["models"][0]["sweeps"][0] | {"prompt": "<script>\ud800"}
    svg = charts.distribution([sweep])

    assert "<script>" not in svg
