"""Define a finding: an audit's claim about a model, the estimate, the judgement; and a figure.

The module `verdict_wording` builds the texts about findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from html import escape
from typing import Literal

from rmaudit.verdicts.estimates_and_bounds import (
    T_GROUPS,
    Bound,
    Effect,
    Estimate,
    Result,
    Severity,
    Verdict,
    paired_error,
)
from rmaudit.verdicts.rounded_numbers import LEAST, decimals_to_show, signed
from rmaudit.verdicts.verdict_policy import Waiver


@dataclass(frozen=True, slots=True)
class Claim:
    """What an audit claims of a model under one or several prompts; it holds no measured values."""

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
    weights: str = ""
    """The hash of the weights, as `weights` in models.yaml has it; "" where none is known."""
    title: str = ""
    """A short name of the audit for people; "" in a file that an older rmaudit wrote."""
    question: str = ""
    """The question that the audit answers, a plain sentence; "" where its author gives none."""
    harm: str = ""
    """A sentence on what a model trained on a reward that fails may do to people; or ""."""
    matters: str = ""
    """Why a value where harm begins matters, in users' terms; or ""."""
    family: str = ""
    """Which of the report's five questions the audit asks; "" for none of them."""


@dataclass(frozen=True, slots=True)
class AppliedWaiver:
    """Waiver of models.yaml as applied to an estimate: its terms and whether it holds."""

    key: str
    """audit or audit[prompt], as in models.yaml."""
    terms: Waiver
    days_left: int
    state: Literal["waived", "expiring", "expired", "reopened", "unneeded"]
    says: str
    """All of it in a sentence."""

    @property
    def holds(self) -> bool:
        """Return whether the waiver excuses the failure."""
        return self.state in ("waived", "expiring")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of an estimate by its bound and models.yaml: verdict, waiver, does it block."""

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
    """The same among all gating findings of its model (Holm 1979)."""
    detectable: float | None
    """The smallest distance beyond the bound that is found with 80 % probability."""
    blocks: bool
    """Whether the finding keeps the run from passing."""
    reason: str
    """Why a PASS or a FAIL is INCONCLUSIVE: a null control passes, or chance in its run; or ""."""
    unexcused: str = ""
    """Why an excuse in models.yaml does not hold: it is for other weights or another source; ""."""
    regressed: str = ""
    """That it is clearly worse than the blessed release, a sentence; "" where it is not."""

    @property
    def left_open(self) -> bool:
        """Return whether the result is open and may stay so: the audit is no gate of the core.

        A FAIL that may be chance may not. A PASS that a null control makes worthless may: its p is
        1, and a worse value, which is open without the control, may stay so too.
        """
        beyond = self.p is not None and self.p < 1  # its value lies beyond the bound
        chance = bool(self.reason) and beyond
        core = self.severity is Severity.CORE
        return self.verdict is Verdict.INCONCLUSIVE and not core and not chance

    @property
    def accepted(self) -> bool:
        """Return whether a waiver or `known` excuses what would block of a gate."""
        failed = self.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE) and not self.left_open
        excused = bool(self.known) or (self.waiver is not None and self.waiver.holds)
        return failed and self.severity.gates and excused


@dataclass(frozen=True, slots=True)
class Band:
    """Values that published models get from the same audit, for comparison."""

    models: Mapping[str, float]
    """The value of each, by name."""
    on: str
    """What they were measured on."""


@dataclass(frozen=True, slots=True)
class Control:
    """Result of an audit on a null control, which is a scorer that ignores meaning."""

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
    parts: tuple[float, ...] = ()
    """The parts of its error, as an estimate has them, where it passes and must not."""

    @property
    def slips(self) -> bool:
        """Return whether this null control passes although the audit says that it must not."""
        return self.stops and self.verdict is Verdict.PASS

    @property
    def result(self) -> Result:
        """Return the verdict as reports print it: pass, fail, open or not run."""
        return self.verdict.result

    def __str__(self) -> str:
        """Return, for example, `+0.36 pass`, or `cannot be measured`."""
        if self.value is None:
            return "cannot be measured" if self.verdict is Verdict.ERROR else "not tried"
        return f"{self.value:+.3g} {self.result}"


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """The result of one audit on one model under one prompt: claim, estimate and judgement."""

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
    def decimals(self) -> int:
        """Return how many decimals show the interval, and its ends on their side of the bound."""
        return _decimals(self.estimate, (*self.bound.ends, *self.bound.harms))

    def __repr__(self) -> str:
        """Return, for example, `<Finding positive_skew[R-Smol-135M-best]: pass, 1.52 sd ...>`."""
        measured = str(self.estimate) if self.estimate else f"not measured: {self.reason}"
        return f"<Finding {self.name}: {self.in_words}; {measured}; allowed: {self.bound}>"

    def _repr_html_(self) -> str:
        """Return the repr as escaped HTML: its texts come from an audit's author."""
        return f"<p>{escape(repr(self)[1:-1])}</p>"

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the kinds that models.yaml keeps from failing, sorted; () where none."""
        evidence = self.estimate.evidence if self.estimate else None
        return tuple(sorted(evidence.wanted)) if evidence else ()

    @property
    def audit(self) -> str:
        """Return the audit's name."""
        return self.claim.audit

    @property
    def title(self) -> str:
        """Return the audit's title, or one derived from its name where the claim has none."""
        return self.claim.title or title_of(self.audit)

    @property
    def model(self) -> str:
        """Return the model's name."""
        return self.claim.model

    @property
    def prompt(self) -> str:
        """Return the prompt's name, or the label of several prompts."""
        return self.claim.prompt

    @property
    def name(self) -> str:
        """Return the finding's name, for example `positive_skew[R-Smol-135M-best]`."""
        return f"{self.audit}[{self.model}-{self.prompt}]"

    @property
    def verdict(self) -> Verdict:
        """Return the verdict of the judgement, such as PASS or SKIPPED."""
        return self.judgement.verdict

    @property
    def left_out(self) -> bool:
        """Return whether the audit was not run, for a reason that is no fault (SKIPPED or N/A)."""
        return self.verdict in (Verdict.SKIPPED, Verdict.NA)

    @property
    def severity(self) -> Severity:
        """Return the severity after overrides in models.yaml: core, gate or info."""
        return self.judgement.severity

    @property
    def bound(self) -> Bound:
        """Return the bound that was applied: models.yaml's if it has one, else the declared one."""
        return self.judgement.bound

    @property
    def blocks(self) -> bool:
        """Return whether the finding keeps the run from passing."""
        return self.judgement.blocks

    @property
    def result(self) -> Result:
        """Return the verdict as reports print it: pass, fail, open or not run."""
        return self.verdict.result

    @property
    def effect(self) -> Effect:
        """Return what the result means for the release: blocks, accepted, info, or ""."""
        if self.blocks:
            return Effect.BLOCKS
        if self.judgement.accepted:
            return Effect.ACCEPTED
        return Effect.NONE if self.severity.gates else Effect.INFO

    @property
    def in_words(self) -> str:
        """Return result and effect, for example `fail (blocks)`, or `pass` without an effect."""
        return in_words(self.result, self.effect)


