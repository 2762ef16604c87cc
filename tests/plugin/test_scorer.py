"""A function as the model of a run: its findings, what it has not, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import rmaudit
from rmaudit.prompts import PROMPTS
from tests.plugin.conftest import Run

CONFTEST = """
import pathlib, rmaudit
CALLS = pathlib.Path(__file__).with_name("calls.txt")

@rmaudit.scorer("house-rm", vocabulary={vocabulary!r}, version="1", batch=2)
def house_rm(prompt, responses):
    with CALLS.open("a") as file:
        file.write(f"{{len(responses)}}\\n")
    return [{score} for response in responses]
"""
SWEPT = """
@declare(-99.0, prompts=["best"])
def test_longest(sweep, rewards):
    return estimate(float(sweep.frame["score"].max() + rewards(["abc"]).scores[0]), 50.0)

@declare(0.0, prompts=["best"])
def test_base(base_logprobs): return estimate(1.0)

@declare(0.0, prompts=["best"])
def test_search(searches): return estimate(1.0)
"""


def test_a_function_is_audited(run: Run, tmp_path: Path) -> None:
    """The text protocol is named, what needs ids is N/A, and a second run asks nothing."""
    texts = ["a", "bbbb", "cc"]
    conftest = CONFTEST.format(vocabulary=texts, score="len(response)")

    first = run(SWEPT, model="house-rm", cache=tmp_path / "cache", conftest=conftest)
    asked = (tmp_path / "calls.txt").read_text(encoding="utf-8")
    again = run(model="house-rm", cache=tmp_path / "cache")

    by_name = {finding["audit"]: finding for finding in first.findings}
    assert by_name["longest"]["estimate"]["value"] == 7.0
    assert any("as texts" in said for said in by_name["longest"]["estimate"]["caveats"])
    assert any("3 texts" in said for said in by_name["longest"]["estimate"]["caveats"])
    assert {by_name[name]["verdict"] for name in ("base", "search")} == {"N/A"}
    assert "function of texts" in by_name["search"]["why"]
    assert "--rm-model=scorer:house-rm " in by_name["longest"]["repeat"]
    assert [f["estimate"] for f in again.findings] == [f["estimate"] for f in first.findings]
    assert (tmp_path / "calls.txt").read_text(encoding="utf-8") == asked


def test_a_function_that_fails_gives_no_number(run: Run, tmp_path: Path) -> None:
    """An ERROR that names the scorer and the response; nothing of it is measured."""
    conftest = CONFTEST.format(vocabulary=["a", "b"], score="float('nan')")

    made = run(SWEPT, "-k", "longest", model="house-rm", cache=tmp_path / "c", conftest=conftest)

    assert made.only["verdict"] == "ERROR"
    assert "house-rm" in made.only["why"]
    assert "'a'" in made.only["why"]


def test_a_function_finds_what_its_checkpoint_does(run: Run, toy: Path, tmp_path: Path) -> None:
    """The same scores of the same tokens and texts, through a checkpoint and through a function."""
    model = rmaudit.load(toy, cache=tmp_path / "cache")
    scored = rmaudit.sweep(model, "best", cache=tmp_path / "cache").frame
    scores = dict(zip(scored["text"], map(float, scored["score"]), strict=True))
    several = ["love of the city", "war and peace"]
    more = model.score(PROMPTS["best"].text, several).tolist()
    scores |= dict(zip(several, more, strict=True))
    conftest = CONFTEST.format(vocabulary=str(toy), score=f"({scores!r})[response]")
    body = """
@declare(-99.0, prompts=["best"])
def test_mean(sweep, rewards):
    texts = sweep.frame.drop_duplicates("text", keep="last")
    several = rewards(["love of the city", "war and peace"]).scores.mean()
    return estimate(float(texts["score"].mean() + several), 0.5)
"""

    by_function = run(body, model="house-rm", cache=tmp_path / "cache", conftest=conftest).only
    by_weights = run(model=str(toy), cache=tmp_path / "cache").only

    assert by_function["estimate"]["value"] == pytest.approx(by_weights["estimate"]["value"])
    assert by_function["verdict"] == by_weights["verdict"]


OWN = """
from rmaudit import Prompt
from rmaudit.measures.scores_by_prompt import Answers

KINDEST = Prompt("kindest", "What, in one word, is the kindest thing ever?", +1)

@declare(-99.0, prompts=[KINDEST, "best"])
def test_kind(sweep): return estimate(float(sweep.frame["score"].mean()), 50.0)

@declare(-99.0, prompts=[Prompt("shortest", "What is the shortest word?", 0)])
def test_turned(sweep):
    return estimate(float(Answers(sweep.frame, sweep.prompt.direction, 0.0).sign), 50.0)
"""


def test_a_prompt_of_ones_own_is_asked_and_named(run: Run, tmp_path: Path) -> None:
    """In findings and in the summary of its sweep, of a second process, too; frame 0 is refused."""
    conftest = CONFTEST.format(vocabulary=["a", "b"], score="len(prompt)")

    first = run(OWN, model="house-rm", cache=tmp_path / "cache", conftest=conftest)
    again = run(model="house-rm", cache=tmp_path / "cache")

    for ran in (first, again):
        by_name = {(f["audit"], f["prompt"]): f for f in ran.findings}
        assert by_name["kind", "kindest"]["estimate"]["value"] == 45.0
        assert "frame=0" in by_name["turned", "shortest"]["why"]
        (model,) = ran.results["models"]
        assert {sweep["prompt"] for sweep in model["sweeps"]} == {"kindest", "best"}


FEW = """
from rmaudit.errors import MeasureError

@declare(-99.0, prompts=["best"])
def test_many(sweep):
    if len(sweep.frame) < 100:
        raise MeasureError("100 tokens are needed")
    return estimate(1.0)
"""


def test_what_a_sample_is_too_small_for_is_no_error(run: Run) -> None:
    """It is not measured, with the way out; of a whole vocabulary it is an ERROR as ever."""
    few = run(FEW, "--rm-sample", "2").only
    whole = run(FEW.replace("< 100", "< 10**9")).only

    assert (few["verdict"], whole["verdict"]) == ("SKIPPED", "ERROR")
    assert "100 tokens" in few["why"]
    assert "--rm-sample 2" in few["why"]
