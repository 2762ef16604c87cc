"""`--rm-recorded`: published scores are audited, without weights; what is not there is skipped."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rmaudit.models.load
from rmaudit.config.registry import ModelSpec
from rmaudit.models.recorded import CAVEAT, Recorded
from rmaudit.scores import published_scores
from rmaudit.scores.store import Store
from tests.plugin.conftest import Run

Results = Callable[[], dict[str, Any]]

ROOT = Path(__file__).parents[2]
REGISTRY = """models:
  Smol: {source: embedded, default: true}
  Q: {source: owner/Quantile-8B}
"""
TABLE = """token_id,token_name,token_decoded,greatest,best,worst
0,NA,NA,1.5,0.25,-1
1,b,b,,4,2.5
"""
AUDITS = """
@declare(0.0)
def test_sweep(sweep):
    unmeasured = sweep.noise != sweep.noise
    return estimate(float(sweep.frame["score"].sum()) if unmeasured else 0)

@declare(0.0)
def test_items(rewards): return estimate(float(rewards(["NA"]).scores[0]))
"""
PROMPT = "What, in one word, is the greatest thing ever"
ITEMS = "elo_rank,elo_score,name,elo_matches,owner/Quantile-8B\n1,1669,NA,13,2.5\n"


@pytest.fixture
def recorded(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., pytest.RunResult]:
    """Run the audits with `--rm-recorded`; whoever asks for weights fails."""
    (pytester.path / "models.yaml").write_text(REGISTRY)

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no weights and no network here")

    monkeypatch.setattr(rmaudit.models.load, "from_spec", refuse)
    monkeypatch.setenv("RMAUDIT_DATA", str(pytester.path / "none"))
    monkeypatch.setattr("pooch.retrieve", refuse)

    def go(*args: str, model: str = "Q") -> pytest.RunResult:
        return run(AUDITS, "--rm-recorded", *args, model=model)

    return go


@pytest.fixture
def imported(pytester: pytest.Pytester) -> None:
    """Q's tokens and items are in the cache of `run`."""
    store, model = Store(pytester.path / "cache"), Recorded(ModelSpec("Q", "owner/Quantile-8B"))
    for name, text in {"owner--Quantile-8B": TABLE, PROMPT: ITEMS}.items():
        path = pytester.path / f"{name}.csv"
        path.write_text(text)
        published_scores.import_table(path, [model], store)


