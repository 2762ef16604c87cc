"""A sample of the vocabulary: stratified, unbiased, apart from what is named by words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError, ReferenceMissing, SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.references.lexicons import LEXICONS, lexicon
from rmaudit.scores.score_store import Store
from rmaudit.scores.shard_scoring import Work
from rmaudit.scores.sweep import sweep, sweep_under
from rmaudit.scores.sweep_result import Sweep
from rmaudit.scores.token_sample import (
    Sample,
    checked_size,
    checked_words,
    mask_of_scored_words,
    mask_of_words,
    spread,
)
from tests.scores.letters import Letters

Patch = pytest.MonkeyPatch

IDS = tuple(range(0, 300, 3))  # with gaps: 100 ids
WORDS = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
NAMED = ["ak", "Al", "jt"]  # the first, the second and the last


class Many(Letters):
    """A model of a hundred words, each one token."""

    def vocabulary(self) -> Vocabulary:
        """Ids with gaps."""
        return Vocabulary(IDS, tuple(WORDS), tuple(WORDS))


def take(cache: Path, model: Letters | None = None, **settings: Any) -> Sweep:
    """A sweep of ten ids, but for `settings`."""
    return sweep(model or Many(), "best", cache=cache, **{"sample": 10, **settings})


def ids(swept: Sweep) -> list[int]:
    """Its token ids."""
    return [int(i) for i in swept.frame["token_id"]]


# The draw


@pytest.mark.parametrize(("total", "count"), [(100, 10), (100, 7), (10, 10), (10, 20), (5, 0)])
def test_places_are_distinct_and_spread(total: int, count: int) -> None:
    """Ascending, as many as asked for, and no two further apart than two strata are long."""
    places = spread(total, count, np.random.default_rng(0))

    assert len(places) == min(total, count)
    assert (np.diff(places) > 0).all()
    assert set(places) <= set(range(total))
    if count:
        round_again = [*places, places[0] + total]
        assert max(np.diff(round_again)) < 2 * np.ceil(total / min(total, count))


@pytest.mark.slow
def test_every_place_is_as_likely_as_any_other() -> None:
    """Also where the strata are not of equal size: 7 of 10 places, 20,000 draws."""
    rng = np.random.default_rng(0)
    drawn = np.concatenate([spread(10, 7, rng) for _ in range(20_000)])

    assert np.bincount(drawn, minlength=10) / 20_000 == pytest.approx(np.full(10, 0.7), abs=0.015)


@pytest.mark.parametrize("size", [0, -3, 2.5, "10", True, None])
def test_a_sample_has_a_size(size: Any) -> None:
    """Nothing else is taken for one."""
    with pytest.raises(SpecError, match=f"positive whole number of token ids, got {size!r}"):
        checked_size(size)


# Words


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (["love"], [0, 1, 2]),
        (["Love", "peace"], [0, 1, 2, 4]),
        (["STRASSE", "straße"], [8]),
        (["war"], []),
        ([], []),
    ],
)
def test_every_spelling_of_a_word_is_named(words: Sequence[str], places: list[int]) -> None:
    """Case and spaces around it do not matter; a part of a token is no word of it."""
    texts = ["love", " love", "LOVE", "loved", " peace", "love!", "", "\ufffd", "Straße"]
    assert mask_of_words(pd.Series(texts), words).nonzero()[0].tolist() == places


@pytest.mark.parametrize(
    "words",
    ["love", ["lexicon:labMT"], ["lexikon:labmt"], ["two words"], [" love"], [""], [3]],
    ids=repr,
)
def test_what_no_token_can_be_is_refused(words: Sequence[str]) -> None:
    """A slip would name nothing, silently; the error says what was given, and what may be."""
    assert checked_words(["love", "lexicon:labmt"]) == ("love", "lexicon:labmt")  # not looked up
    with pytest.raises(SpecError) as caught:
        checked_words(words)

    given = words if isinstance(words, str) else words[0]
    assert repr(given) in str(caught.value)
    if given == "lexicon:labMT":
        assert all(f"lexicon:{name}" in str(caught.value) for name in LEXICONS)


# Sampled sweeps


def test_one_id_of_each_stratum_is_scored(tmp_path: Path, unmeasured: None) -> None:
    """And no other; each row is the census's. The seed decides which, and is part of the key."""
    model, reader = Many(), Many()

    swept, again, other = take(tmp_path, model), take(tmp_path, reader), take(tmp_path, seed=1)

    assert len(swept.frame) == len(model.scored) == 10
    assert (swept.sample, swept.keys) == (Sample(10, 100, 0), (swept.key,))
    assert swept.provenance["part"] == "a sample: 10 of 100 token ids (seed 0)"
    everything = take(tmp_path, sample=None).frame
    same = everything[everything["token_id"].isin(ids(swept))].reset_index(drop=True)
    pd.testing.assert_frame_equal(swept.frame, same, check_exact=True)
    assert (ids(again), again.key, reader.scored) == (ids(swept), swept.key, [])
    assert ids(other) != ids(swept)
    assert other.key != swept.key
    assert ids(take(tmp_path, protocol="paper")) == ids(swept)
    outside = next(word for word in WORDS if word not in set(swept.frame["text"]))
    with pytest.raises(MeasureError, match=r"in a sample of 10 of 100 token ids \(seed 0\)"):
        swept.score_of(outside)


