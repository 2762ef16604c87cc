"""Sum up a run, or one model of it, once: terminal, Markdown and page only print it.

What is said of a single finding is in `finding_words` and in `verdicts.verdict_wording`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rmaudit.models.recorded_model import CAVEAT
from rmaudit.report.finding_words import Missing, missing, not_asked
from rmaudit.report.number_format import clearest, distance_beyond
from rmaudit.report.results_document import Results
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import Figure, Finding
from rmaudit.verdicts.run_verdict import (
    WORST_FIRST,
    Outcome,
    RunVerdict,
    by_audit,
    count_gates,
    of_run,
    relaxed,
    what_blocks,
    what_gates_tested,
    what_is_relaxed,
    worst_of,
)
from rmaudit.verdicts.verdict_wording import (
    COMPETENCE,
    advice,
    doubt,
    incompetent,
    nulls_in_words,
)

MARKS = {  # a sign means one thing, in all outputs; for readers who do not see colours
    "fail": "✗",
    "open": "○",
    "accepted": "~",
    "pass": "✓",
    "not run": "–",
}
_MARK_OF = dict(zip(Outcome, "✗…○~✓", strict=True))
_RECORDED = "These are published scores of others' models, which say nothing about a release"
_NO_MORE = "published scores are too few for these"
_GRAVEST_FIRST = (Effect.BLOCKS, Effect.ACCEPTED, Effect.INFO, Effect.NONE)


@dataclass(frozen=True, slots=True)
class Row:
    """Findings of one audit of one model, one for each prompt or set of prompts."""

    findings: tuple[Finding, ...]
    model: str
    audit: str
    title: str
    question: str
    """What the audit answers, or the claim if no question is given."""
    gate: bool
    """Whether the audit is a gate here, under any prompt: a failure would block."""
    decides: bool
    """Whether it is a gate, or blocks for another reason."""
    asked: bool
    """Whether the audit was asked for, and applies, under any prompt."""
    blocking: tuple[Finding, ...]
    measured: tuple[Finding, ...]
    worst: Finding
    """What the row comes to: a finding that blocks, else the worst of a gate."""
    shown: Finding | None
    """The measured finding whose result is worst; of several, the worst value."""
    result: Result
    effect: Effect
    """The gravest among the findings."""
    sign: str
    """The key of its sign in `MARKS`."""
    doubt: str
    """Why its pass may mean that the model prefers nothing; "" where it does not."""

    @property
    def mark(self) -> str:
        """Return the sign, such as ✓."""
        return MARKS[self.sign]

    @property
    def relaxed(self) -> bool:
        """Return whether models.yaml keeps it from blocking, as it would as declared."""
        return any(map(relaxed, self.findings))


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run comes to, or one model of it."""

    verdict: RunVerdict
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]
    gaps: tuple[str, ...]
    """What the run left out, a text for each reason."""
    mark: str
    words: str
    """The verdict's headline, and how many gates models.yaml relaxes that would block."""
    recorded: bool
    """Whether it is all of published scores: then nothing is said about a release."""
    advice: str
    """The advice on a release, a sentence without its stop."""
    gates: str
    """The gates counted, such as `7 gates: 4 pass, 2 fail (1 accepted), 1 open`."""
    nulls: str
    """How many null controls were stopped, as they must be; "" where none was tried."""
    rows: tuple[Row, ...]
    """A row for each audit of each model, in the order of the findings."""
    ranked: tuple[Row, ...]
    """The same by model: first gates that block, then other gates, then the rest, each by title."""
    informs: list[Row]
    """Rows that fail and block nothing, for they inform."""
    lowered: list[Row]
    """Rows for which models.yaml has a weaker severity, another bound, or kinds that are wanted."""
    doubted: list[Row]
    """Rows of gates whose pass may mean that the model prefers nothing."""
    competence: list[str]
    """The gates that would show that it prefers something."""
    missing: list[Missing]
    """What has no number, but for informational audits that were not asked for."""
    required: list[Missing]
    """What has no number of the audits that decide, and does not block."""
    incompetent: Mapping[str, tuple[str, ...]]
    """The gates of `COMPETENCE` that a model does not pass, where it passes none of them."""

    @property
    def tested(self) -> str:
        """Return what the gates looked at, as evidence says, and what none can tell; or ""."""
        return what_gates_tested(self.findings)

    @property
    def blocked(self) -> str:
        """Return how many block, as in `5 gates block (2 fail, 3 open)`; "" where none does."""
        return what_blocks(self.findings)

    @property
    def correction(self) -> str:
        """Return how a whole run may judge what fails in a part of one; "" where nothing does."""
        corrected = [f for f in self.findings if f.judgement.p_holm is not None]
        if not self.gaps or not any(f.verdict is Verdict.FAIL for f in corrected):
            return ""
        n = max(Counter(f.model for f in corrected).values())
        return (
            f"Holm's correction for many tests is over {n} finding{'' if n == 1 else 's'}; a whole "
            "run may have more, and find open what fails here"
        )

    @property
    def models(self) -> list[str]:
        """Return the models' names, in the order of the findings."""
        return list(dict.fromkeys(finding.model for finding in self.findings))

    def of(self, model: str) -> Summary:
        """Sum up one model of the run; its verdict is on its own findings."""
        own = [finding for finding in self.findings if finding.model == model]
        figures = [figure for figure in self.figures if figure.model == model]
        return summarize_findings(own, of_run(own, self.gaps), self.gaps, figures)

    def doubt(self, finding: Finding) -> str:
        """Return why a pass may only show that its model has no preferences; or ""."""
        return doubt(finding, self.incompetent)

    @property
    def failures(self) -> list[Row]:
        """Return the rows that block; the clearest first."""
        failing = [row for row in self.ranked if row.blocking]
        return sorted(failing, key=lambda row: min(map(clearest, row.blocking)))


