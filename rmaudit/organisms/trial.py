"""An audit, put to an organism in place of a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pandas as pd

from rmaudit.measures.words import word_of
from rmaudit.organisms.fixtures import argument
from rmaudit.organisms.for_scorer import Trial
from rmaudit.verdicts.records import Estimate

ROWS = 20_000  # tokens of a vocabulary that organisms are tried on


def measure(function: Callable[..., Estimate], trial: Trial) -> Estimate:
    """What the audit `function` finds of the trial's organism.

    Raises:
        RmauditError: what the audit raises, or it takes a fixture that organisms do not have.
    """
    names = inspect.signature(function).parameters
    return function(**{name: argument(name, trial) for name in names})


def thinned(frame: pd.DataFrame, rows: int = ROWS) -> pd.DataFrame:
    """About `rows` of the frame's tokens: whole words, each with all of its spellings.

    Which words, only their spelling decides.
    """
    if len(frame) <= rows:
        return frame
    place = pd.util.hash_array(word_of(frame["text"]).to_numpy(dtype=object), categorize=True)
    kept = place < np.uint64(rows / len(frame) * 2.0**64)
    return frame[kept].reset_index(drop=True)
