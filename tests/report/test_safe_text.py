"""Texts of others: what hides is spelled out, and nothing that is printed is a command."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.report.safe_text import block, line, log, visible

ANY = st.text(st.characters(codec=None), max_size=40)  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("love", "love"),
        (" love", "␣love"),
        ("love ", "love␣"),
        ("a b", "a b"),
        ("\n", "\\n"),
        ("\x00", "\\x00"),
        ("\u202egnp", "\\u202egnp"),
        ("\ud800", "\\ud800"),
        ("", "(empty)"),
        ("a" * 41, "a" * 40 + "… (41 characters)"),
        ("日本", "日本"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    """What would not show, or mislead, is spelled out."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("a\r\x1b[31mred", "a\\r\\x1b[31mred"),
        ("a\u2028b\x85c\x0bd", "a\\u2028b\\x85c\\x0bd"),
        (" ends ", " ends "),
        ("é日本🙂", "é日本🙂"),
    ],
)
def test_a_block_keeps_its_lines(text: str, shown: str) -> None:
    """Only line feeds and tabs stay as they are among what draws nothing."""
    assert block(text) == shown


def test_a_line_is_one() -> None:
    """Breaks of any kind become spaces."""
    assert line("\n it\r\nbroke\x85 \u2028 here\x1b\t") == "it broke here\\x1b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", "\\x3a:error::x"),
        ("a\n \t::add-mask::x", "a\n \t\\x3a:add-mask::x"),
        ("a ##[error]b", "a \\x23#[error]b"),
        ("###[group]", "#\\x23#[group]"),
        ("##vso[task.complete]", "\\x23#vso[task.complete]"),
        ("##teamcity[x]", "\\x23#teamcity[x]"),
        ("test.py::test_x[a::b]", "test.py::test_x[a::b]"),
        ("## a heading [x]", "## a heading [x]"),
    ],
)
def test_no_printed_line_is_a_command(text: str, shown: str) -> None:
    """What GitHub, Azure and TeamCity obey has its first character spelled out."""
    assert log(text) == shown


@given(ANY)
def test_any_text_is_fit_to_be_seen(text: str) -> None:
    """Nothing hidden is left but breaks and tabs in a block, a line is one, and all is UTF-8."""
    for shown in (visible(text), block(text), line(text), log(text)):
        shown.encode()
        hidden = {c for c in shown if unicodedata.category(c)[0] in "CZ"} - {" "}
        assert hidden <= ({"\n", "\t"} if shown in (block(text), log(text)) else set())
    assert re.search(r"(?m)^\s*::|##\w*\[", log(text)) is None
    assert [line(text)] == (line(text).splitlines() or [""])
