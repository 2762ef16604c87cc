"""Published words: which files are a model's, and what is made of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rmaudit.errors import SpecError
from rmaudit.prompts import FAMILY
from rmaudit.references import published_score_tables, published_word_scores
from tests.words import SOURCE, STEM, table, write

Patch = pytest.MonkeyPatch

FIRST, LAST = list(FAMILY)[0], list(FAMILY)[-1]  # noqa: RUF015  (as a pair)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_two_dictionaries_are_merged(tmp_path: Path, end: str) -> None:
    """Each single word once, in order, averaged where both have it; phrases are counted."""
    nouns = write(tmp_path, "big2", {"null": 1, "help": 3, "common good": 5}, end)
    moral = write(tmp_path, "MFD20", {"help": 4, "NA": 2, "do unto others": 9}, end)

    found = published_word_scores.merged((nouns, moral))

    frame = found.table.frame.set_index("response")
    assert frame.index.tolist() == ["NA", "help", "null"]
    assert frame[FIRST].tolist() == [2, 3.5, 1]
    assert frame[LAST].tolist() == [55, 56.5, 54]
    assert (found.files, found.phrases, found.twice) == (2, 2, 1)
    sd = pd.Series([2, 3.5, 1]).std()
    assert found.apart == pytest.approx(1 / sd)
    assert found.said == (
        "3 words under 54 prompts from 2 files (1 words are in two files, averaged: at most "
        f"{1 / sd:.2g} sd apart; 2 answers of several words left out)"
    )


def test_a_mirror_has_files_by_the_models_name(tmp_path: Path, monkeypatch: Patch) -> None:
    """Whatever dictionary the name says; of CSV and Parquet twins one; of no other model."""
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    folder = tmp_path / published_word_scores.MIRROR
    kept = [write(folder, "MFD20", {"a": 1}), write(folder, "big2", {"b": 1}, "csv")]
    write(folder, "MFD20", {"a": 1}, "csv")
    (folder / "big2" / f"big2_{STEM}-v2.parquet").write_bytes(b"of another model")

    assert published_word_scores.mirrored(SOURCE) == tuple(kept)
    assert (
        published_word_scores.mirrored("owner/other")
        == published_word_scores.mirrored("embedded")
        == ()
    )


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


def test_what_is_no_table_of_words(tmp_path: Path) -> None:
    """Parquet of something else is none; bytes that are no Parquet, and git-lfs pointers, fail."""
    other, broken, pointer = (tmp_path / f"{name}.parquet" for name in "abc")
    pd.DataFrame({"x": [1]}).to_parquet(other)
    broken.write_bytes(b"PAR1 and no more")
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")

    assert published_score_tables.kind(other) is None
    for path, said in ((broken, "no Parquet"), (pointer, "git lfs pull")):
        with pytest.raises(SpecError, match=said):
            published_score_tables.kind(path)
