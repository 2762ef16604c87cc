"""End a run on SIGTERM as on Ctrl-C, and hold both back while something must be written.

Python gives signals to the main thread alone; in another thread nothing here does anything. A
handler that somebody else has set stays.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

TERMINATED = 128 + signal.SIGTERM  # what a shell says of a process that SIGTERM has ended
_BOTH = (signal.SIGINT, signal.SIGTERM)
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)


class Terminated(KeyboardInterrupt):
    """Raised in the main thread when the process is sent SIGTERM."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM while the `with` block runs, as Python does on Ctrl-C."""
    with _handled(_raise, signal.SIGTERM):
        yield


@contextmanager
def held_back() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM while the `with` block runs; raise the first one at its end.

    A second one is raised at once.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if came:
            _raise(number, frame)
        came.append(number)

    with _handled(note, *_BOTH):
        yield
    if came:
        _raise(came[0], None)


@contextmanager
def sigterm_stays_ours() -> Iterator[None]:
    """Put the handler of SIGTERM back that the `with` block replaces, as `ray.init` does."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


@contextmanager
def raised_once() -> Iterator[None]:
    """Raise the first Ctrl-C or SIGTERM while the `with` block runs, and ignore all others.

    For a process that its parent ends, and perhaps the terminal too.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for each in _BOTH:
            signal.signal(each, signal.SIG_IGN)
        _raise(number, frame)

    with _handled(stop, *_BOTH):
        yield


def _raise(number: int, _: FrameType | None) -> None:
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None], *numbers: int) -> Iterator[None]:
    """Handle these signals by `handler` in the block, except where somebody else handles them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    own, before = os.getpid(), dict[int, Any]()

    def handle(number: int, frame: FrameType | None) -> None:
        if os.getpid() == own:
            handler(number, frame)
        else:  # a fork, whose parent may want to end it
            signal.signal(number, before[number])
            signal.raise_signal(number)

    for number in numbers:
        found: Any = signal.getsignal(number)
        if found in _DEFAULTS or getattr(found, "__module__", "") == __name__:
            before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, found in before.items():
            signal.signal(number, found)
