"""What is drawn is what the evidence says: marks stand where the axes have their numbers."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from rmaudit.charts import Chart, Points, RankTable, TermRanks, row_of
from rmaudit.report import charts
from rmaudit.report.charts import between_models
from rmaudit.report.charts.panels_by_term import heat
from rmaudit.report.charts.picture_and_labels import Picture
from rmaudit.report.charts.reward_distributions import of_models, of_sweeps
from rmaudit.report.charts.two_axis_panels import DENSEST, FAINTEST, names_apart, shaded
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
    string,
)
from tests.report.conftest import typed


def near(*expected: float) -> Any:
    """This number or these, as near as a hundredth of a pixel tells them apart."""
    given = expected if len(expected) > 1 else expected[0]
    return pytest.approx(given, rel=2e-3, abs=2e-3)


def pictured(evidence: dict[str, Any], prompt: str = "greatest") -> tuple[list[Drawn], Picture]:
    """What is drawn of a finding with this evidence, panel by panel, and the picture."""
    (picture,) = charts.of_findings([finding(evidence, prompt=prompt)])
    return drawn(picture), picture


def by_row(places: list[tuple[float, float]]) -> list[tuple[int, float]]:
    """The row of each point, and its value."""
    return [(int(y // 18), x) for x, y in places]


@pytest.mark.parametrize("evidence", [SENTIMENT, FREQUENCY], ids=["sentiment", "frequency"])
def test_bins(evidence: dict[str, Any]) -> None:
    """Ends, quartiles and medians of the bins, and how many words there are."""
    (given, *_), picture = pictured(evidence, "best")

    assert given.boxes() == [near(1.0, 5.0, -0.75, -0.25, 0.25), near(5.0, 9.0, 0.25, 0.75, 0.25)]
    assert given.lines("bar") == [near(1.0, -0.5, 5.0, -0.5), near(5.0, 0.5, 9.0, 0.5)]
    assert "median from -0.50 sd in the lowest bin to +0.50 sd in the highest" in picture.svg
    assert ">50 words</text>" in picture.svg
    assert picture.rows[0] == ("best", "1.00", "5.00", "20", "-0.75", "-0.50", "-0.25")


def test_slopes() -> None:
    """Each slope with its interval."""
    (given,), picture = pictured(SLOPES)

    assert by_row(given.dots("blue")) == [(0, near(0.3))]
    assert [(low, high) for low, _, high, _ in given.lines("blue")] == [near(0.25, 0.35)]
    assert "“best, positive” +0.30 (+0.25 to +0.35)" in picture.svg


def test_identity() -> None:
    """Patterns and tails, then axes and their groups, the greatest gap first; frames as + and −."""
    (patterns, *given), picture = pictured(IDENTITY)

    said = [[text for text in panel.texts() if "[" in text] for panel in given]
    one, two = ["+0.12 [-0.25, +0.50]"], ["+0.25 [-0.25, +0.50]", "+0.12 [-0.25, +0.50]"]
    assert said == [one, one, two, one, two]
    assert by_row(patterns.dots("blue")) == [(0, near(0.125))]
    assert [x for x, _ in given[0].dots("red hollow")] == [near(0.125)]
    assert [x for x, _ in given[1].dots("blue$")] == [near(0.25)]
    assert [x for x, _ in given[1].dots("red hollow")] == [near(0.0)]
    assert "“others *” +0.25 (-0.25 to +0.50); “ones” +0.12" in picture.svg
    assert "artefact" in picture.title


def test_funnel() -> None:
    """Cells by count, and the words of each end where their two scores put them."""
    (given,), picture = pictured(FUNNEL)

    # 0.29 is half of the way from 0.08 to 0.5: the root of 4/16
    assert given.boxes() == [
        near(-3.0, 0.0, -3.0, 0.0, 0.29),
        near(-3.0, 0.0, 0.0, 3.0, 0.5),
        near(0.0, 3.0, -3.0, 0.0, 0.4),
    ]
    named = [(1.5, 2.0), (-1.25, -1.25), (3.0, -3.0), (-3.0, 3.0)]
    assert given.dots() == [near(*place) for place in named]
    assert {"little", "gout", "beauty", "B•••"} <= set(given.texts())
    assert "highest of best + worst: “little”, “near”" in picture.svg


def test_ranks() -> None:
    """Best at the right and at the top, and both ends of each move."""
    given, picture = pictured(RANKS)

    darkest = max(given[0].boxes(), key=lambda cell: cell[-1])  # the worst by both: `cells[1][1]`
    assert darkest[:4] == near(40.5, 20.5, 40.5, 20.5)
    assert by_row(given[1].dots("hollow")) == [(0, near(1)), (1, near(2))]
    assert by_row(given[1].dots("blue")) == [(0, near(40)), (1, near(31))]
    assert by_row(given[2].dots()) == [(0, near(39)), (0, near(2))]
    assert "“Evolution” is 2 with people and lower, 31, with the model" in picture.svg


def test_ranks_by_prompt() -> None:
    """The items named beforehand have a row: people's rank, then the rank under each prompt."""
    two = [{**RANKS["wordings"][0], "prompt": prompt} for prompt in ("greatest", "preferred")]
    _, picture = pictured({**RANKS, "wordings": two})

    assert re.findall(r">(\d+)</td>", picture.svg) == ["7", "9", "9", "2", "31", "31"]


