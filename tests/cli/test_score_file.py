"""rmaudit score: a file in, a file out, and nothing written where something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import Result

from rmaudit.scores.score_store import Store
from tests.cli.running import run
from tests.toys import toy_checkpoint

READ = {
    ".parquet": pd.read_parquet,
    ".csv": pd.read_csv,
    ".jsonl": lambda p: pd.read_json(p, lines=True),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a model, and a file of two answers."""
    toy_checkpoint(tmp_path / "toy")
    line = {"prompt": "who", "responses": ["love", "war"]}
    (tmp_path / "in.jsonl").write_text(json.dumps(line), encoding="utf-8")
    return tmp_path


def test_the_result_is_written_as_its_ending_says(folder: Path) -> None:
    """The same rewards in each format, a row for each answer."""
    found = []
    for ending, reader in READ.items():
        out = folder / f"out{ending}"
        told = score(folder, "--out", str(out))
        assert told.exit_code == 0, told.output
        assert "2 answers to 1 prompts" in told.output
        found.append(reader(out))
    assert list(found[0]) == ["line", "prompt", "response", "reward"]
    assert found[0]["response"].tolist() == ["love", "war"]
    for each in found[1:]:
        assert each["reward"].tolist() == pytest.approx(found[0]["reward"].tolist())


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (["--out", "out.xlsx"], 4, "'.xlsx'"),
        (["--out", "nowhere/out.csv"], 3, "nowhere"),
        (["--out", "out.csv", "--model", "nobody"], 4, "nobody"),
    ],
)
def test_what_is_wrong_is_told(folder: Path, arguments: list[str], code: int, name: str) -> None:
    """By an exit code and a line; nothing is left behind."""
    told = score(folder, *arguments)

    assert told.exit_code == code
    assert name in told.output
    assert not list(folder.glob("*out.*"))


def test_scores_may_lie_at_a_url(folder: Path) -> None:
    """As of `pytest --rm-cache`: a second time they are read there; no folder bears its name."""
    url = f"memory://{folder.name}/score"

    told = [score(folder, "--out", "out.csv", "--cache", url) for _ in range(2)]

    assert [each.exit_code for each in told] == [0, 0], told[0].output
    assert [name[-8:] for name in Store(url).files.names()] == [".parquet"]
    assert not [path.name for path in folder.iterdir() if ":" in path.name]


def score(folder: Path, *arguments: str) -> Result:
    """The command, on the folder's file and model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        given = ["--model", "./toy", "--cache", "cache", *arguments]
        return run("score", "in.jsonl", *given)
