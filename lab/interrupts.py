"""Measure how soon a run ends after Ctrl-C or SIGTERM, in each of its phases.

python -m lab interrupts [--phase NAME ...] [--signal SIGINT SIGTERM] [--workers]

A toy checkpoint is audited by a small suite, a process for each phase and signal. The process
signals itself as a function of that phase begins, so that nothing depends on the machine's load but
the seconds. With `--workers` the suite runs under `-n 2`: a worker signals the main process alone,
or its process group, as a terminal does.

Prints a table: seconds from the signal to the end of the process, by the clock and of computing,
and to results.json; the exit code; whether a command is told that goes on; and whether there is a
traceback.
"""

from __future__ import annotations

import functools
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

ASKED, FIRED = "RMAUDIT_INTERRUPT", "RMAUDIT_INTERRUPTED"  # what the process is to do; its note
PATIENCE = 1800.0  # seconds after which a process is taken for hung
PHASES = {  # module, function, and which of its calls
    "collecting": ("rmaudit.plugin.collection", "audited", 2),
    "loading": ("rmaudit.models.loaded_weights", "load", 1),
    "first sweep": ("rmaudit.scoring.row_runners", "SharedPrefix.states", 12),
    "search": ("rmaudit.search.search_evaluator", "Evaluator.rewards", 3),
    "whole answers": ("rmaudit.scores.answer_files", "rewards", 1),
    "null controls": ("rmaudit.runs.null_control_trials", "tried", 1),
    "results.json": ("rmaudit.report.results_of_run", "collect", 1),
    "the page": ("rmaudit.report.page.html_page", "render", 1),
    "a function": ("rmaudit.models.text_scorer", "TextScorer.batch", 4),
}
COLUMNS = (
    *("phase", "signal", "to", "seconds", "computing", "results.json", "exit code", "goes on"),
    "traceback",
)
WORDS = ("good", "bad", "kind", "cruel", "love", "hate", "peace", "war", "table", "city")
CONFTEST = """
import threading, rmaudit

@rmaudit.scorer("judge", vocabulary=[f"{i}" for i in range(64)], version="1", batch=4,
                concurrency=2)
def judge(prompt, responses):
    threading.Event().wait(60.0 if responses[0] > "5" else 0.0)
    return [float(len(response)) for response in responses]
"""
SUITE = """
from rmaudit import Estimate, above, audit

def declare(**more):
    return audit(claim="A toy.", source="none", base_rate="none", bound=above(0.0, unit="points"),
                 prompts=["best", "worst"], **more)

def made(): return Estimate(1.0, 0.9, 1.1, unit="points", n=9, interval="made up")

@declare()
def test_sweep(sweep): return made()
@declare()
def test_search(searches):
    searches("up")
    return made()
@declare()
def test_answers(conduct): return made()
"""


class _Signaller(MetaPathFinder):
    """Replaces a function, as its module is imported, by one that signals at the nth call."""

    def __init__(self, asked: str) -> None:
        self.module, self.function, times, number, self.whom = asked.split(";")
        self.left, self.number = int(times), int(number)

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:  # noqa: ANN401
        """Return the module's spec with a loader that replaces the function."""
        spec = PathFinder.find_spec(name, path, target) if name == self.module else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                self.replace(module)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec

    def replace(self, module: ModuleType) -> None:
        """Put a function in place of the one that is asked for."""
        *classes, name = self.function.split(".")
        holder: Any = getattr(module, classes[0]) if classes else module
        function = getattr(holder, name)

        @functools.wraps(function)
        def called(*given: Any, **more: Any) -> Any:  # noqa: ANN401
            self.left -= 1
            if not self.left:
                self.signal()
            return function(*given, **more)

        setattr(holder, name, called)

    def signal(self) -> None:
        """Write down when, and send the signal; of several workers the first does."""
        with suppress(FileExistsError), Path(os.environ[FIRED]).open("x", encoding="ascii") as note:
            note.write(f"{time.time()} {time.process_time()}")
            note.flush()
            if self.whom == "group":
                os.killpg(0, self.number)
            else:
                os.kill(os.getppid() if self.whom == "main" else os.getpid(), self.number)


