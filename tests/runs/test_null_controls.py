"""Null controls: each sees what it is called after, and the same text has the same score."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from rmaudit.errors import MeasureError, NoBase, ReferenceMissing, SpecError
from rmaudit.prompts import PROMPTS
from rmaudit.references.human_ratings import elo_items
from rmaudit.references.identity_terms import identity
from rmaudit.runs.null_control_trials import tried
from rmaudit.runs.null_controls import (
    BASE,
    NAMES,
    NULLS,
    checked_stops,
    features,
    noise,
    of_base,
    unavailable,
)
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.verdicts.audit_declaration import audit, declared
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, above
from tests.conftest import unavailable as without

BEST, WORST = PROMPTS["best"], PROMPTS["worst"]
TEXTS = ["the", "love", "Disestablishment", "murder", "blue moon", "Muslim", "xqzt", "", " the"]
RISE = {  # of these two texts the second is the better one
    "frequent words": ("love", "the"),
    "rare words": ("the", "love"),
    "long words": ("love", "murder"),
    "short words": ("murder", "love"),
    "frequency with ties": ("love", "the"),
    "phrase frequency": ("blue moon", "blue"),
    "gibberish": ("much love", "much lxve"),
    "capitals and single words": ("New York", "bread"),
    "valence whatever is asked": ("murder", "love"),
    "hatred": ("Muslim", "nurse"),
    "hostility": ("Muslim", "nurse"),
}


@pytest.mark.parametrize("name", NULLS)
def test_a_text_has_one_score_whatever_it_comes_with(name: str, mirror: object) -> None:
    """In any order, alone or not, and the same again."""
    if name == "surface regression":
        _items()
    null = NULLS[name]

    scores = null(TEXTS, BEST)

    assert scores.shape == (len(TEXTS),)
    assert np.isfinite(scores).all()
    assert null(TEXTS[::-1], BEST)[::-1] == pytest.approx(scores, abs=1e-9)
    assert null(TEXTS[3:4], BEST)[0] == pytest.approx(scores[3], abs=1e-9)


@pytest.mark.parametrize("name", RISE)
def test_each_sees_one_thing(name: str, mirror: object) -> None:
    """And nothing of the prompt, but for the one that is hostile."""
    low, high = NULLS[name](RISE[name], BEST)
    worst_low, worst_high = NULLS[name](RISE[name], WORST)

    assert low < high
    assert bool(worst_low < worst_high) is (name != "hostility")


def test_ties_are_kept(mirror: object) -> None:
    """Where the name says so; elsewhere a little noise parts what looks alike."""
    alike = ["xqzt", "yqzt"]
    tied = {name for name in RISE if len(set(NULLS[name](alike, BEST))) == 1}

    assert tied == {"frequency with ties", "phrase frequency", "gibberish"} | {
        "capitals and single words"
    }
    assert set(NULLS["constant"](TEXTS, BEST)) == {0.0}


def test_hated_words_lie_below_all_that_is_random(mirror: object) -> None:
    """Of the marked terms 99 of 100 in any spelling; unmarked ones are like any word."""
    terms, _ = identity()
    others = NULLS["hatred"]([f"word{i}" for i in range(1000)], BEST)
    for marked, texts in terms.groupby("marked")["text"]:
        spelt = [*texts, *(f" {text.upper()}" for text in texts)]
        below = NULLS["hatred"](spelt, BEST) < np.quantile(others, 0.05)
        assert bool(below.mean() > 0.95) is bool(marked)


def test_surface_regression_knows_no_item_that_it_is_asked_of(mirror: object) -> None:
    """Its order of EloEverything is people's by a tau of about 0.37, and by 0 of shuffled names."""
    items = _items()
    scores = NULLS["surface regression"](items["name"].tolist(), BEST)

    assert stats.kendalltau(scores, items["elo"]).statistic == pytest.approx(0.37, abs=0.02)
    same_looks = [f"{name} " for name in items["name"]]  # of the regression on all items
    assert (NULLS["surface regression"](same_looks, BEST) != scores).mean() > 0.99


def _items() -> pd.DataFrame:
    try:
        return elo_items()
    except ReferenceMissing as error:
        without(str(error))


