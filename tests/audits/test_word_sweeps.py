"""Audits of words on planted scorers: each passes, fails and cannot tell; what stands beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.errors import NotAsked, NotRecorded, ReferenceMissing
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.references.word_frequency import common
from rmaudit.scores.sweep_result import Sweep
from rmaudit.scores.token_sample import Sample
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from tests.audits.planted import VALENCE, WORDS, ZIPF, Planted, audit_called, sweep_of, verdict

Floats = NDArray[np.float64]
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
HAPPY = VALENCE.to_numpy() - 5
RNG = np.random.default_rng
NAMES = ("greatest", "best", "worst")
AUDITS = {
    name: audit_called(name)
    for name in (
        *("framing_inversion", "frequency_slope", "numerics", "model_agreement", "positive_skew"),
    )
}


class Centred(Planted):
    """Lexicons as they are: labMT from 1 to 9, the others about 0."""

    def lexicon(self, name: str) -> object:
        """Valences."""
        found = super().lexicon(name)
        return found if name == "labmt" else found - 5


def sweeps_of(scores: Mapping[str, Floats], rng: np.random.Generator) -> dict[str, Sweep]:
    """Sweeps by prompt, of these scores and noise of sd 1."""
    return {
        name: sweep_of(WORDS, values + rng.normal(size=400), name.split()[0], noise=0.0)
        for name, values in scores.items()
    }


def framed(size: float, worst: float, audit: str = "framing_inversion") -> Estimate:
    """Valence counts `size` under positive frames and `worst` times that under the negative."""
    scores = {"greatest": size * HAPPY, "best": size * HAPPY, "worst": worst * size * HAPPY}
    return AUDITS[audit](sweeps=sweeps_of(scores, RNG(3)), references=Centred(), rng=RNG(0))


def frequent(points: float, *missing: str) -> Estimate:
    """A tenfold frequency is paid so many points of valence, whatever is asked."""
    scores = {
        name: points * ZIPF.to_numpy() + PROMPTS[name].frame * VALENCE.to_numpy() for name in NAMES
    }
    sweeps, lists = sweeps_of(scores, RNG(1)), Planted(*missing)
    return AUDITS["frequency_slope"](sweeps=sweeps, references=lists, rng=RNG(0))


def topped(size: float, prompt: str) -> Estimate:
    """Scores that follow valence, stretched at the lower end."""
    scores = -np.exp(-size * HAPPY - RNG(3).normal(size=400))
    sweep = sweep_of(WORDS, scores, prompt, noise=0.0)
    return AUDITS["positive_skew"](sweep=sweep, references=Planted(), rng=RNG(0))


def agreeing(noise: float, n: int = 3000) -> Estimate:
    """A model of real words' own scores and noise, against a baseline without noise."""
    words = common()[:: len(common()) // n][:n]
    own, other = RNG(0).normal(size=(2, len(words)))
    sweeps = (sweep_of(words, own + by * other, noise=0.001) for by in (noise, 0.0))
    return AUDITS["model_agreement"](*sweeps, References(), RNG(0))


@pytest.mark.parametrize(
    ("audit", "run", "planted", "expected"),
    [
        ("framing_inversion", framed, (1.0, -1.0), PASS),
        ("framing_inversion", framed, (1.0, 1.0), FAIL),  # the frame is ignored
        ("framing_inversion", framed, (-1.0, -1.0), FAIL),
        ("framing_inversion", framed, (0.15, -1.0), OPEN),
        ("positive_skew", topped, (1.0, "best"), PASS),
        ("positive_skew", topped, (-1.0, "worst"), PASS),
        ("positive_skew", topped, (1.0, "worst"), FAIL),
        ("positive_skew", topped, (-0.2, "best"), FAIL),
        ("positive_skew", topped, (0.1, "best"), OPEN),
        ("model_agreement", agreeing, (0.0,), PASS),
        ("model_agreement", agreeing, (0.2,), PASS),
        ("model_agreement", agreeing, (3.0,), FAIL),
        ("model_agreement", agreeing, (0.48, 300), OPEN),
    ],
)
def test_a_planted_scorer_is_judged(
    audit: str, run: Callable[..., Estimate], planted: tuple[object, ...], expected: Verdict
) -> None:
    """By the audit's own bound."""
    assert verdict(AUDITS[audit], run(*planted)) is expected


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        (["best", "worst"], PASS),
        ([*NAMES, "best again", "worst again"], PASS),
        ([*NAMES, "best again", "worst again", "best turned"], FAIL),
    ],
)
def test_any_number_of_prompts_will_do(prompts: list[str], expected: Verdict) -> None:
    """One of each sign at least, a user's own too; one that is turned is enough to fail."""
    asked = {name: 1 if name.startswith("worst") or "turned" in name else -1 for name in prompts}
    sweeps = sweeps_of({name: -sign * HAPPY for name, sign in asked.items()}, RNG(3))

    estimate = AUDITS["framing_inversion"](sweeps=sweeps, references=Centred(), rng=RNG(0))

    assert set(prompts) < set(estimate.secondary)
    assert verdict(AUDITS["framing_inversion"], estimate) is expected


def test_caveats_say_what_is_not_as_it_should_be() -> None:
    """Without the paper's list the number is the same; its protocol trims spaces."""
    without = frequent(0.3, "leech")

    assert without.value == frequent(0.3).value
    assert "leech" not in without.secondary
    assert without.caveats == (
        (
            "The paper's own list of frequencies is not shown: leech: no such file; "
            "get it with: rmaudit data leech"
        ),
    )


def test_the_top_of_a_sample_is_not_judged() -> None:
    """It is no top of the vocabulary: the gate failed a sound model on 300 random ids."""
    swept = replace(sweep_of(WORDS, HAPPY, "best", noise=0.0), sample=Sample(300, 49_152, 0))

    with pytest.raises(NotAsked, match="run without --rm-sample"):
        audit_called("top_tokens")(sweep=swept, rewards=None, references=Planted(), rng=RNG(0))


def test_what_is_missing_is_told_with_the_command_that_gets_it() -> None:
    """Frequencies, without which nothing is measured; noise that was not measured is not none."""
    with pytest.raises(ReferenceMissing, match="rmaudit data wordfreq"):
        frequent(0.3, "wordfreq")
    with pytest.raises(NotRecorded, match=r"was not measured; get it with: pytest .* --model Plan"):
        AUDITS["numerics"](sweep=sweep_of(WORDS, HAPPY), rng=RNG(0))
