"""A checkpoint is the same one exactly while its bytes are, and hashes are remembered safely."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from rmaudit.checkpoints import file_hashes, process_locks
from rmaudit.errors import ModelError

Patch = pytest.MonkeyPatch

WEIGHTS = bytes(range(48))
ONE, TWO = "model-1-of-2.safetensors", "model-2-of-2.safetensors"
TOKENIZER = (
    *("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "spm.model"),
    *("added_tokens.json", "special_tokens_map.json", "vocab.json", "vocab.txt", "merges.txt"),
)
SMALL = ["config.json", "model.safetensors.index.json"]
Identity = Callable[[Path, Path], str]


def weights_identity(folder: Path, cache: Path) -> str:
    """Of the weights, by hashes in the cache."""
    return file_hashes.identity(file_hashes.config_and_weights_files(folder), cache)


def tokenizer_identity(folder: Path, cache: Path) -> str:
    """Of the tokenizer."""
    return file_hashes.identity(file_hashes.tokenizer_files(folder), cache)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint folder as far as hashing is concerned."""
    path = tmp_path / "toy"
    path.mkdir()
    (path / "config.json").write_bytes(b'{"pad_token_id": 0}')
    (path / ONE).write_bytes(WEIGHTS)
    (path / TWO).write_bytes(WEIGHTS[::-1])
    index(path, ONE, TWO)
    for name in TOKENIZER:
        (path / name).write_text(name)
    return path


def index(folder: Path, *names: str) -> None:
    """Name the files with the weights."""
    named = {"weight_map": {f"tensor {i}": name for i, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(named))


@pytest.fixture
def hashed(monkeypatch: Patch) -> list[str]:
    """The names of the files that are hashed from now on."""
    names: list[str] = []
    real = hashlib.file_digest

    def note(file: object, digest: str) -> object:
        names.append(Path(file.name).name)  # type: ignore[attr-defined]
        return real(file, digest)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", note)
    return names


def flip(path: Path, place: int = 0) -> None:
    """Change one bit in place and put the modification time back, as tar and rsync do."""
    stat, data = path.stat(), bytearray(path.read_bytes())
    data[place] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


# What an identity depends on


@pytest.mark.parametrize("name", ["config.json", ONE, TWO])
def test_every_byte_of_the_weights_counts(folder: Path, tmp_path: Path, name: str) -> None:
    """One flipped bit makes other weights, even under the old size and modification time."""
    before = weights_identity(folder, tmp_path)
    seen = {before}
    places = range((folder / name).stat().st_size)

    for place in places:
        flip(folder / name, place)
        seen.add(weights_identity(folder, tmp_path))
        flip(folder / name, place)

    assert len(seen) == 1 + len(places)
    assert weights_identity(folder, tmp_path / "another cache") == before


def test_the_index_decides_what_is_read(folder: Path, tmp_path: Path) -> None:
    """Which files, and for a tensor in both files which of them; a file beside them is no part.

    Two files that change places are others, too.
    """
    seen = [weights_identity(folder, tmp_path)]
    (folder / "model-3.safetensors").write_bytes(b"")
    assert weights_identity(folder, tmp_path) == seen[0]
    for names in ((ONE,), (TWO,), (TWO, ONE), (ONE, TWO, "model-3.safetensors")):
        index(folder, *names)
        seen.append(weights_identity(folder, tmp_path))
    index(folder, ONE, TWO)
    for name, content in ((ONE, WEIGHTS[::-1]), (TWO, WEIGHTS)):
        (folder / name).write_bytes(content)
    seen.append(weights_identity(folder, tmp_path))

    assert len(set(seen)) == 6


@pytest.mark.parametrize("name", TOKENIZER)
def test_every_tokenizer_file_counts(folder: Path, tmp_path: Path, name: str) -> None:
    """A change in any of them makes another tokenizer and leaves the weights alone."""
    tokenizer, weights = tokenizer_identity(folder, tmp_path), weights_identity(folder, tmp_path)
    flip(folder / name)

    assert tokenizer_identity(folder, tmp_path) != tokenizer
    assert weights_identity(folder, tmp_path) == weights


@pytest.mark.parametrize("identity", [weights_identity, tokenizer_identity])
def test_paths_times_and_others_do_not_count(
    folder: Path, tmp_path: Path, identity: Identity
) -> None:
    """A copy elsewhere, with a README and a training log, is the same checkpoint."""
    before = identity(folder, tmp_path)
    copied = shutil.copytree(folder, tmp_path / "elsewhere" / "renamed")
    for name in ("README.md", "trainer_state.json", "training_args.bin", "chat_template.jinja"):
        (copied / name).write_text("new")
    for path in copied.iterdir():
        os.utime(path, ns=(1, 1))

    assert identity(copied, tmp_path) == before
    assert len(before) == 64


# The memo


def test_a_file_is_hashed_anew_if_touched(folder: Path, tmp_path: Path, hashed: list[str]) -> None:
    """Weights and tokenizer share the memo; another time is reason to look again, of that file."""
    first = weights_identity(folder, tmp_path), tokenizer_identity(folder, tmp_path)
    assert sorted(hashed) == sorted([*SMALL, ONE, TWO, *TOKENIZER])
    hashed.clear()

    os.utime(folder / TWO, ns=(1, 1))

    assert (weights_identity(folder, tmp_path), tokenizer_identity(folder, tmp_path)) == first
    assert hashed == [TWO]
    memo = json.loads((tmp_path / "hashes.json").read_bytes())
    assert len(memo) == 4 + len(TOKENIZER)  # what was outdated is gone
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"null", b"\xff", b'"text"', b"[" * 10**5], ids=range(7)
)
def test_a_damaged_memo(folder: Path, tmp_path: Path, hashed: list[str], content: bytes) -> None:
    """A memo that cannot be read is as good as none."""
    before = weights_identity(folder, tmp_path)
    hashed.clear()
    (tmp_path / "hashes.json").write_bytes(content)

    assert weights_identity(folder, tmp_path) == before
    memo = json.loads((tmp_path / "hashes.json").read_bytes())
    (tmp_path / "hashes.json").write_text(json.dumps(dict.fromkeys(memo, "no hash")))
    hashed.clear()
    assert weights_identity(folder, tmp_path) == before
    assert len(hashed) == len(json.loads((tmp_path / "hashes.json").read_bytes())) == 4