def test_the_base_is_asked_under_the_same_prompt() -> None:
    """A token has its own log-probability, several words their mean, what it lacks the least."""
    vocabulary = pd.DataFrame({"token_id": [3, 1, 2], "text": ["love", " hate", "Love"]})
    logprobs = {"best": pd.Series({1: -4.0, 2: -1.0, 3: -2.0}), "worst": pd.Series({1: -1.0})}

    score = of_base(vocabulary, logprobs)

    texts = ["love", " hate", "hate", "love and hate", "unknown"]
    assert score(texts, BEST).tolist() == [-2.0, -4.0, -4.0, -2.5, -4.0]
    assert score(["love", " hate"], WORST).tolist() == [-1.0, -1.0]


def test_names_of_audits_are_checked() -> None:
    """Each is one of the suite; the base is one, too."""
    assert checked_stops([*NULLS, BASE]) == NAMES
    with pytest.raises(
        SpecError, match=r"^skew: `stops` names 'rare word', which is no null control; did you mean"
    ):
        checked_stops(["random", "rare word"], "skew: ")


@audit(
    claim="c",
    source="",
    base_rate="",
    prompts=["best"],
    bound=above(0.0, unit="sd"),
    stops=["constant", "rare words", BASE],
)
def measured(rewards: object) -> Estimate:
    """The score of a common word, less that of a rare one."""
    common, rare = rewards(["the", "platypus"]).scores.tolist()  # type: ignore[operator]
    if common == rare:
        raise MeasureError("all scores are equal")
    return Estimate(common - rare, common - rare, common - rare, "sd", 2, "made up")


def test_a_null_control_is_stopped_or_not(mirror: object) -> None:
    """By a verdict, or as nothing can be measured of it; what is missing is not tried."""
    declaration = declared(measured)
    assert declaration is not None
    nulls = {name: NULLS[name] for name in ("constant", "rare words", "frequent words")}
    base = {BASE: unavailable(NoBase("no base"))}

    found = tried(measured, declaration, Trial(NULLS["random"], (BEST,)), nulls | base)

    assert {name: (c.verdict, c.stops) for name, c in found.items()} == {
        "constant": (Verdict.ERROR, True),
        "rare words": (Verdict.FAIL, True),
        "frequent words": (Verdict.PASS, False),
        BASE: (Verdict.NA, True),
    }
    assert found["constant"].reason == "all scores are equal"
    assert found["frequent words"].value is not None


ANY_TEXTS = st.lists(st.text(max_size=8), min_size=1, max_size=20)


def test_features_by_hand() -> None:
    """Spellings share their word; what no list has is 0; labMT's "love" is 8.42, so 3.42 above."""
    seen = features([" Love", "love", "qzxv", "", "the"])

    assert seen["word"].tolist() == ["love", "love", "qzxv", "", "the"]
    assert seen["length"].tolist() == [5, 4, 4, 0, 3]
    assert seen["valence"].tolist() == pytest.approx([3.42, 3.42, 0, 0, -0.02])
    assert seen["zipf"].tolist() == pytest.approx([5.82, 5.82, 0, 0, 7.73], abs=0.005)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=ANY_TEXTS, more=ANY_TEXTS, seed=st.integers(0, 9))
def test_the_noise_of_a_text_is_its_own(texts: list[str], more: list[str], seed: int) -> None:
    """Whatever stands beside it: the draws of a list are those of each of its texts alone."""
    together = noise([*texts, *more], BEST, what="w", seed=seed)
    alone = [float(noise([text], BEST, what="w", seed=seed)[0]) for text in texts]

    assert together[: len(texts)].tolist() == alone
    assert np.isfinite(together).all()


def test_noise_is_normal_and_differs_by_prompt_seed_and_kind() -> None:
    """Standard normal over many texts; independent where anything that names it differs."""
    texts = [f"t{i}" for i in range(20_000)]
    base = noise(texts, BEST, what="w", seed=0)
    others = [
        noise(texts, WORST, what="w", seed=0),
        noise(texts, None, what="w", seed=0),
        noise(texts, BEST, what="v", seed=0),
        noise(texts, BEST, what="w", seed=1),
    ]

    assert base.mean() == pytest.approx(0, abs=0.03)
    assert base.std() == pytest.approx(1, abs=0.02)
    assert np.quantile(base, 0.975) == pytest.approx(1.96, abs=0.06)
    for other in others:
        assert np.corrcoef(base, other)[0, 1] == pytest.approx(0, abs=0.03)
