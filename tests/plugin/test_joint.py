"""Audits over several prompts at once, and severities."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.conftest import Run

Results = Callable[[], dict[str, Any]]
JOINT = """
from rmaudit import below
def together(low, **more):
    return audit(claim="Both.", source="nowhere", prompts=["best", "worst"], joint=True,
                 bound=above(low, unit="points"), base_rate="none", **more)
"""


def test_a_joint_audit_has_all_sweeps(run: Run, results: Results) -> None:
    """It runs once, with a sweep and with scores for each prompt, all of them in its finding."""
    result = run(
        JOINT
        + "@together(0.0)\n"
        + "def test_both(sweeps, rewards):\n"
        + "    assert list(sweeps) == ['best', 'worst']\n"
        + "    assert {s.prompt.name for s in sweeps.values()} == {'best', 'worst'}\n"
        + "    one, two = (rewards(['love', 'war'], p).scores for p in sweeps)\n"
        + "    assert (one != two).any()\n"
        + "    return estimate(1.0)\n"
    )

    result.assert_outcomes(passed=1)
    (finding,) = results()["findings"]
    assert (finding["prompt"], len(finding["sweeps"])) == ("best+worst", 4)
    assert {s["prompt"] for s in results()["models"][0]["sweeps"]} == {"best", "worst"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sweep): return estimate(1.0)", "*test_both is joint over its prompts, so it has no sin*"),
        (
            "rewards): rewards(['x'])",
            "*rewards: no prompt is named; this audit declares best, worst*",
        ),
        ("rewards): rewards(['x'], 'greatest')", "*rewards: 'greatest' is not declared; this au*"),
    ],
)
def test_a_joint_audit_names_its_prompt(body: str, expected: str, run: Run) -> None:
    """There is no single prompt to fall back on, and no undeclared one to slip in."""
    result = run(JOINT + f"@together(0.0)\ndef test_both({body}")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([expected])


def test_info_never_fails(run: Run, results: Results) -> None:
    """Outside its bound an audit of severity info is shown as such, and the run is green."""
    result = run(JOINT + "@together(2.0, severity='info')\ndef test_i(rng): return estimate(1.0)")

    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["INFO *toy *i *best+worst*+1.00*", "1 audited: 1 INFO"])
    (finding,) = results()["findings"]
    assert (finding["verdict"], finding["severity"]) == ("FAIL", "info")


def test_info_that_cannot_be_measured_is_an_error(run: Run) -> None:
    """What gates nothing must still be measured."""
    result = run(JOINT + "@together(0.0, severity='info')\ndef test_i(rng): raise ValueError('no')")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["ERROR: i[[]toy-best+worst[]]: no"])


def test_failures_are_settled_together(run: Run, results: Results) -> None:
    """Holm: what fails alone but could be chance among twenty is INCONCLUSIVE, and still red."""
    body = "".join(f"@together(0.0)\ndef test_{i}(rng): return estimate(1.0)\n" for i in range(19))
    result = run(JOINT + body + "@together(1.1)\ndef test_low(rng): return estimate(1.0, 0.08)")

    result.assert_outcomes(passed=19, failed=1)
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE: low[[]toy-best+worst[]]: outside the bound if tak*"]
    )
    assert [f["verdict"] for f in results()["findings"]].count("INCONCLUSIVE") == 1


POLICY = """severity: {{high: {all}}}
models:
  Toy:
    source: {toy}
    default: true
{own}"""


@pytest.mark.parametrize(
    ("everywhere", "own", "stands"),
    [
        ("info", "", "INFO"),
        ("gate", "", "FAIL"),
        ("gate", "    severity: {high: info}", "INFO"),
        ("info", "    severity: {high: gate}", "FAIL"),
    ],
)
def test_models_yaml_decides_what_gates(
    everywhere: str, own: str, stands: str, run: Run, toy: Any
) -> None:
    """The model's entry goes before that for all, and both before the audit's own word."""
    Path("models.yaml").write_text(
        POLICY.format(all=everywhere, toy=toy, own=own), encoding="utf-8"
    )
    body = "@declare(2.0)\ndef test_high(rng): return estimate(1.0)"

    result = run(body, "-k", "worst", model=None)

    assert result.ret == (pytest.ExitCode.OK if stands == "INFO" else pytest.ExitCode.TESTS_FAILED)
    result.stdout.fnmatch_lines([f"1 audited: 1 {stands}"])


def test_a_folder_is_judged_by_the_files_severities(
    run: Run, toy: Any, pytester: pytest.Pytester
) -> None:
    """What is said for all models holds for one that has no entry."""
    text = POLICY.format(all="info", toy=toy, own="")
    pytester.path.joinpath("models.yaml").write_text(text, encoding="utf-8")

    result = run("@declare(2.0)\ndef test_high(rng): return estimate(1.0)", "-k", "worst")

    result.stdout.fnmatch_lines(["1 audited: 1 INFO"])
