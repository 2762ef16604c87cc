"""Compare a run with the blessed releases of its models: find the gates that regressed.

What is worse is decided by `compare_finding`, as everywhere; here it must also survive Holm's
method among all gates that are compared. Where other trainings were blessed beside the release
(`trainings`), a run is compared with their mean, what they differ by chance counts as error, and
the margin is the usual one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from rmaudit.measures._stats import satterthwaite
from rmaudit.report.number_format import value
from rmaudit.report.releases.blessed_release import Blessing, question_digest
from rmaudit.report.releases.finding_comparison import (
    SMALL,
    Change,
    Changed,
    compare_finding,
    summarize_earlier,
)
from rmaudit.report.results_document import Blessed, Earlier, Results
from rmaudit.verdicts.decision import ALPHA, holm
from rmaudit.verdicts.estimates_and_bounds import GROUPS, T_GROUPS
from rmaudit.verdicts.findings import Finding, Judgement
from rmaudit.verdicts.rounded_numbers import fixed
from rmaudit.verdicts.run_verdict import of_run

# Of the blessed release's distance to the bound: trainings that are alike lose less.
REGRESSION_SHARE = 0.25
_NORMAL = 1.96  # standard errors from an estimate to the end of an interval
_MANY = 1e9  # degrees of freedom: Student's is normal
_LISTED = (Change.WORSE, Change.UNCLEAR, Change.BETTER, Change.UNCHANGED)  # in this order
_ACCEPT = "if this is meant, bless the run: rmaudit bless REPORT"


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A finding, its change since the blessed release, and that change in words."""

    finding: Finding
    change: Change
    says: str


@dataclass(frozen=True, slots=True)
class BlessedComparison:
    """The comparison of a model with its blessed (approved) release, for a page or terminal."""

    blessed: Blessed
    counts: str
    """For example `1 worse, 0 better, 7 with no clear change`."""
    listed: tuple[ListedChange, ...]
    """The worst first: all that are clearly worse or better, and all with another result."""
    regressed: tuple[str, ...]
    """The names of the findings that block because they regressed."""
    old: str
    """A warning that the release is old; "" if it is not."""

    @property
    def says(self) -> list[str]:
        """Return the comparison in a few sentences, for a terminal or a summary."""
        of, n = self.blessed, len(self.regressed)
        whose = f"{of.release}, blessed by {of.by}"
        blocking = f"{n} regressed and block{'s' * (n == 1)}; {_ACCEPT}"
        return [
            f"{of.model} against the blessed release of {of.created[:10]} ({whose})",
            f"{self.counts}; {blocking if n else 'none regressed'}",
            *(f"not comparable: {why}" for why in of.apart),
        ]


def with_blessed(results: Results, blessings: Mapping[str, Blessing]) -> Results:
    """Return results compared with their models' blessed releases, and regressions marked.

    `blessings` are keyed by model name. Findings that regressed are marked. If nothing can be
    compared with a release, a fault is added to the run, which is then not whole.
    """
    blessed = tuple(
        _blessed(results, model.name, blessings[model.name])
        for model in results.models
        if model.name in blessings
    )
    lost = tuple(
        f"{of.model}: nothing could be compared with the blessed release of {of.created[:10]}"
        for of in blessed
        if not of.findings
    )
    run = replace(results.run, faults=(*results.run.faults, *lost))
    return with_regressions(replace(results, run=run, blessed=blessed))


def with_regressions(results: Results) -> Results:
    """Return results with gates marked that regressed since a blessed release, judged anew.

    A gate that regressed blocks unless a waiver holds.
    """
    why = _regressions(results.findings, results.blessed)
    findings = tuple(
        replace(f, judgement=_with_regression(f.judgement, why.get(_key(f), "")))
        for f in results.findings
    )
    return replace(results, findings=findings, verdict=of_run(findings, results.run.gaps))


def _with_regression(judged: Judgement, why: str) -> Judgement:
    blocks = judged.blocks or (bool(why) and not (judged.waiver and judged.waiver.holds))
    return replace(judged, regressed=why, blocks=blocks)


def _regressions(
    findings: Sequence[Finding], blessed: Sequence[Blessed]
) -> dict[tuple[str, str, str], str]:
    """Return why gates are clearly worse than in a blessed release, by (model, audit, prompt).

    A finding counts if `compare_finding` calls it worse, by more than `REGRESSION_SHARE` of the
    blessed release's distance to the bound (`SMALL` where other trainings show what is chance), and
    if Holm's p, among all gates that are compared with its release, is at most 0.05.
    """
    out = {}
    now = {_key(finding): finding for finding in findings}
    for of in blessed:
        share = SMALL if of.trainings > 1 else REGRESSION_SHARE
        pairs = [(was, now[key]) for was in of.findings if (key := _key(was)) in now]
        gates = [(was, new) for was, new in pairs if new.severity.gates]
        every = ((was, new, compare_finding(was, new, share=share)) for was, new in gates)
        known = [each for each in every if each[2].gain is not None]
        ps = holm([_p_value(was, new, found, of.trainings) for was, new, found in known])
        for (was, new, found), p in zip(known, ps, strict=True):
            if found.change is Change.WORSE and p <= ALPHA:
                out[_key(new)] = _regression_in_words(of, was, new, found)
    return out


def blessed_comparisons(results: Results) -> list[BlessedComparison]:
    """Return a run's comparisons with blessed (approved) releases, in the form for reports."""
    made = []
    for of in results.blessed:
        before = {_key(was): was for was in of.findings}
        own = [finding for finding in results.findings if _key(finding) in before]
        every = list(_all_changes(before, own))
        told = sorted((each for each in every if each.says), key=lambda e: _LISTED.index(e.change))
        names = tuple(f.name for f in own if f.judgement.regressed and f.blocks)
        old = _age_warning(of, results.run.created)
        made.append(BlessedComparison(of, _counts_in_words(every), tuple(told), names, old))
    return made


