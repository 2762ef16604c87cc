"""Hostile texts through every output: nothing runs, breaks the format, or forges a line.

Vocabularies have such strings; names, reasons and claims come from other people's files.
"""

from __future__ import annotations

import copy
import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rmaudit.outputs import hub_values, markdown
from rmaudit.report.page import html_page
from rmaudit.report.safe_text import line
from rmaudit.report.summary import summarize_findings
from rmaudit.report.writers import terminal
from tests.report.conftest import HOSTILE, Reader, typed, unpacked

TEXTS = [
    *HOSTILE,
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</details></td></table><h1>PASS</h1>",
    "<!--",
    "&lt;b&gt;&#60;",
    "a\x00b\x1b[2J\x1b[1A\x1b[32mPASS\x07",
    "\x9b31m\u2066\u2069\u200f\ufeff\ufffe\U000e0041",
    "\udc80\ud83d",
    "]]><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
    "=cmd()|' /C calc'!A0",
    "::error::forged",
    "\n::error file=a::forged\r\n::add-mask::e\x0b::set-output::\u2028::warning::",
    "  ::stop-commands::x",
    "##[error]forged ##vso[task.complete]x ##teamcity[x]",
    "{{7*7}} {% raw %} ${7*7} #{7*7} {0}",
    "a | b \\| c \\",
    "`code` ``` ~~~ **bold** _it_ $x$ :smile: @me #1 www.example.org",
    "[link](javascript:alert(1)) ![x](http://example.org/x.png) <http://e.org>",
    "x\n---\n# PASS\n- a: &a b\n",
    "- item",
    "---",
    "1. one",
    "===",
    "!!python/object/apply:os.system ['true']",
    "%s %d {name} %(x)s",
    "PASS  Toy  skew\n3 audited: 3 PASS",
    "a" * 5000,
]
ANY = st.text(st.characters(codec=None), max_size=60) | st.text("<>&|`:#[]{}()\\\n\r\x1b \"'=!-*_@")


def poisoned(results: dict[str, Any], text: str) -> dict[str, Any]:
    """The same results with `text` wherever somebody else's text stands."""
    text = text.encode("utf-8", "backslashreplace").decode()  # as a file that is read has them
    changed = copy.deepcopy(results)
    changed["run"] |= {"command": text, "rmaudit": text or "x", "environment": {text: text}}
    (model,) = changed["models"]
    model |= dict.fromkeys(("source", "base_model"), text) | {"notes": [text]}
    model["name"] = text or "x"
    for sweep in model["sweeps"]:
        sweep |= {"key": text or "x", "prompt": text or "x", "prompt_text": text}
        sweep |= {"provenance": {text: text}}
        for token in (*sweep["top"], *sweep["bottom"]):
            token |= {"token": text, "text": text}
    other = model | {"name": f"{text} too", "sweeps": []}
    changed["models"].append(other)
    ranked = [{"word": f"{text}{i}", "ranks": [i, 3.0 - i]} for i in (1.0, 2.0)]
    alike = {"prompt": text, "models": [text, other["name"]], "words": 40, "ranked": ranked}
    changed["comparison"] = [alike | {"tau": [[1, 0.5], [0.5, 1]], "places": [[0, 0], [1, 1]]}]
    for finding in changed["findings"]:
        stated, judged = finding["claim"], finding["judgement"]
        stated.update(dict.fromkeys(("text", "source", "base_rate", "model", "prompt"), text))
        stated |= {"audit": text, "nodeid": f"audits/{text}::{text}", "repeat": text}
        stated |= {"limits": [text], "model": text or "x"}
        stated["bound"]["unit"] = judged["bound"]["unit"] = text
        judged["known"] = judged["known"] and (text or "x")
        finding["reason"] = finding["reason"] and (text or "x")
        if (estimate := finding["estimate"]) is None:
            continue
        null = {"verdict": "PASS", "stops": True, "value": 0.5, "low": 0.4, "high": 0.6}
        null |= {"parts": [], "reason": ""}
        lost = dict.fromkeys(("value", "low", "high")) | {"verdict": "SKIPPED"}
        nulls = {text: null, f"{text}2": null | lost | {"reason": text or "x"}}
        finding |= {"controls": nulls, "band": {"models": {text: 0.5}, "on": text}}
        judged |= {"severity_by": text, "bound_by": text}
        terms = {"owner": text, "reason": text, "expires": "2030-01-01", "accepted": 0.5}
        of = {"key": text, "terms": terms, "days_left": -1}
        judged["waiver"] = {**of, "state": "expired", "says": text}
        estimate |= {"unit": text, "interval": text, "secondary": {text: 0.5}, "caveats": [text]}
        estimate["evidence"] |= {"axis": text}
        for panel in estimate["evidence"]["panels"]:
            panel["prompt"] = text
    return changed


