"""Scores are stored once, read back only if they are whole, and resumed where a run broke off."""

from __future__ import annotations

import _thread
import os
import re
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Self

import filelock
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rmaudit.checkpoints.process_locks import lock_file
from rmaudit.errors import StoreError
from rmaudit.models.external_scorer_batches import Pace
from rmaudit.scores import shard_scoring
from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_cache_files import LocalFiles
from rmaudit.scores.score_parquet import Journal, Stored, key_of, write
from rmaudit.scores.score_store import Counts, Store, counts, unfinished
from rmaudit.scores.shard_scoring import Work
from tests.scores import children

Patch = pytest.MonkeyPatch

FIELDS = {"weights": "0a", "prompt": "What is best?", "dtype": "float32"}
KEY = key_of(FIELDS)
ROWS = pd.DataFrame(
    {
        "token_id": np.arange(10, dtype=np.int32),
        "token": ["<s>", "a", "Ġa", "", " ", "é", "\ufffd", "\n", '"', "日本"],
        "text": ["<s>", "a", " a", "", " ", "é", "\ufffd", "\n", '"', "\u65e5\u672c"],
    }
)
SCORES = np.array([0.1, -2.5, 0, 7e-8, -3e5, 1, 1, 2, 3, 4.5], dtype=np.float32)
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


class Quiet(Bar):
    """A bar that shows nothing, calls `waits` when it is to wait, and lists what was found."""

    def __init__(self, waits: Callable[[], object] = lambda: None) -> None:
        super().__init__("", 0, "")
        self.waits, self.were_there = waits, list[int]()

    def __enter__(self) -> Self:
        return self

    def found(self, done: int) -> None:
        """Note how many were found."""
        self.were_there.append(done)

    def wait(self) -> None:
        """Tell the test."""
        self.waits()


def fill(
    root: Path, score: Score, *, fields: Mapping[str, str] = FIELDS, **settings: Any
) -> Stored:
    """The scores of ROWS in the store below `root`."""
    return Store(root).complete(Work(fields, ROWS, score, lambda: PROVENANCE, **settings))


def path_of(root: Path, key: str = KEY) -> Path:
    """The file of a key."""
    return root / "scores" / f"{key}.parquet"


def left(root: Path) -> set[str]:
    """The names in the folder of scores."""
    return {path.name for path in (root / "scores").iterdir()}


def assert_right(stored: Stored | None) -> None:
    """All rows, all scores, all fields, of the right types."""
    assert stored is not None
    pd.testing.assert_frame_equal(stored.frame, ROWS.assign(score=SCORES))
    assert (stored.key, stored.fields, stored.provenance) == (KEY, FIELDS, PROVENANCE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A cache folder that is not there yet."""
    return tmp_path / "cache"


@pytest.fixture
def small_shards(monkeypatch: Patch) -> None:
    """Ten rows make three shards."""
    monkeypatch.setattr(shard_scoring, "SHARD", 4)


@pytest.fixture
def whole(root: Path) -> bytes:
    """The bytes of a stored file, which lies in its place."""
    fill(root, Model())
    return path_of(root).read_bytes()


# The round trip


def test_what_is_stored_comes_back(root: Path, tmp_path: Path, small_shards: None) -> None:
    """Made shard by shard, filled again, read: the same; equal runs write equal bytes."""
    assert Store(root).read(KEY) is None
    assert not root.exists()
    model, wide = Model(), lambda which: SCORES[which].astype(np.float64)

    for stored in (fill(root, model), fill(root, never), Store(root).read(KEY)):
        assert_right(stored)
    assert model.asked == [(0, 4), (4, 8), (8, 10)]
    path_of(root).with_suffix(".parts").mkdir()  # of a run that was killed at the very end
    fill(root, never)
    assert left(root) == {f"{KEY}.parquet"}
    shuffled = ROWS.set_axis([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], axis=0)
    Store(tmp_path / "other").complete(Work(FIELDS, shuffled, wide, lambda: PROVENANCE))
    assert path_of(tmp_path / "other").read_bytes() == path_of(root).read_bytes()


def test_provenance_is_asked_once_when_scores_are_made(root: Path, small_shards: None) -> None:
    """Where they come from after the first shard; their noise is measured on all at the end."""
    order: list[Any] = []

    def provenance() -> Mapping[str, Any]:
        order.append("provenance")
        return {"call": len(order)}

    def score(which: slice) -> NDArray[np.float32]:
        order.append("score")
        return SCORES[which]

    def alone(places: Sequence[int]) -> NDArray[np.float32]:
        order.append(places)
        return SCORES + np.float32(2)

    for _ in range(2):
        stored = Store(root).complete(Work(FIELDS, ROWS, score, provenance, alone))
        noise = pytest.approx(2, rel=1e-3)
        assert stored.provenance == {"call": 2, "noise": noise}  # the first shard's
    assert order == [*["score", "provenance"] * 3, [*range(10)]]


def test_keys_are_the_same_whatever_the_order_of_fields() -> None:
    """The key is a hash of canonical JSON, the same in every release."""
    assert key_of(dict(reversed(FIELDS.items()))) == KEY
    assert KEY == "44a639f5b55510e0dd6baabdcb82acf47462d674ae3e20dfb2eb5d7da0ac3acc"


# Damage


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A cache with a whole file, and one of a run that broke off after two shards."""
    folder = tmp_path_factory.mktemp("prepared")
    fill(folder / "file", Model())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shard_scoring, "SHARD", 4)
        with pytest.raises(RuntimeError):
            fill(folder / "shard", Model(breaks_at=8))
    return {what: folder / what for what in ("file", "shard")}


