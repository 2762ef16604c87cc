"""The glossary and the tooltips of the page."""

from __future__ import annotations

from typing import Any

import pytest

from rmaudit.report.page.glossary import GLOSSARY, ON_PAGE, TERMS, button, tooltip_id
from rmaudit.report.page.html_page import render
from rmaudit.verdicts.estimates_and_bounds import Effect, Result
from rmaudit.verdicts.run_verdict import Outcome
from tests.report.conftest import Reader, typed


def test_every_tooltip_of_the_page_is_a_sentence_of_the_glossary(results: dict[str, Any]) -> None:
    """Each button names one text on the page, for the pointer and for screen readers."""
    page = Reader(render(typed(results)))

    buttons = [attributes for tag, attributes in page.tags if "popovertarget" in attributes]
    texts = [attributes["id"] for _, attributes in page.tags if "popover" in attributes]
    assert len(buttons) > 6
    assert all(each["popovertarget"] == each["aria-describedby"] for each in buttons)
    assert {each["popovertarget"] for each in buttons} <= set(texts)
    assert sorted(texts) == sorted(map(tooltip_id, ON_PAGE))
    assert all(TERMS[term] in page.text for term in ON_PAGE)


def test_the_words_of_results_are_in_the_glossary() -> None:
    """Results, effects and verdicts, in the spelling of the reports; no term is in two groups.

    A template that asks for a tooltip that is not there fails when it is rendered.
    """
    assert {*Result, *filter(None, Effect), *Outcome} <= {*TERMS}
    assert len(TERMS) == sum(map(len, GLOSSARY.values()))
    with pytest.raises(KeyError, match="ledger"):
        button("ledger")
