"""What `rmaudit` exports, and what importing it must not cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rmaudit

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "transformers", "pandas", "pydantic")


def heavy_after(statement: str) -> set[str]:
    """Which of the heavy packages a fresh Python has loaded after `statement`."""
    code = f"{statement}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name for name in HEAVY if f"'{name}'" in run.stdout}


def test_all_is_what_has_a_home() -> None:
    """A name is public if and only if it is said where it lives; in order, each once."""
    assert list(rmaudit._HOMES) == rmaudit.__all__ == sorted(rmaudit._HOMES)


@pytest.mark.parametrize("name", rmaudit.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    """The home of a name defines it."""
    value = getattr(rmaudit, name)

    assert value.__name__ == name
    assert value.__module__ == rmaudit._HOMES[name]


def test_another_name_is_an_ordinary_attribute_error() -> None:
    """The lazy lookup answers for the public names only, in Python's own words."""
    with pytest.raises(AttributeError) as caught:
        rmaudit.nothing  # noqa: B018  (looking it up is what fails)

    assert str(caught.value) == "module 'rmaudit' has no attribute 'nothing'"


@pytest.mark.slow
def test_what_every_run_of_pytest_imports_is_light() -> None:
    """The plugin, and the names that a declaration needs; the check sees what a measure loads."""
    names = "Bound, Estimate, above, audit, below, between"

    assert heavy_after(f"import rmaudit.plugin; from rmaudit import {names}") == set()
    assert "pandas" in heavy_after("import rmaudit.measures.word_spellings")
