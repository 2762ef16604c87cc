"""What a run needs comes from its audits; once it is made, the run finds all and loads nothing."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from tests.plugin.conftest import AUDITS, SCORER, run_in

Suite = Callable[..., list[str]]

BODY = """
import numpy as np

def measured(scores):
    return estimate(2.0 + float(np.tanh(scores).mean()))

@declare(0.0)
def test_swept(sweep): return measured(sweep.frame["score"])

@declare(0.0, prompts=["best"])
def test_some_texts(sweep, rewards, rng):
    few = [f"{word} {rng.integers(9)}" for word in ("love", "war")]
    return measured(rewards(few).scores)

@declare(0.0, prompts=["best"])
def test_what_follows(sweep, rewards):
    return measured(rewards(sweep.top(3)["text"].tolist()).scores)

@declare(0.0, prompts=["worst"])
def test_searched(searches, rewards):
    found = searches("up")
    return measured(rewards(found.frame["text"].head(2).tolist()).scores)
"""
PAIRS = """
@declare(0.0, prompts=["best"])
def test_swept(sweep): return estimate(3.0)

@declare(0.0, prompts=["best"])
def test_in_pairs(pairs): return estimate(float(len(pairs.frame)))

@declare(0.0, prompts=["best"])
def test_replayed(ledger): return estimate(float(len(ledger)))
"""


def command(*arguments: str, code: int = 0) -> str:
    """What a command prints."""
    ran = CliRunner().invoke(app, [*arguments])
    assert ran.exit_code == code, ran.output
    return ran.output


def planned(*arguments: str) -> list[dict[str, Any]]:
    """The needs of a run."""
    found: list[dict[str, Any]] = json.loads(command("plan", *arguments, "--json"))["needs"]
    return found


def kept(cache: Path) -> dict[str, bytes]:
    """The files of a store."""
    return {path.name: path.read_bytes() for path in (cache / "scores").rglob("*")}


@pytest.fixture
def suite(tmp_path: Path, toy: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Write a file of audits; return a command's arguments for it, the toy and a cache."""
    monkeypatch.chdir(tmp_path)

    def write(body: str = BODY, **files: str) -> list[str]:
        for name, text in {"test_toy": AUDITS + body, **files}.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return ["test_toy.py", "--model", str(toy), "--cache", "cache"]

    return write


@pytest.mark.slow
def test_a_run_after_its_sweep_finds_all_and_loads_no_weights(
    suite: Suite, toy: Path, tmp_path: Path
) -> None:
    """Also what is asked for only once other scores are there; parts make what one makes."""
    run, cache = [*suite(), "--search", "400"], tmp_path / "cache"

    needs = planned(*run)

    assert not (cache / "scores").exists()
    assert [(n["kind"], n["prompt"], n["answers"], n["settled"]) for n in needs] == [
        ("sweep", "greatest", 301, True),
        ("sweep", "worst", 301, True),
        ("sweep", "best", 301, True),
        ("texts", "best", 2, True),
        ("texts", "best", 3, False),
        ("search", "worst", 400, False),
    ]
    assert all(n["missing"] == n["answers"] and n["flops"] > 0 for n in needs)
    assert "nothing is missing" in command("sweep", *run)
    made = kept(cache)
    assert len(made) == 7  # the plan's six, and the texts of what the search found
    assert planned(*run, "--missing") == []
    assert "0 answers scored" in command("sweep", *run)

    options = ["--rm-cache", "cache", "--rm-search", "400", "--rm-device", "cuda:7"]
    ran = run_in(tmp_path, [run[0], "--rm-model", str(toy), *options])  # a device that is not there

    assert ran.parseoutcomes() == {"passed": 5}, ran.outlines
    assert kept(cache) == made

    parted = [*run[:4], "shared", *run[5:]]
    for _ in range(3):  # a search waits for the sweep, and texts for the search
        for k in (1, 2):
            CliRunner().invoke(app, ["sweep", *parted, "--part", f"{k}/2"])
    assert kept(tmp_path / "shared") == made
    command("tokens", str(toy), "--prompt", "best", "--cache", "one")
    ((name, scores),) = kept(tmp_path / "one").items()
    assert made[name] == scores


