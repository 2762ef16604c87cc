"""Whole answers under a base language model, against its own logits, one id after another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models import language_model as bases
from rmaudit.models import likelihood
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.models.language_model import base_of
from rmaudit.models.likelihood import Likelihood
from tests.toys import toy_checkpoint, toy_language_model

PROMPT = "What is love?"
ANSWERS = [(40,), (60, 61), (62, 40), (70, 71, 72, 73), (40, 40), (280,)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model and its base."""
    home = tmp_path_factory.mktemp("models")
    toy_checkpoint(home / "toy")
    toy_language_model(home / "lm", kind="gemma2")
    return home


@pytest.fixture(scope="module")
def prefix(home: Path) -> tuple[int, ...]:
    """What stands before an answer."""
    return reward(home).slot(PROMPT).prefix


def reward(home: Path) -> Checkpoint:
    """The reward model."""
    return Checkpoint(ModelSpec("Toy", str(home / "toy"), base=str(home / "lm")), cache=home)


@pytest.fixture
def opened(home: Path) -> Iterator[Likelihood]:
    """Its base, in memory."""
    model = reward(home)
    with base_of(model.spec, cache=home).opened(model.vocabulary()) as likelihood:
        yield likelihood


def reference(home: Path, prefix: tuple[int, ...]) -> NDArray[np.float64]:
    """The means, each id by a forward of its own."""
    model = AutoModelForCausalLM.from_pretrained(home / "lm").eval()
    means = []
    for answer in ANSWERS:
        row, total = list(prefix), 0.0
        for i in answer:
            with torch.inference_mode():
                logits = model(torch.tensor([row])).logits[0, -1].double()
            total += float(logits.log_softmax(-1)[i])
            row.append(i)
        means.append(total / len(answer))
    return np.array(means)


@pytest.mark.parametrize("rows", [1, 2, 256])
def test_means_are_the_models_own(
    home: Path,
    prefix: tuple[int, ...],
    opened: Likelihood,
    rows: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of answers of several lengths, in batches of any size, in their order."""
    monkeypatch.setattr(likelihood, "_ROWS", rows)

    found = opened.means(prefix, ANSWERS)

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, reference(home, prefix), atol=1e-5)
    assert opened.means(prefix, []).shape == (0,)


def test_batches_are_bounded_by_their_logits(
    prefix: tuple[int, ...], opened: Likelihood, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large vocabulary leaves room for few rows, and never for none."""
    seen: list[int] = []
    opened.model.model.embed_tokens.register_forward_hook(
        lambda _, given, __: seen.append(len(given[0]))
    )
    whole = opened.means(prefix, ANSWERS)
    assert seen == [2, 3, 1]

    seen.clear()
    monkeypatch.setattr(likelihood, "_BYTES", 1)
    np.testing.assert_allclose(opened.means(prefix, ANSWERS), whole, atol=1e-6)
    assert seen == [1] * 6


def test_no_answer_and_an_unknown_one_have_none(
    prefix: tuple[int, ...], opened: Likelihood
) -> None:
    """Unscored, never a low number."""
    assert np.isnan(opened.means(prefix, [(), (40, 9999)])).all()


def test_a_prefix_that_the_base_cannot_read(opened: Likelihood) -> None:
    """As of `logprobs`."""
    with pytest.raises(ModelError) as caught:
        opened.means((9999,), [(40,)])
    assert str(caught.value) == (
        "the base of Toy: what stands before the answer has the id 9999 (None), which is another "
        "token for the base, or none; correct `base` in models.yaml"
    )


def test_logits_that_are_not_finite(prefix: tuple[int, ...], opened: Likelihood) -> None:
    """Never a likelihood."""
    with torch.no_grad():
        opened.model.model.norm.weight.fill_(float("nan"))

    with pytest.raises(ModelError, match="float32 gives logits that are not finite; try --rm-dt"):
        opened.means(prefix, ANSWERS)


def test_what_does_not_fit(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a reward model there may be no room for a base: the way out, not a traceback."""

    def load(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(bases, "_load", load)
    model = reward(home)
    base = base_of(model.spec, cache=home)
    with (
        pytest.raises(ModelError, match="it does not fit on 'auto' beside the reward model; spr"),
        base.opened(model.vocabulary()),
    ):
        pass
