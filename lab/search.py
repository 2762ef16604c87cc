"""Compare search methods at the same number of evaluations.

python -m lab search [--budget 512] [--ids 128] [--seeds 5] [--lengths 2 3 5 10]

On R-Smol-135M, prompt "best", among a seeded draw of ids that are words, since a CPU scores a few
hundred sequences a second: random search, plain GCG, plain GCG with each of Faster-GCG's changes
alone, all three, and exhaustive search; up and down. From one random start, and another wherever a
search ends before its budget does. Prints a line a search kind, direction and length: the median
best reward over the seeds in sd of random sequences, how often it was at least as good as
exhaustive search and as plain GCG on the same seed, and the median CPU seconds.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from lab.harness import Timed, arguments, say, timed
from rmaudit.models.model_factory import checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.search.cached_search import SearchResult, search
from rmaudit.search.constraints import Constraints, allowed
from rmaudit.search.search_settings import Direction, Gcg, Settings

if TYPE_CHECKING:
    from rmaudit.models.checkpoint_model import Checkpoint

PROMPT = PROMPTS["best"]
ROUNDING = 1e-4  # one sequence scored behind two prefixes
PLAIN = Gcg(greedy=False, fresh=False, distance=0.0, top=32, batch=64)
KINDS: dict[str, dict[str, Any]] = {
    "random": {"method": "random"},
    "plain GCG": {"method": "gcg", "gcg": PLAIN},
    "GCG + distance": {"method": "gcg", "gcg": replace(PLAIN, distance=1.0)},
    "GCG + greedy": {"method": "gcg", "gcg": replace(PLAIN, greedy=True)},
    "GCG + fresh": {"method": "gcg", "gcg": replace(PLAIN, fresh=True)},
    "greedy + fresh": {"method": "gcg", "gcg": replace(PLAIN, greedy=True, fresh=True)},
    "Faster-GCG": {
        "method": "gcg",
        "gcg": replace(PLAIN, greedy=True, fresh=True, distance=1.0),
    },
    "exhaustive": {"method": "exhaustive"},
}


def main() -> None:
    """Compare the kinds of search, and print a line of JSON for each."""
    parser = arguments(__doc__)
    parser.add_argument("--budget", type=int, default=512)
    parser.add_argument("--ids", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--lengths", type=int, nargs="+", default=[2, 3, 5, 10])
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    asked = parser.parse_args()
    model: Any = checkpoint("R-Smol-135M")
    words = allowed(Constraints(words=True), model.vocabulary(), model.special_ids)
    drawn = np.random.default_rng(0).choice(words, size=asked.ids, replace=False)
    limits = Constraints(allow=tuple(f"#{i}" for i in sorted(drawn.tolist())))
    for length in asked.lengths:
        for direction in get_args(Direction):
            compare(model, asked, limits, length, direction)


def compare(
    model: Checkpoint, asked: argparse.Namespace, limits: Constraints, length: int, way: Direction
) -> None:
    """Run each kind of search with all seeds, and print a line for each kind."""
    best: dict[str, NDArray[np.float64]] = {}
    cpu: dict[str, float] = {}
    spread = float(model.score(PROMPT.text, _some(limits, length)).std())
    for kind in asked.only:
        values, times = [], []
        for seed in range(asked.seeds):
            one = Settings(
                direction=way,
                length=length,
                budget=asked.budget,
                seed=seed,
                starts=max(1, asked.budget // (4 * asked.ids)),
                constraints=limits,
                **KINDS[kind],
            )
            once = searched(model, one)
            values.append(float(one.value(once.found.frame["score"].to_numpy(np.float64))[0]))
            times.append(once.cpu)
        best[kind], cpu[kind] = np.array(values), float(np.median(times))
    for kind, reached in best.items():
        line = {
            "length": length,
            "direction": way,
            "search": kind,
            "best, sd of random": round(float(np.median(reached)) / spread, 2),
            **{
                f"no worse than {other}": int((reached > best[other] - ROUNDING).sum())
                for other in ("plain GCG", "exhaustive")
                if other in best
            },
            "CPU s": round(cpu[kind], 1),
        }
        say("search", **line)


def _some(limits: Constraints, length: int) -> list[tuple[int, ...]]:
    ids = [int(entry[1:]) for entry in limits.allow or ()]
    rows = np.random.default_rng(1).choice(ids, size=(256, length)).tolist()
    return [tuple(row) for row in rows]


def searched(model: Checkpoint, settings: Settings) -> Timed[SearchResult]:
    """Run and time one search with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        return timed(lambda: search(model, PROMPT, settings, cache=Path(folder)))
