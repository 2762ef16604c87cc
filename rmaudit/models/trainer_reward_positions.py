"""Find where a trainer may have read rewards, and fit its logged rewards to rmaudit's.

A reading is an index for each row, -1 where the trainer read a pad, whose reward is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmaudit.layout.answer_slot import Ids
from rmaudit.models.trainer_row_layouts import Marks, last_of

_BATCHES = (2, 4, 8, 16, 32, 64)  # rows that were padded together, where nothing says how many
Rewards = NDArray[np.float64]


class Reading(NamedTuple):
    """A rule by which a trainer read rewards: its name, and the index at which it reads each row.

    The name `cause` is "" for the model's own rule.
    """

    cause: str
    places: tuple[int, ...]
    detail: str = ""


def readings(
    rows: Sequence[Ids], pads_before: Sequence[int], marks: Marks, pad: int | None
) -> Iterator[Reading]:
    """Yield rules for the index at which a trainer may read a row's reward, the model's own first.

    `pads_before` counts the pads before each row as it was logged; `pad` is the id that the model's
    own rule skips.
    """
    yield Reading("", tuple(_rightmost(row, frozenset({pad})) for row in rows))
    yield Reading("last id", tuple(len(row) - 1 for row in rows))
    yield Reading("pad is eos", tuple(_rightmost(row, marks.ends) for row in rows), "before it")
    first = [next((i for i, one in enumerate(row) if one in marks.ends), len(row)) for row in rows]
    yield Reading("pad is eos", tuple(max(i - 1, 0) for i in first), "before the first of them")
    closing = marks.suffix[0] if marks.suffix else None
    turn = [next((i for i, one in enumerate(row) if one == closing), len(row)) for row in rows]
    yield Reading("pad is eos", tuple(max(i - 1, 0) for i in turn), "before the first turn's end")
    if marks.joint:
        yield Reading("prompt's end", tuple(last_of(marks.joint, row) for row in rows))
    yield Reading("one early", tuple(max(len(row) - 2, 0) for row in rows))
    if any(pads_before):
        yield _left_padded(rows, pads_before, "")
        return
    for size in (*(n for n in _BATCHES if n < len(rows)), len(rows)):
        batches = [range(k, min(k + size, len(rows))) for k in range(0, len(rows), size)]
        longest = {i: max(len(rows[j]) for j in batch) for batch in batches for i in batch}
        pads = [longest[i] - len(row) for i, row in enumerate(rows)]
        yield _left_padded(rows, pads, f"batches of {size}")


def _left_padded(rows: Sequence[Ids], pads: Sequence[int], detail: str) -> Reading:
    """Return the rule of a trainer that ignores left padding, and reads each row `pads` ids early.

    The index -1 stands for any pad. `detail` says how rows were batched, "" if pads were logged.
    """
    places = tuple(max(len(row) - 1 - pad, -1) for row, pad in zip(rows, pads, strict=True))
    return Reading("left padding", places, detail)


def _rightmost(row: Ids, skipped: frozenset[int | None]) -> int:
    return next((i for i in reversed(range(len(row))) if row[i] not in skipped), 0)


class Fit(NamedTuple):
    """A fit of logged rewards to rmaudit's rewards (ours): logged = scale · ours + offset.

    Attributes:
        causes: the deviations by name, such as "sign"; none where ours equal the logged ones.
        rms: the root mean square difference, in sd of ours.
        scale: the factor by which ours are multiplied.
        offset: the number that is added to them.
    """

    causes: tuple[str, ...]
    rms: float
    scale: float
    offset: float


def fits(ours: Rewards, logged: Rewards, allowed: float, *, any_order: bool) -> Iterator[Fit]:
    """Yield possible fits of n logged rewards to ours, both of shape (n,), the simplest first.

    NaN among ours are left out; if ours are all equal, there is no fit. `allowed` is the rms
    difference, in sd, up to which rewards are taken as equal. With `any_order`, any order of the
    rows is tried, which tells little if rewards are not exact.
    """
    for name, order in _orders(len(ours)):
        moved = ours if order is None else ours[order]
        swapped = () if order is None else (name,)
        known = np.isfinite(moved)
        if known.sum() < max(4, 0.5 * len(ours)) or not np.ptp(moved[known]):
            continue
        yield from _affine_fits(moved[known], logged[known], swapped, allowed)
    if any_order and np.isfinite(ours).all() and np.ptp(ours):
        order = np.argsort(np.argsort(logged))
        swapped = ("swapped rows",)
        yield from _affine_fits(np.sort(ours)[order], logged, swapped, allowed, affine=False)


def _affine_fits(
    ours: Rewards, logged: Rewards, swapped: tuple[str, ...], allowed: float, *, affine: bool = True
) -> Iterator[Fit]:
    # A hundred thousand fits are tried of few rows each: of these np.std and np.cov are slow.
    mean, logged_mean = ours.sum() / len(ours), logged.sum() / len(logged)
    centred, logged_centred = ours - mean, logged - logged_mean
    sd = _root_mean_square(centred)
    equal = _root_mean_square(logged - ours) / sd
    yield Fit(swapped, equal, 1.0, 0.0)
    if not affine or equal <= allowed:
        return
    yield Fit((*swapped, "sign"), _root_mean_square(logged + ours) / sd, -1.0, 0.0)
    left = _root_mean_square(logged_centred - centred) / sd
    yield Fit((*swapped, "offset"), left, 1.0, float(logged_mean - mean))
    if logged_centred.any():
        scale = float(centred @ logged_centred) / len(ours) / sd**2
        offset = float(logged_mean - scale * mean)
        if scale:
            left = _root_mean_square(logged_centred - scale * centred) / abs(scale) / sd
            signs = ("sign",) if scale < 0 else ()
            yield Fit((*swapped, *signs, "scale"), left, scale, offset)
    if logged.min() > 0 and logged.max() < 1:
        inner = np.log(logged / (1 - logged))
        yield Fit((*swapped, "sigmoid"), _root_mean_square(inner - ours) / sd, 1.0, 0.0)


def _root_mean_square(values: Rewards) -> float:
    return math.sqrt(float(values @ values) / len(values))


def _orders(count: int) -> Iterator[tuple[str, NDArray[np.intp] | None]]:
    """Yield likely mix-ups of rows as (name, row order); first ("", None), which is no mix-up."""
    rows = np.arange(count)
    yield "", None
    if count % 2 == 0:
        yield "swapped pairs", rows ^ 1
        yield "swapped pairs", np.roll(rows, count // 2)
        blocks = np.concatenate([rows[::2], rows[1::2]])
        yield "swapped rows", blocks
        yield "swapped rows", np.argsort(blocks)
    yield "swapped rows", rows[::-1]
    yield "swapped rows", np.roll(rows, 1)
    yield "swapped rows", np.roll(rows, -1)