@pytest.mark.parametrize("size", [100, 101, 10**9])
def test_a_sample_as_large_as_the_vocabulary_is_the_census(tmp_path: Path, size: int) -> None:
    """Key and all; no word has to be looked up."""
    census, model = take(tmp_path, sample=None), Many()

    swept = take(tmp_path, model, sample=size, words=NAMED)

    assert (swept.key, swept.keys, swept.sample) == (census.key, (census.key,), None)
    assert "part" not in swept.provenance
    assert model.scored == []


def test_named_ids_are_there_too_under_a_key_of_their_own(tmp_path: Path) -> None:
    """The union by id, ascending, each id once, whether drawn too or not.

    Audits share the drawn ones whatever they name; the named ones do not depend on the draw.
    """
    census, plain = take(tmp_path, sample=None), take(tmp_path)
    of_drawn = WORDS[IDS.index(ids(plain)[4])]
    both, elsewhere = (take(tmp_path, words=[*NAMED, of_drawn], seed=seed) for seed in (0, 1))

    assert ids(both) == sorted({*ids(plain), 0, 3, 297})
    assert both.sample == Sample(10, 100, 0, named=4)
    assert both.frame["score"].tolist() == ids(both)
    assert both.frame.index.tolist() == list(range(len(both.frame)))
    assert both.provenance["named_ids"] == 4
    about = "Rests on a sample of 10 of 100 token ids (seed 0)"
    assert plain.caveats == (f"{about}.",)
    assert both.caveats == (f"{about}, and on all 4 ids of the words that the audit names.",)
    named = both.keys[1]
    assert both.keys == (plain.key, named)
    assert elsewhere.key != plain.key
    assert elsewhere.keys[1] == named
    assert take(tmp_path, words=["bk"]).keys[0] == plain.key
    assert take(tmp_path, words=["zz"]).keys == (plain.key,)  # words of no token name nothing
    stored = Store(tmp_path).read(named)
    assert stored is not None
    assert stored.frame["token_id"].tolist() == sorted([0, 3, 297, ids(plain)[4]])
    everything = take(tmp_path, words=WORDS)
    assert ids(everything) == list(IDS)
    assert census.key not in everything.keys


def test_a_sweep_is_handed_on_as_it_is_stored(tmp_path: Path) -> None:
    """By its key: of those made in this run or read back, the same; what is no sweep is None."""
    both, store = take(tmp_path, words=NAMED), Store(tmp_path)

    handed, read = (sweep_under(both.key, store, made) for made in ({both.key: both}, {}))

    assert handed is not None
    assert read is not None
    assert len(handed.frame) == 10
    pd.testing.assert_frame_equal(handed.frame, read.frame)
    assert (handed.provenance, handed.prompt) == (read.provenance, read.prompt)
    assert sweep_under(both.keys[1], store) is None
    assert sweep_under("0" * 64, store) is None
    kept = store.complete(
        Work({"a": "b"}, handed.frame[["text"]], lambda _: np.zeros(10, "f4"), dict)
    )
    assert sweep_under(kept.key, store) is None


def test_the_noise_is_the_larger_one(tmp_path: Path) -> None:
    """Of the drawn and the named ids."""
    take(tmp_path, Many(off=0.25))

    assert take(tmp_path, Many(off=0.5), words=NAMED).noise == 0.5
    assert take(tmp_path, Many(off=0.125), words=["bk", "bl"]).noise == 0.25


