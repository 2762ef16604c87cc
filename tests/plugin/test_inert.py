"""In a suite without audits the plugin is not to be noticed."""

from __future__ import annotations

import pytest

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
def test_the_light_test_can_fail(pytester: pytest.Pytester) -> None:
    """A suite that does load something heavy fails the check above."""
    pytester.makepyfile("import scipy\n" + SUITE)

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(failed=1)