@pytest.mark.slow
@settings(derandomize=True)
@given(data=st.data(), what=st.sampled_from(["file", "shard"]))
def test_damage_never_gives_another_score(
    data: st.DataObject, prepared: Mapping[str, Path], what: str
) -> None:
    """Any bytes changed, any length cut, of the file or a shard: set aside, redone, right."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        root = shutil.copytree(prepared[what], Path(folder) / "cache")
        shard = path_of(root).with_suffix(".parts") / "00000004.parquet"
        path = shard if what == "shard" else path_of(root)
        whole = path.read_bytes()
        changed = bytearray(whole[: data.draw(st.integers(0, len(whole)) | st.none())])
        for _ in range(data.draw(st.integers(0, 3)) if changed else 0):
            changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(changed)
        patched.setattr(shard_scoring, "SHARD", 4)
        model = Model()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert_right(fill(root, model))
        damaged = [path for path in (root / "scores").iterdir() if ".damaged" in path.name]
        assert len(caught) == len(damaged) == int((4, 8) in model.asked)
        assert all(path.read_bytes() == changed for path in damaged)


def test_another_keys_file_or_shard_is_set_aside(root: Path, small_shards: None) -> None:
    """A whole file under a wrong name is not what was asked for, nor a shard in a wrong place."""
    other = fill(root, Model(), fields=FIELDS | {"prompt": "What is worst?"})
    shutil.copy(path_of(root, other.key), path_of(root))
    with pytest.raises(RuntimeError), pytest.warns(UserWarning, match="its checksum or key is not"):
        fill(root, Model(breaks_at=8))
    parts = path_of(root).with_suffix(".parts")
    shutil.copy(parts / "00000004.parquet", parts / "00000000.parquet")
    model = Model()

    with pytest.warns(UserWarning, match=r"00000000\.parquet: its checksum or key is not its own"):
        assert_right(fill(root, model))

    assert model.asked == [(0, 4), (8, 10)]
    assert left(root) >= {f"{KEY}.damaged", f"{KEY}-00000000.damaged"}


def swapped(table: pa.Table, name: str) -> pa.Table:
    """The file with two values of a column swapped, as if they stood beside other tokens."""
    values = table[name].to_pylist()
    values[3], values[5] = values[5], values[3]
    return table.set_column(
        table.column_names.index(name), name, pa.array(values, table[name].type)
    )


def about(table: pa.Table, *change: bytes) -> pa.Table:
    """The file with its metadata replaced, or a part of it by another."""
    old = table.schema.metadata[b"rmaudit"]
    return table.replace_schema_metadata(
        {b"rmaudit": old.replace(*change) if change[1:] else change[0]}
    )


METADATA = (b"", b"[]", b"null", b"{}", b'{"checksum": 1}', b"\xff", b"[" * 100_000)
TAMPERED: dict[str, Callable[[pa.Table], pa.Table]] = {
    **{f"swapped {name}": partial(swapped, name=name) for name in ROWS.columns},
    "other scores": lambda t: t.set_column(3, "score", pa.array(SCORES + np.float32(1))),
    "another type": lambda t: t.set_column(3, "score", pa.array(SCORES.view(np.int32))),
    "another provenance": lambda t: about(t, b'"layers": 2', b'"layers": 3'),
    **{repr(text)[:30]: partial(lambda text, t: about(t, text), text) for text in METADATA},
}


@pytest.mark.parametrize("tampered", TAMPERED)
def test_a_good_file_that_is_not_ours_is_set_aside(root: Path, whole: bytes, tampered: str) -> None:
    """Whatever it holds or says of itself: a read verifies it. It is kept, and all is made anew."""
    path = path_of(root)
    pq.write_table(TAMPERED[tampered](pq.read_table(path)), path)
    changed = path.read_bytes()

    with pytest.warns(UserWarning, match=f"^{path}: .*moved to .*{KEY}.damaged and redone"):
        assert_right(fill(root, Model()))

    assert path.read_bytes() == whole
    assert (root / "scores" / f"{KEY}.damaged").read_bytes() == changed


def test_fields_that_do_not_make_the_key_are_refused(root: Path, whole: bytes) -> None:
    """However well a file is sealed: a read verifies that the scores are of what was asked."""
    frame = pq.read_table(path_of(root)).to_pandas()
    said = {"key": KEY, "fields": {**FIELDS, "weights": "0b"}, "provenance": PROVENANCE}
    write(LocalFiles(root / "scores"), frame, said, anew=True)

    with pytest.warns(UserWarning, match="its checksum or key is not its own"):
        assert_right(fill(root, Model()))
    assert path_of(root).read_bytes() == whole


def test_each_damaged_file_is_kept(root: Path, whole: bytes) -> None:
    """Under a name of its own."""
    names = ("damaged", "damaged-2", "damaged-3")
    for name in names:
        path_of(root).write_bytes(name.encode())
        with pytest.warns(UserWarning, match=f"moved to .*{KEY}.{name} and redone"):
            assert Store(root).read(KEY) is None

    kept = {path.name: path.read_bytes() for path in (root / "scores").iterdir()}
    assert kept == {f"{KEY}.{name}": name.encode() for name in names}


# Faults of the system that pass, and say nothing of the file


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored file of 16 MB, to be left as it is."""
    root = tmp_path_factory.mktemp("large")
    rows = pd.DataFrame({"id": np.random.default_rng(0).integers(2**62, size=2_000_000)})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shard_scoring, "SHARD", 10**7)
        Store(root).complete(
            Work(FIELDS, rows, lambda which: np.zeros(which.stop - which.start, "f4"), dict)
        )
    return path_of(root)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("NOFILE, (3, 64)", "Too many open files"),
        ("AS, (used + 8 * 2**20, -1)", "alloc|[mM]emory"),  # to read it
        ("AS, (used + 44 * 2**20, -1)", "alloc|[mM]emory"),  # to decode it
    ],
)
def test_a_fault_that_passes_leaves_the_file(large: Path, limit: str, why: str) -> None:
    """Too many open files, no memory: an error that names file, reason and way out; all stays."""
    content = large.read_bytes()
    code = f"""
        import resource
        from rmaudit.errors import StoreError
        from rmaudit.scores.score_cache_files import LocalFiles
        from rmaudit.scores.score_parquet import read

        path = Path(sys.argv[1])
        read(LocalFiles(path.parent), "none")  # what is imported late is there
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_{limit})
        try:
            read(LocalFiles(path.parent), sys.argv[2])
        except StoreError as error:
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
            print(error)
    """

    told = children.run(code, large, KEY).stdout

    assert told.startswith(f"{large} cannot be read (")
    assert all(re.search(named, told) for named in (why, "run again", "--rm-cache"))
    assert [*large.parent.iterdir()] == [large]
    assert large.read_bytes() == content


