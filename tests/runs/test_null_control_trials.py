"""An audit put to an organism gets the fixtures that it asks for, filled with its scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit import Estimate, Rewards, Sweep
from rmaudit.errors import MeasureError, SpecError
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Trial

BEST, WORST = PROMPTS["best"], PROMPTS["worst"]
VOCABULARY = pd.DataFrame({"token_id": [0, 1], "token": ["a", "bcd"], "text": ["a", "bcd"]}).astype(
    {"token_id": np.int32}
)


def length(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
    """The length of the text, taken negative where the worst is asked for."""
    return np.array([len(text) * prompt.frame for text in texts], dtype=float)


def estimate(value: float) -> Estimate:
    """An estimate of which only the value matters."""
    return Estimate(value, value, value, "x", 2, "made up")


def test_single() -> None:
    """A sweep and rewards under the one prompt, and what the model was given of anything else."""

    def audit(sweep: Sweep, rewards: Rewards, other: str) -> Estimate:
        assert sweep.frame["score"].dtype == np.float32
        assert sweep.prompt is WORST
        assert np.isnan(sweep.noise)  # nobody measures it
        assert other == "given"
        return estimate(float(sweep.frame["score"].sum() + rewards(["xxxxx"]).scores[0]))

    found = measure(audit, Trial(length, (WORST,), VOCABULARY, given={"other": "given"}))

    assert found.value == -(1 + 3) - 5


def test_joint() -> None:
    """A sweep per prompt, and rewards that want a prompt's name."""

    def audit(sweeps: dict[str, Sweep], rewards: Rewards) -> Estimate:
        with pytest.raises(SpecError, match="no prompt is named"):
            rewards(["x"])
        sums = [float(sweep.frame["score"].sum()) for sweep in sweeps.values()]
        return estimate(sums[0] - 10 * sums[1] + 100 * float(rewards(["xx"], "worst").scores[0]))

    found = measure(audit, Trial(length, (BEST, WORST), VOCABULARY))

    assert found.value == 4 + 40 - 200


@pytest.mark.parametrize("name", ["sweep", "ledger", "nobodys"])
def test_what_an_organism_has_not_is_told(name: str) -> None:
    """Without a vocabulary, or without the model's own, the fixture is named: no traceback."""
    function = eval(f"lambda {name}: None")  # noqa: S307

    with pytest.raises(MeasureError, match=name):
        measure(function, Trial(length, (BEST,)))
