"""What each outcome of an audit looks like in pytest's terms, in the summary and in the results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.conftest import Run
from tests.toys import pair_tokenizer, toy_checkpoint

Results = Callable[[], dict[str, Any]]


def test_pass(run: Run, results: Results) -> None:
    """An estimate inside the bound passes under every declared prompt."""
    result = run("@declare(0.0)\ndef test_high(rng): return estimate(1.0)")

    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*= rmaudit =*",
            "PASS  toy  high  greatest  +1.00  [[]+0.90, +1.10[]]  above 0 points",
            "2 audited: 2 PASS",
            "report: reports/*/index.html",
        ]
    )
    assert [f["verdict"] for f in results()["findings"]] == ["PASS", "PASS"]


def test_fail(run: Run, results: Results) -> None:
    """An estimate outside the bound fails with claim, numbers, bound, base rate and the command."""
    result = run("@declare(2.0)\ndef test_high(rng): return estimate(1.0)")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "high[[]toy-greatest[]]: FAIL",
            "  claim      The toy scores high.",
            "  measured   1 points, 95 % interval 0.9 to 1.1, n = 9",
            "  bound      above 2 points",
            "  base rate  0 of 0 models",
            "  repeat     pytest '*::test_high[[]toy-greatest[]]' --rm-model */toy --rm-seed 0",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    assert {f["verdict"] for f in results()["findings"]} == {"FAIL"}


def test_inconclusive(run: Run, results: Results) -> None:
    """An interval that straddles the bound does not pass and says so."""
    result = run("@declare(1.0)\ndef test_high(rng): return estimate(1.0)")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["high[[]toy-greatest[]]: INCONCLUSIVE (the interval straddles the bound)"]
    )
    assert {f["verdict"] for f in results()["findings"]} == {"INCONCLUSIVE"}


def test_error(run: Run, results: Results) -> None:
    """An audit that raises is an ERROR with the reason, never a low score."""
    result = run("@declare(0.0)\ndef test_high(rng): raise RuntimeError('no luck')")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["ERROR: high[[]toy-greatest[]]: no luck"])
    assert [(f["verdict"], f["reason"]) for f in results()["findings"]] == [
        ("ERROR", "no luck"),
        ("ERROR", "no luck"),
    ]


def test_model_that_does_not_load(run: Run, results: Results, pytester: pytest.Pytester) -> None:
    """A model that cannot be loaded is an ERROR of each audit, not a skip."""
    folder = pytester.mkdir("broken")
    (folder / "config.json").write_text("{}", encoding="utf-8")
    result = run("@declare(0.0)\ndef test_high(rng): return estimate(1.0)", model=str(folder))

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["ERROR: high[[]broken-greatest[]]: broken: no *.safetensors in*"])
    result.stdout.no_fnmatch_line("*files.py:*")
    assert {f["verdict"] for f in results()["findings"]} == {"ERROR"}


def test_wrong_return(run: Run) -> None:
    """An audit that returns no Estimate says what it returned."""
    result = run("@declare(0.0)\ndef test_high(rng): return 1.0")

    result.stdout.fnmatch_lines(
        ["ERROR: high[[]toy-greatest[]]: *must return an Estimate, got float"]
    )


def test_wrong_unit(run: Run) -> None:
    """A bound in another unit than the estimate is an ERROR that names both."""
    body = (
        "@audit(claim='', source='', prompts=['best'], base_rate='', bound=above(0, unit='sd'))\n"
        "def test_high(rng): return estimate(1.0)"
    )
    result = run(body)

    result.stdout.fnmatch_lines(["ERROR: *: the bound is in 'sd', the estimate in 'points'"])


def test_measures_nothing_of_a_model(run: Run) -> None:
    """An audit that takes no fixture of a model is refused at collection."""
    result = run("@declare(0.0)\ndef test_high(): return estimate(1.0)")

    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*test_high measures no model: an audit takes at least one of*"])


REGISTRY = """models:
  Toy:
    source: embedded
    default: true
    known:
      high[worst]: the toy is known to be small
"""


@pytest.fixture
def demonstration(
    toy: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """A registry with the model that rmaudit brings, for which the toy stands in."""
    monkeypatch.setattr("rmaudit.checkpoints.embedded.build", lambda cache: toy)
    pytester.path.joinpath("models.yaml").write_text(REGISTRY, encoding="utf-8")


@pytest.mark.parametrize(("low", "outcome"), [(2.0, "xfailed"), (0.0, "failed")])
def test_known_failures_are_strict(low: float, outcome: str, run: Run, demonstration: None) -> None:
    """A failure that models.yaml names is an xfail, and a failure once it passes."""
    body = f"@declare({low})\ndef test_high(rng): return estimate(1.0)"
    result = run(body, "-k", "worst", model=None)

    result.assert_outcomes(deselected=1, **{outcome: 1})
    if outcome == "xfailed":
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(
            ["KNOWN: high[[]Toy-worst[]]: the toy is known to be small", "1 audited: 1 KNOWN"]
        )
    else:
        result.stdout.fnmatch_lines(
            ["PASS: high[[]Toy-worst[]]: passes, though models.yaml expects it to fail*"]
        )


def test_known_failures_excuse_no_error(run: Run, demonstration: None) -> None:
    """An audit that could not be measured is an error, whatever models.yaml expects."""
    result = run("@declare(0.0)\ndef test_high(rng): raise RuntimeError", "-k", "worst", model=None)

    result.assert_outcomes(deselected=1, errors=1)


def test_nothing_measured(run: Run) -> None:
    """A run in which every audit was skipped is not green."""
    body = "import pytest\n@declare(0.0)\ndef test_high(rng): pytest.skip('not today')"
    result = run(body)

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(
        [
            "SKIPPED: high[[]toy-greatest[]]: not today",
            "2 audited: 2 SKIPPED",
            "nothing was measured: *",
        ]
    )


def test_interrupted(
    run: Run, results: Results, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C leaves a report of what was measured before it."""
    body = (
        "@declare(0.0)\ndef test_a(rng): return estimate(1.0)\n"
        "@declare(0.0)\ndef test_b(rng): raise KeyboardInterrupt"
    )
    # In one process the interrupt would reach the outer pytest too.
    monkeypatch.setattr(pytester, "runpytest_inprocess", pytester.runpytest_subprocess)
    result = run(body)

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert [f["audit"] for f in results()["findings"]] == ["a", "a"]


def test_same_findings_under_xdist(run: Run, results: Results) -> None:
    """Two worker processes give the findings of one, random draws included."""
    body = "@declare(-1.0)\ndef test_high(rng): return estimate(rng.random())"
    run(body)
    alone = sorted(str(f["estimate"]) for f in results()["findings"])
    result = run(body, "-n2", "--rm-report", "both")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["2 audited: 2 PASS", "report: both/*/index.html"])
    assert sorted(str(f["estimate"]) for f in results()["findings"]) == alone


def test_an_encoder_is_audited_like_any(run: Run, results: Results, tmp_path: Path) -> None:
    """From a folder's name to verdicts, without a chat template."""
    folder = toy_checkpoint(tmp_path / "encoder", kind="deberta-v2", tokenizer=pair_tokenizer())
    result = run(
        """
@declare(0.0)
def test_spread(sweep):
    scores = sweep.frame["score"]
    assert len(scores) == sweep.frame["token_id"].nunique() > 40
    return estimate(float(scores.std()), width=0.0)
""",
        model=str(folder),
    )

    result.assert_outcomes(passed=2)
    assert {finding["model"] for finding in results()["findings"]} == {"encoder"}
