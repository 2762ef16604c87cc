"""Labels and masks of terms, and cells whose text can be read."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from rmaudit.charts import Points, row_of
from rmaudit.report.charts.panels_by_term import points
from rmaudit.report.charts.picture_and_labels import quoted_term
from rmaudit.report.charts.two_axis_panels import DENSEST, FAINTEST, shaded
from tests.report.charts.conftest import BAD
from tests.report.conftest import HOSTILE


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """WCAG 2's contrast of two colours, each of 0 to 255."""

    def luminance(colour: tuple[float, ...]) -> float:
        parts = [value / 255 for value in colour]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_hostile_term_is_one_text() -> None:
    """All of them at once: as many texts as terms, well-formed, in the room of a name."""
    rows = [row_of(text, 0.0) for text in [*HOSTILE, *(BAD + text for text in HOSTILE)]]

    root = ET.fromstring(points(Points(title="toy", axis="", rows=tuple(rows)), "toy"))  # noqa: S314  (our own)

    texts = list(root.iter("text"))
    assert [t.text for t in texts if "data-term" in t.attrib] == ["B•••"] * len(HOSTILE)
    shown = ["]]>", "\\x00", "\\u202egnp.exe", "\\ud800", "love", "(empty)"]
    drawn = [t.text for t in texts]
    assert [drawn.count(text) for text in shown] == [1] * 6
    assert sum(str(text).startswith("<script>alert(1)") for text in drawn) == 1


def test_spoken_terms_are_masked() -> None:
    """What is read out is what is drawn."""
    assert quoted_term(" love") == "“love”"
    assert quoted_term(BAD) == "“B•••”"


@pytest.mark.parametrize(
    ("ink", "paper", "blue"),
    [
        ((28, 32, 36), (255, 255, 255), (0, 114, 178)),
        ((230, 232, 235), (20, 23, 26), (86, 180, 233)),
    ],
    ids=["light", "dark"],
)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_text_on_cells_can_be_read(
    ink: tuple[float, ...], paper: tuple[float, ...], blue: tuple[float, ...], share: float
) -> None:
    """Contrast of 4.5 at least (WCAG AA), in the colours of report.css."""
    opacity = shaded(share)
    cell = tuple(opacity * b + (1 - opacity) * p for b, p in zip(blue, paper, strict=True))

    assert contrast(ink, cell) >= 4.5


def test_shades_stay_within_their_ends() -> None:
    """A negative tau is no darker than none."""
    assert (shaded(-0.5), shaded(0.0), shaded(1.0), shaded(2.0)) == (
        FAINTEST,
        FAINTEST,
        DENSEST,
        DENSEST,
    )
