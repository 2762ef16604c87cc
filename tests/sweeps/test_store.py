"""Scores are stored once, read back only if they are whole, and resumed where a run broke off."""

from __future__ import annotations

import shutil
import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from rmaudit.errors import StoreError
from rmaudit.sweeps import store
from rmaudit.sweeps.store import Store, Stored, key_of

FIELDS = {"weights": "0a", "prompt": "What is best?", "dtype": "float32"}
KEY = key_of(FIELDS)
ROWS = pd.DataFrame(
    {
        "token_id": np.arange(10, dtype=np.int32),
        "token": ["<s>", "a", "Ġa", "", " ", "é", "\ufffd", "\n", '"', "日本"],
        "text": ["<s>", "a", " a", "", " ", "é", "\ufffd", "\n", '"', "\u65e5\u672c"],
    }
)
SCORES = np.array([0.1, -2.5, 0, 7e-8, -3e8, 1, 1, 2, 3, 4.5], dtype=np.float32)
PROVENANCE = {"torch": "2.13.0", "layers": 2}
Score = Callable[[slice], NDArray[np.float32]]


class Model:
    """A score function that remembers what it was asked, and breaks off when told to."""

    def __init__(
        self, *, breaks_at: int | None = None, error: type[BaseException] = RuntimeError
    ) -> None:
        self.breaks_at, self.error = breaks_at, error
        self.asked: list[tuple[int, int]] = []

    def __call__(self, which: slice) -> NDArray[np.float32]:
        """The scores of a slice."""
        if which.start == self.breaks_at:
            raise self.error
        self.asked.append((which.start, which.stop))
        return SCORES[which]


def never(_: slice) -> NDArray[np.float32]:
    """A score function that must not be called."""
    raise AssertionError("scored again")


def fill(root: Path, score: Score, *, fields: Mapping[str, str] = FIELDS) -> Stored:
    """The scores of ROWS in the store below `root`."""
    return Store(root).fill(fields, ROWS, score, lambda: PROVENANCE)


def path_of(root: Path, key: str = KEY) -> Path:
    """The file of a key."""
    return root / "scores" / f"{key}.parquet"


def assert_right(stored: Stored) -> None:
    """All rows, all scores, all fields, of the right types."""
    pd.testing.assert_frame_equal(stored.frame, ROWS.assign(score=SCORES))
    assert stored.key == KEY
    assert stored.fields == FIELDS
    assert stored.provenance == PROVENANCE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A cache folder that is not there yet."""
    return tmp_path / "cache"


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows make three shards."""
    monkeypatch.setattr(store, "SHARD", 4)


@pytest.fixture
def whole(root: Path) -> bytes:
    """The bytes of a stored file, which lies in its place."""
    fill(root, Model())
    return path_of(root).read_bytes()


# The round trip


def test_what_is_stored_comes_back(root: Path) -> None:
    """Made, filled again and read: three times the same frame, fields and provenance."""
    made = fill(root, Model())
    again = fill(root, never)
    read = Store(root).read(KEY)

    assert read is not None
    for stored in (made, again, read):
        assert_right(stored)


def test_an_unknown_key_is_none_and_makes_no_folder(root: Path) -> None:
    """Reading writes nothing."""
    assert Store(root).read(KEY) is None
    assert not root.exists()


def test_all_rows_are_scored_shard_by_shard(root: Path, small_shards: None) -> None:
    """Shards follow each other without a gap; the last one is shorter."""
    model = Model()

    stored = fill(root, model)

    assert model.asked == [(0, 4), (4, 8), (8, 10)]
    assert_right(stored)


def test_nothing_is_left_beside_the_file(root: Path, small_shards: None) -> None:
    """When a file is whole its shards are gone, and there is no half-written neighbour."""
    fill(root, Model())

    assert {path.suffix for path in (root / "scores").iterdir()} <= {".parquet", ".lock"}


def test_no_rows_are_no_scores(root: Path) -> None:
    """An empty list of answers is stored and read back like any other."""
    rows = ROWS.head(0)

    made = Store(root).fill(FIELDS, rows, never, dict)
    read = Store(root).fill(FIELDS, rows, never, dict)

    assert len(made.frame) == len(read.frame) == 0
    assert made.frame["score"].dtype == read.frame["score"].dtype == np.float32


