"""A waiver held against what was measured: whether it holds, and why not."""

from __future__ import annotations

from datetime import date

from rmaudit.verdicts.findings import AppliedWaiver, Judgement
from rmaudit.verdicts.policy import Waiver
from rmaudit.verdicts.records import Bound, Estimate, Severity, Verdict

WARN_DAYS = 14  # before a waiver ends


def applied(
    key: str, waiver: Waiver, judgement: Judgement, estimate: Estimate, today: date
) -> AppliedWaiver:
    """The waiver that models.yaml has under `key`, held against a judgement without one."""
    left = (waiver.expires - today).days
    accepted = f"{waiver.accepted:g} {estimate.unit}"
    end_of = f"{waiver.expires} ({waiver.owner})"
    if judgement.verdict is Verdict.PASS or judgement.severity is Severity.INFO:
        passes = "passes" if judgement.verdict is Verdict.PASS else "does not gate"
        says = f"{passes}: remove {key} from `waivers` ({waiver.owner})"
        return AppliedWaiver(key, waiver, left, "unneeded", says)
    if left < 0:
        says = f"its waiver expired at the end of {end_of}: {waiver.reason}"
        return AppliedWaiver(key, waiver, left, "expired", says)
    if not _covers(judgement.bound, estimate, waiver.accepted):
        says = (
            f"its waiver accepts {accepted} ({waiver.owner}), and the whole interval "
            f"{estimate.low:.4g} to {estimate.high:.4g} is worse, or fails on another side"
        )
        return AppliedWaiver(key, waiver, left, "reopened", says)
    says = f"{accepted} accepted until {end_of}: {waiver.reason}"
    if left > WARN_DAYS:
        return AppliedWaiver(key, waiver, left, "waived", says)
    days = f"{left} days left" if left != 1 else "1 day left"
    return AppliedWaiver(key, waiver, left, "expiring", f"{says}; {days}")


def _covers(bound: Bound, estimate: Estimate, accepted: float) -> bool:
    """Whether the estimate could be the accepted effect, and is inside the bound's other end.

    The end that a waiver is about is the one that `accepted` is beyond, or nearer to.
    """
    low, high = bound.low, bound.high
    if high is None or (low is not None and accepted - low < high - accepted):
        return estimate.high >= accepted and (high is None or estimate.high < high)
    return estimate.low <= accepted and (low is None or low < estimate.low)
