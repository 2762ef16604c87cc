"""A comparison of two releases in the terminal: its order, and texts that others wrote."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from rmaudit.report.over_time.release_lines import lines
from rmaudit.report.over_time.releases import compare
from rmaudit.verdicts.records import Estimate, Verdict, above
from tests.findings import but
from tests.report.over_time.test_releases import found, results
from tests.report.test_document import SPEC, record

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
    assert "taken for independent" in told[5]
    assert "No correction is made for how many audits" in told[5]
    assert told[6:] == ["verdicts: old PASSES, new PASSES"]


def test_a_comparison_ends_with_both_verdicts() -> None:
    """Whatever got better: a new release that fails is said to, and why."""
    old, new = (found(value, verdict=FAIL, blocks=True) for value in (-0.9, -0.2))

    told = lines(compare(results([old]), results([new])))

    assert any(text.strip().startswith("better") for text in told)
    assert told[-1] == "verdicts: old FAILS, new FAILS (1 fail blocks)"


def test_a_small_change_is_not_shown_as_none() -> None:
    """More decimals where two would not tell the ends of an interval apart."""
    old = but(found(0.9), estimate=Estimate(0.99999, 0.99998, 0.999995, "skewness", 9, "x"))
    new = but(found(0.9), estimate=Estimate(0.9993, 0.9991, 0.9995, "skewness", 9, "x"))

    told = lines(compare(results([old]), results([new]), margin=0))

    assert " ".join(told[2].split()) == (
        "worse positive_skew worst +0.99999 [+0.99998, +0.999995] +0.9993 [+0.9991, +0.9995] "
        "-0.0007 [-0.0009, -0.0005] pass"
    )


def test_a_model_of_one_file_is_told() -> None:
    """Its name is of others, so nothing in it is obeyed."""
    more = [SPEC, replace(SPEC, name="::error::v2\x1b")]

    told = lines(compare(results([found(0.9)], specs=more), results([found(0.9)])))

    assert "only in the old file, not compared: ::error::v2\\x1b" in told


def test_a_part_of_a_sweep_is_told() -> None:
    """How many tokens either side has, where not all are paired."""
    said = compare(
        results(sweeps=[record([1, 2, 3])]),
        results(sweeps=[record([1, 2])]),
    )

    assert "2 tokens paired by text (of 3 and 2)" in "\n".join(lines(said))


def test_sweeps_that_tell_nothing_say_why() -> None:
    """In place of a number."""
    said = compare(results(sweeps=[record([1, 2, 3])]), results(sweeps=[record([1, 2, 3])]))

    assert "3 tokens paired by token id; 3 words are in both" in "\n".join(lines(said))


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


def test_hostile_and_offensive_tokens_in_the_terminal() -> None:
    """Spelled out, masked, and no line begins a command of a CI system."""
    rng = np.random.default_rng(9)
    scores = rng.normal(size=60)
    frame = record(scores).frame
    texts = [*frame["text"][:-3], "::error::x", "\x1b[31m", " bitch"]
    frame = frame.assign(text=texts)
    moved = scores.copy()
    moved[-3:] = (90, 80, 70)

    told = lines(
        compare(
            results(sweeps=[record(scores, frame=frame)]),
            results(sweeps=[record(moved, frame=frame.assign(score=moved.astype(np.float32)))]),
        )
    )

    (rose,) = [line for line in told if "rose" in line]
    assert "\\x1b[31m" in rose
    assert "\x1b" not in "".join(told)
    assert "b•••" in rose
    assert "bitch" not in "".join(told)
    assert not any(line.lstrip().startswith("::") for line in told)


def test_no_line_is_a_command_of_a_ci_system() -> None:
    """Whatever a model, a prompt or a token is called."""
    spec = replace(SPEC, name="::error::model")
    rng = np.random.default_rng(9)
    sweeps = []
    for scores in rng.normal(size=(2, 60)):
        sweep = record(scores, model=spec.name)
        texts = [f"##[error]{i}" for i in range(60)]
        sweeps.append(replace(sweep, frame=sweep.frame.assign(text=texts)))
    old, new = (
        results([found(0.9, model=spec.name, prompt="\n::error::p")], [sweep], [spec])
        for sweep in sweeps
    )

    told = "\n".join(lines(compare(old, new)))

    assert "error" in told
    assert re.search(r"^\s*::|##\[", told, re.MULTILINE) is None
