"""Measure how fast this machine multiplies matrices, to estimate how long scoring takes on it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_ROWS, _WIDTH = 512, 2048  # of the products: as large as those of a small model's batch
_FLOPS = 2.0 * _ROWS * _WIDTH * _WIDTH
_ENOUGH = 0.3  # seconds of products


@dataclass(frozen=True, slots=True)
class Machine:
    """The device that a model would run on, and the FLOP/s of its matrix products just now."""

    device: str
    rate: float


def measured(device: str, dtype: str) -> Machine | None:
    """Measure the FLOP/s of matrix products of `dtype` (CPU: float32) on `device`; None without it.

    It takes less than a second.
    `device` is as for a run: "auto" and "spread" mean a GPU where there is any, else the CPU. In
    float32, a CPU needs no torch: a plan loads none. Other work on the machine makes the rate
    smaller.
    """
    if device == "cpu" or (device in {"auto", "spread"} and shutil.which("nvidia-smi") is None):
        one, other = np.ones((_ROWS, _WIDTH), np.float32), np.ones((_WIDTH, _WIDTH), np.float32)
        return Machine("CPU", _rate(lambda: one @ other))
    return _measured_gpu("cuda" if device in {"auto", "spread"} else device, dtype)


def _measured_gpu(device: str, dtype: str) -> Machine | None:
    import torch

    try:
        one = torch.ones(_ROWS, _WIDTH, dtype=getattr(torch, dtype), device=device)
        other = torch.ones(_WIDTH, _WIDTH, dtype=one.dtype, device=device)
        return Machine(device, _rate(lambda: float((one @ other)[0, 0])))  # waits for the product
    except (RuntimeError, AssertionError):  # the latter where torch was built without CUDA
        return None


def _rate(multiply: Callable[[], object]) -> float:
    """Return the highest FLOP/s of several calls of `multiply`; the first one does not count."""
    multiply()
    fastest, begun = float("inf"), time.perf_counter()
    while time.perf_counter() - begun < _ENOUGH:
        start = time.perf_counter()
        multiply()
        fastest = min(fastest, time.perf_counter() - start)
    return _FLOPS / fastest
