"""What `rmaudit` exports, and what importing it must not cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rmaudit

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "transformers", "pandas", "pydantic")


def heavy_after(statement: str) -> list[str]:
    """Which of the heavy packages a fresh Python has loaded after `statement`."""
    code = f"{statement}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded: list[str] = [name for name in HEAVY if f"'{name}'" in run.stdout]
    return loaded


def test_all_is_sorted() -> None:
    """The public names stand in order, each once."""
    assert rmaudit.__all__ == sorted(set(rmaudit.__all__))


def test_all_is_what_has_a_home() -> None:
    """A name is public if and only if it is said where it lives."""
    assert list(rmaudit._HOMES) == rmaudit.__all__


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


def test_importing_the_plugin_loads_nothing_heavy() -> None:
    """A pytest run starts with rmaudit installed as fast as without."""
    assert heavy_after("import rmaudit, rmaudit.plugin") == []


def test_declaring_an_audit_loads_nothing_heavy() -> None:
    """The names that a declaration needs are as light as the package."""
    assert heavy_after("from rmaudit import Bound, Estimate, above, audit, below, between") == []


def test_the_check_of_heavy_imports_can_fail() -> None:
    """The two tests above see a heavy import, also one behind a public name."""
    assert heavy_after("import pandas") == ["pandas"]
    assert "pandas" in heavy_after("import rmaudit.measures.words")
