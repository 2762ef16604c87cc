"""The options: what each does, what is said of a wrong one, and the command that repeats a run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from rmaudit.errors import SpecError
from rmaudit.runs.run_options import RunOptions
from tests.plugin.conftest import HIGH, Run
from tests.toys import toy_checkpoint

PASSING = HIGH.format(low=0.0)
TWO = "models:\n  A: {source: o/A, default: true}\n  B: {source: o/B}\n"


@pytest.mark.parametrize(
    ("option", "given", "names"),
    [
        ("--rm-seed", "-1", ["from 0"]),
        ("--rm-pairs", "bad.jsonl", ["bad.jsonl:2"]),
        ("--rm-model", "R-Smol-135", ["did you mean 'R-Smol-135M'?"]),
        ("--rm-models", "bad.yaml", ["bad.yaml:3", "A:", "unknown key 'sorce'", "'source'"]),
        ("--rm-baseline", "nobody", ["--rm-baseline", "unknown model 'nobody'"]),
        ("--rm-baseline", "S-Gem*", ["--rm-baseline", "means 2 models", "name one"]),
        ("--rm-model", "stopped", ["stopped/checkpoint-3"]),
        *((option, "--", ["'./--'"]) for option in ("--rm-cache", "--rm-model")),  # argparse: []
    ],
)
def test_a_wrong_value(option: str, given: str, names: list[str], run: Run, tmp_path: Path) -> None:
    """One line before anything is collected that says what is allowed, and exit code 4."""
    (tmp_path / "bad.jsonl").write_text("\n[]\n", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("models:\n  A:\n    sorce: embedded\n", encoding="utf-8")
    for step in (2, 3):
        (tmp_path / "stopped" / f"checkpoint-{step}").mkdir(parents=True)
        (tmp_path / "stopped" / f"checkpoint-{step}" / "config.json").write_text("{}")

    ended = run("raise RuntimeError", f"{option}={given}", model=None)

    own = [option] if option not in {"--rm-models", "--rm-model"} else []
    ended.refuses(*names, *own)


@pytest.mark.parametrize("url", ["memory://me:s3cret@b/x", "memory://b/x?sign=s3cret"])
@pytest.mark.parametrize("name", ["cache", "policy", "on"])
def test_a_url_with_a_password_is_refused_unquoted(name: str, url: str) -> None:
    """It would stand in the header, in every file of the report and in the command."""
    with pytest.raises(SpecError, match=r"would stand in reports.*environment var") as caught:
        RunOptions.of({name: url})
    assert "s3cret" not in str(caught.value)


def test_models_yaml_of_the_folder_is_read_once_there_is_an_audit(run: Run, tmp_path: Path) -> None:
    """With a mistake in it the run ends; a suite without audits is not disturbed."""
    run(PASSING, model=None, registry="models: 3\n").refuses("models.yaml:1")
    (tmp_path / "test_toy.py").write_text("def test_theirs(): pass", encoding="utf-8")
    run(None, model=None).said.assert_outcomes(passed=1)


def test_a_folder_of_audits_that_is_not_there(run: Run) -> None:
    """It says so, and how to get one."""
    for where in ("audits", "audits/test_toy.py"):
        run(None, where, model=None).refuses("there is no folder `audits` in", "`rmaudit init`")


def test_a_misspelt_folder_of_audits_is_named(run: Run, tmp_path: Path) -> None:
    """Refuse a file in it too; of other folders pytest says what it says of any."""
    (tmp_path / "audits").mkdir()
    (tmp_path / "audits" / "test_toy.py").touch()
    for where in ("audit", "Audits/test_toy.py::test_high", "audit/"):
        run(None, where, model=None).refuses("there is no folder `", "did you mean 'audits'?")
    missing = run(None, "audits/test_tuy.py", model=None)
    missing.refuses("no file `audits/test_tuy.py`", "did you mean 'test_toy.py'?")
    for where in ("tests", "audits/other.py"):
        other = run(None, where, model=None).said.stderr.str()
        assert "did you mean" not in other
        assert f"not found: {where}" in other


def test_a_misspelt_option_is_named(run: Run) -> None:
    """Below what pytest says; of an option of others nothing is said."""
    said = run(PASSING, "--modle=x", model=None).said.stderr.str()
    assert "rmaudit: did you mean '--model'?" in said
    assert "did you mean" not in run(PASSING, "--cov-everything", model=None).said.stderr.str()


def test_a_gate_is_of_a_model_that_was_named_and_of_audits_that_run(
    run: Run, tmp_path: Path
) -> None:
    """Else the verdict would be of the bundled model, and --collect-only would be green."""
    run(PASSING, "--rm-gate", model=None).refuses("--rm-gate: no model was named", str(tmp_path))
    both = run(PASSING, "--rm-gate", "--collect-only")
    both.refuses("--rm-gate", "--collect-only", "leave out one")


# Which models


def test_a_registry_of_one_model_needs_no_default(run: Run) -> None:
    """That model is audited; of several somebody has to name one."""
    said = run(PASSING, "--collect-only", model=None, registry=TWO.replace(", default: true", ""))
    said.refuses("models.yaml: no model was named, and none of its 2 has `default: true`", "A, B")
    one = "models:\n  A: {source: o/A}\n"
    run(PASSING, "--collect-only", "-q", model=None, registry=one).says("test_toy.py::*A-*")


def test_models_are_named_or_globbed(run: Run) -> None:
    """`--rm-model` and `--model` may be repeated; a glob names several of the registry."""
    ended = run(
        *(PASSING, "--model", "S-Gem-27B*", "--collect-only", "-q", "-k", "worst"), model="R-Lla-3B"
    )

    names = [line.partition("[")[2] for line in ended.said.outlines if "::" in line]
    assert names == [f"{name}-worst]" for name in ("R-Lla-3B", "S-Gem-27B-v0.2", "S-Gem-27B")]


def test_two_models_of_one_name(run: Run, toy: Path, tmp_path: Path) -> None:
    """Two folders of one name are refused: their findings could not be told apart."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "config.json").write_text("{}", encoding="utf-8")

    run(PASSING, "--model", "toy").refuses("'toy'", str(toy), str(tmp_path / "toy"))


