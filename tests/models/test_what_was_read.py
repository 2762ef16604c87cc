"""Numbers that may be read off a state in place of the reward, each by its formula."""

from __future__ import annotations

import pytest
import torch

from rmaudit.checkpoints.heads.linear import Linear
from rmaudit.checkpoints.heads.single_objective import OneOutput
from rmaudit.models import what_was_read

ROW, STATES = (3, 1, 2, 0), torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
MATRIX = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))
LENGTHS = STATES.norm(dim=1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", STATES @ MATRIX[:, 1]),
        ("unit state", (STATES @ MATRIX[:, 1]) / LENGTHS),
        ("last number", STATES[:, 7]),
        ("unit last number", STATES[:, 7] / LENGTHS),
        ("softmax", (STATES @ MATRIX).softmax(dim=1)[:, 1]),
    ],
)
def test_each_is_read_by_its_formula(name: str, expected: torch.Tensor) -> None:
    """At every id of a row, of a head with three outputs of which the second is the reward."""
    read = what_was_read._OF_STATES[name]

    assert torch.allclose(read(OneOutput(Linear(MATRIX), 1), ROW, STATES), expected)


def test_a_softmax_over_one_output_is_one() -> None:
    """Whatever the state."""
    read = what_was_read._OF_STATES["softmax"]

    assert read(Linear(MATRIX[:, 0]), ROW, STATES).tolist() == [1, 1, 1, 1]
