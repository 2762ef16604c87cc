"""rmaudit data and data import: what is fetched, taken in, and told."""

from __future__ import annotations

import json
from pathlib import Path

import pooch
import pytest
from typer.testing import Result

from rmaudit.references.sources import SOURCES, locate
from tests.cli.running import run
from tests.words import write

REGISTRY = "models: {A: {source: embedded, default: true}, Long-name: {source: owner/name}}"


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is installed, and no download."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.delenv("RMAUDIT_DATA", raising=False)
    monkeypatch.setattr(pooch, "retrieve", refuse)


# rmaudit data


def test_data_says_where_a_file_is_and_under_which_licence(mirror: Path) -> None:
    """One line a reference, name, path and licence; without a name all, in order."""
    two, every = run("data", "vader", "afinn"), run("data")

    lines = {name: f"{name}: {locate(name)} ({s.licence})" for name, s in SOURCES.items()}
    assert two.stdout.splitlines() == [lines["vader"], lines["afinn"]]
    assert every.stdout.splitlines() == list(lines.values())
    assert (two.exit_code, every.exit_code) == (0, 0)


def test_data_goes_on_after_what_cannot_be_had() -> None:
    """One missing file hides no other: exit 3, the error on stderr or in the JSON."""
    result = run("data", "elo", "afinn")
    told = run("data", "elo", "afinn", "--json")

    licence = SOURCES["afinn"].licence
    assert result.stdout == f"afinn: {locate('afinn')} ({licence})\n"
    assert result.stderr.startswith("elo: https://")
    assert result.stderr.endswith("set RMAUDIT_DATA to a folder that has the file\n")
    assert len(result.stderr.splitlines()) == 1
    elo, afinn = json.loads(told.stdout)
    assert afinn == {"name": "afinn", "licence": licence, "path": str(locate("afinn"))}
    assert (elo["name"], f"{elo['error']}\n") == ("elo", result.stderr)
    assert (result.exit_code, told.exit_code, told.stderr) == (3, 3, "")


# rmaudit data import

TOKENS = """token_id,token_name,token_decoded,greatest,best,worst
0,NA,NA,1.5,0.25,-1
1,b,b,,4,2.5
"""
ITEMS = "elo_rank,elo_score,name,elo_matches,owner/name,x/y\n1,1669,Water,13,2.5,1\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder as the authors have it, beside a registry that knows owner/name as Long-name."""
    (tmp_path / "models.yaml").write_text(REGISTRY)
    for place, text in {
        "reward_model_scores/owner--name.csv": TOKENS,
        "reward_model_scores/x--y.csv": TOKENS,
        "elo/What is water.csv": ITEMS,
        "tables/table_3.csv": "Model,Mean\n",
    }.items():
        path = tmp_path / "data" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "data"


def imported(folder: Path, *arguments: str) -> Result:
    """What `rmaudit data import` does, with the registry above the folder and a cache beside."""
    home = next(path for path in (folder, *folder.parents) if (path / "models.yaml").is_file())
    fixed = ["--cache", str(home / "cache"), "--file", str(home / "models.yaml")]
    return run("data", "import", *fixed, str(folder), *arguments)


def test_import_says_what_there_is_and_what_not(tables: Path) -> None:
    """A line a table, wherever it lies; which tables are nobody's; a second time the same."""
    scores = tables / "reward_model_scores"
    lines = [
        f"Long-name: 1 items under 'What is water?'; {tables}/elo/What is water.csv",
        (
            f"Long-name: 2 token ids under greatest, best, worst (1 scores missing); "
            f"{scores}/owner--name.csv"
        ),
        f"{scores}/x--y.csv: passed over, it is of none of these models",
    ]

    first, again = imported(tables), imported(tables.parent)

    assert first.stdout.splitlines() == lines
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert again.stdout.replace(", as imported before", "") == first.stdout
    assert len(list((tables.parent / "cache").glob("scores/*.parquet"))) == 4


