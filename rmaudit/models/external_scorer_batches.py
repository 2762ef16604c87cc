"""Score by functions and servers outside rmaudit, in concurrent batches; check the results.

Which numbers are rewards is one rule for all that read them: servers, functions and files.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from numbers import Real
from threading import Thread
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.errors import ModelError, ScoreError

_NO_LISTS = (str, bytes, bytearray, Mapping, set, frozenset)  # a set has an order of its own
STOP_AGAIN = 0.2  # seconds
_GRACE = 1.0  # seconds that calls under way have to end once one has failed
_LARGEST = float(np.finfo(np.float32).max)  # rewards are stored so
_SUM = 1.001  # of two probabilities, with what rounding adds
_EQUAL = 1e-6  # of the largest reward: less apart is the same reward
T = TypeVar("T")
Progress: TypeAlias = Callable[[int], None]


def unwatched(_: int) -> None:
    """Do nothing: the default of `on_progress`, which gets how many more answers are scored."""


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
    on_progress: Progress,
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
    on_progress: Progress,
) -> NDArray[np.float32]:
    """Score each response to the prompt at its index, (n,); adjacent equal prompts share a call."""
    parts, first = [np.empty(0, np.float32)], 0
    for prompt, same in groupby(prompts):
        after = first + len(list(same))
        parts.append(score(prompt, responses[first:after], on_progress=on_progress))
        first = after
    return np.concatenate(parts)


def finite(value: object) -> float | None:
    """Return a number as a float; None for all else, NaN and what float32 does not hold.

    JSON's true is no number, and its whole numbers may have more digits than any float.
    """
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= _LARGEST else None


def log_odds(yes: object, no: object, *, logs: bool) -> float | None:
    """Return log P(yes) - log P(no); None unless both are probabilities that two words can have.

    They are given as natural logarithms if `logs`. Each is above 0, and both together up to 1.
    """
    one, other = finite(yes), finite(no)
    if one is None or other is None:
        return None
    if not logs:
        if min(one, other) <= 0:
            return None
        one, other = math.log(one), math.log(other)
    if max(one, other) > 0 or math.exp(one) + math.exp(other) > _SUM:
        return None
    return one - other


def refuse_no_rewards(rewards: Sequence[float], whose: str, hint: str, *, logits: bool) -> None:
    """Raise if the rewards of a few different test answers show that nothing judges answers.

    `whose` begins the error and `hint` ends it. With `logits`, numbers that all lie within 0 and 1
    are refused too: an activation was applied, after which rewards cannot be compared.

    Raises:
        ModelError: all are equal, or within 0 and 1.
    """
    least, most = min(rewards), max(rewards)
    if most - least <= _EQUAL * max(abs(least), abs(most)):
        raise ModelError(f"{whose} gives {most:g} for each of {len(rewards)} answers; {hint}")
    if logits and least >= 0 and most <= 1:
        message = f"{whose} gives no logits: {len(rewards)} rewards are within 0 to 1, as after a "
        raise ModelError(f"{message}sigmoid or softmax, so they cannot be compared; {hint}")


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
