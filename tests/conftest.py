"""What all tests share: warnings are errors, no network, the reference data of a local mirror."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

from rmaudit.config.scorer_functions import forget, scorers

# Toys are too small for two threads, and threads that wait for each other starve a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Ray's workers give way to everything else, and beside busy tests they would wait for minutes.
os.environ.setdefault("RAY_worker_niceness", "0")
os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported: no test reaches the hub
# Whoever starts tests in the background may ignore Ctrl-C, and so would every process of a test.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.pop("GITHUB_STEP_SUMMARY", None)  # runs inside tests are not for a CI job's page

# A fault that one example in ten shows is found by twenty; `just nightly` looks further.
settings.register_profile("quick", max_examples=20, deadline=None)
settings.register_profile("nightly", max_examples=200, deadline=None)
settings.load_profile("quick")

HERE = Path(__file__).parent
# Of the run, not of a test that takes it away; else beside a developer's checkout, if at all.
MIRROR = Path(os.environ.get("RMAUDIT_DATA") or HERE.parents[1] / "shared" / "data").absolute()


def unavailable(reason: str) -> NoReturn:
    """Skip for want of something outside; with RMAUDIT_REQUIRE_ALL set, as in CI, fail."""
    if os.environ.get("RMAUDIT_REQUIRE_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings are errors in tests; in an audit run they are a user's business.

    Files with slow tests come first, so that no worker begins a long one when the others end.
    """
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("error"), append=False)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Collect garbage once, and never again what was imported: it is half a million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def scorers_of_its_own() -> Iterator[None]:
    """What a test declares, no other knows: a process has one list of scorers."""
    before = set(scorers())
    yield
    for name in set(scorers()) - before:
        forget(name)


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The local mirror of the reference data; skipped, with the reason, where there is none."""
    if not MIRROR.is_dir():
        unavailable(f"no reference data at {MIRROR}: set RMAUDIT_DATA to a folder that has them")
    monkeypatch.setenv("RMAUDIT_DATA", str(MIRROR))
    return MIRROR
