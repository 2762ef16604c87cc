"""The null controls of a finding: what its audit says of scorers that know nothing.

They depend on the vocabulary and not on the model's scores, so models that share one share them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from rmaudit.errors import NotRecorded, ReferenceMissing
from rmaudit.plugin.collection import Audited
from rmaudit.plugin.options import RM_SEED, SESSION
from rmaudit.verdicts.records import Estimate

_SHARED = {"sweep", "sweeps", "rewards", "references", "rng", "prompt", "prompts"}


def controls(
    item: pytest.Function, audit: Audited, given: Mapping[str, Any]
) -> Mapping[str, float]:
    """The value of each null control by name, without those that cannot be measured.

    Such a one is no fault of the audit: numerics has none, for scorers without weights have no
    noise. Where reference data that controls need are missing, the run warns.

    `given` are the arguments that the audit was called with.
    """
    import pandas as pd

    session = item.config.stash[SESSION]
    known, seen = session.controls, session.vocabularies
    sweep = given.get("sweep") or next(iter(given.get("sweeps", {}).values()), None)
    texts = 0
    if sweep is not None:
        if sweep.key not in seen:
            seen[sweep.key] = int(pd.util.hash_pandas_object(sweep.frame["text"]).sum())
        texts = seen[sweep.key]
    own = audit.spec.name if set(given) - _SHARED else ""
    place = (audit.declaration, texts, audit.prompt, audit.spec.trained_on, own)
    if place not in known:
        known[place] = _measured(item.obj, audit, given, sweep, item.config.getoption(RM_SEED))
    return known[place]


def _measured(
    function: Callable[..., Estimate],
    audit: Audited,
    given: Mapping[str, Any],
    sweep: Any,  # noqa: ANN401  (a Sweep, whose module loads pandas)
    seed: int,
) -> dict[str, float]:
    import numpy as np

    from rmaudit.organisms.nulls import NULLS
    from rmaudit.organisms.trial import measure, thinned

    vocabulary = None if sweep is None else thinned(sweep.frame)
    found = {}
    for name, organism in NULLS.items():
        with suppress(Exception), _missing_is_told(name):
            fixtures = {**given, "rng": np.random.default_rng(seed)}
            estimate = measure(
                function,
                organism,
                vocabulary=vocabulary,
                prompts=audit.prompts,
                fixtures=fixtures,
            )
            found[name] = estimate.value
    return found


@contextmanager
def _missing_is_told(name: str) -> Iterator[None]:
    try:
        yield
    except NotRecorded:  # of an organism nothing is
        raise
    except ReferenceMissing as error:
        warnings.warn(f"the null control {name!r} is not measured: {error}", stacklevel=2)
        raise
