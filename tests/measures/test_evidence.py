"""Evidence that is listed nowhere is refused, before a results.json holds it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rmaudit.measures.evidence import refuse_unlisted
from rmaudit.measures.framing_steepness import FramingSteepnessEvidence
from rmaudit.verdicts.records import Evidence


@dataclass(frozen=True)
class Unlisted(Evidence):
    """A kind that somebody wrote and did not list."""


def test_what_is_not_listed_is_refused_with_the_place_to_list_it() -> None:
    """The error names the class, the list and the charts."""
    with pytest.raises(TypeError, match=r"Unlisted.*measures/evidence\.py.*charts/__init__\.py"):
        refuse_unlisted(Unlisted())


def test_what_is_listed_passes() -> None:
    """As does an estimate without evidence."""
    refuse_unlisted(None)
    refuse_unlisted(object.__new__(FramingSteepnessEvidence))
