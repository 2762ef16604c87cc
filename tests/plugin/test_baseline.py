"""`--rm-baseline`: the other model's sweep under the same prompt; without it a visible skip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.models.recorded import CAVEAT, Recorded
from rmaudit.scores import published_scores
from rmaudit.scores.store import Store
from tests.plugin.conftest import Run
from tests.toys import toy_checkpoint

Results = Callable[[], dict[str, Any]]

AUDIT = """
import math

@declare(0.0)
def test_both(sweep, baseline):
    assert sweep.prompt == baseline.prompt
    return estimate(float((sweep.frame["score"] - baseline.frame["score"]).abs().max()))
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another checkpoint, in a folder of the same name."""
    return toy_checkpoint(tmp_path_factory.mktemp("older") / "toy", seed=1)


def test_a_model_is_its_own_baseline(run: Run, results: Results, toy: Path) -> None:
    """The same scores, read from the same cache; the finding says with what it was compared."""
    run(AUDIT, "--rm-baseline", str(toy))

    found = results()["findings"]
    assert [(f["prompt"], f["estimate"]["value"]) for f in found] == [("greatest", 0), ("worst", 0)]
    for finding in found:
        (caveat,) = finding["estimate"]["caveats"]
        assert caveat == f"Compared with toy: {toy}, scores {finding['sweeps'][0][:12]}."
        assert finding["repeat"].endswith(f"--rm-baseline {toy}")


def test_another_model_of_the_same_name(run: Run, results: Results, other: Path) -> None:
    """Folders are told apart; only the audited model's sweeps are in the report."""
    run(AUDIT, "--rm-baseline", str(other))

    data = results()
    assert [f["verdict"] for f in data["findings"]] == ["PASS", "PASS"]
    assert min(f["estimate"]["value"] for f in data["findings"]) > 0.1
    assert [len(f["sweeps"]) for f in data["findings"]] == [1, 1]
    assert len(data["models"][0]["sweeps"]) == 2
    for finding in data["findings"]:
        (caveat,) = finding["estimate"]["caveats"]
        assert caveat.startswith(f"Compared with toy: {other}, scores ")
        assert finding["sweeps"][0][:12] not in caveat


def test_without_a_baseline(run: Run, results: Results) -> None:
    """Skipped with the reason and the option; a run that measured nothing is not green."""
    result = run(AUDIT)

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.assert_outcomes(skipped=2)
    found = results()["findings"]
    assert {(f["verdict"], f["reason"]) for f in found} == {
        ("SKIPPED", "no model to compare with; name one with --rm-baseline NAME")
    }


def test_a_sample_of_both(run: Run, results: Results, toy: Path) -> None:
    """With `--rm-sample` the same ids are drawn of both, and it is said."""
    run(AUDIT, "--rm-baseline", str(toy), "--rm-sample", "40", "-k", "greatest")

    (finding,) = results()["findings"]
    assert finding["estimate"]["value"] == 0
    assert len(finding["estimate"]["caveats"]) == 2


def test_recorded_models(run: Run, results: Results, pytester: pytest.Pytester) -> None:
    """With `--rm-recorded` the baseline's records are read, and no weights."""
    registry = "models:\n  A: {source: o/A, default: true}\n  B: {source: o/B}\n"
    (pytester.path / "models.yaml").write_text(registry, encoding="utf-8")
    header = "token_id,token_name,token_decoded,greatest,best,worst\n"
    for name, score in (("A", 1), ("B", 3)):
        path = pytester.path / f"o--{name}.csv"
        path.write_text(f"{header}0,a,a,{score},1,1\n", encoding="utf-8")
        model = Recorded(ModelSpec(name, f"o/{name}"))
        published_scores.import_table(path, [model], Store(pytester.path / "cache"))

    run(AUDIT, "--rm-recorded", "--rm-baseline", "B", "-k", "greatest", model="A")

    (finding,) = results()["findings"]
    assert finding["estimate"]["value"] == 2
    assert finding["estimate"]["caveats"][0].startswith("Compared with B: o/B, scores ")
    assert finding["estimate"]["caveats"][1] == CAVEAT


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nobody", "--rm-baseline: *models.yaml: unknown model 'nobody'*"),
        ("*", "--rm-baseline: '[*]' means 2 models; name one"),
    ],
)
def test_a_wrong_baseline(name: str, expected: str, run: Run, pytester: pytest.Pytester) -> None:
    """One line before anything is run, and exit code 4."""
    registry = "models:\n  A: {source: o/A, default: true}\n  B: {source: o/B}\n"
    (pytester.path / "models.yaml").write_text(registry, encoding="utf-8")

    result = run(AUDIT, "--rm-baseline", name, model="A")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {expected}"])


def test_a_joint_audit_has_no_single_baseline(run: Run, toy: Path, results: Results) -> None:
    """It is told so, as with `sweep`."""
    body = (
        "@audit(claim='', source='', prompts=['best', 'worst'], base_rate='', joint=True,\n"
        "       bound=above(0, unit='points'))\n"
        "def test_both(sweeps, baseline): return estimate(1.0)"
    )
    run(body, "--rm-baseline", str(toy))

    (finding,) = results()["findings"]
    assert "test_both is joint over its prompts, so it has no single one" in finding["reason"]
