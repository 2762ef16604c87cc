"""A run that is not whole does not look as if it were, and what was measured is never lost."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pytest

import rmaudit
from rmaudit.interrupts import Terminated
from rmaudit.report import results_of_run
from rmaudit.scores.score_cache_files import LocalFiles
from tests.plugin.conftest import AUDITS, HIGH, Run

THREE = """
import os, signal
@declare(0.0)
def test_first(rng): return estimate(1.0)
@declare(0.0)
def test_second(rng):
    {how}
    return estimate(1.0)
@declare(0.0)
def test_third(rng): return estimate(1.0)
"""
CRASH = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    if "second" in item.name:  # as a plugin that runs tests in processes tells that one died
        how = ("failed", "it got signal 9", "???")
        report = pytest.TestReport(item.nodeid, item.location, {}, *how)
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        item.ihook.pytest_runtest_logreport(report=report)
        return True
"""
LOST = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    return True if "second" in item.name else None
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "conftest", "args", "code", "missing", "why"),
    [
        ("raise KeyboardInterrupt", "", (), 2, 4, "planned, not run: the run was interrupted"),
        ("pytest_exit('enough')", "", (), 2, 4, "planned, not run: *"),
        ("raise ValueError", "", ("-x",), 1, 3, "planned, not run: stopping after 1 failures"),
        ("", CRASH, (), 1, 2, "planned, and its worker died: it got signal 9"),
        ("", LOST, (), 1, 2, "planned, not run: its worker died, or another plugin left it out"),
    ],
)
def test_what_was_planned_and_has_no_result_says_why(  # noqa: PLR0917
    how: str, conftest: str, args: tuple[str, ...], code: int, missing: int, why: str, run: Run
) -> None:
    """It is an ERROR where something died, and SKIPPED after a stop; the run is not green."""
    body = "from pytest import exit as pytest_exit\n" + THREE.format(how=how or "pass")
    ended = run(body, *args, conftest=conftest, pages=True)

    assert ended.ret == code
    found = ended.findings
    assert [f["audit"] for f in found] == ["first"] * 2 + ["second"] * 2 + ["third"] * 2
    assert [f["verdict"] for f in found[:2]] == ["PASS", "PASS"]
    gaps = [f for f in found if f["why"].startswith("planned")]
    assert len(gaps) == missing
    verdict = ("ERROR", True) if conftest else ("SKIPPED", False)
    assert {(f["verdict"], f["blocks"]) for f in gaps} == {verdict}
    audits = ", ".join(dict.fromkeys(gap["audit"] for gap in gaps))
    ended.says("not a whole run: the run did not finish")
    blocks = " (blocks)" * bool(conftest)
    ended.says(f"– {audits}{blocks}: {'not run: ' * ('not run' not in why)}{why}")


@pytest.mark.slow
def test_an_exit_code_of_ones_own_loses_no_finding(run: Run) -> None:
    """Pytest prints no summary then; results.json says what was not run, and why."""
    ended = run("import pytest\n" + THREE.format(how="pytest.exit('enough', returncode=7)"))

    assert ended.ret == 7
    assert [f["verdict"] for f in ended.findings] == ["PASS"] * 2 + ["SKIPPED"] * 4
    assert "the run was stopped with exit code 7" in ended.findings[-1]["why"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 2), (signal.SIGTERM, 143)])
def test_after_a_signal_no_page_is_drawn_and_the_commands_are_told(
    number: signal.Signals, code: int, run: Run
) -> None:
    """In an audit, a fixture, or between audits: results.json and what is quick is there."""
    how = f"os.kill(os.getpid(), {int(number)})"
    between = (
        "import os, pandas, pytest\n@pytest.hookimpl(trylast=True)\n"
        f"def pytest_runtest_logfinish(nodeid):\n    if 'second' in nodeid:\n        {how}\n"
    )
    for body, conftest in ((how, ""), ("pass", between)):
        before = signal.getsignal(number)
        ended = run(THREE.format(how=body), conftest=conftest, pages=True)

        assert ended.ret == code
        assert signal.getsignal(number) == before
        assert ended.findings[-1]["why"] == "planned, not run: the run was interrupted"
        ended.says(
            "not a whole run: the run did not finish",
            "cached in *; to continue, run pytest *",
            "the page was not drawn; to draw it, run rmaudit replay reports/*/results.json",
        )
        written = {path.name for path in ended.report.iterdir()}
        assert written == {"results.json", "summary.md", "eval_results.yaml"}