def test_import_goes_on_after_a_wrong_table(tables: Path) -> None:
    """It is told with its line, the others are imported, the exit code is 3; as JSON too."""
    wrong = tables / "reward_model_scores" / "owner--name.csv"
    wrong.write_text(TOKENS + "2,c,c,1,2,nan\n")

    plain, result = imported(tables), imported(tables, "--json")

    assert plain.stderr.startswith(f"{wrong}:4: worst: expected a number")
    assert "What is water?" in plain.stdout
    assert plain.exit_code == 3

    items, tokens, others, unswept = json.loads(result.stdout)
    assert items == {
        "path": str(tables / "elo" / "What is water.csv"),
        "models": ["Long-name"],
        "said": "1 items under 'What is water?', as imported before",
    }
    assert tokens["path"] == str(wrong)
    assert tokens["error"].startswith(f"{wrong}:4: worst: ")
    assert others["models"] == []
    assert unswept == {"unswept": ["Long-name"]}
    assert (result.exit_code, result.stderr) == (3, "")


def test_import_names_what_is_not_there(tables: Path) -> None:
    """A model without a sweep is told; that is an error only where it was asked for by name."""
    (tables / "reward_model_scores" / "owner--name.csv").unlink()

    result, asked = imported(tables), imported(tables, "--model", "A", "--model", "Long-name")

    line = "no table of tokens, such as owner--name.csv, is there of: Long-name"
    assert result.stdout.splitlines()[-1] == line
    assert (result.exit_code, result.stderr) == (0, "")
    assert (asked.exit_code, asked.stderr) == (3, f"{tables} has no published scores of A\n")


def test_import_does_not_miss_what_nobody_published(tables: Path) -> None:
    """Of the models that the paper ranks a table is expected, and of those with scores of items."""
    path = tables.parent / "models.yaml"
    more = "New: {source: a/new}, Ranked: {source: a/ranked, rewardbench_rank: 7}}"
    path.write_text(path.read_text().removesuffix("}") + ", " + more)

    said = imported(tables).stdout.splitlines()[-1]

    assert said == "no table of tokens, such as a--ranked.csv, is there of: Ranked"


def test_import_knows_published_models_that_models_yaml_does_not_name(tables: Path) -> None:
    """Their tables are imported beside those of the file's own, but are not missed."""
    scores = tables / "reward_model_scores"
    (scores / "x--y.csv").rename(scores / "nicolinho--QRM-Llama3.1-8B.csv")

    result = imported(tables)
    asked = imported(tables, "--model", "Long-name")

    assert result.stdout.splitlines()[-2].startswith("N-Lla-8B: ")
    assert result.stdout.splitlines()[-1].startswith("Long-name: ")
    assert (result.exit_code, result.stderr) == (0, "")
    assert asked.stdout.count("passed over, it is of none of these models") == 1


def test_import_of_nothing(tables: Path) -> None:
    """A folder without a table."""
    empty = imported(tables / "tables")

    assert empty.stderr.startswith(f"{tables}/tables has no published scores of the models that")
    assert "a clone of github.com/brchristian/reward_models_inherit_value_biases" in empty.stderr
    assert (empty.stdout, empty.exit_code) == ("", 3)


@pytest.mark.slow
def test_import_finds_words(tmp_path: Path) -> None:
    """As deep as a clone has them, both dictionaries of a model in one line; words suffice."""
    (tmp_path / "models.yaml").write_text(REGISTRY.replace("owner/name", "owner/Quantile-8B"))
    folder = tmp_path / "clone" / "data" / "scores"
    for kind, words in {"big2": {"a": 1, "b c": 2}, "MFD20": {"d": 1}}.items():
        write(folder, kind, words)
        write(folder, kind, words, "csv")
    (folder / "big2" / "big2_rewards_x_y.csv").write_text("response,more\n")

    result = imported(tmp_path / "clone", "--model", "Long-name")

    said = "2 words under 54 prompts from 2 files (1 answers of several words left out)"
    lines = result.stdout.splitlines()
    assert f"Long-name: {said}; {folder}" in lines
    assert any("passed over" in line for line in lines)
    assert len(lines) == 2
    assert (result.exit_code, result.stderr) == (0, "")
