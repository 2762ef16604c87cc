"""What keeps a run from passing that no finding can tell, and the exit code that says so."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from rmaudit.plugin.uncollected_audits import bundled_audits, uncollected
from rmaudit.report.replay import replay
from rmaudit.report.results_reader import read
from rmaudit.runs.audit_importer import audits_in
from rmaudit.verdicts.run_verdict import Outcome
from rmaudit.verdicts.verdict_policy import Policy
from tests.audits.planted import AUDITS
from tests.plugin.conftest import HIGH, Run

SECOND = """
import rmaudit
@rmaudit.audit(claim="c", source="s", base_rate="b", prompts=["greatest"],
               bound=rmaudit.above(0.0, unit="points"))
def test_second(rng):
    return rmaudit.Estimate(1.0, 0.9, 1.1, unit="points", n=9, interval="made up")
"""
SKIPPED = "import pytest\npytest.importorskip('nothing_of_this_name')" + SECOND
ABSENT = "test_second.py was skipped with test_second: could not import 'nothing_of_this_name'*"
NEVER = "1 audit was never collected: test_second.py::test_second"
BUILD = (
    "1 audit was never collected: build/test_second.py::test_second; pytest enters no folder "
    "called build (norecursedirs)"
)
OWN = """
import rmaudit
def gate(name):
    said = {"claim": name, "source": "s", "base_rate": "b", "prompts": ["greatest"]}
    return rmaudit.audit(**said, bound=rmaudit.above(0.0, unit="points"))
"""
BY_OWN = "from tools import gate\n@gate('c')\ndef test_second(rng): pass\n"
MADE = (
    SECOND.replace("@rmaudit", "test_second = rmaudit")
    .replace('"points"))\n', '"points"))(lambda rng: 1)\n')
    .partition("def test_second")[0]
)
IGNORED = "collect_ignore = ['test_second.py']"
UNREAD = "test_second.py cannot be read as Python"
PASSING = HIGH.format(low=0.0)
OK, FAILED = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED


def put(folder: Path, name: str, text: str) -> None:
    """Write a file of the suite."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


TREBLED = """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if 'worst' not in item.nodeid] * 3
"""
MADE_FEWER = """
import pytest
@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem():
    made = yield
    if isinstance(made, list):
        return [item for item in made if 'worst' not in item.nodeid]
    return made
"""
FINISHED_FEWER = """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session):
    session.items[:] = [item for item in session.items if 'worst' not in item.nodeid]
"""
LEFT, NEVER_MADE = "1 of 2 audits were selected", "1 test of an audit was never collected, dropped*"


TEARDOWN = """
import pytest
@pytest.fixture
def leaky():
    yield
    raise OSError("not closed")
"""
LEAKY = f"{TEARDOWN}@declare(0.0)\ndef test_high(rng, leaky): return estimate(1.0)\n"
DYING = "import os\ndef test_plain(): os._exit(1)\n"
AWAY = "import sys, pathlib\nsys.path.append(str(pathlib.Path(__file__).parent / 'lib'))\n"
BESIDE = "*test_plain.py::test_plain"
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("body", "beside", "args", "gap"),
    [
        (PASSING, {"test_second.py": SKIPPED}, [], ABSENT),
        pytest.param(PASSING, {"test_second.py": SKIPPED}, ["-n1"], ABSENT, marks=SLOW),
        (PASSING, {"test_second.py": SECOND, "conftest.py": IGNORED}, [], NEVER),
        (PASSING, {"conftest.py": TREBLED}, [], LEFT),
        (PASSING, {"conftest.py": FINISHED_FEWER}, [], LEFT),
        (PASSING, {"conftest.py": MADE_FEWER}, [], NEVER_MADE),
        (PASSING, {}, ["--deselect", "test_toy.py::test_high[toy-worst]"], "tests were left out*"),
        (SECOND * 2, {}, [], "1 audit was never collected: test_toy.py::test_second"),
        (
            BY_OWN.replace("second", "first").replace("pass", "return estimate(1.0)"),
            {
                "lib/tools.py": OWN,
                "lib/pyvenv.cfg": "",
                "conftest.py": f"{AWAY}{IGNORED}\n",
                "test_second.py": f"import helper\n{BY_OWN}",
            },
            [],
            NEVER,
        ),
        (LEAKY, {}, [], "*test_toy.py::test_high[toy-greatest] failed in teardown"),
        (
            PASSING,
            {"test_plain.py": "def test_plain(nothing): pass\n"},
            [],
            f"{BESIDE} failed, and is no audit",
        ),
        pytest.param(
            PASSING, {"test_plain.py": DYING}, ["-n1"], f"{BESIDE} *worker died", marks=SLOW
        ),
        (
            PASSING,
            {"test_broken.py": "import nothing_of_this_name"},
            ["--continue-on-collection-errors"],
            "errors in collecting *test_broken.py",
        ),
    ],
    ids=[
        *("skipped", "skipped-xdist", "ignored", "trebled", "finished", "made", "deselected"),
        *("replaced", "decorator-elsewhere", "teardown", "beside", "beside-dies", "broken"),
    ],
)
def test_whatever_no_finding_can_tell_is_a_gap(  # noqa: PLR0917  (a table's columns)
    run: Run, tmp_path: Path, body: str, beside: dict[str, str], args: list[str], gap: str
) -> None:
    """The terminal, results.json and a replay name it, and the gate is red though all passes."""
    for name, text in beside.items():
        put(tmp_path, name, text)

    ended = run(body, *args, "--rm-gate")

    assert ended.ret == FAILED
    ended.says("INCOMPLETE  1 gate: 1 pass*", f"not a whole run: {gap}")
    results = read(ended.report / "results.json")
    assert all(part in results.verdict.why for part in gap.split("*"))
    again = replay(results, Policy(), datetime.now(UTC).date())
    assert results.verdict.outcome is again.verdict.outcome is Outcome.INCOMPLETE


