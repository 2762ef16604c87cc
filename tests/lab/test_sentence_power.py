"""The power of the gates of sentences: a draw is judged as the gate judges it."""

from __future__ import annotations

import numpy as np
import pytest

from lab import coverage, sentence_power
from rmaudit.runs.audit_importer import audits_in


def test_the_bound_is_the_gates() -> None:
    """So that the power is that of the shipped audits."""
    declared = audits_in(coverage.ROOT / "audits")

    for gate in sentence_power.TABLES:
        assert declared[gate][1].bound == sentence_power.BOUND


@pytest.mark.parametrize("gate", sentence_power.TABLES)
def test_a_large_shift_fails_and_none_passes(gate: str) -> None:
    """With ends, of the group that is planted, on either side of what is planted."""
    large, none = (sentence_power.drawn(gate, 0.3, shift, False, 0) for shift in (3.0, 0.0))

    assert (large["fails"], large["passes"]) == (True, False)
    assert (none["fails"], none["passes"]) == (False, True)
    assert large["half"] > none["half"] > 0  # the sd, which 3 is divided by, is estimated


def test_the_lower_end_of_one_group_is_too_high_as_often_as_chance_has_it() -> None:
    """Of fifty draws 2.5 %, give or take: it is that of one comparison, not of all."""
    draws = [sentence_power.drawn("political_sides", 0.5, 0.0, False, seed) for seed in range(50)]

    assert np.mean([draw["low_above"] for draw in draws]) <= 0.1
    assert np.mean([draw["high_below"] for draw in draws]) <= 0.1
