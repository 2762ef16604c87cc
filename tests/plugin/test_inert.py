"""In a suite without audits the plugin is not to be noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

AUDITS = Path(__file__).parents[2] / "audits"

SUITE = """
import sys

def test_nothing_heavy_is_loaded():
    heavy = {"torch", "transformers", "pandas", "scipy", "pyarrow"} & set(sys.modules)
    assert not heavy
"""


def test_silent_and_light(pytester: pytest.Pytester) -> None:
    """No output, no report folder, and nothing heavy is imported."""
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*rmaudit*report*")
    result.stdout.no_fnmatch_line("*= rmaudit =*")
    assert not list(pytester.path.glob("reports*"))


@pytest.mark.slow
def test_collection_loads_nothing_that_measures() -> None:
    """The audits are found, without what only measuring and drawing need."""
    heavy = {
        "torch",
        "transformers",
        "scipy.stats",
        "statsmodels",
        "wordfreq",
        "tokenizers",
    }
    check = (
        "import sys, pytest\n"
        f"pytest.main({['--collect-only', '-q', str(AUDITS)]!r})\n"
        f"print('loaded', sorted({heavy!r} & set(sys.modules)))\n"
    )

    said = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    ).stdout

    assert "test_funnel.py" in said
    assert said.splitlines()[-1] == "loaded []"
