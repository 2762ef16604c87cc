"""What a pair adds to a contrast is what a refit without it takes away, by scipy's minimum too."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from rmaudit.errors import MeasureError
from rmaudit.measures import pair_influence
from rmaudit.measures.pair_influence import Influences, influences

PAIRS, HIDDEN = 120, 4
Floats = NDArray[np.float64]


def given(rng: np.random.Generator, pairs: int = PAIRS) -> tuple[Floats, Floats, Floats]:
    """Differences of states, a head that wins most pairs, and a contrast's gradient."""
    head = rng.normal(size=HIDDEN)
    differences = rng.normal(size=(pairs, HIDDEN)) * [1.0, 3.0, 0.3, 1.0]
    wins = rng.random(pairs) < 1 / (1 + np.exp(-differences @ head))
    return np.where(wins, 1, -1)[:, None] * differences, head, rng.normal(size=HIDDEN)


def minimum(differences: Floats, head: Floats, ridge: float) -> Floats:
    """The minimum of loss and ridge, by another program."""

    def loss(at: Floats) -> float:
        return float(
            np.log1p(np.exp(-differences @ at)).sum() + ridge / 2 * ((at - head) ** 2).sum()
        )

    return np.asarray(minimize(loss, head, method="BFGS", options={"gtol": 1e-7}).x)


def without_each(found: Influences) -> Floats:
    """The change of the contrast without each pair, by that program."""
    whole = minimum(found.differences, found.head, found.ridge)
    others = (np.delete(found.differences, i, axis=0) for i in range(len(found.added)))
    fits = (minimum(rest, found.head, found.ridge) for rest in others)
    return np.array([found.gradient @ (fit - whole) for fit in fits])


def test_influence_is_that_of_leaving_each_pair_out() -> None:
    """Numerically, for every pair; the sign is that of what it adds."""
    found = influences(*given(np.random.default_rng(0)))

    changes = without_each(found)

    assert np.abs(changes).max() > 10 * np.abs(changes).min()
    np.testing.assert_allclose(-found.added, changes, atol=0.05 * np.abs(changes).max())
    np.testing.assert_array_equal(found.order[:3], np.argsort(changes)[:3])


def test_groups_are_predicted_and_refitted() -> None:
    """The refit is another program's; the prediction is near to it, and at random smaller."""
    found = influences(*given(np.random.default_rng(1)))
    first, random = found.order[:12], np.random.default_rng(0).permutation(PAIRS)[:12]

    effect = found.without(first)

    rest = np.delete(found.differences, first, axis=0)
    fits = (minimum(of, found.head, found.ridge) for of in (rest, found.differences))
    assert effect.refitted == pytest.approx(found.gradient @ np.subtract(*fits), abs=1e-4)
    assert effect.refitted < 0
    assert effect.predicted == pytest.approx(effect.refitted, rel=0.25)
    assert abs(found.without(random).refitted) < abs(effect.refitted) / 2


def test_states_have_no_scale() -> None:
    """Larger states under a smaller head give the same; a turned contrast, the negative."""
    differences, head, gradient = given(np.random.default_rng(2))

    found = influences(differences, head, gradient).added

    scaled = influences(10 * differences, head / 10, 10 * gradient).added
    np.testing.assert_allclose(scaled, found, rtol=1e-6)
    np.testing.assert_allclose(influences(differences, head, -gradient).added, -found)


def test_a_head_that_wins_every_pair_is_refitted_too() -> None:
    """Separable pairs have no minimum without the ridge."""
    differences, head, gradient = given(np.random.default_rng(3))
    wins = np.sign(differences @ head)[:, None]

    found = influences(wins * differences, 100 * head, gradient)

    assert np.isfinite(found.added).all()
    assert np.isfinite(found.without(found.order[:12])).all()


def test_too_few_or_equal_pairs_are_refused() -> None:
    """No number comes out of them."""
    few = given(np.random.default_rng(0), pair_influence.FEWEST - 1)
    with pytest.raises(MeasureError, match="there are 29"):
        influences(*few)

    differences, head, gradient = given(np.random.default_rng(0))
    with pytest.raises(MeasureError, match="equal states"):
        influences(0 * differences, head, gradient)
