"""Rows in blocks attend to the prefix and to themselves, and to nothing of each other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from rmaudit.scoring.attention_in_blocks import attention_in_blocks, mask_of_block, rows_a_block
from rmaudit.scoring.shared_prefix_attention import Prefix, attend

BATCH = 4


@pytest.mark.parametrize(
    ("rows", "length", "past", "width"), [(4, 1, 6, 4), (2, 3, 8, 4), (1, 2, 9, 5)]
)
def test_blocks_give_what_the_table_gives(rows: int, length: int, past: int, width: int) -> None:
    """Whatever the prefix's length, filled up to a multiple of 8; kv heads are shared."""
    draw = torch.Generator().manual_seed(0)

    def some(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw)

    query, key, value = (
        some(BATCH, 6, length, 4),
        some(BATCH, 2, length, 4),
        some(BATCH, 2, length, width),
    )
    keys, values = some(2, past, 4), some(2, past, width)
    prefix = Prefix(past, keys={0: keys}, values={0: values})
    layer = SimpleNamespace(layer_idx=0)
    expected, _ = attend(layer, query, key, value, None, 0.5, shared_prefix=prefix)  # type: ignore[arg-type]

    mask = mask_of_block(rows, length, past, query)
    found = attention_in_blocks(query, key, value, keys, values, 0.5, mask, rows)

    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert rows_a_block(query, key, value) == 0, "it is for GPUs"
