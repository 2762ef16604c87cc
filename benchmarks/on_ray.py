"""Measure how throughput grows with the number of Ray workers, for a scorer that only waits.

    python -m benchmarks.on_ray [--workers 1 8 64] [--seconds 5] [--each 10]

Each shard of 4,096 answers takes so many seconds, so that all which is measured is the overhead:
planning, workers that pull tasks, the store. Counted are the shards from the moment when the last
worker has begun to that when no shard is left to be begun; 1 is as many as waiting allows. Workers
are processes of this machine, and reach the folder of scores through a `FileServer` actor alone.
"""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tests.distributed.waiting  # noqa: F401  (declares the scorer)
from benchmarks.harness import arguments, say
from rmaudit.distributed import ray_scoring
from rmaudit.scores.score_store import Store
from tests.distributed import work

if TYPE_CHECKING:
    from collections.abc import Sequence


def measured(workers: int, seconds: float, each: int) -> dict[str, Any]:
    """Return the throughput of so many workers, as a share of the rate that waiting allows.

    Each shard takes `seconds`, and there are `each` shards for each worker.
    """
    import ray

    with tempfile.TemporaryDirectory() as scratch:
        notes = Path(scratch) / "notes"
        os.environ.update({work.NOTES: str(notes), work.SECONDS: str(seconds)})
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        plan = work.planned(Store(Path(scratch) / "cache"), -(-workers * each // work.SHARDS))
        cluster = ray_scoring.Cluster(workers=workers, cpus=0.01)
        said: list[str] = []
        made = ray_scoring.make([plan], cluster, said.append)
        ray.shutdown()
        lines = [line.split()[-2:] for line in notes.read_text(encoding="utf-8").splitlines()]
    if made.failed or made.left:
        raise RuntimeError(f"nothing is measured: {[*made.failed.values()][:1]}")
    begun = [(float(when), pid) for pid, when in lines]
    firsts = {pid: when for when, pid in sorted(begun, reverse=True)}
    start, end = max(firsts.values()), max(begun)[0]
    shards = sum(start < when <= end for when, _ in begun)
    return {
        "workers": len(firsts),
        "shards": len(begun),
        "counted": shards,
        "seconds": round(end - start, 1),
        "share of linear": round(shards * seconds / (len(firsts) * (end - start)), 3),
        "said": said[-1],
    }


def main(given: Sequence[str] | None = None) -> None:
    """Measure the throughput of each number of workers, and print a line for each."""
    parser = arguments(__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--seconds", type=float, default=5.0, help="of a shard")
    parser.add_argument("--each", type=int, default=10, help="shards a worker")
    asked = parser.parse_args(given)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    for workers in asked.workers:
        say("on_ray", **measured(workers, asked.seconds, asked.each))


if __name__ == "__main__":
    main()
