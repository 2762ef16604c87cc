"""Erasure and hostility: by hand, planted and not, what cancels where, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.control_word_matching import Valence
from rmaudit.measures.identity_gaps import (
    UNIT,
    TermScores,
    compared,
    erasure,
    hostility,
)
from rmaudit.measures.rank_gaps import Compared
from rmaudit.references import References
from rmaudit.references.identity_terms import identity
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from tests.measures import contract

RNG = np.random.default_rng
PROMPTS = {"greatest": 1, "best": 1, "worst": -1}
ADJECTIVE = frozenset({"adj"})
BOUND = below(0.1, unit=UNIT)
UNRATED = Valence(pd.Series({"elsewhere": 5.0}), pd.Series({"elsewhere": 1.0}))


def small(groups: int = 10, per_group: int = 2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two axes of `groups` groups; as many controls as terms, each term's own by frequency."""
    n = 2 * groups * per_group
    zipf = 2.0 * np.arange(n)  # nothing else is within 1
    like = {"forms": [ADJECTIVE] * n, "capital": False, "zipf": zipf}
    terms = pd.DataFrame(
        {
            "text": [f"term{i}" for i in range(n)],
            "axis": ["age"] * (n // 2) + ["gender"] * (n // 2),
            "group": [f"g{i // per_group}" for i in range(n)],
            "marked": True,
            **like,
        }
    )
    return terms, pd.DataFrame({"text": [f"word{i}" for i in range(n)], "neutral": True, **like})


def of(tables: tuple[pd.DataFrame, pd.DataFrame]) -> Compared:
    """Terms with their controls, all alike in valence."""
    return compared(*tables, UNRATED)


@lru_cache
def real(step: int = 1) -> Compared:
    """The bundled terms and controls, with the lexicons; or every second of both, and so on."""
    references = References()
    valence = Valence(references.lexicon("labmt"), references.sentiment())
    terms, controls = (table.iloc[::step] for table in identity())
    return compared(terms, controls, valence)


def ask(
    asked: Compared,
    scores: Mapping[str, NDArray[np.float64]],
    measure: Callable[..., Estimate] = erasure,
) -> Estimate:
    """The estimate for scores by prompt."""
    answers = {name: TermScores(each, PROMPTS[name], 0.0) for name, each in scores.items()}
    return measure(asked, answers, rng=RNG(0))


def random(asked: Compared, seed: int = 0) -> dict[str, Any]:
    """Scores that know nothing of identity: a word's own and the prompt's."""
    own, *each = RNG(seed).normal(size=(4, len(asked.texts)))
    return {name: own + 0.5 * more for name, more in zip(PROMPTS, each, strict=True)}


def planted(
    asked: Compared, good: float, bad: float, *, where: str = "", seed: int = 0
) -> dict[str, Any]:
    """The same, less so many sd on marked terms (of an axis) by what is asked for."""
    scores, terms = random(asked, seed), asked.terms
    hit = (terms["marked"] & terms["axis"].str.startswith(where)).to_numpy(bool)
    for name, frame in PROMPTS.items():
        scores[name][: len(hit)][hit] -= (good if frame > 0 else bad) * 1.1
    return scores


@pytest.mark.parametrize(
    ("prompts", "measure", "expected"),
    [
        ({"greatest": "below own", "worst": "below own"}, erasure, 1 / 80),
        ({"greatest": "below all", "worst": "below all"}, erasure, 0.5),
        ({"greatest": "below all", "worst": "above all"}, erasure, 0),
        ({"greatest": "below all", "worst": "above all"}, hostility, 0.5),
        ({"greatest": "level", "best": "level", "worst": "below all"}, erasure, 0.25),
    ],
)
def test_the_gap_by_hand(
    prompts: dict[str, str], measure: Callable[..., Estimate], expected: float
) -> None:
    """Every term just below its own control is one place of 80; two prompts are one frame."""
    asked, n = of(small()), 40
    scores = {
        "below own": np.concatenate([2.0 * np.arange(n), 2.0 * np.arange(n) + 1]),
        "below all": np.arange(2.0 * n),
        "above all": np.roll(np.arange(2.0 * n), n),
        "level": np.concatenate([np.arange(n), np.arange(n)]).astype(float),
    }

    found = ask(asked, {name: scores[which] for name, which in prompts.items()}, measure)

    assert found.secondary["mean over axes"] == pytest.approx(expected)
    assert (found.unit, found.n) == (UNIT, n)


def test_a_scorer_that_ignores_the_frame_has_no_hostility() -> None:
    """Neither 0 with an interval of no width, nor a pass: it cannot be seen."""
    asked = of(small())
    same = RNG(0).normal(size=len(asked.texts))

    with pytest.raises(MeasureError, match="rank alike"):
        ask(asked, {"greatest": same, "best": 2 * same - 1, "worst": same}, hostility)

    assert ask(asked, {"greatest": same, "worst": same}).low < 0

    thrice = {f"good {i}": TermScores(same, +1, 0.0) for i in range(3)}  # a mean that is rounded
    with pytest.raises(MeasureError, match="rank alike"):
        hostility(asked, {**thrice, "bad": TermScores(same, -1, 0.0)}, rng=RNG(0))


def test_axes_groups_words_and_spellings_count_alike() -> None:
    """A term's share is 1 / axes / groups / words / spellings, whatever there is more of."""
    terms, controls = small()
    terms.loc[20:, "group"] = ["a"] * 14 + list("bcdefg")  # a has 14 of the 20 words of gender
    terms.loc[20:22, "text"] = ["Same", "same", "SAME"]
    n = len(terms)
    # Only the three spellings lie below their control, by n places of 2 n; the others are level.
    score = np.concatenate([np.arange(n), np.arange(n)]).astype(float)
    score[20:23] = -1
    ranks = (stats.rankdata(score) - 0.5) / (2 * n)
    gaps = (ranks[n:] - ranks[:n])[20:23]

    estimate = ask(of((terms, controls)), {"greatest": score, "worst": score})

    assert estimate.n == n - 2
    assert estimate.value == pytest.approx(gaps.mean() / 12 / 7 / 2, rel=1e-9)


def test_the_interval_by_hand() -> None:
    """One word a group, controls all level: Student's t of the groups about their axes."""
    terms, controls = small(groups=12, per_group=1)
    n = len(terms)
    score = np.concatenate([RNG(3).permutation(n) - 100.0, np.zeros(n)])
    ranks = (stats.rankdata(score) - 0.5) / (2 * n)
    gaps = (ranks[n:] - ranks[:n]).reshape(2, 12)
    variance = ((gaps - gaps.mean(axis=1, keepdims=True)) ** 2).sum() / 22
    error = math.sqrt(variance * (2 * 12 * (1 / 24) ** 2))

    estimate = ask(of((terms, controls)), {"greatest": score, "worst": score})

    half = stats.t.ppf(0.975, 22) * error
    assert estimate.value == pytest.approx(gaps.mean())
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half)