def test_rows_keep_their_order_whatever_their_index(root: Path) -> None:
    """Only the position of a row counts."""
    shuffled = ROWS.set_axis([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], axis=0)

    assert_right(Store(root).fill(FIELDS, shuffled, Model(), lambda: PROVENANCE))


def test_scores_are_kept_as_float32(root: Path) -> None:
    """Wider scores are narrowed before anyone sees them, so a second run sees the same."""
    stored = fill(root, lambda which: SCORES[which].astype(np.float64))

    assert_right(stored)


def test_equal_runs_write_equal_bytes(root: Path, tmp_path: Path) -> None:
    """The file is a function of what it holds."""
    fill(root, Model())
    fill(tmp_path / "other", Model())

    assert path_of(root).read_bytes() == path_of(tmp_path / "other").read_bytes()


def test_provenance_is_asked_for_only_when_scores_are_made(root: Path) -> None:
    """It is asked once, after scoring, and comes from the file from then on."""
    order: list[str] = []

    def score(which: slice) -> NDArray[np.float32]:
        order.append("score")
        return SCORES[which]

    def provenance() -> Mapping[str, Any]:
        order.append("provenance")
        return PROVENANCE

    for _ in range(2):
        Store(root).fill(FIELDS, ROWS, score, provenance)

    assert order == ["score", "provenance"]


# The key


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_counts(root: Path, field: str) -> None:
    """Another value of any field is another key, and its scores are made anew."""
    fill(root, Model())
    model = Model()

    stored = fill(root, model, fields=FIELDS | {field: FIELDS[field] + "!"})

    assert stored.key != KEY
    assert model.asked


def test_names_of_fields_count_and_their_order_does_not() -> None:
    """A field more or less, or under another name, is another key."""
    fewer = {name: value for name, value in FIELDS.items() if name != "dtype"}
    renamed = fewer | {"type": "float32"}
    swapped = FIELDS | {"weights": FIELDS["dtype"], "dtype": FIELDS["weights"]}

    assert len({KEY, key_of(fewer), key_of(renamed), key_of(swapped)}) == 4
    assert key_of(dict(reversed(FIELDS.items()))) == KEY
    assert len(KEY) == 64


# Damage


def read_damaged(root: Path, content: bytes) -> tuple[Stored | None, list[str]]:
    """What a file with this content is read as, and the warnings that this gives."""
    path_of(root).write_bytes(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stored = Store(root).read(KEY)
    return stored, [str(warning.message) for warning in caught]


def assert_redone(root: Path, warned: list[str], damaged: bytes, whole: bytes) -> None:
    """One warning, the damaged file kept aside, and the same good file made again."""
    path = path_of(root)
    assert len(warned) == 1
    assert warned[0].startswith(f"{path}: it")
    assert warned[0].endswith(f"; moved to {KEY}.damaged and redone")
    assert not path.exists()
    assert path.with_suffix(".damaged").read_bytes() == damaged
    model = Model()
    assert_right(fill(root, model))
    assert model.asked == [(0, 10)]
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept", [0, 1, 4, 0.3, 0.5, 0.9, -8, -1])
def test_a_truncated_file_is_set_aside_and_redone(root: Path, whole: bytes, kept: float) -> None:
    """A file of any shorter length, the empty one included, is never used."""
    content = whole[: int(kept * len(whole)) if 0 < kept < 1 else int(kept)]

    stored, warned = read_damaged(root, content)

    assert stored is None
    assert_redone(root, warned, content, whole)


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF], ids=hex)
def test_a_flipped_byte_never_gives_another_score(root: Path, whole: bytes, mask: int) -> None:
    """Wherever a byte is flipped, the file is set aside or reads exactly as before."""
    set_aside = 0
    places = range(0, len(whole), 7)
    for place in places:
        content = bytearray(whole)
        content[place] ^= mask

        stored, warned = read_damaged(root, bytes(content))

        if stored is None:
            set_aside += 1
            assert len(warned) == 1
        else:
            assert warned == []
            pd.testing.assert_frame_equal(stored.frame, ROWS.assign(score=SCORES))
    assert set_aside > len(places) / 2


