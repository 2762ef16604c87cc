"""Time all audits of ten models under three prompts, from cached sweeps of 128k and 256k tokens.

    python -m benchmarks.audits

The models are organisms (synthetic scorers, `rmaudit.organisms.word_organisms`): five with a
vocabulary of Llama's size and five of Gemma's, made of real words in several spellings and of
fragments. Their sweeps are stored in a cache first, which is not timed. Texts that an audit asks
for are scored by the organisms, which is. Printed are the time of `pytest audits`, the report
included, and its peak memory.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness import arguments, say, timed
from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.recorded_model import TOKENS, Recorded
from rmaudit.organisms.selftest import Bench
from rmaudit.organisms.word_organisms import Planted, Traits
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.scores.score_store import Store

ROOT = Path(__file__).parents[1]
MODELS = {f"L-{i}": 128_256 for i in range(5)} | {f"G-{i}": 256_000 for i in range(5)}
REWARDS = """
import pytest
from rmaudit.organisms.word_organisms import Traits
from rmaudit.organisms.selftest import Bench
from rmaudit.references import References
from rmaudit.scores.sweep import Scored
from rmaudit.scores.text_rewards import Rewards

@pytest.fixture
def rewards(reward_model, prompts):
    seed = sum(map(ord, reward_model.name))
    organism = Bench(None, None, References()).organism(Traits(), seed)
    return Rewards(prompts, lambda texts, p: Scored(organism(texts, p).astype("f4"), 0.0, ""))
"""


def vocabulary(size: int) -> pd.DataFrame:
    """Return a made-up vocabulary of `size` texts: words in four spellings, then with a digit.

    The most frequent words come first.
    """
    import wordfreq

    words = [word for word in wordfreq.top_n_list("en", size // 6) if word.isalpha()]
    texts = [form for w in words for form in (w, f" {w}", w.title(), f" {w.title()}")]
    texts += [f"{w}{i}" for i in range(9) for w in words]
    unique = list(dict.fromkeys(texts))[:size]
    ids = np.arange(len(unique), dtype=np.int32)
    return pd.DataFrame({"token_id": ids, "token": unique, "text": unique})


def record(cache: Path) -> None:
    """Store a sweep of each model in `MODELS` under each prompt in the folder `cache`."""
    bench, store = Bench(ROOT / "audits", pd.DataFrame(), References()), Store(cache)
    frames = {size: vocabulary(size) for size in set(MODELS.values())}
    for name, size in MODELS.items():
        model, rows = Recorded(ModelSpec(name, f"owner/{name}")), frames[size]
        organism: Planted = bench.organism(Traits(), sum(map(ord, name)))
        for prompt in PROMPTS.values():
            scores = organism(list(rows["text"]), prompt).astype(np.float32)
            fields = {
                **model.identity,
                "prompt": prompt.text,
                "answers": TOKENS,
                "protocol": "paper",
            }
            store.fill(fields, rows, lambda which, s=scores: s[which], lambda: {"noise": 1e-4})  # type: ignore[misc]


def main() -> None:
    """Store the sweeps, run the audits on them, and print the time and the peak memory."""
    parser = arguments(__doc__)
    parser.add_argument("-n", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--keep", type=Path, help="a folder for the cache, made once")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        cache = asked.keep or here / "cache"
        if not cache.exists():
            record(cache)
        shutil.copytree(ROOT / "audits", here / "audits")
        (here / "audits" / "conftest.py").write_text(REWARDS)
        entries = "".join(f"  {name}: {{source: owner/{name}}}\n" for name in MODELS)
        entries = entries.replace("}\n", ", default: true}\n", 1)
        (here / "models.yaml").write_text(f"models:\n{entries}")
        command = [sys.executable, "-m", "pytest", "audits", "--model", "*", "--rm-recorded", "-q"]
        command += ["--rm-cache", str(cache), "-p", "no:cacheprovider"]
        command += ["-n", str(asked.n), "--dist", "loadgroup"] if asked.n > 1 else []
        once = timed(lambda: subprocess.run(command, cwd=here, capture_output=True, check=False))  # noqa: S603  (ours)
    if once.found.returncode > 1:
        sys.exit(once.found.stdout.decode()[-20_000:])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6  # of the largest process
    say(
        "audits",
        models=len(MODELS),
        prompts=len(PROMPTS),
        processes=asked.n,
        seconds=round(once.clock, 1),
        peak_gb_of_the_largest_process=round(peak, 2),
    )


if __name__ == "__main__":
    main()
