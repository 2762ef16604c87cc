"""A run from end to end: each outcome in pytest's terms, on the terminal, in JUnit's XML, in CI."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import torch
from safetensors.torch import load_file, save_file

from rmaudit.report import results_reader, writers
from tests.plugin.conftest import HIGH, Ran, Run
from tests.toys import toy_checkpoint

EVERY = """
from rmaudit.errors import MeasureError
import pytest

HOSTILE = "\\x1b[31mred\\x00]]>\\ud800<b>\\n::error::forged\\n 1 passed ##[error]x"
UNIT = "]]>\\x1b"

def once(low, **more):
    return audit(claim="It is.", source="here", prompts=["best"], bound=above(low, unit=UNIT),
                 base_rate="none", **more)

def measured(value):
    return Estimate(value, value - 0.1, value + 0.1, unit=UNIT, n=9, interval="made up")

@once(0.0)
def test_passing(rng): return measured(1.0)

@once(2.0)
def test_failing(sweep): return measured(1.0)

@once(1.0)
def test_straddling(rng): return measured(1.0)

@once(2.0)
def test_waived(rng): return measured(1.0)

@once(2.0)
def test_known(rng): return measured(1.0)

@once(0.0)
def test_outdated(rng): return measured(1.0)

@once(2.0, severity="info")
def test_shown(rng): return measured(1.0)

@once(0.0)
def test_unmeasured(rng): raise MeasureError(HOSTILE)

@once(0.0)
def test_broken(rng): raise KeyError(HOSTILE)

@once(0.0)
def test_returning(rng): return 1.0

@declare(0.0, prompts=["best"])
def test_unit(rng): return measured(1.0)

@once(0.0, severity="info")
def test_gap(rng): raise ValueError("no")

@once(0.0)
def test_skipped(rng): pytest.skip(HOSTILE)

@pytest.mark.skip(reason="not today")
@once(0.0)
def test_marked(rng): ...
"""
REGISTRY = """models:
  Toy:
    source: embedded
    default: true
    known: {known: a reason, outdated: another, broken: errors are never expected}
    waivers:
      waived: {owner: ada, reason: "small ]]> <b>", expires: 2999-12-31, accepted: 1.0}