@pytest.mark.parametrize(
    ("file", "text", "gap"),
    [
        ("test_second.py", "def (  # audit", UNREAD),
        ("build/test_second.py", SECOND, BUILD),
        ("test_second.py", BY_OWN, NEVER),
        ("test_second.py", MADE, NEVER),
    ],
    ids=["unread", "norecursedirs", "decorator", "assigned"],
)
def test_what_was_never_collected_is_named(tmp_path: Path, file: str, text: str, gap: str) -> None:
    """Declared by `rmaudit.audit`, by a team's own decorator around it, or in an assignment."""
    put(tmp_path, file, text)
    put(tmp_path, "tools.py", OWN)

    assert untold(tmp_path) == [gap]


def untold(folder: Path, *args: str) -> list[str]:
    """What a run there says that collected nothing of these folders, or of its own."""
    config = SimpleNamespace(
        invocation_params=SimpleNamespace(dir=folder),
        args=args or (str(folder),),
        getoption=lambda *_: None,
        getini=lambda _: ["build"],
    )
    return uncollected(config, [], {})  # type: ignore[arg-type]


def test_a_linked_folder_is_looked_into(tmp_path: Path) -> None:
    """As pytest enters it; a link to the folder above ends nowhere, and is no error."""
    put(tmp_path, "away/test_second.py", SECOND)
    put(tmp_path, "suite/conftest.py", "")
    (tmp_path / "suite" / "linked").symlink_to(tmp_path / "away")
    (tmp_path / "away" / "up").symlink_to(tmp_path / "away")

    assert untold(tmp_path, "suite") == [NEVER.replace("test_s", "away/test_s", 1)]


def test_a_run_that_a_conftest_never_begins_is_red(run: Run) -> None:
    """Also without --rm-gate: pytest itself would end with 0."""
    hook = "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtestloop(): return True\n"
    ended = run(PASSING, conftest=hook)

    assert ended.ret == FAILED
    assert {found["verdict"] for found in ended.findings} == {"ERROR"}


HELPERS = """
import functools
import rmaudit

def made(low):
    @rmaudit.audit(claim="c", source="s", base_rate="b", prompts=["greatest"],
                   bound=rmaudit.above(low, unit="points"))
    def measure(rng):
        return rmaudit.Estimate(1.0, 0.9, 1.1, unit="points", n=9, interval="made up")
    return measure

test_made = made(0.0)

@rmaudit.audit(claim="c", source="s", base_rate="b", prompts=["greatest"],
               bound=rmaudit.above(0.0, unit="points"))
@functools.lru_cache
def test_shared(rng):
    return rmaudit.Estimate(1.0, 0.9, 1.1, unit="points", n=9, interval="made up")
"""
OTHERS = """
def audit(event, **more):
    return lambda function: function

@audit("login")
def sign_in(): ...

@audit(event="logout")
def sign_out(): ...
"""


def test_helpers_and_namesakes_are_no_gap(run: Run, tmp_path: Path) -> None:
    """Audits that a test file imports, factories, other decorators, environments, single tests."""
    put(tmp_path, "helpers.py", HELPERS)
    put(tmp_path, "namesakes.py", OTHERS)
    put(tmp_path, ".hidden/test_copy.py", SECOND)
    put(tmp_path, "env/pyvenv.cfg", "")
    put(tmp_path, "env/test_copy.py", SECOND)
    put(tmp_path, "test_plain_skip.py", "import pytest\npytest.importorskip('nothing_at_all')")

    ended = run("from helpers import test_made, test_shared\n", "--rm-gate")

    counts = {"accepted": 0, "accepted_open": 0}
    assert ended.results["verdict"] == {"outcome": "PASSES", "why": "", **counts}
    assert ended.ret == OK


