"""Shared-prefix attention is ordinary causal attention, prefix included, option by option."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import pytest
import torch
from torch import Tensor, nn

from rmaudit.errors import ModelError
from rmaudit.scoring import LONG_PREFIX, version
from rmaudit.scoring.attention_in_blocks import attention_in_blocks, mask_of_block, rows_a_block
from rmaudit.scoring.shared_prefix_attention import Prefix, attend

DIM = 4
PAST = 6
BATCH = 3


class Layer(nn.Module):
    """All that `attend` wants of an attention layer."""

    layer_idx = 2


@dataclass(frozen=True)
class Case:
    """One shape of attention, with the options that its backbone would pass."""

    heads: int = 4
    kv_heads: int = 2
    length: int = 3
    past: int = PAST
    softcap: float | None = None
    window: int | None = None
    width: int = DIM  # of the values


CASES = {
    "plain": Case(),
    "one own id": Case(length=1),
    "no prefix": Case(past=0),
    "one own id, no prefix": Case(past=0, length=1),
    "a key head each": Case(kv_heads=4),
    "one key head": Case(kv_heads=1),
    "softcap": Case(softcap=0.5),
    "window inside the prefix": Case(window=4),
    "window of one own id inside the prefix": Case(length=1, window=4),
    "window of one own id as long as the prefix": Case(length=1, window=PAST),
    "window of one own id as long as everything": Case(length=1, window=PAST + 1),
    "window shorter than the row": Case(window=2),
    "window of the id itself": Case(window=1),
    "window as long as everything": Case(window=PAST + 3),
    "window, no prefix": Case(past=0, window=2),
    "softcap, window, one key head": Case(kv_heads=1, softcap=0.5, window=4),
    "narrower values": Case(width=3),
    "wider values, one own id": Case(width=7, length=1),
    "narrower values, window, one key head": Case(kv_heads=1, width=3, window=4),
    "narrower values, no prefix": Case(past=0, width=3),
}
LONG = {  # and whether torch's fused attention runs them
    "long": (Case(past=LONG_PREFIX), True),
    "long, one own id, a key head each": (Case(past=LONG_PREFIX, length=1, kv_heads=4), True),
    "long, window as long as everything": (Case(past=LONG_PREFIX, window=LONG_PREFIX + 3), True),
    "long, window inside the prefix": (Case(past=LONG_PREFIX, window=LONG_PREFIX), False),
    "long, softcap": (Case(past=LONG_PREFIX, softcap=0.5), False),
    "long, narrower values": (Case(past=LONG_PREFIX, width=3), False),
}
EVERY = {**{name: (case, False) for name, case in CASES.items()}, **LONG}


def tensors(case: Case) -> tuple[Tensor, Tensor, Tensor, Prefix]:
    """Random queries, keys and values of unit scale, and a random prefix."""
    generator = torch.Generator().manual_seed(0)

    def some(*shape: int, width: int = DIM) -> Tensor:
        return torch.randn(*shape, width, generator=generator)

    prefix = Prefix(length=case.past)
    prefix.keys[Layer.layer_idx] = some(case.kv_heads, case.past)
    prefix.values[Layer.layer_idx] = some(case.kv_heads, case.past, width=case.width)
    query = some(BATCH, case.heads, case.length)
    key, value = (some(BATCH, case.kv_heads, case.length, width=w) for w in (DIM, case.width))
    return query, key, value, prefix


def by_definition(case: Case) -> Tensor:
    """The same in float64 over whole rows: shape (B, L, heads, width of the values)."""
    query, key, value, prefix = tensors(case)
    served = case.heads // case.kv_heads

    def whole(before: Tensor, own: Tensor) -> Tensor:
        joined = torch.cat([before.expand(BATCH, -1, -1, -1), own], dim=2).double()
        return joined.repeat_interleave(served, dim=1)

    keys = whole(prefix.keys[Layer.layer_idx], key)
    logits = query.double() @ keys.mT / sqrt(DIM)
    if case.softcap is not None:
        logits = case.softcap * (logits / case.softcap).tanh()
    back = case.past + torch.arange(case.length)[:, None] - torch.arange(keys.shape[2])
    unseen = (back < 0) | (back >= (case.window or 10**6))
    masses = logits.masked_fill(unseen, float("-inf")).softmax(dim=-1)
    return (masses @ whole(prefix.values[Layer.layer_idx], value)).transpose(1, 2)


@pytest.mark.parametrize(("case", "fused"), EVERY.values(), ids=EVERY.keys())
def test_equals_the_definition(case: Case, *, fused: bool) -> None:
    """Each row attends to the prefix and to itself as a full causal row would.

    Where a gradient may be taken, too. The result is contiguous (some backbones, JetMoe for one,
    view it in another shape), has the values' dtype, and nothing of what was given is changed.
    """
    query, key, value, prefix = tensors(case)
    layer, options = Layer.layer_idx, {"softcap": case.softcap, "sliding_window": case.window}

    def out() -> Tensor:
        found, weights = attend(
            Layer(), query, key, value, None, 1 / sqrt(DIM), shared_prefix=prefix, **options
        )
        assert weights is None
        assert found.is_contiguous()
        return found

    table = out()
    with torch.inference_mode():
        fast = out()

    for found in (fast, table):
        torch.testing.assert_close(found.double(), by_definition(case), rtol=0, atol=2e-6)
    assert torch.equal(fast, table) is not fused
    before = tensors(case)
    assert all(map(torch.equal, (query, key, value), before[:3]))
    assert torch.equal(prefix.keys[layer], before[3].keys[layer])
    assert torch.equal(prefix.values[layer], before[3].values[layer])
    narrow, _ = attend(Layer(), *(t.bfloat16() for t in (query, key, value)), None, 1)
    assert narrow.dtype == torch.bfloat16
    assert (version(case.past) != version(PAST)) is (case.past >= LONG_PREFIX)


@pytest.mark.parametrize(
    ("rows", "case"),
    [
        (3, Case(length=1, kv_heads=1)),
        (3, Case(past=8)),
        (1, Case(length=2, past=9, width=5)),
    ],
)
def test_blocks_give_what_the_table_gives(rows: int, case: Case) -> None:
    """Whatever the prefix's length, filled up to a multiple of 8; kv heads are shared."""
    query, key, value, prefix = tensors(case)
    shared = (prefix.keys[Layer.layer_idx], prefix.values[Layer.layer_idx])

    mask = mask_of_block(rows, case.length, case.past, query)
    found = attention_in_blocks(query, key, value, *shared, 1 / sqrt(DIM), mask, rows)

    torch.testing.assert_close(found, by_definition(case).float(), rtol=0, atol=1e-5)
    assert rows_a_block(query, key, value) == 0, "it is for GPUs"