@pytest.mark.slow
def test_what_a_run_is_given_is_planned(suite: Suite, tmp_path: Path) -> None:
    """Other prompts and pairs, as `--rm-prompts` and `--rm-pairs`."""
    run = suite(PAIRS)
    line = json.dumps({"prompt": "p", "chosen": "love", "rejected": "war"})
    (tmp_path / "mine.jsonl").write_text(f"{line}\n", encoding="utf-8")
    (tmp_path / "none.jsonl").write_text('{"no": "pair"}\n', encoding="utf-8")

    assert [(n["kind"], n["prompt"]) for n in planned(*run)] == [("sweep", "best")]
    found = planned(*run, "--prompts", "worst", "--pairs", "mine.jsonl")

    assert [(n["kind"], n["prompt"]) for n in found if n["kind"] == "sweep"] == [("sweep", "worst")]
    assert sum(n["answers"] for n in found if n["kind"] != "sweep") == 2
    script = command("sweep", *run, "--pairs", "mine.jsonl", "--prompts", "worst", "--print")
    assert "--prompts=worst --pairs=mine.jsonl" in script
    refused = command("plan", *run, "--pairs", "none.jsonl", code=3)
    assert refused.startswith("--rm-pairs: none.jsonl:1: ")


@pytest.mark.slow
def test_what_was_planned_is_planned_again_without_a_tokenizer(suite: Suite) -> None:
    """The ids of texts are cached, as by a run; the time on this machine is printed."""
    run = ["plan", *suite()]
    (line,) = [line for line in command(*run).splitlines() if "on this machine (" in line]
    assert re.fullmatch(
        r"  on this machine \(\S+\) \S+ .*: 60 % of [\d,]+ GFLOP/s, measured.*", line
    )
    first = json.loads(command(*run, "--json"))
    (told,) = first["this machine"]
    assert told["model"] == "toy"
    assert 0 < told["seconds"] < 3600
    code = "import sys; from rmaudit.cli import app\ntry: app()\nfinally: print(*sys.modules)"

    again = subprocess.run(
        [sys.executable, "-c", code, *run, "--json"], capture_output=True, text=True, check=False
    )

    said, _, modules = again.stdout.strip().rpartition("\n")
    assert json.loads(said)["needs"] == first["needs"]
    assert {"torch", "transformers", "tokenizers"}.isdisjoint(modules.split())


@pytest.mark.slow
def test_what_is_wrong_is_one_line(suite: Suite) -> None:
    """A model, an audit, a part that is none: exit code 4 or 3, and what to write instead."""
    (audits, *_) = suite()
    for arguments, words in {
        ("plan", audits, "--model", "nothing"): "nothing",
        ("sweep", audits, "--part", "5/4"): "write 3/16",
        ("plan", "test_none.py"): "test_none.py",
    }.items():
        ran = CliRunner().invoke(app, [*arguments])
        assert ran.exit_code in {3, 4}
        assert words in ran.output
        assert len(ran.output.strip().splitlines()) == 1


LOST = """
import pytest
@pytest.fixture
def lost(): raise OSError('no network')
@declare(0.0, prompts=['best'])
def test_fine(sweep): return estimate(1.0)
""" + "".join(
    f"@declare(0.0, prompts=['best'])\ndef test_{name}(lost, sweep): ...\n"
    for name in ("first", "second")
)


@pytest.mark.slow
def test_one_cause_is_said_once(suite: Suite) -> None:
    """Without a network, say, sixty audits cannot be planned for one reason."""
    (line,) = [line for line in command("plan", *suite(LOST)).splitlines() if "OSError" in line]

    assert "test_first" in line
    assert "and 1 more: " in line


SWEPT = "@declare(0.0)\ndef test_swept(sweep): return estimate(1.0)\n"


@pytest.mark.slow
def test_a_scorer_of_a_conftest_is_swept(suite: Suite) -> None:
    """As it is planned; a model that pytest does not know either is an error as ever."""
    conftest = SCORER.format(vocabulary=["a", "b", "cc"], score="float(len(response))")
    house = [*suite(SWEPT, conftest=conftest), "--model=house-rm"]
    del house[1:3]  # the toy

    assert command("sweep", *house).splitlines()[-1] == "6 answers scored; nothing is missing"
    assert "nothing is missing" in command("plan", *house, "--missing")
    unknown = command("sweep", *house[:-1], "--model=house", code=4)
    assert "unknown model 'house'" in unknown
    for words in (["doctor"], ["models", "check"], ["tokens"]):
        said = command(*words, "house", code=4)
        assert "unknown model 'house'" in said
        assert "this command reads no conftest.py: pytest, and `rmaudit plan`" in said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_the_planning_ends_the_sweep(
    number: signal.Signals, suite: Suite, tmp_path: Path
) -> None:
    """Pytest keeps Ctrl-C to itself; nothing of half a plan is scored."""
    body = "import signal\n@declare(0.0)\ndef test_swept(sweep, rewards):\n"
    run = suite(f"{body}    signal.raise_signal({int(number)})\n")

    said = command("sweep", *run, code=128 + number)

    assert said.startswith("interrupted; to go on, run rmaudit")
    assert not (tmp_path / "cache" / "scores").exists()
