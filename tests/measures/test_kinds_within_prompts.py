"""Errors of effects within prompts: pooled where kinds are alike, a kind's own where it is not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.measures.kinds_within_prompts import KindsWithinPrompts, pooled

PROMPTS, EACH, KINDS = 40, 16, 200


def drawn(seed: int, rare: int) -> tuple[KindsWithinPrompts, NDArray[np.intp]]:
    """Kinds that one in eight answers to each prompt has; to `rare` prompts only if that is not 0.

    Lengths and what is held fixed explain nothing.
    """
    rng = np.random.default_rng(seed)
    prompts = np.repeat(np.arange(PROMPTS), EACH)
    x = (rng.random((len(prompts), KINDS)) < 1 / 8).astype(float)
    if rare:
        x *= np.argsort(rng.random((PROMPTS, KINDS)), axis=0)[prompts] < rare
    held = np.zeros(KINDS, bool)
    return KindsWithinPrompts.of(x, np.empty((len(prompts), 0)), held, prompts), prompts


@pytest.mark.parametrize("rare", [0, 10])
def test_errors_are_those_of_effects(rare: int) -> None:
    """Over many draws of rewards, effects lie as far from 0 as their errors say."""
    within, prompts = drawn(0, rare)
    rng = np.random.default_rng(1)

    ratios, freedoms = [], []
    for _ in range(40):
        rewards = rng.normal(size=len(prompts)) * np.exp(0.5 * rng.normal(size=PROMPTS))[prompts]
        errors, freedom = within.errors(rewards)
        ratios.append(within.effects(rewards) / errors)
        freedoms.append(np.median(freedom))

    assert np.std(ratios) == pytest.approx(1, abs=0.08)
    assert np.mean(freedoms) > (20 if rare else 60)  # alone they would be 9 and 39


def test_a_kind_that_few_prompts_pay_for_keeps_its_own_error() -> None:
    """Its error is far greater than that of others, and it is not shown to have an effect."""
    within, prompts = drawn(2, 12)
    rewards = np.random.default_rng(3).normal(size=len(prompts))
    most = np.argsort(within.squares[:, 0])[-3:]
    paid = rewards + 6 * within.x[:, 0] * np.isin(prompts, most)

    effects, (errors, freedom) = within.effects(paid), within.errors(paid)

    assert effects[0] > 3 * np.median(errors)
    assert errors[0] > 1.5 * np.median(errors)
    assert effects[0] < 5 * errors[0]
    assert freedom[0] < 13 < np.median(freedom)


def test_alike_variances_are_pooled_and_an_unlike_one_is_not() -> None:
    """Where all are equal, they become one another; a variance of ten times that stays."""
    rng, freedom = np.random.default_rng(4), np.full(500, 8.0)
    ratios = 1.2 * rng.chisquare(8, 500) / 8
    ratios[0] = 12.0

    found, known = pooled(ratios, freedom)

    assert found[0] == pytest.approx(12)
    assert known[0] == pytest.approx(8)
    assert found[1:].std() < ratios[1:].std() / 3
    assert np.median(found) == pytest.approx(1.2, rel=0.1)
    assert np.median(known) > 30


def test_what_variances_differ_by_is_estimated() -> None:
    """Ratios that are drawn with ten degrees of freedom of the prior get about as many more."""
    rng, freedom = np.random.default_rng(5), np.full(5000, 8.0)
    true = 10 / rng.chisquare(10, 5000)

    _, known = pooled(true * rng.chisquare(8, 5000) / 8, freedom)

    assert np.median(known) == pytest.approx(18, rel=0.15)


def test_few_kinds_are_not_pooled() -> None:
    """Nine keep their own variances and degrees of freedom."""
    ratios, freedom = np.arange(1.0, 10.0), np.full(9, 5.0)

    found, known = pooled(ratios, freedom)

    assert found.tolist() == ratios.tolist()
    assert known.tolist() == freedom.tolist()
