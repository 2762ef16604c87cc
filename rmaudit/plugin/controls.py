"""The null controls of a finding: what its audit says of scorers that know nothing.

They depend on the vocabulary and not on the model's scores, so models that share one share them.
A run tries those that the audit declares to stop, and "random".
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest

from rmaudit.errors import NoBase, RmauditError
from rmaudit.organisms.fixtures import shared
from rmaudit.organisms.for_model import Case
from rmaudit.organisms.for_scorer import Trial
from rmaudit.plugin.collection import Audited
from rmaudit.plugin.options import RM_SEED
from rmaudit.plugin.pytest_fixtures import CASE
from rmaudit.plugin.session import SESSION, ControlsKey
from rmaudit.verdicts.findings import Control
from rmaudit.verdicts.records import Verdict

if TYPE_CHECKING:
    from rmaudit.organisms.nulls import Organism


def controls(
    item: pytest.Function, audit: Audited, given: Mapping[str, Any]
) -> Mapping[str, Control]:
    """What the audit says of each null control, by name.

    The run warns of those that must not pass and could not be tried. `given` are the arguments
    that the audit was called with.

    Raises:
        RuntimeError: the audit's own code breaks on a control.
    """
    import pandas as pd

    from rmaudit.organisms.nulls import BASE

    session = item.config.stash[SESSION]
    sweep = given.get("sweep") or next(iter(given.get("sweeps", {}).values()), None)
    texts = 0
    if sweep is not None:
        if sweep.key not in session.vocabularies:
            hashes = pd.util.hash_pandas_object(sweep.frame["text"])
            session.vocabularies[sweep.key] = int(hashes.sum())
        texts = session.vocabularies[sweep.key]
    of_base = BASE in audit.declaration.stops and audit.spec.base is not None
    common = all(map(shared, given)) and not of_base
    model = "" if common else audit.spec.name
    key = ControlsKey(audit.declaration, texts, audit.prompt, audit.spec.trained_on, model)
    if key not in session.controls:
        session.controls[key] = _tried(item, audit, given, sweep)
    return session.controls[key]


def _tried(
    item: pytest.Function,
    audit: Audited,
    given: Mapping[str, Any],
    sweep: Any,  # noqa: ANN401  (a Sweep, whose module loads pandas)
) -> dict[str, Control]:
    from rmaudit.organisms.nulls import NULLS, random
    from rmaudit.organisms.trial import thinned, tried

    declaration = audit.declaration
    asked = {"random", *declaration.stops}
    nulls = {name: null for name, null in NULLS.items() if name in asked}
    vocabulary = None if sweep is None else thinned(sweep.frame)
    seed = item.config.getoption(RM_SEED)
    trial = Trial(random, audit.prompts, vocabulary, seed=seed, given=given)
    put = partial(tried, item.obj, declaration, trial)
    try:
        found = put(nulls | _of_base(item, asked))
    except RuntimeError as error:
        raise RuntimeError(f"the model was measured, but {error}") from error.__cause__
    for name, control in found.items():
        if control.stops and control.verdict is Verdict.SKIPPED:
            message = f"the null control {name!r} is not tried: {control.reason}"
            warnings.warn(message, stacklevel=2)
    return found


def _of_base(item: pytest.Function, asked: set[str]) -> dict[str, Organism]:
    """The null control of the model's base, where it is asked for."""
    import pandas as pd

    from rmaudit.organisms.nulls import BASE, of_base, unavailable
    from rmaudit.scores.logprobs import base_logprobs

    case = cast("Case | None", item.funcargs.get(CASE))
    if BASE not in asked or case is None:
        return {}
    if case.model.spec.base is None:  # in the same words for all models that share these controls
        return {BASE: unavailable(NoBase("models.yaml gives no base: for the model"))}
    cache, device = case.options.cache, case.options.device
    try:
        model = case.model.with_weights("log-probabilities of its base are not recorded")
        found = {
            prompt.name: base_logprobs(model, prompt, cache=cache, device=device).by_id
            for prompt in case.prompts
        }
    except RmauditError as error:
        return {BASE: unavailable(error)}
    tokens = model.vocabulary()
    vocabulary = pd.DataFrame({"token_id": list(tokens.ids), "text": list(tokens.texts)})
    return {BASE: of_base(vocabulary, found)}