def test_a_flipped_score_is_set_aside_and_redone(root: Path, whole: bytes) -> None:
    """The same for a flip in the very numbers, to the end."""
    table = pq.read_table(path_of(root))
    changed = table.set_column(3, "score", [pd.array(SCORES + np.float32(1), dtype="float32")])
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path_of(root))
    content = path_of(root).read_bytes()

    stored, warned = read_damaged(root, content)

    assert stored is None
    assert "its checksum or key is not its own" in warned[0]
    assert_redone(root, warned, content, whole)


@pytest.mark.parametrize(
    ("found", "planted"),
    [
        (b'"torch": "2.13.0"', b'"torch": "9.99.0"'),
        (b'"fields": {', b'"fielbs": {'),
    ],
    ids=["provenance", "name of the fields"],
)
def test_a_flip_in_the_metadata_is_set_aside(
    root: Path, whole: bytes, found: bytes, planted: bytes
) -> None:
    """What a file says about its scores is as safe as the scores: lost, but never another thing.

    Arrow keeps the metadata twice; a flip in the copy that it does not read changes nothing.
    """
    before = Store(root).read(key_of(FIELDS))
    assert whole.count(found) == 1

    stored, warned = read_damaged(root, whole.replace(found, planted))

    if stored is None:
        assert len(warned) == 1
    else:
        assert before is not None
        assert (stored.fields, stored.provenance) == (before.fields, before.provenance)


def test_another_keys_file_is_set_aside_and_redone(root: Path, whole: bytes) -> None:
    """A whole file under a wrong name is not what was asked for."""
    other = fill(root, Model(), fields=FIELDS | {"prompt": "What is worst?"})
    content = path_of(root, other.key).read_bytes()

    stored, warned = read_damaged(root, content)

    assert stored is None
    assert "its checksum or key is not its own" in warned[0]
    assert_redone(root, warned, content, whole)
    assert Store(root).read(other.key) is not None


def test_a_parquet_file_of_somebody_else_is_set_aside(
    root: Path, whole: bytes, tmp_path: Path
) -> None:
    """A file without our metadata says nothing about its scores."""
    ROWS.assign(score=SCORES).to_parquet(tmp_path / "foreign.parquet")
    content = (tmp_path / "foreign.parquet").read_bytes()

    stored, warned = read_damaged(root, content)

    assert stored is None
    assert warned == [
        f"{path_of(root)}: it cannot be read (KeyError); moved to {KEY}.damaged and redone"
    ]


# Resuming


breaks = pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])


@breaks
@pytest.mark.parametrize("breaks_at", [0, 4, 8])
def test_a_broken_run_goes_on_where_it_broke_off(
    root: Path,
    tmp_path: Path,
    small_shards: None,
    error: type[BaseException],
    breaks_at: int,
) -> None:
    """Only the missing shards are scored, and the file is that of an undisturbed run."""
    with pytest.raises(error):
        fill(root, Model(breaks_at=breaks_at, error=error))
    assert not path_of(root).exists()
    model = Model()

    stored = fill(root, model)

    assert model.asked == [(s, min(s + 4, 10)) for s in range(breaks_at, 10, 4)]
    assert_right(stored)
    fill(tmp_path / "undisturbed", Model())
    assert path_of(root).read_bytes() == path_of(tmp_path / "undisturbed").read_bytes()
    assert not (root / "scores" / f"{KEY}.parts").exists()


@pytest.fixture
def parts(root: Path, small_shards: None) -> Path:
    """The folder of a run that broke off after two shards."""
    with pytest.raises(RuntimeError):
        fill(root, Model(breaks_at=8))
    return root / "scores" / f"{KEY}.parts"


def test_a_damaged_shard_is_redone(root: Path, parts: Path) -> None:
    """A shard is checked like a file: set aside with a warning, and scored again."""
    shard = parts / "00000000.parquet"
    shard.write_bytes(shard.read_bytes()[:-9])
    model = Model()

    with pytest.warns(UserWarning, match=r"00000000\.parquet: it .* and redone"):
        stored = fill(root, model)

    assert model.asked == [(0, 4), (8, 10)]
    assert_right(stored)


