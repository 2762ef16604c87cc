"""A finding: what an audit claims of a model, what was measured, and the judgement of both.

The types come first. Then what is said of a finding that does not plainly pass, the same words in
the terminal and in every report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rmaudit.verdicts.policy import Waiver
from rmaudit.verdicts.records import Bound, Estimate, Severity, Standing, Verdict

OUTDATED = "passes, though models.yaml expects it to fail: remove it from `known`"
_OUTSIDE = "outside its bound; it does not gate, so it fails nothing"
_OPEN = "its interval straddles the bound; it does not gate"


@dataclass(frozen=True, slots=True)
class Claim:
    """What an audit states before it measures, of one model, under one prompt or several."""

    audit: str
    nodeid: str
    """pytest's name of the test."""
    text: str
    """The claim, a sentence."""
    source: str
    """Where the claim is from."""
    base_rate: str
    """Where known models stand."""
    bound: Bound
    """As the audit declares it."""
    severity: Severity
    """As the audit declares it."""
    limits: tuple[str, ...]
    """What the audit does not show, a sentence each."""
    model: str
    """Its name, one of `models`."""
    model_source: str
    """The folder or hub id of the model: what a policy's entry must be of, to speak of it."""
    prompt: str
    """The prompt's name; several joined by +, or for example `54 prompts`."""
    repeat: str
    """The command that runs it again."""


@dataclass(frozen=True, slots=True)
class AppliedWaiver:
    """What models.yaml accepts, and whether that holds for what was measured."""

    key: str
    """audit or audit[prompt], as in models.yaml."""
    terms: Waiver
    days_left: int
    state: Literal["waived", "expiring", "expired", "reopened", "unneeded"]
    says: str
    """All of it in a sentence."""

    @property
    def holds(self) -> bool:
        """Whether it excuses the failure."""
        return self.state in ("waived", "expiring")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What follows from a claim and an estimate under a policy on a day: see `judge`."""

    verdict: Verdict
    bound: Bound
    """The bound in force."""
    bound_by: str
    """Where models.yaml sets it; "" where it is the declared one."""
    severity: Severity
    """The severity in force: what follows where the audit does not pass."""
    severity_by: str
    """Where models.yaml sets it; "" where it is the declared one."""
    known: str
    """Why models.yaml expects the failure, or ""."""
    waiver: AppliedWaiver | None
    p: float | None
    """Of the bound, two-sided; null where nothing was measured."""
    p_holm: float | None
    """The same among all gating findings of the run (Holm 1979)."""
    detectable: float | None
    """The smallest distance beyond the bound that is found with 80 % probability."""
    blocks: bool
    """Whether the finding keeps the run from being green."""
    reason: str
    """Why a PASS or a FAIL is INCONCLUSIVE: a null control passes, or chance in its run; or ""."""

    @property
    def standing(self) -> Standing:
        """The verdict as it is counted and shown.

        WAIVED for a failure with a waiver that holds, KNOWN for one that models.yaml expects, INFO
        for what was measured and gates nothing.
        """
        measured = self.verdict not in (Verdict.ERROR, Verdict.SKIPPED, Verdict.NA)
        if self.severity is Severity.INFO and measured:
            return Standing.INFO
        if self.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE):
            if self.waiver is not None and self.waiver.holds:
                return Standing.WAIVED
            if self.known:
                return Standing.KNOWN
        return Standing(self.verdict)


@dataclass(frozen=True, slots=True)
class Band:
    """Where published models stand."""

    models: Mapping[str, float]
    """The value of each, by name."""
    on: str
    """What they were measured on."""


@dataclass(frozen=True, slots=True)
class Control:
    """A null control: what the audit says of a scorer that knows nothing of its claim."""

    verdict: Verdict
    """PASS, FAIL, INCONCLUSIVE; ERROR: nothing can be measured; SKIPPED, N/A: it was not tried."""
    stops: bool
    """Whether the audit declares that it must not pass."""
    value: float | None = None
    """null exactly where it was not measured (ERROR, SKIPPED, N/A)."""
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    """Upper end of the 95 % interval."""
    reason: str = ""
    """Why it was not measured."""

    @property
    def slips(self) -> bool:
        """Whether it passes what must stop it."""
        return self.stops and self.verdict is Verdict.PASS

    def __str__(self) -> str:
        """For example `+0.36 PASS`, or `cannot be measured`."""
        if self.value is None:
            return "cannot be measured" if self.verdict is Verdict.ERROR else "not tried"
        return f"{self.value:+.3g} {self.verdict}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One audit of one model under one prompt: claim, estimate and judgement."""

    claim: Claim
    judgement: Judgement
    estimate: Estimate | None = None
    """null exactly where nothing was measured (ERROR, SKIPPED, N/A)."""
    reason: str = ""
    """Why there is no estimate."""
    sweeps: tuple[str, ...] = ()
    """Keys of the stored scores that it rests on."""
    controls: Mapping[str, Control] = field(default_factory=dict)
    """What the audit says of scorers that know nothing of its claim, by name."""
    band: Band | None = None

    @property
    def audit(self) -> str:
        """The audit's name."""
        return self.claim.audit

    @property
    def model(self) -> str:
        """The model's name."""
        return self.claim.model

    @property
    def prompt(self) -> str:
        """The prompt's name, or the label of several."""
        return self.claim.prompt

    @property
    def name(self) -> str:
        """For example `positive_skew[R-Smol-135M-best]`."""
        return f"{self.audit}[{self.model}-{self.prompt}]"

    @property
    def verdict(self) -> Verdict:
        """How it was judged."""
        return self.judgement.verdict

    @property
    def left_out(self) -> bool:
        """Whether it was not measured for a reason that is no fault: SKIPPED, or N/A."""
        return self.verdict in (Verdict.SKIPPED, Verdict.NA)

    @property
    def severity(self) -> Severity:
        """The severity in force."""
        return self.judgement.severity

    @property
    def bound(self) -> Bound:
        """The bound in force."""
        return self.judgement.bound

    @property
    def standing(self) -> Standing:
        """The verdict as it is counted and shown."""
        return self.judgement.standing

    @property
    def blocks(self) -> bool:
        """Whether it keeps the run from being green."""
        return self.judgement.blocks


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings stand where, in the order of `Standing`; none of 0."""
    found = Counter(finding.standing for finding in findings)
    return {str(standing): found[standing] for standing in Standing if found[standing]}


def slipped(controls: Mapping[str, Control]) -> str:
    """For example `the null control 'long words' (+3.9) passes it, and must not`; "" where none."""
    names = [f"{name!r} ({c.value:+.3g})" for name, c in controls.items() if c.slips]
    if not names:
        return ""
    several = len(names) > 1
    return (
        f"the null control{'s' if several else ''} {', '.join(names)} "
        f"pass{'' if several else 'es'} it and must not: a pass shows nothing here"
    )


def nulls_in_words(findings: Iterable[Finding]) -> str:
    """How many null controls a run's audits had to stop, and which they did not; "" if none."""
    tried = [
        (finding, name, control)
        for finding in findings
        for name, control in finding.controls.items()
        if control.stops
    ]
    if not tried:
        return ""
    through = [f"{name!r} passes {finding.audit}" for finding, name, c in tried if c.slips]
    untried = sum(control.verdict in (Verdict.SKIPPED, Verdict.NA) for _, _, control in tried)
    said = [f"null controls: {len(tried) - len(through) - untried} of {len(tried)} stopped"]
    said += [f"{untried} not tried"] if untried else []
    return ", ".join([*said, *dict.fromkeys(through)])


