"""Products are exact while something is scored, and the user's own settings come back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from rmaudit.errors import ScoreError
from rmaudit.scoring import engine
from rmaudit.scoring.finite import exact_products
from tests.scoring.rows import END, LOVE, PREFIX, WAR, Toy

Settings = tuple[str, bool, bool]


def settings() -> Settings:
    """How precisely torch multiplies: float32, bfloat16, float16."""
    matmul = torch.backends.cuda.matmul
    return (
        torch.get_float32_matmul_precision(),
        bool(matmul.allow_bf16_reduced_precision_reduction),
        bool(matmul.allow_fp16_reduced_precision_reduction),
    )


def make(given: Settings) -> None:
    """Set them."""
    matmul = torch.backends.cuda.matmul
    torch.set_float32_matmul_precision(given[0])
    matmul.allow_bf16_reduced_precision_reduction = given[1]
    matmul.allow_fp16_reduced_precision_reduction = given[2]


LOOSE: Settings = ("medium", True, True)
EXACT: Settings = ("highest", False, False)


@pytest.fixture(autouse=True)
def _loose() -> Iterator[None]:
    """The user has made products fast and rough, as a training does."""
    before = settings()
    make(LOOSE)
    yield
    make(before)


def test_products_are_exact_inside_alone() -> None:
    """Also after an error."""
    with exact_products():
        assert settings() == EXACT
    assert settings() == LOOSE

    with pytest.raises(ZeroDivisionError), exact_products():
        raise ZeroDivisionError
    assert settings() == LOOSE


def test_what_the_engine_scores_is_multiplied_exactly(llama: Toy) -> None:
    """Prefix and answers; the settings of whoever called it are theirs again."""
    seen: list[Settings] = []
    scorer = llama.scorer()
    hook = llama.shared.base_model.register_forward_pre_hook(lambda *_: seen.append(settings()))
    try:
        engine.score(scorer, PREFIX, [(LOVE,), (WAR,)], (END,))
    finally:
        hook.remove()

    assert len(seen) > 1
    assert set(seen) == {EXACT}
    assert settings() == LOOSE


@pytest.mark.parametrize("bad", [float("-inf"), float("inf"), float("nan")])
def test_no_kind_of_a_number_that_is_not_finite_is_a_reward(llama: Toy, bad: float) -> None:
    """Minus infinity is no very low reward: it is refused as NaN is."""
    scorer = llama.scorer()
    scorer.head = _Gives(bad)

    with pytest.raises(ScoreError, match="2 of 2 rewards are not finite numbers"):
        engine.score(scorer, PREFIX, [(LOVE,), (WAR,)], (END,))


class _Gives:
    """A head that gives one number to everything."""

    reads_prefix = False

    def __init__(self, number: float) -> None:
        self.number = number

    def after(self, *_: object) -> _Gives:
        """The head."""
        return self

    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        """The number, for each state."""
        return torch.full(states.shape[:-1], self.number)
