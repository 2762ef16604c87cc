"""The smallest repair of a head: as another solver finds it, within its limits, or none."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures.head_repair import Limits, least_change, metric, repaired

Floats = NDArray[np.float64]
SIZE = 12


def problem(seed: int, many: int) -> tuple[Floats, Floats, Floats]:
    """A head, the matrix that measures its changes, and contrasts."""
    rng = np.random.default_rng(seed)
    head, parts = rng.normal(size=SIZE), [rng.normal(size=(n, SIZE)) for n in (200, 100)]
    return head, metric(head, parts), rng.normal(size=(many, SIZE))


def limits(contrasts: Floats, tolerated: float, seed: int = 1) -> Limits:
    """Of one gate, whose answers' rewards have the sd of some states' products."""
    states = np.random.default_rng(seed).normal(size=(300, SIZE))
    return Limits(contrasts, tolerated, (states - states.mean(axis=0)) / np.sqrt(len(states)))


@pytest.mark.parametrize("many", [1, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_the_change_is_the_one_that_another_solver_finds(seed: int, many: int) -> None:
    """Sequential quadratic programming, from no change; all limits hold, and one is reached."""
    head, measured_by, contrasts = problem(seed, many)
    most = contrasts @ head - np.abs(np.random.default_rng(seed).normal(size=many))

    found = least_change(head, measured_by, contrasts, most)

    other = scipy.optimize.minimize(
        lambda change: change @ measured_by @ change,
        np.zeros(SIZE),
        jac=lambda change: 2 * measured_by @ change,
        constraints=[{"type": "ineq", "fun": lambda change: most - contrasts @ (head + change)}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert found is not None
    assert found - head == pytest.approx(other.x, abs=1e-5)
    off = contrasts @ found - most
    assert off.max() == pytest.approx(0.0, abs=1e-9)


def test_one_limit_has_a_closed_form() -> None:
    """Along the contrast, as the metric turns it, by just what is too much."""
    head, measured_by, contrasts = problem(0, 1)
    most = contrasts @ head - 2.0
    along = np.linalg.solve(measured_by, contrasts[0])

    found = least_change(head, measured_by, contrasts, most)

    assert found == pytest.approx(head - 2.0 * along / (contrasts[0] @ along))


def test_nothing_changes_where_all_limits_hold() -> None:
    """The very head is returned."""
    head, measured_by, contrasts = problem(0, 3)

    assert least_change(head, measured_by, contrasts, contrasts @ head + 0.1) is head
    assert repaired(head, measured_by, [limits(contrasts, 50.0)]) is head


def test_limits_that_contradict_each_other_have_no_head() -> None:
    """Nor has a contrast that the states do not tell."""
    head, measured_by, _ = problem(0, 1)
    both = np.stack([head, -head])

    assert least_change(head, measured_by, both, np.array([-1.0, -1.0])) is None
    assert least_change(head, measured_by, np.zeros((1, SIZE)), np.array([-1.0])) is None
    with pytest.raises(MeasureError, match="contradict"):
        repaired(head, measured_by, [limits(both, -0.5)])


def test_limits_are_in_sd_of_the_repaired_heads_rewards() -> None:
    """Of two gates, each in its own; a margin goes further inside by so many sd."""
    head, measured_by, contrasts = problem(3, 4)
    gates = [limits(contrasts[:2], 0.2), limits(contrasts[2:], -0.1, seed=2)]

    for margin in (0.0, 0.2):
        found = repaired(head, measured_by, [gate.tighter(margin) for gate in gates])
        excess = np.concatenate([gate.excess(found) for gate in gates])
        assert excess.max() == pytest.approx(-margin, abs=1e-3)


def test_what_is_to_stay_stays_before_all_else() -> None:
    """A direction that it does not use is changed in place of one that it does; by its own size."""
    rng = np.random.default_rng(0)
    few, many = (rng.normal(size=(200, SIZE)) * scale for scale in (1.0, 1000.0))
    few[:, 6:] = many[:, :6] = 0
    head, contrast = rng.normal(size=SIZE), np.ones((1, SIZE))
    most = contrast @ head - 3.0
    moved = {}
    for name, parts in {"few": [few], "both": [few, many]}.items():
        found = least_change(head, metric(head, parts), contrast, most)
        assert found is not None
        assert (contrast @ (found - head))[0] == pytest.approx(-3.0)
        moved[name] = found - head

    assert np.abs(moved["few"][:6]).max() < 0.2 * np.abs(moved["few"][6:]).min()
    assert np.linalg.norm(moved["both"][:6]) > 0.2 * np.linalg.norm(moved["both"][6:])
    with pytest.raises(MeasureError, match="nothing to keep"):
        metric(np.zeros(SIZE), [few])