def by_place(data: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The findings by audit and prompt."""
    return {(f["audit"], f["prompt"]): f for f in data["findings"]}


def test_what_is_imported_is_audited(
    recorded: Callable[..., pytest.RunResult],
    imported: None,
    results: Results,
    pytester: pytest.Pytester,
) -> None:
    """Sweeps and items are the table's; every reader is told; the report shows whose they are."""
    result = recorded()

    found = by_place(results())
    result.stdout.fnmatch_lines(["rmaudit: Q; published scores only; cache *"])
    values = {place: f["estimate"] and f["estimate"]["value"] for place, f in found.items()}
    assert values == {
        ("sweep", "greatest"): 1.5,
        ("sweep", "worst"): 1.5,
        ("items", "greatest"): 2.5,
        ("items", "worst"): None,
    }
    for finding in found.values():
        assert finding["repeat"].endswith(f"--rm-recorded --rm-cache {pytester.path / 'cache'}")
        assert finding["estimate"] is None or finding["estimate"]["caveats"] == [CAVEAT]
    assert found["items", "worst"]["verdict"] == "SKIPPED"
    sweeps = {sweep["prompt"]: sweep for sweep in results()["models"][0]["sweeps"]}
    assert sweeps.keys() == {"greatest", "worst"}
    assert sweeps["greatest"]["n"] == 1
    about = sweeps["greatest"]["provenance"]
    assert about["recorded"] == "published scores"
    assert about["file"] == "owner--Quantile-8B.csv"
    assert len(about["sha256"]) == 64


@pytest.mark.parametrize(("missing", "verdict"), [("skip", "SKIPPED"), ("fail", "ERROR")])
def test_what_is_not_imported(
    recorded: Callable[..., pytest.RunResult], results: Results, missing: str, verdict: str
) -> None:
    """Skipped with the reason and the command, or an ERROR; nothing measured is not green."""
    result = recorded("--rm-missing", missing)

    nothing = pytest.ExitCode.NO_TESTS_COLLECTED
    assert result.ret == (nothing if missing == "skip" else pytest.ExitCode.TESTS_FAILED)
    found = by_place(results())
    assert {finding["verdict"] for finding in found.values()} == {verdict}
    reason = found["sweep", "worst"]["reason"]
    assert "Q: no sweep under 'What, in one word, is the worst thing ever?' is recorded" in reason
    assert "; get it with: rmaudit import DIR --model Q --cache " in reason


def test_a_model_that_is_not_published(
    recorded: Callable[..., pytest.RunResult], imported: None, results: Results
) -> None:
    """It is skipped beside the others, and says why and how to audit it."""
    recorded("-k", "test_sweep and greatest", model="*")

    found = {finding["model"]: finding for finding in results()["findings"]}
    assert found["Q"]["verdict"] == "PASS"
    assert found["Smol"]["verdict"] == "SKIPPED"
    assert found["Smol"]["reason"].endswith(
        "Smol: its scores are not published, so nothing of it is recorded; "
        "get it with: pytest audits --model Smol"
    )


def test_a_glob_leaves_out_what_nobody_published(
    recorded: Callable[..., pytest.RunResult],
    imported: None,
    results: Results,
    pytester: pytest.Pytester,
) -> None:
    """Hub ids without a rank in the paper and without records, which a warning names."""
    more = "  New: {source: owner/new}\n  Ranked: {source: owner/ranked, rewardbench_rank: 7}\n"
    (pytester.path / "models.yaml").write_text(REGISTRY + more)

    result = recorded("-k", "test_sweep and greatest", model="*")

    assert {f["model"] for f in results()["findings"]} == {"Q", "Smol", "Ranked"}
    left = "left out 1 of 4 models, of which no scores are published or imported: New"
    result.stdout.fnmatch_lines([f"*PytestWarning: --rm-model '[*]' --rm-recorded: {left}"])
    recorded("-k", "test_sweep and greatest", model="New").assert_outcomes(skipped=1, deselected=3)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--rm-sample", "9"), ("--rm-device", "cpu"), ("--rm-dtype", "float16")],
)
def test_options_of_scoring(
    recorded: Callable[..., pytest.RunResult], option: str, value: str
) -> None:
    """They would do nothing, so they are refused: one line, and exit code 4."""
    result = recorded(option, value)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line] == [
        f"ERROR: {option} does nothing with --rm-recorded: nothing is scored; leave out one of them"
    ]


def test_without_the_option_nothing_is_recorded(run: Run, results: Results) -> None:
    """A checkpoint is scored, and nobody is told otherwise."""
    run(AUDITS, "-k", "test_sweep and greatest")

    (finding,) = results()["findings"]
    assert finding["estimate"]["caveats"] == []
    assert "--rm-recorded" not in finding["repeat"]
    assert "recorded" not in results()["models"][0]["sweeps"][0]["provenance"]


def test_the_ten_of_the_paper(
    mirror: Path, pytester: pytest.Pytester, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the item scores alone the ten are audited, R-Smol is skipped: mean 0.294."""
    monkeypatch.chdir(pytester.path)
    registry = ["--rm-models", str(ROOT / "models.yaml"), "--rm-cache", str(pytester.path / "c")]

    pytester.runpytest_inprocess(
        ROOT / "audits" / "test_elo_agreement.py",
        *("--model", "*", "--rm-recorded", *registry, "-p", "no:cacheprovider"),
    )

    found = results()["findings"]
    values = [f["estimate"]["value"] for f in found if f["verdict"] == "PASS"]
    assert [f["model"] for f in found if f["verdict"] != "PASS"] == ["R-Smol-135M"]
    assert len(values) == 10
    figures = (statistics.mean(values), min(values), max(values))
    assert [round(figure, 3) for figure in figures] == [0.294, 0.219, 0.390]
