"""The sentences: balanced, and differing in one thing."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

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
FOLDER = counterfactual_sentences.FOLDER


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
    """So that what is a word's own is the same under both frames; 24 words a group at least."""
    found: pd.DataFrame = table()

    assert (found.groupby(["group", "word"])["frame"].nunique() == 2).all()
    assert found.groupby("group")["word"].nunique().min() >= 24
    good, bad = found.groupby("frame")["context"].nunique()
    assert good == bad == 24


@pytest.mark.parametrize("table", TABLES)
def test_a_block_shares_no_word_and_no_context_with_another(table: Table) -> None:
    """So that blocks are independent; each has every group under every frame."""
    found: pd.DataFrame = table()

    for of in ("word", "context"):
        assert len(found[[of, "block"]].drop_duplicates()) == found[of].nunique()
    sizes = found.groupby(["group", "frame", "block"]).size()
    cells = found["frame"].nunique() * found["block"].nunique()
    for _, own in sizes.groupby(level="group"):
        assert len(own) == cells
        assert own.min() == own.max()


def test_communities_are_compared_with_persons_of_none() -> None:
    """None of whose descriptions is a community's, and whose forms are theirs, too."""
    words = counterfactual_sentences.communities().groupby("group")["word"].unique()
    reference = set(words[""])

    assert len(words) == 1 + 21
    assert len(reference) == 96
    assert not reference & set(words.drop("").explode())
    clauses = words.explode().str.startswith("{person}").groupby(level=0).mean()
    assert 0.4 < clauses[""] < 0.7
    assert 0.4 < clauses.drop("").mean() < 0.7


def test_names_are_of_one_group_and_of_the_gender_of_their_contexts() -> None:
    """And 24 of each gender; a name in two groups would hide a shift of either."""
    found = counterfactual_sentences.first_names()
    words = found.groupby(["group", "word"])["text"].agg(" ".join).reset_index()
    of_men, of_women = (
        words["text"].str.contains(rf"\b(?:{pronouns})\b")
        for pronouns in ("he|his|himself", "she|her|hers")
    )

    assert words["word"].is_unique
    assert (words.groupby("group").size() == 2 * 24).all()
    assert not (of_men & of_women).any()
    contexts = pd.read_csv(FOLDER / "contexts.csv", keep_default_na=False)
    known = pd.read_csv(FOLDER / "first_names.csv", keep_default_na=False)
    men = {name for names in known.loc[known["gender"] == "man", "names"] for name in names.split()}
    genders = found["context"].map(contexts["gender"])
    assert (found["word"].isin(men) == (genders == "man")).all()


def test_sides_are_described_alike() -> None:
    """In as many words of either form."""
    found = counterfactual_sentences.politics()
    sides = found[found["group"] != ""].drop_duplicates("word").groupby("group")["word"]

    assert (sides.size() == 24).all()
    one, other = sides.apply(lambda words: words.str.startswith("{person}").sum())
    assert one == other


def test_persons_of_no_side_are_described_as_those_of_the_sides_beside_them() -> None:
    """With a clause or without, and within a word as long on average, in each block."""
    words = counterfactual_sentences.politics().drop_duplicates("word")
    table = words.assign(
        of_side=words["group"] != "",
        clause=words["word"].str.startswith("{person}"),
        length=words["word"].str.split().str.len(),
    )
    means = table.groupby(["of_side", "block"])[["clause", "length"]].mean()
    others, sides = means.loc[False], means.loc[True]

    assert len(sides) == 24
    assert (others["clause"] == sides["clause"]).all()
    longer = others["length"] - sides["length"]
    assert longer.abs().max() < 1
    assert abs(longer.mean()) < 0.2
    people = counterfactual_sentences.communities()
    described = people[people["group"] != ""]["word"]
    assert not set(table[~table["of_side"]]["word"]) & set(described)


def test_an_article_fits() -> None:
    """A sentence is one that a person might write."""
    found = counterfactual_sentences.communities()["text"]

    assert found.str.startswith("An elderly").any()
    assert not found.str.contains(r"^A [aeiouAEIOU]").any()
    assert not found.str.contains(r"^An [^aeiouAEIOU]").any()
    assert not found.str.contains(r"^An (?:Eu|uni|Uk|Ug)").any()
    assert not found.str.contains(r"  | [.,]").any()


@pytest.mark.parametrize(
    ("file", "columns"),
    [
        ("contexts", "frame,gender,sentence"),
        ("people", "community,description"),
        ("politics", "side,description"),
        ("first_names", "group,gender,names"),
        ("dialect", "frame,standard,other"),
        ("languages", f"English,{','.join(counterfactual_sentences.LANGUAGES)}"),
        ("gendered", "women,men"),
        ("jobs", "job"),
    ],
)
def test_what_is_shipped(file: str, columns: str) -> None:
    """Frames are 1 or -1, a template has one slot, and no text is empty."""
    table = pd.read_csv(FOLDER / f"{file}.csv", dtype=str, keep_default_na=False)

    assert ",".join(table) == columns
    assert (table.iloc[:, 1:] != "").all(axis=None)  # the reference has no name
    assert set(table.get("frame", ["1"])) <= {"1", "-1"}
    assert set(table.get("sentence", pd.Series("{who}")).str.count("{who}")) == {1}
