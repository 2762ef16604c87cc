"""Code that a checkpoint brings never runs."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint_model import from_spec
from tests.hub import COMMIT
from tests.models.loaded import change
from tests.toys import toy_checkpoint

CODE = """
from pathlib import Path
Path({mark!r}).write_text("run")
from transformers import {base}
class {name}({base}):
    pass
"""
PROMPT, ANSWERS = "the love of the city", ["love", "war", " peace and", "table"]
pytestmark = pytest.mark.usefixtures("offline")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What the checkpoint's code writes."""
    return tmp_path / "mark"


@pytest.fixture
def folder(tmp_path: Path, mark: Path) -> Path:
    """The snapshot of owner/own at COMMIT in the hub's cache, which brings a model class."""
    repository = tmp_path / "hub" / "models--owner--own"
    folder = toy_checkpoint(repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    code = "modeling_own.OwnReward"
    change(folder / "config.json", auto_map={"AutoModelForSequenceClassification": code})
    own = {"name": "OwnReward", "base": "LlamaForSequenceClassification"}
    (folder / "modeling_own.py").write_text(CODE.format(mark=str(mark), **own))
    return folder


def tokenizer_code(folder: Path, mark: Path) -> None:
    """Let the folder bring a tokenizer class."""
    path, code = folder / "tokenizer_config.json", [None, "tokenization_own.OwnTokenizer"]
    change(path, auto_map={"AutoTokenizer": code}, tokenizer_class="OwnTokenizer")
    own = {"name": "OwnTokenizer", "base": "PreTrainedTokenizerFast"}
    (folder / "tokenization_own.py").write_text(CODE.format(mark=str(mark), **own))


@pytest.mark.slow
@pytest.mark.parametrize("with_tokenizer", [False, True])
def test_no_code_runs_by_default(
    folder: Path,
    mark: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_tokenizer: bool,
) -> None:
    """As a hub id, a pinned one or a folder; scored, checked, examined, its tokenizer read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rmaudit.models.checkpoint_model.default_cache", lambda: tmp_path / "cache")
    if with_tokenizer:
        tokenizer_code(folder, mark)
    specs = [ModelSpec("own", str(folder)), ModelSpec("own", "owner/own")]
    for spec in (*specs, replace(specs[1], revision=COMMIT)):
        allowed = pytest.raises(ModelError) if with_tokenizer else nullcontext()
        with allowed:
            from_spec(spec, cache=tmp_path).score(PROMPT, ANSWERS)
    for command in (["round-trip"], ["doctor"], ["models", "check"]):
        for name in (str(folder), "owner/own"):
            CliRunner().invoke(app, [*command, name])

    assert not mark.exists()