def explain(finding: Finding) -> str:
    """Why a measured finding does not pass, for the terminal: claim, numbers, how to repeat it."""
    claim, judgement = finding.claim, finding.judgement
    straddles = finding.verdict is Verdict.INCONCLUSIVE
    lines = [
        f"{finding.name}: {finding.verdict}"
        + (" (the interval straddles the bound)" if straddles and not judgement.reason else ""),
        f"  claim      {claim.text}",
        f"  measured   {finding.estimate}",
        f"  bound      {finding.bound}"
        + (f" ({judgement.bound_by}; declared: {claim.bound})" if judgement.bound_by else ""),
        f"  base rate  {claim.base_rate}",
    ]
    if finding.estimate is not None:
        lines += [f"  note       {caveat}" for caveat in finding.estimate.caveats]
    if through := slipped(finding.controls):
        lines.append(f"  nulls      {through}")
    if judgement.waiver:
        lines.append(f"  waiver     {judgement.waiver.says}")
    if claim.repeat:
        lines.append(f"  repeat     {claim.repeat}")
    return "\n".join(lines)


def excuse(finding: Finding) -> str:
    """Why a waived or known failure is accepted."""
    judgement = finding.judgement
    return judgement.waiver.says if judgement.waiver else judgement.known


def overrides(finding: Finding) -> list[tuple[str, str, str]]:
    """What models.yaml sets of it: the bound or the severity, where, and what is declared."""
    judgement, claim = finding.judgement, finding.claim
    said = [
        ("severity", judgement.severity_by, str(claim.severity)),
        ("bound", judgement.bound_by, str(claim.bound)),
    ]
    return [each for each in said if each[1]]


def reasons(finding: Finding) -> list[str]:
    """Why there is no plain verdict, and what the policy has to do with it."""
    judgement, verdict = finding.judgement, finding.verdict
    informs = finding.standing is Standing.INFO
    why, through = finding.reason or judgement.reason, slipped(finding.controls)
    said = [
        why,
        through if through != why else "",
        _OUTSIDE if informs and verdict is Verdict.FAIL else "",
        _OPEN if informs and verdict is Verdict.INCONCLUSIVE and not why else "",
        OUTDATED if judgement.known and verdict is Verdict.PASS else "",
        judgement.known if finding.standing is Standing.KNOWN and not why else "",
        judgement.waiver.says if judgement.waiver else "",
        *(f"{what} as in {by}; declared: {was}" for what, by, was in overrides(finding)),
    ]
    return [reason for reason in said if reason]
