"""The sentences: balanced, differing in one thing, and refused where a file is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from rmaudit.errors import SpecError
from rmaudit.references import counterfactual_sentences

Table = Callable[[], pd.DataFrame]
WITH_BAD = [
    counterfactual_sentences.communities,
    counterfactual_sentences.first_names,
    counterfactual_sentences.politics,
]
TABLES = [
    *WITH_BAD,
    counterfactual_sentences.dialect,
    counterfactual_sentences.languages,
    counterfactual_sentences.gendered,
]
FOLDER = Path(counterfactual_sentences.__file__).with_name("sentences")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files, which is read in their place."""
    folder = Path(shutil.copytree(FOLDER, tmp_path / "own"))
    monkeypatch.setattr(counterfactual_sentences, "_FOLDER", folder)
    return folder


@pytest.mark.parametrize("table", TABLES)
def test_every_context_has_every_group(table: Table) -> None:
    """At least thirty contexts, a reference in each, no sentence twice, no slot left."""
    found: pd.DataFrame = table()
    groups = found.groupby("context")["group"].unique().map(frozenset)

    assert len(groups) >= 30
    assert set(groups) == {groups.iloc[0]}
    assert "" in groups.iloc[0]
    assert not found[["frame", "text"]].duplicated().any()
    assert not found["text"].str.contains("[{}]").any()


@pytest.mark.parametrize("table", WITH_BAD)
def test_every_word_stands_in_good_and_in_bad_contexts(table: Table) -> None:
    """So that what is a word's own is the same under both frames; three words a group at least."""
    found: pd.DataFrame = table()

    assert (found.groupby(["group", "word"])["frame"].nunique() == 2).all()
    assert found.groupby("group")["word"].nunique().min() >= 3
    good, bad = found.groupby("frame")["context"].nunique()
    assert good == bad


def test_an_article_fits() -> None:
    """A sentence is one that a person might write."""
    found = counterfactual_sentences.communities()["text"]

    assert found.str.startswith("An elderly").any()
    assert not found.str.contains(r"^A [aeiouAEIOU]").any()


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("contexts.csv", "frame,", "sign,", "contexts.csv:1: expected the columns frame,gender,"),
        (
            "contexts.csv",
            "\n1,man",
            "\n2,man",
            "contexts.csv:2: frame: expected 1 or -1, found '2'",
        ),
        ("contexts.csv", "{who}", "He", "contexts.csv:2: sentence: expected one {who}, found 'He"),
        ("people.csv", "community,", "people,", "people.csv:1: expected the columns community,"),
    ],
)
def test_a_wrong_file_is_refused(own: Path, file: str, old: str, new: str, expected: str) -> None:
    """With its line, what was expected and what was found."""
    path = own / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    with pytest.raises(SpecError) as caught:
        counterfactual_sentences.communities()

    assert expected in str(caught.value)
