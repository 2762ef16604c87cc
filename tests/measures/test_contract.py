"""What holds of every measure: units, order and spellings of no account, noise, and refusals."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pydantic import TypeAdapter

from rmaudit import measures
from rmaudit.charts import Chart
from rmaudit.errors import MeasureError
from rmaudit.measures import (
    base_leakage,
    elo_agreement,
    framing_inversion,
    framing_steepness,
    frequency_bias,
    funnel,
    gcg_probes,
    identity_erasure,
    identity_hostility,
    invariance,
    model_agreement,
    numerics,
    pair_accuracy,
    pessimal_frames,
    pessimal_identity,
    positive_skew,
    prompt_stability,
    search_headroom,
    surface_form,
    value_tilt,
)
from rmaudit.measures._stats import NOISE, UNMEASURED_NOISE
from rmaudit.measures.joined import Answers
from rmaudit.measures.matching import Valence
from rmaudit.measures.search_headroom import Search
from rmaudit.measures.value_tilt import Axis
from rmaudit.verdicts.evidence import Evidence, OwnEvidence
from rmaudit.verdicts.records import Estimate

Floats = NDArray[np.float64]
Measure = Callable[[list[str], Floats, float], Estimate]

LETTERS = "bcdfghjklmnp"
WORDS = ["".join(three) for three in product(LETTERS, "aeiou", LETTERS)][::6]  # 120
TEXTS = [text for word in WORDS for text in (word, f" {word.capitalize()}")]
OF_WORD = {text: place // 2 for place, text in enumerate(TEXTS)}
KNOWN = np.random.default_rng(7).normal(size=(12, len(WORDS)))  # what is known of each word
VALENCE, ZIPF, RATING = (
    pd.Series(column, index=WORDS, name=name)
    for column, name in zip(KNOWN, ("toy", "zipf", "elo"), strict=False)
)
SCORES = np.repeat(KNOWN[:4].sum(axis=0) + KNOWN[4], 2) + np.tile([0.0, 0.25], len(WORDS))
SCORES += 0.01 * np.random.default_rng(8).gamma(2, size=len(SCORES))


def rng() -> np.random.Generator:
    """The same draws each time."""
    return np.random.default_rng(0)


def of(column: Floats, texts: list[str]) -> Floats:
    """What is known of the words of these texts."""
    return np.array([column[OF_WORD[text.strip(".")]] for text in texts])


def frame(texts: list[str], scores: Floats) -> pd.DataFrame:
    """A sweep of these texts."""
    named = pd.Series(texts, dtype="str")
    return pd.DataFrame({"token_id": range(len(texts)), "text": named, "score": scores})


def turned(texts: list[str], scores: Floats, *, by: float = -1.5, row: int = 0) -> Floats:
    """The scores under another prompt: changed by something of the words, in the scores' units."""
    known, scored = of(KNOWN[0], texts), ~np.isnan(scores)
    x, y = known[scored], scores[scored]
    unit = float((x - x.mean()) @ (y - y.mean())) / len(x) if len(x) else 0.0
    return np.asarray(scores + by * unit * of(KNOWN[row], texts))


def answers(texts: list[str], scores: Floats, noise: float) -> dict[str, Answers]:
    """The scores under a frame and its opposite."""
    return {
        "best": Answers(frame(texts, scores), +1, noise),
        "worst": Answers(frame(texts, turned(texts, scores)), -1, noise),
    }


