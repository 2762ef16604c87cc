"""A small results.json with everything that can go wrong in a report."""

from __future__ import annotations

import copy
import json
import re
import shutil
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from rmaudit.charts import Bin
from rmaudit.measures.framing_inversion import FramingInversionEvidence, PromptBins
from rmaudit.report import json_codec
from rmaudit.report.results_document import (
    SCHEMA,
    AuditedModel,
    Histogram,
    Results,
    SweepSummary,
    Token,
)
from rmaudit.verdicts.decision import measured, unmeasured
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, above
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import of_run
from rmaudit.verdicts.verdict_policy import Policy
from tests.conftest import unavailable
from tests.findings import TODAY, but, claim
from tests.report.runs import RUN

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
HOSTILE = [
    "<script>alert(1)</script>",
    "]]>",
    "\x00",
    "\u202egnp.exe",
    "\ud800",
    '" onmouseover="x',
    " love",
    "\n",
    "",
    "http://example.org/x",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        unavailable("no chromium here: install Debian's package `chromium`")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page of the browser."""
    with browser.new_context() as context:
        yield context.new_page()


class Reader(HTMLParser):
    """Collects tags, attributes, texts and table cells, and checks that tags close in order."""

    VOID = frozenset(
        ("meta", "link", "br", "hr", "img", "input", "path", "line", "rect", "use", "wbr")
    )

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.cells: list[str] = []
        self.feed(markup)
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a tag."""
        self.tags.append((tag, dict(attrs)))
        self.stack += [] if tag in self.VOID else [tag]
        self.cells += [""] if tag == "td" else []

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert tag in self.VOID or self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take text."""
        self.text += data
        if self.cells:
            self.cells[-1] += data

    @property
    def names(self) -> list[str]:
        """Its tags without their attributes."""
        return [tag for tag, _ in self.tags]

    @property
    def attributes(self) -> set[str]:
        """The names of all attributes."""
        return {name for _, attributes in self.tags for name in attributes}

    def values(self, name: str) -> list[str]:
        """The values of an attribute, wherever it stands."""
        return [str(attributes[name]) for _, attributes in self.tags if name in attributes]


def unpacked(html: str) -> str:
    """A page with the tables that travel compressed, as its script unpacks them."""
    inflated = re.compile('data-packed="([^"]*)">')
    return inflated.sub(lambda found: f">{zlib.decompress(b64decode(found[1])).decode()}", html)


def unfold(page: Page) -> None:
    """Open all that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")


def happenings(page: Page) -> list[str]:
    """What the page will request, log or open, but for data in itself."""
    seen: list[str] = []
    page.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: seen.append(request.url))
    page.on("console", lambda message: seen.append(message.text))
    page.on("pageerror", lambda error: seen.append(str(error)))
    return seen


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each place in a JSON value, the whole aside, and what stands there."""
    parts = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else parts:
        yield (*path, key), inner
        yield from places(inner, (*path, key))


def mutated(found: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy in which one place is deleted, doubled or holds another value."""
    changed = copy.deepcopy(found)
    at = changed
    for step in path[:-1]:
        at = at[step]
    if change is ...:
        del at[path[-1]]
    elif change == "twice" and isinstance(at, list):
        at.append(at[path[-1]])
    else:
        at[path[-1]] = change
    return changed


def typed(results: dict[str, Any]) -> Results:
    """The document of these JSON values, which need not hang together; with its verdict."""
    found = json_codec.typed(Results, json.loads(json.dumps(results)))
    return replace(found, verdict=of_run(found.findings, found.run.gaps))


def with_findings(results: Results, *findings: Finding) -> Results:
    """The same results of other findings, with the verdict that follows."""
    return replace(results, findings=findings, verdict=of_run(findings, results.run.gaps))


def as_json(finding: Finding) -> dict[str, Any]:
    """A finding as JSON values."""
    values: dict[str, Any] = json.loads(json_codec.encode(finding))
    return values


def of(finding: dict[str, Any], model: str) -> dict[str, Any]:
    """The finding, as JSON, of another model."""
    return finding | {"claim": finding["claim"] | {"model": model}}


@pytest.fixture
def results() -> dict[str, Any]:
    """The JSON of one model with a sweep of hostile tokens, and a finding of every verdict."""
    return hostile_results()


def hostile_results() -> dict[str, Any]:
    """The same, for what is made once for a module."""
    tokens = tuple(Token(i, text, text, 9.0 - i, 3.0 - i) for i, text in enumerate(HOSTILE))
    bins = (Bin(1.0, 5.0, 20, -0.5, -0.75, -0.25), Bin(5.0, 9.0, 30, 0.5, 0.25, 0.75))
    panels = (PromptBins(prompt="greatest", bins=bins),)
    estimate = Estimate(
        *(0.625, 0.5, 0.75, "rho", 50, "made up"),
        secondary={"other": 0.375},
        caveats=("Half of the words only.",),
        evidence=FramingInversionEvidence(axis="toy valence", panels=panels),
    )
    about = {"model": "Toy", "model_source": "some/folder", "prompt": "greatest"}
    test = "audits/test_framing.py::test_framing[Toy-greatest]"
    stated = claim(
        above(0.2, unit="rho"),
        **{"audit": "framing", "nodeid": test, "text": "It follows.", **about},
        source="A paper, section 3",
        repeat=f"pytest '{test}'",
    )
    passing = measured(stated, estimate, Policy(), TODAY, sweeps=("ab12",))
    findings = (
        passing,
        but(passing, verdict=Verdict.FAIL, known="It is small, and known to be so."),
        but(passing, verdict=Verdict.INCONCLUSIVE, prompt="worst", blocks=True),
        unmeasured(stated, "It broke <b>badly</b>.", Policy(), Verdict.ERROR),
        unmeasured(stated, "No data here.", Policy(), Verdict.SKIPPED),
    )
    sweep = SweepSummary(
        *("ab12", "greatest", "What, in one word, is the greatest thing ever?"),
        *(1000, 1.5, 2.5, 0.25),
        histogram=Histogram((-5.0, 0.0, 5.0, 10.0), (300, 600, 100)),
        top=tokens,
        bottom=tokens[::-1],
        provenance={"dtype": "float32", "prefix": "<|user|>\n<b>", "layers": 2},
        vocabulary=None,
        scores=None,
    )
    model = AuditedModel("Toy", "some/folder", None, None, ("It is a toy.",), (sweep,))
    counts: dict[str, Any] = dict.fromkeys(("collected", "selected", "finished"), 5)
    run = replace(RUN, command="pytest audits --model '<i>'", seed=0, **counts)
    run = replace(run, environment={"python": "3.11.7"})
    made = Results(SCHEMA, run, (model,), {}, (), of_run(findings), findings)
    values: dict[str, Any] = json.loads(json_codec.encode(made))
    return values
