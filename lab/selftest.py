"""Measure how many of the planted flaws the audits find, and how often they block sound scorers.

    python -m lab selftest [AUDITS] [--audit NAME ...] [--seeds 200] [--jobs 1] [--out docs]

Whole runs of organisms without a flaw, and the runs of each flaw at its stated size and where it
puts the audit's value around its bound: the share that is blocked, and that fails. With `--audit`
these flaws alone are tried, and with `--out`, which writes selftest.md, .json and .svg, they
replace those of the folder's page. The exit code is 1 if one is not as stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from lab import fresh_answers, selftest_page
from lab.answer_organisms import PAID_CHANGES, AnswerScorer
from lab.bench import (
    CLEAN,
    PUBLISHED,
    TRAITS,
    WITHOUT,
    Bench,
    BenchOutcome,
    Judged,
    counted,
    judged,
    ladder,
    sizes,
    vocabulary_of,
)
from lab.flaws_to_detect import Flaw
from lab.harness import arguments
from lab.planted_flaws import ALL
from lab.word_organisms import Traits
from rmaudit.errors import SpecError
from rmaudit.measures.word_spellings import thinned
from rmaudit.references import References
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict

_PART = 10  # runs that a process does at a time
_KINDS = {"clean": "no flaw", "published": "traits of the size of the ten published models'"}


def main() -> int:
    """Run the self-test, print a line for each kind of organism, and write the page if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("audits", nargs="?", type=Path, default=Path("audits"))
    parser.add_argument("--seeds", type=int, default=200, help="organisms of each kind")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--audit", action="append", default=[], help="its flaws alone; repeatable")
    parser.add_argument("--model", default="R-Smol-135M", help="whose vocabulary organisms score")
    parser.add_argument("--out", type=Path, help="a folder for selftest.md, .json and .svg")
    asked = parser.parse_args()
    bench = Bench(asked.audits, thinned(vocabulary_of(asked.model)), References())
    found = []
    for outcome in outcomes(bench, asked.seeds, asked.jobs, asked.audit):
        found.append(outcome)
        print(_line(outcome), flush=True)
    if asked.out:
        known = selftest_page.read(asked.out) if asked.audit else []
        kept = [one for one in known if one.kind not in asked.audit]
        selftest_page.write([*kept, *found], asked.out)
    wrong = [outcome.kind for outcome in found if outcome.as_stated is False]
    if wrong:
        print(f"{len(wrong)} of {len(found)} kinds are not judged as stated: {', '.join(wrong)}")
    return int(bool(wrong))


def outcomes(bench: Bench, seeds: int, jobs: int, only: Sequence[str]) -> Iterator[BenchOutcome]:
    """Run the self-test in `jobs` processes; yield its outcomes in order, each as it is done.

    The number of processes does not affect results. `seeds` is the number of runs of each kind.
    With `only`, the flaws of these audits alone are tried.
    """
    for name in only:
        bench.audit(name)
    traits, changes = (
        [(audit, flaw) for audit, flaw in bench.flaws(traits=own) if audit in only or not only]
        for own in (True, False)
    )
    if not [*traits, *changes]:
        message = f"{bench.audits}: no flaw is known that its audits must detect; give others, or"
        raise SpecError(f"{message} add theirs to lab/flaws_to_detect.py")
    with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
        run: Callable[..., Iterator[Any]] = pool.map if pool else map
        wholes = () if only else (("clean", CLEAN), ("published", PUBLISHED))
        for kind, clean in wholes:
            parts = [range(first, min(first + _PART, seeds)) for first in range(0, seeds, _PART)]
            tasks = [(_judged_runs, bench, clean, part) for part in parts]
            runs = [one for part in run(_call, tasks) for one in part]
            yield counted(kind, _KINDS[kind], runs)
        found = list(run(_call, [(sizes, bench, audit, flaw) for audit, flaw in traits]))
        few = max(seeds // 4, 2)
        rungs = [
            (ladder, bench, audit, flaw, at, size, range(seeds if at == "stated" else few))
            for (audit, flaw), own in zip(traits, found, strict=True)
            for at, size in own.items()
        ]
        yield from run(_call, rungs)
        pairs = [(of_paid_change, bench, audit, flaw, range(seeds)) for audit, flaw in changes]
        for pair in run(_call, pairs):
            yield from pair


def of_paid_change(
    bench: Bench, audit: str, flaw: Flaw, seeds: Sequence[int]
) -> list[BenchOutcome]:
    """Return how an audit judges organisms (synthetic scorers) without a flaw, and with it.

    There is one organism for each seed. The flaw has the size that is declared for it. What is
    counted as blocked is FAIL, and of an audit of the core INCONCLUSIVE too; an audit that informs
    counts as a gate.

    Raises:
        SpecError: the flaw is none that organisms can have.
        RmauditError: the audit cannot be measured of an organism.
    """
    if flaw.trait not in PAID_CHANGES:
        known = ", ".join([*sorted(TRAITS), *ALL, *PAID_CHANGES])
        raise SpecError(f"{audit}: no organism has the flaw {flaw.trait!r}; known: {known}")
    function, declaration = bench.audit(audit)
    given = {
        "probes": probes_of(subset_of_pairs(None)),
        "fresh": fresh_answers.pairs(),
        "references": bench.references,
    }

    def tried(size: float, seed: int) -> Judged:
        organism = AnswerScorer(bench.organism(CLEAN, seed), flaw.trait, size)
        found = measure(function, Trial(organism, (), seed=seed, given=given))
        verdict = declaration.bound.judge(found)
        failed, open_ = verdict is Verdict.FAIL, verdict is Verdict.INCONCLUSIVE
        blocked = failed or (open_ and declaration.severity is Severity.CORE)
        return Judged(blocked, failed, (audit,), (found.value,))

    return [
        counted(
            audit,
            flaw.says,
            [tried(size, seed) for seed in seeds],
            size=size,
            at=at,
            declaration=declaration,
        )
        for at, size in ((WITHOUT, flaw.without), ("stated", flaw.size))
    ]


def _call(task: tuple[Any, ...]) -> Any:  # noqa: ANN401  (whatever the function returns)
    """Call the first entry of a task with the others, as a process of a pool is to do."""
    function, *given = task
    return function(*given)


def _judged_runs(bench: Bench, traits: Traits, seeds: Sequence[int]) -> list[Judged]:
    return [judged(bench, traits, seed) for seed in seeds]


def _line(outcome: BenchOutcome) -> str:
    """Format a self-test outcome: flaw, number of runs, shares of blocked and of failed runs."""
    what = f"{outcome.kind:<20}{outcome.said:<46}{outcome.at:<18}"
    value = "" if outcome.value is None else f"  value {outcome.value:+.3f}"
    shares = f"blocked {100 * outcome.blocked:5.1f} %  FAIL {100 * outcome.failed:5.1f} %"
    by = ", ".join(f"{audit} {100 * share:.1f} %" for audit, share in outcome.by)
    by = f"  ({by})" if by and not outcome.at else ""
    return f"{what}{outcome.runs:>4} runs  {shares}{value}{by}"
