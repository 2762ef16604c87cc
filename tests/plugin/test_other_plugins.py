"""Beside plugins that run tests again or shuffle them, and in a suite without any audit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.plugin.conftest import Run

RERUNS = """
import pytest
from _pytest.runner import runtestprotocol
TURNS = []

@pytest.fixture
def turn():
    TURNS.append(1)
    return len(TURNS)

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):  # as pytest-rerunfailures does, of every test
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for last in (False, False, True):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        for report in reports if last else reports[:2]:
            if not last and report.when == "call":
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True

def pytest_report_teststatus(report):
    if report.outcome == "rerun":
        return "rerun", "R", "RERUN"
"""
SHUFFLED = """
import random
import pytest

@pytest.hookimpl({when}=True)
def pytest_collection_modifyitems(items):
    random.Random({seed}).shuffle(items)
"""
MANY = """
@declare(0.0)
def test_zeta(rng): return estimate(1.0)

@declare(0.0, prompts=["best"])
def test_alpha(rng): return estimate(1.0)

class TestMore:
    @declare(0.0)
    def test_middle(self, rng): return estimate(1.0)

@declare(0.0)
def test_beta(rng): return estimate(1.0)
"""


def test_a_test_that_runs_again_is_what_its_last_run_was(run: Run) -> None:
    """Its properties stand once, and those that it records itself; a PASS that breaks is none."""
    body = """
@declare(99.0, prompts=["best"])
def test_low(rng, turn, record_property):
    record_property("own", "said")
    return estimate(float(turn))

@declare(0.0, prompts=["best"])
def test_high(rng, turn):
    if turn == 6:
        raise ValueError("broken by now")
    return estimate(1.0)
"""

    ended = run(body, "--junit-xml=junit.xml", conftest=RERUNS)

    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    low, high = ended.findings
    assert low["estimate"]["value"] == 3.0
    assert high["verdict"] == "ERROR"
    assert "broken by now" in high["why"]
    root = ET.parse(ended.folder / "junit.xml").getroot()  # noqa: S314  (a file of this run's)
    found = [str(each.get("name")) for each in root.iter("property")]
    ours = [name for name in found if name.startswith("rmaudit.")]
    assert ours == [f"rmaudit.{name}" for name in ("value", "low", "high", "n", "unit", "bound")]
    assert "own" in found


@pytest.mark.slow
@pytest.mark.parametrize("when", ["tryfirst", "trylast"])
def test_findings_stand_as_they_are_declared(
    run: Run, toy: Path, tmp_path: Path, when: str
) -> None:
    """Model by model, whatever shuffles the tests, before us or after us."""
    more = ("--rm-model", str(shutil.copytree(toy, tmp_path / "another")))
    first = run(MANY, *more).findings
    shuffled = run(MANY, *more, conftest=SHUFFLED.format(when=when, seed=1)).findings

    audits = ["zeta", "zeta", "alpha", "middle", "middle", "beta", "beta"]
    assert [(finding["model"], finding["audit"]) for finding in first] == [
        (model, audit) for model in ("toy", "another") for audit in audits
    ]
    assert [each["nodeid"] for each in shuffled] == [each["nodeid"] for each in first]


AUDITS = Path(__file__).parents[2] / "audits"

SUITE = """
import sys

def test_nothing_heavy_is_loaded():
    heavy = {"torch", "transformers", "pandas", "scipy", "pyarrow"} & set(sys.modules)
    assert not heavy
"""


@pytest.mark.slow
def test_silent_and_light(pytester: pytest.Pytester) -> None:
    """No output, no report folder, and nothing heavy is imported."""
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*rmaudit*report*")
    result.stdout.no_fnmatch_line("*= rmaudit =*")
    assert not list(pytester.path.glob("reports*"))


@pytest.mark.slow
def test_collection_loads_nothing_that_measures() -> None:
    """The audits are found, without what only measuring and drawing need."""
    heavy = {
        "torch",
        "transformers",
        "scipy.stats",
        "statsmodels",
        "wordfreq",
        "tokenizers",
    }
    check = (
        "import sys, pytest\n"
        f"pytest.main({['--collect-only', '-q', str(AUDITS)]!r})\n"
        f"print('loaded', sorted({heavy!r} & set(sys.modules)))\n"
    )

    said = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    ).stdout

    assert "test_funnel.py" in said
    assert said.splitlines()[-1] == "loaded []"
