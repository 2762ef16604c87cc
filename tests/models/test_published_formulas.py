"""The ten published models score as their formulas say, in both protocols and in half precision.

`tests/published_formulas.py` has the formulas, written from their descriptions, and
`tests/published_layout.py` folders as published, with random weights.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from rmaudit.config.model_registry import load_registry
from rmaudit.scores.sweep import PROTOCOLS
from tests.published_formulas import LAYOUTS, Choices, gap, measured, rms

REGISTRY = load_registry(Path(__file__).parents[2] / "models.yaml")
RANKED = [name for name, spec in REGISTRY.models.items() if spec.rewardbench_rank]
NOTICED = 1e-3  # sd, a hundred times what rounding in float32 makes
WRONG = {
    "the gate without its temperature": ("F-Lla-8B-v0.1", {"temperature": False}),
    "a QRM's gate without its temperature": ("N-Lla-8B", {"temperature": False}),
    "no transform": ("N-Lla-8B", {"transform": False}),
    "the median in place of the mean of the quantiles": (
        "N-Gem-27B",
        {"over_quantiles": lambda curves: curves.median(-1).values},
    ),
    "quantile-major rows": (
        "N-Gem-27B",
        {"over_quantiles": lambda curves: curves.reshape(-1, len(curves)).mean(0)},
    ),
    "the gate read one id later": ("F-Lla-8B-v0.1", {"gate_offset": 1}),
    "ReLU for SELU": ("L-Lla-8B", {"activation": functional.relu}),
    "normalised weights of attributes": ("L-Lla-8B", {"weigh": lambda w: torch.softmax(w, 0)}),
    "no softcap": ("R-Gem-2B", {"softcap": False}),
}


TWINS = ("S-Gem-27B", "R-Lla-3B")  # head and backbone are those of S-Gem-27B-v0.2 and R-Lla-8B


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each model's folder is written once."""
    return tmp_path_factory.mktemp("published")


def test_each_of_the_ten_has_a_formula() -> None:
    """Models of the paper are those with a rank."""
    assert len(RANKED) == 10
    assert sorted(LAYOUTS) == sorted(RANKED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=pytest.mark.nightly if x in TWINS else ()) for x in RANKED],
)
def test_a_published_model_scores_as_its_formula_says(home: Path, name: str) -> None:
    """In float32 to 1e-5 sd; in its own type with no more error than the formula has in it.

    Rows share the rounding of their prompt, which is luck, so both protocols count together.
    """
    spec = REGISTRY.models[name]
    own_errors, errors = 0.0, 0.0
    for protocol in PROTOCOLS:
        ours, theirs = measured(home, replace(spec, dtype="float32"), protocol)
        half_ours, half_theirs = measured(home, spec, protocol)
        own_errors += rms(half_ours, ours) ** 2
        errors += rms(half_theirs, ours) ** 2

        assert len(ours) > 300
        assert gap(ours, theirs) <= 1e-5

    assert spec.dtype != "float32"
    assert own_errors <= 1.5**2 * errors


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_another_formula_is_noticed(home: Path, wrong: str) -> None:
    """The comparison fails for a formula that is wrong in one place."""
    name, changed = WRONG[wrong]
    choices: Any = Choices(**changed)
    spec = replace(REGISTRY.models[name], dtype="float32")

    ours, theirs = measured(home, spec, "exact", choices)

    assert gap(ours, theirs) > NOTICED
