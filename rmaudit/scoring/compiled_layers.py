"""Speed up layers by torch.compile, which fuses small kernels; attention is not compiled.

On a GPU a layer runs some fifty kernels, most of them small; fused, they move less memory. The
rewards are the same but for rounding, which is tried on the model before its first score. The
model's own forward, gradients and checks in float32 run without it (`as_written`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers import AttentionInterface

from rmaudit.errors import ModelError
from rmaudit.scoring import ATTENTION, ScoringPath
from rmaudit.scoring.shared_prefix_attention import attend

if TYPE_CHECKING:
    from rmaudit.scoring.scorer import Scorer

Backend = str | Callable[..., Any]


def fuse(scorer: Scorer, *, name: str, backend: Backend = "inductor") -> None:
    """Mark the backbone's layers, in place, to be compiled by `backend` when they first run.

    It registers attention again, uncompiled: attention depends on its layer's index, so that
    torch would compile it once for each layer. `name` is the model's name in errors.

    Raises:
        ModelError: the backbone has no list of layers, shares no prefix, or is on several GPUs.
    """
    layers = getattr(scorer.backbone, "layers", None)
    reason = ""
    if not isinstance(layers, nn.ModuleList):
        reason = f"{type(scorer.backbone).__name__} has no list of layers that could be compiled"
    elif scorer.path is not ScoringPath.SHARED_PREFIX:
        reason = f"only layers of the path {ScoringPath.SHARED_PREFIX.value!r} can be compiled"
    elif scorer.pipeline is not None:
        reason = "layers that are spread over several GPUs were never tried compiled"
    if reason:
        raise ModelError(f"{name}: {reason}; remove `compiled` from its entry in models.yaml")
    assert layers is not None  # noqa: S101  (for types)
    AttentionInterface.register(ATTENTION, torch.compiler.disable(attend))  # type: ignore[no-untyped-call]
    for layer in layers:
        layer.compile(dynamic=True, backend=backend)
    scorer.compiled = True


def as_written(scorer: Scorer) -> AbstractContextManager[object]:
    """Return a context in which the scorer's layers run uncompiled."""
    if not scorer.compiled:
        return nullcontext()
    stance: AbstractContextManager[object] = torch.compiler.set_stance("force_eager")
    return stance
