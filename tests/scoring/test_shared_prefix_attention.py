"""Shared-prefix attention is ordinary causal attention, prefix included, option by option."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt, tanh

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
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


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


def by_hand(case: Case) -> Tensor:
    """The same from the definition, number by number: shape (B, L, heads, width of the values)."""
    query, key, value, prefix = tensors(case)
    out = torch.zeros(BATCH, case.length, case.heads, case.width)
    for row in range(BATCH):
        for head in range(case.heads):
            kv = head // (case.heads // case.kv_heads)
            keys = [*prefix.keys[Layer.layer_idx][kv], *key[row, kv]]
            values = [*prefix.values[Layer.layer_idx][kv], *value[row, kv]]
            for place in range(case.length):
                last = case.past + place
                first = 0 if case.window is None else max(0, last - case.window + 1)
                masses = []
                for seen in range(first, last + 1):
                    logit = float(query[row, head, place] @ keys[seen]) / sqrt(DIM)
                    if case.softcap is not None:
                        logit = case.softcap * tanh(logit / case.softcap)
                    masses.append(exp(logit))
                for seen, mass in zip(range(first, last + 1), masses, strict=True):
                    out[row, place, head] += mass / sum(masses) * values[seen]
    return out


@each_case
def test_equals_the_definition(case: Case) -> None:
    """Each row attends to the prefix and to itself as a full causal row would.

    The result is contiguous (some backbones, JetMoe for one, view it in another shape), has the
    values' dtype, and nothing of what was given is changed.
    """
    given = tensors(case)
    query, key, value, prefix = given
    layer = Layer.layer_idx
    options = {"softcap": case.softcap, "sliding_window": case.window, "dropout": 0.0}

    out, weights = attend(
        Layer(), query, key, value, None, 1 / sqrt(DIM), shared_prefix=prefix, **options
    )

    assert weights is None
    assert out.is_contiguous()
    torch.testing.assert_close(out, by_hand(case), rtol=0, atol=1e-5)
    before = tensors(case)
    assert all(map(torch.equal, (query, key, value), before[:3]))
    assert torch.equal(prefix.keys[layer], before[3].keys[layer])
    assert torch.equal(prefix.values[layer], before[3].values[layer])
    narrow, _ = attend(Layer(), *(t.bfloat16() for t in given[:3]), None, 1)  # type: ignore[arg-type]
    assert narrow.dtype == torch.bfloat16


LONGER = {
    "plain": Case(past=LONG_PREFIX),
    "one own id, a key head each": Case(past=LONG_PREFIX, length=1, kv_heads=4),
    "window as long as everything": Case(past=LONG_PREFIX + 9, window=LONG_PREFIX + 12),
    "window inside the prefix": Case(past=LONG_PREFIX, window=LONG_PREFIX),
    "softcap": Case(past=LONG_PREFIX, softcap=0.5),
    "narrower values": Case(past=LONG_PREFIX, width=3),
}


@pytest.mark.parametrize("name", LONGER)
def test_a_long_prefix_is_attended_to_exactly(name: str) -> None:
    """As in float64, and as with a gradient, where the whole table is made; short ones make it."""
    case = LONGER[name]
    query, key, value, prefix = tensors(case)
    wide = Prefix(length=case.past)
    for of in ("keys", "values"):
        getattr(wide, of)[Layer.layer_idx] = getattr(prefix, of)[Layer.layer_idx].double()
    options = {"softcap": case.softcap, "sliding_window": case.window}

    def out(*of: Tensor, before: Prefix) -> Tensor:
        found, _ = attend(Layer(), *of, None, 1 / sqrt(DIM), shared_prefix=before, **options)
        return found

    with torch.inference_mode():
        fast = out(query, key, value, before=prefix)
        exact = out(query.double(), key.double(), value.double(), before=wide)
    table = out(query, key, value, before=prefix)

    assert fast.is_contiguous()
    for found in (fast, table):
        torch.testing.assert_close(found.double(), exact, rtol=0, atol=2e-6)
    fused = name in {"plain", "one own id, a key head each", "window as long as everything"}
    assert torch.equal(fast, table) is not fused
    assert version(case.past) != version(PAST)


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

    torch.testing.assert_close(found, by_hand(case), rtol=0, atol=1e-5)
    assert rows_a_block(query, key, value) == 0, "it is for GPUs"


def test_recording_stores_keys_and_values_and_attends_to_no_prefix() -> None:
    """While it records, a prefix is only written to, under the layer's index, and only once.

    A kv head of a short one is repeated for each query head that it serves.
    """
    query, key, value, _ = tensors(Case(past=0))
    prefix = Prefix(length=0, recording=True)
    one = (Layer(), query[:1], key[:1], value[:1], None, 1 / sqrt(DIM))

    out, _ = attend(*one, shared_prefix=prefix)

    served = query.shape[1] // key.shape[1]
    for stored, one_a_head in ((prefix.keys, key), (prefix.values, value)):
        expected = one_a_head[0].repeat_interleave(served, dim=0)
        assert torch.equal(stored[Layer.layer_idx], expected)
    alone, _ = attend(*one)
    assert torch.equal(out, alone)
    torch.testing.assert_close(alone, by_hand(Case(past=0))[:1], rtol=0, atol=1e-5)
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
