"""Compute attention of a large batch of short rows on a GPU: blocks of rows, each one product.

A row's own keys are few, and a product for each row is too small for a GPU. Here the rows of a
block stand behind one copy of the prefix, and a mask hides from each row what is not its own; the
products so have some 128 queries and keys, of which most are masked, and take a sixth of the time
all the same. cuDNN runs them in one kernel, with sums and softmax in float32.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

_BLOCK = 128  # ids: fewer leave a GPU idle, more are masked in vain
_WORTH_A_PLAN = 4096  # ids of a batch: cuDNN takes some 0.1 s to plan for a new shape
_ALIGNMENT = 8  # numbers of 2 bytes: where a row of the mask begins


def rows_a_block(query: Tensor, key: Tensor, value: Tensor) -> int:
    """Return how many rows one block takes; 0 if blocks do not suit this batch or its device.

    Shapes: query (B, heads, L, d); key and value (B, kv heads, L, d).
    """
    batch, _, length, _ = query.shape
    if query.device.type != "cuda" or length > _BLOCK or torch.is_grad_enabled():
        return 0
    rows = 1 << ((_BLOCK // length).bit_length() - 1)  # a power of two divides most batches
    if batch * length < _WORTH_A_PLAN or batch % rows:
        return 0
    blocks = [_blocks(of, rows).transpose(1, 2) for of in (query, key, value)]
    asked = torch.backends.cuda.SDPAParams(*blocks, None, 0.0, False, True)  # noqa: FBT003
    return rows if torch.backends.cuda.can_use_cudnn_attention(asked) else 0


def attention_in_blocks(  # noqa: PLR0913, PLR0917  (what attention is of)
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    scaling: float,
    mask: Tensor,
    rows: int,
) -> Tensor:
    """Return attention of each row over the prefix and over itself, shape (B, L, heads, d).

    Shapes: query (B, heads, L, d); key and value (B, kv heads, L, d); the prefix's keys and values
    (kv heads, n, d). `mask` is `mask_of_block`'s. Blocks of `rows` rows, which divide B.
    """
    before = mask.shape[1] - mask.shape[0]

    def behind(shared: Tensor, own: Tensor) -> Tensor:
        made = own.new_empty(len(own) // rows, mask.shape[1], *shared.shape[::2])
        made[:, : shared.shape[1]] = shared.transpose(0, 1)
        made[:, shared.shape[1] : before] = 0
        made[:, before:] = _blocks(own, rows)
        return made.transpose(1, 2)

    asked = _blocks(query, rows).transpose(1, 2)
    found = _attention(asked, behind(keys, key), behind(values, value), mask, scaling)
    batch, heads, length, _ = query.shape
    return found.transpose(1, 2).reshape(batch, length, heads, -1)


def mask_of_block(rows: int, length: int, past: int, like: Tensor) -> Tensor:
    """Return what is added to scores of a block's ids: 0, or -inf for what an id may not see.

    Shape (ids, keys): the prefix of `past` ids, filled up to a multiple of 8, and the block's own
    ids, `rows` times `length`. Dtype and device are those of `like`.
    """
    at = torch.arange(rows * length, device=like.device)
    own = (at[:, None] // length == at // length) & (at <= at[:, None])
    shared = torch.arange(-(-past // _ALIGNMENT) * _ALIGNMENT, device=like.device) < past
    seen = torch.cat([shared.expand(len(at), -1), own], dim=1)
    return like.new_zeros(seen.shape).masked_fill_(~seen, float("-inf"))


def _blocks(own: Tensor, rows: int) -> Tensor:
    """Return (B, heads, L, d) as (B / rows, rows * L, heads, d)."""
    _, heads, length, dim = own.shape
    return own.transpose(1, 2).reshape(-1, rows * length, heads, dim)


def _attention(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scaling: float) -> Tensor:
    if query.device.type != "cuda":  # for tests
        return scaled_dot_product_attention(
            query, keys, values, attn_mask=mask, scale=scaling, enable_gqa=True
        )
    # By its own name: torch's public function is told which kernel to run by a setting that all
    # threads share, those of a pipeline too.
    found: Tensor = torch.ops.aten._scaled_dot_product_cudnn_attention(  # noqa: SLF001
        query, keys, values, mask, compute_log_sumexp=False, scale=scaling
    )[0]
    return found
