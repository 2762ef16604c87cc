"""Scores are stored once, read back only if they are whole, and resumed where a run broke off."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from rmaudit.errors import StoreError
from rmaudit.scores import store
from rmaudit.scores.store import Store, Stored, key_of

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


def fill(
    root: Path,
    score: Score,
    *,
    fields: Mapping[str, str] = FIELDS,
    on_wait: Callable[[], None] = lambda: None,
) -> Stored:
    """The scores of ROWS in the store below `root`."""
    return Store(root).fill(fields, ROWS, score, lambda: PROVENANCE, on_wait=on_wait)


def path_of(root: Path, key: str = KEY) -> Path:
    """The file of a key."""
    return root / "scores" / f"{key}.parquet"


def left(root: Path) -> set[str]:
    """The names in the folder of scores, locks aside."""
    return {path.name for path in (root / "scores").iterdir() if path.suffix != ".lock"}


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

    assert left(root) == {f"{KEY}.parquet"}


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
    """It is asked after scoring, a shard here, and comes from the file from then on."""
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


def test_what_is_measured_on_the_scores_is_kept_with_them(root: Path) -> None:
    """It is asked once with all scores, after them, and comes from the file from then on."""
    asked: list[list[float]] = []

    def measured(scores: NDArray[np.float32]) -> Mapping[str, Any]:
        asked.append(scores.tolist())
        return {"sum": float(scores.sum())}

    for _ in range(2):
        stored = Store(root).fill(FIELDS, ROWS, Model(), lambda: PROVENANCE, measured=measured)

        assert stored.provenance == {**PROVENANCE, "sum": float(SCORES.sum())}

    assert asked == [SCORES.tolist()]


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
    assert warned[0].endswith(f"; moved to {path.with_suffix('.damaged')} and redone")
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
    aside = path_of(root).with_suffix(".damaged")
    assert warned == [f"{path_of(root)}: it cannot be read (KeyError); moved to {aside} and redone"]


def test_any_text_is_set_aside_and_redone(root: Path, whole: bytes) -> None:
    """A file that is no parquet at all."""
    content = b"token,score\na,1.0\n"

    stored, warned = read_damaged(root, content)

    assert stored is None
    assert_redone(root, warned, content, whole)


@pytest.mark.parametrize(
    "said",
    [b"", b"[]", b"null", b'"x"', b"{}", b'{"checksum": 1}', b"\xff", b"[" * 100_000],
    ids=["nothing", "list", "null", "text", "empty", "sum", "not utf-8", "deep"],
)
def test_metadata_of_any_kind_are_set_aside(root: Path, whole: bytes, said: bytes) -> None:
    """A file may say anything about itself; it is believed only if it is what was written."""
    table = pq.read_table(path_of(root)).replace_schema_metadata({b"rmaudit": said})
    pq.write_table(table, path_of(root))
    content = path_of(root).read_bytes()

    stored, warned = read_damaged(root, content)

    assert stored is None
    assert_redone(root, warned, content, whole)


def test_the_same_bytes_of_another_type_are_set_aside(root: Path, whole: bytes) -> None:
    """The bits of a float read as an integer are another number."""
    table = pq.read_table(path_of(root))
    turned = table.set_column(3, "score", pa.array(SCORES.view(np.int32)))
    pq.write_table(turned.replace_schema_metadata(table.schema.metadata), path_of(root))
    content = path_of(root).read_bytes()

    stored, warned = read_damaged(root, content)

    assert stored is None
    assert_redone(root, warned, content, whole)


@pytest.mark.parametrize(
    "error",
    [
        pa.ArrowMemoryError("malloc of size 9223372036854775807 failed"),
        MemoryError(),
        OSError(errno.EIO, "Input/output error"),
        RecursionError("maximum recursion depth exceeded"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        AttributeError("'list' object has no attribute 'pop'"),
        RuntimeError("anything else"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_reader_raises_is_damage(
    root: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """No damage stops a run: the file is set aside."""

    def read_table(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(pq, "read_table", read_table)
        stored, warned = read_damaged(root, whole)

    assert stored is None
    assert f"it cannot be read ({type(error).__name__})" in warned[0]
    assert_redone(root, warned, whole, whole)


@pytest.mark.parametrize("what", ["folder", "full folder", "link to itself"])
def test_what_is_no_file_is_set_aside_and_redone(root: Path, whole: bytes, what: str) -> None:
    """Before anything is scored, for it would be in the way of the result."""
    path = path_of(root)
    path.unlink()
    if what == "link to itself":
        path.symlink_to(path)
    else:
        path.mkdir()
    if what == "full folder":
        (path / "part-0.parquet").write_bytes(whole)

    with pytest.warns(
        UserWarning, match=r"it cannot be read \(.*Error\); moved to .*\.damaged and"
    ):
        assert_right(fill(root, Model()))

    assert path.read_bytes() == whole
    assert left(root) == {f"{KEY}.parquet", f"{KEY}.damaged"}


def test_a_link_to_nothing_is_no_file(root: Path, whole: bytes) -> None:
    """It is replaced by the result."""
    path_of(root).unlink()
    path_of(root).symlink_to(root / "nothing")

    assert_right(fill(root, Model()))

    assert not path_of(root).is_symlink()
    assert left(root) == {f"{KEY}.parquet"}


def test_what_was_set_aside_stays(root: Path, whole: bytes) -> None:
    """Damage upon damage: each file is kept under a name of its own, which the warning says."""
    kept = {KEY + ".damaged": b"one", KEY + ".damaged-2": b"two", KEY + ".damaged-3": b"three"}
    for name, content in kept.items():
        _, warned = read_damaged(root, content)
        assert warned[0].endswith(f"moved to {root / 'scores' / name} and redone")

    assert {name: (root / "scores" / name).read_bytes() for name in left(root)} == kept


def test_a_file_that_was_redone_meanwhile_is_not_set_aside(
    root: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that find a file damaged, the second one must not move the first one's good file."""
    real = pq.read_table
    others = [Model()]
    path_of(root).write_bytes(whole[:-9])

    def read_table(*args: Any, **settings: Any) -> Any:
        try:
            return real(*args, **settings)
        finally:
            if others:  # before we come to know it, another process sets it aside and makes it anew
                fill(root, others.pop())

    monkeypatch.setattr(pq, "read_table", read_table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stored = fill(root, never)

    assert_right(stored)
    assert len(caught) == 1
    assert path_of(root).read_bytes() == whole
    assert path_of(root).with_suffix(".damaged").read_bytes() == whole[:-9]


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


@pytest.mark.parametrize("breaks_at", ["00000004", "00000008", KEY])
def test_provenance_is_that_of_the_run_that_scored(
    root: Path, small_shards: None, monkeypatch: pytest.MonkeyPatch, breaks_at: str
) -> None:
    """A run that only puts shards together has loaded no model, and says nothing of itself."""
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target.name == f"{breaks_at}.parquet":
            raise RuntimeError
        return real(self, target)

    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", replace)
        with pytest.raises(RuntimeError):
            fill(root, Model())

    made = Store(root).fill(FIELDS, ROWS, Model(), lambda: {"torch": "another"})

    assert made.provenance == PROVENANCE
    assert_right(fill(root, never))


@pytest.fixture
def parts(root: Path, small_shards: None) -> Path:
    """The folder of a run that broke off after two shards."""
    with pytest.raises(RuntimeError):
        fill(root, Model(breaks_at=8))
    return root / "scores" / f"{KEY}.parts"


def damage(shard: Path, how: str) -> None:
    """Damage a shard."""
    content = bytearray(shard.read_bytes())
    if how == "flipped":
        content[len(content) // 2] ^= 0x10
    shard.unlink()
    if how == "folder":
        shard.mkdir()
    elif how == "link to itself":
        shard.symlink_to(shard)
    else:
        kept = {"empty": content[:0], "half": content[: len(content) // 2], "cut": content[:-1]}
        shard.write_bytes(kept.get(how, b"score\n1.0\n" if how == "text" else content))


@pytest.mark.parametrize(
    "how", ["empty", "half", "cut", "flipped", "text", "folder", "link to itself"]
)
def test_a_damaged_shard_is_redone(root: Path, parts: Path, how: str) -> None:
    """A shard is checked like a file: set aside with a warning, kept, and scored again."""
    damage(parts / "00000000.parquet", how)
    model = Model()

    with pytest.warns(UserWarning, match=r"00000000\.parquet: it .*-00000000\.damaged and redone"):
        stored = fill(root, model)

    assert model.asked == [(0, 4), (8, 10)]
    assert_right(stored)
    assert left(root) == {f"{KEY}.parquet", f"{KEY}-00000000.damaged"}


def test_a_flipped_byte_of_a_shard_never_gives_another_score(
    root: Path, parts: Path, tmp_path: Path
) -> None:
    """Wherever it is flipped, the scores are right and the other shard is used."""
    whole = (parts / "00000000.parquet").read_bytes()
    redone = 0
    for place in range(0, len(whole), 11):
        copy = tmp_path / str(place)
        shutil.copytree(root, copy)
        content = bytearray(whole)
        content[place] ^= 0xFF
        (copy / parts.relative_to(root) / "00000000.parquet").write_bytes(content)
        model = Model()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_right(fill(copy, model))

        assert model.asked in ([(8, 10)], [(0, 4), (8, 10)])
        redone += len(model.asked) - 1
    assert redone > len(whole) / 11 / 2


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
    for name in ("00000008", KEY):
        (parts / f"{name}.{os.getpid()}.partial").write_bytes(b"PAR1 half")
        (parts / f"{name}.1.partial").write_bytes(b"PAR1 half")
    model = Model()

    stored = fill(root, model)

    assert model.asked == [(8, 10)]
    assert_right(stored)
    assert left(root) == {f"{KEY}.parquet"}


def test_parts_of_a_run_that_was_killed_at_the_very_end_are_removed(
    root: Path, parts: Path, tmp_path: Path
) -> None:
    """When the file is whole, what a kill left beside it is of no use."""
    fill(tmp_path / "undisturbed", Model())
    shutil.copy(path_of(tmp_path / "undisturbed"), path_of(root))

    assert_right(fill(root, never))

    assert left(root) == {f"{KEY}.parquet"}


@breaks
def test_a_broken_run_frees_the_lock(root: Path, error: type[BaseException]) -> None:
    """Nobody waits for a run that is over."""
    with pytest.raises(error) as caught:  # whose traceback keeps the lock from being collected
        fill(root, Model(breaks_at=0, error=error))

    assert caught.tb is not None
    with filelock.FileLock(root / "scores" / f"{KEY}.lock", timeout=0):
        pass


# Two at a time


def test_who_comes_second_waits_and_does_no_work(root: Path) -> None:
    """While one run scores, another one says once that it waits, and then reads what was made."""
    at_work, may_finish = threading.Event(), threading.Event()
    waits: list[str] = []
    second_at_lock = threading.Event()

    def on_wait() -> None:
        waits.append("second")
        second_at_lock.set()

    def score(which: slice) -> NDArray[np.float32]:
        at_work.set()
        assert may_finish.wait(60)
        return SCORES[which]

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fill, root, score, on_wait=lambda: waits.append("first"))
        assert at_work.wait(60)
        second = pool.submit(fill, root, never, on_wait=on_wait)
        assert second_at_lock.wait(60)
        assert not path_of(root).exists()
        may_finish.set()

        assert_right(first.result(60))
        assert_right(second.result(60))
    assert waits == ["second"]


def test_a_lock_that_nobody_holds_is_not_in_the_way(root: Path) -> None:
    """The lock's file stays behind when a process dies; the lock does not."""
    (root / "scores").mkdir(parents=True)
    (root / "scores" / f"{KEY}.lock").write_text("12345")

    assert_right(fill(root, Model(), on_wait=lambda: pytest.fail("waits for nobody")))


def test_two_at_work_at_once_do_not_harm_each_other(root: Path, small_shards: None) -> None:
    """Somebody deletes the lock's file; a second run starts, finishes, clears up: both right."""
    second = Model()

    def score(which: slice) -> NDArray[np.float32]:
        if which.start == 4:
            (root / "scores" / f"{KEY}.lock").unlink()
            with ThreadPoolExecutor(1) as pool:
                assert_right(pool.submit(fill, root, second).result(60))
        return SCORES[which]

    assert_right(fill(root, score))

    assert second.asked == [(4, 8), (8, 10)]
    assert_right(fill(root, never))
    assert left(root) == {f"{KEY}.parquet"}


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


@pytest.mark.parametrize("what", ["root", "scores", "parts", "lock"])
def test_what_lies_where_a_folder_or_a_lock_must_be_is_named(tmp_path: Path, what: str) -> None:
    """A cache folder that is a file, and the like: nothing is scored in vain."""
    root = tmp_path / "cache"
    path = {"root": root, "scores": root / "scores", "parts": path_of(root).with_suffix(".parts")}
    if what == "lock":
        path_of(root).with_suffix(".lock").mkdir(parents=True)
    else:
        path[what].parent.mkdir(parents=True, exist_ok=True)
        path[what].write_text("not a folder")

    with pytest.raises(StoreError, match=rf"^{root}.* cannot be written \(.*--rm-cache$"):
        fill(root, never)


@pytest.mark.parametrize(
    "error", [OSError(errno.EROFS, "Read-only file system"), OSError(errno.ENOLCK, "No locks")]
)
def test_a_lock_that_cannot_be_had_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """On a file system that is read-only or has no locks; nothing is scored."""

    def acquire(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(filelock.FileLock, "acquire", acquire)

    with pytest.raises(StoreError, match=r"scores cannot be written \(.*--rm-cache$"):
        fill(root, never)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A cache folder that others may enter, while we are nobody in particular."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions of POSIX")
    folder = Path(tempfile.mkdtemp())
    user = os.geteuid()
    if user == 0:  # whom no permission stops
        folder.chmod(0o777)
        os.seteuid(65534)
    try:
        yield folder / "cache"
    finally:
        os.seteuid(user)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(folder)


def test_a_cache_that_can_only_be_read_gives_its_scores(shared: Path) -> None:
    """Reading takes no lock and tidies up nothing."""
    fill(shared, Model())
    path_of(shared).with_suffix(".parts").mkdir()
    (shared / "scores").chmod(0o555)

    assert_right(fill(shared, never))


@pytest.mark.parametrize("damaged", [False, True])
def test_a_cache_that_can_only_be_read_takes_no_scores(shared: Path, damaged: bool) -> None:
    """What it lacks, and what is damaged in it, cannot be made: said before anything is scored."""
    fill(shared, Model())
    if damaged:
        path_of(shared).write_bytes(b"damaged")
    else:
        path_of(shared).unlink()
    (shared / "scores").chmod(0o555)

    with pytest.raises(StoreError, match=r"cannot be written \(.*denied.*--rm-cache$"):
        fill(shared, never)

    assert path_of(shared).exists() == damaged


def test_an_unreadable_file_is_set_aside_and_redone(shared: Path) -> None:
    """In a folder that is ours, what we may not read does not stop us."""
    fill(shared, Model())
    path_of(shared).chmod(0)

    with pytest.warns(
        UserWarning, match=r"cannot be read \(PermissionError\).*\.damaged and redone"
    ):
        assert_right(fill(shared, Model()))

    assert left(shared) == {f"{KEY}.parquet", f"{KEY}.damaged"}


def test_a_folder_that_cannot_be_entered_is_refused(shared: Path) -> None:
    """Whether a sweep is in it cannot be known."""
    fill(shared, Model())
    (shared / "scores").chmod(0)

    with pytest.raises(StoreError, match=r"cannot be written \(.*denied.*--rm-cache$"):
        fill(shared, never)


@pytest.mark.parametrize("where", ["write_table", "fsync"])
@pytest.mark.parametrize("full_at", ["00000000", "00000004", "00000008", KEY])
def test_a_full_disk_is_refused_and_what_was_written_stays(
    root: Path, small_shards: None, monkeypatch: pytest.MonkeyPatch, full_at: str, where: str
) -> None:
    """When a write fails the file is named, and the next run goes on from the one before.

    What was half written is removed, for the disk is full.
    """
    real_write, real_sync, written = pq.write_table, os.fsync, []

    def write(table: Any, file: Any, **settings: Any) -> None:
        written.append(Path(file.name).stem.partition(".")[0])
        if where == "write_table" and written[-1] == full_at:
            file.write(b"PAR1 half")
            raise OSError(errno.ENOSPC, "No space left on device")
        real_write(table, file, **settings)

    def fsync(file: int) -> None:
        if where == "fsync" and written[-1] == full_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        real_sync(file)

    with monkeypatch.context() as full:
        full.setattr(pq, "write_table", write)
        full.setattr(os, "fsync", fsync)
        with pytest.raises(
            StoreError, match=rf"{full_at}\.parquet cannot be written \(.*No space.*--rm-cache$"
        ):
            fill(root, Model())
    assert not list(root.rglob("*.partial"))

    model = Model()
    assert_right(fill(root, model))
    assert model.asked == [part for part in [(0, 4), (4, 8), (8, 10)] if f"{part[0]:08}" >= full_at]
    assert left(root) == {f"{KEY}.parquet"}
