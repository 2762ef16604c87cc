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


def test_the_light_test_can_fail(pytester: pytest.Pytester) -> None:
    """A suite that does load something heavy fails the check above."""
    pytester.makepyfile("import scipy\n" + SUITE)

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(failed=1)


def test_another_models_yaml_is_not_read(pytester: pytest.Pytester) -> None:
    """A models.yaml that belongs to somebody else disturbs no suite without audits."""
    pytester.path.joinpath("models.yaml").write_text("- theirs", encoding="utf-8")
    pytester.makepyfile("def test_theirs(): pass")

    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_fixtures_outside_an_audit(pytester: pytest.Pytester) -> None:
    """A plain test that takes one of our fixtures is told whom they serve."""
    pytester.makepyfile("def test_theirs(sweep): pass")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*serves functions declared with @audit only*"])
