"""Each word that 0.2 removed is answered by one line that says what to use instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rmaudit import removed
from rmaudit.cli import app
from rmaudit.config.model_registry import known_models
from rmaudit.errors import SpecError
from rmaudit.verdicts.verdict_policy import NamedAudit, Policy, refuse_unknown
from tests.plugin.conftest import run_in

ROOT = Path(__file__).parents[1]
READ = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/how-to").glob("*.md")]


@pytest.mark.parametrize("name", removed.COMMANDS)
def test_a_command(name: str) -> None:
    """With the exit code of a wrong usage."""
    result = CliRunner().invoke(app, [name, "x", "--y"])

    assert result.exit_code == 4
    assert f"{name} was removed in 0.2: {removed.COMMANDS[name]}" in " ".join(result.stderr.split())


@pytest.mark.parametrize("name", removed.OPTIONS)
def test_an_option(name: str, tmp_path: Path) -> None:
    """With a value, and without one."""
    for given in ([f"{name}=x"], [name]):
        ran = run_in(tmp_path, given)
        assert ran.ret == pytest.ExitCode.USAGE_ERROR
        assert f"{name} was removed in 0.2: {removed.OPTIONS[name]}" in ran.stderr.str()


@pytest.mark.parametrize("name", removed.KEYS)
def test_a_key_of_a_model(name: str, tmp_path: Path) -> None:
    """With file and line."""
    file = tmp_path / "models.yaml"
    file.write_text(f"models:\n  m:\n    source: ./m\n    {name}: 1\n")

    with pytest.raises(SpecError) as caught:
        known_models(file)

    assert str(caught.value) == (f"{file}:4: m: {name} was removed in 0.2: {removed.KEYS[name]}")


@pytest.mark.parametrize("name", removed.AUDITS)
def test_an_audit_that_a_policy_names(name: str) -> None:
    """With file and line."""
    policy = Policy(named=(NamedAudit(name, "bounds: ", 3),))

    with pytest.raises(SpecError, match=f"^f:3: bounds: {name} was removed in 0.2: "):
        refuse_unknown(policy, "f", {"skew": ["best"]})


def test_no_page_speaks_of_what_was_removed() -> None:
    """Neither README nor any page but the CHANGELOG and the design notes."""
    words = [rf"(?<!from )rmaudit {name}\b" for name in removed.COMMANDS]
    words += [rf"{name}\b" for name in (*removed.OPTIONS, *removed.AUDITS)]
    words += [rf"`{name}:" for name in removed.KEYS]
    pattern = re.compile("|".join(words))

    found = {path.name: pattern.findall(path.read_text(encoding="utf-8")) for path in READ}

    assert {name: each for name, each in found.items() if each} == {}
