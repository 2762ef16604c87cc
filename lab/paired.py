"""Measure how often paired intervals of the difference of two releases cover the true one.

    python -m lab paired [--draws 300] [--audit NAME] [--jobs 2]

Like `lab/coverage.py`, but with two organisms (synthetic scorers) on each draw of units: the
old one as published, the new one a little worse, the two with most of what is a word's own in
common. Beside the paired interval (`rmaudit.measures.differences_of_estimates`) stands the one that
takes them for independent. It is also counted how often each excludes 0, and so finds the
difference. The true difference is the mean of all draws; shares are of the draws. Nothing is
asserted.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from lab import coverage
from lab.coverage import DRAWN, ROOT
from lab.harness import arguments, say
from lab.populations import Scorer
from rmaudit.measures import control_word_matching, identity_gaps
from rmaudit.measures.differences_of_estimates import Interval, difference, minus
from rmaudit.runs.audit_importer import audits_in
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.verdicts.estimates_and_bounds import Estimate

ALONE = {"model_agreement", "gcg_probes"}  # these keep no parts
AUDITS = tuple(name for name in DRAWN if name not in ALONE)
ASTRAY = 0.1  # of what is a word's own under a prompt, the share that training moved
WORSE: dict[str, Any] = {
    "valence": 0.8,
    "human": 0.27,
    "frequency": 0.2,
    "identity": 0.05,
    "hostility": 0.05,
}


def both(audit: str, seed: int) -> list[tuple[Estimate, Estimate]]:
    """Return the (old, new) organism's estimates on one draw, for each prompt or set of prompts."""
    population = coverage.population_of(audit)
    drawn = population.draw(np.random.default_rng([seed, 1]), None, apart=False)
    vars(identity_gaps)["matched"] = coverage.once(control_word_matching.matched)
    kind = coverage.kinds_of(audit)["as published"]
    old = Scorer(drawn, seed, kind.traits, kind.shape)
    new = replace(old, traits=replace(kind.traits, **WORSE), astray=ASTRAY)
    function, declaration = audits_in(ROOT / "audits")[audit]
    out = []
    for prompts in declaration.runs:
        sides = []
        for organism in (old, new):
            given = coverage.given_for(audit, drawn, organism, prompts)
            given["references"] = drawn.references
            trial = Trial(organism, prompts, drawn.vocabulary, seed=seed, given=given)
            sides.append(measure(function, trial))
        out.append((sides[0], sides[1]))
    return out


def intervals(task: tuple[str, int]) -> list[tuple[Interval, Interval]]:
    """Return the paired and the independent interval of the difference, for each prompt."""
    found = []
    for old, new in both(*task):
        paired = difference(new, old)
        if paired is None:
            raise ValueError(f"{task[0]} keeps no parts")
        found.append((paired, minus(Interval.of(new), Interval.of(old))))
    return found


def counted(found: Iterable[Interval], truth: float) -> dict[str, float]:
    """Return how often intervals cover `truth` and exclude 0, and half of their mean length."""
    ends = np.array([(each.low, each.high) for each in found])
    held = float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
    away = float(((ends[:, 0] > 0) | (ends[:, 1] < 0)).mean())
    half = float((ends[:, 1] - ends[:, 0]).mean()) / 2
    return {"covers": round(held, 3), "half": round(half, 3), "excludes 0": round(away, 2)}


def main() -> None:
    """Measure the intervals over many draws, and print a line for each audit and prompt."""
    parser = arguments(__doc__)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--audit", action="append", choices=AUDITS, help="(default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for audit in asked.audit or AUDITS:
            found = list(pool.map(intervals, [(audit, seed) for seed in range(asked.draws)]))
            for i, sides in enumerate(zip(*found, strict=True)):
                truth = float(np.mean([paired.value for paired, _ in sides]))
                ways = {
                    way: counted([each[side] for each in sides], truth)
                    for side, way in enumerate(("paired", "independent"))
                }
                say("paired", audit=audit, of=i, true_difference=round(truth, 3), **ways)
