"""Say in words what findings are: what was measured, who accepts it, where its harm begins.

What the run's end on the terminal needs too is in `verdicts.verdict_wording`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rmaudit import prompts
from rmaudit.measures.after_training_evidence import HAPPINESS, AfterTrainingEvidence, Onset
from rmaudit.measures.contrasts import GATES
from rmaudit.measures.identity_communities_evidence import COMMUNITY, CommunityOddsEvidence
from rmaudit.report.number_format import (
    beside_bound,
    bound_in_words,
    distance_beyond,
    interval,
    value,
)
from rmaudit.report.safe_text import line
from rmaudit.verdicts.estimates_and_bounds import Effect, Estimate, Result, Verdict
from rmaudit.verdicts.findings import AnyFinding, Finding, slipped
from rmaudit.verdicts.rounded_numbers import fixed
from rmaudit.verdicts.run_verdict import relaxed
from rmaudit.verdicts.verdict_wording import OUTDATED, excuse

_LONGEST = 450  # characters of an example; the chart has the whole
_HARM_OF = {  # the beginnings of harms' names, by the gates that predict them
    **dict.fromkeys(("elo_agreement", "framing_inversion", "positive_skew"), HAPPINESS),
    **dict.fromkeys(("identity_communities", "identity_terms"), COMMUNITY),
}
_END = re.compile(r"(?<=[^.])\. (?=[A-Z])|; ")  # of a sentence, or of its first part


def full(label: str) -> str:
    """Return the name and text of each prompt in a finding's label, such as `best+worst`."""
    known = prompts.ALL
    names = label.split("+")
    return "; ".join(f"{name}: {known[name].text}" if name in known else name for name in names)


def short(label: str) -> str:
    """Return a short form of a finding's label of prompts: `best`, `3 prompts` or `54 prompts`."""
    n = label.count("+")
    return f"{n + 1} prompts" if n else label


def values_and_bound(findings: Sequence[Finding], worst: Finding) -> str:
    """Return an audit's estimates, as in `greatest 0.47, best 0.58, must be above 0.50`."""
    said = [f"{f.prompt} {value(f) or f.result}" for f in findings]
    if len(findings) == 1:
        said = [_value_and_interval(worst)]
    return ", ".join([*said, bound_in_words(worst)])


def measured_in_words(finding: Finding) -> str:
    """Say what was measured, and what else than a failure blocks.

    For example `0.75 [0.71, 0.79] sd, must be below 0.67: too high by 0.08`. A finding without a
    number is described by its reason.
    """
    estimate, must = finding.estimate, bound_in_words(finding)
    if estimate is None:
        said = finding.reason
    elif finding.result is Result.OPEN:
        said = f"{_value_and_interval(finding)} {estimate.unit}, {must}: {_why_open(finding)}"
    elif finding.result is Result.FAIL and (over := distance_beyond(finding)) >= 0:
        way = "high" if estimate.value >= finding.bound.ends[1] else "low"
        off = f"too {way} by {fixed(over, finding.decimals)}"
        said = f"{_value_and_interval(finding)} {estimate.unit}, {must}: {off}"
    else:
        said = f"{value(finding)} {estimate.unit}, {must}"
    if finding.blocks and (worse := finding.judgement.regressed):
        return f"{said}; {worse}"
    return f"{said}: it {OUTDATED}" if finding.result is Result.PASS else said


def read_out(
    finding: Finding, estimate: Estimate, published: Iterable[float], nulls: Iterable[float]
) -> str:
    """Describe a strip to who does not see it: `skew, best: 0.50 (0.40 to 0.60), pass, ...`.

    `published` models and `nulls` that must not pass are counted, with their ends.
    """
    low, high = (fixed(end, finding.decimals) for end in (estimate.low, estimate.high))
    numbers = f"{value(finding)} ({low} to {high})"
    said = f"{finding.audit}, {finding.prompt}: {numbers}, {finding.result}, bound {finding.bound}"
    for kind, values in (("published models", published), ("null controls", nulls)):
        if every := sorted(values):
            low, high = (beside_bound(end, finding) for end in (every[0], every[-1]))
            said += f", {len(every)} {kind} {low} to {high}"
    return line(said)


def _value_and_interval(finding: Finding) -> str:
    return f"{value(finding)} {interval(finding)}".strip()


def _why_open(finding: Finding) -> str:
    """Return in a few words why a finding is open; the audit's section has the full reason."""
    estimate = finding.estimate
    if slipped(finding.controls, estimate, finding.bound):
        return "a trivial scorer passes this too, so a pass would show nothing"
    if estimate and finding.bound.judge(estimate) is Verdict.INCONCLUSIVE:
        return "harm is neither shown nor ruled out"
    return "beyond the bound, but among so many tests one may get there by chance alone"