def test_another_keys_shards_are_redone(root: Path, parts: Path) -> None:
    """Shards that lie under a wrong key are not used."""
    fields = FIELDS | {"prompt": "What is worst?"}
    shutil.copytree(parts, parts.with_name(f"{key_of(fields)}.parts"))
    model = Model()

    with pytest.warns(UserWarning, match="its checksum or key is not its own"):
        fill(root, model, fields=fields)

    assert model.asked == [(0, 4), (4, 8), (8, 10)]


def test_a_shard_in_anothers_place_is_redone(root: Path, parts: Path) -> None:
    """A shard that was copied over another one of the same run is not used."""
    shutil.copy(parts / "00000004.parquet", parts / "00000000.parquet")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stored = fill(root, Model())

    assert_right(stored)


@pytest.mark.parametrize("size", [3, 6, 8, 100])
def test_shards_of_another_size_are_not_taken_for_ours(
    root: Path, parts: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """A later version with other shards gets every score right."""
    monkeypatch.setattr(store, "SHARD", size)

    assert_right(fill(root, Model()))


def test_half_written_neighbours_are_written_over(root: Path, parts: Path) -> None:
    """What a kill left in the middle of a write is neither read nor in the way."""
    (parts / "00000008.partial").write_bytes(b"PAR1 half")
    (root / "scores" / f"{KEY}.partial").write_bytes(b"PAR1 half")
    model = Model()

    stored = fill(root, model)

    assert model.asked == [(8, 10)]
    assert_right(stored)
    assert not list((root / "scores").rglob("*.partial"))


@breaks
def test_a_broken_run_frees_the_lock(root: Path, error: type[BaseException]) -> None:
    """Nobody waits for a run that is over."""
    with pytest.raises(error) as caught:  # whose traceback keeps the lock from being collected
        fill(root, Model(breaks_at=0, error=error))

    assert caught.tb is not None
    with filelock.FileLock(root / "scores" / f"{KEY}.lock", timeout=0):
        pass


# Two at a time


def test_who_comes_second_waits_and_does_no_work(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one run scores, another one waits at the lock, and then reads what was made."""
    at_work, second_at_lock, may_finish = (threading.Event() for _ in range(3))
    real = filelock.FileLock.acquire

    def acquire(self: filelock.FileLock, *args: Any, **settings: Any) -> Any:
        if at_work.is_set():
            second_at_lock.set()
        return real(self, *args, **settings)

    def score(which: slice) -> NDArray[np.float32]:
        at_work.set()
        assert may_finish.wait(60)
        return SCORES[which]

    monkeypatch.setattr(filelock.FileLock, "acquire", acquire)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fill, root, score)
        assert at_work.wait(60)
        second = pool.submit(fill, root, never)
        assert second_at_lock.wait(60)
        assert not path_of(root).exists()
        may_finish.set()

        assert_right(first.result(60))
        assert_right(second.result(60))


# What cannot be written


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """The path, the system's reason and the option that names another folder; nothing is scored."""
    (tmp_path / "file").write_text("not a folder")
    root = tmp_path / "file" / "cache"

    with pytest.raises(StoreError) as caught:
        fill(root, never)

    assert str(caught.value) == (
        f"{root / 'scores'} cannot be written ([Errno 20] Not a directory: "
        f"'{root / 'scores'}'); give another folder with --rm-cache"
    )


def test_a_full_disk_is_refused_and_what_was_written_stays(
    root: Path, small_shards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a write fails the shard is named, and the next run goes on from the one before."""
    real = pq.write_table

    def write(table: Any, path: Path, **settings: Any) -> None:
        if path.stem == "00000004":
            raise OSError(28, "No space left on device")
        real(table, path, **settings)

    with monkeypatch.context() as full:
        full.setattr(pq, "write_table", write)
        with pytest.raises(StoreError, match=r"00000004\.parquet cannot be written \(.*No space"):
            fill(root, Model())

    model = Model()
    assert_right(fill(root, model))
    assert model.asked == [(4, 8), (8, 10)]
