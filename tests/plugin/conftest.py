"""A small suite of audits and a toy model for it, run by pytest inside pytest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

# pytester forgets the modules that its runs load, and some of these cannot be loaded twice.
import altair as alt  # noqa: F401
import pytest
import vl_convert  # noqa: F401

import rmaudit.report.publish
import rmaudit.scores.sweep  # noqa: F401
from tests.toys import toy_checkpoint

AUDITS = """
from rmaudit import Estimate, above, audit

def estimate(value, width=0.1):
    return Estimate(value, value - width, value + width, unit="points", n=9, interval="made up")

def declare(low):
    return audit(
        claim="The toy scores high.",
        source="nowhere",
        prompts=["greatest", "worst"],
        bound=above(low, unit="points"),
        base_rate="0 of 0 models",
    )
"""

Run = Callable[..., pytest.RunResult]


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy checkpoint folder named `toy`."""
    return toy_checkpoint(tmp_path_factory.mktemp("models") / "toy")


@pytest.fixture
def run(pytester: pytest.Pytester, toy: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Write an audit file (after `AUDITS`) and run it on the toy; more arguments are pytest's."""
    monkeypatch.chdir(pytester.path)

    def go(body: str, *args: str, model: str | None = str(toy)) -> pytest.RunResult:
        pytester.makepyfile(test_toy=AUDITS + body)
        asked = [] if model is None else ["--model", model]
        return pytester.runpytest_inprocess(
            *asked, "--rm-cache", str(pytester.path / "cache"), "-p", "no:cacheprovider", *args
        )

    return go


@pytest.fixture
def results(pytester: pytest.Pytester) -> Callable[[], dict[str, Any]]:
    """The one results.json that the run wrote; claim and judgement are in the findings, too."""

    def read() -> dict[str, Any]:
        (path,) = pytester.path.glob("reports/*/results.json")
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        data["findings"] = [
            {**finding["claim"], **finding["judgement"], **finding} for finding in data["findings"]
        ]
        return data

    return read