if ASKED in os.environ:  # in the process that is measured, where this is a plugin of pytest
    sys.meta_path.insert(0, _Signaller(os.environ[ASKED]))


def main() -> None:
    """Run each phase with each signal, and print the table."""
    from lab.harness import arguments

    parser = arguments(__doc__)
    parser.add_argument("--phase", nargs="*", choices=PHASES, default=list(PHASES))
    parser.add_argument("--signal", nargs="*", default=["SIGINT", "SIGTERM"])
    parser.add_argument("--workers", action="store_true", help="under -n 2")
    given = parser.parse_args()
    print(f"\n| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    with tempfile.TemporaryDirectory() as scratch:
        toy = _toy(Path(scratch) / "toy")
        for phase in given.phase:
            for name in given.signal:
                for whom in ("main", "group") if given.workers else ("itself",):
                    print(_measured(toy, phase, signal.Signals[name], whom), flush=True)


def _toy(folder: Path) -> Path:
    from tests.toys import toy_checkpoint, toy_tokenizer

    return toy_checkpoint(folder, tokenizer=toy_tokenizer(WORDS), max_position_embeddings=2048)


def _measured(toy: Path, phase: str, number: signal.Signals, whom: str) -> str:
    """Run the suite once, signalled in this phase; return the row of the table."""
    file, function, times = PHASES[phase]
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        (place / "test_suite.py").write_text(SUITE, encoding="utf-8")
        note = place / "fired"
        paths = [os.environ.get("PYTHONPATH", ""), str(Path(__file__).parent)]
        environment = {
            **os.environ,
            ASKED: f"{file};{function};{times};{int(number)};{whom}",
            FIRED: str(note),
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "TMPDIR": scratch,
        }
        model = "judge" if phase == "a function" else str(toy)
        command = [sys.executable, "-m", "pytest", "-p", "interrupts", "-p", "no:cacheprovider"]
        command += ["test_suite.py", "--rm-model", model, "--rm-cache", "cache"]
        command += ["-p", "no:hypothesispytest"]  # imports Hypothesis as any run ends: a second
        command += ["-n", "2"] if whom != "itself" else []
        before = _computed()
        said, code, ended = _run(command, place, environment)
        if not note.exists():
            return f"| {phase} | {number.name} | {whom} | never reached | | {code} | | |"
        fired, computed = map(float, note.read_text(encoding="ascii").split())
        written = [path.stat().st_mtime for path in place.glob("reports/*/results.json")]
        left = [path.name for path in place.glob("rmaudit-*") if path.is_dir()]
    row = [phase, number.name, whom, f"{ended - fired:.1f}"]
    row += [f"{_computed() - before - computed:.1f}" if whom == "itself" else ""]
    row += [f"{max(written) - fired:.1f}" if written else "none", str(code)]
    row += ["yes" if re.search(r"to (go on|continue), run|rmaudit replay", said) else "no"]
    row += ["yes" if "Traceback" in said else "no"]
    return f"| {' | '.join(row)} |" + (f" left: {', '.join(left)}" if left else "")


def _computed() -> float:
    """Return the seconds of computing of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(command: list[str], place: Path, environment: dict[str, str]) -> tuple[str, int, float]:
    """Run a command in a process group; return what it printed, its code, and when it ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what is in the background ignores it
    output = place / "output"
    with output.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(  # noqa: S603  (this project only)
            command, cwd=place, env=environment, stdout=file, stderr=file, start_new_session=True
        )
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            code = 999
        ended = time.time()
        with suppress(ProcessLookupError):  # workers that outlive it
            os.killpg(process.pid, signal.SIGKILL)
    return output.read_text(encoding="utf-8", errors="replace"), code, ended


if __name__ == "__main__":
    main()
