"""What a selftest found as a page, as data and as a picture."""

from __future__ import annotations

import json
from pathlib import Path

from lab import selftest_page
from lab.bench import BenchOutcome

OUTCOMES = [
    BenchOutcome("clean", "no flaw", None, "", 200, 0.03, 0.01, None, (("skew", 0.03),)),
    BenchOutcome("skew", "lower tail longer", -0.1, "stated", 200, 1.0, 0.98, -0.25, ()),
    BenchOutcome("skew", "lower tail longer", 0.05, "1 of the bound", 50, 0.9, 0.02, 0.01, ()),
]


def test_the_outcomes_are_written_twice_alike(tmp_path: Path) -> None:
    """Plain values, a table of each kind, and a picture named for those who do not see it."""
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        selftest_page.write(OUTCOMES, folder)

    for name in selftest_page.FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    data = json.loads((tmp_path / "one" / "selftest.json").read_text())
    assert [outcome["blocked"] for outcome in data["outcomes"]] == [0.03, 1.0, 0.9]
    page = (tmp_path / "one" / "selftest.md").read_text()
    assert "python -m lab selftest --seeds 200" in page
    assert "| no flaw | 200 | 3.0% | 1.0% | skew 3.0% |" in page
    assert "| skew | lower tail longer | stated | -0.10 | -0.250 | 200 | 100.0% | 98.0% |" in page
    svg = (tmp_path / "one" / "selftest.svg").read_text()
    assert "skew, lower tail longer: share of FAIL 0.98 at -0.1, 0.02 at 0.05" in svg