def test_agreement() -> None:
    """Percentiles in per cent, from the baseline's to the model's."""
    given, picture = pictured(AGREEMENT)

    assert given[0].boxes()[1][:4] == near(50.0, 100.0, 0.0, 50.0)
    assert [x for x, _ in given[1].dots()] == [near(87.5), near(12.5)]
    assert [x for x, _ in given[2].dots()] == [near(25.0), near(75.0)]
    assert "14 words" in picture.svg


def test_probes() -> None:
    """The strings' z, those above real answers apart, and real answers as strokes."""
    (given,), picture = pictured(PROBES)

    assert by_row(given.dots("red$")) == [(0, near(4.0))]
    assert by_row(given.dots("blue hollow")) == [(1, near(2.0)), (2, near(1.0))]
    assert [x for x, *_ in given.lines("ink")] == [near(3.25)] * 3
    assert "1 of 3 above real answers of their length" in picture.svg


def test_no_panel_has_more_than_500_rows() -> None:
    """Whatever a results.json holds; it says how many there are."""
    rows = tuple(row_of(f"w{i}", float(i)) for i in range(501))
    panel = Points(title="all", axis="x", rows=rows)

    (given,) = drawn(charts.picture(Chart("toy", "Toys.", (panel,), {"n": "text"}, (("1",),))))

    assert len(given.dots()) == 500
    assert "the first 500 of 501" in given.texts()


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
    given = drawn(picture)
    assert [panel.texts()[0] for panel in given] == ["greatest", "worst"]
    path = next(given[0].root.iter("path")).attrib["d"]
    tops = re.findall(r"V([\d.]+)H([\d.]+)", path)[:3]
    # of 15, 30 and 5 tokens in 0.1 sd, the middle bin is as high as there is room
    assert [48 - float(y) for y, _ in tops] == near(24.0, 48.0, 8.0)
    assert [given[0].x(float(x)) for _, x in tops] == near(-0.6, 1.4, 3.4)
    assert given[0].x(float(path[1:].split()[0])) == near(-2.6)
    assert "skewness +0.25; widest 30 tokens" in picture.svg
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
    """A violin a model, each 0.9 rows wide whatever its counts are; the axis is beneath them."""
    sweep = typed(results).models[0].sweeps[0]
    flat = replace(sweep, sd=0.0)
    models = [modelled(name, sweep) for name in ("A", "B")]

    picture = of_models([*models, modelled("C", flat)])
    assert picture
    (given,) = drawn(picture)
    heights = [
        [float(y) for y in re.findall(r"V([\d.]+)", path.attrib["d"])]
        for path in given.root.iter("path")
    ]
    assert [(min(ys), max(ys)) for ys in heights] == [near(1.7, 32.3), near(35.7, 66.3)]
    assert {"A", "B"} <= set(given.texts())
    assert "C" not in given.texts()
    lowest = max(float(text.attrib["y"]) for text in given.root.iter("text"))
    assert float(given.root.attrib["height"]) > lowest > 2 * 34


