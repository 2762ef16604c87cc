"""Where weights go: one device, or spread over all of them."""

from __future__ import annotations

import math
from pathlib import Path

import torch

from rmaudit.checkpoints import source
from rmaudit.errors import ModelError
from rmaudit.scoring import memory

_ROOM = 1.2  # times the weights: what has to be free on a device that is to hold them


def device_map(device: str, folder: Path, dtype: str, *, name: str) -> str | dict[str, str]:
    """A `device_map` for transformers. "auto" is one GPU if the weights fit, all of them if not.

    Raises:
        ModelError: the device is not here; those that are, are named.
    """
    if device == "spread":
        return "auto"
    if device == "auto":
        if not torch.cuda.is_available():
            return {"": "cpu"}
        free = [memory.free_on(torch.device("cuda", i)) for i in range(torch.cuda.device_count())]
        fits = _ROOM * bytes_of(folder, dtype) < max(free)
        return {"": f"cuda:{free.index(max(free))}"} if fits else "auto"
    try:
        usable = torch.empty(0, device=device).device.type != "meta"  # which holds no weights
    except (RuntimeError, AssertionError, NotImplementedError):
        usable = False
    if not usable:
        known = ["auto", "cpu", "spread", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        message = f"{name}: no device {device!r} here; known: {', '.join(known)}"
        raise ModelError(message)
    return {"": device}


def bytes_of(folder: Path, dtype: str) -> int:
    """Size of a folder's weights in a dtype, whatever they were saved in; from their headers."""
    size = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    headers = source.read(source.Folder(folder.name, folder)).values()
    return size * sum(math.prod(header.shape) for header in headers)
