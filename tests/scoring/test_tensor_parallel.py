"""transformers' tensor parallel plan with shared-prefix attention: the rewards stay the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmaudit.scoring import engine
from tests.scoring.rows import ANSWERS, END, PREFIX, assert_same, load
from tests.toys import toy_checkpoint

# Plain; softcaps and a window; norms of queries and keys.
KINDS = ("llama", "gemma2", "qwen3")


@pytest.mark.slow
def test_two_ranks_give_the_rewards_of_one(tmp_path: Path) -> None:
    """Each holds half of the heads and their keys; both get the same bytes."""
    toys = {kind: load(toy_checkpoint(tmp_path / kind, kind=kind)) for kind in KINDS}
    folders = [str(tmp_path / kind) for kind in KINDS]
    ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *ranks, "-m", "tests.scoring.ranks", str(tmp_path), *folders],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]

    first, second = (dict[str, Any](np.load(tmp_path / f"{rank}.npz")) for rank in (0, 1))
    for kind, toy in toys.items():
        assert first[kind].tobytes() == second[kind].tobytes()
        assert_same(first[kind], engine.score(toy.scorer(), PREFIX, ANSWERS, (END,)))
        held, whole = first[f"{kind} rows"]
        assert 2 * held == whole
