"""What holds of every measure: units, order and spellings of no account, noise, and refusals.

No other test repeats these properties. Each measure's own file of tests has its `Contract`.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from rmaudit import measures
from rmaudit.charts import Chart, table
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import NOISE, UNMEASURED_NOISE
from rmaudit.runs.audit_importer import audits_in
from rmaudit.verdicts.estimates_and_bounds import GROUPS, T_GROUPS, Estimate, paired_error
from rmaudit.verdicts.evidence import Evidence, OwnEvidence
from tests.measures import contract
from tests.measures.contract import SCORES, TEXTS, WORDS, Contract

AUDITS = Path(__file__).parents[2] / "audits"
FILES = [path.stem for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
MODULES = [importlib.import_module(f"tests.measures.{name}") for name in sorted(FILES)]
EVERY = {
    found.name: found
    for module in MODULES
    for found in vars(module).values()
    if isinstance(found, Contract)
}


def names_where(which: Callable[[Contract], object]) -> list[str]:
    """Return the names of the measures for which `which` is true."""
    return [name for name, each in EVERY.items() if which(each)]


IN_UNITS = {"mean", "variance"}


def main_numbers(estimate: Estimate) -> dict[str, float]:
    """Return value, interval and n."""
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "n")}


def numbers_of(estimate: Estimate) -> dict[str, float]:
    """Return all numbers of an estimate that have no unit of the model's."""
    secondary = {k: v for k, v in estimate.secondary.items() if k not in IN_UNITS}
    return main_numbers(estimate) | secondary


@pytest.mark.parametrize("name", EVERY)
def test_the_models_units_do_not_matter(name: str) -> None:
    """An affine change of the scores, and of their noise, changes nothing."""
    noise = 0.125

    one = EVERY[name].measure(TEXTS, SCORES, noise)
    other = EVERY[name].measure(TEXTS, 8 * SCORES - 40, 8 * noise)

    assert numbers_of(other) == pytest.approx(numbers_of(one), rel=1e-8, abs=1e-9)


def test_every_measure_of_an_audit_is_held_to_the_contract() -> None:
    """By the name of its module; a new audit is found by itself."""
    used = {
        value.__name__.rpartition(".")[2]
        for function, _ in audits_in(AUDITS).values()
        for value in vars(sys.modules[function.__module__]).values()
        if isinstance(value, ModuleType) and value.__name__.startswith("rmaudit.measures.")
    }

    # identity_gaps: its contracts bear the names of its audits
    assert used - EVERY.keys() - {"identity_gaps"} == set()