@pytest.mark.parametrize("what", ["folder", "full folder", "link to itself", "pipe"])
def test_what_is_no_file_is_left_and_named(root: Path, whole: bytes, what: str) -> None:
    """It is nothing that was written here; who put it there must know. Nothing is scored."""
    path = path_of(root)
    path.unlink()
    if what == "link to itself":
        path.symlink_to(path)
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    if what == "full folder":
        (path / "part-0.parquet").write_bytes(whole)

    with pytest.raises(StoreError, match=r"\.parquet cannot be read \(.*\); it stays as it is"):
        fill(root, never)

    assert left(root) == {path.name}
    assert counts(root) == {}


def test_what_is_kept_is_counted_by_its_source(root: Path, small_shards: None) -> None:
    """Whole sweeps and imported tables, for lists; samples, texts and what is odd are none."""
    texts, part = ROWS.drop(columns="token_id"), {"part": "a sample"}
    for i, (fields, rows) in enumerate(
        [({}, ROWS), ({}, texts), (part, ROWS), ({"recorded": "yes", "model": "o/m"}, ROWS)]
    ):
        given = {**FIELDS, **fields, "n": str(i)}
        Store(root).complete(Work(given, rows, Model(), lambda: {"source": "s"}))
    (root / "scores" / "odd.parquet").write_bytes(b"odd")
    (root / "scores" / "a.parts").mkdir()
    (root / "scores" / "a.parts" / "odd.parquet").write_bytes(b"odd")

    assert counts(root) == {"s": Counts(1, 0), "o/m": Counts(0, 1)}
    assert unfinished(root) == 0


