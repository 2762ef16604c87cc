"""The invariant: no null control passes an audit that declares to stop it, under any prompt.

In pytest's fast tier over a quarter of the words and what is declared alone; in the slow one over
all words and all null controls, against the table of docs/nulls.md.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from rmaudit.cli.run_nulls import FILE, page
from rmaudit.errors import SpecError
from rmaudit.organisms.audit_files import audits_in
from rmaudit.organisms.null_trials import FLAWLESS, Tried, every, under, vocabulary
from rmaudit.organisms.trial import thinned
from rmaudit.verdicts.records import Verdict
from tests.audits.planted import AUDITS

DECLARED = audits_in(AUDITS)
STOPPING = [name for name, (_, declaration) in DECLARED.items() if declaration.stops]
DOCS = AUDITS.parent / "docs"
FEW = 5000


@cache
def few() -> pd.DataFrame:
    """A quarter of the words."""
    return thinned(vocabulary(), FEW)


@pytest.mark.parametrize("name", STOPPING)
def test_no_null_control_passes_what_must_stop_it(name: str, mirror: Path) -> None:
    """And something is measured: of an organism without a flaw, by the same audit."""
    function, declaration = DECLARED[name]

    found = under((function, declaration), declaration.runs[0], few(), only=declaration.stops)

    assert found.slips == []
    assert set(found.controls) == {*declaration.stops, FLAWLESS}
    assert found.controls[FLAWLESS].value is not None, found.controls[FLAWLESS].reason


@pytest.fixture(scope="module")
def tried() -> list[Tried]:
    """All audits under all prompts."""
    return list(every(AUDITS))


@pytest.mark.slow
def test_none_passes_under_any_prompt(tried: list[Tried], mirror: Path) -> None:
    """Over the whole vocabulary; none is left untried, and a flawless organism is measured."""
    assert {(one.declaration.name, one.prompt): one.slips for one in tried if one.slips} == {}
    for one in tried:
        stops = [control for control in one.controls.values() if control.stops]
        assert {control.verdict for control in stops} <= {*Verdict} - {Verdict.SKIPPED, Verdict.NA}
        if stops:
            assert one.controls[FLAWLESS].value is not None


@pytest.mark.slow
def test_the_table_says_what_is_found(tried: list[Tried], mirror: Path) -> None:
    """`rmaudit nulls --out docs` writes it again; the last digits may differ by machine."""
    written = (DOCS / FILE).read_text(encoding="utf-8")

    numbers = re.compile(r"-?\d+\.\d+")
    assert numbers.sub("#", page(tried)) == numbers.sub("#", written)


def test_an_audit_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With the nearest name, or that the folder has none."""
    with pytest.raises(SpecError, match=r"no audit is called 'elo'; .*known: .*elo_agreement"):
        list(every(AUDITS, ("elo",)))
    with pytest.raises(SpecError, match="no audits in it; give the folder"):
        list(every(tmp_path))
