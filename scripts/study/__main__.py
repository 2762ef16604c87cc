"""Measure all reward heads of the study: their results in the gates, and the harm of training.

    RMAUDIT_DATA=FOLDER python -m scripts.study [--workers 2] [--harms]

The gates look at their own prompts and at the half of the words that no head was trained on; the
harms are of other prompts and the other half. What is found is written to docs/data/study.json, and
docs/predictive-validity.md is made of it. It takes an hour of a processor, and ten minutes more the
first time, for the states.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from pathlib import Path
from typing import Any

from rmaudit.config.paths_and_atomic_writes import default_cache
from scripts import result_pages
from scripts.study.measure_heads import STATES, STUDY, Study
from scripts.training.gates_on_states import Gates


def _one(number: int, gates: Gates | None = None) -> dict[str, Any]:
    head = _study.heads[number]
    found = _study.measured(head, gates)
    print(head.flaw, head.dose, found["harms"]["4 nats"], flush=True)
    return found


def main() -> None:
    """Measure all heads, and write docs/data/study.json and the pages of results."""
    global _study  # noqa: PLW0603  (what forked workers share)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    parser.add_argument("--states", type=Path, default=STATES, help="the folder of cached states")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--harms", action="store_true", help="measure no gates")
    args = parser.parse_args()
    _study = Study(args.cache, args.states)
    if args.harms:
        known = json.loads(STUDY.read_text(encoding="utf-8"))
        found = [_one(number, each["gates"]) for number, each in enumerate(known)]
    else:
        first = _one(0)  # which also fills the caches that the workers are forked with
        with multiprocessing.get_context("fork").Pool(args.workers) as pool:
            found = [first, *pool.map(_one, range(1, len(_study.heads)), chunksize=1)]
    STUDY.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    result_pages.main()


_study: Study

if __name__ == "__main__":
    main()
