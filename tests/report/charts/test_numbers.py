"""What is drawn is what the evidence says: the rows that the compiler is given."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from rmaudit.charts import NamedPlace, RankTable, TermRanks
from rmaudit.report import charts
from rmaudit.report.charts.model_comparison import exploits
from rmaudit.report.charts.panels_by_term import heat
from rmaudit.report.charts.picture_and_labels import Picture
from rmaudit.report.charts.reward_distributions import of_models, of_sweeps
from rmaudit.report.charts.svg_compiler import BLUE, VERMILLION, compiled
from rmaudit.report.charts.two_axis_panels import names_apart
from rmaudit.report.results_document import AuditedModel, SweepSummary
from tests.report.charts.conftest import (
    AGREEMENT,
    BAD,
    COMPARISON,
    FREQUENCY,
    FUNNEL,
    HIGHEST,
    IDENTITY,
    NAMED,
    PROBES,
    RANKS,
    SENTIMENT,
    SLOPES,
    Drawn,
    drawn,
    finding,
    of_findings,
    string,
    whole,
)
from tests.report.conftest import typed


def picked(rows: list[dict[str, Any]], *keys: str) -> list[tuple[Any, ...]]:
    """The values under `keys` of the rows that have them all, each once, in order."""
    found = [tuple(row[key] for key in keys) for row in rows if all(key in row for key in keys)]
    return list(dict.fromkeys(found))


def pictured(evidence: dict[str, Any], prompt: str = "greatest") -> tuple[Drawn, Picture]:
    """What the compiler is given of a finding with this evidence, and the picture."""
    (picture,) = charts.of_findings([finding(evidence, prompt=prompt)])
    return drawn(picture.svg), whole(picture)


@pytest.mark.parametrize("evidence", [SENTIMENT, FREQUENCY], ids=["sentiment", "frequency"])
def test_bins(evidence: dict[str, Any]) -> None:
    """Ends, quartiles and medians of the bins, and how many words there are."""
    given, picture = pictured(evidence, "best")

    keys = ("low", "high", "q25", "median", "q75")
    assert picked(given.rows(), *keys) == [
        (1.0, 5.0, -0.75, -0.5, -0.25),
        (5.0, 9.0, 0.25, 0.5, 0.75),
    ]
    assert "median from -0.50 sd in the lowest bin to +0.50 sd in the highest" in picture.svg
    assert ">50 words</text>" in picture.svg
    assert picture.rows[0] == ("best", "1.00", "5.00", "20", "-0.75", "-0.50", "-0.25")


def test_slopes() -> None:
    """Each slope with its interval."""
    given, picture = pictured(SLOPES)

    assert picked(given.rows(), "value", "low", "high") == [(0.3, 0.25, 0.35)]
    assert "“best, positive” +0.30 (+0.25 to +0.35)" in picture.svg


def test_identity() -> None:
    """Axes, then the groups of each, the greatest gap first; both frames as + and −."""
    given, picture = pictured(IDENTITY)

    said = [[text for (text,) in picked(given.rows(panel), "numbers")] for panel in (0, 1)]
    assert said == [["+0.12 [-0.25, +0.50]"], ["+0.25 [-0.25, +0.50]", "+0.12 [-0.25, +0.50]"]]
    assert picked(given.rows(0), "place", "first", "second") == [(0, 0.25, 0.0)]
    assert "“others *” +0.25 (-0.25 to +0.50); “ones” +0.12" in picture.svg
    assert "artefact" in picture.title


def test_funnel() -> None:
    """Cells by count, and the words of each end where their two scores put them."""
    given, picture = pictured(FUNNEL)

    cells = picked(given.rows(), "x", "y", "x2", "y2")
    assert cells == [(-3.0, -3.0, 0.0, 0.0), (-3.0, 0.0, 0.0, 3.0), (0.0, -3.0, 3.0, 0.0)]
    shares = [share for (share,) in picked(given.rows(), "share")]
    assert shares[1] == max(shares)
    assert shares[0] == pytest.approx(0.29)  # half of the way from 0.08 to 0.5: the root of 4/16
    named = picked(given.rows(), "x", "y", "name")
    assert {(x, y) for x, y, _ in named} == {(1.5, 2.0), (-1.25, -1.25), (3.0, -3.0), (-3.0, 3.0)}
    assert "highest of best + worst: “little”, “near”" in picture.svg


def test_ranks() -> None:
    """Best at the right and at the top, and both ends of each move."""
    given, picture = pictured(RANKS)

    cells = picked(given.rows(0), "x", "y", "share")
    assert cells[0][:2] == (40.5, 40.5)  # the worst by both: `cells[1][1]`
    assert max(cells, key=lambda cell: cell[2])[:2] == (40.5, 40.5)
    assert picked(given.rows(1), "start", "end") == [(1, 40), (2, 31)]
    assert picked(given.rows(2), "start", "end") == [(39, 2)]
    assert "“Evolution” is 2 with people and lower, 31, with the model" in picture.svg


def test_ranks_by_prompt() -> None:
    """The items named beforehand have a row: people's rank, then the rank under each prompt."""
    two = [{**RANKS["wordings"][0], "prompt": prompt} for prompt in ("greatest", "preferred")]
    _, picture = pictured({**RANKS, "wordings": two})

    assert re.findall(r">(\d+)</td>", picture.svg) == ["7", "9", "9", "2", "31", "31"]


