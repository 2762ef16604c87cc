"""rmaudit models and rmaudit models check: what is here, and what would be done."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints import bundled_model
from rmaudit.cli.list_models import explanation, meanings
from rmaudit.scores.score_store import Store
from rmaudit.scores.shard_scoring import Work
from tests.cli.running import run
from tests.hub import COMMIT, Hub, serving
from tests.toys import TEMPLATE, toy_checkpoint, toy_tokenizer

REGISTRY = "models: {A: {source: embedded, default: true}, Long-name: {source: owner/name}}"


# rmaudit models


def test_models_lists_the_file_and_marks_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line a model, in the order of the file: ./models.yaml, --file, or else rmaudit's own."""
    monkeypatch.chdir(tmp_path)
    cache = ["--cache", str(tmp_path)]
    bare = run("models", *cache).stdout.splitlines()
    (tmp_path / "models.yaml").write_text(REGISTRY)

    named = run("models", *cache, "--file", str(tmp_path / "models.yaml"))
    found = run("models", *cache)

    assert named.stdout.splitlines()[1:] == found.stdout.splitlines()[1:]
    own, theirs = found.stdout.split("rmaudit's own models.yaml:\n")
    assert [" ".join(line.split()) for line in own.splitlines()] == [
        "models.yaml:",
        "* A embedded not built yet",
        "Long-name owner/name not downloaded",
    ]
    assert "  N-Lla-8B " in theirs
    assert "*" not in theirs
    (default,) = [line.split() for line in bare if line.startswith("*")]
    assert default == ["*", "R-Smol-135M", "embedded", "not", "built", "yet"]
    assert found.exit_code == 0


def test_models_explains_the_keys() -> None:
    """As the head of models.yaml does; `--json` by key."""
    told = json.loads(run("models", "--keys", "--json").stdout)

    assert run("models", "--keys").stdout == explanation()
    assert told["base_model"] == "what it was trained from, in words"
    assert list(told) == list(meanings())


# What is here


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of each kind of source, an empty cache and an empty cache of the hub."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    (tmp_path / "models.yaml").write_text(
        "models:\n  Smol: {source: embedded, default: true}\n  Here: {source: ./run}\n"
        "  Gone: {source: ./gone}\n  Hub: {source: owner/name}\n"
        f"  Pinned: {{source: owner/name, revision: {'f' * 40}}}\n"
    )
    (tmp_path / "run").mkdir()
    return tmp_path


def places(home: Path) -> list[str]:
    """The options that name its registry and its cache."""
    return ["--file", str(home / "models.yaml"), "--cache", str(home / "cache")]


