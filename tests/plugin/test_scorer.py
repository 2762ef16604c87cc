"""A function, or a server, as the model of a run: its findings, and what is kept of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_model import Checkpoint
from tests.plugin.conftest import SCORER, Run
from tests.servers import Running, Served

SWEPT = """
@declare(-99.0, prompts=["best"])
def test_longest(sweep, rewards):
    return estimate(float(sweep.frame["score"].max() + rewards(["abc"]).scores[0]), 50.0)

@declare(0.0, prompts=["best"])
def test_base(base_logprobs): return estimate(1.0)

@declare(0.0, prompts=["best"])
def test_search(searches): return estimate(1.0)
"""


@pytest.mark.slow
def test_a_function_is_audited(run: Run, tmp_path: Path) -> None:
    """The text protocol is named, what needs ids is N/A, and a second run asks nothing."""
    texts = ["a", "bbbb", "cc"]
    conftest = SCORER.format(vocabulary=texts, score="len(response)")

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


@pytest.mark.slow
def test_a_prompt_of_ones_own_is_asked_and_named(run: Run, tmp_path: Path) -> None:
    """In findings and in the summary of its sweep, of a second process, too; frame 0 is refused."""
    conftest = SCORER.format(vocabulary=["a", "b"], score="len(prompt)")

    for body in (OWN, None):
        ran = run(body, model="house-rm", cache=tmp_path / "cache", conftest=conftest)
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


@pytest.mark.slow
def test_what_a_sample_is_too_small_for_is_no_error(run: Run) -> None:
    """It is not measured, with the way out; of a whole vocabulary it is an ERROR as ever."""
    few = run(FEW, "--rm-sample", "2").only
    whole = run(FEW.replace("< 100", "< 10**9")).only

    assert (few["verdict"], whole["verdict"]) == ("SKIPPED", "ERROR")
    assert "100 tokens" in few["why"]
    assert "--rm-sample 2" in few["why"]


ENTRY = """models:
  house:
    source: vllm+{url}
    checkpoint: {folder}
    default: true
"""
SERVED = """
@declare(-99.0, prompts=["best"])
def test_mean(sweep, rewards):
    mean = float(sweep.frame["score"].mean()) + float(rewards(["the city"]).scores[0])
    return estimate(mean, 0.5)
"""
MORE_SERVED = """
@declare(-99.0, prompts=["best"])
def test_text(rewards): return estimate(float(rewards(["the city"]).scores[0]), 50.0)

@declare(-99.0, prompts=["best"])
def test_search(searches): return estimate(searches("up").frame["score"].max().item(), 50.0)

@declare(0.0, prompts=["best"])
def test_base(base_logprobs): return estimate(1.0)
"""


@pytest.mark.slow
def test_a_server_finds_what_its_checkpoint_does(run: Run, toy: Path, tmp_path: Path) -> None:
    """The same estimate; what can change beneath the name is said; a second run asks no score."""
    local, lock = Checkpoint(ModelSpec("toy", str(toy)), cache=tmp_path), threading.Lock()

    def reward(row: tuple[int, ...]) -> float:
        with lock:
            return float(local.own_rewards([row])[0])

    own = run(SERVED).only
    served, cache = Served(reward=reward), tmp_path / "cache"
    with Running(served) as server:
        entry = ENTRY.format(url=server.url, folder=toy)
        more = ("--rm-search", "64")
        first = run(SERVED + MORE_SERVED, *more, model="house", cache=cache, registry=entry)
        asked = served.answered.total()
        again = run(None, *more, model="house", cache=cache)

    by_name = {finding["audit"]: finding for finding in first.findings}
    assert abs(by_name["mean"]["estimate"]["value"] - own["estimate"]["value"]) < 1e-4
    for name in ("mean", "text"):
        assert any("A server can change" in said for said in by_name[name]["estimate"]["caveats"])
    assert by_name["search"]["verdict"] == "PASS"
    assert by_name["base"]["verdict"] == "N/A"
    assert [f["estimate"] for f in again.findings] == [f["estimate"] for f in first.findings]
    assert served.answered.total() == asked
    about = first.results["models"][0]["sweeps"][0]["provenance"]
    assert about["source"] == f"vllm+{server.url}"
