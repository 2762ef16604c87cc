"""The share of a ledger's strings above real answers: by hand, by length, and how many it takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rmaudit.errors import MeasureError
from rmaudit.measures.gcg_probes import BOUND, NEEDED, StringScores, replayed
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract

FRAME = pd.DataFrame({"text": list("abc"), "score": [1.0, 5.0, np.nan]})  # mean 3, sd 2
REAL = pd.DataFrame({"text": ["x" * 8] * 200, "score": np.arange(200.0) / 100})  # to 1.99
BAR = 1.98  # of 200 the second best: a score like theirs is above with chance 2 in 201


def strings(*rows: tuple[str, str, float], model: str = "M") -> pd.DataFrame:
    """Strings of these texts, directions and scores."""
    return pd.DataFrame(
        [
            {"text": text, "direction": to, "model": model, "source": f"T{i}", "score": score}
            for i, (text, to, score) in enumerate(rows)
        ]
    )


def measured(table: pd.DataFrame, real: pd.DataFrame = REAL, noise: float = 0.0) -> Estimate:
    """With a generator of its own."""
    asked = {"best": StringScores(table, real, FRAME, noise)}
    return replayed(asked, rng=np.random.default_rng(0))


def test_a_ledger_by_hand() -> None:
    """Of two that please one is above; what displeases is shown, furthest above first."""
    table = strings(
        ("fifteen letters", "up", 1.98), ("eight ..", "down", 9.0), ("eight ~~", "up", 1.985)
    )

    estimate = measured(table)

    assert (estimate.value, estimate.n) == (0.5, 2)
    exact = stats.binomtest(1, 2).proportion_ci(0.95, method="exact")
    assert (estimate.low, estimate.high) == pytest.approx((exact.low, exact.high))
    assert estimate.secondary == pytest.approx(
        {
            "share under best": 0.5,
            "highest share of one model's strings": 0.5,
            "best string less best real answer, sd": (1.985 - 1.99) / 2,
        }
    )
    shown = estimate.evidence.strings
    assert [(row.text, row.direction, row.source) for row in shown] == [
        ("eight ..", "down", "T1"),
        ("eight ~~", "up", "T2"),
        ("fifteen letters", "up", "T0"),
    ]
    assert [row.above for row in shown] == [True, True, False]
    assert [row.bar for row in shown] == pytest.approx([(BAR - 3) / 2] * 3)
    assert [row.z for row in shown] == pytest.approx([3.0, -0.5075, -0.51])
    assert [row.share_below for row in shown] == [1.0, 0.5, 0.5]


def test_72_strings_can_pass_and_fewer_cannot() -> None:
    """Without any above the interval of 71 reaches over the bound; it says how to get more."""
    few, enough = (
        measured(strings(*[("eight ..", "up", 0.0)] * many)) for many in (NEEDED - 1, NEEDED)
    )

    assert NEEDED == 72
    assert few.value == enough.value == 0
    assert enough.high < BOUND < few.high
    assert "at least 72 are needed. `rmaudit search MODEL --ledger FILE`" in few.caveats[1]
    assert len(enough.caveats) == 1


@pytest.mark.parametrize("sign", [1, -1], ids=["longer", "shorter"])
def test_length_alone_is_neither_good_nor_bad(sign: int) -> None:
    """A model that sees only how long an answer is has no string above, of whatever length."""
    real = pd.DataFrame({"text": ["y" * n for n in range(3, 151) for _ in range(20)]})
    table = strings(*[("z" * n, "up", sign * float(n)) for n in range(5, 121)])

    estimate = measured(table, real.assign(score=sign * real["text"].str.len().astype(float)))

    assert (estimate.value, estimate.n) == (0.0, 116)


def test_what_has_no_real_answer_of_its_length_is_left_out() -> None:
    """Of 8 characters are like it 4 to 16; it is told how many were left out."""
    table = strings(*[("s" * n, "up", 9.0) for n in (3, 4, 16, 17)])

    estimate = measured(table)

    assert (estimate.value, estimate.n) == (1.0, 2)
    assert estimate.caveats[-1].endswith("are left out: 2.")
    with pytest.raises(MeasureError, match="got 0 strings, and 99 real answers"):
        measured(table, REAL.head(99))


def test_the_strings_of_one_model_are_told() -> None:
    """Where all strings that please come of one model, its own share says so; it is said which.

    Those of all prompts count together, each against real answers to its own.
    """
    fooling = strings(*[("eight ..", "up", 9.0)] * 10, model="A")
    harmless = strings(*[("eight ..", "up", 0.0)] * 90, model="B")
    every = pd.concat([harmless, fooling], ignore_index=True)
    asked = {
        "best": StringScores(every, REAL, FRAME, 0.0),
        "worst": StringScores(every, REAL.assign(score=REAL["score"] + 20), FRAME, 0.0),
    }

    one, both = measured(every), replayed(asked, rng=np.random.default_rng(0))

    assert one.value == 0.1
    assert one.secondary["highest share of one model's strings"] == 1.0
    assert "2 models (10 on A, 90 on B)" in one.caveats[0]
    assert (both.value, both.n) == (0.05, 200)
    assert [both.secondary[f"share under {name}"] for name in asked] == [0.1, 0.0]
    assert {row.prompt for row in both.evidence.strings if row.above} == {"best"}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (strings(("eight ..", "down", 1.0)), "strings that please"),
        (strings(("eight ..", "up", float("nan"))), "under 'best'.*1 scores that are not finite"),
    ],
)
def test_nothing_to_measure(table: pd.DataFrame, says: str) -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match=says):
        measured(table)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """Every second text is a string, and the others are real answers."""
    every = contract.frame(texts, scores)
    strings = every.iloc[::2].assign(direction="up", model="M", source="S")
    asked = {"best": StringScores(strings, every.iloc[1::2], every, noise)}
    return replayed(asked, rng=contract.rng())


CONTRACT = contract.Contract(
    "gcg_probes", on_toys, turned=0, gaps=False, by_place=True, fewest=100, texts_each=2
)
