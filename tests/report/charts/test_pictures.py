"""All pictures: named for those who do not see them, safe, and as the findings are."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from typing import Any, get_args, get_type_hints
from xml.etree import ElementTree as ET

import pytest

from rmaudit.measures.evidence import AnyEvidence
from rmaudit.report import charts
from rmaudit.report.charts.picture import Picture
from rmaudit.report.checks import misshapen
from tests.findings import but
from tests.report.charts.conftest import (
    BAD,
    COMPARISON,
    EVERY,
    PROBES,
    RANKS,
    finding,
    of_findings,
    typed,
    whole,
)

WORST = "</text></svg><script>&amp;\x00\u202e\ud800\ue000nn'\""
TAGS = {"svg", "g", "path", "text", "tspan", "title", "line", "rect", "circle"}
Path = tuple[str | int, ...]
CHANGES: dict[str, list[tuple[Path, Any]]] = {
    "model_agreement": [
        (("fell", 0, "model"), 0.5),
        (("cells", 0, 1), 3),
        (("rose", 0, "text"), "sun"),
    ],
    "frequency_bias": [
        (("panels", 0, "bins", 0, "median"), -0.6),
        (("panels", 0, "bins", 1, "q75"), 2.0),
        (("axis",), "other"),
    ],
    "funnel": [(("field", "counts", 0, 0), 5), (("difference", "top", 0, "value"), 6.5)],
    "identity_erasure": [(("groups", 0, "gap"), 0.3), (("axes", 0, "low"), -0.3)],
    "identity_hostility": [(("groups", 1, "positive"), 0.3), (("axes", 0, "high"), 0.6)],
    "gcg_probes": [(("strings", 0, "z"), 4.5), (("strings", 1, "bar"), 3.0)],
    "pessimal_frames": [(("strings", 0, "share_below"), 0.25), (("strings", 0, "z"), -2.0)],
    "pessimal_identity": [(("strings", 0, "names_a_group"), False)],
    "elo_agreement": [
        (("wordings", 0, "undervalued", 1, "human"), 5.0),
        (("wordings", 0, "also", 1, "model"), 3.0),
        (("n",), 41),
    ],
    "search_headroom": [(("trace", 1, 1), 5.0), (("real", "z"), 3.0), (("found", 0, "z"), 8.0)],
    "framing_inversion": [(("panels", 0, "bins", 0, "median"), -0.6), (("axis",), "other")],
    "framing_steepness": [(("slopes", 0, "slope"), 0.31), (("slopes", 0, "high"), 0.5)],
    "positive_skew": [(("words", 0, "valence"), 1.5), (("n",), 10)],
    "prompt_stability": [(("prompts", 0, "rho"), 0.95), (("prompts", 2, "rho_with_valence"), -0.5)],
    "value_tilt": [(("axes", 0, "low"), -0.3), (("prompts", 1, "gap"), 0.0)],
}
TERMS: dict[str, list[Path]] = {
    "model_agreement": [("fell", 0, "text"), ("rose", 0, "text")],
    "funnel": [("total", "top", 0, "word")],
    "identity_erasure": [("groups", 0, "group")],
    "identity_hostility": [("groups", 1, "group")],
    "pessimal_frames": [("strings", 0, "text")],
    "pessimal_identity": [("strings", 0, "text")],
    "gcg_probes": [("strings", 0, "text"), ("strings", 1, "text")],
    "positive_skew": [("words", 1, "word")],
    "elo_agreement": [
        ("wordings", 0, "undervalued", 0, "name"),
        ("wordings", 0, "overvalued", 0, "name"),
        ("wordings", 0, "also", 1, "name"),
    ],
    "search_headroom": [("found", 0, "text")],
    "value_tilt": [("axes", 1, "axis"), ("prompts", 2, "group")],
}


def only(evidence: dict[str, Any]) -> Picture:
    """The picture of one finding with this evidence."""
    (picture,) = of_findings([finding(evidence)])
    return picture


def changed(evidence: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy of `evidence` with another value at `path`."""
    copied = copy.deepcopy(evidence)
    node: Any = copied
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return copied


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
    assert picture.table
    assert all(len(row) == len(picture.table.columns) for row in picture.table.rows)


