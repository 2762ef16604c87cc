"""Run as many token ids at once as the free memory has room for, and halve batches that exceed it.

A batch needs about `bytes_per_id` bytes for every id in it; a budget is half of the free memory on
an accelerator, and on a CPU at most half a gigabyte: there, larger batches are not faster.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple, TypeVar

import psutil
import torch
from torch import nn

from rmaudit.errors import ScoreError
from rmaudit.scoring.row_runners import Ids, device_of

_CPU_BUDGET, _CPU_IDS, _IDS = 512 * 2**20, 512, 16384  # ids: more make nothing faster
_ALLOCATION_FAILED = (  # how libraries say that an allocation failed, in small letters
    "out of memory",
    "can't allocate memory",
    "cublas_status_alloc_failed",
    "cublas_status_not_initialized",  # cuBLAS found no room for its handle
    "cudnn_status_alloc_failed",
)
S = TypeVar("S")
T = TypeVar("T")


def budget(backbone: nn.Module) -> int:
    """Return how many bytes activations may take on each device that holds a part of the backbone.

    On accelerators this is half of what is free on the fullest one. An accelerator of a kind that
    tells nothing of its memory is taken to share the host's. Weights that accelerate offloads are
    on no device ("meta"): they come to one when they are used.
    """
    held = {parameter.device for parameter in backbone.parameters()}
    devices = {device_of(backbone), *(device for device in held if device.type != "meta")}
    known = [free for device in devices if (free := free_on(device)) is not None]
    available = min(known) if known else int(psutil.virtual_memory().available)
    on_host = all(device.type == "cpu" for device in devices)
    return min(_CPU_BUDGET, available // 2) if on_host else available // 2


def ids_in(room: int, backbone: nn.Module, prefix: int, *, layers: int = 1) -> int:
    """Return how many ids may run at once in `room` bytes, after a prefix of `prefix` ids.

    The activations of `layers` layers stay in memory: of all of them for a gradient.
    """
    most = _CPU_IDS if device_of(backbone).type == "cpu" else _IDS
    return max(1, min(most, room // (layers * bytes_per_id(backbone, prefix))))


def free_on(device: torch.device) -> int | None:
    """Return an accelerator's free bytes, torch's own reserve included; None for other devices."""
    if device.type not in {"cuda", "xpu"}:
        return None
    free, _ = torch.accelerator.get_memory_info(device)
    used = torch.accelerator.memory_allocated(device)
    return int(free + torch.accelerator.memory_reserved(device) - used)


def bytes_per_id(backbone: nn.Module, prefix: int) -> int:
    """Estimate the peak bytes that one id's activations take in one layer.

    In the run's dtype: residual, normed, queries, keys, values and attention's output (8 hidden),
    gate, up and their product (3 intermediate), attention scores; in float32: the norm's inner
    values (2 hidden), the softmax's weights. Twice that, for what allocators leave unused.
    """
    config = backbone.config.get_text_config()  # type: ignore[union-attr, operator]
    hidden = config.hidden_size
    inner = getattr(config, "intermediate_size", None) or 4 * hidden
    scores = config.num_attention_heads * (prefix + 16)
    own = next(backbone.parameters()).element_size()
    return int(2 * (own * (8 * hidden + 3 * inner + scores) + 4 * (2 * hidden + scores)))


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an allocation failed, by the wording of torch, cuBLAS or cuDNN."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(said in text for said in _ALLOCATION_FAILED)


def release() -> None:
    """Collect garbage and empty the accelerator's cache, to free the memory of a failed batch."""
    gc.collect()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


class AnswerRow(NamedTuple):
    """Row that runs after the prefix: ids, position to pool at, and the answers it stands for."""

    ids: Ids
    at: int
    places: list[int]


def joined(groups: Sequence[Sequence[AnswerRow]], most: int) -> list[list[AnswerRow]]:
    """Join groups of rows, given shortest first, while they have at most `most` ids when padded."""
    found: list[list[AnswerRow]] = []
    for rows in groups:
        fits = found and (len(found[-1]) + len(rows)) * len(rows[-1].ids) <= most
        if fits and found[-1][0].ids:  # a row without ids is read from the prefix
            found[-1] += rows
        else:
            found.append(list(rows))
    return found


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
    """Run groups of rows in batches of at most `most` ids; yield each batch with its result.

    The rows of a group are equally long, or the shorter ones, which come first, are padded.

    A batch that does not fit into memory is halved and run again, without the rows already yielded.
    A single row may have more than `most` ids. `on_halved`
    is called with the number of ids that run at once from then on. `each` is `one_by_one`, or runs
    several at once, and gives what they make in the same order.

    Raises:
        ScoreError: one row does not fit into memory.
    """
    left = list(grouped)
    while batches := [batch for rows in left for batch in _slices(rows, ids_of, most)]:
        done = 0
        with closing(each(partial(_result_if_it_fits, run), batches)) as results:  # type: ignore[type-var]
            for batch, made in zip(batches, results, strict=True):
                if made is None:
                    break
                yield batch, made
                done += len(batch)
            else:
                return
        release()
        ids = max(1, ids_of(batch[-1].ids))
        if len(batch) == 1:
            raise row_does_not_fit(ids)
        most = ids * (len(batch) // 2)
        on_halved(most)
        left = list(_without_first_rows(left, done))


def _slices(
    rows: Sequence[AnswerRow], ids_of: Callable[[Ids], int], most: int
) -> Iterator[Sequence[AnswerRow]]:
    """Cut rows, the longest last, into slices of at most `most` ids each, or of one row."""
    size = max(1, most // max(1, ids_of(rows[-1].ids)))
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def _without_first_rows(
    grouped: Sequence[Sequence[AnswerRow]], done: int
) -> Iterator[Sequence[AnswerRow]]:
    """Yield the groups of rows without the first `done` rows, counted over all groups."""
    for rows in grouped:
        if done < len(rows):
            yield rows[done:]
        done = max(0, done - len(rows))


def _result_if_it_fits(
    run: Callable[[Sequence[AnswerRow]], T], batch: Sequence[AnswerRow]
) -> T | None:
    """Return `run(batch)`, or None if the batch does not fit into memory."""
    try:
        return run(batch)
    except (RuntimeError, MemoryError) as error:
        if is_out_of_memory(error):
            return None  # the error would hold the batch's tensors
        raise


def row_does_not_fit(ids: int) -> ScoreError:
    """Return the error for a single row of `ids` ids that does not fit into memory."""
    message = (
        f"out of memory with a single row of {ids} ids; free some, choose another device with "
        f"--rm-device, or a smaller type with --rm-dtype bfloat16"
    )
    return ScoreError(message)