@pytest.mark.parametrize("when", ["results.json", "the page", "the summary"])
def test_ctrl_c_as_a_report_is_written_loses_no_finding(
    when: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are written first, and then a command is told that draws the page."""
    conftest = ""
    if when == "results.json":
        written = results_of_run.record

        def interrupted(*given: Any, **more: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            return written(*given, **more)

        monkeypatch.setattr("rmaudit.report.results_of_run.record", interrupted)
    elif when == "the page":
        monkeypatch.setattr("rmaudit.report.writers.own", lambda: {"index.html": pressed})
    else:
        conftest = "def pytest_terminal_summary(): raise KeyboardInterrupt\n"
    ended = run(HIGH.format(low=0.0), conftest=conftest, pages=True)

    assert ended.ret == 2
    assert [f["verdict"] for f in ended.findings] == ["PASS"] * 2
    assert ended.results["run"]["interrupted"] is False
    ended.says("the page was not drawn; to draw it, run rmaudit replay reports/*/results.json")
    assert "Traceback" not in ended.said.stdout.str() + ended.said.stderr.str()


def pressed(_: object) -> NoReturn:
    """In place of what draws a page."""
    raise KeyboardInterrupt


@pytest.mark.slow
def test_ctrl_c_says_what_is_kept_and_how_to_go_on(run: Run, scored: Path, tmp_path: Path) -> None:
    """And nothing of the code in which it struck; --full-trace shows that."""
    body = THREE.format(how="import pandas; pandas.Series([1]).map(lambda _: stop())")
    body += "def stop(): raise KeyboardInterrupt\n"
    ended = run(body, "-k", "second and worst")

    ended.says(f"cached in {scored}: all finished sweeps; to continue, run pytest *")
    ended.says("*! _pytest.outcomes.Exit: interrupted !*")
    assert ended.ret == pytest.ExitCode.INTERRUPTED
    assert ".py:" not in ended.said.stdout.str()
    assert ".py:" in run(None, "--full-trace").said.stdout.str()

    cut = tmp_path / "cache" / "scores" / "key.parts"
    cut.mkdir(parents=True)
    pd.DataFrame({"score": [1.0] * 4096}).to_parquet(cut / "00000000.parquet")
    (cut / "00004096.parquet").write_text("damaged", encoding="utf-8")
    said = run(None, cache=tmp_path / "cache").said.stdout.str()
    assert "and the first 4,096 answers of unfinished ones;" in " ".join(said.split())


def test_what_is_not_to_be_measured_leaves_no_report(run: Run, tmp_path: Path) -> None:
    """Nor does a run that a file ends which cannot be collected: no audit began."""
    for option in ("--collect-only", "--setup-only"):
        assert run(HIGH.format(low=0.0), option).ret == pytest.ExitCode.OK
    (tmp_path / "test_broken.py").write_text("import nothing_of_this_name", encoding="utf-8")
    assert run(None).ret == pytest.ExitCode.INTERRUPTED
    assert not (tmp_path / "reports").exists()


# What cannot be written


@pytest.mark.parametrize("option", ["--rm-report", "--rm-cache"])
def test_a_folder_that_cannot_be_written_is_found_out_first(
    option: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, something below a file, or a folder that takes no file: before anything is run."""
    (tmp_path / "reports").write_text("mine", encoding="utf-8")
    body = "raise RuntimeError('collected')"

    run(body, option, "reports/below").refuses(option, "reports is not a folder")
    if option == "--rm-report":  # the default
        run(HIGH.format(low=0.0)).refuses(option, "reports is not a folder")

    def full(*_: Any, **__: Any) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    run(body, option, "new").refuses(option, "Read-only file system")


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_read(
    run: Run, scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an error of an audit whose scores are missing there, and of no other."""
    body = "@declare(0.0, prompts=['{}'])\ndef test_swept(sweep): return estimate(1.0)\n"
    run(body.format("best"))
    written, prepared = tempfile.TemporaryFile, LocalFiles.prepare

    def read_only(path: object) -> None:
        if Path(str(path)).is_relative_to(scored):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def temporary(*given: Any, dir: object = None, **more: Any) -> Any:  # noqa: A002  (Python's)
        read_only(dir)
        return written(*given, dir=dir, **more)

    def prepare(files: LocalFiles, folder: str) -> None:
        read_only(files.root)
        prepared(files, folder)

    monkeypatch.setattr(tempfile, "TemporaryFile", temporary)
    monkeypatch.setattr(LocalFiles, "prepare", prepare)

    assert run(None).only["verdict"] == "PASS"
    missing = run(body.format("greatest"))
    assert "cannot be written" in missing.only["why"]
    assert missing.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("left", [[], ["results.json"]])
def test_a_disk_that_fills_up_loses_no_finding(
    left: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is printed, one line says what was not written, and the run is not green."""

    def full(*_: Any, **__: Any) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if left:
        monkeypatch.setattr("rmaudit.report.writers.own", lambda: {"index.html": full})
    else:
        monkeypatch.setattr("rmaudit.report.results_document.write", full)
    ended = run(HIGH.format(low=0.0), pages=True)

    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    ended.says("* 1 gate: 1 pass", "error: *not written: *No space left on device")
    assert "Traceback" not in ended.said.stdout.str()
    assert [path.name for path in ended.report.iterdir()] == left


@pytest.mark.slow
def test_a_worker_that_dies(run: Run) -> None:
    """Under xdist the others go on; the audits that it took along are errors."""
    ended = run(THREE.format(how="os.kill(os.getpid(), signal.SIGKILL)"), "-n2")

    assert ended.ret == pytest.ExitCode.TESTS_FAILED
    verdicts = [(f["audit"], f["verdict"]) for f in ended.findings]
    assert len(verdicts) == 6
    assert all((name == "second") is (verdict == "ERROR") for name, verdict in verdicts)
    ended.says("– second (blocks): not run: planned, and its worker died: worker *")
    ended = run(None, "-n1", "--max-worker-restart=0")
    assert ended.ret != pytest.ExitCode.OK
    assert [f["verdict"] for f in ended.findings].count("ERROR") == 4


TOLD = """
import os, signal, threading

@declare(0.0)
def test_waiting(rng):
    if os.environ["PYTEST_XDIST_WORKER"] == "gw0":
        os.kill(os.getppid(), signal.{name})
    threading.Event().wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 2), ("SIGTERM", 143)])
def test_workers_end_with_the_main_process(
    name: str, code: int, toy: Path, scored: Path, tmp_path: Path
) -> None:
    """It alone is signalled, while they wait for ever: nothing is left, and all is told."""
    (tmp_path / "test_toy.py").write_text(AUDITS + TOLD.format(name=name), encoding="utf-8")
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "pytest", "-n2", "-p", "no:cacheprovider", "test_toy.py"]
    ended = subprocess.run(
        [*command, "--rm-model", str(toy), "--rm-cache", str(scored)],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == code, ended.stdout
    wrapped = " ".join(ended.stdout.split())  # the cache's path decides where
    assert "to continue, run pytest -n2" in wrapped
    assert "Traceback" not in ended.stdout + ended.stderr
    assert list(tmp_path.glob("reports/*/results.json"))
    assert not list((tmp_path / "tmp").glob("rmaudit-*"))


SIGNALLED = """
import signal
@declare(0.0)
def test_measured(rng): return estimate(1.0)
@declare(0.0)
def test_signalled(rng): signal.raise_signal(signal.{name})
"""


@pytest.mark.slow
def test_a_program_that_runs_audits_goes_on(toy: Path, scored: Path, tmp_path: Path) -> None:
    """After Ctrl-C it has what was measured; SIGTERM is raised there, and kills nothing."""
    for name in ("SIGINT", "SIGTERM"):
        body = AUDITS + SIGNALLED.format(name=name)
        (tmp_path / f"test_{name}.py").write_text(body, encoding="utf-8")

    def ran(file: str) -> rmaudit.AuditRun:
        report = tmp_path / "reports"
        return rmaudit.run(str(toy), audits=[tmp_path / file], report=report, cache=scored)

    run = ran("test_SIGINT.py")
    assert [found.verdict.name for found in run.findings] == ["PASS"] * 2 + ["SKIPPED"] * 2
    assert run.verdict.outcome.name == "INCOMPLETE"
    assert run.page is None
    with pytest.raises(Terminated):
        ran("test_SIGTERM.py")