def listed(home: Path, *arguments: str) -> Any:
    """What `rmaudit models --json` says, by name."""
    result = run("models", *places(home), "--json", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    every, own = json.loads(result.stdout), str(home / "models.yaml")
    assert {one["file"] for one in every} == {own, "rmaudit's own models.yaml"}
    return {one["name"]: one for one in every if one["file"] == own}


def in_hub_cache(home: Path, name: str, *files: str) -> Path:
    """A snapshot of a hub id at COMMIT, the newest, with empty files."""
    folder = home / "hub" / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    for file in files:
        (snapshot / file).write_text("{}")
    return snapshot


def test_what_is_here_of_each(home: Path) -> None:
    """Built, a folder, one that is gone, and a hub id; nothing of the network."""
    assert {name: one["here"] for name, one in listed(home).items()} == {
        "Smol": "not built yet",
        "Here": "folder",
        "Gone": "folder missing",
        "Hub": "not downloaded",
        "Pinned": "not downloaded",
    }
    bundled_model.folder_in(home / "cache").mkdir(parents=True)
    in_hub_cache(home, "owner/name", "config.json", "model.safetensors")

    found = listed(home)

    assert (found["Smol"]["here"], found["Hub"]["here"]) == ("built", "downloaded")
    assert found["Pinned"]["here"] == "not downloaded"  # another commit
    assert found["Pinned"]["revision"] == "f" * 40


@pytest.mark.parametrize(
    "files",
    [
        ["config.json"],
        ["model.safetensors"],
        ["config.json", "model-1.safetensors", "model.safetensors.index.json"],
    ],
    ids=["no weights", "no config", "a shard is missing"],
)
def test_half_a_download_is_none(home: Path, files: list[str]) -> None:
    """As an interrupted one leaves it."""
    snapshot = in_hub_cache(home, "owner/name", *files)
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    if "model.safetensors.index.json" in files:
        (snapshot / "model.safetensors.index.json").write_text(json.dumps(index))

    assert listed(home)["Hub"]["here"] == "not downloaded"


def test_sweeps_are_counted(home: Path) -> None:
    """Of each source, and whether published scores are there."""
    store, score = Store(home / "cache"), np.ones(2, dtype=np.float32)
    tokens = pd.DataFrame({"token_id": np.arange(2, dtype=np.int32)})
    published = {"recorded": "published scores", "model": "owner/name"}
    for fields, source in [
        ({"prompt": "best"}, "owner/name"),
        ({"prompt": "worst"}, "owner/name"),
        ({"prompt": "best", "weights": "other"}, "embedded"),
        (published, "published scores of"),
    ]:
        work = Work(fields, tokens, lambda which: score[which], lambda at=source: {"source": at})
        store.complete(work)

    counted = {name: (one["sweeps"], one["recorded"]) for name, one in listed(home).items()}
    lines = run("models", *places(home)).stdout.splitlines()

    assert counted["Hub"] == counted["Pinned"] == (2, 1)
    assert (counted["Smol"], counted["Here"]) == ((1, 0), (0, 0))
    (smol,) = [line for line in lines if line.startswith("* Smol ")]
    assert smol.endswith("  not built yet, 1 sweep")
    assert any(line.endswith("  not downloaded, 2 sweeps, recorded") for line in lines)


# rmaudit models check


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain checkpoint."""
    return toy_checkpoint(tmp_path_factory.mktemp("check") / "toy")


def checked(*arguments: str) -> tuple[int, list[str]]:
    """The exit code, and the lines."""
    result = run("models", "check", *arguments)
    return result.exit_code, result.stdout.splitlines()


def test_check_says_what_would_be_done(toy: Path) -> None:
    """Every line of a plain model, and how to audit it."""
    code, lines = checked(str(toy))

    size = sum(tensor.nbytes for tensor in load_file(toy / "model.safetensors").values())
    tokens = len(toy_tokenizer())
    said = {line[:15].strip(): line[17:] for line in lines[1:]}
    assert (code, lines[0]) == (0, f"toy: {toy}")
    assert "What, in one word, is the greatest thing ever?" in said.pop("prefix")
    assert said == {
        "architecture": "LlamaForSequenceClassification, model_type llama",
        "weights": f"{size / 1e3:,.2f} kB in 21 tensors of F32",
        "head": "linear: score.weight (1, 32)",
        "pool": "rightmost id but 0",
        "dtype": "float32",
        "path": "shared prefix",
        "vocabulary": f"{tokens} ids in the tokenizer, {tokens} rows; {tokens} are scored",
        "template": "prints no date",
        "suffix": "1 ids: '<|end|>'",
        "can be scored": f"pytest audits --model {toy}",
        "not looked at": f"the numbers of its weights; `rmaudit models check {toy} --weights` "
        f"looks for NaN among them, `rmaudit doctor {toy}` runs them",
    }


@pytest.mark.slow
def test_check_of_weights_finds_what_is_no_number(toy: Path, tmp_path: Path) -> None:
    """By its name in the file, in whichever shard it is; without --weights nothing is read."""
    model = AutoModelForSequenceClassification.from_pretrained(toy)
    model.score.weight.data[0, 3] = torch.nan
    model.save_pretrained(shutil.copytree(toy, tmp_path / "odd"), max_shard_size="20KB")
    (tmp_path / "odd" / "model.safetensors").unlink()

    fine, numbers = checked(str(toy), "--weights")
    unread, _ = checked(str(tmp_path / "odd"))
    refused, lines = checked(str(tmp_path / "odd"), "--weights")

    assert (fine, unread, refused) == (0, 0, 1)
    assert "  numbers        all finite in model.safetensors" in numbers
    (said,) = [line for line in lines if line.startswith("  refused")]
    assert re.search(r"'score\.weight' in model-0000\d-of-0000\d\.safetensors holds NaN", said)
    assert not any("can be scored" in line for line in lines)


def test_check_of_several_is_refused_if_one_is(toy: Path, tmp_path: Path) -> None:
    """Each is told, as lines and as the same in JSON; exit code 1."""
    path = tmp_path / "models.yaml"
    path.write_text(f"models:\n  A: {{source: {toy}, default: true}}\n  B: {{source: ./b}}\n")
    tensors = load_file(shutil.copytree(toy, tmp_path / "b") / "model.safetensors")
    del tensors["score.weight"]
    save_file(tensors, tmp_path / "b" / "model.safetensors", {"format": "pt"})

    code, lines = checked("*", "--file", str(path))
    result = run("models", "--file", str(path), "check", "*", "--json")

    whole, headless = json.loads(result.stdout)
    said = {line["what"]: line["said"] for line in whole["found"]}
    assert (whole["name"], whole["source"]) == ("A", str(toy))
    assert said["head"] == "linear: score.weight (1, 32)"
    assert said["can be scored"] == "pytest audits --model A"
    assert headless["found"][-1]["what"] == "refused"
    assert "score.weight" in headless["found"][-1]["said"]
    assert (code, result.exit_code, result.stderr) == (1, 1, "")
    printed = [f"  {one['what']:<13}  {one['said']}" for one in whole["found"]]
    assert lines[: len(printed) + 2] == [f"A: {toy}", *printed, f"B: {tmp_path / 'b'}"]


def test_check_says_a_command_that_works(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what was typed, in quotes if need be; by its name if the registry has it."""
    shutil.copytree(toy, tmp_path / "my model")
    (tmp_path / "models.yaml").write_text("models:\n  A: {source: ./my model, default: true}\n")
    monkeypatch.chdir(tmp_path)

    typed, named = checked("./my model")[1][-2:], checked("*")[1][-2:]

    assert typed[0] == "  can be scored  pytest audits --model './my model'"
    assert named[0] == "  can be scored  pytest audits --model A"
    assert "`rmaudit doctor './my model'` runs them" in typed[1]
    assert "`rmaudit doctor A` runs them" in named[1]


@pytest.mark.parametrize(
    ("option", "instead"),
    [("--json", "after `check`"), ("--keys", "out of `check`")],
)
def test_check_has_no_options_of_the_list(toy: Path, option: str, instead: str) -> None:
    """They would be left out without a word."""
    result = run("models", option, "check", str(toy))

    assert (result.exit_code, result.stdout) == (4, "")
    assert option in result.stderr
    assert instead in result.stderr


def test_check_reads_no_weights(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub id is checked by its small files and the start of the others."""
    for path in toy.iterdir():
        shutil.copy(path, tmp_path)
    with serving(Hub({"owner/toy": tmp_path}), tmp_path / "hub", monkeypatch) as hub:
        code, lines = checked("owner/toy")

    assert code == 0
    assert f"  revision       {COMMIT} (the newest, not pinned)" in lines
    assert "  head           linear: score.weight (1, 32)" in lines
    assert not list((tmp_path / "hub").rglob("*.safetensors"))
    assert hub.served["model.safetensors"] <= 100_001


def test_check_says_that_a_date_is_printed(toy: Path, tmp_path: Path) -> None:
    """And pinned, or scores would age."""
    folder = shutil.copytree(toy, tmp_path / "dated")
    template = "{{- 'Today: ' + strftime_now('%d %b %Y') -}}" + TEMPLATE
    (folder / "chat_template.jinja").write_text(template)

    _, lines = checked(str(folder))

    assert "  template       prints a date, pinned to 26 Jul 2024" in lines


def test_check_does_not_build_the_embedded_model(home: Path) -> None:
    """That takes a download; it says so."""
    code, lines = checked("Smol", *places(home))

    assert code == 0
    assert lines[1].startswith("  weights        not built yet; ")
    assert not (home / "cache").exists()


@pytest.mark.parametrize("command", ["models", "models check X", "data import ."])
def test_a_url_is_no_folder(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a folder is needed: said in a line, and none called `s3:` is made."""
    monkeypatch.chdir(tmp_path)

    told = run(*command.split(), "--cache", "s3://bucket/x")

    assert told.exit_code == 4
    assert told.stderr == (
        "--cache: a URL, and this command needs a folder; give one, or leave it out\n"
    )
    assert list(tmp_path.iterdir()) == []
