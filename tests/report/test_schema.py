"""The schema of results.json: it takes what runs write, and names what is wrong in the rest."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ResultsError
from rmaudit.report.document import Run, SweepRecord, collect, read, write
from rmaudit.report.schema import fault

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "results.schema.json").read_text(encoding="utf-8"))

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture
def results(results: dict[str, Any]) -> dict[str, Any]:
    """As a file has them: lists, no tuples."""
    as_read: dict[str, Any] = json.loads(json.dumps(results))
    return as_read


def set_(path: str, value: object) -> Change:
    """A change that puts `value` at the end of a dotted path."""

    def change(results: dict[str, Any]) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        at: Any = results
        for step in steps:
            at = at[step]
        at[last] = value

    return change


def drop(path: str) -> Change:
    """A change that takes away what stands at the end of a dotted path."""

    def change(results: dict[str, Any]) -> None:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        at: Any = results
        for step in steps:
            at = at[step]
        del at[last]

    return change


def saved(text: str, tmp_path: Path) -> Path:
    """A results.json of this text."""
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    return path


def told(path: Path) -> str:
    """The error of reading it, without the folder."""
    with pytest.raises(ResultsError) as raised:
        read(path)
    message = str(raised.value)
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_the_schema_is_one() -> None:
    """It keeps the rules of its draft, and is closed: a key that it does not name is refused."""
    Draft202012Validator.check_schema(SCHEMA)

    objects = [SCHEMA, *SCHEMA["$defs"].values()]
    assert len(objects) == 8
    assert {str(part["additionalProperties"]) for part in objects} == {"False"}


def test_what_a_run_collects_keeps_the_schema(tmp_path: Path, results: dict[str, Any]) -> None:
    """A sweep and findings of every verdict, written and read back, are the same values."""
    frame = pd.DataFrame(
        {"token_id": [1, 2, 3], "token": ["a", "\x00", "é"], "text": ["a", "", " "]}
    ).assign(score=np.array([1, math.nan, 3], np.float32))
    sweep = SweepRecord("toy", "best", "What?", "ab12", frame, {"dtype": "float32", "layers": 2})
    run = Run("2026-11-21T10:50:00Z", "0.1.0", "pytest audits", 7, {"python": "3.11"})
    collected = collect(run, [ModelSpec("toy", "owner/name")], [sweep], [])

    assert {"vocabulary", "scores"} <= set(collected["models"][0]["sweeps"][0])
    for value in (collected, results):
        write(value, tmp_path / "results.json")
        assert read(tmp_path / "results.json") == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("seed"), 'the file has no "seed"'),
        (set_("seed", 0.5), "seed is 0.5, allowed: integer"),
        (set_("created", "today"), 'created is "today", allowed: pattern ^[0-9]{4}-'),
        (set_("models.0.sweeps.0.sd", -1), "models[0].sweeps[0].sd is -1, allowed: minimum 0"),
        (
            set_("models.0.sweeps.0.top.2.text", None),
            "models[0].sweeps[0].top[2].text is null, allowed: string",
        ),
        (
            set_("models.0.sweeps.0.histogram.counts", [1000]),
            "models[0].sweeps[0].histogram has 4 edges and 1 counts, allowed: one edge more",
        ),
    ],
)
def test_what_is_wrong_is_named(results: dict[str, Any], change: Change, message: str) -> None:
    """The path in the file, what stands there, what may: nothing of the file is shown raw."""
    assert fault(results) == ""

    change(results)

    assert fault(results).startswith(message)
    assert fault(results).isprintable()


def test_scores_need_a_vocabulary(results: dict[str, Any]) -> None:
    """Numbers without the tokens that they are of are refused."""
    frame = pd.DataFrame({"token_id": [1, 2], "token": ["a", "b"], "text": ["a", "b"]})
    sweep = SweepRecord("Toy", "best", "?", "k", frame.assign(score=np.float32([1, 3])), {})
    run = Run("2026-11-21T10:50:00Z", "0.1.0", "pytest audits", 7, {})
    whole = json.loads(json.dumps(collect(run, [ModelSpec("Toy", "o/n")], [sweep], [])))
    assert fault(whole) == ""

    broken = copy.deepcopy(whole)
    drop("models.0.sweeps.0.vocabulary")(broken)
    assert fault(broken) == 'models[0].sweeps[0] has "scores", but no "vocabulary"'

    set_("models.0.sweeps.0.scores.encoding", "hex")(whole)
    where = "models[0].sweeps[0].scores.encoding"
    assert fault(whole) == f'{where} is "hex", allowed: "planes+zlib+base64"'


def test_two_models_of_one_name_are_refused(results: dict[str, Any]) -> None:
    """Findings name their model, and must name one."""
    results["models"].append(copy.deepcopy(results["models"][0]))

    assert fault(results) == 'models: two are named "Toy", allowed: one of a name'


def test_no_key_may_be_missing(results: dict[str, Any]) -> None:
    """Without any one key of any one part the file is refused."""
    parts = {
        "": results,
        "models.0": results["models"][0],
        "models.0.sweeps.0": results["models"][0]["sweeps"][0],
        "models.0.sweeps.0.top.0": results["models"][0]["sweeps"][0]["top"][0],
    }
    for path, part in parts.items():
        for key in part:
            broken = copy.deepcopy(results)
            drop(f"{path}.{key}".removeprefix("."))(broken)
            assert fault(broken).endswith(f'has no "{key}"')


# Reading a file


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The path, the reason, and what to give."""
    why = "cannot be read (No such file or directory); give the results.json of a run"
    assert told(tmp_path / "none.json") == why


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """The folder of a report is easily given in place of the file in it."""
    assert told(tmp_path).startswith("cannot be read (Is a directory)")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A file of another kind is said to be one."""
    path = tmp_path / "results.json"
    path.write_bytes(b"\xff\xfe")

    assert told(path) == "cannot be read (not UTF-8); give the results.json of a run"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"seed": NaN}', "NaN is no finite number"),
        ('{"seed": -Infinity}', "-Infinity is no finite number"),
        ('{"seed": 1e999}', "1e999 is no finite number"),
    ],
)
def test_what_is_not_json(tmp_path: Path, text: str, why: str) -> None:
    """A file cut short, and numbers that JSON does not have."""
    message = f"not JSON ({why}); run the audits again, or give another results.json"
    assert told(saved(text, tmp_path)) == message


def test_json_without_an_end(tmp_path: Path) -> None:
    """A file made to exhaust the reader's stack is an error like others."""
    assert told(saved("[" * 200_000, tmp_path)).startswith("not JSON (")


@pytest.mark.parametrize(
    ("text", "found"),
    [('{"schema": "rmaudit.results/1"}', '"rmaudit.results/1"'), ("[]", "null"), ("{}", "null")],
)
def test_another_schema(tmp_path: Path, text: str, found: str) -> None:
    """An older file, or another tool's, is not read as if it were this one's."""
    assert told(saved(text, tmp_path)) == (
        f'its schema is {found}, allowed: "rmaudit.results/3"; '
        "run the audits again, or use the rmaudit that wrote it"
    )


def test_a_wrong_field_is_named_with_the_file(tmp_path: Path, results: dict[str, Any]) -> None:
    """The fault stands behind the file's name, and before what to do."""
    results["findings"][2]["judgement"]["verdict"] = "MAYBE"
    path = saved(json.dumps(results), tmp_path)

    message = told(path)

    assert message.startswith('findings[2].judgement.verdict is "MAYBE", allowed: ')
    assert message.endswith("; run the audits again, or use the rmaudit that wrote it")