def test_what_is_wrong_is_refused_before_any_scoring(tmp_path: Path, monkeypatch: Patch) -> None:
    """Also words that a census does not need, and a lexicon that cannot be had."""
    (tmp_path / "afinn").mkdir()
    (tmp_path / "afinn" / "AFINN-111.txt").write_text("damaged")
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    model = Many()

    for wrong in ({"sample": 0}, {"words": ["two words"]}, {"words": ["!"], "sample": None}):
        with pytest.raises(SpecError):
            take(tmp_path, model, **wrong)
    with pytest.raises(ReferenceMissing, match="get it with: "):
        take(tmp_path, model, words=["lexicon:afinn"])

    assert model.scored == []


# Words of a lexicon, of which a sample has some


@pytest.fixture
def rated(mirror: Path) -> pd.Series[str]:
    """Every word of a lexicon in three spellings, and as many tokens that are none of them."""
    words = [word for word in lexicon("afinn").index if word.isalpha()]
    spelt = [text for word in words for text in (word, f" {word}", f" {word.title()}")]
    return pd.Series([*spelt, *(f"#{i}" for i in range(len(spelt)))], dtype="str")


@pytest.mark.parametrize("size", [30, 300, 1001])
def test_a_lexicon_names_no_more_ids_than_are_drawn(rated: pd.Series[str], size: int) -> None:
    """Whole words, with every spelling; words named one by one are all there, and are counted.

    With room for all of them, all are there.
    """
    every = mask_of_words(rated, ["lexicon:afinn"])
    whole = mask_of_scored_words(rated, ["lexicon:afinn"], size=int(every.sum()), seed=0)
    assert (whole == every).all()
    found = rated[mask_of_scored_words(rated, ["lexicon:afinn", "xyzzy"], size=size, seed=0)]
    spellings = found.str.strip().str.lower().value_counts()

    assert size - 3 < len(found) <= size
    assert set(spellings) == {3}
    good = mask_of_scored_words(rated, ["lexicon:afinn", "good", "bad"], size=size, seed=0)
    assert {" good", "good", " Bad", "bad"} <= set(rated[good])
    assert good.sum() <= size


def test_the_word_and_the_seed_decide_what_is_drawn(rated: pd.Series[str]) -> None:
    """A larger sample has what a smaller has, and so has another vocabulary in another order."""
    few, many, other = (
        set(rated[mask_of_scored_words(rated, ["lexicon:afinn"], size=size, seed=seed)])
        for size, seed in ((90, 0), (900, 0), (90, 1))
    )
    turned = rated.iloc[::-1].reset_index(drop=True)

    assert few < many
    assert set(turned[mask_of_scored_words(turned, ["lexicon:afinn"], size=90, seed=0)]) == few
    assert other != few


class Rated(Letters):
    """A model whose tokens are the words of a lexicon, in two spellings, and others."""

    def vocabulary(self) -> Vocabulary:
        """Ids from 0."""
        words = [word for word in lexicon("afinn").index if word.isalpha()]
        texts = (*words, *(f" {word}" for word in words), *(f"#{i}" for i in range(1000)))
        return Vocabulary(tuple(range(len(texts))), texts, texts)


def test_a_small_sample_is_small(mirror: Path, tmp_path: Path, unmeasured: None) -> None:
    """It scores at most twice what was asked for, an audit gets whole words, and both say so."""
    model, words = Rated(), ("lexicon:afinn",)
    both = take(tmp_path, model, sample=100, words=words)
    own = both.naming(words)

    assert 190 < len(model.scored) <= 200
    assert own.sample is not None
    assert not own.sample.whole
    (said,) = own.caveats
    assert f"of 100 of {len(model.vocabulary().ids):,} token ids (seed 0), and on " in said
    assert said.endswith(
        f"on {own.sample.named} ids of words drawn from those that the audit names."
    )
    of_words = own.frame["text"][mask_of_words(own.frame["text"], words)].str.strip()
    assert set(of_words.value_counts()) == {2}
    assert len(of_words) == own.sample.named
    (plain,) = both.naming(()).caveats
    assert plain.endswith("token ids (seed 0).")
