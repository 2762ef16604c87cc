"""The audits of searches on models that fall for what is found, or do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.references import References
from rmaudit.runs.null_controls import NULLS
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.runs.synthetic_scorer_trials import measure
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.search.cached_search import Searches
from rmaudit.search.exploit_strings import published
from rmaudit.search.search_settings import Direction
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from tests.audits.planted import VALENCE, WORDS, Planted, audit_called, sweep_of, verdict
from tests.search.finds import found

Score = Callable[[Sequence[str], Prompt], NDArray[np.float64]]

AUDITS = {name: audit_called(name) for name in ("gcg_probes", "pessimal_identity")}
FEW = published()[published()["prompt"] == "greatest"].reset_index(drop=True)  # two, published
MANY = pd.DataFrame({"prompt": "greatest", "direction": "up", "model": "M", "source": "S"} | {
    "text": [f"{a}{b}{c}#?" for a in "abcdefghi" for b in "jklm" for c in "nopq"]})  # fmt: skip
RNG = np.random.default_rng(0)
PAIRS = [f"{a} {b}" for a, b in RNG.choice([*WORDS, "Muslim", "nurse"], size=(4000, 2))]


class Known(Planted):
    """People's ratings, made up, and the package's identity terms."""

    def elo(self) -> pd.DataFrame:
        """A hundred things."""
        names = [f"thing {i}" for i in range(100)]
        return pd.DataFrame({"name": names, "elo": np.arange(100.0), "matches": 50})

    def identity(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Those of the package."""
        return References().identity()


def sweep_scores(spread: float = 1.0) -> NDArray[np.float64]:
    """Of the words: of sd `spread`, the best of them 3 of these."""
    scores = np.clip(np.random.default_rng(0).normal(size=len(WORDS)), None, 3) * spread
    scores[0] = 3 * spread
    return scores


def rewards(score: Score, *prompts: str, noise: float = 0.0) -> Rewards:
    """What an audit of these prompts scores with."""

    def scored(texts: Sequence[str], prompt: Prompt) -> TextScores:
        return TextScores(score(texts, prompt).astype(np.float32), noise, "")

    return Rewards(tuple(PROMPTS[name] for name in prompts), scored)


def searches(score: Score, *prompts: str, starts: int = 8) -> Searches:
    """A search that tries its share of `PAIRS` from each start."""

    def find(direction: Direction, prompt: Prompt) -> Any:
        sign = 1 if direction == "up" else -1
        texts = [PAIRS[start::starts] for start in range(starts)]
        best = [share[int((sign * score(share, prompt)).argmax())] for share in texts]
        return found(best, list(score(best, prompt)), direction=direction, prompt=prompt)

    return Searches(tuple(PROMPTS[name] for name in prompts), find, lambda n, _: PAIRS[:n])


# The ledger


def replay(
    loved: int,
    strings: pd.DataFrame = MANY,
    *,
    noise: float = 0.0,
    spread: float = 1.0,
) -> Estimate:
    """gcg_probes of a model that loves so many of the strings, the last ones, and no answer."""
    fooled = set(strings["text"].tolist()[len(strings) - loved :])

    def score(texts: Sequence[str], _: Prompt) -> NDArray[np.float64]:
        return np.array([9.0 if text in fooled else 2.0 for text in texts])

    return AUDITS["gcg_probes"](
        sweeps={"greatest": sweep_of(WORDS, sweep_scores(spread), "greatest", noise=noise)},
        rewards=rewards(score, "greatest", noise=noise),
        ledger=pd.concat([strings, strings.assign(prompt="worst", text=strings["text"] + "!")]),
        references=Known(),
        rng=np.random.default_rng(0),
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
    """Of 144 strings none passes, 20 fail and 7, which are 5 %, are unsure, as two strings are."""
    assert VALENCE.index.isin(WORDS).all()
    assert verdict(AUDITS["gcg_probes"], replay(loved, strings)) is expected


def test_no_string_is_said() -> None:
    """Who was searched is said, and how many are needed; the evidence has the strings."""
    estimate = replay(2, FEW)

    assert estimate.caveats[0].startswith("Strings were found by searches of 1 model (2 on R-Gem")
    assert {row.text for row in estimate.evidence.strings} == set(FEW["text"])
    assert {row.above for row in estimate.evidence.strings} == {True}
    assert not any(text in " ".join(estimate.caveats) for text in FEW["text"])


def test_a_model_that_tells_no_words_apart_is_an_error() -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match="sweep of sd 0"):
        replay(0, spread=0.0)


# Identity terms


def own(texts: Sequence[str], _: Prompt) -> NDArray[np.float64]:
    """Each word's own score, a pair's the sum."""
    return np.array([sum(hash_of(word) for word in text.split()) for text in texts])


def hash_of(word: str) -> float:
    """A standard normal draw of the word's own."""
    return float(np.random.default_rng(list(word.encode())).normal())


def hating(by: float) -> Score:
    """A model that takes so much from an identity term, and only where it is not alone."""

    def score(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
        hated = ["Muslim" in text.split() and text != "Muslim" for text in texts]
        return own(texts, prompt) - by * np.array(hated)

    return score


def named(score: Score, starts: int = 8) -> Estimate:
    """pessimal_identity of a model with such scores."""
    return AUDITS["pessimal_identity"](
        searches=searches(score, "best", starts=starts), references=Known()
    )


@pytest.mark.parametrize(("by", "starts"), [(9.0, 8), (0.0, 8), (9.0, 2), (0.0, 2)])
def test_hatred_of_a_term_is_told(by: float, starts: int) -> None:
    """Of eight starts each ends in it, or none; two starts can tell neither, and it says so."""
    estimate = named(hating(by), starts)

    assert (estimate.low < 0.5 < estimate.high) == (starts == 2)
    assert estimate.secondary["share in pessimal sequences"] == float(by > 0)
    assert 0 < estimate.secondary["share in random sequences"] < 0.02
    assert estimate.caveats[0].startswith(f"Starts: {starts}; ")


# Scorers that know nothing


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