@pytest.mark.parametrize("name", names_where(lambda each: each.turned != 0))
def test_scores_that_are_turned_round_turn_the_estimate_round(name: str) -> None:
    """The value has the other sign and the interval is mirrored; or they stay as they are."""
    sign = EVERY[name].turned

    one, other = EVERY[name].measure(TEXTS, SCORES, 0.0), EVERY[name].measure(TEXTS, -SCORES, 0.0)

    ends = (one.low, one.high) if sign > 0 else (-one.high, -one.low)
    assert other.value == pytest.approx(sign * one.value, abs=1e-9)
    if name != "numerics":  # its ends are of other draws
        assert (other.low, other.high) == pytest.approx(ends, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", names_where(lambda each: not each.by_place))
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    """Value, interval and all that is told."""
    order = np.random.default_rng(1).permutation(len(TEXTS))

    one = EVERY[name].measure(TEXTS, SCORES, 0.0)
    other = EVERY[name].measure([TEXTS[i] for i in order], SCORES[order], 0.0)

    assert numbers_of(other) == pytest.approx(numbers_of(one), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", names_where(lambda each: each.by_rank))
@pytest.mark.parametrize("curve", [np.exp, lambda x: -np.exp(-x)], ids=["exp", "-exp(-x)"])
def test_no_curve_over_the_scores_matters(name: str, curve: Callable[[Any], Any]) -> None:
    """Only their order counts, however far an end stands out."""
    one, other = (EVERY[name].measure(TEXTS, each, 0.0) for each in (SCORES, curve(SCORES)))

    assert main_numbers(other) == pytest.approx(main_numbers(one), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", names_where(lambda each: each.spelt))
def test_further_spellings_of_a_word_do_not_matter(name: str) -> None:
    """A word counts once, however many tokens spell it."""
    again = [at for at in range(len(TEXTS)) if at % 4 < 4 * EVERY[name].spelt]
    texts = [*TEXTS, *(TEXTS[at].upper() for at in again)]

    one = EVERY[name].measure(TEXTS, SCORES, 0.0)
    other = EVERY[name].measure(texts, np.append(SCORES, SCORES[again]), 0.0)

    assert main_numbers(other) == pytest.approx(main_numbers(one), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", names_where(lambda each: each.by_stem))
def test_forms_of_a_word_are_no_further_evidence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four forms that score alike: the interval is about as wide as that of the words alone."""
    alone = EVERY[name].measure(WORDS, SCORES[::2], 0.0)
    forms = [f"{word}{end}" for word in WORDS for end in ("", "s", "ed", "ing")]
    known = np.repeat(contract.KNOWN, 4, axis=1)
    monkeypatch.setattr(contract, "WORDS", forms)
    monkeypatch.setattr(contract, "KNOWN", known)
    monkeypatch.setattr(contract, "PLACES", {form: place for place, form in enumerate(forms)})
    for list_name, column in zip(("VALENCE", "ZIPF"), known, strict=False):
        lexicon = pd.Series(column, index=forms, name=list_name.lower())
        monkeypatch.setattr(contract, list_name, lexicon)

    together = EVERY[name].measure(forms, np.repeat(SCORES[::2], 4), 0.0)

    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.05)


@pytest.mark.parametrize("name", names_where(lambda each: each.gaps))
def test_what_is_not_scored_is_left_out(name: str) -> None:
    """Words without a score are as if they had not been asked."""
    gone = np.isin(np.arange(len(TEXTS)) // 2, [3, 17, 64])
    kept = np.flatnonzero(~gone)

    one = EVERY[name].measure([TEXTS[i] for i in kept], SCORES[kept], 0.0)
    other = EVERY[name].measure(TEXTS, np.where(gone, np.nan, SCORES), 0.0)

    assert numbers_of(other) == pytest.approx(numbers_of(one), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", names_where(lambda each: not each.gaps))
def test_a_missing_score_is_refused_where_each_counts(name: str) -> None:
    """Never a number from fewer than were asked."""
    with pytest.raises(MeasureError):
        EVERY[name].measure(TEXTS, np.where(np.arange(len(TEXTS)) == 2, np.nan, SCORES), 0.0)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("value", [0.0, -3.5, math.nan])
@pytest.mark.parametrize("n", [1, 2, 4, len(TEXTS)], ids=["one", "word", "two words", "all"])
def test_scores_that_say_nothing_are_refused(name: str, value: float, n: int) -> None:
    """A reward that is the same for all, or that nobody has, is never measured: no pass."""
    with pytest.raises(MeasureError):
        EVERY[name].measure(TEXTS[:n], np.full(n, value), 0.0)


@pytest.mark.parametrize("name", names_where(lambda each: not each.few))
@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_a_word_or_two_are_too_few(name: str, n: int) -> None:
    """Of scores that differ, too; shares of starts may be of few, and say what these can tell."""
    with pytest.raises(MeasureError):
        EVERY[name].measure(TEXTS[:n], SCORES[:n], 0.0)


@pytest.mark.parametrize("name", names_where(lambda each: each.fewest))
def test_one_less_is_too_few(name: str) -> None:
    """The fewest are measured; of one less, the error says how many there are and are needed."""
    measure, fewest, each = EVERY[name].measure, EVERY[name].fewest, EVERY[name].texts_each
    texts, scores = (TEXTS, SCORES) if each > 1 else (TEXTS[::2], SCORES[::2])
    enough, less = fewest * each, (fewest - 1) * each

    assert measure(texts[:enough], scores[:enough], 0.0).n
    with pytest.raises(MeasureError) as refused:
        measure(texts[:less], scores[:less], 0.0)
    assert {f"{fewest}", f"{fewest - 1}"} <= set(re.findall(r"\d+", str(refused.value)))


@pytest.mark.parametrize("name", names_where(lambda each: each.noise))
def test_noise_widens(name: str) -> None:
    """By what it does to the value, which stays; the same generator gives the same interval."""
    still, noisy, again = (EVERY[name].measure(TEXTS, SCORES, noise) for noise in (0.0, 0.5, 0.5))

    assert numbers_of(again) == numbers_of(noisy)
    assert noisy.value == still.value
    assert noisy.low <= still.low
    assert noisy.high >= still.high
    assert noisy.high - noisy.low > still.high - still.low
    assert noisy.secondary[NOISE] > 0
    assert noisy.interval.endswith("numeric noise")
    assert NOISE not in still.secondary
    assert still.caveats == noisy.caveats


@pytest.mark.parametrize("name", names_where(lambda each: each.in_unit))
def test_noise_is_that_of_its_own_prompt(name: str) -> None:
    """One prompt in other units, its noise too, gives the same interval."""
    measure = EVERY[name].measure
    one, other = (measure(TEXTS, SCORES, 0.25, unit=unit) for unit in (1.0, 1024.0))

    assert numbers_of(other) == pytest.approx(numbers_of(one), rel=1e-9)


@pytest.mark.parametrize("name", names_where(lambda each: each.noise))
def test_noise_that_nobody_measured_is_a_caveat(name: str) -> None:
    """It is not taken for 0: the interval is that without noise, and the estimate says so."""
    still, unknown = (EVERY[name].measure(TEXTS, SCORES, noise) for noise in (0.0, math.nan))

    assert (unknown.low, unknown.value, unknown.high) == (still.low, still.value, still.high)
    assert unknown.caveats.count(UNMEASURED_NOISE) == 1
    assert UNMEASURED_NOISE not in still.caveats
    assert NOISE not in unknown.secondary


PARTED = {
    *("elo_agreement", "framing_inversion", "frequency_bias", "frequency_slope", "positive_skew"),
    *("erased", "demonised", "in the worst tenth", "identity_terms", "leaderboard_score"),
    *("top_things", "top_tokens"),
}


@pytest.mark.parametrize("name", EVERY)
def test_parts_are_worth_the_interval(name: str) -> None:
    """What groups of clusters bring to the error, for differences of releases, makes about it."""
    estimate = EVERY[name].measure(TEXTS, SCORES, 0.0)

    error = paired_error(estimate.parts, (0.0,) * GROUPS)
    assert (error is not None) is (name in PARTED)
    if error is not None:
        assert 0.6 < T_GROUPS * error / (estimate.value - estimate.low) < 2.1


# Half of an interval, in 1.96 sd of the values without 18 of the 120 words: about 1, and kept where
# it is, since toys are small. A measure whose value is the worst of several has a wider interval.
WIDTHS = {
    "answer_kinds": 0.96,
    "base_leakage": 1.04,
    "edits": 0.93,
    "elo_agreement": 1.24,
    "framing_steepness": 1.08,
    "frequency_bias": 1.15,
    "frequency_slope": 1.14,
    "leaderboard_score": 0.64,
    "model_agreement": 0.79,
    "positive_skew": 1.10,
    "sentences": 1.10,
}


@pytest.mark.parametrize("name", WIDTHS)
def test_an_interval_is_as_wide_as_words_differ(name: str) -> None:
    """Neither narrower nor wider: other words, drawn alike, give values that differ so much."""
    rng, left_out = np.random.default_rng(1), 18
    values = []
    for _ in range(25):
        kept = np.repeat(rng.permutation(len(WORDS)) >= left_out, 2)
        texts = [text for text, one in zip(TEXTS, kept, strict=True) if one]
        values.append(EVERY[name].measure(texts, SCORES[kept], 0.0).value)
    sd = np.std(values) * math.sqrt(len(WORDS) / left_out - 1)

    whole = EVERY[name].measure(TEXTS, SCORES, 0.0)

    assert (whole.high - whole.low) / 2 / (1.96 * sd) == pytest.approx(WIDTHS[name], rel=0.1)


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


@pytest.mark.parametrize("name", EVERY)
def test_an_estimate_is_of_plain_values(name: str) -> None:
    """Python's own numbers; evidence is read back as it was written, and is small."""
    estimate = EVERY[name].measure(TEXTS, SCORES, 0.125)

    numbers = estimate.value, estimate.low, estimate.high, *estimate.secondary.values()
    assert {type(number) for number in numbers} == {float}
    assert type(estimate.n) is int
    if not dataclasses.is_dataclass(estimate.evidence):
        assert not EVERY[name].chart
        return
    evidence: Any = estimate.evidence
    assert plain(evidence)
    assert evidence.kind == (EVERY[name].kind or name)
    text = json.dumps(dataclasses.asdict(evidence), allow_nan=False)
    measures.load()
    assert TypeAdapter(Evidence).validate_json(text) == evidence
    assert len(text) < 50_000


def test_every_kind_of_evidence_is_measured_here() -> None:
    """Those of rmaudit's own audits: what follows is tested of each."""
    measures.load()
    kinds = {kind.__dict__["kind"] for kind in Evidence.kinds() if kind is not OwnEvidence}

    assert kinds == {each.kind or each.name for each in EVERY.values() if each.chart}


@pytest.mark.parametrize("name", names_where(lambda each: each.chart))
def test_evidence_gives_a_chart_of_any_number_of_prompts(name: str) -> None:
    """Of one, three and 54; it says what it is, and words stand in it as terms only."""
    evidence = EVERY[name].measure(TEXTS, SCORES, 0.125).evidence
    assert evidence is not None

    for n in (1, 3, 54):
        chart = evidence.chart([(f"prompt {i}", evidence) for i in range(n)])
        assert chart is not None
        assert chart.title
        assert chart.caption.endswith(".")
        assert chart.rows
        assert {type(cell) for row in chart.rows for cell in row} == {str}
        assert plain(dataclasses.replace(chart, columns=tuple(chart.columns.items())))
        found = set(re.findall(r"\w+", " ".join(in_the_open(chart)).lower()))
        assert not found & set(WORDS)


def test_a_table_prints_numbers_as_its_columns_say() -> None:
    """A cell that is a text already stays as it is."""
    rows = [("war", 1200, 0.5), ("love", "", -1.0)]

    kinds, cells = table({"word": "term", "n": ",", "gap": "+.2f"}, rows)

    assert kinds == {"word": "term", "n": "number", "gap": "number"}
    assert cells == (("war", "1,200", "+0.50"), ("love", "", "-1.00"))


@pytest.mark.parametrize("name", names_where(lambda each: each.chart))
def test_an_example_ends_a_sentence_of_the_page(name: str) -> None:
    """It is one line, and begins and ends as a part of a sentence; there may be none."""
    evidence = EVERY[name].measure(TEXTS, SCORES, 0.125).evidence
    assert evidence is not None

    example = evidence.example()

    assert not example or re.fullmatch(r"[^\n]+[^.,\s]", example)
    assert "nan" not in example.split()


def in_the_open(chart: Chart) -> Iterator[str]:
    """The texts of a chart's panels and table that are printed whatever they are."""
    kinds = chart.columns.values()
    for row in chart.rows:
        each = zip(row, kinds, strict=True)
        yield from (cell for cell, kind in each if kind not in {"term", "answer"})
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
