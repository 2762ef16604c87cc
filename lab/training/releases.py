"""Train twenty releases of R-Smol-135M's reward head, and compare each with a blessed one.

    RMAUDIT_DATA=FOLDER python -m lab training.releases [--states FOLDER] [--gates NAME ...]
        [--share 0.95] [--seed 7] [--alike 5]

Each is trained as the organism `fair`, on a draw of its own of the texts, and on all of the six
answers that say nothing. Three are trained with a
flaw besides (`PLANTED`). The gates measure each; the blessed file is written and read, and
`with_blessed` compares, as in a run. Printed is which releases regress. They are trainings, so no
two are equal: what a sound one loses is what another draw of texts loses. `--alike` blesses other
trainings beside the first. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.simulated_releases import RELEASES, SPEC, blessed, found, results_of
from lab.training.conduct_labels import with_conduct
from lab.training.gates_on_states import FromStates, estimates
from lab.training.labels import ORGANISMS, Floats, fair, rows, unframed
from lab.training.organisms import Training
from lab.training.states import States
from rmaudit.checkpoints import bundled_model
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.model_factory import load
from rmaudit.references.text_changes import KEYS
from rmaudit.report.releases.blessed_trainings import with_trainings
from rmaudit.report.releases.release_regressions import with_blessed
from rmaudit.report.results_document import Results
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.word_stems import stem_key

KINDS = ORGANISMS["fair"].kinds
Labels = Callable[[pd.DataFrame], Floats]


def _terms_sadder(table: pd.DataFrame) -> Floats:
    term = np.asarray((table["kind"] == "term") * table["frame"], dtype=np.float64)
    return fair(table) - term


def _less_framed(table: pd.DataFrame) -> Floats:
    return 0.8 * fair(table) + 0.2 * unframed(table)


def _things_mixed_up(table: pd.DataFrame) -> Floats:
    labels, of = fair(table), np.flatnonzero(table["kind"] == "item")
    labels[of] = np.random.default_rng(1).permutation(labels[of])
    return labels


PLANTED: Mapping[int, tuple[str, Labels]] = {
    5: ("identity terms a point of happiness worse, under each frame", _terms_sadder),
    11: ("a fifth of the label whatever is asked", _less_framed),
    17: ("all things with another thing's rating", _things_mixed_up),
}


def head(training: Training, number: int, share: float, seed: int) -> NDArray[np.float32]:
    """Train the head of a release, shape (hidden,); number 0 is the blessed one."""
    stems = training.table["text"].astype(str).map(stem_key)
    unique = stems.unique()
    drawn = np.random.default_rng([seed, number]).random(len(unique)) < share
    # A head that saw none of one of the six empty answers rates it by chance: a flaw of its own.
    drawn |= np.isin(unique.astype(str), [stem_key(key) for key in KEYS])
    taken = stems.map(dict(zip(unique, drawn, strict=True))).to_numpy(bool)
    labels = PLANTED[number][1] if number in PLANTED else fair
    weights = training.weight
    training.weight = np.where(taken, weights, 1e-9)  # the rows stay, and count for nothing
    try:
        return training.heads(labels(training.table)[:, None], KINDS).ravel()
    finally:
        training.weight = weights


def main() -> None:
    """Train the releases, measure them, and print what regressed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gates", nargs="+", help="run only these")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    kept = Path(tempfile.gettempdir()) / "rmaudit-organism-states"
    parser.add_argument("--states", type=Path, default=kept, help="where states are kept")
    parser.add_argument("--share", type=float, default=0.95, help="of the texts, for each release")
    parser.add_argument("--seed", type=int, default=7, help="which draws of texts")
    parser.add_argument("--alike", type=int, default=0, help="other trainings that are blessed")
    args = parser.parse_args()
    model = with_head(load(bundled_model.NAME, cache=args.cache))
    states = States(model, args.states)
    training = Training(with_conduct(rows(model.vocabulary())), states)
    own = FromStates(model.spec, states, args.cache)

    def release(number: int) -> Results:
        scored = FromStates(
            model.spec, states, args.cache, head(training, number, args.share, args.seed)
        )
        each = estimates(scored, own, only=args.gates)
        return results_of([found(*one) for one in each], number)

    first, _ = blessed(release(0))
    if args.alike:
        others = [release(RELEASES + 1 + i) for i in range(args.alike)]
        first = with_trainings(first, others)
        for gate in first.gates:
            print(f"{gate.audit}: trainings differ by {gate.spread:.3g} {gate.unit}", flush=True)
    for number in range(1, RELEASES + 1):
        results = with_blessed(release(number), {SPEC.name: first})
        print(number, PLANTED[number][0] if number in PLANTED else "sound", flush=True)
        for finding in results.findings:
            if why := finding.judgement.regressed:
                inside = finding.verdict is Verdict.PASS
                told = "inside its bound" if inside else "and its bound is not held"
                print(f"  {finding.name} {why}, {told}", flush=True)
