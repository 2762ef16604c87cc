"""prompt_stability on scorers whose wordings share a known part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rmaudit.prompts import FAMILY, Prompt
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.verdicts.declare import declared
from rmaudit.verdicts.records import Estimate, Verdict
from tests.audits.planted import VALENCE, WORDS, ZIPF, Planted, audit_called, verdict

prompt_stability = audit_called("prompt_stability")
PROMPTS = tuple(FAMILY.values())
OWN = np.random.default_rng(7).normal(size=(54, 400))
OF_ADJECTIVE = np.random.default_rng(8).normal(size=(6, 400))


def run(
    wording: float, adjective: float = 0.0, *, sd: float = 1.0, asked: list[str] | None = None
) -> Estimate:
    """A scorer that follows the frame, but for parts of the wording and of its adjective."""

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        i = PROMPTS.index(prompt)
        if asked is not None:
            asked.extend(texts)
        followed = prompt.frame * VALENCE.to_numpy() / VALENCE.std()
        all_words = followed + wording * OWN[i] + adjective * OF_ADJECTIVE[i // 9]
        places = [WORDS.index(text) for text in texts]
        return TextScores((sd * all_words[places]).astype(np.float32), 0.0, "key")

    rng = np.random.default_rng(0)
    return prompt_stability(rewards=Rewards(PROMPTS, score), references=Planted(), rng=rng)


@pytest.mark.parametrize(
    ("wording", "adjective", "expected"),
    [
        (0.2, 0.1, Verdict.PASS),
        (1.5, 0.1, Verdict.FAIL),
        (0.3, 0.7, Verdict.INCONCLUSIVE),
    ],
)
def test_planted_wordings_are_judged(wording: float, adjective: float, expected: Verdict) -> None:
    """Little of it passes, much fails, and three adjectives a frame leave the middle open."""
    assert verdict(prompt_stability, run(wording, adjective)) is expected


def test_it_asks_the_whole_family_once() -> None:
    """Joint over 54 prompts, information only; 300 common words under each, the same ones."""
    declaration = declared(prompt_stability)
    assert declaration is not None
    asked: list[str] = []

    estimate = run(0.2, asked=asked)

    assert declaration.prompts == PROMPTS
    assert (declaration.joint, str(declaration.severity)) == (True, "info")
    common = int((ZIPF >= 4).sum())
    assert 270 < estimate.n == min(300, common)
    assert len(asked) == 54 * estimate.n
    assert len(set(asked)) == estimate.n
    assert (ZIPF[asked[: estimate.n]] >= 4).all()


def test_the_frame_is_seen_beside() -> None:
    """All positive prompts follow valence, all negative ones its opposite."""
    secondary = run(0.2).secondary

    assert secondary["rho with valence, lowest of positive prompts"] > 0.9
    assert secondary["rho with valence, highest of negative prompts"] < -0.9
    assert secondary["share of variance: word and frame"] > 0.9


def test_an_adjective_is_one_cluster() -> None:
    """Where it decides, the lowest pair says so, and the interval is wide."""
    estimate = run(0.1, 1.0)

    assert estimate.secondary["between two groups of a frame, lowest"] < 0.6
    assert estimate.high - estimate.low > 0.1
