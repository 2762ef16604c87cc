"""Multiply float32 matrices on a CPU by oneDNN, which is faster than torch's default.

PyTorch multiplies float32 by MKL, which leaves the widest registers of AMD's processors unused.
oneDNN, the other library in every build of PyTorch, uses them: on an EPYC with AVX-512 a sweep is
1.9 times as fast (`python -m lab sweep`). Sums are added in another order, so rewards differ
in their last digits, as they do between machines. The model's own forward, by which numeric noise
is measured, does without.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

_MIN_ROWS = 16  # rows: for fewer, MKL is as fast


def fast_products(backbone: nn.Module) -> AbstractContextManager[object]:
    """Return a context in which linear layers of a float32 backbone on a CPU run by oneDNN.

    Whoever switches oneDNN off (`torch.backends.mkldnn.enabled = False`) has torch's default.
    """
    first = next(backbone.parameters(), None)
    suits = first is not None and first.device.type == "cpu" and first.dtype is torch.float32
    wanted: object = torch.backends.mkldnn.enabled  # a property of the module
    return _ByOneDnn() if suits and wanted and available() else nullcontext()


class _ByOneDnn(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Any,  # noqa: ANN401  (any function of torch)
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """Run torch's `linear` by oneDNN where it suits, and other functions as torch does."""
        if func is linear and not kwargs and _suits(*args[:2]):
            return _multiplied(*args)
        return func(*args, **(kwargs or {}))


def _suits(rows: Tensor, weight: Tensor) -> bool:
    return (
        rows.dtype is weight.dtype is torch.float32
        and rows.dim() > 1
        and rows.numel() >= _MIN_ROWS * rows.shape[-1]
        and weight.is_contiguous()
        and not torch.is_grad_enabled()  # oneDNN's function has no gradient
        and not torch.is_autocast_enabled("cpu")  # and knows no autocast
    )


def _multiplied(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `linear(rows, weight, bias)` as oneDNN computes it, shape (..., out)."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(  # noqa: SLF001  (it has no other name)
        rows.contiguous(), weight, bias, "none", [], ""
    )
    return product


@cache
def available() -> bool:
    """Return whether this PyTorch has oneDNN's linear product, and it agrees with `linear`."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    numbers = torch.linspace(-1, 1, 32 * 24)
    rows, weight, bias = numbers.view(32, 24), numbers.view(32, 24).sin(), numbers[:32]
    try:
        with torch.inference_mode():
            found = _multiplied(rows, weight, bias)
            return bool(torch.allclose(found, linear(rows, weight, bias), rtol=1e-5, atol=1e-5))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):  # another version's
        return False