OTHERS = """
def pytest_addoption(parser): parser.addoption('--model', default='theirs')
def pytest_report_header(config): return 'model is ' + config.getoption('--model')
"""


@pytest.mark.slow
def test_another_plugins_model_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays theirs: what it is given is not silently another model than the audited one."""
    ended = run(PASSING, conftest=OTHERS)
    ended.says("model is theirs", "PASSES  1 gate: 1 pass")
    run(PASSING, "--model=mine").says("model is mine", "PASSES  1 gate: 1 pass")

    for args in (("--model", "mine"), ("--model=mine",)):
        run(None, *args, model=None).refuses("another plugin", "--rm-model", "R-Smol-135M")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--model mine")
    run(None, model=None).refuses("--rm-model")
    (ended.folder / "test_toy.py").write_text("def test_theirs(): pass", encoding="utf-8")
    run(None, model=None).said.assert_outcomes(passed=1)


# The command that repeats a finding


@pytest.mark.slow
def test_repeat_is_exact(run: Run, toy: Path, tmp_path: Path) -> None:
    """It has every option that decides, names a folder as one, and gives the same finding."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "toy").mkdir()
    toy_checkpoint(tmp_path / "mine")
    (tmp_path / "mine.yaml").write_text(f"models: {{mine: {{source: {toy}, default: true}}}}\n")
    given = {
        "--rm-seed": "7",
        "--rm-models": "mine.yaml",
        "--rm-cache": str(tmp_path / "own"),
        "--rm-baseline": "mine",
        "--rm-sample": "30",
        "--rm-search": "9",
        "--rm-device": "cpu",
        "--rm-dtype": "bfloat16",
    }
    args = [part for pair in given.items() for part in pair]
    body = """
class TestThese:
    @declare(0.0)
    def test_high(self, sweep, rng):
        return estimate(float(sweep.frame["score"].mean() + rng.random() + 9))
"""
    first = run(body, *args, model="./mine", cache=tmp_path / "own").findings[0]
    command = shlex.split(first["repeat"])
    node, asked = command[1], dict(word.split("=") for word in command[2:])

    assert node == "test_toy.py::TestThese::test_high[mine-greatest]"
    assert asked == {**given, "--rm-model": str(tmp_path / "mine")}
    again = run(None, *command[1:], model=None, cache=tmp_path / "other").only
    assert again["estimate"] == first["estimate"]
    assert again["sweeps"] == first["sweeps"]
    assert again["nodeid"] == first["nodeid"] == node