# Resuming


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("breaks_at", [0, 4, 8])
def test_a_broken_run_goes_on_where_it_broke_off(
    root: Path, tmp_path: Path, small_shards: None, error: type[BaseException], breaks_at: int
) -> None:
    """Only missing shards are scored; the file is the undisturbed one; the lock is free."""
    with pytest.raises(error) as caught:  # whose traceback keeps the lock from being collected
        fill(root, Model(breaks_at=breaks_at, error=error))
    with filelock.FileLock(lock_file(str(path_of(root))), timeout=0):
        assert caught.tb is not None
    parts = path_of(root).with_suffix(".parts")
    for name in ("00000008", KEY):  # what a kill leaves in the middle of a write is not in the way
        (parts / f"{name}.{os.getpid()}.partial").write_bytes(b"PAR1 half")
    model = Model()

    other = Store(root).complete(Work(FIELDS, ROWS, model, lambda: {"torch": "another"}))

    assert model.asked == [(s, min(s + 4, 10)) for s in range(breaks_at, 10, 4)]
    pd.testing.assert_frame_equal(other.frame, ROWS.assign(score=SCORES))
    assert other.provenance == (PROVENANCE if breaks_at else {"torch": "another"})
    assert left(root) == {f"{KEY}.parquet"}
    fill(tmp_path / "undisturbed", Model())
    same = path_of(root).read_bytes() == path_of(tmp_path / "undisturbed").read_bytes()
    assert same == bool(breaks_at)


@pytest.mark.parametrize("size", [3, 6, 8, 100])
def test_shards_of_another_size(
    root: Path, small_shards: None, monkeypatch: Patch, size: int
) -> None:
    """A later version with other shards gets every score right."""
    with pytest.raises(RuntimeError):
        fill(root, Model(breaks_at=8))
    monkeypatch.setattr(shard_scoring, "SHARD", size)

    assert_right(fill(root, Model()))


# Two at a time


def test_who_comes_second_waits_and_does_no_work(root: Path) -> None:
    """While one run scores, another one says once that it waits, and then reads what was made."""
    at_work, may_finish, second_waits = (threading.Event() for _ in range(3))

    def score(which: slice) -> NDArray[np.float32]:
        at_work.set()
        assert may_finish.wait(60)
        return SCORES[which]

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fill, root, score, bar=Quiet(lambda: pytest.fail("waits for nobody")))
        assert at_work.wait(60)
        second = pool.submit(fill, root, never, bar=Quiet(second_waits.set))
        assert second_waits.wait(60)
        assert not path_of(root).exists()
        may_finish.set()

        assert_right(first.result(60))
        assert_right(second.result(60))


def test_two_at_work_at_once_do_not_harm_each_other(root: Path, small_shards: None) -> None:
    """Somebody deletes the lock's file; a second run starts, finishes, clears up: both right."""
    second = Model()

    def score(which: slice) -> NDArray[np.float32]:
        if which.start == 4:
            lock_file(str(path_of(root))).unlink()
            with ThreadPoolExecutor(1) as pool:
                assert_right(pool.submit(fill, root, second).result(60))
        return SCORES[which]

    assert_right(fill(root, score))

    assert second.asked == [(4, 8), (8, 10)]
    assert_right(fill(root, never))
    assert left(root) == {f"{KEY}.parquet"}


# What cannot be written


