"""The chart compiler in its child process: what it dies of costs a picture, and no page."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rmaudit.charts import Points, row_of
from rmaudit.report.charts import svg_compiler
from rmaudit.report.charts.panels_by_term import points
from rmaudit.report.charts.svg_compiler import UNDRAWN, comment, compiled

PANEL = Points(title="Toy", axis="x", rows=(row_of("love", 1.0, 0.5, 1.5),))
RUN = svg_compiler._run_compiler


def chart(title: str = "Toy") -> str:
    """A chart as a page has it before it is compiled."""
    return points(replace(PANEL, title=title), spoken_title=title, facts=())


@pytest.fixture(autouse=True)
def compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it is the child that compiles."""
    monkeypatch.setattr(svg_compiler, "_run_compiler", RUN)


def test_each_chart_stands_in_its_own_place() -> None:
    """Two charts and what is about them, in one run of the child; one that is none costs no other.

    Wherever Vega cuts a long title of emoji, which it counts as two characters each, it is drawn.
    """
    bad = comment({"spec": {"mark": 1}, "title": "", "facts": [], "terms": []})
    even, odd = "😀" * 60, f"a{'😀' * 60}"

    page = compiled(f"<p>{chart('One')}</p>{bad}<i>{chart('Two')}</i>{chart(even)}{chart(odd)}")

    one, two = page.split(f"</p>{UNDRAWN}<i>")
    assert one.startswith("<p><svg")
    assert "<title>One</title>" in one
    assert "<title>Two</title>" in two
    assert (page.count("<svg"), page.count(UNDRAWN)) == (4, 1)


@pytest.mark.parametrize("dies_of", ["", "THIRD"])
def test_a_dead_child_is_told_of(
    dies_of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a chart that kills it the others are drawn; where each kills it, it is not tried on."""
    compiler, tries = tmp_path / "compiler.py", tmp_path / "tries"
    compiler.write_text(
        "import json, os, sys\n"
        f"open({str(tries)!r}, 'a').write('x')\n"
        "for spec in json.load(sys.stdin):\n"
        f"    if {dies_of!r} in json.dumps(spec): os.abort()\n"
        "    print(json.dumps('<svg></svg>'), flush=True)\n"
    )
    monkeypatch.setattr(svg_compiler, "_PROCESS", compiler)

    page = compiled("".join(chart(title) for title in ("FIRST", "SECOND", "THIRD", "FOURTH")))

    assert page.count("<svg") == (3 if dies_of else 0)
    assert page.count(UNDRAWN) == (1 if dies_of else 4)
    assert tries.read_text() == "xx"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is Linux's")
def test_a_limit_on_memory_ends_no_process_of_ours() -> None:
    """V8 asks for more address space than this and aborts."""
    code = (
        "import sys; from rmaudit.report.charts.svg_compiler import compiled;"
        "print(compiled(sys.stdin.read()))"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=chart(),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30)),
    )

    assert (ended.returncode, ended.stdout.strip()) == (0, UNDRAWN)
