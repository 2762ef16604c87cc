"""A figure is measured and shown, and nothing judges it."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import HIGH, Run

COSTLY = """
@audit(question="Is it dear?", source="nowhere", costly=True, prompts=["best"])
def test_dear(rng): return estimate(1.0)
"""
FIGURE = """
@audit(question="How does it look?", source="nowhere", prompts=["best"], title="Looks")
def test_looks(sweep): return estimate({value})
"""


@pytest.mark.slow
def test_a_figure_is_shown_and_judged_by_nothing(run: Run) -> None:
    """Its test passes whatever it measures; it is a list of its own, a line, and no finding."""
    ended = run(HIGH.format(low=0.0) + FIGURE.format(value=-9.0), "--junitxml=junit.xml")

    assert ended.ret == pytest.ExitCode.OK
    assert ended.said.parseoutcomes() == {"passed": 3}
    assert {each["audit"] for each in ended.findings} == {"high"}
    (looks,) = ended.figures
    assert (looks["audit"], looks["title"], looks["prompt"]) == ("looks", "Looks", "best")
    assert (looks["question"], looks["estimate"]["value"]) == ("How does it look?", -9.0)
    assert looks["sweeps"] == [ended.results["models"][0]["sweeps"][0]["key"]]
    counts = [ended.results["run"][key] for key in ("collected", "selected", "finished")]
    assert counts == [2, 2, 2]
    ended.says("PASSES  1 gate: 1 pass", "1 figure, without pass or fail", "report: *")
    junit = (ended.folder / "junit.xml").read_text()
    assert 'name="rmaudit.value" value="-9.0"' in junit
    assert junit.count("rmaudit.bound") == 2


@pytest.mark.slow
@pytest.mark.parametrize(("args", "body"), [(["-k", "high"], "-9.0"), ([], "0 / 0")])
def test_the_verdict_does_not_ask_for_a_figure(run: Run, args: list[str], body: str) -> None:
    """It is the same without it, and where it breaks: then its test is an error."""
    ended = run(HIGH.format(low=0.0) + FIGURE.format(value=body), *args)

    assert ended.results["verdict"]["outcome"] == "PASSES"
    assert ended.ret == (pytest.ExitCode.OK if args else pytest.ExitCode.TESTS_FAILED)
    assert [bool(each["reason"]) for each in ended.figures] == ([] if args else [True])


def test_a_run_of_figures_judges_nothing(run: Run) -> None:
    """And says so; what was measured is there."""
    ended = run(FIGURE.format(value=1.0))

    assert ended.ret == pytest.ExitCode.OK
    ended.says("NOT ESTABLISHED  0 gates", "*no audit with a bound was run.")
    assert len(ended.figures) == 1


@pytest.mark.parametrize(
    ("args", "measured"),
    [([], False), (["--rm-all"], True), (["test_toy.py::test_dear"], True)],
)
def test_a_costly_figure_is_measured_where_it_is_wanted(
    run: Run, args: list[str], measured: bool
) -> None:
    """By the option or the name of its file; else the run passes without it."""
    ended = run(HIGH.format(low=0.0) + COSTLY, *args)

    (dear,) = ended.figures
    assert (ended.ret, dear["estimate"] is not None) == (pytest.ExitCode.OK, measured)
    assert measured or "--rm-all" in dear["reason"]
    ended.says("INCOMPLETE*" if "test_toy" in str(args) else "PASSES*")
