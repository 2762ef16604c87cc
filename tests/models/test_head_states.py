"""States and a head's vector: their products are the model's rewards, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.conversation import Asked
from rmaudit.errors import ModelError
from rmaudit.layout.answer_slot import Response
from rmaudit.models import head_states
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.external_scorer_batches import Progress, unwatched
from rmaudit.models.head_states import linear_head, states_of_each
from tests.models.loaded import checkpoint
from tests.models.test_families import FAMILIES, opened, published

PROMPT = "the love of the city?"
ANSWERS: list[Response] = ["love", " war", "", (7, 8, 9), "peace and pain", "love", (5,)]
VECTORS = ("OpenRLHF", "LLaMA-Factory v1", "Nemotron")


def states(
    model: Checkpoint, answers: Sequence[Response], prompt: str = PROMPT, **how: Any
) -> NDArray[np.float32]:
    """The states of answers to one prompt."""
    return states_of_each(model, [prompt] * len(answers), answers, **how)


def test_products_are_the_rewards(folder: Path) -> None:
    """Of texts and of token ids, of one prompt and of several, in small batches too."""
    model = checkpoint(folder)
    slot = model.slot(PROMPT)
    model.weights(slot.prefix, slot.suffix).scorer.ids_per_batch = 8
    vector = linear_head(model)

    found = states(model, ANSWERS) @ vector

    np.testing.assert_allclose(found, model.score(PROMPT, ANSWERS), atol=1e-5)
    each = list(product([PROMPT, "the love", "war of the worlds"], ANSWERS))[::-1]
    alone = [model.score(prompt, [answer])[0] for prompt, answer in each]
    found = states_of_each(model, [a for a, _ in each], [b for _, b in each]) @ vector
    assert np.std(alone) > 0.1
    np.testing.assert_allclose(found, alone, atol=1e-5)


def test_a_second_call_computes_nothing(folder: Path, tmp_path: Path) -> None:
    """Another answer, prompt or order is another file; a damaged one is computed again."""
    model, computed = checkpoint(folder), list[int]()

    def again(answers: Sequence[Response], prompt: str = PROMPT) -> NDArray[np.float32]:
        return states(model, answers, prompt, cache=tmp_path, on_progress=computed.append)

    first, second = again(ANSWERS), again(ANSWERS)
    assert sum(computed) == len(ANSWERS)
    np.testing.assert_array_equal(first, second)
    (file,) = (tmp_path / "states").iterdir()
    again(ANSWERS[::-1])
    again(ANSWERS, "the love")
    assert sum(computed) == 3 * len(ANSWERS)
    content = bytearray(file.read_bytes())
    content[-len(content) // 2] ^= 1

    file.write_bytes(content)

    with pytest.warns(UserWarning, match="computed anew"):
        np.testing.assert_array_equal(again(ANSWERS), first)
    assert sum(computed) == 4 * len(ANSWERS)


def test_what_was_computed_before_an_interrupt_is_not_computed_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long list is cached block by block; all states stand in the list's order."""
    model, computed = checkpoint(folder), list[int]()
    whole = states(model, ANSWERS)
    monkeypatch.setattr(head_states, "BLOCK", 3)

    def interrupted(done: int) -> None:
        computed.append(done)
        if sum(computed) > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        states(model, ANSWERS, cache=tmp_path, on_progress=interrupted)
    computed.clear()
    found = states(model, ANSWERS, cache=tmp_path, on_progress=computed.append)

    np.testing.assert_allclose(found, whole, atol=1e-5)
    assert sum(computed) == len(ANSWERS) - 3


def test_no_answers_have_no_states(folder: Path) -> None:
    """But as many columns."""
    assert states(checkpoint(folder), []).shape == (0, 32)


@pytest.mark.slow
@pytest.mark.parametrize("name", VECTORS)
def test_other_heads_of_one_vector(tmp_path: Path, name: str) -> None:
    """Their rewards are the products and one number, the bias."""
    toy = FAMILIES[name]
    model = opened(published(tmp_path / "toy", toy), toy)

    found = states(model, ANSWERS) @ linear_head(model)

    beside = model.score(PROMPT, ANSWERS) - found
    assert found.std() > 0.05
    assert np.ptp(beside) < 1e-4


@pytest.mark.parametrize("name", ["ArmoRM", "URM", "GRM", "INF-ORM"])
def test_heads_that_are_no_vector_are_refused(tmp_path: Path, name: str) -> None:
    """The error names the head, and what is allowed."""
    toy = FAMILIES[name]
    model = opened(published(tmp_path / "toy", toy), toy)

    with pytest.raises(ModelError, match=r"toy: its (gated|uncertainty|value|mlp) head") as caught:
        linear_head(model)

    assert "score.weight" in str(caught.value)


class Squared(Checkpoint):
    """A model whose rewards are no products of states and its vector."""

    def score(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the squares of the rewards."""
        return super().score(prompt, responses, on_progress=on_progress) ** 2


def test_other_rewards_than_the_products_are_refused(folder: Path, tmp_path: Path) -> None:
    """And nothing is cached."""
    model = Squared(checkpoint(folder).spec, cache=tmp_path)

    with pytest.raises(ModelError, match="rmaudit doctor"):
        states(model, ANSWERS, cache=tmp_path)

    assert not (tmp_path / "states").exists()
