"""Answers that a policy gave afresh, for synthetic scorers: what the audit of them draws itself.

`python -m lab training.answer_samples --fresh` drew them from the base of R-Smol-135M, with the
seed of a run that names none. They are in no release, but an audit of that model sees the same.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rmaudit.scores.answer_files import Samples, read_samples
from rmaudit.scores.fresh_answers import fresh_pairs
from rmaudit.scores.pair_files import Pairs

FILE = Path(__file__).parent / "fresh_answers.jsonl"
SEED = 0


@cache
def samples() -> Samples:
    """Return the drawn answers, without rewards."""
    return read_samples(FILE)


@cache
def pairs() -> Pairs:
    """Return what the audit makes of them, with the bundled answers, without rewards."""
    return fresh_pairs(samples(), seed=SEED)
