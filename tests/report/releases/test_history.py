"""Runs over time: in order, by family, the first regression marked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.errors import SpecError
from rmaudit.report.releases.history import (
    ReleaseFamily,
    group_families,
    read_all,
)
from rmaudit.report.results_document import Results, write
from rmaudit.verdicts.estimates_and_bounds import Verdict
from tests.findings import but
from tests.report.runs import RUN, SPEC, found, results

VALUES = (0.9, 0.88, 0.5, 0.45, None, -0.2)  # of six releases; the bound is above 0
FAIL, SKIPPED = Verdict.FAIL, Verdict.SKIPPED


def run_of(value: float | None, day: int, name: str = SPEC.name, **spec: Any) -> Results:
    """A run on this day that found this, of a model of this name."""
    verdict = SKIPPED if value is None else FAIL if value < 0 else Verdict.PASS
    finding = but(found(value, verdict=verdict), model=name)
    made = results([finding], specs=[replace(SPEC, name=name, **spec)])
    return replace(made, run=replace(RUN, created=f"2026-11-{day:02}T10:00:00Z"))


def placed(runs: Iterable[Results]) -> list[tuple[Results, Path]]:
    """The runs, each with a folder of its own."""
    return [(run, Path(f"run-{i}")) for i, run in enumerate(runs)]


def over(*values: float | None) -> ReleaseFamily:
    """The family of one model over these days."""
    (family,) = group_families(placed(run_of(value, i + 1) for i, value in enumerate(values)))
    return family


def side_by_side(*models: Results) -> Results:
    """One run of the models of several, which have one base model."""
    based = tuple(replace(each.models[0], base_model="Base-1B") for each in models)
    findings = tuple(finding for each in models for finding in each.findings)
    return replace(models[0], models=based, findings=findings)


def written(folder: Path, runs: Iterable[tuple[Results, Path]]) -> Path:
    """The folder, with the runs in it."""
    for run, place in runs:
        (folder / place).mkdir(parents=True)
        write(run, folder / place / "results.json")
    return folder


def command(*arguments: str | Path) -> Any:
    """What `rmaudit history` does."""
    return CliRunner().invoke(app, ["history", *map(str, arguments)])


@pytest.mark.parametrize(
    ("values", "regressed"),
    [
        (VALUES, [2, 5]),  # the last one against the last that has a number: a gap is none
        ((0.05, -0.05), [1]),  # a lost pass, though no difference counts
    ],
)
def test_the_first_regression_is_marked(
    values: tuple[float | None, ...], regressed: list[int]
) -> None:
    """The first difference that counts, or a pass that is lost."""
    (gate,) = over(*values).gates

    assert [i for i, point in enumerate(gate.points) if point.regressed] == regressed
    assert gate.first == regressed[0]
    assert [i for i, point in enumerate(gate.points) if not point.change] == [
        i for i, value in enumerate(values) if not i or value is None
    ]


def test_families_go_by_of_or_base_model_and_releases_by_time(tmp_path: Path) -> None:
    """Whatever releases are called; `of:` goes before base models and names."""
    late, early = (run_of(0.5, day, f"rm-v{day}", base_model="Base-1B") for day in (2, 1))
    named = [run_of(0.9, day, f"my-v{day}", base_model=f"Base {day}", of="rm") for day in (3, 4)]
    runs, left = read_all(written(tmp_path, placed([late, early, *named, run_of(0.9, 5, "other")])))

    based, joined, alone = group_families(runs)

    assert left == []
    assert based.name.startswith("Base-1B")
    assert [release.model for release in based.releases] == ["rm-v1", "rm-v2"]
    assert (joined.name, joined.by) == ("rm", "`of:` of models.yaml")
    assert [release.model for release in joined.releases] == ["my-v3", "my-v4"]
    assert (alone.name, alone.by) == ("other", "their name")


def test_an_interrupted_run_is_no_release(tmp_path: Path) -> None:
    """Nor one that lost some of its audits: it is named, and what it measured is not compared."""
    stopped = replace(RUN, interrupted=True, created="2026-11-02T10:00:00Z")
    lost = replace(RUN, collected=2, selected=2, created="2026-11-03T10:00:00Z")
    runs = [run_of(0.9, 1), *(results([found(0.4)], run=run) for run in (stopped, lost))]
    said = command(written(tmp_path / "some", placed(runs)))

    assert said.exit_code == 0
    assert "toy: 1 release\n" in said.stdout
    assert said.stderr.count("the run did not finish, so it is no release") == 2
    none = command(written(tmp_path / "none", placed(runs[1:])))
    assert none.exit_code == 3
    assert "no results.json of a whole run" in none.stderr


def test_models_that_one_run_audits_are_no_releases_of_one_another() -> None:
    """Siblings of one base, each as it was: nothing regresses from one to the other.

    They are not joined, whatever family is asked for.
    """
    runs = placed(
        side_by_side(run_of(0.9, day, "large"), run_of(0.2, day, "small")) for day in (1, 2)
    )

    told = group_families(runs)

    assert [(family.name, len(family.releases)) for family in told] == [("large", 2), ("small", 2)]
    assert not any(gate.first for family in told for gate in family.gates)
    with pytest.raises(SpecError, match="run-0: this run audited large, small"):
        group_families(runs, "mine")


def test_a_sentence_says_where_it_began() -> None:
    """The release, the numbers, and how the result changed; hostile names are spelled out."""
    said = over(*VALUES).regression
    (hostile,) = group_families(placed(run_of(v, 1, "x\x1b[31m") for v in (0.9, 0.5)))

    assert "First regression: " in said
    assert "at toy, 2026-11-03 10:00: 0.88 to 0.50, -0.38 [-0.52, -0.24]" in said
    assert "x\\x1b[31m" in hostile.regression


ELSEWHERE = replace(run_of(0.9, 2), findings=(but(run_of(0.9, 2).findings[0], prompt="beste"),))
SAMPLED = replace(run_of(0.9, 2), run=replace(run_of(0.9, 2).run, sample=300))


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ([run_of(None, 1)], ["Nothing to compare: there is only one run of it."]),
        ([run_of(0.5, 1)], ["Nothing to compare: there is only one run of it."]),
        (
            [run_of(0.9, 1), run_of(None, 2)],
            ["Nothing to compare: no gate was measured in toy, 2026-11-02 10:00."],
        ),
        (
            [run_of(0.9, 1), run_of(0.88, 2), run_of(None, 3)],
            [
                "No gate that was measured twice got clearly worse",
                "The last run (toy, 2026-11-03 10:00) did not measure: ",
            ],
        ),
        (
            [run_of(0.9, 1), run_of(0.88, 2)],
            ["No gate got clearly worse from one release to the next."],
        ),
        (
            [run_of(0.9, 1), ELSEWHERE],
            ["no gate was measured in two releases under the same prompts"],
        ),
        (
            [run_of(0.9, 1), SAMPLED],
            ["do not rest on the same words: the audits' own words; a sample of 300"],
        ),
    ],
)
def test_nothing_regressed_or_nothing_could_be_compared(
    runs: list[Results], told: list[str]
) -> None:
    """A run that measured nothing is not said to be no worse; other words are said to be others."""
    (family,) = group_families(placed(runs))

    said = family.regression

    assert [part for part in told if part not in said] == []
    assert said.startswith("No gate") is (told[0].startswith("No gate") or "words" in told[0])


def test_the_command_joins_a_family(tmp_path: Path) -> None:
    """It says how two are joined, and takes them for one with `--family`."""
    based = (("rm-v1", None), ("rm-v2", "Base-1B"))
    runs = (run_of(0.9, day, name, base_model=base) for day, (name, base) in enumerate(based, 1))
    written(tmp_path, placed(runs))

    apart = command(tmp_path)
    joined = command(tmp_path, "--family", "rm")

    assert apart.exit_code == joined.exit_code == 0
    assert "--family NAME" in apart.stdout
    assert "rm: 2 releases" in joined.stdout
    assert "--family NAME" not in joined.stdout


def test_a_history_is_the_same_as_json(tmp_path: Path) -> None:
    """Values, changes and the first regression, for a dashboard; what cannot be read is in it.

    A folder without runs is an error with the way out.
    """
    values = [0.9, 0.88, 0.5]
    written(tmp_path, placed(run_of(value, day) for day, value in enumerate(values, start=1)))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "results.json").write_text("{", encoding="utf-8")

    shown, nothing, missing = (command(tmp_path / at) for at in (".", "bad", "none"))
    said = json.loads(command(tmp_path, "--json").stdout)

    assert "bad/results.json" in shown.stderr
    assert "3 releases" in shown.stdout
    (family,) = said["families"]
    (gate,) = family["gates"]
    assert len(family["releases"]) == len(values)
    assert [point["value"] for point in gate["releases"]] == values
    assert gate["releases"][gate["first regression"]]["change"] == "worse"
    assert len(said["passed over"]) == 1
    assert (nothing.exit_code, missing.exit_code) == (3, 3)
    assert "--rm-report" in nothing.stderr
    assert "no such folder" in missing.stderr
