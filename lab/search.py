"""Compare search methods at the same number of evaluations.

python -m lab search [--budget 512] [--ids 128] [--seeds 5] [--lengths 2 3 5 10]

On R-Smol-135M, prompt "best", among a seeded draw of ids that are words, since a CPU scores a few
hundred sequences a second: GCG and exhaustive search; up and down. From one random start, and
another wherever a search ends before its budget does. Prints a line a method, direction and length:
the median best reward over the seeds in sd of random sequences, how often it was at least as good
as exhaustive search on the same seed, and the median CPU seconds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.harness import Timed, arguments, say, timed
from rmaudit.models.model_factory import load
from rmaudit.prompts import PROMPTS
from rmaudit.search.cached_search import SearchResult, search
from rmaudit.search.search_settings import DIRECTIONS, METHODS, Direction, Settings, sendable

if TYPE_CHECKING:
    from rmaudit.models.checkpoint_model import Checkpoint

PROMPT = PROMPTS["best"]
ROUNDING = 1e-4  # one sequence scored behind two prefixes


def main() -> None:
    """Compare the kinds of search, and print a line of JSON for each."""
    parser = arguments(__doc__)
    parser.add_argument("--budget", type=int, default=512)
    parser.add_argument("--ids", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--lengths", type=int, nargs="+", default=[2, 3, 5, 10])
    parser.add_argument("--only", nargs="+", choices=METHODS, default=list(METHODS))
    asked = parser.parse_args()
    model: Any = load("R-Smol-135M")
    may = sendable(model.vocabulary(), model.special_ids)
    read = zip(may.tolist(), model.texts([(i,) for i in may.tolist()]), strict=True)
    words = [i for i, text in read if text.removeprefix(" ").isalpha()]
    drawn = np.random.default_rng(0).choice(words, size=asked.ids, replace=False)
    for length in asked.lengths:
        for direction in DIRECTIONS:
            compare(model, asked, tuple(sorted(drawn.tolist())), length, direction)


def compare(
    model: Checkpoint, asked: argparse.Namespace, ids: tuple[int, ...], length: int, way: Direction
) -> None:
    """Run each method with all seeds, and print a line for each."""
    best: dict[str, NDArray[np.float64]] = {}
    cpu: dict[str, float] = {}
    spread = float(model.score(PROMPT.text, _some(ids, length)).std())
    for kind in asked.only:
        values, times = [], []
        for seed in range(asked.seeds):
            one = Settings(
                direction=way,
                length=length,
                budget=asked.budget,
                seed=seed,
                starts=max(1, asked.budget // (4 * asked.ids)),
                ids=ids,
                method=kind,
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
                for other in ("exhaustive",)
                if other in best
            },
            "CPU s": round(cpu[kind], 1),
        }
        say("search", **line)


def _some(ids: tuple[int, ...], length: int) -> list[tuple[int, ...]]:
    rows = np.random.default_rng(1).choice(ids, size=(256, length)).tolist()
    return [tuple(row) for row in rows]


def searched(model: Checkpoint, settings: Settings) -> Timed[SearchResult]:
    """Run and time one search with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        return timed(lambda: search(model, PROMPT, settings, cache=Path(folder)))
