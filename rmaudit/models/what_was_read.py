"""Read what a trainer or a server may have taken for a model's rewards, by a name for each.

All are read off the states of one forward pass: by the head of a state of length 1, as embeddings
are scaled (sgl-project/sglang#36332); a state's last number, where no head was applied
(verl-project/verl#3352); a softmax over the head's outputs. Of an adapter also what is left where
its LoRA is not applied (vllm-project/vllm#41754), or its head is not (vllm-project/vllm#53555).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints import weights_headers
from rmaudit.checkpoints.heads.single_objective import OneOutput
from rmaudit.layout.answer_slot import Ids
from rmaudit.models.checkpoint_model import Checkpoint

if TYPE_CHECKING:
    from torch import Tensor

    from rmaudit.scoring import Head

Read = Callable[["Head", Ids, "Tensor"], "Tensor"]
"""Maps a head, a row of n ids and its final states (n, hidden) to a number for each id, (n,)."""
Values = list[NDArray[np.float32]]  # of each row, the numbers at its ids


def reward(head: Head, row: Ids, states: Tensor) -> Tensor:
    """Return the head's own reward at each id of the row, (n,)."""
    found: Tensor = head.after(row, states)(states)
    return found


def _unit(states: Tensor) -> Tensor:
    found: Tensor = states / states.norm(dim=-1, keepdim=True)
    return found


def _softmax(head: Head, row: Ids, states: Tensor) -> Tensor:
    """Return the chosen output's share; of a head with one output it is 1 everywhere."""
    if not isinstance(head, OneOutput):
        return states.new_ones(len(states))
    return reward(head.every, row, states).softmax(-1)[..., head.at]


_OF_STATES: Mapping[str, Read] = {
    "": reward,
    "unit state": lambda head, row, states: reward(head, row, _unit(states)),
    "last number": lambda _, __, states: states[..., -1],
    "unit last number": lambda _, __, states: _unit(states)[..., -1],
    "softmax": _softmax,
}


def as_it_is(model: Checkpoint, rows: Mapping[str, Sequence[Ids]]) -> dict[tuple[str, str], Values]:
    """Return the model's rewards at all ids of the rows of each layout, by ("", layout)."""
    return _read(model, rows, {"": reward})


def everything(
    model: Checkpoint, rows: Mapping[str, Sequence[Ids]]
) -> Iterator[dict[tuple[str, str], Values]]:
    """Yield what may have been read at all ids of the rows of each layout, by (name, layout).

    First what is read off the model's own states; then, of an adapter, off its base's, whose
    weights are loaded for it.

    Raises:
        ModelError: the weights cannot be loaded.
    """
    if (adapter := model.adapter) is None:
        yield _read(model, rows, _OF_STATES)
        return
    of_base: dict[str, Read] = {}
    shapes, there = model.rows.checked.head_shapes, adapter.headers
    if all(key in there and there[key].shape == shape for key, shape in shapes.items()):
        head = model.rows.head_of(weights_headers.tensors(adapter.base.path, frozenset(shapes)))
        of_base = {"base head": lambda _, row, states: reward(head, row, states)}
    yield _read(model, rows, {**_OF_STATES, **of_base})
    bare = model.with_adapter(adapter.unapplied())
    try:
        renamed = dict(zip(("base",), of_base.values(), strict=False))
        yield _read(bare, rows, {"no adapter": reward, **renamed})
    finally:
        bare.close()


def _read(
    model: Checkpoint, rows_by_layout: Mapping[str, Sequence[Ids]], reads: Mapping[str, Read]
) -> dict[tuple[str, str], Values]:
    """Return what each of `reads` gives at each id of the rows, by its name and the layout's."""
    if not rows_by_layout:
        return {}
    row = next(iter(rows_by_layout.values()))[0]
    weights = model.weights(row[:-1], row[-1:])
    found: dict[tuple[str, str], Values] = {}
    for way, rows in rows_by_layout.items():
        each = weights.at_each_id(rows, list(reads.values()))
        found |= {(name, way): values for name, values in zip(reads, each, strict=True)}
    return found
