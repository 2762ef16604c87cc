"""What training on either of two releases would make of a policy, at the same nats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rmaudit.measures.policy_stages import START, AfterTrainingEvidence, Likely, Stage
from rmaudit.verdicts.findings import Finding

_LIKELY = 5  # words


@dataclass(frozen=True, slots=True)
class Trained:
    """A policy after some training: `Stage` without its lists, and its likeliest words."""

    happiness: float
    variety: float
    zipf: float
    letterless: float
    likely: tuple[Likely, ...]


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """The policy under a prompt, after as much training on the old release and on the new.

    `same_policy` says whether both began alike; if not, the releases are not all that differs.
    """

    prompt: str
    training: str
    same_policy: bool
    old: Trained
    new: Trained


def compare_policies(old: Iterable[Finding], new: Iterable[Finding]) -> Iterator[PolicyChange]:
    """Yield a change for each prompt and training that the evidence of both has."""
    before, after = _stages(old), _stages(new)
    for (prompt, training), stage in after.items():
        earlier = before.get((prompt, training))
        if earlier is None:
            continue
        starts = [stages.get((prompt, START)) for stages in (before, after)]
        same = starts[0] is not None and starts[0] == starts[1]
        yield PolicyChange(prompt, training, same, _trained(earlier), _trained(stage))


def _stages(findings: Iterable[Finding]) -> dict[tuple[str, str], Stage]:
    """Return the stages that a still picture has, by their prompt and training."""
    return {
        (stage.prompt, stage.how): stage
        for finding in findings
        if finding.estimate and isinstance(finding.estimate.evidence, AfterTrainingEvidence)
        for stage in finding.estimate.evidence.stages
        if stage.in_chart
    }


def _trained(stage: Stage) -> Trained:
    return Trained(
        stage.happiness, stage.variety, stage.zipf, stage.letterless, stage.likely[:_LIKELY]
    )
