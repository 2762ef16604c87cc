"""rmaudit doctor, models and models check of a model behind a server: what is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_model import Checkpoint
from tests.cli.running import run
from tests.servers import Running, Served
from tests.toys import toy_checkpoint


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint."""
    return toy_checkpoint(tmp_path_factory.mktemp("models") / "toy")


@pytest.fixture
def served(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server of the toy's rewards, as the default of the models.yaml of the current folder."""
    local, lock = Checkpoint(ModelSpec("toy", str(toy)), cache=tmp_path), threading.Lock()

    def reward(row: tuple[int, ...]) -> float:
        with lock:
            return float(local.own_rewards([row])[0])

    has = Served(reward=reward)
    monkeypatch.chdir(tmp_path)
    with Running(has) as server:
        entry = f"source: vllm+{server.url}, tokenizer: {toy}, retries: 0, default: true"
        Path("models.yaml").write_text(f"models: {{house: {{{entry}}}}}\n", encoding="utf-8")
        yield has


def test_doctor_compares_a_server_with_its_checkpoint(served: Served, toy: Path) -> None:
    """Exit 0 with the largest difference and the rank correlation; 1 once rewards are others."""
    command = ["doctor", "house", "--answers", "8", "--cache", "cache"]
    fine = run(*command, "--checkpoint", str(toy))
    alone = run(*command, "--json")
    own, served.reward = served.reward, lambda row: -own(row)
    wrong = run(*command, "--checkpoint", str(toy))

    assert fine.exit_code == 0
    assert "the server against float32 here" in fine.stdout
    assert "rank correlation with the checkpoint: 1.0000, allowed 0.99 and more  ok" in fine.stdout
    assert alone.exit_code == 0
    told = json.loads(alone.stdout)
    assert (told["rank_correlation"], told["ok"]) == (None, True)
    assert "`checkpoint`" in told["notes"][0]
    assert wrong.exit_code == 1
    assert "TOO FAR" in wrong.stdout
    assert "TOO LOW" in wrong.stdout


def test_models_says_what_a_server_is(served: Served) -> None:
    """Listed without asking it; `check` asks, and says why it is refused."""
    listed = run("models").stdout
    asked = served.requests
    fine = run("models", "check", "house")
    served.knows = "nothing"
    wrong = run("models", "check", "house")

    assert any("house" in line and line.endswith("served") for line in listed.splitlines())
    assert asked == 0
    assert fine.exit_code == 0
    assert "vLLM, which has 'house/rm'" in fine.stdout
    assert "logits, by token ids" in fine.stdout
    assert "pytest audits --model house" in fine.stdout
    assert wrong.exit_code == 1
    assert "gives no logits" in wrong.stdout


def test_a_search_of_a_server_needs_no_gradient(served: Served) -> None:
    """An exhaustive one is made; GCG says what to do."""
    command = ["search", "house", "--prompt", "best", "--length", "1", "--cache", "cache"]
    made = run(*command, "--budget", "32", "--method", "exhaustive", "--json")
    gcg = run(*command, "--budget", "32", "--method", "gcg")

    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)[0]["evaluations"] == 32
    assert gcg.exit_code == 3
    assert "no gradient here (a server gives rewards" in gcg.stderr
