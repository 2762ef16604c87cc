"""Audits that a file declares, found without an import."""

from __future__ import annotations

from pathlib import Path

import pytest

import rmaudit
from rmaudit.organisms.audit_files import audits_in
from rmaudit.plugin.uncollected_audits import bundled_audits
from tests.audits.planted import AUDITS


def test_the_bundled_audits_are_those_that_their_files_declare() -> None:
    """Also where a file declares several; importing the files is the oracle."""
    imported = audits_in(AUDITS)

    found = bundled_audits()

    assert found.keys() == imported.keys()
    for name, (function, _) in imported.items():
        assert found[name] == Path(function.__code__.co_filename)


@pytest.mark.slow
def test_one_audit_of_a_file_with_several_runs_alone(toy: str, tmp_path: Path) -> None:
    """By the name that reports give it."""
    ran = rmaudit.run(toy, audits=["invariance_case"], cache=tmp_path)

    assert {finding.audit for finding in ran.findings} == {"invariance_case"}
