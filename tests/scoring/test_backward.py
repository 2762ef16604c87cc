"""A gradient is either whole or refused, in words that say why."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn

from rmaudit.errors import ModelError, NoGradient
from rmaudit.scoring import engine
from rmaudit.scoring.engine import Scorer
from tests.scoring.rows import END, LOVE, PAD, PREFIX, WAR, Everywhere, Toy, load
from tests.scoring.test_gradient import PAIRS, hooks_of, slopes
from tests.toys import toy_checkpoint


class DeadEndLinear(nn.Linear):
    """As of kernels that have no backward."""

    def forward(self, x: Tensor) -> Tensor:
        """The layer's numbers, without their history."""
        return super().forward(x).detach()


class ChangedNorm(nn.Module):
    """Overwrites what a gradient needs."""

    def forward(self, x: Tensor) -> Tensor:
        """An exponential in place, changed thereafter."""
        return x.exp().sqrt_().mul_(x).add_(1)


def dead_end(trunk: Any) -> None:
    """One projection of many."""
    old = trunk.layers[1].mlp.down_proj
    new = DeadEndLinear(old.in_features, old.out_features, bias=False)
    new.weight = old.weight
    trunk.layers[1].mlp.down_proj = new


def overwritten(trunk: Any) -> None:
    """The last norm."""
    trunk.norm = ChangedNorm()


def read_again(trunk: Any) -> None:
    """Another embedding, as large, reads the ids too."""
    trunk.other = nn.Embedding(trunk.embed_tokens.num_embeddings, 32)
    own = trunk.forward

    def forward(**kwargs: Any) -> Any:
        output = own(**kwargs)
        output.last_hidden_state = output.last_hidden_state + trunk.other(kwargs["input_ids"])
        return output

    trunk.forward = forward


def twice(trunk: Any) -> None:
    """The embedding runs once more beside."""
    own = trunk.forward

    def forward(**kwargs: Any) -> Any:
        trunk.embed_tokens(kwargs["input_ids"])
        return own(**kwargs)

    trunk.forward = forward


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (dead_end, "its DeadEndLinear layers have none"),
        (overwritten, "one of the variables needed for gradient computation has been modified"),
        (read_again, "its ids are read by more than its input embedding"),
        (twice, "its embedding ran 2 times in one batch"),
    ],
)
def test_a_trunk_that_cannot_be_differentiated(
    llama: Toy, spoil: Callable[[Any], None], why: str
) -> None:
    """It says which model, why, and the way out; it gives no gradient of what is left."""
    shared = copy.deepcopy(llama.shared)
    spoil(shared.base_model)
    scorer = Toy(llama.own, shared).scorer()

    with pytest.raises(NoGradient) as caught:
        slopes(scorer)

    text = str(caught.value)
    assert text.startswith(f"toy: its reward has no gradient here ({why}")
    assert text.endswith("); search without one: --method exhaustive")
    assert isinstance(caught.value, ModelError)
    assert hooks_of(shared.base_model) == 0
    assert np.isfinite(engine.score(scorer, PREFIX, PAIRS, (END,))).all()


def test_a_head_without_a_gradient(llama: Toy) -> None:
    """Nothing of the answer reaches its reward."""
    head = Everywhere(lambda states: states.detach().sum(-1))

    with pytest.raises(NoGradient) as caught:
        slopes(Scorer(llama.shared.base_model, head, PAD))

    assert str(caught.value) == (
        "toy: its reward has no gradient here (nothing of its embedding reaches its reward); "
        "search without one: --method exhaustive"
    )


def test_a_broken_device_is_no_missing_gradient(llama: Toy) -> None:
    """Its error passes through, as in scoring."""
    broken = RuntimeError("CUDA error: device-side assert triggered")

    def head(_: Tensor) -> Tensor:
        raise broken

    with pytest.raises(RuntimeError) as caught:
        slopes(Scorer(llama.shared.base_model, Everywhere(head), PAD))

    assert caught.value is broken


def test_selecting_without_a_gradient_is_no_dead_end(tmp_path: Path) -> None:
    """This trunk's layers choose the keys that they attend to where gradients are off."""
    toy = load(toy_checkpoint(tmp_path, kind="axk2"))

    found = slopes(toy.scorer())

    assert np.abs(found.slopes).max() > 0.01


def test_a_small_table_may_read_what_looks_like_ids(llama: Toy) -> None:
    """Such as positions, which may happen to be the ids."""
    shared = copy.deepcopy(llama.shared)
    read_again(shared.base_model)
    shared.base_model.other.num_embeddings = 128

    assert np.isfinite(slopes(Toy(llama.own, shared).scorer()).slopes).all()


def test_the_embeddings_output_may_be_changed_in_place(llama: Toy) -> None:
    """As some trunks scale it: the slopes are those of before."""
    shared = copy.deepcopy(llama.shared)
    shared.base_model.layers[0].register_forward_pre_hook(
        lambda _, given: (given[0].mul_(1.0), *given[1:])
    )

    found = slopes(Toy(llama.own, shared).scorer(), [(LOVE, WAR)])

    assert np.array_equal(found.slopes, slopes(llama.scorer(), [(LOVE, WAR)]).slopes)
