"""Answers drawn from a language model: from its own distribution, by the seed, to their end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.answer_sampling import TEMPERATURE, drawn
from rmaudit.models.base_language_model import base_of
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.language_model_logprobs import Likelihood
from tests.models.loaded import checkpoint
from tests.toys import toy_checkpoint, toy_language_model

PROMPTS = ("What is love?", "What is war?", "What is love, and what is war?")
NO_END = frozenset({-1})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model."""
    return toy_language_model(tmp_path_factory.mktemp("lm") / "lm")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A reward model with the same tokenizer."""
    return checkpoint(toy_checkpoint(tmp_path_factory.mktemp("rm") / "toy"))


@pytest.fixture(scope="module")
def likelihood(
    folder: Path, model: Checkpoint, tmp_path_factory: pytest.TempPathFactory
) -> Likelihood:
    """The language model in memory."""
    cache = tmp_path_factory.mktemp("cache")
    base = base_of(ModelSpec("Toy", "a/b", base=str(folder)), cache=cache)
    return base.loaded(model.vocabulary())


def answers(
    likelihood: Likelihood,
    prefixes: list[tuple[int, ...]],
    *,
    longest: int = 6,
    ends: frozenset[int] = NO_END,
    seed: int = 0,
) -> list[tuple[int, ...]]:
    """Drawn after each prefix."""
    rng = np.random.default_rng(seed)
    return drawn(likelihood, prefixes, longest=longest, ends=ends, rng=rng)


def test_each_token_is_drawn_from_the_models_own_distribution(
    folder: Path, model: Checkpoint, likelihood: Likelihood
) -> None:
    """Of many answers, the first and second tokens are as frequent as whole forwards say."""
    many, prefix = 4000, model.slot(PROMPTS[0]).prefix
    lm = AutoModelForCausalLM.from_pretrained(folder).eval()

    found = np.array(answers(likelihood, [prefix] * many, longest=2))

    def shares(ids: tuple[int, ...]) -> torch.Tensor:
        with torch.inference_mode():
            return (lm(torch.tensor([ids])).logits[0, -1].double() / TEMPERATURE).softmax(-1)

    first = shares(prefix)
    then = sum(first[i] * shares((*prefix, int(i))) for i in first.argsort()[-200:])
    for column, expected in zip(found.T, (first, then), strict=True):
        seen = np.bincount(column, minlength=len(first)) / many
        assert np.abs(seen - np.asarray(expected)).max() < 5 * np.sqrt(0.25 / many)
        assert np.corrcoef(seen, expected)[0, 1] > 0.9


def test_the_seed_decides_what_is_drawn(model: Checkpoint, likelihood: Likelihood) -> None:
    """Also where prompts have several lengths; the order of the answers is that of the prompts."""
    prefixes = [model.slot(prompt).prefix for prompt in PROMPTS]

    first, again, other = (answers(likelihood, prefixes, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert [len(answer) for answer in first] == [6, 6, 6]


def test_an_answer_stops_before_its_end(model: Checkpoint, likelihood: Likelihood) -> None:
    """At the first of the ids that end it, and it has none of them."""
    prefixes = [model.slot(PROMPTS[0]).prefix] * 20
    whole = answers(likelihood, prefixes, longest=30)
    ends = frozenset(range(0, likelihood.model.config.vocab_size, 4))

    found = answers(likelihood, prefixes, longest=30, ends=ends)

    assert any(ends & {*row} for row in whole)
    for row, short in zip(whole, found, strict=True):
        stop = next((at for at, each in enumerate(row) if each in ends), len(row))
        assert short == row[:stop]


def test_tokens_that_the_reward_model_has_not_are_never_drawn(
    model: Checkpoint, likelihood: Likelihood
) -> None:
    """However likely they are; and a prompt with one is refused."""
    prefix = model.slot(PROMPTS[0]).prefix
    strange = set(answers(likelihood, [prefix] * 50, longest=1)[0])
    shared = {i: same and i not in strange for i, same in likelihood.shared.items()}
    other = Likelihood("the policy", likelihood.model, shared, likelihood.own, "float32", {})

    found = answers(other, [prefix] * 50)

    assert not strange & {i for row in found for i in row}
    with pytest.raises(ModelError, match="the policy"):
        answers(other, [(*prefix, *strange)])
