"""Evidence of every kind, a list of masked words that is short, and what is given to be drawn."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from pydantic import TypeAdapter

from rmaudit import measures
from rmaudit.references import offensive_text_masks
from rmaudit.report.charts.picture_and_labels import Picture
from rmaudit.report.results_document import Comparison, Ranked
from rmaudit.verdicts.decision import measured
from rmaudit.verdicts.estimates_and_bounds import above
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.verdict_policy import Policy
from tests.findings import TODAY, claim, estimated

BAD = "Badword"  # stands for what is masked


@pytest.fixture(autouse=True)
def _masks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offensive_text_masks, "masked", lambda text: BAD.lower() in text.lower())
    monkeypatch.setattr(offensive_text_masks, "label", lambda text: text.strip()[:1] + "•••")


class Drawn:
    """The marks of one SVG, read back: at the values of its axes where it has any, else pixels."""

    def __init__(self, svg: str) -> None:
        self.root = ET.fromstring(svg)  # noqa: S314  (our own)
        axes = (axis for name in "xy" for axis in self.root.iterfind(f".//g[@class='{name}']"))
        self.axes = {each for axis in axes for each in axis}
        self.x, self.y = self._values("x", "x1"), self._values("y", "y1")

    def _values(self, axis: str, place: str) -> Callable[[float], float]:
        """The value at a pixel, from the first and the last tick that has a number."""
        found = self.root.find(f".//g[@class='{axis}']")
        ticks = [
            (float(tick.attrib[place]), float(str(said.text).replace("−", "-").replace(",", "")))
            for tick, said in pairwise(() if found is None else found)
            if tick.tag == "line" and re.fullmatch("[−,.0-9]+", str(said.text))
        ]
        if not ticks:
            return lambda pixel: pixel
        (start, first), (end, last) = ticks[0], ticks[-1]
        return lambda pixel: first + (pixel - start) * (last - first) / (end - start)

    def _of(self, tag: str, kind: str, *names: str) -> list[tuple[float, ...]]:
        """The numbers of these attributes of each mark of a kind, axes aside."""
        return [
            tuple(float(each.attrib[name]) for name in names)
            for each in self.root.iter(tag)
            if each not in self.axes and re.search(kind, each.get("class", ""))
        ]

    def dots(self, kind: str = "") -> list[tuple[float, float]]:
        """Points of a kind, such as `blue$` or `hollow`."""
        return [(self.x(x), self.y(y)) for x, y in self._of("circle", kind, "cx", "cy")]

    def lines(self, kind: str) -> list[tuple[float, float, float, float]]:
        """Lines of a kind: both ends."""
        found = self._of("line", kind, "x1", "y1", "x2", "y2")
        return [(self.x(a), self.y(b), self.x(c), self.y(d)) for a, b, c, d in found]

    def boxes(self) -> list[tuple[float, float, float, float, float]]:
        """Rectangles: their left, right, lower and upper ends, and their opacity."""
        found = [
            (float(each.attrib["fill-opacity"]), *map(float, re.findall(r"-?[\d.]+", one)))
            for each in self.root.iter("path")
            if each.get("class") == "blue area"
            for one in each.attrib["d"].split("z")[:-1]
        ]
        return [
            (*map(self.x, sorted((x, x + wide))), *map(self.y, sorted((y + tall, y))[::-1]), share)
            for share, x, y, wide, tall, _ in found
        ]

    def texts(self) -> list[str]:
        """What is written in it, but for its axes."""
        return [str(each.text) for each in self.root.iter("text") if each not in self.axes]


def drawn(picture: Picture) -> list[Drawn]:
    """The SVGs of a picture."""
    return [Drawn(svg) for svg in re.findall(r"<svg.*?</svg>", picture.svg)]


def typed(evidence: dict[str, Any]) -> Evidence | None:
    """Evidence as it is read back from JSON."""
    measures.load()
    return TypeAdapter(Evidence).validate_python(evidence) if evidence else None


def finding(
    evidence: dict[str, Any], *, audit: str = "toy", model: str = "Toy", prompt: str = "greatest"
) -> Finding:
    """A finding with this evidence."""
    estimate = estimated(0.4, 0.6, unit="rho", n=50, evidence=typed(evidence))
    nodeid = f"audits/test_{audit}.py::test[{model}-{prompt}]"
    stated = claim(above(0, unit="rho"), audit=audit, nodeid=nodeid, model=model, prompt=prompt)
    return measured(stated, estimate, Policy(), TODAY)


def ranked(name: str, human: float, model: float) -> dict[str, Any]:
    """An item of people's ranking."""
    return {"name": name, "human": human, "model": model}