def excuse_in_words(finding: Finding) -> str:
    """Return who accepts a failure, until when and why, or why its waiver no longer holds; or "".

    Where models.yaml relaxes the gate, this is the place that does.

    For a known flaw of the bundled model, this is the first sentence of the reason.
    """
    waiver = finding.judgement.waiver
    if finding.effect is not Effect.ACCEPTED:
        if waiver is not None and waiver.state in ("expired", "reopened"):
            return f"Not accepted: {_first_sentence(waiver.says)}"
        if not relaxed(finding):
            return ""
        rule = "severity" if finding.judgement.severity_by else "bound"
        file = (finding.judgement.severity_by or finding.judgement.bound_by).partition(":")[0]
        return f"{file} keeps it from blocking by another {rule}, and gives no reason."
    if waiver is None:
        return f"Known flaw of the bundled model: {_first_sentence(excuse(finding))}"
    signed = waiver.terms.signed(finding.bound.unit)
    return f"{signed[0].upper()}{signed[1:]}: {waiver.terms.reason.rstrip('.')}."


def _first_sentence(text: str) -> str:
    """Return a text up to the end of its first sentence or to its first semicolon."""
    return _END.split(text, maxsplit=1)[0].rstrip(".") + "."


def onsets_of(findings: Iterable[AnyFinding]) -> list[Onset]:
    """Return the onsets of harm in training that were measured with these findings of a model."""
    found = [each.estimate.evidence for each in findings if each.estimate]
    return [
        onset
        for evidence in found
        if isinstance(evidence, AfterTrainingEvidence | CommunityOddsEvidence)
        for onset in evidence.onsets
    ]


def onset_in_words(findings: Sequence[Finding], onsets: Sequence[Onset]) -> str:
    """Say at how many nats of training the harm of an audit that fails begins; "" if none does.

    `findings` are the audit's, `onsets` the model's.
    """
    own = _HARM_OF.get(findings[0].audit)
    begun = [each for each in onsets if own and each.harm.startswith(own) and each.nats is not None]
    if not begun or all(each.result is not Result.FAIL for each in findings):
        return ""
    said = "; ".join(f"{each.harm} at {each.how}" for each in begun)
    return f"Trained on this reward, harm begins so far from the policy: {said}."


def cause_in_words(findings: Iterable[Finding]) -> str:
    """Say how to find what taught a model the failures that are traced to pairs; "" of others."""
    traced = (each for each in findings if each.claim.family and each.audit in GATES)
    first = next(traced, None)
    if first is None:
        return ""
    return (
        f"`rmaudit why {line(first.model)} --pairs FILE --gate {first.audit}` ranks the pairs that "
        "taught it to the head (`docs/how-to/which-pairs-taught-it.md`), and `rmaudit mend` "
        "changes the head"
    )


def example_of(findings: Sequence[Finding]) -> str:
    """Return the first example that the evidence of these findings has, cut if long; or ""."""
    shown = [f.estimate.evidence for f in findings if f.estimate and f.estimate.evidence]
    example = next(filter(None, (each.example() for each in shown)), "")
    return example if len(example) <= _LONGEST else f"{example[:_LONGEST]}…"


def caveats_of(findings: Sequence[AnyFinding]) -> tuple[list[str], dict[str, list[str]]]:
    """Return a model's caveats without repeats: those that audits share, and the rest by audit.

    Caveats with the same words up to a colon are one, whose ends are listed: `Judged on half: 1 of
    2 words` and `Judged on half: 2 of 4 items` are `Judged on half: 1 of 2 words, 2 of 4 items`.
    Where a colon is followed by sentences there is no list to add to.
    """
    ends: dict[str, dict[str, None]] = {}
    audits: dict[str, dict[str, None]] = {}
    alone: dict[str, dict[str, str]] = {finding.audit: {} for finding in findings}
    for finding in findings:
        for caveat in finding.estimate.caveats if finding.estimate else ():
            head, end = _beginning_and_list(caveat)
            # At the commas that are not inside numbers: `4,912 of 9,912 words, 1 of 2 items.`
            listed = end.removesuffix(".").split(", ") if end else []
            ends.setdefault(head, {}).update(dict.fromkeys(listed))
            audits.setdefault(head, {})[finding.audit] = None
            alone[finding.audit][caveat] = head
    common = [head for head, own in audits.items() if len(own) > 1]
    return (
        [f"{head}: {', '.join(ends[head])}." if ends[head] else head for head in common],
        {a: [said for said, head in own.items() if head not in common] for a, own in alone.items()},
    )


def _beginning_and_list(caveat: str) -> tuple[str, str]:
    """Split a caveat at its colon into (beginning, list); return (caveat, "") if it has no list.

    It has none if there is no colon, or if another sentence begins after it.
    """
    head, _, end = caveat.partition(": ")
    return (caveat, "") if ". " in end else (head, end)
