"""Attention in which many short rows share one prefix, exact for causal trunks.

All candidates answer the same prompt, so the prompt's keys and values are computed once and
kept once. A row's queries meet the prefix's keys in one large product and its own keys in a
small one; a single softmax runs over both. Nothing is padded: every row of a batch has the
same length.

The function is registered with transformers' attention interface under `ATTENTION`, so it serves
every trunk whose attention layers go through that interface (Llama, Gemma-2, Qwen2/3, Mistral,
Phi-3 ...), and it needs no model code. Grouped heads, softcapping and sliding windows are
honoured. A `Prefix` that is `recording` stores keys and values as the layers produce them;
transformers' own caches are not used, since their sliding layers drop the oldest keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from rmaudit.scoring import ATTENTION


@dataclass(slots=True)
class Prefix:
    """Keys and values of the shared prefix, per layer: each (kv heads, prefix length, head dim)."""

    length: int = 0
    recording: bool = False
    keys: dict[int, Tensor] = field(default_factory=dict)
    values: dict[int, Tensor] = field(default_factory=dict)


def attend(  # noqa: PLR0913, PLR0917  (the interface's signature)
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,  # noqa: ARG001  (rows are never padded; the interface passes it)
    scaling: float,
    *,
    softcap: float | None = None,
    sliding_window: int | None = None,
    shared_prefix: Prefix | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Causal attention of each row over the shared prefix and over itself.

    Shapes: query (B, heads, L, d); key, value (B, kv heads, L, d), kv heads not repeated.
    Returns (B, L, heads, d) and None in place of the attention weights.
    """
    batch, heads, length, dim = query.shape
    kv_heads = key.shape[1]
    per_kv = heads // kv_heads
    layer: int = module.layer_idx  # type: ignore[assignment]  # every attention layer has one
    prefix = shared_prefix if shared_prefix is not None else Prefix()
    if prefix.recording:
        prefix.keys[layer], prefix.values[layer] = key[0], value[0]
    past = 0 if prefix.recording else prefix.length

    grouped = query.reshape(batch, kv_heads, per_kv * length, dim)
    own = grouped @ key.transpose(-1, -2)  # (B, kv, per_kv * L, L)
    rows = batch * per_kv * length
    scores = own.transpose(0, 1).reshape(kv_heads, rows, length)
    if past:
        flat = grouped.transpose(0, 1).reshape(kv_heads, rows, dim)
        scores = torch.cat([flat @ prefix.keys[layer].transpose(-1, -2), scores], dim=-1)
    scores = scores * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    visible = _visible(past, length, sliding_window, query.device)
    if visible is not None:
        by_position = scores.view(kv_heads, batch * per_kv, length, past + length)
        scores = by_position.masked_fill(~visible, float("-inf")).view(kv_heads, rows, -1)
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype)

    own_weights = weights[..., past:].reshape(kv_heads, batch, per_kv * length, length)
    out = (own_weights.transpose(0, 1) @ value).transpose(0, 1)  # (kv, B, per_kv * L, d)
    if past:
        from_prefix = weights[..., :past] @ prefix.values[layer]  # (kv, rows, d)
        out = out + from_prefix.view(kv_heads, batch, per_kv * length, dim)
    out = out.reshape(kv_heads, batch, per_kv, length, dim)
    return out.permute(1, 3, 0, 2, 4).reshape(batch, length, heads, dim), None


def _visible(past: int, length: int, window: int | None, device: torch.device) -> Tensor | None:
    """Which keys each own position may see: (L, past + L), or None when it sees all of them."""
    if length == 1 and (window is None or past + 1 <= window):
        return None
    position = torch.arange(past, past + length, device=device)[:, None]
    keys = torch.arange(past + length, device=device)[None, :]
    visible = keys <= position
    if window is not None:
        visible &= keys > position - window
    return visible


def _no_mask(*_: object, **__: object) -> None:
    """Mask function registered beside `attend`, which builds its own mask."""


AttentionInterface.register(ATTENTION, attend)
AttentionMaskInterface.register(ATTENTION, _no_mask)
