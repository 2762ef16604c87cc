"""Which numbers are rewards, wherever they are read."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rmaudit.errors import ModelError
from rmaudit.models.external_scorer_batches import finite, log_odds, refuse_no_rewards


@pytest.mark.parametrize("given", [0, -1.5, 10**30, Fraction(1, 3), np.float16(2.5), np.int64(3)])
def test_a_finite_number_is_a_float(given: Any) -> None:
    """Of any type that is a real number."""
    assert finite(given) == float(given)


@pytest.mark.parametrize(
    "given",
    [10**400, -(10**400), 1e39, math.nan, math.inf, True, np.True_, "1", None, [1], Decimal(1), 1j],
)
def test_what_is_no_finite_number_is_none(given: Any) -> None:
    """Nor is what float32 does not hold."""
    assert finite(given) is None


def test_log_odds_are_those_of_two_probabilities() -> None:
    """As they are, or as logarithms; both of one word are at most 1."""
    assert log_odds(0.5, 0.25, logs=False) == pytest.approx(math.log(2))
    assert log_odds(-1.5, -1, logs=True) == -0.5
    assert log_odds(1, 1e-30, logs=False) == pytest.approx(-math.log(1e-30))
    for yes, no in ((0, 0.5), (1.1, 0.1), (0.9, 0.9), (True, 0.5), (-0.5, 0.5), (10**400, 0.5)):
        assert log_odds(yes, no, logs=False) is None
    for yes, no in ((0.1, -1), (-0.1, -0.1), (-(10**400), -1), (math.nan, -1), ("-1", -1)):
        assert log_odds(yes, no, logs=True) is None


def test_test_answers_that_get_no_rewards_are_refused() -> None:
    """All equal but for rounding; or within 0 and 1, where logits are asked for."""
    for equal in ([0.0, 0.0], [1e6, 1e6 + 0.5]):
        with pytest.raises(ModelError, match="for each of 2 answers; do this"):
            refuse_no_rewards(equal, "it", "do this", logits=False)
    with pytest.raises(ModelError, match="within 0 to 1"):
        refuse_no_rewards([0.0, 1.0], "it", "do this", logits=True)
    refuse_no_rewards([0.0, 1.0], "it", "do this", logits=False)
    refuse_no_rewards([-0.1, 1.0], "it", "do this", logits=True)
