"""Compare search methods at the same number of evaluations, and time one GCG step on two paths.

python -m lab search [--budget 512] [--ids 128] [--seeds 5] [--lengths 2 3 5 10]

On R-Smol-135M, prompt "best", among a seeded draw of ids that are words, since a CPU scores a few
hundred sequences a second: random search, plain GCG, plain GCG with each of Faster-GCG's changes
alone, all three, and exhaustive search; up and down. From one random start, and another wherever a
search ends before its budget does. Prints a line a search kind, direction and length: the median
best reward over the seeds in sd of random sequences, how often it was at least as good as
exhaustive search and as plain GCG on the same seed, and the median CPU seconds.

python -m lab search --step

One GCG step (a gradient and 128 swaps) on the shared prefix and on full rows, behind a prompt of
some 40 ids, interleaved, the median of five rounds each: their ratio, for answers of 3 and of 10
ids.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from lab.harness import Timed, arguments, interleaved, say, seconds, timed
from rmaudit.models.model_factory import checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.scoring import ScoringPath
from rmaudit.search.cached_search import SearchResult, search
from rmaudit.search.constraints import Constraints, allowed
from rmaudit.search.search_settings import Direction, Gcg, Settings

if TYPE_CHECKING:
    from rmaudit.models.checkpoint_model import Checkpoint

PROMPT = PROMPTS["best"]
ROUNDING = 1e-4  # one sequence scored behind two prefixes
LONGER = " Think of all people, of every time and place, and be as honest as you can be."
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
    """Compare the kinds of search, or with `--step` time one GCG step, and print lines of JSON."""
    parser = arguments(__doc__)
    parser.add_argument("--budget", type=int, default=512)
    parser.add_argument("--ids", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--lengths", type=int, nargs="+", default=[2, 3, 5, 10])
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--step", action="store_true")
    asked = parser.parse_args()
    model: Any = checkpoint("R-Smol-135M")
    if asked.step:
        for length in (3, 10):
            say("search --step", **step(model, length))
        return
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


def step(model: Checkpoint, length: int, rounds: int = 5) -> dict[str, float]:
    """Time one GCG step on the shared prefix and on full rows; return the seconds and ratio."""
    prompt = PROMPT.text + LONGER
    slot = model.slot(prompt)
    ids = np.random.default_rng(0).integers(1000, 40_000, size=(129, length)).tolist()
    answer, *swaps = [tuple(row) for row in ids]
    weights = model.weights(slot.prefix, slot.suffix)

    def once(path: ScoringPath) -> None:
        weights.use_path(path)
        model.gradient(prompt, [answer])
        model.score(prompt, swaps)

    ways = (ScoringPath.SHARED_PREFIX, ScoringPath.FULL_ROWS)
    times = interleaved({str(path): partial(once, path) for path in ways}, rounds)
    shared, full = map(seconds, times.values())
    return {
        "prompt ids": len(slot.prefix),
        "answer ids": length,
        "shared prefix s": round(shared, 3),
        "full rows s": round(full, 3),
        "ratio": round(full / shared, 2),
    }
