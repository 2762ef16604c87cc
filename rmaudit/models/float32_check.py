"""A 16-bit model in float32 for the length of a check, where memory allows.

In 16 bits a reward's noise hides a path that is wrong for a few ids; in float32 nothing does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import torch
from torch import Tensor, nn

from rmaudit.models.loading import Weights
from rmaudit.scoring import memory
from rmaudit.scoring.compiled import as_written

HALF = (torch.bfloat16, torch.float16)
_ROOM = 1.2  # times the copies: what has to be free on the device that is to hold them


def obstacle(model: nn.Module) -> str:
    """Return why the model cannot run in float32 beside its own tensors, or "" if it can."""
    needed: Counter[torch.device] = Counter()
    for tensor in _tensors(model):
        if tensor.is_meta:
            return "a part of its weights is not in memory"
        if tensor.dtype.itemsize == 1 and tensor.dtype is not torch.bool:
            return "its weights are quantized"
        needed[tensor.device] += 4 * tensor.numel() * (tensor.dtype in HALF)
    for device, size in needed.items():
        free = memory.free_on(device)
        if _ROOM * size > (psutil.virtual_memory().available if free is None else free):
            return f"float32 does not fit into the memory of {str(device)!r} beside its weights"
    return ""


@contextmanager
def widened(weights: Weights) -> Iterator[None]:
    """Run the model in float32 meanwhile; its own tensors are put back afterwards."""
    scorer = weights.scorer
    own = [(tensor, tensor.data) for tensor in _tensors(weights.model) if tensor.dtype in HALF]
    size = scorer.ids_per_batch  # found for the model as it is
    try:
        scorer.forget()
        for tensor, data in own:
            tensor.data = data.float()
        with as_written(scorer):  # to compile the layers for float32 takes longer than the check
            yield
    finally:
        for tensor, data in own:
            tensor.data = data
        scorer.forget()
        scorer.ids_per_batch = size
        memory.release()


def _tensors(model: nn.Module) -> Iterator[Tensor]:
    yield from model.parameters()
    yield from model.buffers()
