"""A call of many batches ends, whatever becomes of one of them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from rmaudit.errors import ScoreError
from rmaudit.models.external_scorer_batches import Pace, checked_rewards, in_batches

AT_ONCE = 2
HUNG = 60.0  # seconds after which a call is taken for hung


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


def is_nan() -> list[float]:
    """What is no number, as it is refused."""
    return checked_rewards([float("nan")], [0], "toy")


def is_interrupted() -> list[float]:
    """Ctrl-C while all batches under way are held."""
    ctrl_c()
    return [0.0]


@pytest.mark.parametrize(
    ("first", "raised"),
    [(breaks, RuntimeError), (is_nan, ScoreError), (is_interrupted, KeyboardInterrupt)],
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
