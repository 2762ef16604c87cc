"""Which numbers are rewards, wherever they are read; and how a call of many batches ends."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rmaudit.errors import ModelError, ScoreError
from rmaudit.models.external_scorer_batches import (
    Pace,
    checked_rewards,
    finite,
    in_batches,
    log_odds,
    refuse_no_rewards,
)

AT_ONCE = 2
HUNG = 60.0  # seconds after which a call is taken for hung


def test_a_finite_number_is_a_float() -> None:
    """Of any type that is a real number and that float32 holds; all else is None."""
    for given in (0, -1.5, 10**30, Fraction(1, 3), np.float16(2.5), np.int64(3)):
        assert finite(given) == float(given)
    none: list[Any] = [10**400, -(10**400), 1e39, -1e39, math.nan, math.inf, -math.inf]
    for odd in (*none, True, np.True_, "1", None, [1], Decimal(1), 1j):
        assert finite(odd) is None


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


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([1.0, 1.0], ["2 scores", "3 responses"]),
        (1.0, ["1.0", "list of 3 numbers"]),
        ("abc", ["'abc'", "list of 3 numbers"]),
        (b"abc", ["b'abc'", "list of 3 numbers"]),
        ({3.0, 1.0, 2.0}, ["{", "list of 3 numbers"]),
        (np.array(1.0), ["array(1.)", "list of 3 numbers"]),
        (None, ["None"]),
        (["high"] * 3, ["'high'", "'000'", "finite numbers"]),
        ([1.0, math.nan, 1.0], ["nan", "'001'"]),
    ],
)
def test_what_is_no_score_is_refused(given: Any, names: list[str]) -> None:
    """The response is named, and what was returned for it."""
    with pytest.raises(ScoreError) as caught:
        checked_rewards(given, ["000", "001", "002"], "toy")

    assert all(name in str(caught.value) for name in ["toy", *names]), caught.value


def ctrl_c() -> None:
    """As a terminal does."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.fixture
def watchdog() -> Iterator[threading.Timer]:
    """Presses Ctrl-C if the call hangs."""
    timer = threading.Timer(HUNG, ctrl_c)
    timer.start()
    yield timer
    timer.cancel()


def breaks() -> list[float]:
    """An error of the user's function."""
    raise RuntimeError("busy")


def is_interrupted() -> list[float]:
    """Ctrl-C while all batches under way are held."""
    ctrl_c()
    return [0.0]


@pytest.mark.parametrize(
    ("first", "raised"), [(breaks, RuntimeError), (is_interrupted, KeyboardInterrupt)]
)
@pytest.mark.parametrize("ends", [True, False])
def test_of_three_times_as_many_batches_as_run_at_once_one_fails(
    first: Callable[[], list[float]],
    raised: type[BaseException],
    ends: bool,
    watchdog: threading.Timer,
) -> None:
    """None is begun after it; those under way are ended, or left alone where nothing ends them."""
    second, released = threading.Event(), threading.Event()
    begun: list[int] = []

    def ask(batch: Sequence[int]) -> list[float]:
        begun.append(batch[0])
        if batch[0]:
            second.set()
            released.wait()
            return [0.0]
        second.wait()
        return first()

    pace = Pace(1, AT_ONCE, released.set) if ends else Pace(1, AT_ONCE)
    with pytest.raises(raised):
        in_batches(ask, range(3 * AT_ONCE), pace, lambda _: None)

    assert watchdog.is_alive()
    assert sorted(begun)[:2] == [0, 1]
    assert len(begun) <= AT_ONCE + 1  # one may begin before the failure is seen
    released.set()