@dataclass(frozen=True, slots=True)
class Figure:
    """What an audit without a bound measured of one model: an estimate that nothing judges."""

    audit: str
    nodeid: str
    """pytest's name of the test."""
    title: str
    question: str
    """The question that it answers, a plain sentence."""
    source: str
    """Where its idea is from."""
    limits: tuple[str, ...]
    """What it does not show, a sentence each."""
    model: str
    """Its name, one of `models`."""
    model_source: str
    """The folder or hub id of the model."""
    prompt: str
    """The prompt's name; several joined by +."""
    repeat: str
    """The command that runs it again."""
    weights: str = ""
    """The hash of the weights; "" where none is known."""
    estimate: Estimate | None = None
    """null exactly where nothing was measured."""
    reason: str = ""
    """Why there is no estimate."""
    sweeps: tuple[str, ...] = ()
    """Keys of the stored scores that it rests on."""

    @classmethod
    def of(
        cls,
        claim: Claim,
        estimate: Estimate | None = None,
        *,
        reason: str = "",
        sweeps: tuple[str, ...] = (),
    ) -> Figure:
        """Return a figure of what `claim` is about, which is not judged."""
        names = [each.name for each in fields(cls) if each.name in Claim.__slots__]
        about = {name: getattr(claim, name) for name in names}
        return cls(**about, estimate=estimate, reason=reason, sweeps=sweeps)

    @property
    def decimals(self) -> int:
        """Return how many decimals show the interval."""
        return _decimals(self.estimate)

    @property
    def name(self) -> str:
        """Return the figure's name, for example `funnel[R-Smol-135M-best+worst]`."""
        return f"{self.audit}[{self.model}-{self.prompt}]"


def _decimals(of: Estimate | None, limits: tuple[float, ...] = ()) -> int:
    return decimals_to_show((of.low, of.value, of.high), limits) if of else LEAST


AnyFinding = Finding | Figure  # what one test of a run found


def title_of(audit: str) -> str:
    """Return a title made of an audit's name, for example `Top things` for `top_things`."""
    return audit.replace("_", " ").capitalize()


def in_words(result: str, effect: str) -> str:
    """Return a result and its effect as text, for example `fail (blocks)`."""
    return f"{result} ({effect})" if effect else str(result)


def slipped(controls: Mapping[str, Control], estimate: Estimate | None, bound: Bound) -> str:
    """Return a sentence naming null controls that make the model's pass worthless; "" if none does.

    These controls pass although they must not, and the model is not clearly better than they are.
    So the words of this vocabulary may make any scorer pass.
    """
    names = [
        f"{name!r} ({signed(c.value, decimals_to_show((c.value,), bound.ends))})"
        for name, c in controls.items()
        if c.slips and c.value is not None and not _clearly_better(estimate, c, bound)
    ]
    if not names:
        return ""
    several = len(names) > 1
    return (
        f"the null control{'s' if several else ''} {', '.join(names)} "
        f"pass{'' if several else 'es'} it and must not, and the model is not clearly better: "
        "a pass shows nothing here"
    )


def _clearly_better(estimate: Estimate | None, control: Control, bound: Bound) -> bool:
    """Return whether the estimate is clearly further inside a one-sided bound than the control's.

    By the 95 % interval of their paired difference; where one has no parts, their intervals must
    not overlap. A bound with two ends has no side that is better: False.
    """
    low, high = bound.low, bound.high
    if estimate is None or control.value is None or (low is None) == (high is None):
        return False
    lead = estimate.value - control.value if high is None else control.value - estimate.value
    error = paired_error(estimate.parts, control.parts)
    if error is not None:
        return lead > T_GROUPS * error
    if control.low is None or control.high is None:
        return False
    return estimate.low > control.high if high is None else estimate.high < control.low
