"""Compare what training on either of two releases would make of a policy, at the same nats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rmaudit.measures.policy_stages import START, AfterTrainingEvidence, Stage
from rmaudit.verdicts.findings import Finding

_ALIKE = 1e-3  # shares of the likeliest words: another device moves them by less


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """The policy under a prompt, after as much training on the old release and on the new.

    `same_policy` says whether both began alike; if not, the releases are not all that differs.
    """

    same_policy: bool
    old: Stage
    new: Stage


def compare_policies(old: Iterable[Finding], new: Iterable[Finding]) -> Iterator[PolicyChange]:
    """Yield a change for each prompt and training that the evidence of both has."""
    before, after = _stages(old), _stages(new)
    for (prompt, training), stage in after.items():
        if earlier := before.get((prompt, training)):
            starts = [stages.get((prompt, START)) for stages in (before, after)]
            yield PolicyChange(_alike(*starts), earlier, stage)


def _alike(one: Stage | None, other: Stage | None) -> bool:
    """Return whether two policies begin with the same words, as likely in both."""
    if one is None or other is None:
        return False
    shares, others = ({each.word: each.before for each in own.likely} for own in (one, other))
    return shares.keys() == others.keys() and all(
        math.isclose(share, others[word], abs_tol=_ALIKE) for word, share in shares.items()
    )


def _stages(findings: Iterable[Finding]) -> dict[tuple[str, str], Stage]:
    """Return the stages that a still picture has, by their prompt and training."""
    return {
        (stage.prompt, stage.how): stage
        for finding in findings
        if finding.estimate and isinstance(finding.estimate.evidence, AfterTrainingEvidence)
        for stage in finding.estimate.evidence.stages
        if stage.in_chart
    }
