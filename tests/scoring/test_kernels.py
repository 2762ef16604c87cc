"""A batch on a GPU waits for the host nowhere, mixes no devices, and runs few kernels a layer.

They are counted on tensors of the meta device, which hold no numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoConfig, AutoModelForSequenceClassification

from rmaudit.checkpoints.heads.linear import Linear
from rmaudit.scoring import ATTENTION, ScoringPath, engine, row_runners
from rmaudit.scoring.scorer import Scorer

SMALL: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
_READING = {Tensor.item, Tensor.tolist, Tensor.__bool__, Tensor.__float__, Tensor.__int__}
_ALLOCATES = {"aten.empty", "aten.new_empty", "aten.empty_like", "aten.empty_strided"}


class Kernels(TorchDispatchMode):
    """Counts the operations that compute or copy; views and allocations are none.

    On meta `.item()` raises, so a forward that ends waits for no GPU; tensors of two devices in one
    operation are refused here.
    """

    def __init__(self) -> None:
        """Nothing is counted yet."""
        super().__init__()
        self.count = 0

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
            self.count += 1
        return made


def kernels_of(kind: str, layers: int) -> int:
    """How many kernels a batch of rows of two ids runs, in so many layers."""
    model = on_meta(kind, layers)
    with torch.no_grad():  # inference mode would show products of several kernels as one
        ready = row_runners.prepare(
            ScoringPath.SHARED_PREFIX, model.base_model, tuple(range(1, 46))
        )
        with Kernels() as kernels:
            ready.states([(2, 3)] * 8, [46] * 8)
    return kernels.count


def on_meta(kind: str, layers: int) -> Any:
    """A model without numbers."""
    shape = {**SMALL, "model_type": kind, "num_hidden_layers": layers}
    config = AutoConfig.for_model(**shape, num_labels=1, pad_token_id=0)
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(config, dtype=torch.bfloat16).eval()
    model.set_attn_implementation(ATTENTION)
    return model


@pytest.mark.parametrize(
    ("kind", "most"), [("llama", 54), ("qwen2", 57), ("qwen3", 70), ("gemma2", 81)]
)
def test_kernels_of_a_layer(kind: str, most: int) -> None:
    """No more than when this was written; that it ends on meta shows that it reads no number."""
    assert 30 < (kernels_of(kind, 4) - kernels_of(kind, 2)) // 2 <= most


class Transfers(TorchFunctionMode):
    """Counts the copies between the host and a device, for which the meta device stands.

    What is copied to the host is zero. A number that the host reads is counted, and is `True`.
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


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_transfers_of_a_call(kind: str) -> None:
    """The ids of a batch go to the device and its rewards come back; no number is waited for.

    After a first call of the same prompt.
    """
    model = on_meta(kind, 2)
    head = Linear(torch.zeros(model.config.hidden_size))  # as a file gives it, on the host
    scorer = Scorer(model.base_model, head, 0, ids_per_batch=16384)
    with Transfers() as transfers:
        for _ in range(2):
            transfers.counts.clear()
            engine.score(scorer, range(1, 46), [(i + 1,) for i in range(48)], (2,))

    assert +transfers.counts == {"to the device": 1, "to the host": 1}
