"""Whole answers in a run: where their file comes from, and what is wrong told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.conftest import SCORER, Run

CONFTEST = SCORER.format(vocabulary=["a"], score="float(len(response))")
BOUND = 'claim="c", source="", base_rate="no model", bound=above(0.5, unit="points")'
GIVEN = f"""
@audit({BOUND})
def test_longer(pairs):
    wide = pairs.frame.pivot(index="line", columns="chosen", values="reward")
    return estimate(float((wide[True] > wide[False]).mean()), 0.0)
"""
DECLARED = GIVEN.replace("@audit(", '@audit(pairs="own/pairs.jsonl", ')


def written(path: Path, *lengths: tuple[int, int]) -> Path:
    """Pairs of answers of so many letters, the first of them chosen."""
    lines = [
        {"prompt": f"p{i}", "chosen": "a" * chosen, "rejected": "b" * rejected}
        for i, (chosen, rejected) in enumerate(lengths)
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_without_a_file_it_is_not_asked_for(run: Run) -> None:
    """N/A with the way to give one, and no gap of the run."""
    only = run(GIVEN).only

    assert only["verdict"] == "N/A"
    assert all(way in only["why"] for way in ("--rm-pairs FILE", "`pairs: FILE`", '"chosen": '))


@pytest.mark.slow
def test_the_audits_own_file_goes_before_the_runs_and_that_before_the_entrys(
    run: Run, toy: Path, tmp_path: Path
) -> None:
    """It is scored once, and named; a file of an entry is in that file's folder, or refused."""
    written(tmp_path / "own" / "pairs.jsonl", (1, 2), (1, 2), (1, 2))
    written(tmp_path / "run.jsonl", (2, 1), (1, 2))
    written(tmp_path / "entry.jsonl", *[(2, 1)] * 3)
    cache, option = tmp_path / "cache", ("--rm-pairs", "run.jsonl")
    text = f"models:\n  toy:\n    source: {toy}\n    pairs: entry.jsonl\n    default: true\n"

    own = run(DECLARED, *option, model="house-rm", cache=cache, conftest=CONFTEST).only
    asked = run(GIVEN, *option, model="house-rm", cache=cache).only
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8")
    again = run(GIVEN, *option, model="house-rm", cache=cache).only
    of_run, entrys = (run(GIVEN, *more, model="toy", registry=text).only for more in (option, ()))

    assert (own["estimate"]["value"], asked["estimate"]["value"]) == (0.0, 0.5)
    assert asked["prompt"] == "pairs"
    assert "--rm-pairs=run.jsonl" in asked["repeat"]
    assert again["estimate"] == asked["estimate"]
    assert (tmp_path / "calls.txt").read_text(encoding="utf-8") == calls
    for found, source in ((asked, "2 pairs of run"), (of_run, "of run"), (entrys, "3 pairs of e")):
        assert source in str(found["estimate"]["caveats"])
    assert entrys["sweeps"]
    wrong = run(GIVEN, model="toy", registry=text.replace("entry", "none"))
    wrong.refuses("models.yaml:4", "pairs: there is no file", "none.jsonl")


def test_a_wrong_line_stops_the_run(run: Run, tmp_path: Path) -> None:
    """Before anything is scored, in one line, wherever the file is named; conduct is of a kind."""
    path = written(tmp_path / "own" / "pairs.jsonl", (1, 2))
    path.write_text(path.read_text(encoding="utf-8") + '\n{"prompt": "a", "chosen": "b"}')
    line = {"prompt": "p", "chosen": "a", "rejected": "b", "subset": "conduct: agrement"}
    (tmp_path / "run.jsonl").write_text(json.dumps(line), encoding="utf-8")

    run(DECLARED).refuses("pairs.jsonl:2: has no rejected")
    run(GIVEN, "--rm-pairs", "own/pairs.jsonl").refuses("--rm-pairs: ", "2: has no rejected")
    run(GIVEN, "--rm-pairs=run.jsonl").refuses("--rm-pairs: line 1 of ", "agrement", "agreement")


DRAWN = f"""
@audit({BOUND})
def test_drawn(samples):
    return estimate(float(samples.frame["reward"].mean()), 0.0)
"""


def test_samples_of_a_policy_are_scored_and_named(run: Run, tmp_path: Path) -> None:
    """Their rewards reach the audit; a wrong file is refused before anything is measured."""
    file, option = tmp_path / "mine.jsonl", "--rm-samples=mine.jsonl"
    run(DRAWN, option, conftest=CONFTEST).refuses("--rm-samples: ", "mine.jsonl")
    file.write_text('{"prompt": "p", "responses": [3]}', encoding="utf-8")
    run(None, option).refuses("--rm-samples: ", "mine.jsonl:1: response")
    file.write_text('{"prompt": "p", "responses": ["a", "aaa"]}', encoding="utf-8")

    only = run(None, option, model="house-rm").only

    assert only["estimate"]["value"] == 2.0
    assert "2 answers to 1 prompt of mine.jsonl" in str(only)
