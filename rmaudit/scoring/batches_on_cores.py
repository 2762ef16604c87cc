"""Run several batches at once on a CPU, each on a few cores, in place of one batch on all of them.

Threads that share a batch wait for each other after each of its thousand operations. They wait by
spinning, so beside another busy process they burn the core that it needs, and where one operation
is too small to be shared, all but one of them idle. Batches wait for nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch.overrides import TorchFunctionMode

S = TypeVar("S")
T = TypeVar("T")


class _Stopped(Exception):  # noqa: N818  (nobody sees it)
    """Ends a batch that nobody waits for any more."""


def run(at_once: int, one: Callable[[S], T], batches: Sequence[S]) -> Iterator[T]:
    """Yield `one(batch)` for each batch, in order; at most `at_once` of them run at a time.

    torch's threads are divided among these. If the caller stops early or a batch raises, batches
    under way end at their next call of torch. Raises as `one` does.
    """
    at_once = min(at_once, len(batches))
    if at_once < 2:  # noqa: PLR2004  (one batch takes all threads)
        yield from map(one, batches)
        return
    threads = torch.get_num_threads()
    # torch keeps this number for each thread, and another for threads that come later.
    pool = ThreadPoolExecutor(
        at_once, "rmaudit", torch.set_num_threads, (max(1, threads // at_once),)
    )
    stopped = threading.Event()

    def until_stopped(batch: S) -> T:
        with _UntilStopped(stopped):
            return one(batch)

    try:
        for future in [pool.submit(until_stopped, batch) for batch in batches]:
            yield future.result()
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


class _UntilStopped(TorchFunctionMode):
    """Raises `_Stopped` in this thread's next call of torch once the event is set."""

    def __init__(self, stopped: threading.Event) -> None:
        super().__init__()
        self.stopped = stopped

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401  (torch's own signature)
        if self.stopped.is_set():
            raise _Stopped
        return func(*args, **(kwargs or {}))