def hidden(text: str) -> set[str]:
    """Characters that draw nothing, line feeds aside."""
    return {c for c in text if unicodedata.category(c)[0] in "CZ"} - {" ", "\n"}


# The terminal


def check_terminal(results: dict[str, Any], text: str) -> None:
    """As many lines as ever, each begun by us, none a command, nothing hidden."""
    begun = "pass|fail|open|open|not run|    |[✗?~✓○–] |null controls: |waiver of "
    begun += "|not as declared:"
    begun += r"|5 findings: 1 pass, 1 fail \(accepted\), 1 open|NOT ESTABLISHED  [0-9]+ gates?: "
    begun += "|Do not release yet: "
    made = typed(poisoned(results, text))
    found = made.findings
    run = summarize_findings(found, made.verdict)
    told = [*terminal.table(found), *terminal.summary(run)]
    for width in (40, 41):  # wherever a line breaks
        told += terminal.summary(run, terminal.Screen(width=width))
    for each in told:
        written = each.text
        assert hidden(written) == set()
        assert "\n" not in written
        assert re.match(begun, written), written
        assert re.search(r"^\s*::|##\w*\[", written) is None


# Markdown


def shown(text: str) -> Reader:
    """What a reader of Markdown gets to see, HTML in it included."""
    return Reader(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def check_markdown(results: dict[str, Any], text: str) -> None:
    """The same elements as with a plain word, and the text as it is."""
    plain = markdown.render(typed(poisoned(results, "x")))
    hostile = markdown.render(typed(poisoned(results, text)))

    assert shown(hostile).names == shown(plain).names
    assert shown(hostile).attributes == shown(plain).attributes == set()
    assert hidden(hostile) == set()
    assert hostile.count("\n") == plain.count("\n")
    assert re.search(r"(?m)^\s*::|##\w*\[|://|www\.\w", hostile) is None
    for column in (2, 3, 4, 7):  # model, audit, prompt, bound
        said = line({2: text or "x", 7: f"above 0.2 {text}"}.get(column, text))
        cut = said if len(said) <= 240 else f"{said[:239]}…"
        assert {cell.strip() for cell in shown(hostile).cells[column::9]} == {cut}
    assert len(hostile.encode()) <= markdown.LARGEST


# YAML


def strings(value: Any) -> Iterator[str]:
    """Every text of a JSON or YAML value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *strings(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def check_eval_results(results: dict[str, Any], text: str) -> None:
    """One document of plain values, read back by YAML and by the Hub's own reader."""
    written = hub_values.render(typed(poisoned(results, text)))
    (document,) = yaml.safe_load_all(written)
    entries = parse_eval_result_entries(document)
    assert [entry.value for entry in entries] == [0.625] * len(entries)
    assert all(line(f"must be above 0.2 {text}") in str(entry.notes) for entry in entries)
    assert all(hidden(found) == set() for found in strings(document))
    assert re.findall(r"(?m)^(?:---|\.\.\.|%).*", written) == []


def check_html(results: dict[str, Any], text: str) -> None:
    """The same elements as with a plain word, no handler, nothing hidden in what is read."""
    plain = plain_page(json.dumps(results))
    page = Reader(unpacked(html_page.render(typed(poisoned(results, text)))))
    # charts drop empty ones; a name may break after an underscore
    own = {"ul", "li", "svg", "g", "path", "text", "line", "rect", "title", "wbr"}
    assert set(page.names) - own <= set(plain.names)
    assert page.names.count("details") == plain.names.count("details")
    assert {name for name in page.attributes if name.startswith("on")} == set()
    assert hidden(page.text.replace("\t", " ")) == set()


@cache
def plain_page(results: str) -> Reader:
    """The page with a plain word in place of each text."""
    return Reader(unpacked(html_page.render(typed(poisoned(json.loads(results), "x")))))


CHECKS = [check_terminal, check_markdown, check_eval_results]


@pytest.mark.parametrize("check", [*CHECKS, check_html])
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_known_attacks(results: dict[str, Any], text: str, check: Any) -> None:
    """Each string of the list, in every place of every output."""
    check(results, text)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ANY)
@pytest.mark.parametrize("check", CHECKS)
def test_any_text(results: dict[str, Any], text: str, check: Any) -> None:
    """Likewise any text at all."""
    check(results, text)


@pytest.mark.slow
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=ANY)
@example(text="00\U00010bb0\U00018cd6\U00017000\U0003134b")
def test_any_text_on_the_page(results: dict[str, Any], text: str) -> None:
    """Likewise, but a page takes its time."""
    check_html(results, text)
