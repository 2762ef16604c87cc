"""Texts of others: what hides is spelled out, and nothing that is printed is a command."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.report.safe_text import block, line, log, visible

ANY = st.text(st.characters(codec=None), max_size=40)  # lone surrogates too


@pytest.mark.parametrize(
    ("written", "text", "shown"),
    [
        (visible, "love", "love"),
        (visible, " love", "␣love"),
        (visible, "love ", "love␣"),
        (visible, "a b", "a b"),
        (visible, "\n", "\\n"),
        (visible, "\x00", "\\x00"),
        (visible, "\u202egnp", "\\u202egnp"),
        (visible, "\ud800", "\\ud800"),
        (visible, "", "(empty)"),
        (visible, "a" * 41, "a" * 40 + "… (41 characters)"),
        (visible, "日本", "日本"),
        (block, "two\nlines\tand a tab", "two\nlines\tand a tab"),
        (block, "a\r\x1b[31mred", "a\\r\\x1b[31mred"),
        (block, "a\u2028b\x85c\x0bd", "a\\u2028b\\x85c\\x0bd"),
        (block, " ends ", " ends "),
        (block, "é日本🙂", "é日本🙂"),
        (log, "::error::x", "\\x3a:error::x"),
        (log, "a\n \t::add-mask::x", "a\n \t\\x3a:add-mask::x"),
        (log, "a ##[error]b", "a \\x23#[error]b"),
        (log, "###[group]", "#\\x23#[group]"),
        (log, "##vso[task.complete]", "\\x23#vso[task.complete]"),
        (log, "##teamcity[x]", "\\x23#teamcity[x]"),
        (log, "test.py::test_x[a::b]", "test.py::test_x[a::b]"),
        (log, "## a heading [x]", "## a heading [x]"),
        (line, "\n it\r\nbroke\x85 \u2028 here\x1b\t", "it broke here\\x1b"),
    ],
)
def test_what_would_hide_or_command_is_spelled_out(
    written: Callable[[str], str], text: str, shown: str
) -> None:
    """A token as one sees it; a block keeps line feeds and tabs; a line is one.

    What GitHub, Azure and TeamCity obey has its first character spelled out in a log.
    """
    assert written(text) == shown


@given(ANY)
def test_any_text_is_fit_to_be_seen(text: str) -> None:
    """Nothing hidden is left but breaks and tabs in a block, a line is one, and all is UTF-8."""
    for shown in (visible(text), block(text), line(text), log(text)):
        shown.encode()
        hidden = {c for c in shown if unicodedata.category(c)[0] in "CZ"} - {" "}
        assert hidden <= ({"\n", "\t"} if shown in (block(text), log(text)) else set())
    assert re.search(r"(?m)^\s*::|##\w*\[", log(text)) is None
    assert [line(text)] == (line(text).splitlines() or [""])
