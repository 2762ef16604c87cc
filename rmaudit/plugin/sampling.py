"""Prepare the vocabulary sample of `--rm-sample` and print its size before scoring.

Registered only in a run with the option. Before anything is scored, the words that the selected
audits name are put together, and the answers of all sweeps are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import RmauditError
from rmaudit.plugin.collection import Audited, audited
from rmaudit.plugin.session import SESSION, audit_options, model_specs
from rmaudit.report.safe_text import line, log
from rmaudit.runs.case import opened

SWEEPS = {"sweep", "sweeps", "baseline", "searches"}  # fixtures that sweep, for all of a model


@pytest.hookimpl(tryfirst=True)  # before the terminal asks what there is to say
def pytest_collection_finish(session: pytest.Session) -> None:
    """Collect the words that the selected audits name, so that the sample contains them."""
    state = session.config.stash[SESSION]
    words = (word for audit in _sweeping(session.items) for word in audit.declaration.words)
    state.words = tuple(dict.fromkeys(words))


def pytest_report_collectionfinish(
    config: pytest.Config, items: Sequence[pytest.Item]
) -> list[str]:
    """Return a line for each model: its sample's answers, and their share of a whole run."""
    audits = list(_sweeping(items))
    if config.option.collectonly or not audits:
        return []
    said = [_cost(config, spec, audits) for spec in model_specs(config)]
    return [log(line(f"rmaudit: sample: {each}")) for each in said if each]


def _sweeping(items: Sequence[pytest.Item]) -> Iterator[Audited]:
    """Yield the audits that take a sweep as a fixture."""
    for item in items:
        audit = audited(item)
        if audit and isinstance(item, pytest.Function) and SWEEPS & {*item.fixturenames}:
            yield audit


def _cost(config: pytest.Config, spec: ModelSpec, audits: Sequence[Audited]) -> str:
    """Describe the size of one model's sample; "" if the model cannot be opened."""
    from rmaudit.models.recorded import Recorded
    from rmaudit.scores.sample import sampled

    own = [audit for audit in audits if audit.spec == spec]
    prompts = {prompt for audit in own for prompt in audit.prompts}
    options = audit_options(config)
    try:
        model = opened(spec, options)
        # No sample is taken of published scores.
        texts = () if isinstance(model, Recorded) else model.vocabulary().texts
    except RmauditError:
        return ""
    each = sampled(texts, options.sample or 0, options.words, options.seed, options.own_words)
    times = "prompt" if len(prompts) == 1 else "prompts"
    whose = f"{spec.name}: " if len(model_specs(config)) > 1 else ""
    share = f"{each / max(len(texts), 1):.0%} of the whole".replace("%", " %")
    return f"{whose}{len(prompts)} {times} x {each:,} answers, {share}"
