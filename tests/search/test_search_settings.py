"""Settings of a search are checked and in its key; what it may find comes back as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.search.search_settings import Ids, Settings, come_back, problem_of, sendable
from tests.search.fakes import problem
from tests.toys import pair_tokenizer, toy_checkpoint

PROMPT = "What is love?"
_SEEN = (False, True, True, False, False, False, True, False, True, False, True, False, True)
TEXTS = (
    "</s>",
    "love",
    " love",
    "\n",
    " ",
    "",
    "a1",
    "\ufffd",
    "é",
    "\u00a0",
    "  two",
    "\u200b",
    "x",
)
SMALL = Vocabulary(tuple(range(13)), TEXTS, TEXTS)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A reward model."""
    home = tmp_path_factory.mktemp("models")
    return Checkpoint(ModelSpec("Toy", str(toy_checkpoint(home / "toy"))), cache=home)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """An encoder, whose tokenizer marks the starts of words."""
    home = tmp_path_factory.mktemp("encoder")
    folder = toy_checkpoint(home / "toy", kind="deberta-v2", tokenizer=pair_tokenizer())
    return Checkpoint(ModelSpec("Pair", str(folder)), cache=home)


# Settings


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"length": 0}, "length 0; .* 1 to 64 token ids"),
        ({"length": 65}, "length 65; "),
        ({"budget": 0}, "budget 0; give at least 1 sequence"),
        ({"starts": 0}, "starts 0; give at least 1"),
        ({"batch": 0}, "batch 0; give at least 1 swap"),
        ({"seed": -1}, "seed -1; give 0 or more"),
        ({"direction": "sideways"}, "direction 'sideways'; known: up, down"),
        ({"method": "luck"}, "method 'luck'; known: exhaustive, gcg"),
    ],
)
def test_settings_are_refused(wrong: dict[str, Any], what: str) -> None:
    """One line each: what was found, and what is allowed."""
    with pytest.raises(SpecError, match=rf"^search: .*{what}.*$"):
        Settings(**wrong)


def test_keys_of_kept_searches_stay() -> None:
    """To the last letter: what was searched before is read back."""
    rules = (
        '"constraints": {"allow": %s, "ascii": false, "deny": [], "floor": null, '
        '"printable": true, "round_trip": true, "special": false, "words": false}, '
    )
    assert json.dumps(Settings(ids=(3, 5)).as_json(), sort_keys=True) == (
        '{"beams": 1, "budget": 200000, '
        + rules % '["#3", "#5"]'
        + '"direction": "up", "length": 3, "method": "exhaustive", "seed": 0, "start": null, '
        '"starts": 8}'
    )
    assert json.dumps(Settings(method="gcg", direction="down").as_json(), sort_keys=True) == (
        '{"budget": 200000, '
        + rules % "null"
        + '"direction": "down", "gcg": {"batch": 128, "distance": 1.0, "fresh": true, '
        '"greedy": true, "target": null, "top": 256}, "length": 3, "method": "gcg", "seed": 0, '
        '"start": null, "starts": 8}'
    )


# Which ids


def test_ids_by_hand() -> None:
    """A newline, a lone space, half a character and what has no width cannot be seen."""
    assert sendable(SMALL, {0}).tolist() == np.flatnonzero(_SEEN).tolist()
    assert sendable(SMALL, {0, 1}).tolist() == np.flatnonzero(_SEEN).tolist()[1:]


def test_ids_that_are_given_limit_it(model: Checkpoint) -> None:
    """To those of them that can be sent; where none can, nothing is searched."""
    love, special = model.ids("love")[0], min(model.special_ids)

    given_ids = replace(Settings(), ids=(special, love))
    assert problem_of(model, PROMPT, given_ids).allowed.tolist() == [love]
    with pytest.raises(SpecError, match="no token id of the model can be sent as text"):
        problem_of(model, PROMPT, replace(Settings(), ids=(special,)))


# Which answers


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.parametrize("kind", ["model", "encoder"])
def test_an_admitted_answer_can_be_sent_as_text(
    kind: str, data: st.DataObject, request: pytest.FixtureRequest
) -> None:
    """For any ids, and those of any text: the answer's text, one by one, has the same ids."""
    model: Checkpoint = request.getfixturevalue(kind)
    one = st.lists(st.sampled_from(model.vocabulary().ids), max_size=5).map(tuple)
    of_text = st.text("lovepacT ▁the.é\n", max_size=12).map(model.ids)
    answers = data.draw(st.lists(one | of_text, max_size=8))

    found = come_back(model, answers)

    assert found.shape == (len(answers),)
    for answer, fits in zip(answers, found.tolist(), strict=True):
        (text,) = model.texts([answer])
        assert fits == (model.ids(text) == answer)


# What is drawn


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

    with pytest.raises(SpecError, match=r"of 400 sequences of 2 ids, drawn from 9, none "):
        replace(problem(2, 9), admits=none).draw(4, np.random.default_rng(0))