def _all_changes(
    before: Mapping[tuple[str, str, str], Earlier], findings: Sequence[Finding]
) -> Iterator[ListedChange]:
    for finding in findings:
        was = before[_key(finding)]
        change = compare_finding(was, finding).change
        other = change in _LISTED and was.result is not finding.result
        told = change in (Change.WORSE, Change.BETTER) or other
        yield ListedChange(finding, change, _change_in_words(finding, was) if told else "")


def _counts_in_words(every: Sequence[ListedChange]) -> str:
    found = Counter(each.change for each in every)
    n = found[Change.UNCLEAR]
    unclear = f"{n} unclear (only the result is worse), " if n else ""
    return (
        f"{found[Change.WORSE]} worse, {unclear}{found[Change.BETTER]} better, "
        f"{found[Change.UNCHANGED]} with no clear change"
    )


def _change_in_words(finding: Finding, was: Earlier) -> str:
    """Describe a finding now and before, such as `0.75, was 0.60; fail, was pass`."""
    now = f"{value(finding)}, was {fixed(was.value or 0.0, finding.decimals)}"
    same = finding.result is was.result
    return now if same else f"{now}; {finding.result}, was {was.result}"


def _age_warning(of: Blessed, now: str) -> str:
    """Return a warning that a blessed (approved) release is old, with what to do, or ""."""
    age = (date.fromisoformat(now[:10]) - date.fromisoformat(of.created[:10])).days
    if age < of.days:
        return ""
    return (
        f"warning: the blessed release of {of.family} is {age} days old (a warning from {of.days} "
        "on): bless a newer one that you stand behind: rmaudit bless REPORT"
    )


def _blessed(results: Results, model: str, of: Blessing) -> Blessed:
    now = {(f.audit, f.prompt): f for f in results.findings if f.model == model}
    findings, apart = [], dict[str, list[str]]()
    for gate in of.gates:
        new = now.get((gate.audit, gate.prompt))
        if why := _why_not_comparable(results, gate.unit, gate.asked, new):
            apart.setdefault(why, []).append(f"{gate.audit}[{gate.prompt}]")
        elif new is not None:
            old = replace(new, estimate=gate.estimate)
            was = replace(summarize_earlier(old, new), result=gate.result, spread=gate.spread)
            findings.append(was)
    had = {(gate.audit, gate.prompt) for gate in of.gates}
    for key, new in now.items():
        if new.severity.gates and new.estimate and key not in had:
            apart.setdefault("it had no number of it", []).append(f"{key[0]}[{key[1]}]")
    return Blessed(
        model=model,
        family=of.family,
        release=of.model,
        created=of.created,
        rmaudit=of.rmaudit,
        outcome=of.outcome,
        by=of.by,
        on=of.on,
        days=of.days,
        trainings=of.trainings,
        findings=tuple(findings),
        apart=tuple(f"{why}: {', '.join(names)}" for why, names in apart.items()),
    )


def _why_not_comparable(results: Results, unit: str, digest: str, new: Finding | None) -> str:
    """Return why a gate cannot be compared with the blessed (approved) release, or ""."""
    if new is None:
        return "not in this run"
    if new.estimate is None:
        return "not measured in this run"
    if not new.severity.gates:
        return "it gates no more"
    if new.estimate.unit != unit:
        return f"measured in {unit} then"
    same = question_digest(results, new) == digest
    return "" if same else "other prompts, words, sample or wanted kinds than then"


def _regression_in_words(of: Blessed, was: Earlier, new: Finding, found: Changed) -> str:
    """Describe a regression, such as `... was 1.52, now 1.3 sd, difference -0.22 [-0.3, -0.14]`."""
    between = found.difference
    off = f"{between.value:+.3g} [{between.low:+.3g}, {between.high:+.3g}]" if between else ""
    mean = spread = ""
    if of.trainings > 1:
        mean = f" on average over {of.trainings} trainings"
        spread = f"; these trainings have a standard deviation of {was.spread:.2g}"
    before = fixed(was.value or 0.0, new.decimals)
    return (
        f"regressed against the blessed release of {of.created[:10]}: was {before}{mean}, "
        f"now {value(new)} {was.unit}, difference {off}{spread}"
    )


def _p_value(was: Earlier, new: Finding, found: Changed, trainings: int) -> float:
    """Return the two-sided p value of a gate's change, given measurement error and training spread.

    The standard error combines the measurement's (from the 95 % interval of the gain) and that of
    one training against the mean of the blessed ones; its degrees of freedom are Welch and
    Satterthwaite's.
    """
    import scipy  # its special functions alone

    gain = found.gain
    if gain is None or not gain.value:
        return 1.0
    reach = gain.value - gain.low if gain.value > 0 else gain.high - gain.value
    one_ended = None in (new.bound.low, new.bound.high)
    paired = was.difference is not None and one_ended
    measured = (reach / (T_GROUPS if paired else _NORMAL)) ** 2
    trained = was.spread**2 * (1 + 1 / trainings)  # of one training, and of the mean of all
    if not measured + trained:
        return 0.0
    each = (GROUPS - 1 if paired else _MANY, max(trainings - 1, 1))
    freedom = satterthwaite(np.array([measured, trained]), each)
    far = abs(gain.value) / math.sqrt(measured + trained)
    return float(2 * scipy.special.stdtr(freedom, -far))


def _key(of: Finding | Earlier) -> tuple[str, str, str]:
    return of.model, of.audit, of.prompt