def test_a_cache_that_cannot_be_written_costs_time_only(folder: Path, tmp_path: Path) -> None:
    """Such as one that is a file."""
    (tmp_path / "file").write_text("")

    assert weights_identity(folder, tmp_path / "file") == weights_identity(folder, tmp_path)


def test_a_wait_is_told(
    tmp_path: Path, monkeypatch: Patch, capfd: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with the lock that is held; then the wait goes on until it is free."""
    monkeypatch.setattr(process_locks, "_PATIENCE", 0.01)
    code = "from pathlib import Path; from rmaudit.checkpoints import process_locks; import sys\n"
    code += (
        "process_locks._PATIENCE = 0.01\n"
        "with process_locks.held(Path(sys.argv[1]), doing='busy'): print('mine')"
    )
    lock = FileLock(f"{tmp_path / 'memo'}.lock")
    with lock, subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "memo")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stderr
        assert other.stdout
        told = other.stderr.readline()
        lock.release()
        assert other.stdout.read() == "mine\n"

    assert "waiting" in told
    assert "busy" in told
    assert str(tmp_path / "memo.lock") in told


def test_a_long_hash_is_announced(
    folder: Path,
    tmp_path: Path,
    monkeypatch: Patch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On stderr, with the folder; nothing is said of what is remembered, or of a short one."""
    monkeypatch.setattr(file_hashes, "_LONG", 2 * len(WEIGHTS))
    for _ in range(2):
        weights_identity(folder, tmp_path)
    (folder / "config.json").write_bytes(b"{}")
    weights_identity(folder, tmp_path)

    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("rmaudit: hashing")
    assert str(folder) in told


@pytest.mark.slow
def test_ctrl_c_reads_no_file_to_its_end(folder: Path, tmp_path: Path) -> None:
    """Of a terabyte, which takes minutes at the least; nothing is written down of it."""
    with (folder / ONE).open("wb") as file:
        file.truncate(1 << 40)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()

    with pytest.raises(KeyboardInterrupt):
        weights_identity(folder, tmp_path)

    assert not (tmp_path / "hashes.json").exists()


# What is loaded is what was hashed


def test_before_the_load_the_bytes_decide(folder: Path, tmp_path: Path) -> None:
    """A hard link, or a copy of the same, is no change; other bytes and no bytes are one."""
    before = file_hashes.hashes(file_hashes.config_and_weights_files(folder), tmp_path)
    os.link(folder / ONE, tmp_path / "link")
    shutil.copy(folder / TWO, tmp_path / "same")
    (tmp_path / "same").rename(folder / TWO)
    file_hashes.renewed(before, tmp_path, model="toy")

    flip(folder / TWO)
    with pytest.raises(ModelError, match=rf"toy: .*{TWO} changed since it was"):
        file_hashes.renewed(before, tmp_path, model="toy")
    (folder / TWO).unlink()
    with pytest.raises(ModelError, match=rf"{TWO} is gone"):
        file_hashes.renewed(before, tmp_path, model="toy")


def test_after_the_load_any_touch_decides(folder: Path, tmp_path: Path, hashed: list[str]) -> None:
    """Whoever wrote may have put the old bytes back, and their time; nothing is hashed for it."""
    files = file_hashes.config_and_weights_files(folder)
    before, states = file_hashes.hashes(files, tmp_path), file_hashes.states(files)
    hashed.clear()
    file_hashes.refuse_changed(states, model="toy")

    flip(folder / TWO)
    flip(folder / TWO)
    with pytest.raises(ModelError, match=rf"toy: .*{TWO} changed since it was"):
        file_hashes.refuse_changed(states, model="toy")
    assert not hashed

    again = file_hashes.renewed(before, tmp_path, model="toy")
    os.link(folder / ONE, tmp_path / "link")  # as `rmaudit mend` makes them
    file_hashes.refuse_changed(again, model="toy")
    os.link(folder / TWO, tmp_path / "other")
    (folder / TWO).write_bytes((folder / TWO).read_bytes())
    with pytest.raises(ModelError, match=rf"{TWO} changed since it was"):
        file_hashes.refuse_changed(again, model="toy")
    again = file_hashes.renewed(before, tmp_path, model="toy")
    (folder / TWO).unlink()
    with pytest.raises(ModelError, match=rf"{TWO} is gone"):
        file_hashes.refuse_changed(again, model="toy")


# The hub's cache


@pytest.mark.parametrize("when", ["before the link", "after the link"])
def test_a_blob_of_other_bytes_than_its_name_says(folder: Path, tmp_path: Path, when: str) -> None:
    """The hub's cache links to a blob named by its sha256, which is a lie once it was changed.

    No time tells: of an unpacked tar all are those of unpacking.
    """
    before = weights_identity(folder, tmp_path)
    blob = (folder / TWO).rename(tmp_path / hashlib.sha256((folder / TWO).read_bytes()).hexdigest())
    (folder / TWO).symlink_to(blob)
    assert weights_identity(folder, tmp_path) == before
    flip(blob, 7)
    if when == "before the link":
        (folder / TWO).unlink()
        (folder / TWO).symlink_to(blob)

    assert weights_identity(folder, tmp_path) != before
