"""SIGTERM and Ctrl-C are raised, or held back, and afterwards are what they were."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from rmaudit.interrupts import Terminated, held_back, raised_once, sigterm_raises

BOTH = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Every test leaves the handlers that it found."""
    before = [signal.getsignal(number) for number in BOTH]
    yield
    assert [signal.getsignal(number) for number in BOTH] == before


def test_sigterm_is_raised() -> None:
    """As a kind of Ctrl-C, so that whatever clears up after one does."""
    with pytest.raises(Terminated), sigterm_raises():
        signal.raise_signal(signal.SIGTERM)
    assert issubclass(Terminated, KeyboardInterrupt)


@pytest.mark.parametrize("number", BOTH)
def test_what_must_be_written_is_written_first(number: int) -> None:
    """The signal is raised at the end; a second one at once."""
    done = list[int]()

    def written(*numbers: int) -> None:
        with sigterm_raises(), held_back():
            for each in numbers:
                signal.raise_signal(each)
            done.append(len(numbers))

    with pytest.raises(KeyboardInterrupt) as caught:
        written(number)
    with pytest.raises(KeyboardInterrupt):
        written(number, signal.SIGINT)

    assert done == [1]
    assert isinstance(caught.value, Terminated) == (number == signal.SIGTERM)


def test_a_worker_is_interrupted_once() -> None:
    """Its parent ends it, and the terminal may have before."""
    with raised_once():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        for number in BOTH:
            signal.raise_signal(number)


def test_handlers_of_others_stay() -> None:
    """Of who runs audits in a program; and another thread has no signals to handle."""
    came = list[int]()
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    with sigterm_raises(), held_back():
        signal.raise_signal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)
    assert came == [signal.SIGTERM]

    def elsewhere() -> None:
        with sigterm_raises(), held_back():
            assert signal.getsignal(signal.SIGTERM) == before

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_ends_as_its_parent_expects() -> None:
    """Such as a process of a user's own pool, which `terminate` ends."""
    with sigterm_raises():
        if not (child := os.fork()):
            signal.raise_signal(signal.SIGTERM)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
