"""Products are exact while something is scored, and the user's own settings come back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from rmaudit.scoring import engine
from rmaudit.scoring.finite_rewards import exact_products
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
