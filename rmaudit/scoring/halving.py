"""Batches of rows, run in turn or several at once; one that does not fit into memory is halved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple, TypeVar

from rmaudit.errors import ScoreError
from rmaudit.scoring import memory
from rmaudit.scoring.paths import Ids

S = TypeVar("S")
T = TypeVar("T")


class AnswerRow(NamedTuple):
    """What runs after the prefix: ids, where they are pooled, and the answers that they serve."""

    ids: Ids
    at: int
    places: list[int]


def one_by_one(run: Callable[[S], T], batches: Sequence[S]) -> Iterator[T]:
    """What `run` makes of each batch; the next runs when it is asked for."""
    for batch in batches:
        yield run(batch)


def in_batches(  # noqa: PLR0913  (what runs, and how)
    grouped: Sequence[Sequence[AnswerRow]],
    ids_of: Callable[[Ids], int],
    most: int,
    run: Callable[[Sequence[AnswerRow]], T],
    *,
    on_halved: Callable[[int], None] = lambda _: None,
    each: Callable[..., Iterator[T | None]] = one_by_one,
) -> Iterator[tuple[Sequence[AnswerRow], T]]:
    """Batches of rows of one length, of at most `most` ids, and what `run` makes of each.

    A batch that does not fit into memory is halved and run anew; what is done is kept. `on_halved`
    is called with the number of ids that run at once from then on. `each` is `one_by_one`, or runs
    several at once, and gives what they make in the same order.

    Raises:
        ScoreError: one row does not fit into memory.
    """
    left = list(grouped)
    while batches := [batch for rows in left for batch in _cut(rows, ids_of, most)]:
        done = 0
        with closing(each(partial(_or_none, run), batches)) as results:  # type: ignore[type-var]
            for batch, made in zip(batches, results, strict=True):
                if made is None:
                    break
                yield batch, made
                done += len(batch)
            else:
                return
        memory.release()
        ids = max(1, ids_of(batch[0].ids))
        if len(batch) == 1:
            raise too_small(ids)
        most = ids * (len(batch) // 2)
        on_halved(most)
        left = list(_from(left, done))


def _cut(
    rows: Sequence[AnswerRow], ids_of: Callable[[Ids], int], most: int
) -> Iterator[Sequence[AnswerRow]]:
    """Rows of one length, as many at a time as `most` ids are."""
    size = max(1, most // max(1, ids_of(rows[0].ids)))
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def _from(grouped: Sequence[Sequence[AnswerRow]], done: int) -> Iterator[Sequence[AnswerRow]]:
    """The groups without their first `done` rows."""
    for rows in grouped:
        if done < len(rows):
            yield rows[done:]
        done = max(0, done - len(rows))


def _or_none(run: Callable[[Sequence[AnswerRow]], T], batch: Sequence[AnswerRow]) -> T | None:
    """What `run` makes of a batch, or None if it does not fit into memory."""
    try:
        return run(batch)
    except (RuntimeError, MemoryError) as error:
        if memory.is_out_of_memory(error):
            return None  # the error would hold the batch's tensors
        raise


def too_small(ids: int) -> ScoreError:
    """The error of a row that does not fit into memory."""
    message = (
        f"out of memory with a single row of {ids} ids; free some, choose another device with "
        f"--rm-device, or a smaller type with --rm-dtype bfloat16"
    )
    return ScoreError(message)