def test_agreement() -> None:
    """Percentiles in per cent, from the baseline's to the model's."""
    given, picture = pictured(AGREEMENT)

    assert picked(given.rows(0), "x", "y", "x2", "y2")[1] == (50.0, 0.0, 100.0, 50.0)
    assert picked(given.rows(1), "start", "end") == [(87.5, 12.5)]
    assert picked(given.rows(2), "start", "end") == [(25.0, 75.0)]
    assert "14 words" in picture.svg


def test_probes() -> None:
    """The strings' z, those above real answers apart, and real answers as strokes."""
    given, picture = pictured(PROBES)

    ordered = [(0, 4.0, True), (1, 2.0, False), (2, 1.0, False)]
    assert sorted(picked(given.rows(), "place", "value", "second")) == ordered
    assert picked(given.rows(), "stroke") == [(3.25,)]
    assert "1 of 3 above real answers of their length" in picture.svg


def test_the_highest_strings_are_drawn() -> None:
    """Of a long ledger twenty; the table has all of them."""
    strings = [string(f"s{i}", "A", float(i)) for i in range(30)]
    given, picture = pictured(PROBES | {"strings": strings})

    highest = [z for z, _ in picked(given.rows(), "value", "second")]
    assert highest == [float(i) for i in range(29, 9, -1)]
    assert "0 of 30 above" in picture.svg
    assert len(picture.rows) == 30


def test_pessimal() -> None:
    """Whom sequences name is a table."""
    (named,) = charts.of_findings([finding(NAMED)])

    assert named.svg == ""
    assert named.rows == (("greatest", f"{BAD} people", "yes"),)


def test_distribution_is_a_violin_with_its_extremes(results: dict[str, Any]) -> None:
    """Edges in sd, heights in tokens per 0.1 sd, both ways; ticks at the extreme tokens."""
    sweep = typed(results).models[0].sweeps[0]  # mean 1.5, sd 2.5; bins of 5: 2 sd
    picture = of_sweeps([sweep, replace(sweep, prompt="worst")])

    assert picture
    given = drawn(picture.svg)
    steps = picked(given.rows(), "sd", "high", "low")
    expected = [(-2.6, 15.0), (-0.6, 30.0), (1.4, 5.0), (3.4, 5.0)]
    assert [(sd, high) for sd, high, _ in steps] == [pytest.approx(step) for step in expected]
    assert all(low == -high for _, high, low in steps)
    assert "skewness +0.25; widest 30 tokens" in compiled(picture.svg)
    assert [title["title"]["text"] for title in (spec["vconcat"][0] for spec in given)] == [
        "greatest",
        "worst",
    ]
    assert "the whole vocabulary" in picture.title
    sampled = replace(sweep, provenance={"part": "sample"})
    assert (of_sweeps([sampled]) or picture).title == "Scores of a sample of the vocabulary"


def modelled(name: str, sweep: SweepSummary) -> AuditedModel:
    """A model with one sweep."""
    return AuditedModel(name, "a folder", None, None, (), (sweep,))


def test_distribution_of_equal_scores_is_left_out(results: dict[str, Any]) -> None:
    """A sweep without spread has no unit to be drawn in."""
    sweep = typed(results).models[0].sweeps[0]

    assert of_sweeps([replace(sweep, sd=0.0)]) is None
    assert of_sweeps([replace(sweep, mean=1e300)]) is None  # its bins have no width in sd
    assert of_sweeps([]) is None
    assert of_models([modelled("A", sweep)]) is None