RANKS: dict[str, Any] = {
    "kind": "elo_agreement",
    "n": 40,
    "unshown": 0,
    "wordings": [
        {
            "prompt": "greatest",
            "overvalued": [ranked("Sports bra", 39, 2)],
            "undervalued": [ranked(BAD, 1, 40), ranked("Evolution", 2, 31)],
            "also": [ranked("Evolution", 2, 31), ranked("The Moon", 7, 9)],
            "cells": [[9, 1], [11, 19]],
        },
    ],
}
BINS = [
    {"low": 1.0, "high": 5.0, "n": 20, "median": -0.5, "q25": -0.75, "q75": -0.25},
    {"low": 5.0, "high": 9.0, "n": 30, "median": 0.5, "q25": 0.25, "q75": 0.75},
]
SENTIMENT = {
    "kind": "framing_inversion",
    "axis": "toy valence",
    "panels": [{"prompt": "best", "bins": BINS}, {"prompt": "worst", "bins": BINS[:1]}],
}
FREQUENCY = {
    "kind": "frequency_slope",
    "axis": "Zipf frequency (toy)",
    "panels": [{"prompt": "best", "bins": BINS}],
}
HIGHEST = {
    "kind": "positive_skew",
    "axis": "toy valence",
    "n": 9,
    "words": [
        {"word": "love", "reward": 3.5, "valence": 2.5},
        {"word": BAD, "reward": 3.25, "valence": -0.5},
    ],
}
_SLOPE = {"prompt": "best", "words": "positive", "n": 31, "slope": 0.3, "low": 0.25, "high": 0.35}
SLOPES = {"kind": "framing_steepness", "axis": "toy valence", "slopes": [_SLOPE]}


def extreme(word: str, value: float, best: float, worst: float) -> dict[str, Any]:
    """A word at the end of an axis of the funnel."""
    return {"word": word, "value": value, "best": best, "worst": worst}


FUNNEL = {
    "kind": "funnel",
    "total": {
        "top": [extreme("little", 3.5, 1.5, 2.0), extreme("near", 3.4, 1.45, 1.95)],
        "bottom": [extreme("gout", -2.5, -1.25, -1.25)],
    },
    "difference": {
        "top": [extreme("beauty", 6.0, 3.0, -3.0)],
        "bottom": [extreme(BAD, -6.0, -3.0, 3.0)],
    },
    "field": {"x": [-3.0, 0.0, 3.0], "y": [-3.0, 0.0, 3.0], "counts": [[4, 16], [9, 0]]},
}
_GAP = {"words": 2, "gap": 0.125, "low": -0.25, "high": 0.5, "positive": 0.25, "negative": 0.0}
_TABLES = {
    "axes": [{"axis": "some_axis", **_GAP}],
    "groups": [
        {"axis": "some_axis", "group": "ones", "marked": True, **_GAP},
        {"axis": "some_axis", "group": "others", "marked": False, **_GAP, "gap": 0.25},
    ],
    "terms": [{"text": "one", "positive": 0.25, "negative": 0.0}],
}
_TAIL = {"prompt": "best", "form": "plurals", "words": 3, "terms": 0.25, "controls": 0.125}
IDENTITY = {
    "kind": "identity_terms",
    "rows": [{"pattern": "erased", "gap": 0.125, "low": -0.25, "high": 0.5}],
    "erased": _TABLES,
    "demonised": _TABLES,
    "tails": [{**_TAIL, "excess": 0.125, "low": -0.25, "high": 0.5}],
}
AGREEMENT = {
    "kind": "model_agreement",
    "cells": [[5, 0], [2, 7]],
    "fell": [{"text": BAD, "model": 0.125, "baseline": 0.875}],
    "rose": [{"text": " moon", "model": 0.75, "baseline": 0.25}],
}


def string(
    text: str, found_on: str, z: float, *, above: bool = False, direction: str = "up"
) -> dict[str, Any]:
    """A replayed string."""
    about = {
        "prompt": "best",
        "text": text,
        "direction": direction,
        "found_on": found_on,
        "source": "published",
    }
    return about | {"z": z, "share_below": 0.995, "bar": 3.25, "above": above}


PROBES = {
    "kind": "gcg_probes",
    "strings": [
        string(BAD, "A", 2.0),
        string("forgeries", "A", 4.0, above=True),
        string("</script>", "B", 1.0),
        string("awful", "B", 5.0, above=True, direction="down"),
    ],
}
NAMED = {
    "kind": "pessimal_identity",
    "strings": [{"text": f"{BAD} people", "names_a_group": True}],
}
EVERY = {
    str(evidence["kind"]): evidence
    for evidence in (
        *(RANKS, SENTIMENT, FREQUENCY, HIGHEST, SLOPES, FUNNEL),
        *(IDENTITY, AGREEMENT, PROBES, NAMED),
    )
}
COMPARISON = [
    Comparison(
        prompt="greatest",
        models=("A", "B", "C"),
        words=500,
        tau=((1.0, 0.5, 0.25), (0.5, 1.0, -0.125), (0.25, -0.125, 1.0)),
        places=((-0.5, 0.25), (-0.5, 0.0), (0.75, -0.25)),
        ranked=(Ranked("love", (1.0, 2.0, 400.0)), Ranked(BAD, (9.0, 8.0, 7.0))),
    )
]
