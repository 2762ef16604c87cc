"""Count what a GPU would run, on tensors of the meta device, which hold no numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoConfig, AutoModelForSequenceClassification

from rmaudit.checkpoints.heads.linear import Linear
from rmaudit.scoring import ATTENTION, ScoringPath, engine, row_runners
from rmaudit.scoring.engine import Scorer

_READING = {Tensor.item, Tensor.tolist, Tensor.__bool__, Tensor.__float__, Tensor.__int__}
_ALLOCATES = {"aten.empty", "aten.new_empty", "aten.empty_like", "aten.empty_strided"}


class Kernels(TorchDispatchMode):
    """Counts the operations that compute or copy, and the bytes that they read and write.

    Views and allocations are none. On meta `.item()` raises, so a forward that ends waits for no
    GPU; tensors of two devices in one operation are refused here.
    """

    def __init__(self) -> None:
        """Nothing is counted yet."""
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.bytes = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run the operation, and count it."""
        made = func(*args, **(kwargs or {}))
        name = str(func).rpartition(".")[0]
        if not func.is_view and name not in _ALLOCATES and name != "aten._unsafe_view":
            tensors = [one for one in tree_leaves((args, kwargs, made)) if isinstance(one, Tensor)]
            devices = {one.device for one in tensors if one.dim()}
            assert len(devices) < 2, f"{name} has tensors on {devices}"
            self.counts[name] += 1
            self.bytes += sum(one.numel() * one.element_size() for one in tensors)
        return made


def of_a_layer(shape: Mapping[str, Any], *, prefix: int = 45, rows: int = 512) -> tuple[int, int]:
    """Return how many kernels a layer runs for a batch of rows of two ids, and the bytes they move.

    `shape` is a configuration of transformers; its number of layers is left aside.
    """
    few, many = (_counted({**shape, "num_hidden_layers": n}, prefix, rows) for n in (2, 4))
    kernels = (many.counts.total() - few.counts.total()) // 2
    return kernels, (many.bytes - few.bytes) // 2


def _counted(shape: Mapping[str, Any], prefix: int, rows: int) -> Kernels:
    model = _on_meta(shape)
    with torch.no_grad():  # inference mode would show products of several kernels as one
        ready = row_runners.prepare(
            ScoringPath.SHARED_PREFIX, model.base_model, tuple(range(1, prefix + 1))
        )
        with Kernels() as kernels:
            ready.states([(2, 3)] * rows, [prefix + 1] * rows)
    return kernels


def _on_meta(shape: Mapping[str, Any]) -> Any:
    config = AutoConfig.for_model(**shape, num_labels=1, pad_token_id=0)
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(config, dtype=torch.bfloat16).eval()
    model.set_attn_implementation(ATTENTION)
    return model


class Transfers(TorchFunctionMode):
    """Counts the copies between the host and a device, for which the meta device stands.

    What is copied to the host is zero. A number that the host reads is counted, and is
    `True`.
    """

    def __init__(self) -> None:
        """Nothing is counted yet."""
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operation, unless there is no data for it, and count it."""
        kwargs = kwargs or {}
        mine = args[0] if args and isinstance(args[0], Tensor) else None
        there = mine is not None and mine.is_meta
        if func is Tensor.cpu and mine is not None and there:
            self.counts["to the host"] += 1
            return torch.zeros(mine.shape, dtype=mine.dtype)
        if func in _READING and there:
            self.counts["numbers read"] += 1
            return True
        made = func(*args, **kwargs)
        if func is Tensor.__getitem__ and there:
            places = args[1] if isinstance(args[1], tuple) else (args[1],)
            on_host = (
                isinstance(at, list) or (isinstance(at, Tensor) and not at.is_meta) for at in places
            )
            self.counts["to the device"] += sum(on_host)
        elif func in {torch.tensor, Tensor.to}:
            self.counts["to the device"] += made.is_meta and not there
        return made


def of_a_call(shape: Mapping[str, Any], *, answers: int = 4096) -> Counter[str]:
    """Return how often a call copies between host and device, after a first one of the same prompt.

    The rows are of two ids, after a prompt of 45.
    """
    model = _on_meta(shape)
    head = Linear(torch.zeros(model.config.hidden_size))  # as a file gives it, on the host
    scorer = Scorer(model.base_model, head, 0, ids_per_batch=16384)
    with Transfers() as transfers:
        for _ in range(2):
            transfers.counts.clear()
            engine.score(scorer, range(1, 46), [(i + 1,) for i in range(answers)], (2,))
    return transfers.counts
