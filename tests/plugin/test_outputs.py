"""What a run leaves for CI: JUnit's XML by pytest, a job's page, the files beside results.json."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rmaudit.report import document as results_json
from rmaudit.report.writers import outputs
from tests.plugin.conftest import Run

ONE = """
from rmaudit.errors import MeasureError
import pytest

HOSTILE = "\\x1b[31mred\\x00]]>\\ud800<b>\\n::error::forged\\n 1 passed ##[error]x"

def once(low, **more):
    return audit(claim="It is.", source="here", prompts=["best"], bound=above(low, unit="]]>\\x1b"),
        base_rate="none", **more)

def measured(value):
    return Estimate(value, value - 0.1, value + 0.1, unit="]]>\\x1b", n=9, interval="made up",
        caveats=["x" * 1000] * 100)

@once(0.0)
def test_passing(rng): return measured(1.0)

@once(2.0)
def test_failing(rng): return measured(1.0)

@once(1.0)
def test_straddling(rng): return measured(1.0)

@once(2.0)
def test_waived(rng): return measured(1.0)

@once(0.0)
def test_unmeasured(rng): raise MeasureError(HOSTILE)

@once(0.0)
def test_broken(rng): raise KeyError(HOSTILE)

@once(0.0)
def test_skipped(rng): pytest.skip(HOSTILE)
"""

REGISTRY = """models:
  Toy:
    source: {toy}
    default: true
    waivers:
      waived: {{owner: ada, reason: "small ]]> <b>", expires: 2999-12-31, accepted: 1.0}}
"""

OUTCOMES = {
    "passing": None,
    "failing": "failure",
    "straddling": "failure",
    "waived": "skipped",
    "unmeasured": "error",
    "broken": "error",
    "skipped": "skipped",
}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job's page on which an earlier step has written."""
    path = tmp_path / "page.md"
    path.write_text("# Earlier", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


@pytest.fixture
def ended(run: Run, pytester: pytest.Pytester, toy: Path, page: Path) -> pytest.RunResult:
    """A run with every outcome."""
    pytester.path.joinpath("models.yaml").write_text(REGISTRY.format(toy=toy), encoding="utf-8")
    return run(ONE, "--junit-xml=junit.xml", "-rA", model=None)


def test_what_a_run_leaves(ended: pytest.RunResult, pytester: pytest.Pytester, page: Path) -> None:
    """Failure and error are told apart, nothing breaks the XML, the log or the page."""
    ended.assert_outcomes(passed=1, failed=2, errors=2, skipped=1, xfailed=1)
    raw = (pytester.path / "junit.xml").read_bytes()
    suite = ET.fromstring(raw).find("testsuite")  # noqa: S314
    assert suite is not None
    cases = {str(case.get("name")).partition("[")[0][5:]: case for case in suite.iter("testcase")}
    properties = {name: case.find("properties") for name, case in cases.items()}

    # JUnit
    tags = ("failure", "error", "skipped")
    found = {
        name: [tag for tag in tags if case.find(tag) is not None] for name, case in cases.items()
    }
    assert found == {name: [tag] if tag else [] for name, tag in OUTCOMES.items()}
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "7", "failures": "2", "errors": "2", "skipped": "2"}
    assert _message(cases["failing"]).startswith("failing[Toy-best]: FAIL")
    assert _message(cases["straddling"]).startswith("straddling[Toy-best]: INCONCLUSIVE")
    assert "red\\x00]]>\\ud800<b>" in _message(cases["unmeasured"])
    assert "(ada): small ]]> <b>" in _message(cases["waived"])
    assert {n: p.get("value") for p in properties["failing"] or [] if (n := p.get("name"))} == {
        "rmaudit.value": "1.0",
        "rmaudit.low": "0.9",
        "rmaudit.high": "1.1",
        "rmaudit.n": "9",
        "rmaudit.unit": "]]>\\x1b",
        "rmaudit.bound": "above 2 ]]>\\x1b",
    }
    assert properties["unmeasured"] is None
    assert len(raw) < 60_000  # the evidence alone is 100 kB each
    assert b"xxxxxxxxxx" not in raw

    # The log: our lines, and those of pytest that print our texts
    printed = ended.stdout.str()
    of_ours = printed[printed.index("= rmaudit =") :]
    assert "\x1b" not in of_ours
    assert re.search(r"(?m)^\s*::|^ ?1 passed|##\[", of_ours) is None
    assert not re.search(r"(?m)^\s*::error::", printed)

    # The page, and the files
    (folder,) = (path.parent for path in pytester.path.glob("reports/*/results.json"))
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8") == f"# Earlier\n{summary}"
    read = results_json.read(folder / "results.json")
    assert [f["verdict"] for f in read["findings"]].count("ERROR") == 2
    for name, render in outputs.RENDERERS.items():
        assert (folder / name).read_text(encoding="utf-8") == render(read)


def _message(case: ET.Element) -> str:
    (result,) = (part for part in case if part.tag != "properties")
    return str(result.get("message"))


def test_the_xml_is_that_of_one_process_under_xdist(
    run: Run, pytester: pytest.Pytester, toy: Path, page: Path
) -> None:
    """Findings and numbers cross processes; the page is written once."""
    pytester.path.joinpath("models.yaml").write_text(REGISTRY.format(toy=toy), encoding="utf-8")
    result = run(ONE, "--junit-xml=junit.xml", "-n1", model=None)

    result.assert_outcomes(passed=1, failed=2, errors=2, skipped=1, xfailed=1)
    suite = ET.parse(pytester.path / "junit.xml").getroot().find("testsuite")  # noqa: S314
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == ("2", "2")
    assert len(suite.findall(".//property[@name='rmaudit.value']")) == 4
    assert page.read_text(encoding="utf-8").count("## rmaudit") == 1


def test_a_page_that_cannot_be_written_is_a_warning(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The verdict is the run's, whatever the CI system has done to its files."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    result = run("@declare(0.0)\ndef test_high(rng): return estimate(1.0)")

    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["warning: the summary was not appended to $GITHUB_STEP_SUMMARY: Is a directory"]
    )


def test_without_a_page_nothing_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside CI there is only the file beside results.json."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    result = run("@declare(0.0)\ndef test_high(rng): return estimate(1.0)")

    result.stdout.no_fnmatch_line("*warning*")
