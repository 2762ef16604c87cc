"""The pytest plugin: its hooks, which pytest finds here by name, its options and its fixtures.

It does nothing in a suite that declares no audit: it loads no torch, prints nothing, and claims
no option but those that start with `--rm-`. `--model` is added only where nobody else owns it.

The hooks are written, in the order in which pytest calls them, in `pytest_options`, here,
in `score_planning`, `collection`, `run_audit`, `report_of_audit`, `reporting_hooks` and
`final_summary`. The fixtures are those of `rmaudit.runs.fixture_registry`.
"""

from __future__ import annotations

from contextlib import suppress

import pytest

from rmaudit.interrupts import held_back
from rmaudit.plugin.collection import (
    COLLECTED,
    Collected,
    pytest_collection_modifyitems,
    pytest_generate_tests,
    pytest_itemcollected,
    pytest_make_collect_report,
)
from rmaudit.plugin.final_summary import pytest_terminal_summary
from rmaudit.plugin.pytest_fixtures import SETTINGS, plugin_of_fixtures
from rmaudit.plugin.pytest_options import (
    pytest_addoption,
    pytest_load_initial_conftests,
    refuse_wrong_options,
)
from rmaudit.plugin.report_of_audit import pytest_runtest_makereport
from rmaudit.plugin.reporting_hooks import (
    pytest_collection_finish,
    pytest_report_collectionfinish,
    pytest_report_header,
    pytest_sessionfinish,
    pytest_sessionstart,
)
from rmaudit.plugin.run_audit import pytest_pyfunc_call, pytest_runtest_protocol
from rmaudit.plugin.run_plan import plan_of
from rmaudit.plugin.run_state import MEMORY, OUTCOME, SELECTED, RunOutcome, SelectedAudits
from rmaudit.plugin.score_planning import pytest_collection
from rmaudit.runs.audit_case import Memory

__all__ = [
    "pytest_addoption",
    "pytest_collection",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_itemcollected",
    "pytest_load_initial_conftests",
    "pytest_make_collect_report",
    "pytest_pyfunc_call",
    "pytest_report_collectionfinish",
    "pytest_report_header",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_sessionfinish",
    "pytest_sessionstart",
    "pytest_terminal_summary",
    "pytest_unconfigure",
]


def pytest_configure(config: pytest.Config) -> None:
    """Note that nothing is known yet, register fixtures, refuse wrong options."""
    config.stash[COLLECTED], config.stash[SELECTED] = Collected(), SelectedAudits()
    config.stash[MEMORY], config.stash[OUTCOME] = Memory(), RunOutcome()
    config.pluginmanager.register(plugin_of_fixtures(), "rmaudit-fixtures")
    # Our failures are blocks of lines. On CI, pytest would repeat them whole in its short summary.
    config.option.force_short_summary = True
    refuse_wrong_options(plan_of(config))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Save the word stems that this run computed, for the next run."""
    if (settings := config.stash.get(SETTINGS, None)) is not None:
        from rmaudit.references import stem_cache

        with suppress(KeyboardInterrupt), held_back():  # the run is over
            stem_cache.save_stems(settings.cache, settings.own_words.language)
