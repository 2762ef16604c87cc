"""Judge a run's stored findings again by other rules (of models.yaml), without measuring anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from rmaudit.report.number_format import measured_in_numbers
from rmaudit.report.releases.finding_comparison import Measured
from rmaudit.report.releases.release_regressions import with_regressions
from rmaudit.report.results_document import Results
from rmaudit.report.safe_text import line, log
from rmaudit.report.summary import summarize as run_summary
from rmaudit.verdicts.decision import decide, decided_again
from rmaudit.verdicts.estimates_and_bounds import Result, Verdict
from rmaudit.verdicts.findings import Finding, in_words
from rmaudit.verdicts.run_verdict import Outcome, count_gates
from rmaudit.verdicts.verdict_policy import Policy
from rmaudit.verdicts.verdict_wording import reasons

PASSED, FAILED = str(Result.PASS), str(Result.FAIL)  # outcomes
UNDECIDED, BROKEN = str(Result.OPEN), str(Result.NOT_RUN)


@dataclass(frozen=True, slots=True)
class JudgedFinding:
    """A stored finding judged again: its model, audit and prompt, its estimate, and the bound."""

    model: str
    audit: str
    prompt: str
    bound: str
    estimate: Measured | None

    @property
    def name(self) -> str:
        """Return the finding's name, such as `positive_skew[R-Smol-135M-best]`."""
        return f"{self.audit}[{self.model}-{self.prompt}]"


@dataclass(frozen=True, slots=True)
class ResultWords:
    """The result and the effect of a finding, in a word each."""

    result: str
    effect: str

    def __str__(self) -> str:
        """Return result and effect in words, such as `fail (blocks)`."""
        return in_words(self.result, self.effect)


@dataclass(frozen=True, slots=True)
class Flip(JudgedFinding):
    """A finding whose result or effect changes under the new rules."""

    old: ResultWords
    new: ResultWords
    why: str


@dataclass(frozen=True, slots=True)
class Stop(JudgedFinding):
    """A finding that blocks the run, with its result and the reason."""

    result: str
    why: str


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """The report of `rmaudit replay`: the outcome, and which findings changed or block."""

    policy: str | None
    outcome: str
    incomplete: str
    """Why the run is incomplete; "" if it is complete."""
    gates: str
    """The gates counted, such as `7 gates: 4 pass, 3 open`."""
    flips: tuple[Flip, ...]
    blocking: tuple[Stop, ...]
    foreign: tuple[str, ...]
    """Models whose rules are not applied: the rules are for another source of that name."""
    unmatched: tuple[str, ...]
    """Rules of the policy for audits and prompts that have no finding here."""
    verdict: str
    """The verdict on the run and its reasons, for example `FAILS: 2 gates block (2 fail)`."""


def replay(results: Results, policy: Policy, today: date) -> Results:
    """Judge stored findings again, by other rules and as of a day (UTC); return new results."""
    run = results.run
    policy = replace(policy, sampled=run.sample is not None, others=run.others)
    findings = tuple(decide(results.findings, policy, today))
    return with_regressions(replace(results, findings=findings))


def as_judged(results: Results) -> Results:
    """Judge stored findings again by the rules and on the day that stand in them.

    The results are equal, but for rounding, unless something in them contradicts something else.
    """
    findings = tuple(decided_again(results.findings))
    return with_regressions(replace(results, findings=findings))


def outcome(results: Results) -> str:
    """Return the run's outcome in a word: fail, or not run (a gate's error), or open, or pass.

    Open also stands for a run that is incomplete, and for one that left a gate unmeasured.
    """
    if results.verdict.outcome is Outcome.FAILS:
        return FAILED
    if any(f.verdict is Verdict.ERROR for f in results.findings if f.blocks):
        return BROKEN
    return PASSED if results.verdict.outcome.releases else UNDECIDED


def summarize(old: Results, new: Results, policy: Policy | None) -> ReplaySummary:
    """Summarize a replay: which verdicts of `old` differ in `new`, and which findings block."""
    return ReplaySummary(
        policy=policy.file if policy else None,
        outcome=outcome(new),
        incomplete="; ".join(new.run.gaps),
        gates=count_gates(new.findings),
        flips=tuple(
            Flip(*_identity(after), _words(before), _words(after), "; ".join(reasons(after)))
            for before, after in zip(old.findings, new.findings, strict=True)
            if _words(before) != _words(after)
        ),
        blocking=tuple(
            Stop(*_identity(found), str(found.result), "; ".join(reasons(found)))
            for found in new.findings
            if found.blocks
        ),
        foreign=_foreign(old, policy) if policy else (),
        unmatched=_unmatched(old, policy) if policy else (),
        verdict=_verdict(new),
    )


def _verdict(results: Results) -> str:
    """Return the verdict and its reasons; of published scores that nothing is decided by them."""
    run = run_summary(results)
    return f"{run.verdict.headline}: {run.advice}" if run.recorded else str(run.verdict)


def _words(finding: Finding) -> ResultWords:
    return ResultWords(str(finding.result), str(finding.effect))


def _identity(finding: Finding) -> tuple[str, str, str, str, Measured | None]:
    about = (finding.model, finding.audit, finding.prompt, str(finding.bound))
    return (*about, Measured.of(finding))


def _foreign(results: Results, policy: Policy) -> tuple[str, ...]:
    return tuple(
        f"{policy.file}: {model.name}: its rules are not applied: they are of "
        f"{policy.sources[model.name]}, and these results are of {model.source}; give that run's "
        "models.yaml, or correct its source"
        for model in results.models
        if model.name in policy.models
        and policy.sources.get(model.name, model.source) != model.source
    )


def _unmatched(results: Results, policy: Policy) -> tuple[str, ...]:
    there = {finding.audit for finding in results.findings}
    there |= {f"{finding.audit}[{finding.prompt}]" for finding in results.findings}
    return tuple(
        f"{policy.file}:{named.line}: {named.label}{named.audit}: there is no finding of it here: "
        "it decides nothing"
        for named in policy.named
        if named.audit not in there
    )


def lines(replayed: ReplaySummary) -> list[str]:
    """Return a replay's lines for the terminal, the verdict last; each reason is given once."""
    turned = [
        f"{flip.old} -> {flip.new}: {flip.name}{_numbers_and_reason(flip)}"
        for flip in replayed.flips
    ]
    shown = [flip.name for flip in replayed.flips]
    keep = [
        f"blocks: {stop.result}: {stop.name}"
        + ("" if stop.name in shown else _numbers_and_reason(stop))
        for stop in replayed.blocking
    ]
    n = len(turned)
    flipped = f"; {n} result{'' if n == 1 else 's'} changed" if replayed.policy else ""
    verdict = f"verdict: {replayed.verdict}"
    return [log(line(text)) for text in (*turned, *keep, f"{replayed.gates}{flipped}", verdict)]


def _numbers_and_reason(of: Flip | Stop) -> str:
    """Return value, interval, bound and reason as text: `: 0.49 [0.46, 0.52], bound ...: why`."""
    shown = f"{measured_in_numbers(of.estimate)}, bound {of.bound}" if of.estimate else ""
    return "".join(f": {part}" for part in (shown, of.why) if part)
