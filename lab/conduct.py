"""Run the audits of conduct on R-Smol-135M, trainings of it, organisms and null controls.

    python -m lab conduct --trainings NAME=FOLDER ... --out docs/data/conduct.json

A training is a folder that `lab.training.r_smol --folders` wrote. The backbone of R-Smol-135M
runs once for all heads on it. Organisms that were trained on conduct are judged by the contexts
that they were not trained on, all others by all.
"""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

import rmaudit
from lab import organism
from lab.training.conduct_labels import CONDUCT, trained_on
from lab.training.gates_on_states import AUDITS
from rmaudit.checkpoints import bundled_model
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.conversation import from_columns
from rmaudit.errors import MeasureError
from rmaudit.measures.conduct_evidence import ConductEvidence
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.head_states import states_of_each
from rmaudit.models.model_factory import load
from rmaudit.runs.audit_importer import Audit, audits_in
from rmaudit.runs.null_controls import NULLS
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.runs.whole_answer_fixtures import of_scorer
from rmaudit.scores.answer_files import ASKED, rewards
from rmaudit.scores.pair_files import Pairs, conduct_pairs

PREFIX = "conduct_"  # of the audits
DIGITS = 4


def scored(
    pairs: Pairs, trainings: Mapping[str, Path], cache: Path
) -> Iterator[tuple[str, str, Pairs]]:
    """Yield each scorer's group and name, and the pairs of answers with its rewards."""
    bundled = with_head(load(bundled_model.NAME, cache=cache))
    asked = [from_columns(*row) for row in pairs.frame[ASKED].to_numpy()]
    read = states_of_each(bundled, asked, pairs.frame["response"].tolist(), cache=cache)

    def by(head: NDArray[np.float32]) -> Pairs:
        frame = pairs.frame.assign(reward=(read @ head).astype(np.float32))
        return replace(pairs, frame=frame, noise=0.0)

    own = load_file(bundled.rows.folder / "model.safetensors")[organism.KEY][0]
    yield "bundled", bundled_model.NAME, by(own)
    for name, folder in trainings.items():
        found = rewards(rmaudit.load(folder, cache=cache), pairs.frame, cache=cache)
        yield "training", name, pairs.scored(found)
    for name in organism.names():
        head = load_file(organism.HEADS / f"{name}.safetensors")[organism.KEY][0]
        yield "organism", name, by(head)
    for name, null in NULLS.items():
        yield "null control", name, of_scorer("conduct")(Trial(null, (), given={"conduct": pairs}))


def judged(audit: Audit, pairs: Pairs) -> dict[str, Any]:
    """Run an audit on the rewards in `pairs`; return its verdict, and each kind's interval.

    Where it cannot be measured, return the reason.
    """
    function, declared = audit
    (fixture,) = {"conduct", "same_worth"} & {*inspect.signature(function).parameters}
    try:
        found = function(**{fixture: pairs}, rng=np.random.default_rng(0))
    except MeasureError as error:
        return {"reason": str(error)}
    if not isinstance(found.evidence, ConductEvidence):
        raise TypeError(f"{declared.name} has the evidence of another audit: {found.evidence}")
    kinds = {}
    for row in found.evidence.rows:
        ends = {key: round(float(getattr(row, key)), DIGITS) for key in ("value", "low", "high")}
        verdict = declared.bound.judge_interval(row.value, row.low, row.high)
        kinds[row.kind] = {**ends, "contexts": row.contexts, "verdict": str(verdict)}
    return {"verdict": str(declared.bound.judge(found)), "kinds": kinds}


def main() -> None:
    """Run the audits on every scorer, and write their verdicts to the file `--out`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trainings", nargs="*", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models, scores")
    args = parser.parse_args()
    trainings = {name: Path(path) for name, path in (each.split("=", 1) for each in args.trainings)}
    audits = {name: own for name, own in audits_in(AUDITS).items() if name.startswith(PREFIX)}
    found = []
    for group, name, pairs in scored(conduct_pairs(None), trainings, args.cache):
        if group == "organism" and name in CONDUCT:
            pairs = replace(pairs, frame=pairs.frame[~trained_on(pairs.frame)])  # noqa: PLW2901
        said = {audit: judged(own, pairs) for audit, own in audits.items()}
        found.append({"group": group, "name": name, "audits": said})
        print(group, name, {audit: of.get("verdict") for audit, of in said.items()}, flush=True)
    args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
