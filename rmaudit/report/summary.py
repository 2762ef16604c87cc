"""Sum up a run, or one model of it, once: terminal, Markdown and page only print it.

What is said of a single finding is in `finding_words` and in `verdicts.verdict_wording`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rmaudit.models.recorded_model import CAVEAT
from rmaudit.report.audit_rows import Row, rows_of
from rmaudit.report.five_questions import AskedQuestion, questions_of
from rmaudit.report.missing_numbers import Missing, missing, not_asked
from rmaudit.report.number_format import clearest
from rmaudit.report.results_document import Results
from rmaudit.verdicts.estimates_and_bounds import Effect, Result, Severity, Verdict
from rmaudit.verdicts.findings import Figure, Finding
from rmaudit.verdicts.run_verdict import (
    Outcome,
    RunVerdict,
    count_gates,
    of_run,
    what_blocks,
    what_gates_tested,
)
from rmaudit.verdicts.verdict_wording import (
    COMPETENCE,
    advice,
    doubt,
    incompetent,
    nulls_in_words,
)

_MARK_OF = dict(zip(Outcome, "✗…○~✓", strict=True))
_RECORDED = "These are published scores of others' models, which say nothing about a release"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run comes to, or one model of it."""

    verdict: RunVerdict
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]
    gaps: tuple[str, ...]
    """What the run left out, a text for each reason."""
    rows: tuple[Row, ...]
    """A row for each audit of each model, in the order of the findings."""
    ranked: tuple[Row, ...]
    """The same by model: first gates that block, then other gates, then the rest, each by title."""
    incompetent: Mapping[str, tuple[str, ...]]
    """The gates of `COMPETENCE` that a model does not pass, where it passes none of them."""

    def of(self, model: str) -> Summary:
        """Sum up one model of the run; its verdict is on its own findings."""
        own = [finding for finding in self.findings if finding.model == model]
        figures = [figure for figure in self.figures if figure.model == model]
        return summarize_findings(own, of_run(own, self.gaps), self.gaps, figures)

    @property
    def models(self) -> list[str]:
        """Return the models' names, in the order of the findings."""
        return list(dict.fromkeys(finding.model for finding in self.findings))

    @property
    def mark(self) -> str:
        """Return the sign of the verdict, such as ✓."""
        return _MARK_OF[self.verdict.outcome]

    @property
    def recorded(self) -> bool:
        """Return whether all is of published scores: then nothing is said about a release."""
        measured = [finding.estimate for finding in self.findings if finding.estimate]
        return bool(measured) and all(CAVEAT in estimate.caveats for estimate in measured)

    @property
    def advice(self) -> str:
        """Return the advice on a release, a sentence without its stop."""
        return _RECORDED if self.recorded else advice(self.verdict.outcome, self.findings)

    @property
    def gates(self) -> str:
        """Count the gates, such as `7 gates: 4 pass, 2 fail (1 accepted), 1 open`."""
        return count_gates(self.findings)

    @property
    def blocked(self) -> str:
        """Return how many block, as in `5 gates block (2 fail, 3 open)`; "" where none does."""
        return what_blocks(self.findings)

    @property
    def tested(self) -> str:
        """Return what the gates looked at, as evidence says, and what none can tell; or ""."""
        return what_gates_tested(self.findings)

    @property
    def nulls(self) -> str:
        """Return how many null controls were stopped, as they must be; "" where none was tried."""
        return nulls_in_words(self.findings)

    @property
    def correction(self) -> str:
        """Return how a whole run may judge what fails in a part of one; "" where nothing does."""
        corrected = [f for f in self.findings if f.judgement.p_holm is not None]
        if not self.gaps or not any(f.verdict is Verdict.FAIL for f in corrected):
            return ""
        n = max(Counter(f.model for f in corrected).values())
        return (
            f"corrected for {n} test{'' if n == 1 else 's'} (Holm); a whole run has more, by which "
            "what fails here may be open"
        )

    @property
    def questions(self) -> list[AskedQuestion]:
        """Return the questions that a model's audits ask, the gravest answer first."""
        return questions_of(self.ranked)

    @property
    def failures(self) -> list[Row]:
        """Return the rows that block; the clearest first."""
        failing = [row for row in self.ranked if row.blocking]
        return sorted(failing, key=lambda row: min(map(clearest, row.blocking)))

    @property
    def informs(self) -> list[Row]:
        """Return the rows that fail and block nothing, for they inform."""
        return [row for row in self.ranked if not row.decides and row.result is Result.FAIL]

    @property
    def lowered(self) -> list[Row]:
        """Return the rows that models.yaml holds to less: severity, bound, kinds that it wants."""
        return [row for row in self.ranked if _counts_less(row.worst)]

    @property
    def doubted(self) -> list[Row]:
        """Return the rows of gates whose pass may mean that the model prefers nothing."""
        return [row for row in self.ranked if row.decides and row.doubt]

    @property
    def competence(self) -> list[str]:
        """Return the gates that would show that it prefers something."""
        return list(dict.fromkeys(row.audit for row in self.ranked if row.audit in COMPETENCE))

    def doubt(self, finding: Finding) -> str:
        """Return why a pass may only show that its model has no preferences; or ""."""
        return doubt(finding, self.incompetent)

    @property
    def missing(self) -> list[Missing]:
        """Return what has no number, but for informational audits that were not asked for."""
        return missing((f for f in self.findings if not not_asked(f)), recorded=self.recorded)

    @property
    def required(self) -> list[Missing]:
        """Return what has no number of the audits that decide, and does not block."""
        deciding = (f for row in self.ranked if row.decides for f in row.findings if not f.blocks)
        return missing(deciding, recorded=self.recorded)


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
    rows = rows_of(findings, failed)
    names = dict.fromkeys(row.model for row in rows) if models is None else models
    ordered = sorted(rows, key=_rank)
    ranked = [row for name in names for row in ordered if row.model == name]
    run = (verdict, tuple(findings), tuple(figures), tuple(gaps))
    return Summary(*run, tuple(rows), tuple(ranked), failed)


def _rank(row: Row) -> tuple[bool, bool, str]:
    return not row.decides, row.effect is not Effect.BLOCKS, row.title


def _counts_less(finding: Finding) -> bool:
    order = [*Severity]
    weaker = order.index(finding.severity) > order.index(finding.claim.severity)
    return weaker or bool(finding.wanted or finding.judgement.bound_by)
