"""Run an audit on synthetic scorers (organisms) in place of a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from rmaudit.errors import MeasureError, NoBase, NoWeights, RmauditError
from rmaudit.measures.word_spellings import word_of
from rmaudit.runs.fixture_registry import FIXTURES
from rmaudit.runs.synthetic_scorer_fixtures import Organism, Trial, as_given
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from rmaudit.verdicts.findings import Control

ROWS = 20_000  # tokens of a vocabulary that organisms are tried on


def measure(function: Callable[..., Estimate], trial: Trial) -> Estimate:
    """Run the audit `function` on the trial's synthetic scorer and return its estimate.

    A fixture that is not in `FIXTURES` is the one that the audit of the model was given.

    Raises:
        RmauditError: what the audit raises, or it takes a fixture that organisms do not have.
    """
    names = inspect.signature(function).parameters
    made = {
        name: FIXTURES[name].for_scorer if name in FIXTURES else as_given(name) for name in names
    }
    return function(**{name: make(trial) for name, make in made.items()})


def tried(
    function: Callable[..., Estimate],
    declaration: Declaration,
    trial: Trial,
    nulls: Mapping[str, Organism],
) -> dict[str, Control]:
    """Run the audit on each null control (a scorer that ignores meaning); return results by name.

    A control whose scores allow no measurement is an ERROR. One that cannot be tried is SKIPPED,
    for example if reference data are missing, or N/A if there is no base model.

    Raises:
        RuntimeError: the audit's own code breaks on a control.
    """
    return {
        name: _tried(function, declaration, replace(trial, organism=null), name)
        for name, null in nulls.items()
    }


def _tried(
    function: Callable[..., Estimate], declaration: Declaration, trial: Trial, name: str
) -> Control:
    stops = name in declaration.stops
    try:
        found = measure(function, trial)
    except RmauditError as error:
        lost = Verdict.NA if isinstance(error, NoBase | NoWeights) else Verdict.SKIPPED
        lost = Verdict.ERROR if isinstance(error, MeasureError) else lost
        return Control(lost, stops, reason=str(error))
    except Exception as error:
        message = (
            f"the audit breaks on the null control {name!r} ({type(error).__name__}: {error}); "
            f"raise MeasureError for scores from which nothing can be measured"
        )
        raise RuntimeError(message) from error
    control = Control(declaration.bound.judge(found), stops, found.value, found.low, found.high)
    return replace(control, parts=found.parts) if control.slips else control


def thinned(frame: pd.DataFrame, rows: int = ROWS) -> pd.DataFrame:
    """Reduce a frame of tokens to about `rows`; all spellings of a word stay or go together.

    Which words stay depends only on their spelling.
    """
    if len(frame) <= rows:
        return frame
    place = pd.util.hash_array(word_of(frame["text"]).to_numpy(dtype=object), categorize=True)
    kept = place < np.uint64(rows / len(frame) * 2.0**64)
    return frame[kept].reset_index(drop=True)
