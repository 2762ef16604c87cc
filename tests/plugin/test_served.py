"""A model behind a server as the model of a run: its findings, its caveats, and a dead server."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_model import Checkpoint
from tests.plugin.conftest import Run
from tests.servers import Running, Served, patient

ENTRY = """models:
  house:
    source: vllm+{url}
    checkpoint: {folder}
    default: true
"""
SWEPT = """
@declare(-99.0, prompts=["best"])
def test_mean(sweep, rewards):
    mean = float(sweep.frame["score"].mean()) + float(rewards(["the city"]).scores[0])
    return estimate(mean, 0.5)
"""
MORE = """
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

    own = run(SWEPT).only
    served, cache = Served(reward=reward), tmp_path / "cache"
    with Running(served) as server:
        entry = ENTRY.format(url=server.url, folder=toy)
        (tmp_path / "models.yaml").write_text(entry, encoding="utf-8")
        first = run(SWEPT + MORE, "--rm-search", "64", model="house", cache=cache)
        asked = served.answered.total()
        again = run(None, "--rm-search", "64", model="house", cache=cache)

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


def test_a_dead_server_ends_the_run_with_a_line(
    run: Run, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ERROR that says how to go on, and no number; another dtype is refused."""
    patient(monkeypatch, retries=0)
    with Running(Served()) as server:
        url = server.url
    entry = ENTRY.format(url=url, folder=toy)
    (tmp_path / "models.yaml").write_text(entry, encoding="utf-8")

    dead = run(SWEPT, model="house", cache=tmp_path / "cache").only
    narrow = run(None, "--rm-dtype", "bfloat16", model="house", cache=tmp_path / "cache").only

    assert dead["verdict"] == narrow["verdict"] == "ERROR"
    assert dead["estimate"] is None
    assert f"house: no answer from {url}/v1/models" in dead["why"]
    assert "run the same command" in dead["why"]
    assert "whoever started its server decides" in narrow["why"]