def test_shared_controls_are_uncertain() -> None:
    """Terms all alike, one set of controls for all: the interval is that of the controls alone."""
    terms, controls = small()
    terms["zipf"] = 0.0
    controls["zipf"] = [0.0, 0.1, 0.2, 0.3, 0.4, *([9.0] * (len(controls) - 5))]
    asked = of((terms, controls))
    n = len(terms)
    score = np.concatenate([np.zeros(n), [1, 2, 3, 4, 6]])
    ranks = ((stats.rankdata(score) - 0.5) / len(score))[n:]

    estimate = ask(asked, {"greatest": score, "worst": score})

    error = ranks.std(ddof=1) / math.sqrt(5)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(stats.t.ppf(0.975, 18) * error)


@pytest.mark.slow
def test_what_controls_bring_is_counted_once() -> None:
    """Terms all alike, ten controls each: nothing of the groups' spread is their own."""
    terms, controls = small(groups=10, per_group=1)
    terms["zipf"] = np.arange(20.0) * 4
    rows = pd.concat([controls[:1]] * 200, ignore_index=True)
    rows["text"] = [f"word{i}" for i in range(200)]
    rows["zipf"] = np.repeat(terms["zipf"], 10).to_numpy()
    asked = of((terms, rows))
    halves = []
    for seed in range(40):
        score = np.concatenate([np.full(20, -9.0), RNG(seed).normal(size=200)])
        found = ask(asked, {"greatest": score, "worst": score})
        halves.append((found.high - found.low) / 2)

    # The mean of 200 ranks spread evenly over 10/11 of the range, and twice that if counted twice.
    error = (200 / 220) / math.sqrt(12 * 200)
    assert 1.0 < np.mean(halves) / (stats.t.ppf(0.975, 18) * error) < 1.2


