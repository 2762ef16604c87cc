"""Score by functions and servers outside rmaudit, in concurrent batches; check the results."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.errors import ScoreError
from rmaudit.models.checked_numbers import finite

_NO_LISTS = (str, bytes, bytearray, Mapping, set, frozenset)  # a set has an order of its own
STOP_AGAIN = 0.2  # seconds
_GRACE = 1.0  # seconds that calls under way have to end once one has failed
T = TypeVar("T")


def do_nothing() -> None:
    """Do nothing: the default of `Pace.stop`, for calls that cannot be ended early."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of calls to a scorer: `answers` responses per call, and `at_once` calls at a time.

    `stop` is called to end, soon, the calls that are under way.
    """

    answers: int
    at_once: int = 1
    stop: Callable[[], None] = do_nothing


def in_batches(
    ask: Callable[[Sequence[T]], list[float]],
    asked: Sequence[T],
    pace: Pace,
    on_progress: Callable[[int], None],
) -> NDArray[np.float32]:
    """Call `ask` on batches of `asked`, several at once; return all scores in order, shape (n,).

    Raises as `ask` does. Once a batch fails, or somebody presses Ctrl-C, no other batch is begun,
    and those under way are ended; one that has not ended after a second is left alone, since
    nothing can end a function.
    """
    size = pace.answers
    batches = [asked[first : first + size] for first in range(0, len(asked), size)]
    found: list[float] = []
    coming = _begun([partial(ask, batch) for batch in batches], pace.at_once)
    try:
        for batch, scores in zip(batches, coming, strict=True):
            found += scores.result()
            on_progress(len(batch))
    except BaseException:
        under_way = [scores for scores in coming if not scores.cancel()]
        patience = time.monotonic() + _GRACE
        while wait_for(under_way, STOP_AGAIN).not_done and time.monotonic() < patience:
            pace.stop()  # again and again: one may have been about to ask
        raise
    return np.array(found, dtype=np.float32)


def _begun(calls: Sequence[Callable[[], T]], at_once: int) -> list[Future[T]]:
    """Begin calls in order, `at_once` at a time; return their futures, which can be cancelled.

    In threads that no process waits for at its end, as it does for those of an executor.
    """
    coming: list[Future[T]] = [Future() for _ in calls]
    left = deque(zip(calls, coming, strict=True))

    def work() -> None:
        while left:
            try:
                call, future = left.popleft()
            except IndexError:  # another thread has taken the last
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001  (whoever asks for the result raises it)
                future.set_exception(error)

    for _ in range(min(at_once, len(calls))):
        Thread(target=work, daemon=True).start()
    return coming


def by_prompt(
    score: Callable[..., NDArray[np.float32]],
    prompts: Sequence[Any],
    responses: Sequence[str],
    on_progress: Callable[[int], None],
) -> NDArray[np.float32]:
    """Score each response to the prompt at its index, (n,); adjacent equal prompts share a call."""
    parts, first = [np.empty(0, np.float32)], 0
    for prompt, same in groupby(prompts):
        after = first + len(list(same))
        parts.append(score(prompt, responses[first:after], on_progress=on_progress))
        first = after
    return np.concatenate(parts)


def checked_rewards(given: Any, asked: Sequence[object], whose: str) -> list[float]:  # noqa: ANN401  (anything)
    """Return `given` as floats; raise unless it has one finite number per response in `asked`.

    `whose` begins the error messages, such as "NAME: its server".

    Raises:
        ScoreError: `given` is no list, of another length, or holds anything but finite numbers.
    """
    try:
        scores = None if isinstance(given, _NO_LISTS) or not hasattr(given, "__len__") else [*given]
    except TypeError:  # an array of no dimension
        scores = None
    if scores is None:
        message = f"{whose} returned {_short(given)}, allowed: a list of "
        raise ScoreError(f"{message}{len(asked)} numbers, one for each response")
    if len(scores) != len(asked):
        message = f"{whose} returned {len(scores)} scores for "
        raise ScoreError(f"{message}{len(asked)} responses; return one for each, in order")
    for score, response in zip(scores, asked, strict=True):
        if finite(score) is None:
            message = f"{whose} gave {_short(score)} for the response "
            raise ScoreError(f"{message}{_short(response)}, allowed: finite numbers")
    return [float(score) for score in scores]


def _short(value: object) -> str:
    return short(repr(value))
