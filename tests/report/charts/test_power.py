"""The curves of a selftest as a file and as a picture."""

from __future__ import annotations

import json
from pathlib import Path

from rmaudit.organisms.selftest import Flaw, Outcome
from rmaudit.report.charts import power

FLAW = Flaw("skew", "skew", (0.2, -0.1), -0.1, "lower tail longer")
OUTCOMES = [
    Outcome(FLAW, size, 200, {"PASS": 1 - failed, "INCONCLUSIVE": 0.0, "FAIL": failed}, (0, 1, 2))
    for size, failed in ((0.2, 0.01), (-0.1, 0.98))
]


def test_the_outcomes_are_written_twice_alike(tmp_path: Path) -> None:
    """Plain values, and a picture that names them for those who do not see it."""
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        power.write(OUTCOMES, folder)

    data = json.loads((tmp_path / "one" / "selftest.json").read_text())
    assert data["outcomes"][1] == {
        "audit": "skew",
        "trait": "skew",
        "size": -0.1,
        "seeds": 200,
        "verdicts": {"PASS": 0.020000000000000018, "INCONCLUSIVE": 0.0, "FAIL": 0.98},
        "estimate": {"5 %": 0, "50 %": 1, "95 %": 2},
    }
    for name in ("selftest.json", "selftest.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    svg = (tmp_path / "one" / "selftest.svg").read_text()
    assert "skew: share of FAIL 0.01 at 0.2, 0.98 at -0.1" in svg
