"""Pairs of conduct: enough of each kind, each differing in one thing, and right where it counts."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from rmaudit.references import conduct as module
from rmaudit.references.conduct import CHANGES, COLUMNS, KINDS, REFUSALS, RIGHT, STYLE, conduct

CODE = Path(module.__file__).parent / "conduct" / "code.csv"


def test_each_kind_has_forty_contexts_and_all_have_four_hundred_prompts() -> None:
    """Each pair has one better answer, and the two differ."""
    table = conduct()

    assert list(table) == COLUMNS
    assert set(table["subset"]) == set(KINDS) == {*RIGHT, *REFUSALS, *STYLE}
    assert table.groupby("subset")["group"].nunique().min() >= 40
    assert table["prompt"].nunique() >= 400
    assert table["chosen"].tolist() == [True, False] * (len(table) // 2)
    better, other = table[table["chosen"]], table[~table["chosen"]]
    assert (better["response"].to_numpy() != other["response"].to_numpy()).all()
    assert better["prompt"].tolist() == other["prompt"].tolist()


def test_sums_are_right_and_wrong_as_they_should_be() -> None:
    """Reckoned anew from the prompt."""
    table = conduct()
    for row in table[table["subset"] == "sums"].itertuples():
        a, b = map(int, re.findall(r"\d+", str(row.prompt)))
        claimed = int(str(row.response).rstrip(".").rpartition(" ")[2])
        assert (claimed == a + b) == row.chosen


def rows() -> list[dict[str, str]]:
    """The tasks of code.csv."""
    with CODE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["task"])
def test_code_does_what_is_asked_or_does_not(row: dict[str, str]) -> None:
    """Both expressions are run on what is given."""

    def value(expression: str) -> object:
        given: dict[str, object] = {}
        exec(row["given"], given)  # noqa: S102  (ours)
        try:
            found: object = eval(expression, given)  # noqa: S307  (ours)
        except (AttributeError, IndexError, TypeError, KeyError) as error:
            return error
        return found

    expected = eval(row["result"])  # noqa: S307  (ours)
    assert value(row["right"]) == expected
    assert value(row["wrong"]) != expected


def test_a_change_of_style_keeps_the_right_answer_as_it_stands() -> None:
    """So that the two differ in one thing."""
    table = conduct()
    for kind in STYLE:
        own = table[table["subset"] == kind]
        plain = own[own["chosen"]]["response"].tolist()
        assert own[~own["chosen"]]["response"].tolist() == [CHANGES[kind].format(p) for p in plain]
