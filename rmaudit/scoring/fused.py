"""Attention over a long prefix without its table of scores: float32, on a CPU.

Rows meet the prefix in torch's fused kernel, which gives each query's output and the log of its sum
of exponentials, and their own few keys apart; the two parts are joined by these logs (as in
arXiv:2402.05099). Exact, as one softmax over both is.

torch 2.13 has no public function that gives these logs on a CPU: `varlen_attn` has no CPU kernel,
and `flex_attention` cannot be compiled there with them. So the operator behind
`scaled_dot_product_attention` is called by its own name.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rmaudit.scoring import LONG


def possible(query: Tensor, value: Tensor, past: int) -> bool:
    """Whether these rows can, and gain by it: in bfloat16 the table is faster up to 1,000 ids."""
    return (
        past >= LONG
        and query.device.type == "cpu"
        and query.dtype == torch.float32
        and not torch.is_grad_enabled()
        and query.shape[-1] == value.shape[-1]
    )


def attend(  # noqa: PLR0913, PLR0917  (what attention is of)
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor, scaling: float
) -> Tensor:
    """Causal attention of rows over a prefix, all of it seen, and over themselves.

    Shapes: query (B, heads, L, d); key and value (B, kv heads, L, d); the prefix's keys and values
    (heads, n, d), repeated for every head. Returns (B, L, heads, d).
    """
    batch, heads, length, dim = query.shape
    kv_heads = key.shape[1]
    flat = query.transpose(0, 1).reshape(1, heads, batch * length, dim)
    out, log = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001  (its only name)
        flat, keys[None], values[None], scale=scaling
    )
    before = out.view(heads, batch, length, dim).transpose(0, 1)
    log = log.view(heads, batch, length).transpose(0, 1)

    grouped = query.reshape(batch, kv_heads, -1, dim)
    own = (grouped @ key.transpose(-1, -2)).view(batch, heads, length, length) * scaling
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    own = own.masked_fill(later, float("-inf"))
    total = torch.logaddexp(own.logsumexp(-1), log)
    weights = (own - total[..., None]).exp()
    after = weights.view(batch, kv_heads, -1, length) @ value
    before = before * (log - total).exp()[..., None]
    joined: Tensor = before + after.view(batch, heads, length, dim)
    return joined.transpose(1, 2).contiguous()
