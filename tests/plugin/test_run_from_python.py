"""`rmaudit.run` finds what pytest finds, in a process that goes on."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import rmaudit
from rmaudit.errors import RmauditError, SpecError
from rmaudit.plugin.run_from_python import checked
from tests.audits.planted import AUDITS as AUDITS_FOLDER
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


@pytest.mark.slow
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
    frame = found.frame()
    assert frame["value"].tolist()[-1] == pytest.approx(sweep.frame["score"].mean())
    assert (set(frame["result"]), set(frame["reason"])) == ({"pass"}, {""})
    assert found.report is None
    assert "high" in repr(found)
    assert "<table" in found._repr_html_()
    assert capsys.readouterr().out == ""


def test_the_verdict_its_causes_and_the_charts_are_where_one_looks(
    toy: str, tmp_path: Path
) -> None:
    """Before the table, in text and in a notebook: what blocks or was not measured, and why."""
    text = AUDITS + "@declare(2.0, prompts=['best'])\ndef low(rng): return estimate(1.0)\n"
    text += "@declare(0.0, prompts=['best'])\ndef number(rewards): return 3.0\n"
    cells = module(tmp_path / "cells.py", text)

    audits = [cells["low"], cells["number"]]
    ran = rmaudit.run(toy, audits=audits, cache=tmp_path / "cache")

    fault, first, *more = repr(ran).splitlines()
    names = ("number[toy-best]", "could not be measured", "Estimate", "float 3.0", "rmaudit.mean")
    assert all(name in fault for name in names), fault
    assert first.startswith("FAILS  2 gates: 1 fail")
    head = "\n".join(more).partition("model ")[0]
    assert all(said in head for said in ("low", "must be above 2.00", 'report="reports"'))
    assert "only low number was asked for" in head
    assert "repeat:" not in head  # no file has these functions
    page = ran._repr_html_()
    assert all(name in page.partition("<b>")[0] for name in names)
    assert page.index("<b>FAILS") < page.index("must be above 2.00") < page.index("<table")
    assert "report=&quot;reports&quot;" in page
    reasons = ran.frame().set_index("audit")["reason"]
    assert "must return an Estimate, got float 3.0" in reasons["number"]
    assert reasons["low"] == "outside its bound"


@pytest.mark.slow
def test_a_run_from_python_equals_one_of_pytest(toy: str, tmp_path: Path, run: Run) -> None:
    """Estimates and verdicts, finding by finding; its pages are where they were asked for."""
    outer = run(HIGH.format(low=2.0), "--rm-model", toy, "--rm-cache", str(tmp_path / "cache"))
    file = outer.folder / "test_toy.py"

    found = rmaudit.run(toy, audits=[file], cache=tmp_path / "cache", report=tmp_path / "pages")

    ours = [(str(f.verdict), f.estimate.value) for f in found.findings if f.estimate]
    assert ours == [(f["verdict"], f["estimate"]["value"]) for f in outer.findings]
    assert found.verdict.outcome == "FAILS"
    assert found.report is not None
    assert [found.page] == list(found.report.glob("*/index.html"))
    assert f"charts: {found.page}" in repr(found).splitlines()


@pytest.mark.parametrize(
    ("audits", "said"),
    [
        (["positiv_skew"], "unknown audit 'positiv_skew'.* positive_skew"),
        ("positive_skew", r"audits is a list, .*write audits=\['positive_skew'\]"),
        ([len], "len.* is no audit: declare it with @rmaudit.audit"),
        ([3], "audits has 3, allowed: names, .*and paths"),
    ],
)
def test_what_is_no_audit_is_refused(audits: list[Any], said: str) -> None:
    """With what would be one."""
    with pytest.raises(SpecError, match=said):
        checked(audits)


def test_what_is_no_model_is_refused(toy: str) -> None:
    """In one sentence, without pytest's own words around it; a run loads its models itself."""
    with pytest.raises(SpecError, match=r"own models.yaml: unknown model .nobody.; .* and 29 more"):
        rmaudit.run("nobody", audits=["positive_skew"])
    with pytest.raises(SpecError, match=rf"names, folders or hub ids, .* write {toy!r}"):
        rmaudit.run(rmaudit.load(toy), audits=["numerics"])


@pytest.mark.slow
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


def test_an_audit_or_a_file_is_named(tmp_path: Path) -> None:
    """One of a file with several runs alone, by the name that reports give it."""
    file = AUDITS_FOLDER / "test_sentences.py"

    _, paths = checked(["first_names", "sentences", tmp_path])

    assert paths == [Path(f"{file}::test_first_names"), file, tmp_path]
