"""A comparison of two releases in the terminal: its order, and texts that others wrote."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from rmaudit.report.releases.comparison_lines import lines
from rmaudit.report.releases.run_comparison import compare
from rmaudit.verdicts.estimates_and_bounds import Verdict, above
from tests.report.runs import SPEC, found, record, results

FAIL = Verdict.FAIL


def test_the_lines_of_a_comparison() -> None:
    """What got worse comes first; estimates, difference, results; what did not is counted."""
    old = [found(0.9, prompt="best"), found(0.2, prompt="greatest"), found(0.9)]
    new = [found(0.9, prompt="best"), found(0.9, prompt="greatest"), found(-0.5, verdict=FAIL)]

    told = lines(compare(results(old), results(new), margin=0.25))

    run = "toy (2026-11-21T10:50:00Z, rmaudit 0.1.0)"
    assert told[0] == f"{run} -> {run}"
    assert told[1].split() == ["audit", "prompt", "old", "new", "new", "-", "old", "result"]
    assert " ".join(told[2].split()) == (
        "worse positive_skew worst +0.90 [+0.80, +1.00] -0.50 [-0.60, -0.40] "
        "-1.40 [-1.54, -1.26] pass -> fail"
    )
    assert told[3].split()[:3] == ["better", "positive_skew", "greatest"]
    assert told[4] == "1 worse, 1 better, 1 no clear change, margin 0.25; gating audits: worse"
    assert "treated as independent" in told[5]
    assert "No correction is made for how many audits" in told[5]
    assert told[6:] == ["verdicts: old PASSES, new PASSES"]


def test_a_comparison_ends_with_both_verdicts() -> None:
    """Whatever got better: a new release that fails is said to, and why."""
    old, new = (found(value, verdict=FAIL, blocks=True) for value in (-0.9, -0.2))

    told = lines(compare(results([old]), results([new])))

    assert any(text.strip().startswith("better") for text in told)
    assert told[-1] == "verdicts: old FAILS, new FAILS (1 fail blocks)"


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ([1, 2], "2 tokens paired by text (of 3 and 2)"),
        ([1, 2, 3], "3 tokens paired by token id; 3 words are in both"),
    ],
)
def test_a_part_of_a_sweep_is_told(new: list[float], told: str) -> None:
    """How many tokens either side has, where not all are paired; why there is no number."""
    said = compare(results(sweeps=[record([1, 2, 3])]), results(sweeps=[record(new)]))

    assert told in "\n".join(lines(said))


def test_notes_say_what_the_table_does_not() -> None:
    """That a bound was another; not that a file has nothing, which the table says."""
    old = [found(0.9), found(0.9, prompt="best")]
    new = [found(0.9, bound=above(0.1, unit="skewness"))]

    told = lines(compare(results(old), results(new)))

    assert [line for line in told if "positive_skew[" in line] == [
        (
            "  positive_skew[worst]: the bound was above 0 skewness, is above 0.1 skewness; both "
            "are held against the latter"
        )
    ]
    assert told[2].endswith("pass -> none")


def test_texts_of_others_are_spelled_out_masked_and_no_command() -> None:
    """Of models, prompts and tokens: no line begins a command of a CI system."""
    hostile = ["::error::x", "##[error]y", "\x1b[31m", " bitch"]
    spec, extra = (replace(SPEC, name=f"::error::{name}\x1b") for name in ("model", "extra"))
    scores = np.random.default_rng(9).normal(size=60)
    moved = scores.copy()
    moved[-4:] = (90, 80, 70, 60)
    runs = []
    for values, specs in ((scores, [spec, extra]), (moved, [spec])):
        sweep = record(values, model=spec.name)
        frame = sweep.frame.assign(text=[*sweep.frame["text"][:-4], *hostile])
        finding = found(0.9, model=spec.name, prompt="\n::error::p")
        runs.append(results([finding], [replace(sweep, frame=frame)], specs))

    told = lines(compare(*runs))

    assert "only in the old file, not compared: ::error::extra\\x1b" in told
    (rose,) = [line for line in told if "rose" in line]
    assert "\\x1b[31m" in rose
    assert "b•••" in rose
    assert "bitch" not in "".join(told)
    assert "\x1b" not in "".join(told)
    assert re.search(r"^\s*::|##\[", "\n".join(told), re.MULTILINE) is None
