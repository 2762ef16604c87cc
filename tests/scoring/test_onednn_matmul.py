"""Products by oneDNN: the numbers of torch's own, and torch's own wherever they do not suit."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from rmaudit.scoring import engine, onednn_matmul
from rmaudit.scoring.onednn_matmul import available, fast_products
from tests.scoring.rows import END, PREFIX, Ids, Toy, assert_same

pytestmark = pytest.mark.skipif(not available(), reason="a build without oneDNN")
BYTES_OF_FLOAT32 = 2**-23


def runs_fast(work: Callable[[], object]) -> bool:
    """Whether some product of `work` is oneDNN's."""
    with patch.object(onednn_matmul, "_multiplied", wraps=onednn_matmul._multiplied) as multiplied:
        work()
    return multiplied.called


@pytest.mark.parametrize("shape", [(16, 24), (3, 40, 24), (1, 2, 9, 24), (200, 24)])
@pytest.mark.parametrize("biased", [True, False])
def test_a_product_is_that_of_float64(shape: tuple[int, ...], *, biased: bool) -> None:
    """To the digits of float32, transposed and strided rows included."""
    random = torch.Generator().manual_seed(0)
    layer = nn.Linear(24, 32, bias=biased)
    rows = torch.randn(shape, generator=random).mT.contiguous().mT
    exact = linear(rows.double(), layer.weight.double(), layer.bias.double() if biased else None)

    with torch.inference_mode(), fast_products(layer):
        assert runs_fast(lambda: layer(rows))
        found = layer(rows)

    assert found.shape == exact.shape
    assert (found - exact).abs().max() < 64 * BYTES_OF_FLOAT32


def test_what_does_not_suit_is_torch_s_own() -> None:
    """Gradients, autocast, few rows, half precision, and everything outside of the context."""
    layer, half = nn.Linear(24, 32), nn.Linear(24, 32).bfloat16()
    rows = torch.randn(40, 24)

    def gradient() -> Tensor:
        product: Tensor = layer(rows)
        product.sum().backward()
        assert layer.weight.grad is not None
        return layer.weight.grad

    with fast_products(layer):
        assert not runs_fast(gradient)
        with torch.inference_mode():
            assert runs_fast(lambda: layer(rows))
            assert not runs_fast(lambda: layer(rows[:2]))
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert layer(rows).dtype is torch.bfloat16
    with torch.inference_mode(), fast_products(half):
        assert not runs_fast(lambda: half(rows.bfloat16()))
    with torch.inference_mode():
        assert not runs_fast(lambda: layer(rows))


@pytest.mark.slow
def test_the_engine_s_rewards_are_those_of_torch_s_own_products(
    llama: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With oneDNN switched off none is its; the model's own forward never uses it."""
    answers: list[Ids] = [(i,) for i in range(5, 105)]

    def scored() -> object:
        return engine.score(llama.scorer(), PREFIX, answers, (END,))

    assert runs_fast(scored)
    assert not runs_fast(lambda: llama.expected(PREFIX, answers, (END,), None))
    fast = engine.score(llama.scorer(), PREFIX, answers, (END,))
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    assert not runs_fast(scored)
    assert_same(engine.score(llama.scorer(), PREFIX, answers, (END,)), fast)
