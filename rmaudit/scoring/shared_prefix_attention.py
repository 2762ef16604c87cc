"""Compute attention of many short rows over one shared prefix, exactly, in causal backbones.

All candidates answer the same prompt, so the prompt's keys and values are computed once and
stored once. A row's queries meet the prefix's keys in one large product and its own keys in a
small one; a single softmax runs over both (`fused_attention` has another way for long prefixes on a
CPU, `attention_in_blocks` for large batches in half precision on a GPU). Nothing is padded: every
row of a batch has the same length. Nothing about a candidate is stored after its batch.

The function is registered with transformers' attention interface under `ATTENTION`, so it serves
every backbone whose attention layers go through that interface (`scoring.path_of`), and it
needs no model code. Grouped heads, scaling, softcapping and sliding windows are honoured. Whatever
else a backbone asks of its attention is refused, since to ignore it would change scores silently. A
`Prefix` that is `recording` stores keys and values as the layers produce them, each on its layer's
device; transformers' own caches are not used, since their sliding layers drop the oldest keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

from rmaudit.errors import ModelError
from rmaudit.scoring import ATTENTION, LONG_PREFIX
from rmaudit.scoring.attention_in_blocks import attention_in_blocks, mask_of_block, rows_a_block

_ALIGNMENT = 8  # numbers of 2 bytes: where a row of the table begins, for a GPU's fast products
_IGNORABLE = {"dropout", "position_ids", "use_cache", "is_causal"}  # no effect on unpadded rows


@dataclass(slots=True)
class Prefix:
    """Keys and values of the shared prefix, per layer: each (heads, prefix length, head dim).

    A long prefix has one entry for each kv head, to save memory; a short one repeats it for every
    query head that it serves, to save a copy in each batch. `later` caches the causal masks of
    rows, (length, length) booleans, by device and length; `blocks` those of blocks of rows, by
    device, rows and length.
    """

    length: int = 0
    recording: bool = False
    keys: dict[int, Tensor] = field(default_factory=dict)
    values: dict[int, Tensor] = field(default_factory=dict)
    later: dict[tuple[torch.device, int], Tensor] = field(default_factory=dict)
    blocks: dict[tuple[torch.device, int, int], Tensor] = field(default_factory=dict)


def attend(  # noqa: PLR0913, PLR0917  (the interface's signature)
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    *,
    softcap: float | None = None,
    sliding_window: int | None = None,
    shared_prefix: Prefix | None = None,
    **options: object,
) -> tuple[Tensor, None]:
    """Return causal attention of each row over the shared prefix and over itself.

    Shapes: query (B, heads, L, d); key (B, kv heads, L, d) and value (B, kv heads, L, e), kv heads
    not repeated. Returns (B, L, heads, e) and None in place of the attention weights.

    Raises:
        ModelError: the backbone wants something of its attention that is not honoured here.
    """
    _refuse_unknown(module, attention_mask, options)
    layer: int = module.layer_idx  # type: ignore[assignment]  # every attention layer has one
    prefix = shared_prefix if shared_prefix is not None else Prefix()
    if prefix.recording:
        _record(module, query, key, value, prefix, layer)
    past = 0 if prefix.recording else prefix.length
    differentiable = torch.is_grad_enabled()  # where nothing may be overwritten that autograd reads

    batch, heads, length, dim = query.shape
    kv_heads = key.shape[1]
    per_kv = heads // kv_heads
    sees_all = softcap is None and (sliding_window is None or past + length <= sliding_window)
    if sees_all and past:
        shared = prefix.keys[layer], prefix.values[layer]
        found = _without_table(query, key, value, *shared, prefix, scaling)
        if found is not None:
            return found, None
    rows, total = batch * length, past + length
    aligned = query.element_size() < 4 and not differentiable  # noqa: PLR2004  (bytes of float32)
    table = query.new_empty(
        heads, batch, length, -(-total // _ALIGNMENT) * _ALIGNMENT if aligned else total
    )
    scores = table[..., :total]
    if past:  # one product a head, over the queries as they lie in memory
        by_head = query.transpose(1, 2).reshape(rows, heads, dim).transpose(0, 1)
        keys = _repeated_for_heads(heads, prefix.keys[layer]).transpose(1, 2)
        if differentiable:
            scores[..., :past] = torch.bmm(by_head, keys).view(heads, batch, length, past)
        else:
            torch.bmm(by_head, keys, out=table.view(heads, rows, -1)[..., :past])
    grouped = query.reshape(batch, kv_heads, per_kv * length, dim)
    own = (grouped @ key.transpose(-1, -2)).view(batch, heads, length, length)
    scores[..., past:] = own.transpose(0, 1)
    scores *= scaling
    if softcap is not None and differentiable:  # tanh's gradient is made of what it returned
        scores = scores.div(softcap).tanh().mul(softcap)
    elif softcap is not None:
        scores = scores.div_(softcap).tanh_().mul_(softcap)
    _mask_unseen_positions(scores, prefix, past, sliding_window)
    if aligned:
        table[..., total:].fill_(float("-inf"))
        scores = table
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype)

    own_weights = weights[..., past:total].transpose(0, 1)
    out = own_weights.reshape(batch, kv_heads, per_kv * length, length) @ value
    out = out.view(batch, heads, length, -1).transpose(1, 2).reshape(rows, heads, -1)
    if past:
        from_prefix = weights.view(heads, rows, -1)[..., :past]
        values = _repeated_for_heads(heads, prefix.values[layer])
        out = torch.baddbmm(out.transpose(0, 1), from_prefix, values).transpose(0, 1)
    return out.reshape(batch, length, heads, -1).contiguous(), None


def _record(  # noqa: PLR0913, PLR0917  (what a layer has of its attention)
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, prefix: Prefix, layer: int
) -> None:
    if layer in prefix.keys:
        raise ModelError(f"{type(module).__name__}: layer {layer} calls its attention twice")
    heads = key.shape[1] if key.shape[2] >= LONG_PREFIX else query.shape[1]
    prefix.keys[layer], prefix.values[layer] = (
        _repeated_for_heads(heads, key[0]),
        _repeated_for_heads(heads, value[0]),
    )


def _without_table(  # noqa: PLR0913, PLR0917  (what attention is of)
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    prefix: Prefix,
    scaling: float,
) -> Tensor | None:
    """Return attention of rows that see the whole prefix, if there is a faster way to it here."""
    heads, kv_heads, length = query.shape[1], *key.shape[1:3]
    if fusable(query, value, prefix.length):
        keys, values = (_repeated_for_heads(heads, of) for of in (keys, values))
        return fused_attention(query, key, value, keys, values, scaling)
    if not (rows := rows_a_block(query, key, value)):
        return None
    place = query.device, rows, length
    if place not in prefix.blocks:
        prefix.blocks[place] = mask_of_block(rows, length, prefix.length, query)
    keys, values = (of[:: len(of) // kv_heads] for of in (keys, values))  # each kv head once
    mask = prefix.blocks[place]
    return attention_in_blocks(query, key, value, keys, values, scaling, mask, rows)


def _repeated_for_heads(heads: int, shared: Tensor) -> Tensor:
    """Repeat each key-value head for its query heads: (kv heads, n, d) becomes (heads, n, d)."""
    served = heads // shared.shape[0]
    return shared.repeat_interleave(served, dim=0) if served > 1 else shared


def _mask_unseen_positions(scores: Tensor, prefix: Prefix, past: int, window: int | None) -> None:
    """Set attention scores of later positions, and of those outside the window, to -inf in place.

    `scores` has shape (heads, B, L, past + L).
    """
    device, length = scores.device, scores.shape[2]
    if window is None or past + length <= window:
        if length > 1:
            if (device, length) not in prefix.later:
                with torch.inference_mode(mode=False):  # a gradient may read it, too
                    square = torch.ones(length, length, dtype=torch.bool, device=device)
                    prefix.later[device, length] = square.triu(1)
            scores[..., past:].masked_fill_(prefix.later[device, length], float("-inf"))
        return
    position = torch.arange(past, past + length, device=device)[:, None]
    keys = torch.arange(past + length, device=device)[None, :]
    scores.masked_fill_((keys > position) | (keys <= position - window), float("-inf"))


def _refuse_unknown(module: nn.Module, mask: Tensor | None, options: dict[str, object]) -> None:
    wants = [name for name, value in options.items() if value is not None]
    unknown = ["attention_mask"] * (mask is not None) + [n for n in wants if n not in _IGNORABLE]
    if unknown:
        message = (
            f"{type(module).__name__}: its attention takes {unknown[0]!r}, which shared-prefix "
            f"attention does not honour; this backbone cannot share a prefix"
        )
        raise ModelError(message)


# No function for masks is registered beside it: transformers then makes no mask (`attend` hides
# what a row may not see), and looks for no packed rows, for which it would wait for the GPU.
AttentionInterface.register(ATTENTION, attend)


def fusable(query: Tensor, value: Tensor, past: int) -> bool:
    """Return whether torch's fused attention can run these rows and is faster than `attend`."""
    return (
        past >= LONG_PREFIX
        and query.device.type == "cpu"
        and query.dtype == torch.float32
        and not torch.is_grad_enabled()
        and query.shape[-1] == value.shape[-1]
    )


def fused_attention(  # noqa: PLR0913, PLR0917  (what attention is of)
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor, scaling: float
) -> Tensor:
    """Return what `attend` does, by torch's fused CPU kernel, for rows that see the whole prefix.

    Shapes: query (B, heads, L, d); key and value (B, kv heads, L, d); the prefix's keys and values
    (heads, n, d), repeated for every head. Returns (B, L, heads, d).
    """
    batch, heads, length, dim = query.shape
    kv_heads = key.shape[1]
    flat = query.transpose(0, 1).reshape(1, heads, batch * length, dim)
    # torch has no public name for this function.
    out, log = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001
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
