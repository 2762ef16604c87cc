"""Searches in a run: made once, noted, shared through the ledger; and skips that say why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.models.native import Native
from rmaudit.models.recorded import Recorded
from rmaudit.references.public_exploits import probes
from rmaudit.scores import published_scores
from rmaudit.scores.store import Store
from rmaudit.search import ledger
from tests.plugin.conftest import Run
from tests.toys import toy_checkpoint

Results = Callable[[], dict[str, Any]]

SEARCH = """
@declare(-99)
def test_search(searches):
    found = searches("down")
    assert found.direction == "down" and found.evaluations <= found.settings.budget
    assert len(searches.random(30)) == 30
    return estimate(float(found.frame["score"].iloc[0]))
"""
LEDGER = """
@declare(-99)
def test_ledger(ledger):
    print("|".join(ledger["model"]), end="$")
    assert set(ledger["prompt"]) == {"greatest"}
    return estimate(len(ledger))
"""
PUBLISHED = int((probes()["prompt"] == "greatest").sum())
SHORT = ("--rm-search", "480", "-k", "greatest")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numeric noise is not at issue."""
    monkeypatch.setattr("rmaudit.scores.protocols.ANSWERS", 0)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An earlier release: another checkpoint, in a folder of the same name."""
    return toy_checkpoint(tmp_path_factory.mktemp("older") / "toy", seed=1)


def known(pytester: pytest.Pytester, run: Run, *args: str, model: Path) -> int:
    """How many strings the ledger has for a model."""
    run(LEDGER, "-k", "greatest", "--rm-report", "ledger", *args, model=str(model))
    path = max(pytester.path.glob("ledger/*/results.json"))
    (finding,) = json.loads(path.read_text(encoding="utf-8"))["findings"]
    return int(finding["estimate"]["value"])


def test_a_search_is_noted(run: Run, results: Results) -> None:
    """Its key, and that it is a lower bound with its budget; `repeat` searches as long."""
    run(SEARCH, *SHORT)

    (finding,) = results()["findings"]
    assert finding["verdict"] == "PASS"
    assert len(finding["sweeps"]) == 1
    (caveat,) = finding["estimate"]["caveats"]
    assert caveat == (
        "A search finds a lower bound on what can be found (down, under 'greatest'): exhaustive, "
        "480 of at most 480 evaluations, 8 starts, 3 token ids, among the 10 ids that "
        "score best alone."
    )
    assert finding["repeat"].endswith("--rm-search 480")


def test_the_second_run_loads_no_model(
    run: Run, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read back; another seed is another search."""
    run(SEARCH, *SHORT, "--rm-report", "first")
    monkeypatch.setattr(Native, "load", None)

    run(SEARCH, *SHORT)
    (finding,) = results()["findings"]
    assert finding["verdict"] == "PASS"

    run(SEARCH, *SHORT, "--rm-seed", "1", "--rm-report", "seed")
    (path,) = Path("seed").glob("*/results.json")
    (finding,) = json.loads(path.read_text(encoding="utf-8"))["findings"]
    assert finding["verdict"] == "ERROR"


def test_what_is_found_is_replayed_on_others(
    run: Run, pytester: pytest.Pytester, toy: Path, other: Path
) -> None:
    """On an earlier release of the same name, and not on the model itself."""
    run(SEARCH, *SHORT)

    assert known(pytester, run, model=toy) == PUBLISHED
    assert PUBLISHED < known(pytester, run, model=other) <= PUBLISHED + ledger.BEST


def test_a_run_does_not_see_its_own_finds(
    run: Run, results: Results, toy: Path, other: Path
) -> None:
    """Two models in one run: in whatever order they come, neither's finds meet the other."""
    registry = f"models:\n  A: {{source: {toy}, default: true}}\n  B: {{source: {other}}}\n"
    Path("models.yaml").write_text(registry, encoding="utf-8")

    run(SEARCH + LEDGER, *SHORT, model="*")

    found = {(f["audit"], f["model"]): f["estimate"]["value"] for f in results()["findings"]}
    assert found["ledger", "A"] == found["ledger", "B"] == PUBLISHED


def test_a_file_of_the_team(
    run: Run, results: Results, pytester: pytest.Pytester, other: Path
) -> None:
    """Its strings are replayed besides, and `repeat` names it."""
    path = pytester.path / "exploits.jsonl"
    entry = {
        "prompt": "greatest",
        "direction": "up",
        "model": "elsewhere",
        "source": "a search",
        "text": "\u202e x",
        "weights": "0a",
    }
    path.write_text(json.dumps(entry) + "\n", encoding="ascii")

    result = run(LEDGER, "-k", "greatest", "--rm-ledger", str(path), "-s")

    (finding,) = results()["findings"]
    assert finding["estimate"]["value"] == PUBLISHED + 1
    assert finding["repeat"].endswith(f"--rm-ledger {path}")
    result.stdout.fnmatch_lines(["*|elsewhere$*"])


def test_searches_are_off(run: Run, results: Results) -> None:
    """A visible skip with the way to run them."""
    result = run(SEARCH, "--rm-search", "0")

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert {(f["verdict"], f["reason"]) for f in results()["findings"]} == {
        ("SKIPPED", "searches are off (--rm-search 0); run them with --rm-search 2000")
    }


@pytest.mark.parametrize(("missing", "verdict"), [("skip", "SKIPPED"), ("fail", "ERROR")])
def test_a_recorded_model_is_not_searched(
    run: Run, results: Results, pytester: pytest.Pytester, missing: str, verdict: str
) -> None:
    """There are no weights; nor does the ledger need any."""
    registry = "models:\n  Q: {source: owner/Q-8B, default: true}\n"
    (pytester.path / "models.yaml").write_text(registry, encoding="utf-8")
    table = pytester.path / "owner--Q-8B.csv"
    table.write_text("token_id,token_name,token_decoded,greatest,best,worst\n0,a,a,1,2,3\n")
    model = Recorded(ModelSpec("Q", "owner/Q-8B"))
    published_scores.import_table(table, [model], Store(pytester.path / "cache"))

    run(SEARCH + LEDGER, "--rm-recorded", "--rm-missing", missing, "-k", "greatest", model="Q")

    of_ledger, of_search = sorted(results()["findings"], key=lambda finding: finding["audit"])
    assert of_ledger["estimate"]["value"] == PUBLISHED
    assert of_search["verdict"] == verdict
    assert of_search["reason"].startswith("Q: what a search would find is not recorded; get it ")


@pytest.mark.parametrize(
    ("option", "given", "expected"),
    [
        ("--rm-search", "2k", "--rm-search: '2k'; a whole number of evaluations, 0 for none, "),
        ("--rm-search", "-1", "--rm-search: '-1'; a whole number of evaluations, 0 for none, "),
        ("--rm-ledger", "none.jsonl", "--rm-ledger: none.jsonl: no ledger can be read there ("),
        ("--rm-ledger", "bad.jsonl", "--rm-ledger: bad.jsonl:2: expected a JSON object, found "),
    ],
)
def test_a_wrong_option(
    option: str, given: str, expected: str, run: Run, pytester: pytest.Pytester
) -> None:
    """One line before anything is run, and exit code 4."""
    (pytester.path / "bad.jsonl").write_text("\n<<<<<<< HEAD\n", encoding="ascii")

    result = run(SEARCH, f"{option}={given}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line]
    assert line.startswith(f"ERROR: {expected}")
