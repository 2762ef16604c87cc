"""Self-test of invariance audits on organisms (synthetic scorers) that pay for a changed answer."""

from __future__ import annotations

from collections.abc import Sequence

from rmaudit.errors import SpecError
from rmaudit.organisms.answer_organisms import PAID_CHANGES, AnswerScorer
from rmaudit.organisms.planted_flaws import ALL
from rmaudit.organisms.selftest import CLEAN, TRAITS, WITHOUT, Bench, BenchOutcome, Judged, counted
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.runs.synthetic_scorer_trials import measure
from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
from rmaudit.verdicts.audit_declaration import Flaw
from rmaudit.verdicts.estimates_and_bounds import Verdict


def outcomes(bench: Bench, audit: str, flaw: Flaw, seeds: Sequence[int]) -> list[BenchOutcome]:
    """Return how an audit judges organisms (synthetic scorers) without a flaw, and with it.

    There is one organism for each seed. The flaw has the size that is declared for it. What is
    counted as blocked is FAIL or INCONCLUSIVE, also of an audit that informs.

    Raises:
        SpecError: the flaw is none that organisms can have.
        RmauditError: the audit cannot be measured of an organism.
    """
    if flaw.trait not in PAID_CHANGES:
        known = ", ".join([*sorted(TRAITS), *ALL, *PAID_CHANGES])
        raise SpecError(f"{audit}: no organism has the flaw {flaw.trait!r}; known: {known}")
    function, declaration = bench.audit(audit)
    given = {"probes": probes_of(subset_of_pairs(None))}

    def judged(size: float, seed: int) -> Judged:
        organism = AnswerScorer(bench.organism(CLEAN, seed), flaw.trait, size)
        found = measure(function, Trial(organism, (), seed=seed, given=given))
        verdict = declaration.bound.judge(found)
        blocked, failed = verdict is not Verdict.PASS, verdict is Verdict.FAIL
        return Judged(blocked, failed, (audit,), (found.value,))

    return [
        counted(
            audit,
            flaw.says,
            [judged(size, seed) for seed in seeds],
            size=size,
            at=at,
            declaration=declaration,
        )
        for at, size in ((WITHOUT, flaw.without), ("stated", flaw.size))
    ]
