"""Audits that cost much and decide nothing are left out, and said to be, unless they are wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.errors import SpecError
from rmaudit.verdicts.audit_declaration import audit
from rmaudit.verdicts.estimates_and_bounds import above
from tests.plugin.conftest import HIGH, Run

COSTLY = """
@declare(0.0, severity="info", costly=True, prompts=["best"])
def test_dear(rng): return estimate(1.0)
"""
NAMED = "severity: {dear: info}\nmodels: {toy: {source: TOY, default: true}}\n"


@pytest.mark.parametrize(
    ("args", "result"),
    [
        ([], "N/A"),
        (["--rm-all"], "PASS"),
        (["test_toy.py"], "PASS"),
        (["test_toy.py::test_dear"], "PASS"),
        (["--rm-models", "named.yaml"], "PASS"),
    ],
)
def test_a_costly_audit_is_measured_where_it_is_wanted(
    run: Run, toy: Path, tmp_path: Path, args: list[str], result: str
) -> None:
    """By the option, the name of its file, or models.yaml; else the run passes without it."""
    (tmp_path / "named.yaml").write_text(NAMED.replace("TOY", str(toy)), encoding="utf-8")
    named = "--rm-models" in args

    ended = run(HIGH.format(low=0.0) + COSTLY, *args, model="toy" if named else str(toy))

    (dear,) = (found for found in ended.findings if found["audit"] == "dear")
    assert (ended.ret, dear["verdict"]) == (pytest.ExitCode.OK, result)
    assert result == "PASS" or "--rm-all" in dear["why"]
    ended.says("INCOMPLETE*" if "test_toy" in str(args) else "PASSES*")


def test_a_gate_is_never_costly() -> None:
    """Most runs would pass without it."""
    with pytest.raises(SpecError, match="costly"):
        audit(claim="c", source="s", bound=above(0, unit="sd"), prompts=["best"], costly=True)
