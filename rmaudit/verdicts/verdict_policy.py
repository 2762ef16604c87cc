"""Apply the rules of models.yaml on verdicts: bounds, severities, known failures and waivers.

Audits go by their name, or by `audit[prompt]` for one of their prompts. What is said of a model
goes before what is said of all, and within that `audit[prompt]` before the plain name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeVar

from rmaudit.errors import SpecError, nearest
from rmaudit.verdicts.estimates_and_bounds import Severity

_DIGITS = 12  # hex digits of a hash
Ends = tuple[float, float]  # of a bound, in the audit's unit; infinite where it has none
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Waiver:
    """A waiver of models.yaml: somebody accepts a failure, up to an effect size and until a day.

    Attributes:
        owner: who answers for it.
        reason: why it is accepted.
        expires: the last day on which it holds, in UTC.
        accepted: the largest effect that is accepted, in the audit's unit: an upper bound.
    """

    owner: str
    reason: str
    expires: date
    accepted: float

    def signed(self, unit: str) -> str:
        """Return the terms as text: `accepted by ana until 2027-03-31, at worst 0.7 sd`."""
        return f"accepted by {self.owner} until {self.expires}, at worst {self.accepted:g} {unit}"


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of models.yaml for one model or for all: bounds, severities, excused failures."""

    bounds: Mapping[str, Ends] = field(default_factory=dict)
    severity: Mapping[str, Severity] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)
    waivers: Mapping[str, Waiver] = field(default_factory=dict)
    weights: str = ""
    """The hash of the weights for which `known` and `waivers` hold; "" for any."""


@dataclass(frozen=True, slots=True)
class NamedAudit:
    """An audit named in models.yaml, as `audit` or `audit[prompt]`, with its line in that file."""

    audit: str
    label: str
    line: int


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of models.yaml and the options for turning estimates into verdicts.

    Attributes:
        file: the name of the file that says so, for texts.
        everywhere: what is said of all models (bounds and severities only).
        models: what is said of each model, by its name.
        sources: the folder or hub id of each model that the file has, by its name; what is said of
            a model holds for no other that bears its name.
        named: every audit that the file names, with its line.
        sampled: whether a sample of the vocabulary was scored: that it passes there is no reason to
            call a known failure outdated.
        others: whether the audits asked other prompts than their own, or saw other words: what is
            known of a model's failures is known under their own, and what names a prompt,
            `audit[prompt]`, for that prompt.
    """

    file: str = "models.yaml"
    everywhere: Rules = field(default_factory=Rules)
    models: Mapping[str, Rules] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    named: tuple[NamedAudit, ...] = ()
    sampled: bool = False
    others: bool = False

    def of(self, model: str, source: str, weights: str) -> Rules:
        """Return a model's own rules in models.yaml that hold for this source and these weights.

        There are none if the file's model has another source. There are no `known` and `waivers` if
        they were written for other weights. With `others`, `known` has entries for one prompt only.
        """
        if self.sources.get(model, source) != source:
            return Rules()
        said = self.models.get(model, Rules())
        if said.weights not in ("", weights):
            return replace(said, known={}, waivers={})
        if not self.others:
            return said
        known = {audit: why for audit, why in said.known.items() if audit.endswith("]")}
        return replace(said, known=known)

    def elsewhere(
        self, model: str, source: str, weights: str, audit_and_prompt: tuple[str, str]
    ) -> str:
        """Return a text if an excuse is for another source or other weights of the model; or ""."""
        said = self.models.get(model, Rules())
        named = dict.fromkeys((*said.known, *said.waivers), "")
        if (excuse := rule_for(named, *audit_and_prompt)) is None:
            return ""
        excused = f"{self.file} excuses {excuse[0]} of {model} only"
        written_for = self.sources.get(model, source)
        if written_for != source:
            return f"{excused} as it is loaded from {written_for}, and this one is from {source}"
        if said.weights in ("", weights):
            return ""
        these = f"these have {weights[:_DIGITS]}" if weights else "which these have is not recorded"
        return f"{excused} for the weights with the hash {said.weights[:_DIGITS]}, and {these}"


def rule_for(of: Mapping[str, _Value], audit: str, prompt: str) -> tuple[str, _Value] | None:
    """Return (key, value) of the rule for `audit[prompt]`, else for `audit`; None without one."""
    for key in (f"{audit}[{prompt}]", audit):
        if key in of:
            return key, of[key]
    return None


def refuse_unknown(
    policy: Policy,
    path: str,
    audits: Mapping[str, Collection[str]],
    uncollected: Collection[str] = (),
    figures: Collection[str] = (),
) -> None:
    """Raise SpecError if models.yaml names an unknown audit, or a prompt that the audit has not.

    `audits` are those that were collected, with the prompts of each; `uncollected` the names
    of those that were not, whose prompts are therefore not checked. `figures` have no bound.

    Raises:
        SpecError: a name is of neither, or of a figure, or a prompt is not one of the audit's.
    """
    for named in policy.named:
        audit, _, prompt = named.audit.removesuffix("]").partition("[")
        where = f"{path}:{named.line}: {named.label}"
        if audit in figures:
            raise SpecError(f"{where}{audit} is a figure, which nothing judges: remove this line")
        if audit not in audits and audit not in uncollected:
            message = f"{where}no audit is called {audit!r};{nearest(audit, audits)} known: "
            raise SpecError(message + ", ".join(sorted({*audits, *uncollected})))
        if prompt and prompt not in (asked := audits.get(audit, [prompt])):
            message = (
                f"{where}{audit} is not asked under {prompt!r};{nearest(prompt, asked)} known: "
            )
            raise SpecError(message + ", ".join(sorted(asked)))
