"""Files of leaderboards: known by their fields, read whole, and a wrong row is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rmaudit.measures.leaderboard_score import REWARDBENCH_2
from rmaudit.scores.pair_files import COLUMNS, Pairs, read
from tests.scores.lines import assert_refused, written

Row = dict[str, Any]


def best(**but: object) -> Row:
    """A row of RewardBench 2 with four answers, as it was published."""
    return {
        "id": "7",
        "prompt": "Name a prime.",
        "chosen": ["Seven."],
        "rejected": ["Four.", "Six.", "Six."],
        "num_correct": 1,
        "num_incorrect": 3,
        "total_completions": 4,
        "models": ["a", "b", "c", "c"],
        "subset": "Math",
        "additional_metadata": {"category": None, "index": 1.0},
    } | but


def ties(kind: str, number: int, *right: str) -> Row:
    """A row of Ties."""
    wrong = ["Four.", "Six."]
    counts = {"num_correct": len(right), "total_completions": len(right) + len(wrong)}
    about = {"id": f"{kind}:{number}", "chosen": [*right], "rejected": wrong, "subset": "Ties"}
    return best(**about, **counts, num_incorrect=len(wrong))


def styled(**but: object) -> Row:
    """A row of RM-Bench."""
    answers = {"chosen": ["7", "It is 7.", "**7**"], "rejected": ["8", "It is 8.", "**8**"]}
    return {"id": 1, "prompt": "3 + 4?", **answers, "domain": "safety-refuse"} | but


def without(field: str, row: Row) -> Row:
    """The row but for a field."""
    return {key: value for key, value in row.items() if key != field}


BOARD = [best(), ties("tied", 3, "Two.", "Three."), ties("ref", 3, "Two."), best(id="8")]


def test_rewardbench_2_is_known_by_its_fields(tmp_path: Path) -> None:
    """Its sections are subsets, lines of one prompt are one group; a pair may be there twice."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(BOARD), path)

    found = read(path)

    assert found.board == REWARDBENCH_2
    assert found.frame["line"].tolist() == [1] * 4 + [2] * 4 + [3] * 3 + [4] * 4
    lines = found.frame.drop_duplicates("line")
    assert lines["subset"].tolist() == ["Math", "Ties", "Ties", "Math"]
    assert lines["group"].tolist() == ["Name a prime."] * 4
    assert lines["id"].tolist() == ["7", "tied:3", "ref:3", "8"]
    assert found.frame["response"].tolist()[:4] == ["Seven.", "Four.", "Six.", "Six."]
    assert f"4 pairs of rows.parquet, which is {REWARDBENCH_2}'s (ODC-By)" in found.source


@pytest.mark.parametrize(
    "row",
    [
        styled(domain="poetry"),
        styled(chosen=["7"]),
        without("domain", styled(subset="chat")),
        best(rejected="Four.", chosen="Seven."),
        without("num_correct", best(rejected=["Four."])),
    ],
)
def test_other_files_are_ones_own_pairs(tmp_path: Path, row: Row) -> None:
    """Also if they have a field or two of a leaderboard's."""
    found: Pairs = read(written(tmp_path / "own.jsonl", row))

    assert found.board == ""
    assert found.frame.columns.tolist() == [*COLUMNS, "reward"]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([best(), {"prompt": "a", "chosen": ["b"], "rejected": ["c"]}], [":2: has no id", "first"]),
        ([best(), best(chosen="Seven.")], [":2: chosen is 'Seven.', allowed: a list of texts"]),
        ([best(num_correct=2)], [":1: num_correct is 2, and the row has 1"]),
        ([best(total_completions=5)], [":1: total_completions is 5, and the row has 4"]),
        ([best(subset=None)], [":1: subset is None, allowed: a section's name"]),
        ([best(subset="Ties")], [":1: id is '7'", "ref or tied, a colon and a number"]),
        ([ties("tied", 1, "Two.")], [":1: tied:1 has one chosen answer, allowed: two or more"]),
        ([best(rejected=[], total_completions=1)], [":1: rejected is an empty list"]),
        ([best(chosen=[3])], [":1: chosen is 3, allowed: a text"]),
        ([styled()], [":1: a row of RM-Bench", "removed in 0.2", "RewardBench 2"]),
        ([best(), styled()], [":2: has no subset and no num", "row is of RewardBench 2"]),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, rows: list[Row], names: list[str]) -> None:
    """One line: where, what was found, what is allowed; a leaderboard's file is never half one."""
    table = tmp_path / "rows.json"
    table.write_text(json.dumps(rows))

    assert_refused(read, table, names)