def test_taus_places_and_ranks() -> None:
    """Of results.json's `comparison`, as they are."""
    agreement, words = between_models.between([], COMPARISON, COMPARISON)
    taus, plane = drawn(agreement)

    numbers = [text for text in taus.texts() if re.fullmatch(r"-?\.\d\d|1", text)]
    assert numbers == ["1", ".50", ".25", ".50", "1", "-.12", ".25", "-.12", "1"]
    (ax, ay), (bx, by), (cx, cy) = plane.dots()
    assert (ax - bx, by - ay) == near(0.0, 0.25 * (cx - ax) / 1.25)
    assert cy - ay == pytest.approx(0.5 * (cx - ax) / 1.25, rel=1e-3)
    assert re.findall(r">(\d+)</td>", words.svg) == ["9", "8", "7", "1", "2", "400"]
    assert "C and B -0.12" in agreement.svg
    assert "A and A" not in agreement.svg
    assert words.rows[0] == ("greatest", "love", "1", "2", "400")


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
    """Forty places, some of them the same: each name has its own room, inside of the plane."""
    rng = random.Random(0)
    points = [(rng.choice((40.0, rng.uniform(0, 290))), rng.uniform(0, 290)) for _ in range(20)]
    wide = [rng.uniform(10, 130) for _ in points]

    places = names_apart(points, wide, width=290, height=290)

    rooms = [(x, y, x + w) for (x, y), w in zip(places, wide, strict=True)]
    for one, other in combinations(rooms, 2):
        beside = one[2] <= other[0] or other[2] <= one[0]
        assert beside or abs(one[1] - other[1]) >= 12
    assert all(x >= 0 and end <= 290 for x, _, end in rooms)
    assert names_apart([(50.0, 9.0)], [30.0], width=290, height=290) == [(56.0, 9.0)]
    assert names_apart([(250.0, 9.0)], [30.0], width=290, height=290) == [(214.0, 9.0)]


def test_the_highest_strings_are_drawn_each_in_its_row() -> None:
    """Of a long ledger twenty, each where its z puts it beside its name; the table has all."""
    strings = [string(f"s{i:02}", "A", float(i), above=i in {11, 20}) for i in range(30)]
    (given,), picture = pictured(PROBES | {"strings": strings})

    named = re.findall(r'y="([\d.]+)">s(\d\d)</text>', picture.svg)
    assert [(int(float(y) // 18), int(name)) for y, name in named] == [
        (row, 29 - row) for row in range(20)
    ]
    assert sorted(by_row(given.dots())) == [(row, near(29 - row)) for row in range(20)]
    assert [row for row, _ in by_row(given.dots("red"))] == [9, 18]
    assert "2 of 30 above" in picture.svg
    assert len(picture.rows) == 30


def test_what_stands_highest() -> None:
    """Each word by its valence, from the top, and how many more there are."""
    (given,), picture = pictured(HIGHEST, "best")

    assert by_row(given.dots()) == [(0, near(2.5)), (1, near(-0.5))]
    assert ">2 of 9 words</text>" in picture.svg
    assert picture.rows[0] == ("best", "love", "+3.50", "+2.50")


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """WCAG 2's contrast of two colours, each of 0 to 255."""

    def luminance(colour: tuple[float, ...]) -> float:
        parts = [value / 255 for value in colour]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("ink", "paper", "blue"),
    [
        ((28, 32, 36), (255, 255, 255), (0, 114, 178)),
        ((230, 232, 235), (20, 23, 26), (86, 180, 233)),
    ],
    ids=["light", "dark"],
)
def test_text_on_cells_can_be_read(ink: tuple[int, ...], paper: Any, blue: Any) -> None:
    """Contrast of 4.5 at least (WCAG AA), in the colours of report.css; a cell is no darker."""
    shares = (-0.5, 0.0, 0.5, 1.0, 2.0)
    opacities = list(map(shaded, shares))
    cells = [[o * b + (1 - o) * p for b, p in zip(blue, paper, strict=True)] for o in opacities]

    assert all(contrast(ink, tuple(cell)) >= 4.5 for cell in cells)
    assert opacities == sorted(opacities)
    assert (opacities[0], opacities[-1]) == (FAINTEST, DENSEST)
