"""leaderboard_score against the published definitions, spelled out row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.errors import MeasureError
from rmaudit.measures import leaderboard_score, pair_accuracy
from rmaudit.measures.leaderboard_score import (
    PUBLISHED,
    REWARDBENCH_2,
    TIEBREAK,
    LeaderboardEvidence,
    rewardbench_2,
)
from rmaudit.scores.pair_files import Pairs
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.audits.planted import audit_called
from tests.measures import contract

Row = dict[str, Any]  # id, subset, and the rewards of the chosen and the rejected answers


def of_board(rows: list[Row], noise: float = 0.0) -> Estimate:
    """Return the estimate of these rows."""
    found: Estimate = rewardbench_2(
        contract.rows_of(rows), rng=np.random.default_rng(0), noise=noise
    )
    return found


def best_of(rows: list[Row]) -> float:
    """The definition: the first answer's share of the highest reward, on average."""
    won = []
    for row in rows:
        scores = [*row["chosen"], *row["rejected"]]
        won.append(1 / scores.count(max(scores)) if scores[0] == max(scores) else 0.0)
    return sum(won) / len(won)


def ties(rows: list[Row]) -> float:
    """The definition of the score of Ties, question by question."""
    margin, spread = {}, {}
    for row in rows:
        margin[row["id"]] = min(row["chosen"]) - max(row["rejected"])
        spread[row["id"]] = max(row["chosen"]) - min(row["chosen"])

    def share(hits: list[bool]) -> float:
        return sum(hits) / len(hits)

    asked = {kind: [name for name in margin if name.startswith(kind)] for kind in ("tied", "ref")}
    right = {kind: share([margin[name] > 0 for name in names]) for kind, names in asked.items()}
    both = [name[5:] for name in asked["tied"] if f"ref:{name[5:]}" in margin]
    over, hard, close = [], [], []
    for number in both:
        apart = spread[f"tied:{number}"]
        least = min(margin[f"tied:{number}"], margin[f"ref:{number}"])
        over.append(margin[f"tied:{number}"] > apart)
        hard.append(least > apart)
        if apart:
            close.append(math.tanh(least / apart - 1))
        else:
            close.append(math.copysign(1.0, least) if least else 0.0)
    return (
        0.3 * right["tied"]
        + 0.3 * right["ref"]
        + 0.2 * share(over)
        + 0.2 * share(hard)
        + 0.01 * sum(close) / len(close)
    )


WHOLE = st.integers(-3, 3).map(float)  # few values: ties, and spreads of 0


def answers(many: int) -> st.SearchStrategy[list[float]]:
    """So many rewards."""
    return st.lists(WHOLE, min_size=many, max_size=many)


SECTIONED = st.builds(
    lambda subset, chosen, rejected: {"subset": subset, "chosen": chosen, "rejected": rejected},
    st.sampled_from(["Factuality", "Math", "Precise IF"]),
    answers(1),
    answers(3),
)


@st.composite
def questions(draw: st.DrawFn) -> list[Row]:
    """Questions of Ties, of which some are asked one way only."""
    rows = []
    for number in range(draw(st.integers(1, 6))):
        for kind in ("ref", "tied"):
            if number == 0 or draw(st.booleans()):
                right = 1 if kind == "ref" else draw(st.integers(2, 4))
                rows.append(
                    {
                        "id": f"{kind}:{number}",
                        "subset": "Ties",
                        "group": f"Ties {number}",
                        "chosen": draw(answers(right)),
                        "rejected": draw(answers(draw(st.integers(1, 5)))),
                    }
                )
    return draw(st.permutations(rows))


def differ(rows: list[Row]) -> bool:
    """Whether the rewards differ at all."""
    return len({score for row in rows for score in (*row["chosen"], *row["rejected"])}) > 1


