"""The pytest plugin: its hooks, which pytest finds here by name, its options and its fixtures.

It does nothing in a suite that declares no audit: it loads no torch, prints nothing, and claims
no option but those that start with `--rm-`. `--model` is added only where nobody else owns it.

The hooks are written, in the order in which pytest calls them, in `pytest_options`, `configuring`,
`collection`, `run_audit`, `reporting_hooks` and `final_summary`.

The fixtures are those of `rmaudit.runs.fixture_registry`; `configuring` registers them.
"""

from rmaudit.plugin.collection import (
    pytest_collection_modifyitems,
    pytest_generate_tests,
    pytest_itemcollected,
    pytest_make_collect_report,
)
from rmaudit.plugin.configuring import pytest_configure, pytest_unconfigure
from rmaudit.plugin.final_summary import pytest_terminal_summary
from rmaudit.plugin.pytest_options import pytest_addoption, pytest_load_initial_conftests
from rmaudit.plugin.reporting_hooks import (
    pytest_collection_finish,
    pytest_report_collectionfinish,
    pytest_report_header,
    pytest_sessionfinish,
    pytest_sessionstart,
)
from rmaudit.plugin.run_audit import (
    pytest_pyfunc_call,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
)

__all__ = [
    "pytest_addoption",
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
