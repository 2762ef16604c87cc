"""Pairs in a run: where their file comes from, what an audit is given, and what is wrong told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.conftest import Run

CONFTEST = """
import pathlib, rmaudit
CALLS = pathlib.Path(__file__).with_name("calls.txt")

@rmaudit.scorer("house-rm", vocabulary=["a"], version="1")
def house_rm(prompt, responses):
    with CALLS.open("a") as file:
        file.write(f"{len(responses)}\\n")
    return [float(len(response)) for response in responses]
"""
BOUND = 'claim="c", source="", base_rate="no model", bound=above(0.5, unit="points")'
SHARE = """
    wide = pairs.frame.pivot(index="line", columns="chosen", values="reward")
    return estimate(float((wide[True] > wide[False]).mean()), 0.0)
"""
GIVEN = f"""
@audit({BOUND})
def test_longer(pairs):{SHARE}
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
    ran = run(GIVEN)

    assert ran.only["verdict"] == "N/A"
    assert "--rm-pairs FILE" in ran.only["why"]
    assert "`pairs: FILE`" in ran.only["why"]
    assert '"chosen": ' in ran.only["why"]


@pytest.mark.slow
def test_the_audits_own_file_goes_before_the_runs(run: Run, tmp_path: Path) -> None:
    """Then that of the option, then that of the model's entry; scored once, and named."""
    written(tmp_path / "own" / "pairs.jsonl", (1, 2), (1, 2), (1, 2))
    written(tmp_path / "run.jsonl", (2, 1), (1, 2))
    cache = tmp_path / "cache"

    option = ("--rm-pairs", "run.jsonl")
    own = run(DECLARED, *option, model="house-rm", cache=cache, conftest=CONFTEST).only
    asked = run(GIVEN, *option, model="house-rm", cache=cache).only
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8")
    again = run(GIVEN, *option, model="house-rm", cache=cache).only

    assert own["estimate"]["value"] == 0.0
    assert asked["estimate"]["value"] == 0.5
    assert asked["prompt"] == "pairs"
    assert any("2 pairs of run.jsonl" in said for said in asked["estimate"]["caveats"])
    assert "--rm-pairs=run.jsonl" in asked["repeat"]
    assert again["estimate"] == asked["estimate"]
    assert (tmp_path / "calls.txt").read_text(encoding="utf-8") == calls


@pytest.mark.slow
def test_the_entrys_file_is_taken(run: Run, toy: Path, tmp_path: Path) -> None:
    """Of a model in models.yaml, from that file's folder; one that is not there is told."""
    written(tmp_path / "entry.jsonl", *[(2, 1)] * 3)
    text = f"models:\n  house:\n    source: {toy}\n    pairs: entry.jsonl\n    default: true\n"

    ran = run(GIVEN, model="house", registry=text)

    assert any("3 pairs of entry.jsonl" in said for said in ran.only["estimate"]["caveats"])
    assert ran.only["sweeps"]
    wrong = run(GIVEN, model="house", registry=text.replace("entry", "none"))
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"prompt": "p", "responses": ["a", "aaa"]}', ""),
        ('{"prompt": "p", "responses": [3]}', "mine.jsonl:1: response"),
        (None, "mine.jsonl"),
    ],
)
def test_samples_of_a_policy_are_scored_and_named(
    run: Run, tmp_path: Path, text: str | None, says: str
) -> None:
    """Their rewards reach the audit; a wrong file is refused before anything is measured."""
    file = tmp_path / "mine.jsonl"
    if text is not None:
        file.write_text(text, encoding="utf-8")

    ran = run(DRAWN, f"--rm-samples={file}", model="house-rm", conftest=CONFTEST)

    if says:
        ran.refuses("--rm-samples: ", says)
    else:
        assert ran.only["estimate"]["value"] == 2.0
        assert "2 answers to 1 prompt of mine.jsonl" in str(ran.only)
