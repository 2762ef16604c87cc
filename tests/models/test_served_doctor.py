"""The doctor passes servers that score as their checkpoint does, and no others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.models.named import opened
from rmaudit.models.served import ServedIds, ServedTexts
from rmaudit.models.served_doctor import Comparison, compare
from tests.servers import Running, Served
from tests.toys import toy_checkpoint

PROMPT = "the love of the city?"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A checkpoint."""
    folder = toy_checkpoint(tmp_path_factory.mktemp("toy") / "rm")
    return Checkpoint(ModelSpec("toy", str(folder)), cache=folder.parent / "cache")


def in_half(reward: float) -> float:
    """What bfloat16 leaves of a reward."""
    return float(torch.tensor(reward, dtype=torch.bfloat16))


def compared(
    local: Checkpoint,
    kind: str,
    tmp_path: Path,
    change: Callable[[float], float],
    answer: Callable[[Any], Any] = lambda answer: answer,
) -> Comparison:
    """The doctor's findings of a server that has this checkpoint's rewards, changed."""
    lock = threading.Lock()

    def reward(row: Any) -> float:
        if isinstance(row, str):
            row = tuple(local.tokenizer(row, add_special_tokens=False).input_ids)
        with lock:
            return change(float(local.own_rewards([row])[0]))

    with Running(Served(reward=reward, change=answer)) as server:
        path = {"vllm": "", "openrlhf": "/get_reward"}[kind]
        spec = ModelSpec("house", f"{kind}+{server.url}{path}", checkpoint=local.spec.source)
        model = opened(spec, cache=tmp_path)
        assert isinstance(model, ServedIds | ServedTexts)
        return compare(model, local, PROMPT, answers=32)


@pytest.mark.parametrize("kind", ["vllm", "openrlhf"])
def test_a_server_of_the_checkpoint_passes(kind: str, local: Checkpoint, tmp_path: Path) -> None:
    """Also in bfloat16: within tolerance, with the ranks of the checkpoint."""
    exact = compared(local, kind, tmp_path, float)
    half = compared(local, kind, tmp_path, in_half)

    assert exact.ok
    assert exact.checks[-1].largest < 1e-4
    assert exact.rank_correlation == pytest.approx(1)
    assert half.ok
    assert 1e-4 < half.checks[-1].largest < 0.1


def test_rewards_that_rest_on_neighbours_fail(local: Checkpoint, tmp_path: Path) -> None:
    """An answer that is asked alone has another reward than among others."""

    def alone(answer: Any) -> Any:
        rewards = answer["rewards"]
        return {"rewards": [rewards[0] + 5]} if len(rewards) == 1 else answer

    found = compared(local, "openrlhf", tmp_path, float, alone)

    failed = [check.name for check in found.checks if not check.ok]
    assert failed == ["the server, alone against in batches"]


def test_another_scale_fails_and_is_named(local: Checkpoint, tmp_path: Path) -> None:
    """The same order and another scale, as OpenRLHF's --normalize_reward has it."""
    found = compared(local, "vllm", tmp_path, lambda reward: 3 * reward + 1)

    assert not found.ok
    assert found.rank_correlation == pytest.approx(1)
    assert "3 times" in found.notes[0]
    assert "normalize_reward" in found.notes[0]


def test_another_model_fails(local: Checkpoint, tmp_path: Path) -> None:
    """Rewards of nothing that the checkpoint knows; and one reward for all is refused."""
    rng = np.random.default_rng(0)

    found = compared(local, "vllm", tmp_path, lambda _: float(rng.normal()))

    assert not found.ok
    assert not any(check.ok for check in found.checks)
    assert found.rank_correlation is not None
    assert abs(found.rank_correlation) < 0.9
    with pytest.raises(ModelError, match="have one reward: 3"):
        compared(local, "vllm", tmp_path, lambda _: 3.0)
