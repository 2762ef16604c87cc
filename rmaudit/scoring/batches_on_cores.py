"""Run several batches at once on a CPU, each on a few cores, in place of one batch on all of them.

Threads that share a batch wait for each other after each of its thousand operations. They wait by
spinning, so beside another busy process they burn the core that it needs, and where one operation
is too small to be shared, all but one of them idle. Batches wait for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

S = TypeVar("S")
T = TypeVar("T")


def run(at_once: int, one: Callable[[S], T], batches: Sequence[S]) -> Iterator[T]:
    """Yield `one(batch)` for each batch, in order; at most `at_once` of them run at a time.

    torch's threads are divided among these. Whoever stops early waits only for batches under way.
    Raises as `one` does.
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
    try:
        for future in [pool.submit(one, batch) for batch in batches]:
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)