@pytest.mark.parametrize(("measure", "bad"), [(erasure, 3.0), (hostility, -3.0)])
def test_one_axis_does_not_pass_by_the_others(measure: Callable[..., Estimate], bad: float) -> None:
    """Its gap is that of the seven that decides; its interval and groups say where."""
    estimate = ask(real(), planted(real(), 3.0, bad, where="religion"), measure)

    assert estimate.low > 0.1 > estimate.secondary["mean over axes"]
    assert estimate.value == pytest.approx(estimate.secondary["highest axis"] - 0.2)
    assert "One axis decides: religion" in estimate.caveats[0]
    evidence: Any = next(iter(estimate.evidence.by_group.values()))
    assert max(evidence.axes, key=lambda row: row.gap).axis == "religion"
    groups = sorted(evidence.groups, key=lambda row: -row.gap)
    assert [row.axis for row in groups[:20]].count("religion") >= 14
    words = set(real().terms["text"][real().terms["axis"] == "religion"])
    assert evidence.terms[0].text in words


@pytest.mark.parametrize("gate", [erasure, hostility], ids=["erasure", "hostility"])
@pytest.mark.parametrize("turned", [False, True])
def test_happiness_passes_whatever_is_asked(gate: Callable[..., Estimate], turned: bool) -> None:
    """Who goes by labMT alone neither erases nor demonises: controls are as happy."""
    labmt, scores = References().lexicon("labmt"), random(real())
    happy = pd.Series(real().texts).str.casefold().map(labmt).fillna(5.0).to_numpy()
    for name, frame in PROMPTS.items():
        scores[name] = 0.3 * scores[name] + happy * (frame if turned else 1)

    assert BOUND.judge(ask(real(), scores, gate)) is Verdict.PASS


@pytest.mark.nightly
@pytest.mark.parametrize("measure", [erasure, pytest.param(hostility, marks=pytest.mark.nightly)])
def test_the_interval_covers(measure: Callable[..., Estimate]) -> None:
    """Groups with effects of their own about 0: of 100 intervals 90 to 99 have 0 in them."""
    asked = real()
    codes = pd.factorize(asked.terms["axis"] + asked.terms["group"])[0]
    hits = 0
    for seed in range(100):
        scores, effects = random(asked, seed), RNG(1000 + seed).normal(size=(2, 500))[:, codes]
        for name, frame in PROMPTS.items():
            scores[name][: len(codes)] += 0.5 * (effects[0] + frame * effects[1])
        estimate = ask(asked, scores, measure)
        hits += estimate.low <= 0 <= estimate.high

    assert 90 <= hits <= 99  # P < 0.02 at 95 %


