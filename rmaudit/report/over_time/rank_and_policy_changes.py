"""Compare how two releases rank tokens, and how a policy trained on either would answer.

`compare_sweeps` tells which tokens moved furthest, `compare_policies` compares the policies after
the same amount of training.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rmaudit.errors import MeasureError
from rmaudit.measures import ranking_comparison
from rmaudit.measures._stats import UNMEASURED
from rmaudit.measures.after_training_evidence import START, AfterTrainingEvidence, Stage
from rmaudit.measures.differences_of_estimates import Interval
from rmaudit.report import packed_scores
from rmaudit.report.results_document import AuditedModel, Results, SweepSummary
from rmaudit.verdicts.findings import Finding

MOVED = 10  # tokens at either end
_SAME_SHARE = 1e-3  # shares of the likeliest words: another device moves them by less


@dataclass(frozen=True, slots=True)
class MovedToken:
    """A token and its ranks in the old and the new sweep; 1 is the best."""

    text: str
    old: float
    new: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """The number of tokens in the old sweep, and in the new one."""

    old: int
    new: int


@dataclass(frozen=True, slots=True)
class SweepChange:
    """How alike two sweeps rank their shared tokens, and which tokens moved furthest."""

    prompt: str
    paired_by: str
    tokens: int
    of: Sizes
    tau: Interval | None = None
    spearman: float | None = None
    reason: str = ""
    rose: tuple[MovedToken, ...] = ()
    fell: tuple[MovedToken, ...] = ()


def compare_sweeps(
    old: tuple[Results, AuditedModel], new: tuple[Results, AuditedModel], rng: np.random.Generator
) -> Iterator[SweepChange]:
    """Yield, for each prompt and protocol of both releases, how alike their sweeps rank tokens.

    Sweeps without a score per token (only a summary is stored) are left out.

    Raises:
        ResultsError: the scores or the vocabulary of a sweep are damaged.
    """
    for before, after in _paired_sweeps(old[1].sweeps, new[1].sweeps):
        yield _sweep_change(old[0], new[0], before, after, rng)


def _paired_sweeps(
    old: Iterable[SweepSummary], new: Iterable[SweepSummary]
) -> list[tuple[SweepSummary, SweepSummary]]:
    def key(sweep: SweepSummary) -> tuple[str, str]:
        return sweep.prompt_text, str(sweep.provenance.get("protocol"))

    before = {key(sweep): sweep for sweep in old if sweep.scores}
    after = [sweep for sweep in new if sweep.scores]
    return [(before[key(sweep)], sweep) for sweep in after if key(sweep) in before]


def _sweep_change(
    old: Results,
    new: Results,
    before: SweepSummary,
    after: SweepSummary,
    rng: np.random.Generator,
) -> SweepChange:
    by_id = before.vocabulary == after.vocabulary
    frames = (
        packed_scores.frame(old.vocabularies, before),
        packed_scores.frame(new.vocabularies, after),
    )
    both = ranking_comparison.paired(*map(packed_scores.spelled, frames), by_id=by_id)
    paired_by = "token id" if by_id else "text"
    found = SweepChange(after.prompt, paired_by, len(both), Sizes(before.n, after.n))
    try:
        tau = ranking_comparison.correlation(
            both, rng=rng, noise=_noise(after), baseline_noise=_noise(before)
        )
    except MeasureError as error:
        return replace(found, reason=str(error))
    rose, fell = (_moved_tokens(rows) for rows in ranking_comparison.moved(both, MOVED))
    rho = tau.secondary["Spearman's rho"]
    return replace(found, tau=Interval.of(tau), spearman=rho, rose=rose, fell=fell)


def _noise(sweep: SweepSummary) -> float:
    """Return the standard deviation of a sweep's numeric noise; NaN if it was not measured."""
    noise = sweep.provenance.get("noise")
    return float(noise) if isinstance(noise, int | float) else UNMEASURED


def _moved_tokens(rows: pd.DataFrame) -> tuple[MovedToken, ...]:
    columns = (rows[name] for name in ("text", "old", "new"))
    return tuple(
        MovedToken(str(text), float(old), float(new))
        for text, old, new in zip(*columns, strict=True)
    )


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """The policies that result for one prompt from equal training on the old and the new rewards.

    `same_policy` says whether both started from the same policy; if not, the releases are not the
    only difference.
    """

    same_policy: bool
    old: Stage
    new: Stage


def compare_policies(old: Iterable[Finding], new: Iterable[Finding]) -> Iterator[PolicyChange]:
    """Yield the old and the new policy for each prompt and amount of training in both runs."""
    before, after = _stages(old), _stages(new)
    for (prompt, training), stage in after.items():
        if earlier := before.get((prompt, training)):
            starts = [stages.get((prompt, START)) for stages in (before, after)]
            yield PolicyChange(_same_start(*starts), earlier, stage)


def _same_start(one: Stage | None, other: Stage | None) -> bool:
    """Return whether two policies start with the same likely words at the same probabilities."""
    if one is None or other is None:
        return False
    shares, others = ({each.word: each.before for each in own.likely} for own in (one, other))
    return shares.keys() == others.keys() and all(
        math.isclose(share, others[word], abs_tol=_SAME_SHARE) for word, share in shares.items()
    )


def _stages(findings: Iterable[Finding]) -> dict[tuple[str, str], Stage]:
    """Return the policy at each charted stage of training, by prompt and amount, such as "4 nats".

    A stage describes the policy after that training.
    """
    return {
        (stage.prompt, stage.how): stage
        for finding in findings
        if finding.estimate and isinstance(finding.estimate.evidence, AfterTrainingEvidence)
        for stage in finding.estimate.evidence.stages
        if stage.in_chart
    }
