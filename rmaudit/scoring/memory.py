"""How many ids may run at once: found from the memory that is free, halved when it was not enough.

A batch needs about `bytes_per_id` bytes for every id in it; a budget is half of the free memory on
an accelerator, and on a CPU at most half a gigabyte: there, larger batches are not faster.
"""

from __future__ import annotations

import gc

import psutil
import torch
from torch import nn

from rmaudit.scoring.paths import device_of

_CPU_BUDGET, _CPU_IDS, _IDS = 512 * 2**20, 512, 16384  # ids: more make nothing faster


def ids_per_batch(backbone: nn.Module, prefix: int, *, kept: int = 1) -> int:
    """How many ids to run at once after a prefix of `prefix` ids.

    `kept` is of how many layers the activations stay: of all of them for a gradient.
    """
    device = device_of(backbone)
    if device.type == "cuda":
        budget, most = free_on(device) // 2, _IDS
    else:
        budget = min(_CPU_BUDGET, psutil.virtual_memory().available // 2)
        most = _CPU_IDS if device.type == "cpu" else _IDS
    return max(1, min(most, budget // (kept * bytes_per_id(backbone, prefix))))


def free_on(device: torch.device) -> int:
    """Free bytes of a GPU, what torch holds in reserve among them."""
    free, _ = torch.cuda.mem_get_info(device)
    reserve = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free + reserve)


def bytes_per_id(backbone: nn.Module, prefix: int) -> int:
    """Bytes that the activations of one id take at their peak, in one layer.

    In the run's dtype: residual, normed, queries, keys, values and attention's output (8 hidden),
    gate, up and their product (3 intermediate), attention scores; in float32: the norm's inner
    values (2 hidden), the softmax's weights. Twice that, for what allocators leave unused.
    """
    config = backbone.config.get_text_config()  # type: ignore[union-attr, operator]
    hidden = config.hidden_size
    inner = getattr(config, "intermediate_size", None) or 4 * hidden
    scores = config.num_attention_heads * (prefix + 16)
    own = next(backbone.parameters()).element_size()
    return int(2 * (own * (8 * hidden + 3 * inner + scores) + 4 * (2 * hidden + scores)))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed: each backend says so in its own way."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "can't allocate memory" in text or "out of memory" in text.lower()
    )


def release() -> None:
    """Give back what a failed batch has left."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