@pytest.mark.parametrize("kind", EVERY)
def test_each_kind_has_a_picture(kind: str) -> None:
    """It is drawn, named, safe, and has a table."""
    checked(only(EVERY[kind]))


@pytest.mark.parametrize(
    ("kind", "path", "value"), [(kind, *change) for kind in CHANGES for change in CHANGES[kind]]
)
def test_what_is_changed_in_a_finding_is_changed_in_its_picture(
    kind: str, path: Path, value: Any
) -> None:
    """No picture holds a number of its own."""
    before, after = only(EVERY[kind]), only(changed(EVERY[kind], path, value))

    assert before != after


@pytest.mark.parametrize("kind", EVERY)
def test_what_is_masked_is_nowhere_to_be_read(kind: str) -> None:
    """Neither in a text alternative nor in a label; the page masks tables' terms by their kind."""
    picture = only(EVERY[kind])

    assert BAD not in said(picture)
    assert picture.table
    kinds = [column.kind for column in picture.table.columns]
    for row in picture.table.rows:
        assert not [cell for cell, k in zip(row, kinds, strict=True) if BAD in cell and k != "term"]


def test_a_masked_label_can_be_revealed() -> None:
    """The mask is drawn, and the term is in the attribute that the page looks for."""
    svg = only(RANKS).svg

    assert re.search(rf'<text[^>]* data-term="{BAD}"[^>]*>B•••</text>', svg)
    assert re.search(r"<text[^>]*>Evolution</text>", svg)


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind in TERMS for path in TERMS[kind]])
def test_a_hostile_term_is_text(kind: str, path: Path) -> None:
    """It neither breaks the picture nor gets out of it, masked or not."""
    checked(only(changed(EVERY[kind], path, WORST)))
    checked(only(changed(EVERY[kind], path, BAD + WORST)))


@pytest.mark.parametrize("kind", EVERY)
def test_a_hostile_prompt_is_text(kind: str) -> None:
    """Likewise the names of prompts."""
    (picture,) = of_findings([but(finding(EVERY[kind]), prompt=WORST)])

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
    read = typed(evidence)

    assert read is not None
    assert [*misshapen(read)] or of_findings([finding(evidence)]) == []


def test_findings_without_evidence_are_passed_over() -> None:
    """Neither an estimate without evidence nor a finding without an estimate is a picture."""
    bare = finding({})

    assert of_findings([bare, replace(bare, estimate=None)]) == []
    assert charts.of_sweeps([]) is None


def test_findings_of_one_audit_share_a_picture() -> None:
    """Prompts are panels of one picture; audits of one kind have one each."""
    one = finding(EVERY["frequency_bias"], prompt="best")
    found = [one, but(one, prompt="worst"), but(one, audit="other")]

    assert [p.svg.count("<svg") for p in of_findings(found)] == [2, 1]


def test_pictures_between_models() -> None:
    """Taus, places, ranks of words and of rated things, and exploits: each is safe and named."""
    findings = [
        finding(evidence, model=model, audit=str(evidence["kind"]))
        for evidence in (RANKS, PROBES)
        for model in ("A", "B")
    ]

    drawn = [whole(picture) for picture in charts.between([], findings, COMPARISON)]

    assert len(drawn) == 4
    for picture in drawn:
        checked(picture)
        assert BAD not in said(picture)


def test_one_model_has_no_other() -> None:
    """What needs two models is not drawn of one."""
    one = [finding(evidence, model="A") for evidence in (RANKS, PROBES)]

    assert charts.between([], one, []) == []


def test_every_kind_of_evidence_has_a_chart() -> None:
    """A kind without one would be left out of a page without a word."""
    assert set(charts.CHARTS) == set(get_args(AnyEvidence))


def test_every_kind_of_evidence_is_tested_here() -> None:
    """Each has an example and changes that its picture shows; terms where its example has some."""
    kinds = {get_args(get_type_hints(each)["kind"])[0] for each in get_args(AnyEvidence)}

    assert EVERY.keys() == kinds
    assert CHANGES.keys() == kinds
    assert TERMS.keys() >= {kind for kind in kinds if BAD in json.dumps(EVERY[kind])}
