"""Run batches of rows, in turn or several at once, and halve those that exceed the memory."""

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
    """Row that runs after the prefix: its ids, its pooled position, and its answers' positions."""

    ids: Ids
    at: int
    places: list[int]


def one_by_one(run: Callable[[S], T], batches: Sequence[S]) -> Iterator[T]:
    """Yield `run(batch)` for each batch; a batch runs only when its result is requested."""
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
    """Yield each batch, rows of one length and at most `most` ids, with the result of `run`.

    A batch that does not fit into memory is halved and run again, without the rows already yielded.
    A single row may have more than `most` ids. `on_halved`
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
    """Yield slices of rows of one length, each of at most `most` ids or of a single row."""
    size = max(1, most // max(1, ids_of(rows[0].ids)))
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def _from(grouped: Sequence[Sequence[AnswerRow]], done: int) -> Iterator[Sequence[AnswerRow]]:
    """Yield the groups without the first `done` rows of all groups together."""
    for rows in grouped:
        if done < len(rows):
            yield rows[done:]
        done = max(0, done - len(rows))


def _or_none(run: Callable[[Sequence[AnswerRow]], T], batch: Sequence[AnswerRow]) -> T | None:
    """Return `run(batch)`, or None if the batch does not fit into memory."""
    try:
        return run(batch)
    except (RuntimeError, MemoryError) as error:
        if memory.is_out_of_memory(error):
            return None  # the error would hold the batch's tensors
        raise


def too_small(ids: int) -> ScoreError:
    """Return the error for a single row of `ids` ids that does not fit into memory."""
    message = (
        f"out of memory with a single row of {ids} ids; free some, choose another device with "
        f"--rm-device, or a smaller type with --rm-dtype bfloat16"
    )
    return ScoreError(message)
