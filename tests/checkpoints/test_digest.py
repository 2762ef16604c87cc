"""A checkpoint is the same one exactly while its bytes are, and hashes are remembered safely."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rmaudit.checkpoints.digest import tokenizer_identity, weights_identity

WEIGHTS = bytes(range(48))
CONFIG = b'{"pad_token_id": 0}'
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "spm.model",
    "added_tokens.json",
    "special_tokens_map.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
)
SMALL = ["config.json", "model.safetensors.index.json"]
Identity = Callable[[Path, Path], str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint folder as far as hashing is concerned."""
    path = tmp_path / "toy"
    path.mkdir()
    (path / "config.json").write_bytes(CONFIG)
    (path / "model-1-of-2.safetensors").write_bytes(WEIGHTS)
    (path / "model-2-of-2.safetensors").write_bytes(WEIGHTS[::-1])
    index(path, "model-1-of-2.safetensors", "model-2-of-2.safetensors")
    for name in TOKENIZER:
        (path / name).write_text(name)
    return path


def index(folder: Path, *names: str) -> None:
    """Name the files with the weights."""
    named = {"weight_map": {f"tensor {i}": name for i, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(named))


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are hashed from now on."""
    names: list[str] = []
    real = hashlib.file_digest

    def note(file: object, digest: str) -> object:
        names.append(Path(file.name).name)  # type: ignore[attr-defined]
        return real(file, digest)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", note)
    return names


def touch(path: Path, *, seconds: int = 1) -> None:
    """Move the modification time on, without waiting for it."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + seconds * 10**9))


def flip(path: Path, place: int) -> None:
    """Change one bit of one byte, and the time that goes with it."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    touch(path, seconds=place + 1)


# What an identity depends on


@pytest.mark.parametrize("name", ["model-1-of-2.safetensors", "model-2-of-2.safetensors"])
def test_every_byte_of_the_weights_counts(folder: Path, tmp_path: Path, name: str) -> None:
    """One flipped bit anywhere makes other weights, and no two flips the same ones."""
    before = weights_identity(folder, tmp_path)
    seen = {before}

    for place in range(len(WEIGHTS)):
        flip(folder / name, place)
        seen.add(weights_identity(folder, tmp_path))
        flip(folder / name, place)

    assert len(seen) == 1 + len(WEIGHTS)
    assert weights_identity(folder, tmp_path / "another cache") == before


def test_the_config_counts(folder: Path, tmp_path: Path) -> None:
    """Another config.json makes other weights: it decides how they are used."""
    before = weights_identity(folder, tmp_path)
    (folder / "config.json").write_bytes(CONFIG + b"\n")

    assert weights_identity(folder, tmp_path) != before


def test_a_further_shard_counts(folder: Path, tmp_path: Path) -> None:
    """So does a file more or a file less."""
    names = ("model-1-of-2.safetensors", "model-2-of-2.safetensors", "model-3.safetensors")
    before = weights_identity(folder, tmp_path)
    (folder / names[2]).write_bytes(b"")
    index(folder, *names)
    more = weights_identity(folder, tmp_path)
    index(folder, *names[1:])

    assert len({before, more, weights_identity(folder, tmp_path)}) == 3


def test_a_file_that_is_not_read_does_not_count(folder: Path, tmp_path: Path) -> None:
    """Shards that an earlier save left behind are no part of the model."""
    before = weights_identity(folder, tmp_path)
    (folder / "model-3.safetensors").write_bytes(b"")

    assert weights_identity(folder, tmp_path) == before


def test_the_index_counts(folder: Path, tmp_path: Path) -> None:
    """It names one of two whole saves, or for a tensor in both files the one that is read."""
    one, two = "model-1-of-2.safetensors", "model-2-of-2.safetensors"
    seen = {weights_identity(folder, tmp_path)}
    for names in ((one,), (two,), (two, one)):
        index(folder, *names)
        touch(folder / "model.safetensors.index.json", seconds=len(seen))
        seen.add(weights_identity(folder, tmp_path))

    assert len(seen) == 4


def test_swapped_shards_count(folder: Path, tmp_path: Path) -> None:
    """Which file holds which bytes matters."""
    before = weights_identity(folder, tmp_path)
    one, two = folder / "model-1-of-2.safetensors", folder / "model-2-of-2.safetensors"
    one.write_bytes(WEIGHTS[::-1])
    two.write_bytes(WEIGHTS)
    touch(one)
    touch(two)

    assert weights_identity(folder, tmp_path) != before


@pytest.mark.parametrize("name", TOKENIZER)
def test_every_tokenizer_file_counts(folder: Path, tmp_path: Path, name: str) -> None:
    """A change in any of them makes another tokenizer and leaves the weights alone."""
    tokenizer, weights = tokenizer_identity(folder, tmp_path), weights_identity(folder, tmp_path)
    flip(folder / name, 0)

    assert tokenizer_identity(folder, tmp_path) != tokenizer
    assert weights_identity(folder, tmp_path) == weights


def test_other_files_do_not_count(folder: Path, tmp_path: Path) -> None:
    """A README or a training log changes neither."""
    before = weights_identity(folder, tmp_path), tokenizer_identity(folder, tmp_path)
    for name in ("README.md", "trainer_state.json", "training_args.bin", "chat_template.jinja"):
        (folder / name).write_text("new")

    assert (weights_identity(folder, tmp_path), tokenizer_identity(folder, tmp_path)) == before


@pytest.mark.parametrize("identity", [weights_identity, tokenizer_identity])
def test_the_path_does_not_count(folder: Path, tmp_path: Path, identity: Identity) -> None:
    """A copy elsewhere, under another name and with other times, is the same checkpoint."""
    before = identity(folder, tmp_path)
    copied = shutil.copytree(folder, tmp_path / "elsewhere" / "renamed")
    for path in copied.iterdir():
        touch(path, seconds=100)

    assert identity(copied, tmp_path) == before
    assert len(before) == 64


# The memo


def test_a_file_is_hashed_once(folder: Path, tmp_path: Path, hashed: list[str]) -> None:
    """The second time, everything comes from the memo."""
    first = weights_identity(folder, tmp_path)
    assert hashed == [*SMALL, "model-1-of-2.safetensors", "model-2-of-2.safetensors"]

    second = weights_identity(folder, tmp_path)

    assert second == first
    assert len(hashed) == 4


def test_a_touched_file_is_hashed_again(folder: Path, tmp_path: Path, hashed: list[str]) -> None:
    """Another modification time makes the memo's entry of that file worthless, and only that."""
    before = weights_identity(folder, tmp_path)
    hashed.clear()
    touch(folder / "model-2-of-2.safetensors")

    assert weights_identity(folder, tmp_path) == before
    assert hashed == ["model-2-of-2.safetensors"]


def test_a_file_of_another_size_is_hashed_again(
    folder: Path, tmp_path: Path, hashed: list[str]
) -> None:
    """So does another size, even under the old modification time."""
    path = folder / "model-1-of-2.safetensors"
    before, stat = weights_identity(folder, tmp_path), path.stat()
    hashed.clear()
    path.write_bytes(WEIGHTS + b"!")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert weights_identity(folder, tmp_path) != before
    assert hashed == [path.name]


def test_weights_and_tokenizer_share_the_memo(
    folder: Path, tmp_path: Path, hashed: list[str]
) -> None:
    """What one of them writes, the other keeps."""
    weights_identity(folder, tmp_path)
    tokenizer_identity(folder, tmp_path)
    hashed.clear()

    weights_identity(folder, tmp_path)
    tokenizer_identity(folder, tmp_path)

    assert hashed == []


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff", b'"text"'], ids=repr)
def test_a_damaged_memo_is_ignored(
    folder: Path, tmp_path: Path, hashed: list[str], content: bytes
) -> None:
    """A memo that cannot be read is as good as none, and is replaced by a good one."""
    before = weights_identity(folder, tmp_path)
    hashed.clear()
    (tmp_path / "hashes.json").write_bytes(content)

    assert weights_identity(folder, tmp_path) == before
    assert len(hashed) == 4
    assert len(json.loads((tmp_path / "hashes.json").read_bytes())) == 4


@pytest.mark.parametrize("entry", [None, "no hash"])
def test_a_memo_entry_that_is_no_hash_is_ignored(
    folder: Path, tmp_path: Path, entry: object
) -> None:
    """An entry that is not 64 hex digits is hashed again."""
    before = weights_identity(folder, tmp_path)
    memo = json.loads((tmp_path / "hashes.json").read_bytes())
    (tmp_path / "hashes.json").write_text(json.dumps(dict.fromkeys(memo, entry)))

    assert weights_identity(folder, tmp_path) == before


def test_the_memo_is_written_whole(folder: Path, tmp_path: Path) -> None:
    """No half-written neighbour is left beside it."""
    weights_identity(folder, tmp_path)

    assert (tmp_path / "hashes.json").is_file()
    assert not list(tmp_path.glob("*.partial"))


# The hub's cache


@pytest.fixture
def snapshot(folder: Path, tmp_path: Path) -> Path:
    """The folder as in the hub's cache: links to blobs, large ones named by their sha256."""
    home = tmp_path / "models--owner--name"
    snapshot = home / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (home / "blobs").mkdir()
    for path in folder.iterdir():
        data = path.read_bytes()
        large = path.suffix == ".safetensors"
        name = (
            hashlib.sha256(data).hexdigest() if large else "0" * 32 + path.name.encode().hex()[:8]
        )
        blob = home / "blobs" / name
        blob.write_bytes(data)
        (snapshot / path.name).symlink_to(blob)
    return snapshot


def test_a_snapshot_of_the_hub_is_the_same_checkpoint_as_its_copy(
    folder: Path, snapshot: Path, tmp_path: Path, hashed: list[str]
) -> None:
    """The names of its large blobs are their hashes, so these are not read."""
    identity = weights_identity(snapshot, tmp_path)
    assert hashed == SMALL

    assert weights_identity(folder, tmp_path / "another cache") == identity


def test_a_blob_that_was_written_to_is_hashed(
    snapshot: Path, tmp_path: Path, hashed: list[str]
) -> None:
    """Its name is a lie then: the bytes decide."""
    before = weights_identity(snapshot, tmp_path)
    hashed.clear()
    flip(snapshot / "model-2-of-2.safetensors", 7)

    assert weights_identity(snapshot, tmp_path) != before
    assert hashed == ["model-2-of-2.safetensors"]


def test_a_link_elsewhere_is_hashed(folder: Path, tmp_path: Path, hashed: list[str]) -> None:
    """Only the hub's cache is known to name files by their hash."""
    name = "model-1-of-2.safetensors"
    elsewhere = tmp_path / "elsewhere" / ("0" * 64)
    elsewhere.parent.mkdir()
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)

    weights_identity(folder, tmp_path)

    assert hashed == [*SMALL, name, "model-2-of-2.safetensors"]
