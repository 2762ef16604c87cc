"""Simulate releases of a model: how many does the comparison with the blessed release block?

    python -m lab simulated_releases [--lines 8] [--jobs 2]

A line is one draw of words, things and names, a blessed organism (synthetic scorer) on it, and
twenty releases that are made alike: a tenth of what is a word's own under a prompt is drawn anew
for each. Three have a planted regression each (`PLANTED`). The bundled gates measure all of them,
the blessed file is written and read, and `with_blessed` compares, as in a run. The true difference
of a sound release is 0, since blessed and release are drawn alike: it is counted how often the
paired interval holds 0. Nothing is asserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lab import coverage
from lab.coverage import DRAWN, ROOT
from lab.harness import arguments, say
from lab.paired import ALONE, ASTRAY
from lab.populations import Scorer
from rmaudit.config.model_registry import ModelSpec
from rmaudit.measures import control_word_matching, identity_gaps
from rmaudit.prompts import Prompt
from rmaudit.report.releases.blessed_release import Blessing, bless, read, write
from rmaudit.report.releases.release_regressions import with_blessed
from rmaudit.report.results_document import Results, Run
from rmaudit.report.results_of_run import collect
from rmaudit.runs.audit_importer import audits_in
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.decision import decide, measured
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.verdict_policy import Policy

RELEASES = 20
PLANTED: dict[int, dict[str, Any]] = {
    5: {"valence": 0.6},
    11: {"identity": 0.15},
    17: {"hostility": 0.15},
}
_TODAY = datetime.now(UTC).date()
SPEC = ModelSpec("organism", "owner/organism")


def release(seed: int, number: int) -> Results:
    """Return a run's results for release `number` of the line `seed`; number 0 is the blessed one.

    The run has all bundled gates whose units can be drawn and whose estimates can be paired.
    """
    findings: list[Finding] = []
    vars(identity_gaps)["matched"] = coverage.once(control_word_matching.matched)
    for audit, (function, declaration) in audits_in(ROOT / "audits").items():
        if audit not in DRAWN or audit in ALONE or not declaration.severity.gates:
            continue
        drawn = coverage.population_of(audit).draw(
            np.random.default_rng([seed, 1]), None, apart=False
        )
        kind = coverage.kinds_of(audit)["as published"]
        traits = replace(kind.traits, **PLANTED.get(number, {}))
        organism = Scorer(drawn, seed, traits, kind.shape, astray=ASTRAY, kin=number)
        for prompts in declaration.runs:
            given = coverage.given_for(audit, drawn, organism, prompts)
            given["references"] = drawn.references
            trial = Trial(organism, prompts, drawn.vocabulary, seed=seed, given=given)
            findings.append(found(declaration, prompts, measure(function, trial)))
    return results_of(findings, seed)


def found(declaration: Declaration, prompts: Sequence[Prompt], estimate: Estimate) -> Finding:
    """Return a gate's finding for a release: the estimate, judged by the bound that it declares."""
    claim = declaration.claimed(
        model=SPEC.name,
        model_source=SPEC.source,
        prompt="+".join(prompt.name for prompt in prompts),
        nodeid=declaration.name,
        repeat="",
    )
    return measured(claim, estimate, Policy(), _TODAY)


def results_of(findings: Sequence[Finding], seed: int) -> Results:
    """Return the results of a run that has these findings and no others."""
    n = len(findings)
    run = Run(f"{_TODAY}T00:00:00Z", "0", "", seed, {}, n, n, n, False, "", None)  # noqa: FBT003
    return collect(run, [SPEC], [], decide(findings, Policy(), _TODAY))


def blessed(results: Results) -> tuple[Blessing, int]:
    """Bless these results; return what is read back from the blessed file, and its bytes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "blessed.json"
        write(bless(results, results.models[0], by="nobody", on=_TODAY), path)
        return read(path), path.stat().st_size


def line(seed: int) -> tuple[Counter[str], list[int]]:
    """Simulate a line of releases; return counts, and the blessed file's [bytes, gates]."""
    counts: Counter[str] = Counter()
    kept, size = blessed(release(seed, 0))
    for number in range(1, RELEASES + 1):
        results = with_blessed(release(seed, number), {SPEC.name: kept})
        worse = [finding for finding in results.findings if finding.judgement.regressed]
        inside = any(finding.verdict is Verdict.PASS for finding in worse)
        kind = "planted" if number in PLANTED else "sound"
        counts[kind] += 1
        counts[f"{kind}, blocked"] += bool(worse)
        counts[f"{kind}, blocked inside a bound"] += inside
        if kind == "planted":
            counts[f"found: {next(iter(PLANTED[number]))}"] += bool(worse)
            continue
        for was in results.blessed[0].findings:
            if was.difference is None:
                raise ValueError(f"{was.audit} was not paired")
            covers = was.difference.low <= 0 <= was.difference.high
            counts[f"{was.audit}: n"] += 1
            counts[f"{was.audit}: covers"] += covers
    return counts, [size, len(kept.gates)]


def main() -> None:
    """Simulate lines of releases; print how many were blocked, and how often intervals held 0."""
    parser = arguments(__doc__)
    parser.add_argument("--lines", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    asked = parser.parse_args()
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for counts, (size, gates) in pool.map(line, range(asked.lines)):
            total += counts
            plain = {name: n for name, n in counts.items() if not name.endswith((": n", "covers"))}
            say("blessed, a line", bytes=size, gates=gates, **plain)
    audits = [name.removesuffix(": n") for name in total if name.endswith(": n")]
    shares = {
        each: round(100 * total[f"{each}: covers"] / total[f"{each}: n"], 1) for each in audits
    }
    n, covers = (sum(total[f"{each}: {what}"] for each in audits) for what in ("n", "covers"))
    say("blessed", intervals=n, covers=round(100 * covers / n, 1), **shares)
    say("blessed", **{name: k for name, k in total.items() if not name.endswith((": n", "covers"))})
