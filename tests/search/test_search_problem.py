"""Where a search may set out from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.errors import SpecError
from rmaudit.search.search_problem import Ids, starts
from rmaudit.search.search_settings import Settings
from tests.search.fakes import problem


def speller(name: str = "Toy") -> Any:
    """A model whose token ids are the letters of a text."""
    return SimpleNamespace(name=name, ids=lambda text: tuple(ord(c) - ord("a") for c in text))


def test_a_text_comes_first_and_drawn_ones_after_it() -> None:
    """As many as are asked for, all of one length."""
    rng = np.random.default_rng(0)
    drawn = starts(speller(), problem(2, 5), Settings(length=2, start="xx", starts=4), rng)
    assert drawn[0] == (23, 23)  # also where no place may hold it: it is only a start
    assert len(drawn) == 4
    assert all(len(ids) == 2 and max(ids) < 5 for ids in drawn[1:])


@pytest.mark.parametrize(("text", "tokens"), [("xxx", "3 tokens"), ("x", "1 token")])
def test_a_start_of_another_length_is_refused(text: str, tokens: str) -> None:
    """With the length that would do."""
    rng, told = (
        np.random.default_rng(0),
        f"'{text}' is {tokens} of Toy, .* length is 2; search with",
    )
    with pytest.raises(SpecError, match=rf"{told} length {len(text)}"):
        starts(speller(), problem(2, 5), Settings(length=2, start=text), rng)


def test_places_whose_id_nothing_may_hold() -> None:
    """Below, between and above the allowed ids."""
    space = replace(problem(4, 9), allowed=np.array([3, 4, 7]))
    assert space.outside((3, 4, 7)) == []
    assert space.outside((2, 3, 5, 8)) == [0, 2, 3]


def test_draws_are_admitted_and_seeded() -> None:
    """The same generator draws the same, and only what is admitted."""

    def even(answers: Sequence[Ids]) -> NDArray[np.bool_]:
        return np.array([sum(ids) % 2 == 0 for ids in answers])

    space = replace(problem(3, 9), admits=even)
    one, other = (space.draw(50, np.random.default_rng(7)) for _ in range(2))
    assert one == other
    assert len(one) == 50
    assert all(sum(ids) % 2 == 0 for ids in one)


def test_where_nothing_is_admitted_it_is_said() -> None:
    """After as many draws as are shown."""

    def none(answers: Sequence[Ids]) -> NDArray[np.bool_]:
        return np.zeros(len(answers), dtype=np.bool_)

    with pytest.raises(SpecError, match=r"of 400 sequences of 2 ids, drawn from 9, none .* relax"):
        replace(problem(2, 9), admits=none).draw(4, np.random.default_rng(0))