def leakage(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of a base that likes some words."""
    likely = pd.Series(of(KNOWN[2], texts))
    table = frame(texts, scores)
    return base_leakage.follows_base(table, likely, VALENCE, ZIPF, rng=rng(), noise=noise)


def elo(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of ratings by word, and by spelling."""
    items = pd.DataFrame({"name": texts, "elo": 100 * of(KNOWN[2], texts) + SHIFT(texts)})
    items, seen = items.assign(matches=30, shown=True), pd.DataFrame({"first": SHIFT(texts)})
    asked = {"greatest": elo_agreement.ItemScores(scores, noise)}
    return elo_agreement.agreement_with_people(items, asked, seen, rng=rng(), also=texts[:2])


def SHIFT(texts: list[str]) -> Floats:  # noqa: N802  (spellings are items of their own)
    """1 for the second spelling."""
    return np.array([text.startswith(" ") for text in texts], float)


def inversion(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of one lexicon."""
    return framing_inversion.inversion(answers(texts, scores, noise), VALENCE, rng=rng())


def steepness(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of one lexicon."""
    return framing_steepness.steepness(answers(texts, scores, noise), VALENCE, rng=rng())


def frequency(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of words of three lengths."""
    # Length is held fixed, and has to differ.
    longer = {word: word + "x" * (i % 3) for i, word in enumerate(WORDS)}
    told = [text.replace(text.strip(" .").lower(), longer[text.strip(" .").lower()], 1)
            if text.strip(" .") in longer else f" {longer[text.strip(' .').lower()]}"
            for text in texts]  # fmt: skip
    lists = (one.rename(index=longer) for one in (ZIPF, VALENCE))
    asked = {"best": Answers(frame(told, scores), 1, noise)}
    return frequency_bias.slope(asked, *lists, rng=rng())


def both(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of the two frames."""
    frames = frame(texts, scores), frame(texts, turned(texts, scores))
    return funnel.both_frames(*frames, WORDS, rng=rng(), noise=(noise, noise))


def split(texts: list[str], scores: Floats) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Strings, real answers and a sweep."""
    every = frame(texts, scores)
    return every.iloc[:5], every.iloc[5:9], every


def probes(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Every second text is a string, and the others are real answers: of three or four letters."""
    every = frame(texts, scores)
    strings = every.iloc[::2].assign(direction="up", model="M", source="S")
    asked = {"best": gcg_probes.StringScores(strings, every.iloc[1::2], every, noise)}
    return gcg_probes.replayed(asked, rng=rng())


def searched(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """The first texts are finds."""
    found, real, sweep = split(texts, scores)
    about = Search("best", "up", "exhaustive", 10)
    found, trace = found.assign(ids=[(1, 2)] * len(found)), [(1, float(max(scores, default=0)))]
    return search_headroom.searched(
        found, real, sweep, search=about, trace=trace, rng=rng(), noise=noise
    )


def pessimal(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """The first texts are the worst."""
    terms = pd.DataFrame({"text": WORDS[:9], "marked": True})
    return pessimal_identity.identity(texts[:8], texts, terms, scores=scores)


def under_other(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """The first texts are the worst."""
    worst, sweep = texts[:8], frame(texts, scores)
    return pessimal_frames.both_frames(worst, scores[:8], sweep, rng=rng(), noise=noise)


def identity(
    texts: list[str],
    scores: Floats,
    noise: float,
    unit: float = 1.0,
    measure: Callable[..., Estimate] = identity_erasure.erasure,
) -> Estimate:
    """The first half are terms, the rest controls."""
    table = pd.DataFrame({"text": texts, "zipf": 3.0, "capital": False})
    table = table.assign(forms=[frozenset({"a"})] * len(table), neutral=True)
    n = len(table) // 2
    about = [(f"axis {i % 2}", f"group {i % 12}") for i in range(n)]
    terms = table.iloc[:n].assign(marked=True)
    terms["axis"], terms["group"] = ([each[k] for each in about] for k in (0, 1))
    unlisted = Valence(pd.Series({"other": 5.0}), pd.Series({"other": 0.0}))
    asked = identity_erasure.compared(terms, table.iloc[n:], unlisted)
    place = [*range(n), *(n + texts[n:].index(text) for text in asked.controls["text"])]
    given = {
        "best": identity_erasure.TermScores(unit * scores[place], 1, unit * noise),
        "worst": identity_erasure.TermScores(turned(texts, scores)[place], -1, noise),
    }
    return measure(asked, given, rng=rng())


def hostile(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Half the difference in place of half the sum."""
    return identity(texts, scores, noise, measure=identity_hostility.hostility)


def agreement(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """With a baseline that ranks by something else too."""
    other = frame(texts, of(KNOWN[2], texts) + 0.1 * SHIFT(texts))
    words = pd.Index(WORDS, dtype="str")
    return model_agreement.regret(
        frame(texts, scores), other, words, rng=rng(), noise=noise, baseline_noise=0.0
    )


def stability(texts: list[str], scores: Floats, noise: float, unit: float = 1.0) -> Estimate:
    """Of six wordings."""
    columns = {
        f"{side}{i}": sign * turned(texts, scores, by=0.5, row=5 + i)
        for side, sign in (("good", 1), ("bad", -1))
        for i in range(3)
    }
    frames = {name: 1 if name.startswith("good") else -1 for name in columns}
    table = pd.DataFrame(columns, index=texts)
    noises = dict.fromkeys(columns, noise) | {"good0": unit * noise}
    table["good0"] *= unit
    return prompt_stability.across_wordings(table, frames, rng=rng(), noise=noises)


def highest(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of one lexicon."""
    return positive_skew.tail(Answers(frame(texts, scores), 1, noise), VALENCE, rng=rng())


def spelling(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of all words."""
    return surface_form.spelling_share(frame(texts, scores), WORDS, rng=rng(), noise=noise)


def tilting(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """Of the words of more rating and of less, under two wordings of either frame."""
    columns = {
        f"{side}{i}": sign * turned(texts, scores, by=0.5, row=5 + i)
        for side, sign in (("good", 1), ("bad", -1))
        for i in range(2)
    }
    frames = {name: 1 if name.startswith("good") else -1 for name in columns}
    more = of(KNOWN[2], texts) > 0
    lists = (tuple(sorted(np.array(texts)[side])) for side in (more, ~more))
    axes = [Axis("more over less", *lists)]
    table = pd.DataFrame(columns, index=texts)
    return value_tilt.tilt(table, axes, frames, rng=rng(), noise=dict.fromkeys(columns, noise))


def in_pairs(texts: list[str]) -> pd.DataFrame:
    """Two spellings of a word are a pair of answers, of which one was chosen."""
    words = [text.strip(" .").lower() for text in texts]
    about = {
        "line": words,
        "prompt": "",
        "turns": "",
        "response": texts,
        "subset": "",
        "group": words,
    }
    return pd.DataFrame({**about, "chosen": [text.startswith(" ") for text in texts]})


def chosen(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """The second spelling was."""
    mixed = np.where(SHIFT(texts) > 0, turned(texts, scores, by=0.5, row=6), scores)
    frame = in_pairs(texts).assign(reward=mixed)
    return pair_accuracy.accuracy(frame, rng=rng(), noise=noise)


def invariant(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """To another prompt."""
    other = turned(texts, scores, by=0.5, row=5)
    table = pd.DataFrame({"as it is": scores, "changed": other})
    changes = {"changed": ("changed", "as it is")}
    return invariance.shift(
        in_pairs(texts), table, changes, rng=rng(), either_way=True, noise=noise
    )


def numeric(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """With its noise drawn anew."""
    return numerics.stability(frame(texts, scores), noise=noise, answers=16, rng=rng())


# A wrapper takes texts, scores and the noise of a score. It may strip nothing of the scores, which
# may be NaN, one, or all alike: refusing them is the measure's task. It may bring what else the
# measure needs of the words (`KNOWN`), a second prompt (`turned`, in the scores' units, so that
# another unit stays one) and, where the measure asks no noise, leave `noise` out (`WITHOUT_NOISE`).
EVERY: dict[str, Measure] = {
    "base_leakage": leakage,
    "elo_agreement": elo,
    "framing_inversion": inversion,
    "framing_steepness": steepness,
    "frequency_bias": frequency,
    "funnel": both,
    "gcg_probes": probes,
    "identity_erasure": identity,
    "identity_hostility": hostile,
    "invariance": invariant,
    "model_agreement": agreement,
    "numerics": numeric,
    "pair_accuracy": chosen,
    "pessimal_frames": under_other,
    "pessimal_identity": pessimal,
    "positive_skew": highest,
    "prompt_stability": stability,
    "search_headroom": searched,
    "surface_form": spelling,
    "value_tilt": tilting,
}
WITHOUT_NOISE = {"numerics", "pessimal_identity"}  # it is measured, or not looked at
WITHOUT_GAPS = {"gcg_probes", "identity_erasure", "identity_hostility", "pessimal_identity"} | {
    "invariance",
    "pair_accuracy",
    "pessimal_frames",
    "prompt_stability",
    "search_headroom",
    "value_tilt",
}  # each score counts, so one that is missing is refused
IN_ORDER = WITHOUT_GAPS - {
    "invariance",
    "pair_accuracy",
    "prompt_stability",
    "value_tilt",
}  # the toy says by place what a text is
# What turns when scores are turned round, what stays, and the rest, which asks for the best or the
# least of something, or for what is lost: the other end answers then.
TURNS = {
    "base_leakage",
    "framing_steepness",
    "identity_erasure",
    "identity_hostility",
    "value_tilt",
}
STAYS = {"funnel", "invariance", "numerics", "prompt_stability", "surface_form"}
OTHERWISE = {
    "elo_agreement",
    "framing_inversion",
    "frequency_bias",
    "gcg_probes",
    "model_agreement",
    "pair_accuracy",
    "pessimal_frames",
    "pessimal_identity",
    "positive_skew",
    "search_headroom",
}
IN_UNITS = {"mean", "variance"}
WITHOUT_CHART = {"base_leakage", "invariance", "numerics", "pair_accuracy", "surface_form"}
each = pytest.mark.parametrize("name", EVERY)


def told(estimate: Estimate) -> dict[str, float]:
    """The numbers of an estimate that have no unit of the model's."""
    secondary = {k: v for k, v in estimate.secondary.items() if k not in IN_UNITS}
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return ends | {"n": estimate.n} | secondary


@each
def test_the_models_units_do_not_matter(name: str) -> None:
    """An affine change of the scores, and of their noise, changes nothing."""
    noise = 0.125

    one = EVERY[name](TEXTS, SCORES, noise)
    other = EVERY[name](TEXTS, 8 * SCORES - 40, 8 * noise)

    assert told(other) == pytest.approx(told(one), rel=1e-8, abs=1e-9)


def test_every_measure_turns_or_stays_or_is_said_to_do_neither() -> None:
    """Each is in one of the three lists."""
    assert sorted([*TURNS, *STAYS, *OTHERWISE]) == sorted(EVERY)


@pytest.mark.parametrize("name", sorted(TURNS | STAYS))
def test_scores_that_are_turned_round_turn_the_estimate_round(name: str) -> None:
    """The value has the other sign and the interval is mirrored; or they stay as they are."""
    sign = -1 if name in TURNS else 1

    one, other = EVERY[name](TEXTS, SCORES, 0.0), EVERY[name](TEXTS, -SCORES, 0.0)

    ends = (one.low, one.high) if sign > 0 else (-one.high, -one.low)
    assert other.value == pytest.approx(sign * one.value, abs=1e-9)
    if name != "numerics":  # its ends are of other draws
        assert (other.low, other.high) == pytest.approx(ends, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", sorted(EVERY.keys() - IN_ORDER))
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    """Value, interval and all that is told."""
    order = np.random.default_rng(1).permutation(len(TEXTS))

    one = EVERY[name](TEXTS, SCORES, 0.0)
    other = EVERY[name]([TEXTS[i] for i in order], SCORES[order], 0.0)

    assert told(other) == pytest.approx(told(one), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", sorted(EVERY.keys() - WITHOUT_GAPS))
def test_what_is_not_scored_is_left_out(name: str) -> None:
    """Words without a score are as if they had not been asked."""
    gone = np.isin(np.arange(len(TEXTS)) // 2, [3, 17, 64])
    kept = np.flatnonzero(~gone)

    one = EVERY[name]([TEXTS[i] for i in kept], SCORES[kept], 0.0)
    other = EVERY[name](TEXTS, np.where(gone, np.nan, SCORES), 0.0)

    assert told(other) == pytest.approx(told(one), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", sorted(WITHOUT_GAPS))
def test_a_missing_score_is_refused_where_each_counts(name: str) -> None:
    """Never a number from fewer than were asked."""
    with pytest.raises(MeasureError):
        EVERY[name](TEXTS, np.where(np.arange(len(TEXTS)) == 2, np.nan, SCORES), 0.0)


@each
@pytest.mark.parametrize("value", [0.0, -3.5, math.nan])
@pytest.mark.parametrize("n", [1, 2, 4, len(TEXTS)], ids=["one", "word", "two words", "all"])
def test_scores_that_say_nothing_are_refused(name: str, value: float, n: int) -> None:
    """A reward that is the same for all, or that nobody has, is never measured: no pass."""
    with pytest.raises(MeasureError):
        EVERY[name](TEXTS[:n], np.full(n, value), 0.0)


@pytest.mark.parametrize("name", sorted(EVERY.keys() - {"pessimal_identity", "pessimal_frames"}))
@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_a_word_or_two_are_too_few(name: str, n: int) -> None:
    """Of scores that differ, too; shares of starts may be of few, and say what these can tell."""
    with pytest.raises(MeasureError):
        EVERY[name](TEXTS[:n], SCORES[:n], 0.0)


@pytest.mark.parametrize("name", sorted(EVERY.keys() - WITHOUT_NOISE))
def test_noise_widens(name: str) -> None:
    """By what it does to the value, which stays; the same generator gives the same interval."""
    still, noisy, again = (EVERY[name](TEXTS, SCORES, noise) for noise in (0.0, 0.5, 0.5))

    assert told(again) == told(noisy)
    assert noisy.value == still.value
    assert noisy.low <= still.low
    assert noisy.high >= still.high
    assert noisy.high - noisy.low > still.high - still.low
    assert noisy.secondary[NOISE] > 0
    assert noisy.interval.endswith("numeric noise")
    assert NOISE not in still.secondary
    assert still.caveats == noisy.caveats


@pytest.mark.parametrize("measure", [identity, stability])
def test_noise_is_that_of_its_own_prompt(measure: Callable[..., Estimate]) -> None:
    """One prompt in other units, its noise too, gives the same interval."""
    one, other = (measure(TEXTS, SCORES, 0.25, unit=unit) for unit in (1.0, 1024.0))

    assert told(other) == pytest.approx(told(one), rel=1e-9)


@pytest.mark.parametrize("name", sorted(EVERY.keys() - WITHOUT_NOISE))
def test_noise_that_nobody_measured_is_a_caveat(name: str) -> None:
    """It is not taken for 0: the interval is that without noise, and the estimate says so."""
    still, unknown = (EVERY[name](TEXTS, SCORES, noise) for noise in (0.0, math.nan))

    assert (unknown.low, unknown.value, unknown.high) == (still.low, still.value, still.high)
    assert unknown.caveats.count(UNMEASURED_NOISE) == 1
    assert UNMEASURED_NOISE not in still.caveats
    assert NOISE not in unknown.secondary


def test_numerics_needs_a_noise_that_was_measured() -> None:
    """Without one there is nothing to draw."""
    with pytest.raises(MeasureError, match="measured noise of a score, got nan"):
        numeric(TEXTS, SCORES, math.nan)


def plain(value: object) -> bool:
    """Whether this is a finite number, a text, a bool, None, or a tuple or dataclass of these."""
    if dataclasses.is_dataclass(value):
        return all(plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    if type(value) is tuple:
        return all(map(plain, value))
    return (
        value is None
        or type(value) in {bool, int, str}
        or (type(value) is float and math.isfinite(value))
    )


@each
def test_an_estimate_is_of_plain_values(name: str) -> None:
    """Python's own numbers; evidence is read back as it was written, and is small."""
    estimate = EVERY[name](TEXTS, SCORES, 0.125)

    numbers = estimate.value, estimate.low, estimate.high, *estimate.secondary.values()
    assert {type(number) for number in numbers} == {float}
    assert type(estimate.n) is int
    if not dataclasses.is_dataclass(estimate.evidence):
        assert name in WITHOUT_CHART
        return
    evidence: Any = estimate.evidence
    assert plain(evidence)
    assert evidence.kind == name
    text = json.dumps(dataclasses.asdict(evidence), allow_nan=False)
    measures.load()
    assert TypeAdapter(Evidence).validate_json(text) == evidence
    assert len(text) < 50_000


def test_every_kind_of_evidence_is_measured_here() -> None:
    """Those of rmaudit's own audits: what follows is tested of each."""
    measures.load()
    kinds = {kind.__dict__["kind"] for kind in Evidence.kinds() if kind is not OwnEvidence}

    assert kinds == EVERY.keys() - WITHOUT_CHART


@pytest.mark.parametrize("name", sorted(EVERY.keys() - WITHOUT_CHART))
def test_evidence_gives_a_chart_of_any_number_of_prompts(name: str) -> None:
    """Of one, three and 54; it says what it is, and words stand in it as terms only."""
    evidence = EVERY[name](TEXTS, SCORES, 0.125).evidence
    assert evidence is not None

    for n in (1, 3, 54):
        chart = evidence.chart([(f"prompt {i}", evidence) for i in range(n)])
        assert chart is not None
        assert chart.title
        assert chart.caption.endswith(".")
        assert chart.rows
        assert plain(dataclasses.replace(chart, columns=tuple(chart.columns.items())))
        found = set(re.findall(r"\w+", " ".join(in_the_open(chart)).lower()))
        assert not found & set(WORDS)


def in_the_open(chart: Chart) -> Iterator[str]:
    """The texts of a chart's panels and table that are printed whatever they are."""
    kinds = chart.columns.values()
    for row in chart.rows:
        yield from (cell for cell, kind in zip(row, kinds, strict=True) if kind != "term")
    for panel in chart.panels:
        yield from outside_terms(dataclasses.asdict(panel))


def outside_terms(value: object) -> Iterator[str]:
    """The texts in it, but for names of rows and terms of facts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            if key not in {"name", "terms"}:
                yield from outside_terms(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from outside_terms(part)