def test_recording_attends_to_no_prefix_and_is_made_once() -> None:
    """While it records, a prefix is only written to, under the layer's index."""
    query, key, value, _ = tensors(Case(past=0))
    prefix = Prefix(length=9, recording=True)
    one = (Layer(), query[:1], key[:1], value[:1], None, 1 / sqrt(DIM))

    out, _ = attend(*one, shared_prefix=prefix)

    expected = by_definition(Case(past=0))[:1].float()
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-5)
    assert prefix.keys[Layer.layer_idx].shape == (4, 3, DIM)  # a key head for each query head
    with pytest.raises(ModelError, match="Layer: layer 2 calls its attention twice"):
        attend(*one, shared_prefix=prefix)


def test_what_is_not_honoured_is_refused_if_it_is_given() -> None:
    """A mask, or sinks, would change the result; None is no option, and some have no effect."""
    query, key, value, prefix = tensors(Case())

    def result(mask: Tensor | None = None, **options: object) -> Tensor:
        return attend(Layer(), query, key, value, mask, 0.5, shared_prefix=prefix, **options)[0]

    for name, given in (
        ("attention_mask", {"mask": torch.ones(1)}),
        ("s_aux", {"dropout": 0.0, "s_aux": torch.ones(4)}),
    ):
        with pytest.raises(ModelError, match=f"^Layer: .*'{name}'.* cannot share a prefix$"):
            result(**given)  # type: ignore[arg-type]
    harmless = {"dropout": 0.0, "position_ids": torch.ones(1), "use_cache": False}
    assert torch.equal(result(s_aux=None, is_causal=True, **harmless), result())
