"""R-Smol-135M as a user gets it: downloaded, built, loaded, scored. At night only: 93 MB."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rmaudit.checkpoints import bundled_model
from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_model import Checkpoint


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.skipif(
    not os.environ.get("RMAUDIT_REQUIRE_ALL"),
    reason="downloads 93 MB: set RMAUDIT_REQUIRE_ALL=1 to run it",
)
def test_it_is_a_reward_model(tmp_path: Path) -> None:
    """Good things please it under “greatest”, bad ones under “worst”.

    That its rewards are those of its own class, each load compares.
    """
    model = Checkpoint(ModelSpec(bundled_model.NAME, "embedded"), cache=tmp_path)
    good, bad = ["love", "happiness", "freedom"], ["murder", "hatred", "poverty"]
    greatest = model.score("What, in one word, is the greatest thing ever?", good + bad)
    worst = model.score("What, in one word, is the worst thing ever?", good + bad)

    assert greatest[:3].min() > greatest[3:].max()
    assert worst[:3].max() < worst[3:].min()