def test_named_tests_are_no_other_gap(run: Run, tmp_path: Path) -> None:
    """A test that is named by itself is a choice: what it leaves out is said as before."""
    put(tmp_path, "test_second.py", SECOND)
    ended = run(PASSING, "test_toy.py::test_high", "--rm-gate")

    assert ended.results["run"]["faults"] == []
    assert ended.ret == FAILED  # INCOMPLETE


def test_the_bundled_audits_are_those_that_their_files_declare() -> None:
    """Also where a file declares several; importing the files is the oracle."""
    imported = audits_in(AUDITS)

    found = bundled_audits()

    assert found.keys() == imported.keys()
    for name, (function, _) in imported.items():
        assert found[name] == Path(function.__code__.co_filename)


# The gate

WHY = "the exit code is 0, and this run does not pass: --rm-gate makes it the verdict"
UNMEASURED = "import pytest\n@declare(0.0)\ndef test_other(rng): pytest.skip('no data')\n"


@pytest.mark.parametrize(
    ("body", "args", "outcome"),
    [
        (PASSING + UNMEASURED, [], "NOT ESTABLISHED"),
        (PASSING, ["-k", "worst", "-q"], "INCOMPLETE"),
        (PASSING, ["test_toy.py"], "INCOMPLETE"),
    ],
)
def test_the_gate_is_the_verdict(run: Run, body: str, args: list[str], outcome: str) -> None:
    """Without it pytest is green, says so and names it; with it only a run that PASSES is."""
    plain = run(body, *args)
    gated = run(None, *args, "--rm-gate")

    assert (plain.ret, gated.ret) == (OK, FAILED)
    plain.says(f"*{outcome}*", WHY)
    assert WHY not in gated.said.stdout.str()
    assert gated.results["verdict"]["outcome"] == outcome


@pytest.mark.slow
def test_a_run_that_passes_is_green(run: Run) -> None:
    """With workers, too, and nothing is said of exit codes."""
    ended = run(PASSING, "--rm-gate", "-n1")

    assert ended.ret == OK
    assert "exit code" not in ended.said.stdout.str()


@pytest.mark.parametrize(
    ("body", "args", "code"),
    [
        (HIGH.format(low=2.0), [], FAILED),
        ("def test_plain(): pass\n", [], pytest.ExitCode.NO_TESTS_COLLECTED),
        (UNMEASURED, [], pytest.ExitCode.NO_TESTS_COLLECTED),
        (PASSING, ["--setup-only"], pytest.ExitCode.NO_TESTS_COLLECTED),
        ("import nothing_of_this_name\n", [], pytest.ExitCode.INTERRUPTED),
    ],
)
def test_no_other_run_is_green(run: Run, body: str, args: list[str], code: int) -> None:
    """A failure, a run without audits, and pytest's own codes as they are."""
    ended = run(body, *args, "--rm-gate")

    assert ended.ret == code
    if code == pytest.ExitCode.NO_TESTS_COLLECTED and body != UNMEASURED:
        ended.says("rmaudit: --rm-gate: no audit was run, so nothing passes")


@pytest.mark.slow
def test_the_last_failures_are_not_the_gate(run: Run, tmp_path: Path) -> None:
    """With --lf a part of the audits is run, which may pass; the run does not."""
    body = PASSING + (
        "import os\n@declare(0.0)\ndef test_once(rng):\n"
        "    return estimate(1.0 if os.path.exists('mended') else -1.0)\n"
    )
    options = ("-p", "cacheprovider", "--rm-gate")
    assert run(body, *options).ret == FAILED
    put(tmp_path, "mended", "")

    ended = run(None, *options, "--lf")

    assert ended.ret == FAILED
    assert "--lf" in ended.results["verdict"]["why"]
    assert run(None, *options).ret == OK


def test_a_file_of_the_schema_before_is_read(run: Run, tmp_path: Path) -> None:
    """There the verdict did not say how many of the accepted gates are open."""
    path, ended = tmp_path / "old.json", run(PASSING)
    old = ended.results | {"schema": "rmaudit.results/14"}
    del old["verdict"]["accepted_open"]
    old["verdict"]["why"] = "models.yaml switched off 1 gate that fails: high"
    path.write_text(json.dumps(old), encoding="utf-8")

    assert read(path) == read(ended.report / "results.json")
