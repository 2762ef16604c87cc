"""The command line: where the data are, which models there are, and errors of one line."""

from __future__ import annotations

from pathlib import Path

import pooch
import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.references.sources import SOURCES, locate

runner = CliRunner()
REGISTRY = "models: {A: {source: embedded, default: true}, Long-name: {source: owner/name}}"


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is installed, and no download."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.delenv("RMAUDIT_DATA", raising=False)
    monkeypatch.setattr(pooch, "retrieve", refuse)


# rmaudit


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_the_help_names_every_command(arguments: list[str]) -> None:
    """Asked or not, rmaudit says what it can do and how the audits are run."""
    result = runner.invoke(app, arguments)

    assert all(word in result.stdout for word in ("data", "models", "pytest audits"))


# rmaudit data


def test_data_says_where_a_file_is_and_under_which_licence() -> None:
    """One line a reference: name, path, licence."""
    result = runner.invoke(app, ["data", "afinn", "vader"])

    assert result.stdout.splitlines() == [
        f"afinn: {locate('afinn')} (ODbL 1.0 (Nielsen 2011))",
        f"vader: {locate('vader')} (MIT (Hutto and Gilbert 2014))",
    ]
    assert result.exit_code == 0


def test_data_without_a_name_gets_all(mirror: Path) -> None:
    """All references are located and checked, in the order of the table."""
    result = runner.invoke(app, ["data"])

    lines = [f"{name}: {mirror / s.mirror} ({s.licence})" for name, s in SOURCES.items()]
    assert result.stdout.splitlines() == lines
    assert result.exit_code == 0


def test_data_refuses_an_unknown_name() -> None:
    """Exit 2, with what was asked for and what there is."""
    result = runner.invoke(app, ["data", "bing"])

    known = "known: afinn, labmt, vader, elo, hh-harmless"
    assert result.stderr == f"unknown reference 'bing'; {known}\n"
    assert (result.stdout, result.exit_code) == ("", 2)


def test_data_goes_on_after_what_cannot_be_had() -> None:
    """One missing file hides no other: exit 1, the error on stderr, the rest on stdout."""
    result = runner.invoke(app, ["data", "elo", "afinn"])

    assert result.stdout == f"afinn: {locate('afinn')} (ODbL 1.0 (Nielsen 2011))\n"
    assert result.stderr.startswith("elo: https://")
    assert result.stderr.endswith("get it with: rmaudit data elo\n")
    assert len(result.stderr.splitlines()) == 1
    assert result.exit_code == 1


# rmaudit models


def test_models_lists_the_file_and_marks_the_default(tmp_path: Path) -> None:
    """One line a model, in the order of the file, with the source in a column."""
    path = tmp_path / "models.yaml"
    path.write_text(REGISTRY)

    result = runner.invoke(app, ["models", "--file", str(path)])

    assert result.stdout.splitlines() == ["* A          embedded", "  Long-name  owner/name"]
    assert result.exit_code == 0


def test_models_reads_the_file_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --file it is ./models.yaml, as for the audits."""
    (tmp_path / "models.yaml").write_text(REGISTRY)
    monkeypatch.chdir(tmp_path)

    assert "Long-name" in runner.invoke(app, ["models"]).stdout


def test_models_lists_those_of_rmaudit_where_there_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere it lists rmaudit's own: the default and the ten of the paper."""
    monkeypatch.chdir(tmp_path)

    lines = runner.invoke(app, ["models"]).stdout.splitlines()

    assert len(lines) == 11
    assert [line for line in lines if line.startswith("*")] == ["* R-Smol-135M     embedded"]


def test_models_refuses_a_wrong_file_in_one_line(tmp_path: Path) -> None:
    """Exit 2, with the file and the line; no traceback."""
    path = tmp_path / "models.yaml"
    path.write_text("models:\n  A: 3\n")

    result = runner.invoke(app, ["models", "--file", str(path)])

    assert result.stderr.startswith(f"{path}:2: A: ")
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.exit_code) == ("", 2)


def test_data_refuses_an_unknown_name_before_it_downloads() -> None:
    """Nothing is fetched for a command that is wrong."""
    assert CliRunner().invoke(app, ["data", "afinn", "bing"]).stdout == ""
