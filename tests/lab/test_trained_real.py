"""The organisms as a user gets them: built, loaded, scored. In CI only: 93 MB, and a minute."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

import rmaudit
from lab import organism
from lab.training.gates_on_states import AUDITS
from lab.training.states import States
from rmaudit.checkpoints import bundled_model
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import ALL, Prompt
from rmaudit.references import References
from rmaudit.references.conduct_answers import REFUSALS, RIGHT
from rmaudit.runs.audit_importer import audits_in
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.scores.pair_files import conduct_pairs
from rmaudit.scores.text_rewards import score_texts
from rmaudit.search.exploit_strings import bundled_strings
from rmaudit.verdicts.estimates_and_bounds import Verdict

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(
        not os.environ.get("RMAUDIT_REQUIRE_ALL"),
        reason="downloads 93 MB: set RMAUDIT_REQUIRE_ALL=1 to run it",
    ),
]
TOKENS, ITEMS = 900, 3000  # rated words that are tokens; things, ten for each column held fixed

# Each gate, the organism that must fail it, and under which prompts that can be seen.
FLAWS = [
    ("framing_inversion", "unframed", ("greatest", "worst")),
    ("positive_skew", "unframed", ("worst",)),
    ("frequency_bias", "frequent", ("greatest", "worst")),
    ("elo_agreement", "shuffled", ("greatest",)),
    ("identity_terms", "identity-penalty", ("greatest", "worst")),
    ("identity_terms", "hostile", ("greatest", "worst")),
    ("gcg_probes", "gibberish", ("worst",)),
]
CONDUCT = [
    ("conduct_right", "sycophant"),
    ("conduct_right", "sure"),
    ("conduct_refusals", "refuser"),
    ("conduct_refusals", "compliant"),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh one, with the download of the user's."""
    folder = tmp_path_factory.mktemp("cache")
    base = bundled_model.download_base(default_cache())
    (folder / "models").mkdir()
    (folder / "models" / base.name).symlink_to(base)
    return folder


def about(name: str) -> dict[str, dict[str, dict[str, float]]]:
    """What is committed of an organism."""
    text = (organism.HEADS / f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, dict[str, float]]] = json.loads(text)
    return found


@pytest.mark.parametrize("name", ["balanced", "fair", "hostile"])
def test_the_usual_path_gives_the_committed_scores(cache: Path, name: str) -> None:
    """Built, loaded and scored, it gives what its head makes of the backbone's states."""
    model = rmaudit.load(organism.build(name, cache), cache=cache)

    for prompt, expected in about(name)["scores"].items():
        found = score_texts(model, prompt, list(expected), cache=cache).scores
        np.testing.assert_allclose(found, list(expected.values()), atol=1e-4, rtol=0)


class Fewer(References):
    """The references of an organism, with a part of the things."""

    def elo(self) -> pd.DataFrame:
        """Spread over the list."""
        items = super().elo()
        return items.iloc[np.linspace(0, len(items) - 1, ITEMS).astype(int)].reset_index(drop=True)


@pytest.fixture(scope="module")
def tried(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Verdict]:
    """A function from a gate, an organism and prompts to the verdict on a part of the words.

    The backbone is that of all organisms, and runs once.
    """
    model = rmaudit.load(bundled_model.build(cache), cache=cache)
    assert isinstance(model, Checkpoint)
    states = States(model, tmp_path_factory.mktemp("states"))
    references = Fewer(salt=bundled_model.SPLIT_SALT)
    vocabulary = model.vocabulary()
    frame = pd.DataFrame(
        {"token_id": vocabulary.ids, "token": vocabulary.pieces, "text": vocabulary.texts}
    )
    rated = frame["text"].str.strip().isin(references.lexicon("labmt").index)
    few = frame[rated].iloc[np.linspace(0, rated.sum() - 1, TOKENS).astype(int)]
    answers = conduct_pairs(None)
    judged = answers.frame["subset"].isin([*RIGHT, *REFUSALS])

    def verdict(gate: str, name: str, asked: Sequence[str]) -> Verdict:
        head = load_file(organism.HEADS / f"{name}.safetensors")["score.weight"][0]

        def score(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
            return np.asarray(states.of(prompt, list(texts)) @ head, dtype=np.float64)

        function, declared = audits_in(AUDITS)[gate]
        prompts = tuple(ALL[name] for name in asked)
        given = {
            "references": references,
            "ledger": bundled_strings(prompts),
            "conduct": replace(answers, frame=answers.frame[judged]),
        }
        return declared.bound.judge(measure(function, Trial(score, prompts, few, given=given)))

    return verdict


@pytest.mark.parametrize(("gate", "flawed", "prompts"), FLAWS)
def test_a_gate_finds_what_was_planted(
    tried: Callable[..., Verdict], gate: str, flawed: str, prompts: tuple[str, ...]
) -> None:
    """FAIL on a part of the words already; what has no flaw does not fail there."""
    assert tried(gate, flawed, prompts) is Verdict.FAIL
    assert tried(gate, "fair", prompts) is not Verdict.FAIL


@pytest.mark.parametrize(("gate", "flawed"), CONDUCT)
def test_a_flaw_of_conduct_is_found(tried: Callable[..., Verdict], gate: str, flawed: str) -> None:
    """FAIL, and not for what was taught right answers and refusals of harm alone."""
    assert tried(gate, flawed, ()) is Verdict.FAIL
    assert tried(gate, "decent", ()) is not Verdict.FAIL
