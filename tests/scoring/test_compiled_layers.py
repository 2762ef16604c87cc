"""Compiled layers give the same rewards, and run only where they were tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models import forward_parity_check
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.own_forward import Weights
from rmaudit.scoring import ScoringPath, compiled_layers, engine, gradient
from rmaudit.scoring.pipeline_parallelism import Pipeline
from rmaudit.scoring.scorer import Scorer
from tests.models.loaded import load
from tests.scoring.rows import ANSWERS, END, PREFIX
from tests.toys import toy_checkpoint

# Of torch, about parts of itself.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def weights(tmp_path: Path) -> Iterator[Weights]:
    """A toy of its own, for a compiled layer stays compiled."""
    folder = toy_checkpoint(tmp_path / "toy", num_hidden_layers=1)
    yield load(folder, ScoringPath.SHARED_PREFIX, "float32")
    torch.compiler.reset()


def a_tenth_more(graph: Any, inputs: Any) -> Callable[..., Any]:
    """A backend of torch.compile that is wrong."""

    def run(*given: Any) -> Any:
        return [1.1 * made if made.is_floating_point() else made for made in graph(*given)]

    return run


@pytest.mark.nightly
def test_rewards_are_those_of_the_layers_as_they_are_written(weights: Weights) -> None:
    """Of the engine; the own forward and gradients run as written."""
    scorer = weights.scorer
    expected = engine.score(scorer, PREFIX, ANSWERS, (END,))
    slopes = gradient.slopes(scorer, PREFIX, [(i,) for i in range(8, 12)], (END,), name="toy")

    compiled_layers.fuse(scorer, name="toy", backend="eager")
    scorer.forget()

    found = engine.score(scorer, PREFIX, ANSWERS, (END,))
    np.testing.assert_allclose(found, expected, atol=1e-5 * expected.std())
    again = gradient.slopes(scorer, PREFIX, [(i,) for i in range(8, 12)], (END,), name="toy")
    np.testing.assert_array_equal(again.slopes, slopes.slopes)
    forward_parity_check.check(weights, PREFIX, (END,), name="toy", dtype="float32")


@pytest.mark.slow
def test_wrong_layers_are_refused_before_the_first_score(weights: Weights) -> None:
    """By the check that tries a path; the entry's key is named."""
    compiled_layers.fuse(weights.scorer, name="toy", backend=a_tenth_more)
    weights.scorer.forget()

    with pytest.raises(ModelError, match=r"^toy: its compiled layers do not give .*`compiled`"):
        forward_parity_check.check(weights, PREFIX, (END,), name="toy", dtype="float32")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"backbone": nn.Linear(1, 1)}, "Linear has no list of layers"),
        ({"path": ScoringPath.FULL_ROWS}, "only layers of the path 'shared prefix'"),
        ({"pipeline": Pipeline({})}, "spread over several GPUs"),
    ],
    ids=["no layers", "full rows", "several GPUs"],
)
def test_what_cannot_be_compiled_is_refused(
    weights: Weights, change: dict[str, Any], said: str
) -> None:
    """With what to do."""
    own = weights.scorer
    given: dict[str, Any] = {"backbone": own.backbone, "head": own.head, "pad": None, **change}

    with pytest.raises(ModelError, match=rf"^toy: .*{said}.*; remove `compiled` from its entry"):
        compiled_layers.fuse(Scorer(**given), name="toy")


@pytest.fixture
def plain_and_fused(tmp_path: Path) -> list[Checkpoint]:
    """The same checkpoint, by an entry that does not ask for compiled layers and one that does."""
    folder = str(toy_checkpoint(tmp_path / "toy", num_hidden_layers=1))
    return [Checkpoint(ModelSpec("t", folder, compiled=on), cache=tmp_path) for on in (False, True)]


def test_compiled_rewards_have_keys_of_their_own(plain_and_fused: list[Checkpoint]) -> None:
    """They differ by rounding; who has not asked for them keeps the keys that there were."""
    plain, fused = plain_and_fused

    assert fused.identity == {**plain.identity, "compiled": "layers"}
    assert fused.provenance["compiled"] == "layers"
    assert "compiled" not in plain.provenance


@pytest.mark.nightly
def test_an_entry_asks_for_it(plain_and_fused: list[Checkpoint]) -> None:
    """With torch's own compiler; rewards within 1e-4 sd."""
    answers = [(i,) for i in range(10, 40)]
    expected, found = (model.score("the love?", answers) for model in plain_and_fused)

    assert plain_and_fused[1].weights((), ()).scorer.compiled
    np.testing.assert_allclose(found, expected, atol=1e-4 * expected.std())
    torch.compiler.reset()
