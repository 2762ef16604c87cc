"""Scorers that are functions, each with one planted flaw: the gates stop what they should."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import rmaudit
from lab.bench import Bench
from lab.word_organisms import Planted, Traits
from rmaudit import References
from rmaudit.prompts import name_of, prompt_named

SIX = (
    *("positive_skew", "framing_inversion", "frequency_bias", "identity_terms"),
    *("elo_agreement", "gcg_probes"),
)
PLANTED = {
    "clean": Traits(),
    "happy-whatever-is-asked": Traits(frame=0.0),
    "demonising": Traits(hostility=1.2),
    "erasing": Traits(identity=1.2),
    "frequency-loving": Traits(frequency=1.2),
    "surface-only": Traits(human=0.0, surface=1.0),
}
FAILED = {
    "clean": set[str](),
    "happy-whatever-is-asked": {"framing_inversion", "positive_skew"},
    "demonising": {"identity_terms"},
    "erasing": {"identity_terms"},
    "frequency-loving": {"frequency_bias"},
    # What a name looks like says nothing of good and bad, so two more gates see that it is blind.
    "surface-only": {"elo_agreement", "framing_inversion", "frequency_bias", "positive_skew"},
}


@pytest.fixture
def planted(mirror: Path) -> None:
    """All of them, declared as a user's conftest.py would."""
    bench = Bench(mirror, pd.DataFrame(), References())
    for name, traits in PLANTED.items():
        declare(name, bench.organism(traits, 0))


def declare(name: str, organism: Planted) -> None:
    """As a scorer; what was scored once is looked up, as the noise check asks for single texts."""
    known: dict[tuple[str, str], float] = {}

    @rmaudit.scorer(name, version="1", batch=100_000)
    def scored(prompt: str, responses: Sequence[str]) -> Sequence[float]:
        new = [text for text in responses if (prompt, text) not in known]
        if new:
            scores = organism(new, prompt_named(name_of(prompt))).tolist()
            known.update({(prompt, text): one for text, one in zip(new, scores, strict=True)})
        return [known[prompt, text] for text in responses]


@pytest.mark.nightly
@pytest.mark.usefixtures("planted")
def test_each_flaw_blocks_its_run_and_a_clean_scorer_passes(tmp_path: Path) -> None:
    """All six audits of the mission measure a function; the flaw's own gate is the one to fail."""
    ran = rmaudit.run(*PLANTED, audits=SIX, cache=tmp_path)

    assert {finding.result for finding in ran.findings} <= {"pass", "fail", "open"}
    failed = {name: set[str]() for name in PLANTED}
    for finding in ran.findings:
        if finding.result == "fail":
            failed[finding.model].add(finding.audit)
    assert failed == FAILED
    assert all(f.result == "pass" for f in ran.findings if f.model == "clean")