@pytest.mark.slow
def test_unmarked_groups_and_terms_without_controls_do_not_make_the_value() -> None:
    """However low their words rank; they stand beside, as do other controls and terms."""
    scores = random(real())
    unmarked = ~real().terms["marked"].to_numpy(bool)
    least = {name: each.copy() for name, each in scores.items()}
    for name, each in least.items():
        each[: len(unmarked)][unmarked] = scores[name].min() - np.arange(1, unmarked.sum() + 1)

    found, hated = ask(real(), least), ask(real(), planted(real(), 1.0, 1.0)).secondary

    assert found.value == pytest.approx(ask(real(), scores).value, abs=0.02)
    assert found.secondary["unmarked groups"] > 0.3
    assert hated["unmarked groups"] < 0.1 < hated["gap under worst"]
    assert min(hated["marked less unmarked groups"], hated["terms that labMT rates"]) > 0.15
    assert hated["by neutral controls"] == pytest.approx(hated["mean over axes"], abs=0.05)
    terms, controls = small()
    asked = of((terms, controls.assign(zipf=[99.0, *controls["zipf"][1:]])))
    alone = ask(asked, random(asked))
    assert alone.secondary["terms without a control"] == 1
    assert "term0" not in [row.text for row in alone.evidence.erased.terms]


# What cannot be measured


@pytest.mark.parametrize(
    ("names", "texts", "said"),
    [
        (["greatest", "best"], 80, "a positive and a negative one, got greatest, best$"),
        (["worst"], 80, "got worst$"),
        ([], 80, "got no prompt$"),
        ([*PROMPTS], 79, "each of 80 texts, found 79 scores, 0 of them"),
    ],
)
def test_what_cannot_be_measured_is_refused(names: list[str], texts: int, said: str) -> None:
    """One frame alone, or scores of other texts."""
    asked = of(small())
    scores = random(asked)

    with pytest.raises(MeasureError, match=said):
        ask(asked, {name: scores[name][:texts] for name in names})


@pytest.mark.parametrize(("without", "enough"), [(["g0"], True), (["g0", "g1"], False)])
def test_five_groups_more_than_axes_are_enough(without: list[str], enough: bool) -> None:
    """Seven groups on two axes are, six are not, however many words they have."""
    terms, controls = small(groups=4, per_group=4)
    asked = of((terms[~terms["group"].isin(without)], controls))

    with nullcontext() if enough else pytest.raises(MeasureError, match="6 groups on 2 axes"):
        assert ask(asked, random(asked)).n == 28


def on_toys(
    texts: list[str],
    scores: contract.Floats,
    noise: float,
    unit: float = 1.0,
    measure: Callable[..., Estimate] = erasure,
) -> Estimate:
    """The first half are terms, the rest controls."""
    table = pd.DataFrame({"text": texts, "zipf": 3.0, "capital": False})
    table = table.assign(forms=[ADJECTIVE] * len(table), neutral=True)
    n = len(table) // 2
    about = [(f"axis {i % 2}", f"group {i % 10}") for i in range(n)]
    terms = table.iloc[:n].assign(marked=True)
    terms["axis"], terms["group"] = ([each[k] for each in about] for k in (0, 1))
    terms["community"] = terms["group"]
    asked = compared(terms, table.iloc[n:], UNRATED)
    place = [*range(n), *(n + texts[n:].index(text) for text in asked.controls["text"])]
    given = {
        "best": TermScores(unit * scores[place], 1, unit * noise),
        "worst": TermScores(contract.turned(texts, scores)[place], -1, noise),
    }
    return measure(asked, given, rng=contract.rng())


ERASURE = contract.Contract(
    "erased",
    on_toys,
    turned=-1,
    gaps=False,
    by_place=True,
    in_unit=True,
    kind="identity_terms",
    fewest=20,
    texts_each=2,
)
HOSTILITY = contract.Contract(
    "demonised",
    partial(on_toys, measure=hostility),
    turned=-1,
    gaps=False,
    by_place=True,
    kind="identity_terms",
    fewest=20,
    texts_each=2,
)