"""
OUTCOMES = {  # the verdict, JUnit's tag, and whether it blocks
    "passing": ("PASS", "", False),
    "failing": ("FAIL", "failure", True),
    "straddling": ("INCONCLUSIVE", "failure", True),
    "waived": ("FAIL", "skipped", False),
    "known": ("FAIL", "skipped", False),
    "outdated": ("PASS", "failure", True),
    "shown": ("FAIL", "", False),
    "unmeasured": ("ERROR", "error", True),
    "broken": ("ERROR", "error", True),
    "returning": ("ERROR", "error", True),
    "unit": ("ERROR", "error", True),
    "gap": ("ERROR", "error", True),
    "skipped": ("SKIPPED", "skipped", False),
    "marked": ("SKIPPED", "skipped", False),
}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job's page on which an earlier step has written."""
    path = tmp_path / "page.md"
    path.write_text("# Earlier", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


@pytest.fixture
def ended(run: Run, toy: Path, tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """A run with every outcome, of the bundled model, for which the toy stands in."""
    monkeypatch.setattr("rmaudit.checkpoints.bundled_model.build", lambda cache: toy)
    (tmp_path / "models.yaml").write_text(REGISTRY, encoding="utf-8")
    return run(EVERY, "--junit-xml=junit.xml", "-rA", model=None, pages=True)


def test_every_outcome(ended: Ran, page: Path) -> None:
    """Failure and error are told apart; nothing breaks the XML, the log, the page, the files."""
    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    found = {f["audit"]: (f["verdict"], f["blocks"]) for f in ended.findings}
    assert found == {name: (verdict, blocks) for name, (verdict, _, blocks) in OUTCOMES.items()}

    # The terminal: ours, and the lines of pytest that print our texts
    ended.says(
        "failing[Toy-best]: fail (blocks)",
        "  claim      It is.",
        "  measured   1 ]]>*, 95 % interval 0.9 to 1.1, n = 9",
        "  bound      above 2 ]]>*",
        "  repeat     pytest 'test_toy.py::test_failing[Toy-best]' --rm-model=Toy*",
    )
    ended.says(
        "*= rmaudit: Toy =*",
        "FAILS  12 gates: 1 pass, 1 fail, 1 unsure, 1 pass that should fail, 2 accepted, 6 not run",
        "✗ failing  1.00 [0.90, 1.10], must be above 2.00",
        "✗ outdated *",
        "    passes, though models.yaml expects it to fail*",
        "~ waived *",
        "    accepted by ada until 2999-12-31, up to 1 ]]>*",
        "    small ]]> <b>",
        "    accepted: a reason",
        "✓ passing",
        "✗ returning: not run: *must return an Estimate, got*",
        "✗ unit: not run: *'points'*",
        "✗ gap: not run: no",
        "– marked: not run: not today",
        "1 informational: 1 fail (shown)",
        "accept a failure for a time: `waivers` in models.yaml (docs/policy.md)",
        "report: reports/*/index.html",
    )
    printed = ended.said.stdout.str()
    of_ours = printed[printed.index("= rmaudit: Toy =") :]
    assert "\x1b" not in of_ours
    assert re.search(r"(?m)^\s*::|^ ?1 passed|##\[", of_ours) is None
    assert not re.search(r"(?m)^\s*::error::", printed)

    _junit(ended)
    (folder,) = (path.parent for path in ended.folder.glob("reports/*/results.json"))
    assert page.read_text(encoding="utf-8") == f"# Earlier\n{(folder / 'summary.md').read_text()}"
    read = results_reader.read(folder / "results.json")
    for name, render in writers.RENDERERS.items():
        assert (folder / name).read_text(encoding="utf-8") == render(read)


def _junit(ended: Ran) -> None:
    suite = ET.parse(ended.folder / "junit.xml").getroot().find("testsuite")  # noqa: S314
    assert suite is not None
    cases = {str(case.get("name")).partition("[")[0][5:]: case for case in suite.iter("testcase")}
    tags = ("failure", "error", "skipped")
    found = {
        name: [tag for tag in tags if case.find(tag) is not None] for name, case in cases.items()
    }
    assert found == {name: [tag] if tag else [] for name, (_, tag, _) in OUTCOMES.items()}
    said = {
        name: str(part.get("message"))
        for name, case in cases.items()
        for part in case
        if part.tag != "properties"
    }
    assert said["failing"].startswith("failing[Toy-best]: fail")
    assert said["straddling"].startswith("straddling[Toy-best]: unsure (blocks): the interval cro")
    assert "red\\x00]]>\\ud800<b>" in said["unmeasured"]
    assert said["waived"].startswith("accepted by ada until 2999-12-31, up to 1 ]]>")
    assert said["waived"].endswith(": small ]]> <b>")
    properties = cases["failing"].find("properties")
    assert {p.get("name"): p.get("value") for p in properties or []} == {
        "rmaudit.value": "1.0",
        "rmaudit.low": "0.9",
        "rmaudit.high": "1.1",
        "rmaudit.n": "9",
        "rmaudit.unit": "]]>\\x1b",
        "rmaudit.bound": "above 2 ]]>\\x1b",
    }
    assert cases["unmeasured"].find("properties") is None


def test_a_green_run(run: Run) -> None:
    """All pass: exit code 0, no file of JUnit, no page of CI, a warning neither."""
    ended = run(HIGH.format(low=0.0))

    assert ended.ret == pytest.ExitCode.OK
    ended.said.assert_outcomes(passed=2)
    ended.says(
        "rmaudit: toy (*/toy); cache *",
        "PASSES  1 gate: 1 pass",
        "✓ high",
        "report: reports/*/index.html",
    )
    assert "warning" not in ended.said.stdout.str()


def test_a_quiet_run_ends_in_a_line(run: Run) -> None:
    """Verdict, gates and report, and no section of ours."""
    ended = run(HIGH.format(low=0.0), "-q", pages=True)

    ended.says("rmaudit: PASSES: 1 gate: 1 pass; reports/*/index.html")
    assert "rmaudit: toy" not in ended.said.stdout.str()


RAISES = """
import pytest
TEXT = "##[error]no\\n::warning::no\\x1b[31m"
@pytest.fixture
def leaky():
    yield
    raise OSError(TEXT)
@declare(0.0)
def test_high(rng): raise RuntimeError(TEXT)
@declare(0.0)
def test_low(rng, leaky): return estimate(1.0)
"""


@pytest.mark.parametrize("style", ["long", "short", "native", "line"])
def test_an_exception_is_no_command(run: Run, style: str) -> None:
    """A CI system obeys lines, a terminal escapes; pytest's own traceback says neither as it is."""
    said = run(RAISES, f"--tb={style}").said.stdout

    shown = [line for line in said.lines if not line.lstrip("> ").startswith("TEXT =")]
    assert not [line for line in shown if line.lstrip().startswith("::")]
    assert not [line for line in shown if "##[error]" in line or "\x1b" in line]
    assert [line for line in shown if "\\x23#[error]no" in line] or style == "line"
    assert [line for line in shown if "OSError" in line]


@pytest.mark.parametrize("ci", ["", "true"])
def test_several_models_are_told_in_a_line_each(
    run: Run, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    """Pytest counts and lists their failures, and prints no block of each; on CI, too."""
    monkeypatch.setenv("CI", ci)
    shutil.copytree(toy, tmp_path / "copy")
    ended = run(HIGH.format(low=2.0), "--rm-model", "copy")

    ended.said.assert_outcomes(failed=4)
    ended.says("*FAILED test_toy.py::test_high[copy-worst] - *", "*= rmaudit: toy, copy =*")
    ended.says("✗ toy  1 gate: 1 fail; blocks: high", "✗ copy  1 gate: 1 fail; blocks: high")
    assert "  claim  " not in ended.said.stdout.str()


def test_a_page_of_ci_that_cannot_be_written_is_a_warning(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The verdict is the run's, whatever the CI system has done to its files."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    ended = run(HIGH.format(low=0.0), pages=True)

    assert ended.ret == pytest.ExitCode.OK
    ended.says("warning: the summary was not appended to $GITHUB_STEP_SUMMARY: Is a directory")


def test_failures_are_settled_together(run: Run) -> None:
    """Holm: what fails alone but could be chance among twenty is INCONCLUSIVE, and still red."""
    one = "@declare(0.0, prompts=['best'])\ndef test_{}(rng): return estimate(1.0)\n"
    body = "".join(one.format(i) for i in range(19))
    ended = run(
        body + "@declare(1.1, prompts=['best'])\ndef test_low(rng): return estimate(1.0, 0.08)"
    )

    ended.said.assert_outcomes(passed=19, failed=1)
    ended.says("? low  1.00 *", "    the interval lies outside the bound (p*")


BROKEN = """
@declare(0.0)
def test_one(sweep): return estimate(1.0)

@declare(0.0)
def test_two(sweep): return estimate(1.0)
"""


def test_a_broken_checkpoint_is_told_once(run: Run, tmp_path: Path) -> None:
    """Two audits are an ERROR under two prompts: one tells why, three name it; all findings do."""
    folder = toy_checkpoint(tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"cut off")

    ended = run(BROKEN, model=str(folder))

    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    ended.said.assert_outcomes(errors=4)
    (fault,) = {finding["why"] for finding in ended.findings}
    errors, _, summary = "\n".join(ended.said.outlines).partition("= short test summary info =")
    assert errors.count(fault) == 1
    assert "the same fault as" not in errors
    assert ".py:" not in errors  # no traceback
    assert summary.count("the same fault as one[") == 3
    ended.says("✗ one, two: not run: *")


@pytest.mark.slow
def test_a_run_from_the_cache_loads_no_torch(run: Run, tmp_path: Path, toy: Path) -> None:
    """All that needs it is remembered: vocabulary, slots, ids, and what was said of controls."""
    body = """
@declare(0.5, words=("love",), stops=["long words"])
def test_love(sweep, rewards, references, rng):
    return estimate(sweep.score_of(" love") + float(rewards(["love of joy"]).scores[0]))
"""
    cache = tmp_path / "cache"
    ran = run(body, cache=cache)
    check = (
        "import sys, pytest\n"
        f"ret = pytest.main({['-q', '--rm-model', str(toy), '--rm-cache', str(cache)]!r})\n"
        "print('loaded', sorted({'torch', 'transformers', 'tokenizers'} & set(sys.modules)), ret)\n"
    )

    said = subprocess.run(
        [sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout

    assert [finding["estimate"] is None for finding in ran.findings] == [False, False], said
    assert said.splitlines()[-1].startswith("loaded [] "), said


def test_objectives_of_one_model_are_models_of_a_run(run: Run, tmp_path: Path) -> None:
    """Each is audited by its name, and each finding says how to repeat it."""
    folder = toy_checkpoint(tmp_path / "rm")
    tensors = load_file(folder / "model.safetensors")
    rows = torch.randn(2, 32, generator=torch.Generator().manual_seed(1))
    save_file({**tensors, "score.weight": rows}, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "honesty", "1": "safety"}
    (folder / "config.json").write_text(json.dumps(config))
    audit = "@declare(0.0)\ndef test_first(sweep): return estimate(sweep.frame['score'].iloc[0])\n"

    ran = run(audit, f"--model={folder}#safety", model=f"{folder}#honesty")

    ran.says("rmaudit: rm#honesty (*rm), rm#safety (*rm); cache *")
    found = {(f["model"], f["prompt"]): f for f in ran.findings}
    assert {model for model, _ in found} == {"rm#honesty", "rm#safety"}
    for (model, prompt), finding in found.items():
        assert f"--rm-model={folder}{model.removeprefix('rm')}" in finding["repeat"]
        other = found["rm#safety" if model == "rm#honesty" else "rm#honesty", prompt]
        assert finding["estimate"]["value"] != other["estimate"]["value"]
    alone = run(audit, model=f"{folder}#safety").findings
    assert [f["sweeps"] for f in alone] == [
        found["rm#safety", f["prompt"]]["sweeps"] for f in alone
    ]
