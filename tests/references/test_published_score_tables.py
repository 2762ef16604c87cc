"""The published tables: read as they were written, or refused with file, line and reason."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.errors import SpecError
from rmaudit.prompts import FAMILY
from rmaudit.references import published_score_tables
from rmaudit.references.human_ratings import PROMPTS
from rmaudit.references.sources import SOURCES, locate
from tests.words import SOURCE, STEM, table, write

Patch = pytest.MonkeyPatch

FIRST, LAST = list(FAMILY)[0], list(FAMILY)[-1]  # noqa: RUF015  (as a pair)
HEADER = "token_id,token_name,token_decoded,greatest,best,worst\n"
ROWS = "0,a,a,1.5,2,-3e-2\n1,▁b, b,0.5,,4\n"
HOSTILE = [
    *("NA", "null", "nan", "NaN", "None", "#N/A", "inf", "-1.5", "", " ", "true"),
    *('"', '""', 'say "so"', ",", '","', "\n", "\r", "\r\n", "a\nb", "\t", "\0", "\x1b[31m"),
    *("\\", "\\\\", "\\n", '\\"', '"\\', "\\,", "a\\", "\ufeff", "\ufffd", "\u2028", "=1+1"),
]


def frame_of(texts: list[str], scores: list[float] | None = None) -> pd.DataFrame:
    """A table of tokens with these names, decoded to the same in reverse order."""
    values = np.array(scores or range(len(texts)), dtype=np.float32)
    columns = {name: values.astype(float) for name in published_score_tables.TOKENS[3:]}
    named = {"token_name": texts, "token_decoded": texts[::-1]}
    return pd.DataFrame({"token_id": range(len(texts)), **named, **columns})


def written(path: Path, frame: pd.DataFrame, **settings: Any) -> Path:
    """A file as the authors' program writes it."""
    frame.to_csv(path, index=False, **settings)
    return path


def assert_same(read: pd.DataFrame, frame: pd.DataFrame) -> None:
    """Names, texts, ids and the bits of all scores are equal."""
    scores = dict.fromkeys(published_score_tables.TOKENS[3:], np.float32)
    pd.testing.assert_frame_equal(read, frame.astype(scores), check_exact=True)


# What is read


@pytest.mark.parametrize("settings", [{"escapechar": "\\"}, {}], ids=["escaped", "plain"])
def test_hostile_tokens(tmp_path: Path, settings: dict[str, str]) -> None:
    """Missing values, quotes, line ends and backslashes are texts, in either dialect."""
    frame = frame_of(HOSTILE)

    table = published_score_tables.tokens(written(tmp_path / "a.csv", frame, **settings))

    assert_same(table.frame, frame)
    assert table.sha256 == hashlib.sha256((tmp_path / "a.csv").read_bytes()).hexdigest()


TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(HOSTILE)
SCORE = st.floats(width=32, allow_infinity=False)


@pytest.mark.slow
@given(st.lists(st.tuples(TEXT, SCORE), min_size=1, max_size=12), st.booleans(), st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, float]],
    escaped: bool,
    shuffled: bool,
) -> None:
    """Any texts and scores; in the plain dialect with a token that has a single backslash."""
    texts, scores = [text for text, _ in rows], [score for _, score in rows]
    frame = frame_of(["\\", *texts, "\\"], [0.0, *scores, 1.0])
    frame = frame[::-1].reset_index(drop=True) if shuffled else frame
    path = tmp_path_factory.getbasetemp() / "any.csv"

    written(path, frame, **({"escapechar": "\\"} if escaped else {}))

    assert_same(published_score_tables.tokens(path).frame, frame)


def test_a_score_is_missing_only_where_its_field_is_empty(tmp_path: Path) -> None:
    """NaN, in that place alone."""
    path = tmp_path / "a.csv"
    path.write_text(HEADER + ROWS)

    frame = published_score_tables.tokens(path).frame

    assert frame["greatest"].tolist() == [1.5, 0.5]
    assert frame["worst"].tolist() == pytest.approx([-0.03, 4.0])
    assert frame["best"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf" + (HEADER + ROWS).encode(), (HEADER + ROWS).replace("\n", "\r\n").encode()],
    ids=["BOM", "CRLF"],
)
def test_what_windows_does_to_a_file(tmp_path: Path, content: bytes) -> None:
    """A byte order mark and its line ends change nothing."""
    (tmp_path / "plain.csv").write_text(HEADER + ROWS)
    (tmp_path / "a.csv").write_bytes(content)

    assert published_score_tables.tokens(tmp_path / "a.csv").frame.equals(
        published_score_tables.tokens(tmp_path / "plain.csv").frame
    )
    assert published_score_tables.kind(tmp_path / "a.csv") == "tokens"


