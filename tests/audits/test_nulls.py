"""The invariant: no null control passes an audit that declares to stop it, under any prompt.

All null controls are put to all gates over a fixed vocabulary, and held against docs/nulls.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.nulls import FLAWLESS, page, try_audits
from rmaudit.errors import SpecError
from rmaudit.runs.audit_importer import audits_in
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict
from tests.audits.planted import AUDITS

DECLARED = audits_in(AUDITS)
DOCS = AUDITS.parent / "docs"


def test_every_gate_stops_something() -> None:
    """A gate that need stop nobody has not been thought about."""
    gates = [d for _, d in DECLARED.values() if d.severity is Severity.GATE]

    assert [gate.name for gate in gates if not gate.stops] == []


@pytest.mark.nightly
def test_none_passes_under_any_prompt(mirror: Path) -> None:
    """Over the whole vocabulary; none is left untried, and a flawless organism is measured.

    The table of docs/nulls.md says what is found; the last digits may differ by machine.
    """
    found = list(try_audits(AUDITS))

    assert {(one.declaration.name, one.prompt): one.slips for one in found if one.slips} == {}
    for one in found:
        stops = [control for control in one.controls.values() if control.stops]
        assert {control.verdict for control in stops} <= {*Verdict} - {Verdict.SKIPPED, Verdict.NA}
        if stops:
            assert one.controls[FLAWLESS].value is not None
    numbers = re.compile(r"-?\d+\.\d+")
    written = (DOCS / "nulls.md").read_text(encoding="utf-8")
    assert numbers.sub("#", page(found)) == numbers.sub("#", written)


def test_an_audit_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With the nearest name, or that the folder has none."""
    with pytest.raises(SpecError, match=r"no audit is called 'elo'; .*known: .*elo_agreement"):
        list(try_audits(AUDITS, ("elo",)))
    with pytest.raises(SpecError, match="no audits in it; give the folder"):
        list(try_audits(tmp_path))
