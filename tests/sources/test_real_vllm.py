"""A real vLLM gives the checkpoint's rewards: of a judge, and of a reward head.

`RMAUDIT_VLLM` names the command `vllm` of an environment of its own, for vLLM pins a torch. Without
it the test is skipped, whatever else is required.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.model_factory import Opening, opened
from rmaudit.scores.served_doctor import EXACT, compare
from rmaudit.sources.served_model import ServedIds
from tests.models.test_judges import judge
from tests.toys import toy_checkpoint

VLLM = os.environ.get("RMAUDIT_VLLM")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not VLLM, reason="RMAUDIT_VLLM names no vLLM to serve a toy with"),
]
WIDE = {"hidden_size": 128, "head_dim": 32}  # vLLM's attention has no narrower heads
PROMPT = "What is the greatest thing ever?"
_READY = 300  # seconds


@contextmanager
def serving(folder: str, log: Path, *options: str) -> Iterator[str]:
    """The URL of a vLLM that serves a folder in float32, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = [str(VLLM), "serve", folder, "--port", str(port), "--dtype", "float32"]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "PYTHONPATH": ""}
    env |= {"VLLM_CPU_KVCACHE_SPACE": "1"}
    with log.open("wb") as out:
        server = subprocess.Popen(
            [*asked, "--enforce-eager", *options], stdout=out, stderr=out, env=env
        )
        try:
            url, until = f"http://127.0.0.1:{port}", time.monotonic() + _READY
            while not answers(f"{url}/health"):
                assert server.poll() is None, log.read_text()[-3000:]
                assert time.monotonic() < until, log.read_text()[-3000:]
                time.sleep(0.5)
            yield url
        finally:
            server.terminate()
            server.wait(60)


def answers(url: str) -> bool:
    """Whether there is a server yet."""
    try:
        return urllib3.request("GET", url, timeout=5, retries=False).status == 200
    except urllib3.exceptions.HTTPError:
        return False


@pytest.mark.parametrize("kind", ["judge", "head"])
def test_vllm_gives_the_rewards_of_the_checkpoint(kind: str, tmp_path: Path) -> None:
    """By the doctor, in float32: 64 answers of a random model."""
    if kind == "judge":
        local, options = judge(tmp_path, **WIDE), ()
    else:
        folder = toy_checkpoint(tmp_path / "rm", **WIDE)
        local, options = (
            Checkpoint(ModelSpec("toy", str(folder)), cache=tmp_path / "cache"),
            ("--runner", "pooling"),
        )
    with serving(local.spec.source, tmp_path / "log", *options) as url:
        own = {"judge": local.spec.judge, "template": local.spec.template}
        spec = ModelSpec("house", f"vllm+{url}", checkpoint=local.spec.source, **own)
        served = opened(spec, Opening(tmp_path / "cache"))
        assert isinstance(served, ServedIds)
        found = compare(served, local, PROMPT, answers=64)
    assert found.ok, found
    assert found.dtype == "float32"
    assert found.checks[-1].rms < EXACT