# What is refused

CLOSED = "expected fields with their quotes closed, or without any"
STRAY_QUOTES = ('0,"a,a,1,2,3\n', '0,a"b,a,1,2,3\n', '0,"a"b,a,1,2,3\n')
NUMBER = "expected a number, or nothing where there is no score"
# What Python or pandas would take for a number, or for none.
NO_SCORES = ("nan", "NaN", "inf", "-inf", "NA", "None", '"1,5"', '"1.5"', "٣", "0x1", "1_0", "x")
HEADERS = [
    "token_id,token_name,token_decoded,greatest,best",
    "token_id,token_name,token_decoded,best,greatest,worst",
    "token_id,token_name,token_decoded,greatest,best,worst,more",
    "token_id;token_name;token_decoded;greatest;best;worst",
    "Token ID,Decoded,Score",
]
OF_ITEMS = "elo_rank,elo_score,name,elo_matches"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        *(
            (f"{header}\n", f"1: expected the columns {HEADER.strip()}, found {header}")
            for header in HEADERS
        ),
        ("", "1: expected a line of column names and then rows, found no end of a line"),
        (HEADER, "2: expected rows, found none"),
        *(
            (HEADER + rows, message)
            for rows, message in (
                ("0,a,a,1,2\n", "2: expected 6 fields, found 5"),
                ("0,a,a,1,2,3,4\n", "2: expected 6 fields, found 7"),
                ("0,a,a,1,2,3\n\n1,b,b,1,2,3\n", "3: expected 6 fields, found 1"),
                ('0,"a\nb",c,1,2,3\n1,a,a,1,2\n', "4: expected 6 fields, found 5"),
                ("0,a,a,1,2,3\n0,b,b,1,2,3\n", "3: token_id '0' again, first on line 2"),
                ("x,a,a,1,2,3\n", "2: token_id: expected a whole number, found 'x'"),
                (",a,a,1,2,3\n", "2: token_id: expected a whole number, found ''"),
                ("-1,a,a,1,2,3\n", "2: token_id: expected a whole number, found '-1'"),
                ("0,a,a,1,2,1e39\n", "2: worst: expected a number that float32 can hold, found"),
                ("0,a,a,,2,3\n", "2: greatest: expected a score in some row, found 'none in any'"),
                ("0,a,a,1,2,3\n1,b,b", "3: the file ends within this row: it was cut off; get"),
                *(
                    (f"0,a,a,1,2,{odd}\n", f"2: worst: {NUMBER}, found {odd!r}")
                    for odd in NO_SCORES
                ),
                *((odd, f"2: {CLOSED}, found {odd!r}") for odd in STRAY_QUOTES),
            )
        ),
        (HEADER.encode() + b"0,\xff,a,1,2,3\n", "2: expected UTF-8 text"),
        # A file whose line ends are mixed was not written by one program.
        (
            (HEADER + ROWS).replace("\n", "\r\n") + "2,b,b,1,2,3\n",
            "4: expected '\\r\\n' at its end",
        ),
        *(
            (f"{OF_ITEMS}{end}", f"1: expected the columns {OF_ITEMS} and the")
            for end in ("\n", ",\n")
        ),
        (f"{OF_ITEMS},a/b,a/b\n", "1: two columns are called 'a/b'"),
        (f"{OF_ITEMS},a/b\n1,9,W,3,1\n2,8,W,3,1\n", "3: name 'W' again, first on line 2"),
        (f"{OF_ITEMS},a/b\n1,9,,3,1\n", "2: name: expected a name, found ''"),
        (f"{OF_ITEMS},a/b\n1,9,W,,1\n", "2: elo_matches: expected a whole number, found ''"),
    ],
)
def test_a_wrong_table_of_tokens_or_items(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    """The line on which the row begins, what was found, what is allowed, and what to do."""
    path = tmp_path / "a.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    items = str(content).startswith("elo")
    with pytest.raises(SpecError) as caught:
        (published_score_tables.items if items else published_score_tables.tokens)(path)

    said = str(caught.value)
    assert said.startswith(f"{path}:{message}")
    assert said.endswith(". Import the authors' file as they wrote it")
    assert "\n" not in said


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """None there, a folder, nothing in it, or what git-lfs left; Parquet of something else."""
    for end in ("csv", "parquet"):
        pointer = tmp_path / f"pointer.{end}"
        pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
        with pytest.raises(SpecError, match=f"pointer.{end}.*get the file with: git lfs pull"):
            published_score_tables.kind(pointer)
    (tmp_path / "empty.csv").touch()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "other.parquet")

    with pytest.raises(SpecError, match=r"none\.csv: cannot be read: No such file"):
        published_score_tables.tokens(tmp_path / "none.csv")
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        published_score_tables.kind(tmp_path)
    with pytest.raises(SpecError, match="no Parquet"):
        published_score_tables.kind(tmp_path / "broken.parquet")
    assert published_score_tables.kind(tmp_path / "empty.csv") is None
    assert published_score_tables.kind(tmp_path / "other.parquet") is None


