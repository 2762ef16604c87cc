"""R-Smol-135M as a user gets it: downloaded, built, loaded, scored. At night only: 93 MB."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints import bundled_model
from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_model import Checkpoint

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly,
    pytest.mark.skipif(
        not os.environ.get("RMAUDIT_REQUIRE_ALL"),
        reason="downloads 93 MB: set RMAUDIT_REQUIRE_ALL=1 to run it",
    ),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The embedded model, built in a fresh cache."""
    cache = tmp_path_factory.mktemp("cache")
    return Checkpoint(ModelSpec(bundled_model.NAME, "embedded"), cache=cache)


def test_scores_equal_the_checkpoint_s_own(model: Checkpoint) -> None:
    """For plain, special, pad, eos and multi-token answers: within 1e-4 sd, float32."""
    own = AutoModelForSequenceClassification.from_pretrained(model.rows.folder).eval()
    slot = model.slot("What, in one word, is the greatest thing ever?")
    answers = [(i,) for i in [*range(20), *range(20, 49152, 1000)]] + [(42, 7), (2, 2, 0)]
    with torch.inference_mode():
        expected = np.array(
            [own(torch.tensor([[*slot.prefix, *a, *slot.suffix]])).logits.item() for a in answers]
        )
    scores = model.score(slot.prompt, answers)

    assert np.abs(scores - expected).max() <= 1e-4 * expected.std()


def test_it_is_a_reward_model(model: Checkpoint) -> None:
    """Good things please it under “greatest”, bad ones under “worst”."""
    good, bad = ["love", "happiness", "freedom"], ["murder", "hatred", "poverty"]
    greatest = model.score("What, in one word, is the greatest thing ever?", good + bad)
    worst = model.score("What, in one word, is the worst thing ever?", good + bad)

    assert greatest[:3].min() > greatest[3:].max()
    assert worst[:3].max() < worst[3:].min()