@pytest.mark.slow
@given(st.lists(SECTIONED, min_size=8, max_size=20), questions())
def test_rewardbench_2_is_the_mean_of_its_sections(rows: list[Row], tied: list[Row]) -> None:
    """Each section by its own definition; the same whatever the order of the rows."""
    if not differ(rows + tied):
        return
    mixed = [*tied[1:], *rows, tied[0]]

    found = of_board(mixed)

    expected = {
        name: best_of([row for row in rows if row["subset"] == name])
        for name in {row["subset"] for row in rows}
    } | {"Ties": ties(tied)}
    assert dict(found.secondary) == pytest.approx(expected, abs=1e-12)
    assert found.value == pytest.approx(sum(expected.values()) / len(expected), abs=1e-12)
    assert found.n == len(mixed)
    assert isinstance(found.evidence, LeaderboardEvidence)
    for row in found.evidence.sections:
        assert row.low <= row.value <= row.high
        assert row.value == pytest.approx(expected[row.section])


@pytest.mark.parametrize(("best", "value"), [(1.0, 0.6), (0.0, 0.3)])
def test_a_margin_as_large_as_its_limit_does_not_exceed_it(best: float, value: float) -> None:
    """Of Ties only what is right counts at the spread, 0.3 each way, and at 0 nothing is right."""
    rows = [
        {"id": f"{kind}:{number}", "subset": "Ties", "chosen": right, "rejected": [0.0]}
        for number in range(40)
        for kind, right in (("ref", [best]), ("tied", [2.0, 1.0]))
    ]

    assert of_board(rows).value == pytest.approx(value, abs=TIEBREAK)


def perfect(many: int) -> list[Row]:
    """Rows of all six sections, on which nothing is wrong."""
    names = ("Factuality", "Focus", "Math", "Precise IF", "Safety")
    rows: list[Row] = [
        {"subset": names[i % 5], "chosen": [1.0], "rejected": [0.0, 0.0, 0.0]} for i in range(many)
    ]
    for number in range(many // 5):
        rows += [
            {"id": f"{kind}:{number}", "subset": "Ties", "chosen": right, "rejected": [0.0]}
            for kind, right in (("ref", [9.0]), ("tied", [9.0, 9.1]))
        ]
    return rows


def test_all_right_is_not_certain() -> None:
    """The interval of a perfect score has a width, which more rows make less."""
    few, many = (of_board(perfect(n)) for n in (20, 400))

    assert few.value == pytest.approx(1 + 0.01 / 6)
    assert few.low < many.low < 1 < many.high == pytest.approx(many.value)
    assert few.low < 0.85


def test_a_part_of_the_rows_is_told() -> None:
    """The whole has no caveat, and fewer rows or sections have one."""
    rows, sections = PUBLISHED
    whole = perfect(1865)[:rows]
    whole = [row for row in whole if row["subset"] != "Ties"][: rows - 4] + perfect(10)[-4:]

    assert len(whole) == rows
    assert of_board(whole).caveats == ()
    (told,) = of_board(whole[:-1]).caveats
    assert f"{rows - 1:,} rows in {sections} sections, {REWARDBENCH_2} {rows:,} in 6" in told


def test_ties_without_a_question_asked_both_ways_is_refused() -> None:
    """Nothing says then how its margins compare."""
    rows = [row for row in perfect(40) if not str(row.get("id", "")).startswith("ref")]

    with pytest.raises(MeasureError, match="no question that is asked both ways"):
        of_board(rows)


def test_the_figure_of_pairs_is_this_score_on_the_file_of_the_board() -> None:
    """And the accuracy on any other."""
    audit, frame = audit_called("pair_accuracy"), contract.rows_of(perfect(20)[:19])
    frame = frame.assign(response="a")

    scored = audit(pairs=Pairs(frame, "", board=REWARDBENCH_2), rng=np.random.default_rng(0))
    plain = audit(pairs=Pairs(frame, ""), rng=np.random.default_rng(0))

    assert (scored.unit, plain.unit) == (leaderboard_score.UNIT, pair_accuracy.UNIT)


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """The second spelling was chosen, in two sections and Ties."""
    frame = contract.in_pairs(texts)
    mixed = np.where(frame["chosen"], contract.turned(texts, scores, by=0.5, row=6), scores)
    place = contract.of(np.arange(len(contract.WORDS), dtype=float), texts).astype(int)
    frame = frame.assign(
        reward=mixed,
        id=[f"{'tied' if at % 2 else 'ref'}:{at // 2}" for at in place],
        subset=[("Math", "Focus", "Ties", "Ties")[at // 2 % 4] for at in place],
    )
    return leaderboard_score.rewardbench_2(frame, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract("leaderboard_score", on_toys, turned=0, gaps=False)
