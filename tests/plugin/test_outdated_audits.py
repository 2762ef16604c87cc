"""Audits written for another rmaudit: the error says which line misses what, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.conftest import HIGH, Run

STEP = ("CHANGELOG.md", "`rmaudit init`")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("from rmaudit import Flaw", "cannot import name 'Flaw' from 'rmaudit'"),
        (
            "from rmaudit.prompts import LABELS",
            "cannot import name 'LABELS' from 'rmaudit.prompts'",
        ),
        ("import rmaudit.organisms", "No module named 'rmaudit.organisms'"),
        ("import rmaudit; rmaudit.Flaw", "module 'rmaudit' has no attribute 'Flaw'"),
        ("audit(claim='c', source='', organism='x')", "unexpected keyword argument 'organism'"),
        ("audit(claim='c', source='', promts=[])", "did you mean 'prompts'?"),
        ("audit(claim='c')", "missing 1 required keyword-only argument: 'source'"),
        ("Estimate(1.0, 0.0, 2.0, units='sd')", "unexpected keyword argument 'units'"),
    ],
)
def test_what_rmaudit_misses_is_told_with_its_line(run: Run, line: str, says: str) -> None:
    """Of a name, a module or an argument; without a traceback."""
    ended = run(f"{line}\n{HIGH.format(low=0.0)}")

    assert ended.ret == pytest.ExitCode.INTERRUPTED
    told = " ".join(" ".join(ended.said.outlines).split())
    at = Path(ended.folder, "test_toy.py").read_text("utf-8").splitlines().index(line) + 1
    assert f"test_toy.py:{at}: " in told
    for part in (says, *STEP):
        assert part in told
    assert "Traceback" not in told


def test_the_line_is_that_of_the_users_own_module(run: Run, tmp_path: Path) -> None:
    """Audits may take what they share from a file beside them."""
    helper = tmp_path / "shared_by_audits.py"
    helper.write_text("import math\nfrom rmaudit import Flaw\n", encoding="utf-8")
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport shared_by_audits\n"

    ended = run(f"{path}{HIGH.format(low=0.0)}")

    assert "shared_by_audits.py:2: " in " ".join(ended.said.outlines)


@pytest.mark.parametrize(
    "line", ["import no_such_module", "math.gone", "int('x', bass=2)", "from math import gone"]
)
def test_other_faults_are_as_pytest_tells_them(run: Run, line: str) -> None:
    """A traceback, and nothing of rmaudit's CHANGELOG."""
    ended = run(f"import math\n{line}\n{HIGH.format(low=0.0)}")

    told = "\n".join(ended.said.outlines)
    assert line in told
    assert "<module>" in told
    assert "CHANGELOG" not in told
