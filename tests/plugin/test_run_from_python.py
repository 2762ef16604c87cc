"""`rmaudit.run` finds what pytest finds, in a process that goes on."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import rmaudit
from rmaudit.errors import RmauditError, SpecError
from tests.plugin.conftest import AUDITS, HIGH, Run
from tests.toys import toy_checkpoint


def module(path: Path, text: str) -> dict[str, Any]:
    """What a notebook's cells define."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return vars(made)


CELLS = (
    AUDITS
    + HIGH.format(low=0.0)
    + (
        "@declare(-99.0, prompts=['best'])\n"
        "def swept(sweep): return estimate(float(sweep.frame['score'].mean()), 0.5)\n"
    )
)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A checkpoint's folder, in a folder whose own pytest settings would break a run."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n", encoding="utf-8")
    monkeypatch.chdir(home)
    return str(toy_checkpoint(tmp_path / "toy"))


def test_functions_of_a_notebook_are_audited(
    toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Declared functions run whatever they are called; values and verdicts come back, silently."""
    cells = module(tmp_path / "cells.py", CELLS)

    found = rmaudit.run(toy, audits=[cells["test_high"], cells["swept"]], cache=tmp_path / "cache")

    assert [finding.name for finding in found.findings] == [
        *("high[toy-greatest]", "high[toy-worst]", "swept[toy-best]"),
    ]
    sweep = rmaudit.sweep(rmaudit.load(toy), "best", cache=tmp_path / "cache")
    assert found.frame()["value"].tolist()[-1] == pytest.approx(sweep.frame["score"].mean())
    assert set(found.frame()["result"]) == {"pass"}
    assert set(found.frame()["reason"]) == {""}
    assert found.report is None
    assert "high" in repr(found)
    assert "<table" in found._repr_html_()
    assert capsys.readouterr().out == ""


def test_an_audit_that_returns_a_number_is_told_where_one_looks(toy: str, tmp_path: Path) -> None:
    """The run's first words, the table and the page in a notebook name the audit and the remedy."""
    text = AUDITS + "@declare(0.0, prompts=['best', 'worst'])\ndef number(rewards): return 3.0\n"
    cells = module(tmp_path / "cells.py", text)

    ran = rmaudit.run(toy, audits=[cells["number"]], cache=tmp_path / "cache")

    first = repr(ran).splitlines()[0]
    names = ("number[toy-best]", "could not be measured", "Estimate", "float 3.0", "rmaudit.mean")
    assert all(name in first for name in names), first
    assert all(name in ran._repr_html_().partition("<b>")[0] for name in names)
    assert ran.frame()["reason"].str.contains("must return an Estimate, got float 3.0").all()


def test_the_verdict_its_causes_and_the_charts_are_where_one_looks(
    toy: str, tmp_path: Path
) -> None:
    """Before the table, in text and in a notebook: by how much which audit blocks, and why."""
    text = AUDITS + "@declare(2.0, prompts=['best'])\ndef low(rng): return estimate(1.0)\n"
    cells = module(tmp_path / "cells.py", text)

    ran = rmaudit.run(toy, audits=[cells["low"]], cache=tmp_path / "cache")

    first, *more = repr(ran).splitlines()
    assert first.startswith("FAILS  1 gate: 1 fail")
    head = "\n".join(more).partition("model ")[0]
    assert "low" in head
    assert "must be above 2.00" in head
    assert 'report="reports"' in head
    page = ran._repr_html_()
    assert page.index("<b>FAILS") < page.index("must be above 2.00") < page.index("<table")
    assert "report=&quot;reports&quot;" in page


@pytest.mark.slow
def test_a_run_from_python_equals_one_of_pytest(toy: str, tmp_path: Path, run: Run) -> None:
    """Estimates and verdicts, finding by finding; its pages are where they were asked for."""
    outer = run(HIGH.format(low=2.0), "--rm-model", toy, "--rm-cache", str(tmp_path / "cache"))
    path = next(outer.folder.rglob("test_*.py"))

    found = rmaudit.run(toy, audits=[path], cache=tmp_path / "cache", report=tmp_path / "pages")

    assert [finding.estimate.value for finding in found.findings if finding.estimate] == [
        finding["estimate"]["value"] for finding in outer.findings
    ]
    assert [str(finding.verdict) for finding in found.findings] == [
        finding["verdict"] for finding in outer.findings
    ]
    assert found.verdict.outcome == "FAILS"
    assert found.report is not None
    assert [found.page] == list(found.report.glob("*/index.html"))
    assert f"charts: {found.page}" in repr(found).splitlines()


@pytest.mark.parametrize(
    ("model", "audits", "names"),
    [
        ("nobody", ["positive_skew"], ["nobody"]),
        (None, ["positiv_skew"], ["'positiv_skew'", "positive_skew"]),
        (None, "positive_skew", ["list", "['positive_skew']"]),
        (None, [len], ["len", "@rmaudit.audit"]),
        (None, [3], ["3", "names", "paths"]),
    ],
)
def test_what_is_not_known_is_refused(
    toy: str, model: str | None, audits: list[Any], names: list[str]
) -> None:
    """In one sentence, without pytest's own words around it."""
    with pytest.raises(SpecError) as caught:
        rmaudit.run(model or toy, audits=audits)

    assert all(name in str(caught.value) for name in names), caught.value
    assert "ERROR" not in str(caught.value)
    with pytest.raises(SpecError, match=rf"names, folders or hub ids, .* write {toy!r}"):
        rmaudit.run(rmaudit.load(toy), audits=["numerics"])  # a run loads its models itself


def test_a_file_that_breaks_is_told(toy: str, tmp_path: Path) -> None:
    """With what pytest says of it."""
    broken = tmp_path / "test_broken.py"
    broken.write_text("import nothing_there\n", encoding="utf-8")

    with pytest.raises(RmauditError, match="nothing_there"):
        rmaudit.run(toy, audits=[str(broken)])


@pytest.mark.slow
def test_each_run_takes_what_it_is_given(toy: str, tmp_path: Path) -> None:
    """Not the functions of the run before, nor a file as it was then."""
    first = module(tmp_path / "first.py", AUDITS + HIGH.format(low=0.0))["test_high"]
    second = module(tmp_path / "second.py", AUDITS + HIGH.format(low=2.0))["test_high"]
    file = tmp_path / "test_file.py"
    results = []
    for given, low in ((first, 0.0), (second, 2.0)):
        file.write_text(AUDITS + HIGH.format(low=low), encoding="utf-8")
        ran = rmaudit.run(toy, audits=[given, str(file)], cache=tmp_path / "cache")
        results.append([str(each.result) for each in ran.findings])

    assert results == [["pass"] * 4, ["fail"] * 4]


@pytest.mark.slow
def test_one_audit_of_a_file_with_several_runs_alone(toy: str, tmp_path: Path) -> None:
    """By the name that reports give it."""
    ran = rmaudit.run(toy, audits=["invariance_case"], cache=tmp_path)

    assert {finding.audit for finding in ran.findings} == {"invariance_case"}