@pytest.mark.parametrize("what", ["above", "root", "scores", "parts"])
def test_what_lies_where_a_folder_must_be_is_named(tmp_path: Path, what: str) -> None:
    """A cache folder that is a file, and the like: nothing is scored in vain."""
    root = tmp_path / "a" / "cache"
    path = {"above": tmp_path / "a", "root": root, "scores": root / "scores"}.get(what)
    path = path or path_of(root).with_suffix(f".{what}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("not a folder")

    with pytest.raises(StoreError, match=rf"^{root}.* cannot be written \(.*--rm-cache$"):
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


def test_a_cache_that_can_only_be_read_gives_its_scores_and_takes_none(shared: Path) -> None:
    """Reading takes no lock and tidies up nothing; what it lacks or is damaged cannot be made."""
    fill(shared, Model())
    path_of(shared).with_suffix(".parts").mkdir()
    (shared / "scores").chmod(0o555)
    assert_right(fill(shared, never))

    path_of(shared).write_bytes(b"damaged")
    for fields in (FIELDS, FIELDS | {"prompt": "another"}):
        with pytest.raises(StoreError, match=r"cannot be written \(.*denied.*--rm-cache$"):
            fill(shared, never, fields=fields)
    assert path_of(shared).read_bytes() == b"damaged"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_read_is_left(shared: Path, what: str) -> None:
    """Whether a good sweep is there cannot be known, so none is put in its place."""
    fill(shared, Model())
    place = path_of(shared) if what == "file" else shared / "scores"
    place.chmod(0)

    with pytest.raises(StoreError, match=r"cannot be read \(.*denied.*it stays as it is"):
        fill(shared, never)

    place.chmod(0o700)
    assert_right(fill(shared, never))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a full disk needs a size limit of Linux")
def test_a_full_disk_is_named_and_what_was_written_stays(root: Path, small_shards: None) -> None:
    """A file larger than may be written: nothing half written is left, and a later run goes on."""
    code = """
        import resource, signal
        from rmaudit.errors import StoreError
        from tests.scores.test_score_store import Model, fill, shard_scoring

        shard_scoring.SHARD = 4
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, -1))  # a shard is smaller, the file is not
        try:
            fill(Path(sys.argv[1]), Model())
        except StoreError as error:
            print(error)
    """

    told = children.run(code, root).stdout

    assert f"{KEY}.parquet cannot be written (" in told
    assert told.endswith("--rm-cache\n")
    assert not list(root.rglob("*.partial"))
    assert_right(fill(root, never))


# The next call while a GPU computes one


class Gpu:
    """Scores that are only begun; it notes what happens, and in what order."""

    def __init__(
        self, *, answers: int = 0, breaks: Mapping[str, BaseException] | None = None
    ) -> None:
        self.happened: list[str] = []
        self.answers, self.breaks = answers, dict(breaks or {})

    def __call__(self, which: slice) -> Callable[[], NDArray[np.float32]]:
        """Begin some rows."""
        rows = f"{which.start}:{which.stop}"

        def wait() -> NDArray[np.float32]:
            self._note(f"wait {rows}")
            return SCORES[which]

        self._note(f"begin {rows}")
        return wait

    def provenance(self) -> Mapping[str, Any]:
        """It is asked for as a shard is written."""
        self.happened.append("write")
        return PROVENANCE

    def fill(self, root: Path) -> Stored:
        """The scores of ROWS, made by this GPU."""
        asked = {"answers_a_call": lambda: self.answers}
        return Store(root).complete(Work(FIELDS, ROWS, self, self.provenance, **asked))

    def _note(self, what: str) -> None:
        self.happened.append(what)
        if what in self.breaks:
            raise self.breaks.pop(what)


def test_the_next_shard_is_begun_before_one_is_waited_for(root: Path, small_shards: None) -> None:
    """So scores are written while the next ones are computed; the file is the one of any other."""
    gpu = Gpu()

    assert_right(gpu.fill(root))

    first, second = ["wait 0:4", "write"], ["wait 4:8", "write"]
    last = ["wait 8:10", "write"]
    assert gpu.happened == ["begin 0:4", "begin 4:8", *first, "begin 8:10", *second, *last]
    fill(root / "other", Model())
    assert path_of(root).read_bytes() == path_of(root / "other").read_bytes()


def test_shards_in_a_row_are_one_call(root: Path, small_shards: None, monkeypatch: Patch) -> None:
    """As many as fill a GPU, and no more than eight; what is there already is in none."""
    gpu = Gpu(answers=11)
    assert_right(gpu.fill(root))
    assert gpu.happened[:2] == ["begin 0:8", "begin 8:10"]
    assert gpu.happened.count("write") == 3

    with pytest.raises(RuntimeError):  # leaves the first shard
        fill(root / "some", Model(breaks_at=4))
    gpu = Gpu(answers=10**9)
    assert_right(gpu.fill(root / "some"))
    assert gpu.happened[0] == "begin 4:10"
    monkeypatch.setattr(shard_scoring, "SHARD", 1)
    gpu = Gpu(answers=10**9)
    assert_right(gpu.fill(root / "many"))
    assert gpu.happened[:2] == ["begin 0:8", "begin 8:10"]


@pytest.mark.parametrize("when", ["begin 4:8", "begin 8:10", "wait 4:8"])
@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt()])
def test_what_was_begun_before_a_failure_is_kept(
    root: Path, small_shards: None, when: str, error: BaseException
) -> None:
    """After Ctrl-C also what was begun and not waited for; the next run makes the rest."""
    with pytest.raises(type(error)):
        Gpu(breaks={when: error}).fill(root)

    again, interrupted = Model(), isinstance(error, KeyboardInterrupt)
    assert_right(fill(root, again))
    done = {"begin 4:8": 4, "begin 8:10": 8, "wait 4:8": 10 if interrupted else 4}[when]
    assert again.asked == [(0, 4), (4, 8), (8, 10)][-(-done // 4) :]


# Several shards at once


def test_what_is_under_way_is_kept_when_a_shard_fails(root: Path) -> None:
    """Nothing is begun after it, and the next run asks for the others only, in any order."""
    begun, failed = list[int](), threading.Event()

    def one_fails(which: slice) -> NDArray[np.float32]:
        begun.append(which.start)
        if which.start == 2:
            failed.set()
            raise RuntimeError("busy")
        assert failed.wait(120)
        return SCORES[which]

    with pytest.raises(RuntimeError, match="busy"):
        fill(root, one_fails, pace=Pace(2, 3))
    bar, again = Quiet(), Model()
    stored = fill(root, again, pace=Pace(2, 3), bar=bar)

    assert_right(stored)
    assert sorted(begun)[:3] == [0, 2, 4]
    assert sum(bar.were_there) == 2 * (len(begun) - 1)
    assert {start for start, _ in again.asked} == {0, 2, 4, 6, 8} - ({*begun} - {2})
    fill(root, never, pace=Pace(2, 3))


def test_what_is_under_way_is_kept_when_a_shard_cannot_be_written(
    root: Path, monkeypatch: Patch
) -> None:
    """As when one fails: nothing is begun after it, and what still can be is written."""
    begun, full, written = list[int](), threading.Event(), Journal.write

    def write_but_one(journal: Journal, start: int, *given: Any, **more: Any) -> bool:
        if start == 2:
            full.set()
            raise OSError("No space left on device")
        return written(journal, start, *given, **more)

    def score(which: slice) -> NDArray[np.float32]:
        begun.append(which.start)
        assert which.start == 2 or full.wait(120)
        return SCORES[which]

    monkeypatch.setattr(Journal, "write", write_but_one)
    with pytest.raises((OSError, StoreError), match="No space"):
        fill(root, score, pace=Pace(2, 3))
    monkeypatch.setattr(Journal, "write", written)
    fill(root, again := Model(), pace=Pace(2, 3))

    assert sorted(begun) == [0, 2, 4]
    assert {start for start, _ in again.asked} == {2, 6, 8}


def test_what_is_under_way_is_kept_after_ctrl_c(root: Path) -> None:
    """It is waited for; the next run asks for the others only."""
    begun, all_three = list[int](), threading.Barrier(3)

    def interrupted(which: slice) -> NDArray[np.float32]:
        begun.append(which.start)
        if which.start >= 3:  # the threads are there, and none of theirs is done before that
            if all_three.wait(600) == 0:
                _thread.interrupt_main()
            all_three.wait(600)
        return SCORES[which]

    with pytest.raises(KeyboardInterrupt):
        fill(root, interrupted, pace=Pace(1, 3))
    again, bar = Model(), Quiet()

    assert_right(fill(root, again, pace=Pace(1, 3), bar=bar))
    assert len(bar.were_there) == len(begun) < len(ROWS)
    assert len(again.asked) == len(ROWS) - len(begun)
