"""Runs over time: in order, by family, the first regression marked; and the page of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.errors import SpecError
from rmaudit.report.document import Results, write
from rmaudit.report.over_time.history import ReleaseFamily, families, read_all, why_apart
from rmaudit.report.page import history_page
from rmaudit.verdicts.outcome import of_run
from rmaudit.verdicts.records import Severity, Verdict
from tests.findings import but
from tests.report.over_time.test_releases import found, results
from tests.report.test_document import RUN, SPEC

VALUES = (0.9, 0.88, 0.5, 0.45, None, -0.2)  # of six releases; the bound is above 0
FAIL, SKIPPED = Verdict.FAIL, Verdict.SKIPPED


def run_of(value: float | None, day: int, name: str = SPEC.name) -> Results:
    """A run on this day that found this, of a model of this name."""
    verdict = SKIPPED if value is None else FAIL if value < 0 else Verdict.PASS
    spec = replace(SPEC, name=name)
    finding = but(found(value, verdict=verdict), model=name)
    made = results([finding], specs=[spec])
    return replace(made, run=replace(RUN, created=f"2026-11-{day:02}T10:00:00Z"))


def over(*values: float | None) -> ReleaseFamily:
    """The family of one model over these days."""
    (family,) = families((run_of(value, i + 1), Path()) for i, value in enumerate(values))
    return family


def test_the_first_regression_is_marked() -> None:
    """The first difference that counts, or a pass that is lost; a gap is no regression."""
    (gate,) = over(*VALUES).gates

    assert [point.regressed for point in gate.points] == [False, False, True, False, False, True]
    assert gate.first == 2
    assert gate.points[4].change is None
    assert gate.points[5].change is not None  # against the last that has a number


def test_a_lost_pass_is_a_regression_though_no_difference_counts() -> None:
    """Near a bound little is needed."""
    (gate,) = over(0.05, -0.05).gates

    assert gate.first == 1


def test_of_joins_releases_whatever_they_are_called() -> None:
    """It goes before base models and names, also of models that one run audits side by side."""
    runs = []
    for day, name, base in ((1, "rm-v1", "A"), (2, "rm-v2", "B"), (3, "other", None)):
        made = run_of(0.9, day, name)
        of = None if name == "other" else "rm"
        (model,) = made.models
        runs.append((replace(made, models=(replace(model, of=of, base_model=base),)), Path()))
    joined, alone = families(runs)
    assert (joined.name, joined.by) == ("rm", "`of:` of models.yaml")
    assert [release.model for release in joined.releases] == ["rm-v1", "rm-v2"]
    assert (alone.name, alone.by) == ("other", "their name")
    assert why_apart(runs)[0] == "models.yaml says so: rm-v1 is of rm, rm-v2 is of rm."


def test_families_go_by_base_model_and_releases_by_time(tmp_path: Path) -> None:
    """Releases of other names are of one family where models.yaml names one base of theirs."""
    for day, name in ((2, "rm-v2"), (1, "rm-v1")):
        made = run_of(0.5, day, name)
        of_base = tuple(replace(model, base_model="Base-1B") for model in made.models)
        folder = tmp_path / f"run-{day}"
        folder.mkdir()
        write(replace(made, models=of_base), folder / "results.json")

    runs, left = read_all(tmp_path)
    (family,) = families(runs)

    assert left == []
    assert family.name.startswith("Base-1B")
    assert [release.model for release in family.releases] == ["rm-v1", "rm-v2"]


def test_models_that_one_run_audits_are_no_releases_of_one_another() -> None:
    """Siblings of one base, each as it was: nothing regresses from one to the other."""
    runs = []
    for day in (1, 2):
        both = [run_of(value, day, name) for name, value in (("large", 0.9), ("small", 0.2))]
        models = [replace(each.models[0], base_model="Base-1B") for each in both]
        together = [finding for each in both for finding in each.findings]
        runs.append((replace(both[0], models=tuple(models), findings=tuple(together)), Path()))

    told = families(runs)

    assert [family.name for family in told] == ["large", "small"]
    assert [[release.model for release in family.releases] for family in told] == [
        ["large", "large"],
        ["small", "small"],
    ]
    assert not any(family.first for family in told)


def test_what_informs_is_shown_with_its_change_and_regresses_nothing(tmp_path: Path) -> None:
    """Such as a tilt that drifts over checkpoints: apart from the gates, with its interval."""
    for day, value in enumerate((0.9, 0.5), 1):
        made = run_of(value, day)
        finding = but(made.findings[0], severity=Severity.INFO)
        folder = tmp_path / f"run-{day}"
        folder.mkdir()
        write(
            replace(made, findings=(finding,), verdict=of_run([finding], ())),
            folder / "results.json",
        )

    runs, _ = read_all(tmp_path)
    (family,) = families(runs)
    page = history_page.render([family], [])

    assert (family.gates, family.first) == ((), [])
    (series,) = family.informs
    assert [point.regressed for point in series.points] == [False, True]
    assert history_page.first(family) == "Nothing to compare: no audit gates."
    assert page.startswith("<!doctype html>")
    assert "1 informational, which block nothing" in page
    assert f"<td>{history_page.moved(series.points[1])}</td>" in page
    assert "0.90 to 0.50, -0.40 [" in page


def test_the_page_says_where_it_began(tmp_path: Path) -> None:
    """A sentence, marks, the number, one chart a gate; hostile names are spelled out."""
    hostile = "<script>alert(1)</script>"
    page = history_page.render([over(*VALUES)], [f"{hostile}: not JSON"])

    assert "First regression: " in page
    assert "2026-11-03 10:00" in page.partition("First regression: ")[2].partition("</p>")[0]
    assert "0.88 to 0.50, -0.38 [-0.52, -0.24]" in page
    assert page.count("first regression<") == 1
    assert page.count('<svg class="over-time"') == 1
    assert "<script" not in page


def test_the_command_writes_the_page_and_tells_what_it_passed_over(tmp_path: Path) -> None:
    """Runs that cannot be read are named; a folder without runs is an error with the way out."""
    (tmp_path / "good").mkdir()
    write(run_of(0.5, 1), tmp_path / "good" / "results.json")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "results.json").write_text("{", encoding="utf-8")

    shown = CliRunner().invoke(app, ["history", str(tmp_path)])
    nothing = CliRunner().invoke(app, ["history", str(tmp_path / "bad")])
    missing = CliRunner().invoke(app, ["history", str(tmp_path / "none")])

    assert shown.exit_code == 0
    assert (tmp_path / "history.html").is_file()
    assert "bad/results.json" in shown.stderr
    assert "1 release" in shown.stdout
    assert (nothing.exit_code, missing.exit_code) == (3, 3)
    assert "--rm-report" in nothing.stderr
    assert "no such folder" in missing.stderr


@pytest.mark.parametrize("value", [None, 0.5])
def test_one_release_has_nothing_to_regress_from(value: float | None) -> None:
    """It is shown all the same."""
    page = history_page.render([over(value)], [])

    assert "Nothing to compare: there is only one run of it." in page
    assert "No gate got clearly worse" not in page


def test_a_run_that_measured_nothing_is_not_said_to_be_no_worse() -> None:
    """There is nothing to compare, and it is said of which run; a gap at the end is told, too."""
    broken, late = over(0.9, None), over(0.9, 0.88, None)
    fine = over(0.9, 0.88)

    assert history_page.first(broken) == (
        "Nothing to compare: no gate was measured in toy, 2026-11-02 10:00."
    )
    told = history_page.first(late)
    assert told.startswith("No gate that was measured twice got clearly worse")
    assert "The last run (toy, 2026-11-03 10:00) did not measure: " in told
    assert history_page.first(fine) == "No gate got clearly worse from one release to the next."


def test_runs_of_other_prompts_or_samples_are_told() -> None:
    """Nothing in common is nothing to compare; other words are said to be others."""
    first, second = run_of(0.9, 1), run_of(0.9, 2)
    moved = replace(second, findings=(but(second.findings[0], prompt="beste"),))
    drawn = replace(second, run=replace(second.run, sample=300))

    (elsewhere,) = families([(first, Path()), (moved, Path())])
    (sampled,) = families([(first, Path()), (drawn, Path())])

    assert "no gate was measured in two releases under the same prompts" in history_page.first(
        elsewhere
    )
    assert "do not rest on the same words: the audits' own words; a sample of 300" in (
        history_page.first(sampled)
    )


def named(*runs: tuple[str, str | None]) -> list[tuple[Results, Path]]:
    """Runs of models of these names and base models, a day each."""
    made = []
    for day, (name, base) in enumerate(runs, 1):
        run = run_of(0.9, day, name)
        models = tuple(replace(model, base_model=base) for model in run.models)
        made.append((replace(run, models=models), Path(f"run-{day}")))
    return made


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (named(("rm-v1", None), ("rm-v2", None)), ["no base_model", "rm-v1, rm-v2"]),
        (named(("a", "Base-1B"), ("b", "Base-2B")), ["a has Base-1B", "b has Base-2B"]),
        (named(("a", "Base-1B"), ("b", None)), ["no base_model", ": b."]),
    ],
)
def test_it_is_said_why_runs_are_no_family_and_how_to_join_them(
    runs: list[tuple[Results, Path]], names: list[str]
) -> None:
    """And joined they are one, whose first regression is looked for."""
    told = why_apart(runs)

    assert all(name in " ".join(told) for name in names), told
    assert "--family NAME" in told[-1]
    (family,) = families(runs, "mine")
    assert (family.name, len(family.releases)) == ("mine", 2)
    assert family.compared
    assert why_apart(runs[:1]) == []


def test_models_side_by_side_are_told_apart_and_not_joined() -> None:
    """One run's models are no releases of one another, whatever family is asked for."""
    one, two = (run_of(0.9, 1, name) for name in ("large", "small"))
    models = [replace(each.models[0], base_model="Base-1B") for each in (one, two)]
    findings = (*one.findings, *two.findings)
    both = [(replace(one, models=tuple(models), findings=findings), Path("both"))]

    assert "side by side, as different models: large, small." in why_apart(both)[0]
    with pytest.raises(SpecError, match="both: this run audited large, small"):
        families(both, "mine")