# The real ones


@pytest.mark.parametrize("name", PROMPTS.values())
def test_the_published_items(mirror: Path, name: str) -> None:
    """7,530 items, ten models, all scored; the same numbers as pandas reads."""
    path = locate(name)

    frame = published_score_tables.items(path).frame

    assert published_score_tables.kind(path) == "items"
    assert frame.shape == (7530, 14)
    other = pd.read_csv(path, keep_default_na=False)
    assert frame["name"].tolist() == other["name"].tolist()
    assert np.array_equal(
        frame.iloc[:, 4:].to_numpy(), other.iloc[:, 4:].to_numpy().astype(np.float32)
    )


def test_a_table_of_items_is_named_by_its_prompt() -> None:
    """The prompt is the file's name and a question mark."""
    assert {f"{Path(SOURCES[name].mirror).stem}?" for name in PROMPTS.values()} == set(PROMPTS)


# Words


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_two_dictionaries_are_merged(tmp_path: Path, end: str) -> None:
    """Each single word once, in order, averaged where both have it; phrases are counted."""
    nouns = write(tmp_path, "big2", {"null": 1, "help": 3, "common good": 5}, end)
    moral = write(tmp_path, "MFD20", {"help": 4, "NA": 2, "do unto others": 9}, end)

    table, said = published_score_tables.merged((nouns, moral))

    frame = table.frame.set_index("response")
    assert frame.index.tolist() == ["NA", "help", "null"]
    assert frame[FIRST].tolist() == [2, 3.5, 1]
    assert frame[LAST].tolist() == [55, 56.5, 54]
    sd = pd.Series([2, 3.5, 1]).std()
    assert said == (
        "3 words under 54 prompts from 2 files (1 words are in two files, averaged: at most "
        f"{1 / sd:.2g} sd apart; 2 answers of several words left out)"
    )


def test_a_mirror_has_files_by_the_models_name(tmp_path: Path, monkeypatch: Patch) -> None:
    """Whatever dictionary the name says; of CSV and Parquet twins one; of no other model."""
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    folder = tmp_path / published_score_tables.MIRROR
    kept = [write(folder, "MFD20", {"a": 1}), write(folder, "big2", {"b": 1}, "csv")]
    write(folder, "MFD20", {"a": 1}, "csv")
    (folder / "big2" / f"big2_{STEM}-v2.parquet").write_bytes(b"of another model")

    assert published_score_tables.mirrored(SOURCE) == tuple(kept)
    assert (
        published_score_tables.mirrored("owner/other")
        == published_score_tables.mirrored("embedded")
        == ()
    )
    monkeypatch.delenv("RMAUDIT_DATA")
    assert published_score_tables.mirrored(SOURCE) == ()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda f: f.drop(columns=LAST), [LAST]),
        (lambda f: f.assign(more=1.0), ["more"]),
        (lambda f: f.assign(response=["a", "a"]), ["a", "no other row"]),
        (lambda f: f.assign(response=["a", None]), ["row 2", "response"]),
        (lambda f: f.assign(**{LAST: ["x", "y"]}), [LAST, "numbers"]),
        (lambda f: f.assign(**{LAST: [1.0, float("inf")]}), [LAST, "float32"]),
        (lambda f: f.assign(**{LAST: [None, float("nan")]}).astype({LAST: float}), [LAST, "none"]),
        (lambda f: f.iloc[:0], ["rows"]),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, change: object, named: list[str]) -> None:
    """The error names the file and what in it."""
    path = tmp_path / f"big2_{STEM}.parquet"
    change(table({"a": 1, "b": 2})).pipe(  # type: ignore[operator]
        lambda f: f[["response", *f.columns.drop("response")]]
    ).to_parquet(path)

    with pytest.raises(SpecError) as caught:
        published_score_tables.words(path)

    assert all(word in str(caught.value) for word in [str(path), *named])