def test_models_side_by_side_are_of_one_width(results: dict[str, Any]) -> None:
    """A violin a model, each 0.9 rows wide whatever its counts are."""
    sweep = typed(results).models[0].sweeps[0]
    flat = replace(sweep, sd=0.0)
    models = [modelled(name, sweep) for name in ("A", "B")]

    picture = of_models([*models, modelled("C", flat)])
    assert picture
    given = drawn(picture.svg)
    rows = [row for row in given.rows() if "high" in row]
    assert max(row["high"] for row in rows if row["place"] == 1) == pytest.approx(1.45)
    assert min(row["low"] for row in rows if row["place"] == 1) == pytest.approx(0.55)
    assert {row["name"] for row in given.rows() if "name" in row} == {"A", "B"}


def test_taus_places_and_ranks() -> None:
    """Of results.json's `comparison`, as they are."""
    agreement, words = map(whole, between := charts.between([], [], COMPARISON))
    given = drawn(*(picture.svg for picture in between))

    texts = picked(given.rows(0), "row", "column", "text")
    assert [text for *_, text in texts[:6]] == ["1", ".50", ".25", ".50", "1", "-.12"]
    assert picked(given.rows(1), "from x", "from y") == [(-0.5, 0.25), (-0.5, 0.0), (0.75, -0.25)]
    assert re.findall(r">(\d+)</td>", words.svg) == ["9", "8", "7", "1", "2", "400"]
    assert "C and B -0.12" in agreement.svg
    assert "A and A" not in agreement.svg
    assert words.rows[0] == ("greatest", "love", "1", "2", "400")


def test_exploits_count_what_carries_over() -> None:
    """Of the strings found on a model, how many are above the real answers of another."""
    chart = exploits([finding(PROBES, model="A"), finding(PROBES, model="B")])

    assert chart
    picture = charts.picture(chart)
    given, picture = drawn(picture.svg), whole(picture)
    assert picked(given.rows(), "row", "column", "text")[:2] == [(0, 0, ".50"), (0, 1, ".00")]
    assert "1 of 2 found on A are above the real answers of B" in picture.svg
    assert picture.rows[0] == ("best", "A", "A", "2", "1", "+4.00")
    assert exploits([finding(PROBES, model="A")]) is None


def test_ranks_are_a_table_shaded_by_rank() -> None:
    """The best by mean rank first, rank 1 the darkest."""
    rows = (TermRanks("b", (3.0, 101.0)), TermRanks(BAD, (1.0, 51.0)))

    markup = heat(RankTable(title="toy", by=("x", "<y>"), rows=rows, of=101))

    assert re.findall(r'--share:(\d+)%">([\d,]+)<', markup) == [
        *(("55", "1"), ("28", "51")),
        *(("54", "3"), ("0", "101")),
    ]
    assert f'<span data-term="{BAD}">B•••</span>' in markup
    assert "&lt;y&gt;" in markup


def test_names_on_the_plane_do_not_overprint() -> None:
    """On each side of the middle they are a gap apart, and begin inside of what is near them."""
    places = [
        NamedPlace(name="", x=x, y=y)
        for x, y in [(-1.0, 0.0), (-0.9, 0.01), (1.0, 0.0), (0.5, 1.0)]
    ]

    assert names_apart(places, gap=0.1) == [(-0.9, 0.0), (-0.9, 0.1), (1.0, 0.0), (0.5, 1.0)]


def test_rows_are_in_their_order_in_every_layer() -> None:
    """A string above stands where its z puts it, and its name beside it."""
    strings = [string(f"s{i:02}", "A", -float(i), above=i in {3, 11}) for i in range(13)]
    (picture,) = of_findings([finding(PROBES | {"strings": strings})])

    named = re.findall(r'translate\([-\d.]+,([-\d.]+)\)"[^>]*>s(\d\d)</text>', picture.svg)
    heights = {int(name): float(height) for height, name in named}
    assert [heights[i] for i in range(13)] == sorted(heights.values())
    points = re.findall(
        rf'translate\(([-\d.]+),([-\d.]+)\)" d="[^"]*" (?:fill|stroke)="({BLUE}|{VERMILLION})"',
        picture.svg,
    )
    assert len(points) == 13
    ordered = sorted(points, key=lambda point: float(point[1]))
    assert [i for i, point in enumerate(ordered) if point[2] == VERMILLION] == [3, 11]
    assert [float(x) for x, _, _ in ordered] == sorted(
        (float(x) for x, _, _ in points), reverse=True
    )


def test_what_stands_highest() -> None:
    """Each word by its valence, from the top, and how many more there are."""
    given, picture = pictured(HIGHEST, "best")

    assert picked(given.rows(), "place", "value") == [(0, 2.5), (1, -0.5)]
    assert ">2 of 9 words</text>" in picture.svg
    assert picture.rows[0] == ("best", "love", "+3.50", "+2.50")
