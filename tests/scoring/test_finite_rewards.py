"""Products are exact while something is scored; why a reward is not finite is found out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from rmaudit.scoring import engine
from rmaudit.scoring.finite_rewards import exact_products, reason
from tests.scoring.rows import END, LOVE, PREFIX, WAR, Toy

MATMUL = torch.backends.cuda.matmul
SUMS = [f"allow_{kind}_reduced_precision_reduction" for kind in ("bf16", "fp16")]
LOOSE, EXACT = ["medium", True, True], ["highest", False, False]


def settings() -> list[Any]:
    """How precisely torch multiplies: float32, bfloat16, float16."""
    return [torch.get_float32_matmul_precision(), *(bool(getattr(MATMUL, name)) for name in SUMS)]


def make(given: list[Any]) -> None:
    """Set them."""
    torch.set_float32_matmul_precision(given[0])
    for name, value in zip(SUMS, given[1:], strict=True):
        setattr(MATMUL, name, value)


@pytest.fixture(autouse=True)
def _loose() -> Iterator[None]:
    """The user has made products fast and rough, as a training does."""
    before = settings()
    make(LOOSE)
    yield
    make(before)


def test_what_the_engine_scores_is_multiplied_exactly(llama: Toy) -> None:
    """Prefix and answers; the settings of whoever called it come back, after an error too."""
    seen: list[list[Any]] = []
    hook = llama.shared.base_model.register_forward_pre_hook(lambda *_: seen.append(settings()))
    try:
        engine.score(llama.scorer(), PREFIX, [(LOVE,), (WAR,)], (END,))
    finally:
        hook.remove()

    assert seen == [EXACT] * 2
    assert settings() == LOOSE
    with pytest.raises(ZeroDivisionError), exact_products():
        raise ZeroDivisionError
    assert settings() == LOOSE


@dataclass(frozen=True)
class Head:
    """A reward head that has tensors of its own."""

    parts: tuple[nn.Module, Tensor]


def test_the_weight_that_is_not_finite_is_named_and_a_wider_dtype_is_advised() -> None:
    """If there is one, whatever is wrong; a head is looked through, too."""
    model, head = nn.Linear(2, 2), Head((nn.Linear(2, 1), torch.ones(3)))
    narrow = "bfloat16 is too narrow"
    assert "no wider dtype than float32 is to be had" in reason(model, head)
    ran = "weights are finite, and it ran in bfloat16: try --rm-dtype float32"
    assert ran in reason(nn.Linear(2, 2).bfloat16(), head)
    head.parts[1][2] = torch.nan
    assert "Its weight head.parts.1 holds NaN" in reason(model, head)
    head.parts[0].bias.data.fill_(-torch.inf)
    assert "Its weight head.parts.0.bias holds NaN or infinity: copy" in reason(model, head)
    model.weight.data[1] = torch.inf
    assert "Its weight weight holds NaN or infinity" in reason(model, head)
    assert narrow not in reason(model, head)
    half = model.bfloat16()
    assert f"if the file's numbers are finite, {narrow}: --rm-dtype float32" in reason(half)
    assert f"in bfloat16, and none of its files does: {narrow}" in reason(half, None, lambda: "")
    said = reason(half, None, lambda: "in.file")
    assert "Its weight in.file holds NaN" in said
    assert narrow not in said
