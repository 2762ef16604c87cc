"""The audits of searches on models that fall for what is found, or do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.references import References
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.null_controls import NULLS
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.search.cached_search import Searches
from rmaudit.search.exploit_strings import published
from rmaudit.search.search_settings import Direction
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from tests.audits.planted import WORDS, Planted, audit_called, sweep_of, verdict
from tests.search.finds import found

AUDITS = {name: audit_called(name) for name in ("gcg_probes", "pessimal_identity")}
FEW = published()[published()["prompt"] == "greatest"].reset_index(drop=True)  # two, published
MANY = pd.DataFrame({"prompt": "greatest", "direction": "up", "model": "M", "source": "S"} | {
    "text": [f"{a}{b}{c}#?" for a in "abcdefghi" for b in "jklm" for c in "nopq"]})  # fmt: skip
RNG = np.random.default_rng
PAIRS = [f"{a} {b}" for a, b in RNG(0).choice([*WORDS, "Muslim", "nurse"], size=(4000, 2))]


class Known(Planted):
    """People's ratings, made up, and the package's identity terms."""

    def elo(self) -> pd.DataFrame:
        """A hundred things."""
        names = [f"thing {i}" for i in range(100)]
        return pd.DataFrame({"name": names, "elo": np.arange(100.0), "matches": 50})

    def identity(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Those of the package."""
        return References().identity()


# The ledger


def replay(loved: int, strings: pd.DataFrame) -> Estimate:
    """gcg_probes of a model that loves so many of the strings, the last ones, and no answer."""
    fooled = set(strings["text"].tolist()[len(strings) - loved :])
    sweep = sweep_of(WORDS, RNG(0).normal(size=len(WORDS)), "greatest", noise=0.0)

    def scored(texts: Sequence[str], _: Prompt) -> TextScores:
        return TextScores(np.array([9.0 if text in fooled else 2.0 for text in texts]), 0.0, "")

    return AUDITS["gcg_probes"](
        sweeps={"greatest": sweep},
        rewards=Rewards((PROMPTS["greatest"],), scored),
        ledger=pd.concat([strings, strings.assign(prompt="worst", text=strings["text"] + "!")]),
        references=Known(),
        rng=RNG(0),
    )


@pytest.mark.parametrize(
    ("loved", "strings", "expected"),
    [
        (0, MANY, Verdict.PASS),
        (0, FEW, Verdict.INCONCLUSIVE),  # before, a PASS whose interval had no width
        (len(FEW), FEW, Verdict.FAIL),
        (7, MANY, Verdict.INCONCLUSIVE),
        (20, MANY, Verdict.FAIL),
    ],
)
def test_planted_exploits_are_judged(loved: int, strings: pd.DataFrame, expected: Verdict) -> None:
    """Of 144 strings none passes, 20 fail and 7, which are 5 %, are open, as two strings are.

    Who was searched is said, and no string but in the evidence.
    """
    estimate = replay(loved, strings)

    assert verdict(AUDITS["gcg_probes"], estimate) is expected
    assert {row.text for row in estimate.evidence.strings} == set(strings["text"])
    assert estimate.caveats[0].startswith("Strings were found by searches of 1 model (")
    assert not any(text in " ".join(estimate.caveats) for text in strings["text"])


# Identity terms


def named(by: float, starts: int) -> Estimate:
    """pessimal_identity of a model that takes so much from an identity term in company.

    Each word has a normal score of its own, a pair the sum; a start tries its share of `PAIRS`.
    """

    def score(texts: Sequence[str]) -> NDArray[np.float64]:
        own = [sum(RNG(list(word.encode())).normal() for word in text.split()) for text in texts]
        return np.array(own) - by * np.array(["Muslim" in text.split() for text in texts])

    def find(direction: Direction, prompt: Prompt) -> Any:
        sign = 1 if direction == "up" else -1
        texts = [PAIRS[start::starts] for start in range(starts)]
        best = [share[int((sign * score(share)).argmax())] for share in texts]
        return found(best, list(score(best)), direction=direction, prompt=prompt)

    searches = Searches((PROMPTS["best"],), find, lambda n, _: PAIRS[:n])
    return AUDITS["pessimal_identity"](searches=searches, references=Known())


@pytest.mark.parametrize(("by", "starts"), [(9.0, 8), (0.0, 8), (9.0, 2), (0.0, 2)])
def test_hatred_of_a_term_is_told(by: float, starts: int) -> None:
    """Of eight starts each ends in it, or none; two starts can tell neither, and it says so."""
    estimate = named(by, starts)

    assert (estimate.low < 0.5 < estimate.high) == (starts == 2)
    assert estimate.secondary["share in pessimal sequences"] == float(by > 0)
    assert 0 < estimate.secondary["share in random sequences"] < 0.02
    assert estimate.caveats[0].startswith(f"Starts: {starts}; ")


# Scorers that know nothing


@pytest.mark.slow
def test_null_controls_are_given_the_ledger() -> None:
    """Each scores it by itself; the same twice."""
    audit = AUDITS["gcg_probes"]
    prompts = (PROMPTS["greatest"],)
    given = {"references": Known(), "ledger": MANY}
    vocabulary = pd.DataFrame({"text": WORDS})

    def control(null: str) -> Estimate:
        return measure(audit, Trial(NULLS[null], prompts, vocabulary, given=given))

    nulls = ("random", "frequent words", "long words", "valence whatever is asked")
    values = {null: control(null).value for null in nulls}

    assert values == {null: control(null).value for null in nulls}
