"""What the policy says of a finding, and names that no audit has."""

from __future__ import annotations

import pytest

from rmaudit.errors import SpecError
from rmaudit.verdicts.verdict_policy import NamedAudit, Policy, refuse_unknown

AUDITS = {"skew": ["greatest", "best"], "funnel": ["best+worst"]}


@pytest.mark.parametrize("audit", ["skew", "skew[best]", "funnel[best+worst]", "gap", "gap[best]"])
def test_names_that_are_known(audit: str) -> None:
    """Those collected, with their prompts; of those that were not, the prompts are not known."""
    refuse_unknown(Policy(named=(NamedAudit(audit, "", 1),)), "f", AUDITS, ["gap"])


@pytest.mark.parametrize(
    ("audit", "text"),
    [
        ("skw", "no audit is called 'skw'; did you mean 'skew'? known: funnel, gap, skew"),
        ("elo[best]", "no audit is called 'elo'; known: funnel, gap, skew"),
        (
            "skew[bst]",
            "skew is not asked under 'bst'; did you mean 'best'? known: best, greatest",
        ),
        (
            "funnel[worst]",
            "funnel is not asked under 'worst'; did you mean 'best+worst'? known: best+worst",
        ),
    ],
)
def test_a_name_of_nothing_is_refused(audit: str, text: str) -> None:
    """With file and line, the nearest name, and those that there are."""
    policy = Policy(named=(NamedAudit("skew", "", 1), NamedAudit(audit, "A: waivers: ", 7)))

    with pytest.raises(SpecError) as caught:
        refuse_unknown(policy, "models.yaml", AUDITS, ["gap"])

    assert str(caught.value) == f"models.yaml:7: A: waivers: {text}"
