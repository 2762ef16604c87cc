"""SVG by hand: texts that fit, axes with round ticks, and markup that nothing gets out of."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit import svg

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)


@given(NUMBERS, NUMBERS, st.lists(NUMBERS, max_size=5), st.integers(2, 9))
def test_an_axis_puts_each_value_on_it_or_just_beyond(
    first: float, last: float, values: list[float], many: int
) -> None:
    """Also of the largest numbers, of the least, of none between, and turned around."""
    axis = svg.Axis(first, last, 0, 200)

    places = [axis.at(value) for value in sorted(values)]
    assert all(-7 < place < 207 for place in places)
    assert places == sorted(places, reverse=last < first)
    assert all(0 <= axis.at(value) <= 200 for value in values if axis.holds(value))
    ticks = axis.ticks(many)
    assert 1 <= len(ticks) <= many + 2
    assert all(-0.01 <= place <= 200.01 for place, _ in ticks)


@pytest.mark.parametrize(
    ("ends", "texts"),
    [
        ((-1, 1), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]),
        ((3747.5, 0.5), ["1,000", "2,000", "3,000"]),
        ((0, 1), ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        ((1e-7, 2e-6), ["5e−07", "1e−06", "1.5e−06", "2e−06"]),
        ((0.001, 0.0019), ["0.00100", "0.00125", "0.00150", "0.00175"]),
        ((4, 4), ["4"]),
    ],
)
def test_ticks_are_round(ends: tuple[float, float], texts: list[str]) -> None:
    """And stand where their values are."""
    axis = svg.Axis(*ends, 0, 200)
    ticks = axis.ticks(4)

    assert [text for _, text in ticks] == texts
    for place, text in ticks:
        said = float(text.replace("−", "-").replace(",", ""))
        assert axis.at(said) == pytest.approx(place, abs=0.01)


@pytest.mark.parametrize("first", [0, -5_000_000])
def test_texts_of_ticks_do_not_touch(first: int) -> None:
    """Where there is no room for all, some are left out, 0 never, and their ticks stay."""
    axis, _ = svg.axis_below(svg.Axis(first, first + 9_000_000, 0, 180), 0, "", 9)

    marks = ET.fromstring(axis)  # noqa: S314  (our own)
    rooms = [
        (float(each.attrib["x"]), svg.width_of(str(each.text)) / 2) for each in marks.iter("text")
    ]
    assert len(rooms) >= 2
    assert "0" in [each.text for each in marks.iter("text")]
    assert all(x + half <= other - room for (x, half), (other, room) in pairwise(rooms))
    assert len(list(marks.iter("line"))) == 11  # of ten values and the axis


@given(TEXTS, st.floats(20, 300))
def test_no_text_is_wider_than_its_room(text: str, room: float) -> None:
    """What is cut says so, and is no shorter than it must be; what fits is whole."""
    shown = svg.fitted(text, room)
    lines = svg.wrapped(text, room)

    assert svg.width_of(shown) <= room
    if shown != text:
        assert shown.endswith("…")
        longer = text[: len(shown)]
        assert longer[-1].isspace() or svg.width_of(f"{longer}…") > room
    assert len(lines) <= 2
    assert all(svg.width_of(line) <= room for line in lines)


@given(TEXTS)
def test_any_text_is_text(text: str) -> None:
    """Wherever it stands: the same elements, no handler, and what does not show is spelled out."""
    marks = [svg.text(0, 0, text, term=text), *svg.axis_below(svg.Axis(0, 1, 0, 9), 0, text)[:1]]

    drawn = svg.chart(marks, height=9, name=text, facts=[text], title=text, subtitle=[text])

    root = ET.fromstring(svg.of_its_own(drawn))  # noqa: S314  (our own)
    assert {each.tag.partition("}")[2] for each in root.iter()} <= {
        *("svg", "style", "title", "text", "g", "line")
    }
    assert not [name for each in root.iter() for name in each.attrib if name.startswith("on")]
    assert drawn.isprintable()


def test_numbers_are_short() -> None:
    """Two decimals at most, and no `-0`."""
    numbers = (0.0, -0.001, -0.5, 1 / 3, 10.0, 100.25, -1.999)
    assert list(map(svg.short, numbers)) == ["0", "0", "-0.5", "0.33", "10", "100.25", "-2"]


def test_a_chart_is_named_and_as_high_as_what_is_in_it() -> None:
    """A title of two lines leaves the plot beneath it; a screen reader hears the facts too."""
    low = svg.chart([], height=50, name="A title", facts=["one", "two"], title="A title")
    tall = svg.chart([], height=50, name="A title", title="long words " * 9, subtitle=["x"])

    heights = [float(re.findall(r'height="([\d.]+)"', each)[0]) for each in (low, tall)]
    assert heights[1] - heights[0] == 13 + 3 + 11 + 3
    first, second, third = (float(y) for y in re.findall(r'<text[^>]* y="([\d.]+)"', tall))
    assert first == svg._PAD + 13
    assert (second - first, third - second) == (3 + 13, 3 + 11)
    assert 'role="img" aria-label="A title. one; two."><title>A title</title>' in low
    assert math.isclose(float(re.findall(r'width="([\d.]+)"', low)[0]), svg.WIDTH)
