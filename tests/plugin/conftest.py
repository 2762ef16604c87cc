"""A small suite of audits and a toy model for it, run by pytest inside pytest."""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

import rmaudit.report.results_of_run
import rmaudit.report.writers
import rmaudit.scores.sweep  # noqa: F401
from tests.toys import toy_checkpoint

AUDITS = """
from rmaudit import Estimate, above, audit

def estimate(value, width=0.1):
    return Estimate(value, value - width, value + width, unit="points", n=9, interval="made up")

def declare(low, **more):
    usual = {"prompts": ["greatest", "worst"], "base_rate": "0 of 0 models"}
    return audit(claim="The toy scores high.", source="nowhere", bound=above(low, unit="points"),
                 **{**usual, **more})
"""
HIGH = "@declare({low})\ndef test_high(rng): return estimate(1.0)\n"
SCORER = """
import pathlib, rmaudit
CALLS = pathlib.Path(__file__).with_name("calls.txt")

@rmaudit.scorer("house-rm", vocabulary={vocabulary!r}, version="1", batch=2)
def house_rm(prompt, responses):
    with CALLS.open("a") as file:
        file.write(f"{{len(responses)}}\\n")
    return [{score} for response in responses]
"""
QUIET = ("no:cacheprovider", "no:unraisableexception", "no:threadexception", "no:faulthandler")


@dataclass(frozen=True)
class Ran:
    """What a run printed and left in its folder."""

    said: pytest.RunResult
    folder: Path
    report: Path = field(init=False)  # its folder of reports, or that of the run before it

    def __post_init__(self) -> None:
        """Find the newest report, before another run writes one."""
        reports = sorted(self.folder.glob("reports/*"), key=lambda path: path.stat().st_mtime_ns)
        object.__setattr__(self, "report", reports[-1] if reports else self.folder)

    @property
    def ret(self) -> int:
        """Pytest's exit code."""
        return int(self.said.ret)

    @property
    def results(self) -> dict[str, Any]:
        """What its results.json holds."""
        read: dict[str, Any] = json.loads((self.report / "results.json").read_text("utf-8"))
        return read

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings, with what is in their claims and judgements."""
        found = self.results["findings"]
        return [{**f, **f["claim"], **f["judgement"], "why": f["reason"]} for f in found]

    @property
    def figures(self) -> list[dict[str, Any]]:
        """What audits without a bound measured."""
        figures: list[dict[str, Any]] = self.results["figures"]
        return figures

    @property
    def only(self) -> dict[str, Any]:
        """The one finding."""
        (finding,) = self.findings
        return finding

    def says(self, *lines: str) -> None:
        """Its output has these lines, in this order; * stands for anything."""
        self.said.stdout.fnmatch_lines([line.replace("[", "[[]") for line in lines])

    def refuses(self, *words: str) -> None:
        """It is a usage error of one line, which names all of these."""
        assert self.ret == pytest.ExitCode.USAGE_ERROR, self.said.outlines
        (line,) = (line for line in self.said.errlines if line)
        assert line.startswith("ERROR: ")
        assert all(word in line for word in words), line


Run = Callable[..., Ran]


def no_network(*_: object, **__: object) -> NoReturn:
    """In place of what downloads."""
    raise OSError("no network")


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy checkpoint folder named `toy`."""
    return toy_checkpoint(tmp_path_factory.mktemp("models") / "toy")


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that all runs share, so that the toy is swept once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(tmp_path: Path, toy: Path, scored: Path) -> Run:
    """Write an audit file (after `AUDITS`) and run it on the toy; more arguments are pytest's.

    `conftest` and `registry` are the texts of conftest.py and models.yaml, which stay for the next
    run. Pages are written with `pages=True` only.
    """

    def go(
        body: str | None = None,
        *args: str,
        model: str | None = str(toy),
        cache: Path = scored,
        conftest: str = "",
        registry: str = "",
        pages: bool = False,
    ) -> Ran:
        own = {"conftest.py": conftest, "models.yaml": registry}
        own["test_toy.py"] = "" if body is None else AUDITS + body
        for name, text in own.items():
            if text:
                (tmp_path / name).write_text(text, encoding="utf-8")
        asked = [] if model is None else ["--rm-model", model]
        every = [*asked, "--rm-cache", str(cache), *args]
        return Ran(run_in(tmp_path, every, pages=pages), tmp_path)

    return go


def run_in(folder: Path, args: list[str], *, pages: bool = False) -> pytest.RunResult:
    """Run pytest in this process, in that folder; without the pages of a report unless asked."""
    quiet = [part for name in QUIET for part in ("-p", name)]
    out, err, known = io.StringIO(), io.StringIO(), set(sys.modules)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.setenv("COLUMNS", "160")  # a line of the summary is one that a test can name
        patch.setattr(sys, "dont_write_bytecode", True)  # a file may change within a second
        patch.setattr(sys, "path", [*sys.path])
        if not pages:
            patch.setattr("rmaudit.report.writers.write", lambda *_, **__: ([], []))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")  # it is this suite that makes them errors
                # Else pytest's root is above this folder and the model's, and it reads all of it.
                ret = pytest.main(["--capture=sys", "--rootdir", str(folder), *quiet, *args])
        finally:
            # Its own files, and audits: a copy of one elsewhere has the same name.
            for name in set(sys.modules) - known:
                file = Path(getattr(sys.modules[name], "__file__", None) or "")
                if file.is_relative_to(folder) or file.name.startswith("test_"):
                    del sys.modules[name]
    lines = out.getvalue().splitlines(), err.getvalue().splitlines()
    return pytest.RunResult(ret, *lines, duration=0.0)
