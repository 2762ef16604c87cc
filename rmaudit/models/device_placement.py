"""Choose devices for weights: one GPU if they fit, else all GPUs; the CPU only without a GPU.

Nothing here loads weights: their size comes from the headers of the files.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import torch

from rmaudit.checkpoints import checkpoint_source, process_locks
from rmaudit.checkpoints.third_party_errors import brief
from rmaudit.errors import ModelError
from rmaudit.scoring import memory_sized_batches

ROOM = 1.2  # times the weights: what has to be free on one device that is to hold them
USABLE = 0.9  # of the free memory of several GPUs: the share that accelerate fills with weights
_WORKER = "PYTEST_XDIST_WORKER"
_NO_GPU = ("no nvidia driver", "no nvidia gpus", "no cuda gpus", "no cuda-capable device")
_NARROWER = "choose a smaller type with --rm-dtype bfloat16"


def device_map(device: str, folder: Path, dtype: str, *, name: str) -> str | dict[str, str]:
    """Return transformers' `device_map` for `device`; "auto" is one GPU, else all, else the CPU.

    "auto" is one GPU if the weights fit there, and all GPUs if not; the CPU if there is no GPU.
    "spread" uses all devices; other names are torch's.

    Raises:
        ModelError: the device is not here, or nobody asked for the host's memory and the GPUs
            have no room for all of the weights.
    """
    if device == "spread":
        return "auto"
    if device != "auto":
        _refuse_missing(device, name)
        return {"": device}
    if not torch.cuda.is_available():
        if why := why_no_gpu():
            warnings.warn(f"{name}: it runs on the CPU, since {why}", stacklevel=2)
        return {"": "cpu"}
    size = bytes_of(folder, dtype)
    found = one_gpu(torch.cuda.device_count(), _free_on, ROOM * size, os.environ.get(_WORKER, ""))
    if found is not None:
        return {"": f"cuda:{found}"}
    free = [_free_on(gpu) for gpu in range(torch.cuda.device_count())]
    if size > USABLE * sum(free):
        raise too_large(name, dtype, size, free)
    return "auto"


def one_gpu(
    count: int, free_on: Callable[[int], int], needed: float, worker: str = ""
) -> int | None:
    """Return the `worker`'s own GPU or the freest, if over `needed` bytes are free there, or None.

    A GPU is an index below `count`; `free_on` gives its free bytes. A `worker` of xdist, gw0, gw1
    ..., looks at its own GPU first, and at no other if the weights fit there: to look at a GPU
    takes memory of it.
    """
    if (own := re.fullmatch(r"gw(\d+)", worker)) and free_on(int(own[1]) % count) > needed:
        return int(own[1]) % count
    free = [free_on(gpu) for gpu in range(count)]
    return free.index(max(free)) if max(free) > needed else None


def refuse_offloaded(device: str, places: Collection[object], *, name: str) -> None:
    """Raise if `device` is "auto" and some weights went to the host's memory or to disk.

    `places` are the devices that transformers chose.

    Raises:
        ModelError: some are on "cpu" or "disk" beside a GPU, and `device` is "auto".
    """
    slow = {str(place) for place in places} & {"cpu", "disk"}
    if device == "auto" and slow and len({str(place) for place in places}) > 1:
        message = (
            f"{name}: the GPUs have no room for all of its weights, and some would be on "
            f"{' and '.join(sorted(slow))}, from where each batch has to fetch them. Free memory "
            f"on the GPUs, {_NARROWER}, or accept many times the duration with --rm-device spread"
        )
        raise ModelError(message)


def too_large(name: str, dtype: str, size: int, free: Sequence[int]) -> ModelError:
    """Return the error for weights of `size` bytes that do not fit on all GPUs together."""
    each = ", ".join(f"cuda:{gpu} {left / 2**30:.1f}" for gpu, left in enumerate(free))
    message = (
        f"{name}: its weights take {size / 2**30:.1f} GiB in {dtype}, and the GPUs have room for "
        f"{USABLE * sum(free) / 2**30:.1f} (free GiB: {each}). Free memory on the GPUs, "
        f"{_NARROWER}, or let the rest go to the host's memory, which takes many times as long, "
        f"with --rm-device spread"
    )
    return ModelError(message)


def bytes_of(folder: Path, dtype: str) -> int:
    """Return how many bytes a folder's weights take in `dtype`, however they were saved."""
    size = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    headers = checkpoint_source.read(checkpoint_source.Folder(folder.name, folder)).values()
    return size * sum(math.prod(header.shape) for header in headers)


def why_no_gpu() -> str:
    """Return why torch cannot use this machine's GPU; "" if it can or there is no GPU."""
    if torch.version.cuda is None or torch.cuda.is_available():
        return ""
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        found = brief(error)
        return "" if any(text in found.lower() for text in _NO_GPU) else f"torch says: {found}"
    return ""


@contextmanager
def one_loads_at_a_time(device: str) -> Iterator[None]:
    """Hold a lock in a `with` block, so that one xdist worker at a time loads onto a GPU.

    Several workers would otherwise all see the memory that only one of them can take. Without
    xdist, without a GPU, or if `device` is not "auto", no lock is held.
    """
    alone = device != "auto" or not os.environ.get(_WORKER) or not torch.cuda.is_available()
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    lock = Path(tempfile.gettempdir()) / f"rmaudit-gpus-{user}"
    with nullcontext() if alone else process_locks.held(lock, doing="loading weights onto a GPU"):
        yield


def _refuse_missing(device: str, name: str) -> None:
    why, usable = "", False
    with suppress(RuntimeError):  # it is the name of no device
        at = torch.device(device)
        try:
            usable = torch.empty(0, device=at).device.type != "meta"  # which holds no weights
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            why = f" ({brief(error)})"
    if not usable:
        known = ["auto", "cpu", "spread", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        message = f"{name}: no device {device!r} here{why}; known: {', '.join(known)}"
        raise ModelError(message)


def _free_on(gpu: int) -> int:
    return memory_sized_batches.free_on(torch.device("cuda", gpu)) or 0
