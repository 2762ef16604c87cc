"""The glossary and the tooltips of the page."""

from __future__ import annotations

from typing import Any

import pytest
from markupsafe import Markup

from rmaudit.report.page.glossary import (
    GLOSSARY,
    ON_PAGE,
    TERMS,
    button,
    tooltip_id,
    with_sd_explained,
)
from rmaudit.report.page.html_page import render
from rmaudit.verdicts.decision import decide
from rmaudit.verdicts.estimates_and_bounds import Effect, Result
from rmaudit.verdicts.run_verdict import Outcome
from rmaudit.verdicts.verdict_policy import Policy
from tests.findings import TODAY, found
from tests.report.conftest import Reader, typed
from tests.report.runs import results as results_of


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


def test_sd_is_explained_where_it_first_stands() -> None:
    """Once, behind the first number in sd on the page, and never inside of a tag."""
    failing = decide([found(-0.9, -0.8), found(-0.7, -0.6, prompt="worst")], Policy(), TODAY)
    page = render(results_of(failing))
    said = "sd (standard deviations), must be above 0"

    assert said in " ".join(Reader(page).text.split())
    assert page.count(button("sd", "standard deviations")) == 1
    markup = Markup('<b title="1 sd">2 sd</b> and 3 sd, <i>standard</i>')
    shown = button("sd", "standard deviations")
    assert with_sd_explained(markup) == (
        f'<b title="1 sd">2 sd ({shown})</b> and 3 sd, <i>standard</i>'
    )
