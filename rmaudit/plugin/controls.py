"""The null controls of a finding: what its audit says of scorers that know nothing.

They depend on the vocabulary and not on the model's scores, so models that share one share them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from rmaudit.errors import NotRecorded, ReferenceMissing, RmauditError
from rmaudit.organisms.fixtures import shared
from rmaudit.organisms.for_scorer import Trial
from rmaudit.plugin.collection import Audited
from rmaudit.plugin.options import RM_SEED
from rmaudit.plugin.session import SESSION, ControlsKey


def controls(
    item: pytest.Function, audit: Audited, given: Mapping[str, Any]
) -> Mapping[str, float]:
    """The value of each null control by name, without those that cannot be measured.

    Such a one is no fault of the audit: numerics has none, for scorers without weights have no
    noise. Where reference data that controls need are missing, the run warns.

    `given` are the arguments that the audit was called with.

    Raises:
        RuntimeError: the audit's own code breaks on a control.
    """
    import pandas as pd

    session = item.config.stash[SESSION]
    sweep = given.get("sweep") or next(iter(given.get("sweeps", {}).values()), None)
    texts = 0
    if sweep is not None:
        if sweep.key not in session.vocabularies:
            hashes = pd.util.hash_pandas_object(sweep.frame["text"])
            session.vocabularies[sweep.key] = int(hashes.sum())
        texts = session.vocabularies[sweep.key]
    model = "" if all(map(shared, given)) else audit.spec.name
    key = ControlsKey(audit.declaration, texts, audit.prompt, audit.spec.trained_on, model)
    if key not in session.controls:
        session.controls[key] = _measured(item, audit, given, sweep)
    return session.controls[key]


def _measured(
    item: pytest.Function,
    audit: Audited,
    given: Mapping[str, Any],
    sweep: Any,  # noqa: ANN401  (a Sweep, whose module loads pandas)
) -> dict[str, float]:
    from rmaudit.organisms.nulls import NULLS
    from rmaudit.organisms.trial import measure, thinned

    vocabulary, seed = (
        None if sweep is None else thinned(sweep.frame),
        item.config.getoption(RM_SEED),
    )
    found = {}
    for name, organism in NULLS.items():
        trial = Trial(organism, audit.prompts, vocabulary, seed=seed, given=given)
        try:
            found[name] = measure(item.obj, trial).value
        except NotRecorded:  # of an organism nothing is
            continue
        except ReferenceMissing as error:
            warnings.warn(f"the null control {name!r} is not measured: {error}", stacklevel=2)
        except RmauditError:  # an organism has no such thing, or it does not vary
            continue
        except Exception as error:
            message = (
                f"the model was measured, but the audit breaks on the null control {name!r} "
                f"({type(error).__name__}: {error}); raise MeasureError for scores from which "
                f"nothing can be measured"
            )
            raise RuntimeError(message) from error
    return found