def test_the_command_joins_a_family(tmp_path: Path) -> None:
    """It says why there are two, on the page too, and takes them for one where it is told to."""
    for run, folder in named(("rm-v1", None), ("rm-v2", None)):
        (tmp_path / folder).mkdir()
        write(run, tmp_path / folder / "results.json")

    apart = CliRunner().invoke(app, ["history", str(tmp_path)])
    page = (tmp_path / "history.html").read_text(encoding="utf-8")
    joined = CliRunner().invoke(app, ["history", str(tmp_path), "--family", "rm"])

    assert apart.exit_code == joined.exit_code == 0
    assert "no base_model" in apart.stdout
    assert "Why these are 2 families" in page
    assert "rm: 2 releases" in joined.stdout
    assert "base_model" not in joined.stdout


def test_a_history_is_the_same_as_json(tmp_path: Path) -> None:
    """Values, changes and the first regression, for a dashboard; what cannot be read is in it."""
    values = [0.9, 0.88, 0.5]
    for day, value in enumerate(values, start=1):
        (tmp_path / str(day)).mkdir()
        write(run_of(value, day), tmp_path / str(day) / "results.json")
    (tmp_path / "results.json").write_text("{", encoding="utf-8")

    said = json.loads(CliRunner().invoke(app, ["history", str(tmp_path), "--json"]).stdout)

    (family,) = said["families"]
    (gate,) = family["gates"]
    assert len(family["releases"]) == len(values)
    assert [point["value"] for point in gate["releases"]] == values
    assert gate["releases"][gate["first regression"]]["change"] == "worse"
    assert len(said["passed over"]) == 1
    assert Path(said["page"]).is_file()