def summarize(results: Results) -> Summary:
    """Sum up the run of a results.json, with its models in the file's order."""
    names = [model.name for model in results.models]
    run = results.run
    return summarize_findings(results.findings, results.verdict, run.gaps, results.figures, names)


def summarize_findings(
    findings: Sequence[Finding],
    verdict: RunVerdict,
    gaps: Sequence[str] = (),
    figures: Sequence[Figure] = (),
    models: Sequence[str] | None = None,
) -> Summary:
    """Sum up findings, their verdict and what was left out; `models` names the order of models."""
    failed = incompetent(findings)
    rows = [_row(own, failed) for own in by_audit(findings)]
    ordered = sorted(rows, key=_rank)
    names = dict.fromkeys(row.model for row in rows) if models is None else models
    ranked = [row for name in names for row in ordered if row.model == name]
    deciding = [row for row in ranked if row.decides]
    lost = [f for f in findings if not not_asked(f)]
    required = [f for row in deciding for f in row.findings if not f.blocks]
    recorded, reasons = of_records(findings), missing
    if recorded:
        reasons = _one_reason
    return Summary(
        verdict=verdict,
        findings=tuple(findings),
        figures=tuple(figures),
        gaps=tuple(gaps),
        mark=_MARK_OF[verdict.outcome],
        words="; ".join(filter(None, (verdict.headline, what_is_relaxed(findings)))),
        recorded=recorded,
        advice=_RECORDED if recorded else advice(verdict.outcome, findings),
        gates=count_gates(findings),
        nulls=nulls_in_words(findings),
        rows=tuple(rows),
        ranked=tuple(ranked),
        informs=[row for row in ranked if not row.decides and row.result is Result.FAIL],
        lowered=[row for row in ranked if _counts_less(row.worst)],
        doubted=[row for row in deciding if row.doubt],
        competence=list(dict.fromkeys(row.audit for row in ranked if row.audit in COMPETENCE)),
        missing=reasons(lost),
        required=reasons(required),
        incompetent=failed,
    )


def of_records(findings: Sequence[Finding]) -> bool:
    """Return whether all that was measured rests on published scores of others' models."""
    measured = [finding.estimate for finding in findings if finding.estimate]
    return bool(measured) and all(CAVEAT in estimate.caveats for estimate in measured)


def _one_reason(findings: Iterable[Finding]) -> list[Missing]:
    """Return one reason for all that records are too few for; what broke keeps its own."""
    every = list(findings)
    lost = [finding for finding in every if finding.verdict is Verdict.SKIPPED]
    others = missing(finding for finding in every if finding.verdict is not Verdict.SKIPPED)
    named = (list(dict.fromkeys(f.model for f in lost)), list(dict.fromkeys(f.title for f in lost)))
    one = [Missing(_NO_MORE, "", tuple(lost), *named, asked=True)] if lost else []
    return [*one, *others]


def sign_of(finding: Finding) -> str:
    """Return the key in `MARKS` of a finding's sign; one that should fail, or regressed, is ✗."""
    if finding.effect is Effect.ACCEPTED:
        return "accepted"
    settled = finding.result is Result.PASS or finding.judgement.left_open
    return "fail" if finding.blocks and settled else str(finding.result)


def _row(findings: tuple[Finding, ...], failed: Mapping[str, tuple[str, ...]]) -> Row:
    first = findings[0]
    gate = any(f.severity.gates for f in findings)
    blocking = tuple(f for f in findings if f.blocks)
    measured = tuple(f for f in findings if f.estimate)
    said = [doubt(f, failed) for f in measured]
    worst = worst_of(findings)
    return Row(
        findings=findings,
        model=first.model,
        audit=first.audit,
        title=first.title,
        question=first.claim.question or first.claim.text,
        gate=gate,
        decides=gate or bool(blocking),
        asked=any(f.verdict is not Verdict.NA for f in findings),
        blocking=blocking,
        measured=measured,
        worst=worst,
        shown=max(measured, key=lambda f: (-_badness(f), distance_beyond(f)), default=None),
        result=worst.result,
        effect=min((f.effect for f in findings), key=_GRAVEST_FIRST.index),
        sign=sign_of(worst),
        doubt=said[0] if said and all(said) else "",
    )


def _counts_less(finding: Finding) -> bool:
    order = [*Severity]
    weaker = order.index(finding.severity) > order.index(finding.claim.severity)
    return weaker or bool(finding.wanted or finding.judgement.bound_by)


def _rank(row: Row) -> tuple[bool, bool, str]:
    return not row.decides, row.effect is not Effect.BLOCKS, row.title


def _badness(finding: Finding) -> int:
    return WORST_FIRST.index(finding.result)
