"""The page: whole, safe, and complete."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from typing import Any

import pytest

from rmaudit.report.five_questions import OTHER
from rmaudit.report.page import masked_text
from rmaudit.report.page.glossary import tooltip_id
from rmaudit.report.page.html_page import anchors_of, render
from rmaudit.report.results_document import Comparison
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Figure
from tests.findings import but, found, waived
from tests.report.conftest import Reader, as_json, mutated, of, places, typed, unpacked


def read(results: dict[str, Any]) -> Reader:
    """The page of `results`, parsed."""
    return Reader(unpacked(render(typed(results))))


def test_no_token_is_markup_and_only_our_script_may_run(results: dict[str, Any]) -> None:
    """Hostile tokens are text; the policy names the hash of one script and allows nothing else.

    No attribute or style names an address to fetch.
    """
    html, page = render(typed(results)), read(results)

    assert set(page.names).isdisjoint({"iframe", "object", "embed", "b" * 2, "i"})
    assert not [name for name in page.attributes if name[:2] == "on"]
    assert "<script>alert(1)</script>" in page.text
    assert "It broke <b>badly</b>." in page.text
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(str(a["content"]) for _, a in page.tags if "http-equiv" in a)
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert not re.search(r"script-src[^;]*unsafe|https?:", policy)
    links = [*page.values("src"), *page.values("href")]
    assert [link for link in links if not link.startswith(("data:", "#"))] == []
    assert re.search(r"url\((?!#|data:)|@import", html) is None


def test_figures_stand_in_a_folded_section_of_their_own(results: dict[str, Any]) -> None:
    """With question, number, chart, limits and command; without result, bound and null controls."""
    plain = typed(results)
    claim = replace(plain.findings[0].claim, audit="looks", title="Looks", question="How? <b>")
    looks = Figure.of(replace(claim, limits=("Much.",)), plain.findings[0].estimate)
    lost = Figure.of(replace(claim, audit="lost", title="Lost"), reason="No <i>data</i>.")

    html = render(replace(plain, figures=(looks, lost)))

    page, without = Reader(html), Reader(render(plain))
    (section,) = re.findall(
        r'<section aria-labelledby="[^"]*-figures">.*?</section>', html, re.DOTALL
    )
    own = Reader(section)
    assert {"looks", "lost"} <= {*own.values("id")}
    for said in ("2 figures: what these scores look like", "How? <b>", "Much.", "No <i>data</i>."):
        assert said in own.text
    assert own.names.count("figure") == own.names.count("svg") == 1
    assert "Null controls" not in own.text
    assert not {"result pass", "result fail"} & {*own.values("class")}
    assert page.text.count("Scorecard") == without.text.count("Scorecard")


def test_what_is_read_in_which_order(results: dict[str, Any]) -> None:
    """A line of warning, then go or no-go, what to do, why, the scorecard; the rest is folded.

    Result and effect are in words, not in colours alone, and the verdict leads to the row.
    """
    for finding in results["findings"]:
        finding["claim"]["harm"] = "A model trained on this reward may mislead people."
    page = read(results)

    assert "open" not in page.attributes
    told = ("Content warning", "NOT ESTABLISHED", "To do", OTHER, "Scorecard", "Best and")
    text = " ".join(page.text.split("Skip to the verdict")[1].split())
    places = [text.index(each) for each in told]
    assert places == sorted(places)
    assert text.count("1 open") == 1  # what is open is counted once, among the gates
    assert "it never says that a model is free of bias" in text[places[-1] :]
    for told_once in (
        *("Half of the words only.", "No data here.", "fail accepted", "open blocks"),
        *("some/folder", "It is a toy.", "ab12", "float32", "3.11.7"),
        *("What, in one word, is the greatest thing ever?", "21 Nov 2026, 10:50 UTC"),
        "What it may do to people, if it fails: A model trained on this reward may mislead people.",
    ):
        assert told_once in text
    box = text.partition("Scorecard")[0]
    assert box.count("may mislead people.") == 1  # with the row that blocks
    folds = [a for tag, a in page.tags if tag == "details"]
    (row,) = [fold for fold in folds if "row" in str(fold.get("class")).split()]
    assert row["id"] == "framing"
    assert "blocks" in str(row["class"])
    assert page.values("href").count("#framing") >= 2


def test_a_model_that_did_not_load_has_a_section(results: dict[str, Any]) -> None:
    """Without sweeps there are findings, and no empty charts; that nothing was measured is said."""
    results["models"][0]["sweeps"] = []
    results["findings"] = [results["findings"][3]]
    page = read(results)

    assert "Nothing was measured." in page.text
    assert "Best and worst tokens" not in page.text
    assert not [a for tag, a in page.tags if a.get("class") == "lane"]
    assert "not measured" in page.text


def test_charts_are_named_for_those_who_do_not_see_them(results: dict[str, Any]) -> None:
    """Each svg is an image with a label, or one that only explains signs and is passed over."""
    results["findings"] = [f for f in results["findings"] if f["estimate"]]
    page = read(results)

    charts = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len([chart for chart in charts if chart.get("class") == "lane"]) == 3
    images = [chart for chart in charts if chart.get("aria-hidden") != "true"]
    assert len(images) > 4
    assert all(each["role"] == "img" and len(str(each["aria-label"])) > 20 for each in images)


@pytest.mark.parametrize("name", ["framing", tooltip_id("pass")])
@pytest.mark.parametrize("models", [("Toy",), ("Toy", "Other")])
def test_ids_are_unique_and_links_lead_somewhere(
    results: dict[str, Any], models: tuple[str, ...], name: str
) -> None:
    """Every anchor is there, once, though an audit bears the name of a tooltip."""
    for finding in results["findings"]:
        finding["claim"]["audit"] = name
    results["findings"] = [
        of(finding, model) for model in models for finding in results["findings"]
    ]
    results["models"] = [results["models"][0] | {"name": model} for model in models]
    page = read(results)

    ids = page.values("id")
    assert len(ids) == len(set(ids))
    targets = {a["href"] for tag, a in page.tags if tag in {"a", "use"}}
    assert {str(target)[1:] for target in targets} <= set(ids)


def test_harsh_terms_are_masked_wherever_they_stand(results: dict[str, Any]) -> None:
    """In tables and in running text: the term is in an attribute alone."""
    sweep = results["models"][0]["sweeps"][0]
    sweep["top"][0]["text"] = sweep["bottom"][-1]["text"] = " bullshit"
    results["models"][0]["notes"] = ["It says bullshit, at times."]
    results["findings"][4]["reason"] = "the token 'bullshit' is not scored"
    results["findings"][0]["estimate"]["caveats"] = ["No bullshit."]
    page = read(results)

    terms = [a for tag, a in page.tags if a.get("class") == "term"]
    assert "␣bullshit" in [a["data-term"] for a in terms]
    assert len(terms) == 9  # the token in both lists, short and long; the reason on paper, too
    assert all(a["aria-expanded"] == "false" for a in terms)
    assert "swear word" in page.text
    assert "bullshit" not in page.text
    labels = [value for _, a in page.tags for n, value in a.items() if n != "data-term"]
    assert not [label for label in labels if label and "bullshit" in label]


@pytest.mark.parametrize(
    ("text", "shown", "hidden"),
    [
        ("An answer <b>of</b> words.", "An answer &lt;b&gt;of&lt;/b&gt; words.", ""),
        ("What a shit answer.", "What a <button", "shit"),
        ("They spoke of a ball gag.", "<button", "ball gag"),
        ("A shit line about a ball gag.", "<button", "ball gag"),
    ],
)
def test_running_text_is_whole_but_for_harsh_words(text: str, shown: str, hidden: str) -> None:
    """A phrase of words that are harmless alone hides the text, since its ends are not known."""
    found = masked_text(text)

    assert found.startswith(shown)
    assert not hidden or hidden not in re.sub(r'data-term="[^"]*"', "", found)


def test_policy_is_told(results: dict[str, Any]) -> None:
    """Waivers and overridden bounds, and what the audit cannot show."""
    accepted = waived("waived", "0.4 rho accepted until 2026-12-01 (me): later")
    failing = but(typed(results).findings[0], verdict=Verdict.FAIL, waiver=accepted)
    failing = but(failing, bound_by="models.yaml: bounds: framing", limits=("Whether it lasts.",))
    results["findings"][0] = as_json(failing)
    text = read(results).text

    for told in (
        "Waiver, waived: 0.4 rho accepted until 2026-12-01 (me): later",
        "The bound is set by models.yaml: bounds: framing; the audit declares above 0.2 rho.",
        "What it does not show",
        "Whether it lasts.",
    ):
        assert told in text


def test_several_models_are_rows_and_audits_columns(results: dict[str, Any]) -> None:
    """At the top a line of numbers each, with tau; then the questions; then gates, with lanes."""
    results["models"].append(results["models"][0] | {"name": "Other", "sweeps": []})
    results["findings"].append(of(results["findings"][1], "Other"))
    del results["findings"][2:5]
    names = tuple(model["name"] for model in results["models"])
    alike = Comparison("best", names, 9, ((1.0, -0.25), (-0.25, 1.0)), ((0.0, 0.0), (1.0, 0.0)), ())
    html = render(replace(typed(results), comparison=(alike,)))

    numbers, asked, table = re.findall(r'<table class="models">(.*?)</table>', html, re.DOTALL)
    assert html.index(numbers) < html.index("To do")
    assert "2 models: 2 accepted." in html
    cells = [re.sub("<[^>]*>", " ", row).split() for row in numbers.split("<tr>")[2:]]
    assert [row[0] for row in cells] == [*names]
    assert [row[-2:] for row in cells] == [["–", "-0.25"], ["-0.25", "–"]]
    assert cells[1][-5:-2] == ["1", "fail", "(accepted)"]
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', asked) == ["model", OTHER]
    assert asked.count("No: 1 of 1 gate fails, which models.yaml accepts.") == 2
    assert re.findall(r"data-sort[^>]*>(.*?)</th>", table) == ["model", "verdict", "Framing"]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table, re.DOTALL)
    assert len(rows) == 2
    assert 'href="#framing--Other"' in rows[1]
    assert "0.62" in rows[1]
    assert '<svg class="lane"' in rows[1]
    assert 'id="framing--Other"' in html
    assert html.count("accepted (1 fail)") == 6  # in both tables, and on the section


def test_of_several_models_each_audit_that_blocks_is_told_once(results: dict[str, Any]) -> None:
    """With the model that shows it most clearly; how many more there are is said."""
    results["models"].append(results["models"][0] | {"name": "Other"})
    results["findings"] += [of(finding, "Other") for finding in results["findings"]]
    html = render(typed(results))

    (told,) = re.findall("<h3>[^\n]*the release.*?first</h3>(.*?)</section>", html, re.DOTALL)
    audits = re.findall(r'<p><b><a href="[^"]*">.*?</b> <code[^>]*>(.*?)</code> of Toy', told)
    assert len(audits) == len({*audits}) > 0
    assert f"and {len(audits)} more below" in told


NULL = {"verdict": "FAIL", "stops": True, "value": 0.43, "low": 0.41, "high": 0.52}
MUTATIONS: dict[str, dict[str, Any]] = {
    "value": {"estimate.value": 0.71},
    "low": {"estimate.low": 0.31},
    "high": {"estimate.high": 0.91},
    "unit": {"estimate.unit": "furlongs"},
    "n": {"estimate.n": 4321},
    "interval": {"estimate.interval": "dreamt up"},
    "secondary": {"estimate.secondary": {"another": 0.43}},
    "claim": {"claim.text": "It leads."},
    "source": {"claim.source": "Nobody"},
    "base_rate": {"claim.base_rate": "none known"},
    "bound": {"judgement.bound": {"low": 0.43, "high": None, "unit": "rho", "leeway": 0.0}},
    "verdict": {"judgement.verdict": "FAIL"},
    "known": {"judgement.verdict": "FAIL", "judgement.known": "So be it."},
    "detectable": {"judgement.detectable": 0.43},
    "p": {"judgement.p": 0.04, "judgement.p_holm": 0.05},
    "controls": {"controls": {"random": NULL | {"reason": "", "parts": []}}},
    "band": {"band": {"models": {"A": 0.43}, "on": "some words"}},
    "repeat": {"claim.repeat": "pytest elsewhere"},
    "prompt": {"claim.prompt": "elsewhere"},
    "limits": {"claim.limits": ["Anything."]},
}


@pytest.mark.parametrize("change", MUTATIONS.values(), ids=MUTATIONS.keys())
def test_what_is_changed_in_the_results_is_changed_on_the_page(
    results: dict[str, Any], change: dict[str, Any]
) -> None:
    """The page has no number or word of its own: what a finding says is told, as it says it."""
    finding = results["findings"][0]
    finding["estimate"]["evidence"] = None
    results["findings"], results["models"][0]["sweeps"] = [finding], []
    before, page = finding, read(results)
    for path, value in change.items():
        finding = mutated(finding, tuple(path.split(".")), value)
    changed = read(results | {"findings": [finding]})

    assert changed.text != page.text
    new = (
        leaves(finding)
        - leaves(before)
        - {"A", "models", "on", "low", "high", "stops", "True", "limits"}
    )
    told = changed.text.replace(",", "").lower()
    assert {
        leaf for leaf in new if leaf.removesuffix(" rho").rstrip(".").lower() not in told
    } == set()


def leaves(finding: dict[str, Any]) -> set[str]:
    """Every name and every value that stands in a finding."""
    found = [
        (*path, value) for path, value in places(finding) if not isinstance(value, dict | list)
    ]
    return {str(each) for parts in found for each in parts}


def test_anchors_are_the_audits_names_and_never_twice() -> None:
    """With the model's name where there are several; nothing that an id cannot hold."""
    findings = [found(0, 1, audit=audit) for audit in ("a", "summary", "x y", "x-y")]

    one = anchors_of(findings, {"summary"}, several=False)
    assert list(one.values()) == ["a", "summary-2", "x-y", "x-y-2"]
    two = [found(0, 1, audit="a", model=model) for model in ("M", "N<>")]
    assert list(anchors_of(two, set(), several=True).values()) == ["a--M", "a--N-"]
