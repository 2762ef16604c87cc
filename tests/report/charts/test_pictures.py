"""All pictures: named for those who do not see them, safe, and as the findings are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from pydantic import ValidationError

from rmaudit.report import charts
from rmaudit.report.charts.between_models import between
from rmaudit.report.charts.picture_and_labels import Picture
from tests.findings import but
from tests.report.charts.conftest import (
    BAD,
    COMPARISON,
    EVERY,
    PROBES,
    RANKS,
    finding,
)
from tests.report.conftest import mutated, places

WORST = "</text></svg><script>&amp;\x00\u202e\ud800\ue000nn'\""
TAGS = {"svg", "g", "path", "text", "title", "line", "rect", "circle"}
NAMES = {"kind", "direction", "pattern"}  # these have a few values only
_UNSHOWN_GAPS = ("axes.words", "terms.text", "terms.positive", "terms.negative")
UNSHOWN = {
    "elo_agreement": {"unshown"},
    "identity_terms": {
        f"{own}.{name}" for own in ("erased", "demonised") for name in _UNSHOWN_GAPS
    },
}  # what of an evidence no picture shows, by kind


def only(evidence: dict[str, Any]) -> Picture:
    """The picture of one finding with this evidence."""
    (picture,) = charts.of_findings([finding(evidence)])
    return picture


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same with each of its leaves changed, but for its kind."""
    if isinstance(value, dict):
        return {k: v if k in NAMES else changed(v, change) for k, v in value.items()}
    return [changed(v, change) for v in value] if isinstance(value, list) else change(value)


def other(value: Any) -> Any:
    """Another value of the type."""
    if isinstance(value, bool) or value is None:
        return not value
    return f"{value}x" if isinstance(value, str) else value + type(value)(1)


def said(picture: Picture) -> str:
    """All that is read out or written, but for what a reader has to ask for."""
    svg = re.sub(r' data-term="[^"]*"', "", picture.svg)
    return f"{picture.title} {picture.caption} {svg}"


def checked(picture: Picture) -> None:
    """Each SVG is well-formed, loads nothing, has no handler, and has a name."""
    root = ET.fromstring(f"<div>{picture.svg}</div>")  # noqa: S314  (our own)
    assert len(root) or "whether it names a group" in picture.caption  # that is a table only
    for svg in root:
        if svg.attrib.get("class") == "scroll heat":
            assert svg.attrib["aria-label"]
            continue
        assert svg.tag == "svg"
        assert svg.attrib["role"] == "img"
        assert len(svg.attrib["aria-label"]) > 20
        assert float(svg.attrib["width"]) <= 360
        assert {e.tag for e in svg.iter()} <= TAGS
        assert not [name for e in svg.iter() for name in e.attrib if name[:2] == "on"]
    assert picture.rows
    assert all(len(row) == len(picture.columns) for row in picture.rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", EVERY)
def test_all_that_evidence_holds_is_in_its_chart(kind: str) -> None:
    """Whatever is changed in a finding is changed in its chart, but for what is named above."""
    (before,) = charts.charts_of([finding(EVERY[kind])])
    unseen = set()
    for path, value in places(EVERY[kind]):
        if isinstance(value, dict | list) or path[-1] in NAMES:
            continue
        changed_one = mutated(EVERY[kind], path, other(value))
        if charts.charts_of([finding(changed_one)]) == [before]:
            unseen.add(".".join(step for step in path if isinstance(step, str)))

    assert unseen == UNSHOWN.get(kind, set())


@pytest.mark.parametrize("kind", EVERY)
def test_what_is_masked_is_nowhere_to_be_read(kind: str) -> None:
    """Neither in a text alternative nor in a label; the page masks tables' terms by their kind."""
    picture = only(EVERY[kind])

    assert BAD not in said(picture)
    assert picture.rows
    kinds = list(picture.columns.values())
    for row in picture.rows:
        plain = [cell for cell, k in zip(row, kinds, strict=True) if k in {"text", "number"}]
        assert not [cell for cell in plain if BAD in cell]


def test_a_masked_label_can_be_revealed() -> None:
    """The mask is drawn, and the term is in the attribute that the page looks for."""
    svg = only(RANKS).svg

    assert re.search(rf'<text[^>]* data-term="{BAD}"[^>]*>B•••</text>', svg)
    assert re.search(r"<text[^>]*>Evolution</text>", svg)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("text", [WORST, BAD + WORST], ids=["worst", "masked"])
def test_hostile_texts_are_texts(kind: str, text: str) -> None:
    """They neither break the picture nor get out of it, masked or not, wherever they stand."""
    evidence = changed(EVERY[kind], lambda leaf: text if isinstance(leaf, str) else leaf)

    (picture,) = charts.of_findings([but(finding(evidence), prompt=text)])

    checked(picture)


def emptied(evidence: Any) -> Any:
    """The same without anything in its lists, wherever they are."""
    if isinstance(evidence, dict):
        return {key: emptied(value) for key, value in evidence.items()}
    return [] if isinstance(evidence, list | tuple) else evidence


@pytest.mark.parametrize("kind", EVERY)
def test_where_there_is_nothing_there_is_no_picture(kind: str) -> None:
    """Or, where a table without cells makes no sense, whoever reads such evidence refuses it."""
    evidence = emptied(EVERY[kind])

    if kind in {"funnel", "model_agreement"}:
        with pytest.raises(ValidationError, match=r"(cells|field\.counts) has 0 rows"):
            finding(evidence)
    else:
        assert charts.of_findings([finding(evidence)]) == []


def test_what_there_is_nothing_to_draw_of_is_passed_over() -> None:
    """No evidence, no estimate, or one model where it takes two."""
    bare = finding({})
    one = [finding(evidence, model="A") for evidence in (RANKS, PROBES)]

    assert charts.of_findings([bare, replace(bare, estimate=None)]) == []
    assert between(one, [], []) == []


def test_findings_of_one_audit_share_a_picture() -> None:
    """Prompts are panels of one picture; audits of one kind have one each."""
    one = finding(EVERY["frequency_slope"], prompt="best")
    found = [one, but(one, prompt="worst"), but(one, audit="other")]

    assert [p.svg.count("<svg") for p in charts.of_findings(found)] == [2, 1]


def test_pictures_between_models() -> None:
    """Taus, places, ranks of words and of rated things: each is safe and named."""
    findings = [finding(RANKS, model=model, audit=str(RANKS["kind"])) for model in ("A", "B")]

    drawn = between(findings, COMPARISON, COMPARISON)

    assert len(drawn) == 3
    for picture in drawn:
        checked(picture)
        assert BAD not in said(picture)
