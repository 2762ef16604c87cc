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

from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import load_registry
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
"""
REGISTRY = """models:
  Toy:
    source: embedded
    default: true
    known: {known: a reason, outdated: another, broken: errors are never expected}
    waivers:
      waived: {owner: ada, reason: "small ]]> <b>", expires: 2999-12-31, accepted: 1.0}
"""
ONE = "return measured(1.0)"
# By the audit's name: its verdict, JUnit's tag, whether it blocks; its declaration and its body.
OUTCOMES = {
    "passing": ("PASS", "", False, "@once(0.0)", ONE),
    "failing": ("FAIL", "failure", True, "@once(2.0)", ONE),
    "straddling": ("INCONCLUSIVE", "failure", True, "@once(1.0)", ONE),
    "waived": ("FAIL", "skipped", False, "@once(2.0)", ONE),
    "known": ("FAIL", "skipped", False, "@once(2.0)", ONE),
    "outdated": ("PASS", "failure", True, "@once(0.0)", ONE),
    "shown": ("FAIL", "", False, "@once(2.0, severity='info')", ONE),
    "unmeasured": ("ERROR", "error", True, "@once(0.0)", "raise MeasureError(HOSTILE)"),
    "broken": ("ERROR", "error", True, "@once(0.0)", "raise KeyError(HOSTILE)"),
    "returning": ("ERROR", "error", True, "@once(0.0)", "return 1.0"),
    "unit": ("ERROR", "error", True, "@declare(0.0, prompts=['best'])", ONE),
    "gap": ("ERROR", "error", True, "@once(0.0, severity='info')", "raise ValueError('no')"),
    "skipped": ("SKIPPED", "skipped", False, "@once(0.0)", "pytest.skip(HOSTILE)"),
    "marked": ("SKIPPED", "skipped", False, "@pytest.mark.skip('not today')\n@once(0.0)", "..."),
}
EVERY += "".join(
    f"{declared}\ndef test_{name}(sweep): {body}\n"
    for name, (*_, declared, body) in OUTCOMES.items()
)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job's page on which an earlier step has written."""
    path = tmp_path / "page.md"
    path.write_text("# Earlier", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


@pytest.fixture
def ended(run: Run, toy: Path, page: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """A run with every outcome, of the bundled model, for which the toy stands in."""
    monkeypatch.setattr("rmaudit.checkpoints.bundled_model.build", lambda cache: toy)
    options = ("--junit-xml=junit.xml", "-rA")
    return run(EVERY, *options, model=None, registry=REGISTRY, pages=True)


@pytest.mark.slow
def test_every_outcome(ended: Ran, page: Path) -> None:
    """Failure and error are told apart; nothing breaks the XML, the log, the page, the files."""
    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    found = {f["audit"]: (f["verdict"], f["blocks"]) for f in ended.findings}
    assert found == {name: (each[0], each[2]) for name, each in OUTCOMES.items()}

    # The terminal: ours, and the lines of pytest that print our texts
    ended.says(
        "*= rmaudit: Toy =*",
        "FAILS  12 gates: 1 pass, 3 fail (2 accepted), 1 open, 1 pass that should fail, 6 not run",
        "✗ failing  fail (blocks): 1.00 [0.90, 1.10], must be above 2.00",
        "    Failing: It is.",
        "    repeat: pytest 'test_toy.py::test_failing[Toy-best]' --rm-model=Toy*",
        "✗ outdated *",
        "    passes, though models.yaml expects it to fail*",
        "~ waived *",
        "    accepted by ada until 2999-12-31, at worst 1 ]]>*",
        "    small ]]> <b>",
        "    accepted: a reason",
        "✓ passing  pass: *",
        "– returning (blocks): not run: *must return an Estimate, got*",
        "– unit (blocks): not run: *'points'*",
        "– gap (blocks): not run: no",
        "– marked: not run: not today",
        "1 informational: 1 fail (shown)",
        "accept a failure for a time: `waivers` in models.yaml; rmaudit models --keys",
        "report: reports/*/index.html",
    )
    printed = ended.said.stdout.str()
    of_ours = printed[printed.index("= rmaudit: Toy =") :]
    assert "\x1b" not in of_ours
    assert re.search(r"(?m)^\s*::|^ ?1 passed|##\[", of_ours) is None
    assert not re.search(r"(?m)^\s*::error::", printed)

    _junit(ended)
    summary = (ended.report / "summary.md").read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8") == f"# Earlier\n{summary}"
    read = results_reader.read(ended.report / "results.json")
    for name, render in writers.own().items():
        assert (ended.report / name).read_text(encoding="utf-8") == render(read)


def _junit(ended: Ran) -> None:
    suite = ET.parse(ended.folder / "junit.xml").getroot().find("testsuite")  # noqa: S314
    assert suite is not None
    cases = {str(case.get("name")).partition("[")[0][5:]: case for case in suite.iter("testcase")}
    tags = ("failure", "error", "skipped")
    found = {
        name: [tag for tag in tags if case.find(tag) is not None] for name, case in cases.items()
    }
    assert found == {name: [tag] if tag else [] for name, (_, tag, *_) in OUTCOMES.items()}
    said = {
        name: str(part.get("message"))
        for name, case in cases.items()
        for part in case
        if part.tag != "properties"
    }
    assert said["failing"].startswith("failing[Toy-best]: outside its bound (blocks)")
    assert said["straddling"].startswith("straddling[Toy-best]: open (blocks): harm is neither")
    assert "red\\x00]]>\\ud800<b>" in said["unmeasured"]
    assert said["waived"].startswith("accepted by ada until 2999-12-31, at worst 1 ]]>")
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


SWEEPING = "@declare(0.0)\ndef test_high(sweep): return estimate(1.0)\n"


@pytest.mark.slow
def test_a_green_run(run: Run, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 0; the model that nobody named, the ends of its first sweep, the page of CI."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))  # which cannot be written
    registry = f"models:\n  Mine: {{source: {toy}, default: true}}\n"

    ended = run(SWEEPING, "--rm-gate", model=None, registry=registry, pages=True)

    assert ended.ret == pytest.ExitCode.OK
    ended.said.assert_outcomes(passed=2)
    ended.says(
        "rmaudit: Mine (the default of *models.yaml: no model was named)*; cache *",
        "rmaudit: Mine · greatest, highest: *, * +*",
        "rmaudit: Mine · greatest, lowest: *",
        "PASSES  1 gate: 1 pass",
        "✓ high  pass: greatest 1.00, worst 1.00, must be above 0",
        "report: reports/*/index.html",
        "warning: the summary was not appended to $GITHUB_STEP_SUMMARY: Is a directory",
    )
    assert {len(finding["weights"]) for finding in ended.findings} == {64}
    said = ended.said.stdout.str()
    assert (said.count(", highest: "), said.count("warning")) == (1, 1)
    assert "exit code" not in said


def test_a_quiet_run_ends_in_a_line(run: Run) -> None:
    """Verdict, gates and report, and nothing else of ours."""
    ended = run(SWEEPING, "-q", "--rm-gate", pages=True)

    assert ended.ret == pytest.ExitCode.OK
    (line,) = (line for line in ended.said.outlines if "rmaudit" in line)
    assert re.fullmatch("rmaudit: PASSES: 1 gate: 1 pass; reports/.*/index.html", line)


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


@pytest.mark.parametrize("style", ["long", "native", "line"])
def test_an_exception_is_no_command(run: Run, style: str) -> None:
    """A CI system obeys lines, a terminal escapes; pytest's own traceback says neither as it is."""
    said = run(RAISES, f"--tb={style}").said.stdout

    shown = [line for line in said.lines if not line.lstrip("> ").startswith("TEXT =")]
    obeyed = [n for n in shown if n.lstrip().startswith("::") or "##[error]" in n or "\x1b" in n]
    assert obeyed == []
    assert [line for line in shown if "\\x23#[error]no" in line] or style == "line"
    assert [line for line in shown if "OSError" in line]


@pytest.mark.parametrize("ci", ["", "true"])
def test_several_models_are_told_in_a_line_each(
    run: Run, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    """Pytest counts their failures, and prints no block of each; -ra lists them. Also on CI."""
    monkeypatch.setenv("CI", ci)
    shutil.copytree(toy, tmp_path / "copy")
    ended = run(HIGH.format(low=2.0), "--rm-model", "copy")

    ended.said.assert_outcomes(failed=4)
    ended.says("*= rmaudit: toy, copy =*", "✗ toy  FAILS: 1 gate: 1 fail; blocks: high")
    ended.says("✗ copy  FAILS: 1 gate: 1 fail; blocks: high", "*4 failed*")
    printed = ended.said.stdout.str()
    assert not [told for told in ("FAILED", "FAILURES", "  claim  ") if told in printed]
    listed = run(None, "--rm-model", "copy", "-ra")
    listed.says("*FAILED test_toy.py::test_high[copy-worst] - *", "*= rmaudit: toy, copy =*")


def test_a_failure_is_told_once_after_all_were_judged(run: Run) -> None:
    """Holm: what fails alone but could be chance among twenty is INCONCLUSIVE, and still red.

    With the command that repeats it; JUnit, written before, says what stays true.
    """
    one = "@declare({}, prompts=['best'])\ndef test_{}(rng): return estimate(1.0, 0.08)\n"
    body = "".join(one.format(0, i) for i in range(19)) + one.format(1.1, "low")
    ended = run(body, "--junitxml=junit.xml")

    ended.said.assert_outcomes(passed=19, failed=1)
    ended.says("○ low  open (blocks): 1.00 *", "    the interval lies beyond the bound (p*")
    ended.says("    repeat: pytest *test_low[toy-best]*")
    assert ended.said.stdout.str().count("test_low[toy-best]") == 1
    assert "outside its bound (blocks)" in (ended.folder / "junit.xml").read_text()
    alone = run(None, "-k", "low")
    alone.says(
        "corrected for 1 test (Holm); a whole run has more, by which what fails here may be*"
    )


def test_what_to_do_about_a_failure_fits_the_screen(run: Run) -> None:
    """The lines that name `rmaudit why` and waivers are wrapped as the summary above them is."""
    audit = "@declare({}, family='people')\ndef test_identity_terms(rng): return estimate(1.0)\n"
    ended = run(audit.format(2.0))

    told = [line for line in ended.said.outlines if line.startswith(("its cause: ", "accept a "))]
    assert len(told) == 2
    assert "changes the head" not in told[0]  # in the next line
    assert max(map(len, ended.said.outlines)) <= 160


BROKEN = """
@declare(0.0)
def test_one(sweep): return estimate(1.0)

@declare(0.0)
def test_two(sweep): return estimate(1.0)
"""


def test_a_broken_checkpoint_is_told_once(run: Run, tmp_path: Path) -> None:
    """Two audits are an ERROR under two prompts: all findings say why, the terminal once."""
    folder = toy_checkpoint(tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"cut off")

    ended = run(BROKEN, model=str(folder))

    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    ended.said.assert_outcomes(errors=4)
    (fault,) = {finding["why"] for finding in ended.findings}
    told = "\n".join(ended.said.outlines)
    assert " ".join(told.split()).count(fault.removeprefix("broken: ")) == 1
    assert not [said for said in ("same fault", ".py:", "ERRORS") if said in told]  # no traceback
    ended.says("– one, two (blocks): not run: *")


def test_an_adapter_without_its_base_is_refused_at_once(
    run: Run, tmp_path: Path, toy: Path
) -> None:
    """As is a folder that is missing; beside another model, its audits are errors told once."""
    folder = tmp_path / "adapter"
    folder.mkdir()
    config = {"peft_type": "LORA", "base_model_name_or_path": "/nowhere/base"}
    (folder / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")

    run(BROKEN, model=str(folder)).refuses(
        "adapter: its base is not here: there is no folder '/nowhere/base'", "correct it"
    )
    both = run(BROKEN, f"--model={toy}", model=str(folder))
    both.said.assert_outcomes(passed=4, errors=4)


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


def test_what_repeats_a_run_names_its_model(toy: Path, tmp_path: Path) -> None:
    """By its entry, else by its source: a folder of an entry's name is not the entry."""
    (tmp_path / "models.yaml").write_text(
        f"models:\n  rm: {{source: {toy}, default: true}}\n  hub: {{source: o/m}}\n",
        encoding="utf-8",
    )
    registry = load_registry(tmp_path / "models.yaml")
    (tmp_path / "rm").mkdir()
    (tmp_path / "rm" / "config.json").touch()
    for name in ("rm", "hub", "rm#safety", "hub#0", str(tmp_path / "rm"), f"{tmp_path}/rm#0"):
        (spec,) = resolve(registry, name)
        assert registry.option_value(spec) == name
