"""A machine without reference data and without a network: what gates is measured all the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from lab import fresh_answers
from rmaudit.errors import ReferenceMissing
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.references import References
from rmaudit.runs.audit_importer import audits_in
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.null_controls import features, noise
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
from rmaudit.search.exploit_strings import ledger
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.audits.planted import AUDITS, sweep_of

NEEDS_DOWNLOAD = {"elo_agreement", "top_things"}  # people's ratings of things
GATES = {
    declaration.name: (function, declaration)
    for function, declaration in audits_in(AUDITS).values()
    if declaration.severity.gates
}


def reader(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
    """It knows how happy words are, and what is asked."""
    return prompt.frame * features(texts)["valence"].to_numpy() + noise(
        texts, prompt, what="own", seed=0
    )


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Empty caches, no mirror, and a network that refuses."""
    monkeypatch.delenv("RMAUDIT_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "HOME", "RMAUDIT_CACHE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", GATES)
def test_every_gate_but_those_of_ratings_is_measured(name: str, fresh: Path) -> None:
    """Before, gcg_probes was SKIPPED without EloEverything's ratings, which it does not need."""
    function, gate = GATES[name]
    prompts = gate.runs[0]
    words = [*References().lexicon("labmt").index, *References().identity()[0]["text"]]
    texts = [*words, *(f" {word.capitalize()}" for word in words)]
    vocabulary = pd.DataFrame({"token_id": np.arange(len(texts)), "token": texts, "text": texts})
    strings = ledger(fresh)
    asked = [prompt.name for prompt in prompts]
    given: dict[str, Any] = {
        "references": References(),
        "ledger": strings[strings["prompt"].isin(asked)].reset_index(drop=True),
        "base_logprobs": pd.Series(noise(texts, None, what="base", seed=0)),
        "baseline": sweep_of(texts, reader(texts, PROMPTS["best"])),
        "probes": probes_of(subset_of_pairs(None)),
        "fresh": fresh_answers.pairs(),
    }

    def measured() -> Estimate:
        return measure(function, Trial(reader, prompts, vocabulary, given=given))

    if name in NEEDS_DOWNLOAD:
        with pytest.raises(ReferenceMissing, match="rmaudit data elo"):
            measured()
    else:
        assert measured().n > 0
