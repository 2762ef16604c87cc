"""A sample of the vocabulary: stratified, unbiased, apart from what is named by words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import ReferenceMissing, SpecError
from rmaudit.layout.slot import Vocabulary
from rmaudit.measures import framing_inversion
from rmaudit.measures.joined import Answers
from rmaudit.scores.sample import Sample, checked_size, spread
from rmaudit.scores.store import Store
from rmaudit.scores.sweep import Sweep, sweep
from tests.scores.letters import Letters

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


def test_every_place_is_as_likely_as_any_other() -> None:
    """Also where the strata are not of equal size: 7 of 10 places, 20,000 draws."""
    rng = np.random.default_rng(0)
    drawn = np.concatenate([spread(10, 7, rng) for _ in range(20_000)])

    assert np.bincount(drawn, minlength=10) / 20_000 == pytest.approx(np.full(10, 0.7), abs=0.015)


@pytest.mark.parametrize("size", [0, -3, 2.5, "10", True, None])
def test_a_sample_has_a_size(size: Any) -> None:
    """Nothing else is taken for one."""
    with pytest.raises(SpecError) as caught:
        checked_size(size)

    assert str(caught.value) == (
        f"a sample needs a positive whole number of token ids, got {size!r}"
    )


@pytest.mark.parametrize(
    ("named", "caveat"),
    [
        (0, "Rests on a sample of 2,000 of 49,152 token ids (seed 1)."),
        (
            3201,
            (
                "Rests on a sample of 2,000 of 49,152 token ids (seed 1), and on all 3,201 ids of "
                "the words that the audit names."
            ),
        ),
    ],
)
def test_a_sample_says_what_it_is(named: int, caveat: str) -> None:
    """In a sentence."""
    assert Sample(2000, 49152, 1, named).caveat == caveat


# Sampled sweeps


def test_one_id_of_each_stratum_is_scored(tmp_path: Path, unmeasured: None) -> None:
    """And no other; each row is the census's."""
    model = Many()

    swept = take(tmp_path, model)

    assert len(swept.frame) == len(model.scored) == 10
    assert swept.sample == Sample(10, 100, 0)
    assert swept.provenance["part"] == "a sample: 10 of 100 token ids (seed 0)"
    assert swept.frame.dtypes.equals(take(tmp_path, sample=None).frame.dtypes)
    everything = take(tmp_path, sample=None).frame
    same = everything[everything["token_id"].isin(ids(swept))].reset_index(drop=True)
    pd.testing.assert_frame_equal(swept.frame, same, check_exact=True)


def test_the_seed_decides(tmp_path: Path) -> None:
    """The same seed, the same ids, read from the cache; another seed, others."""
    first, model = take(tmp_path), Many()

    again = take(tmp_path, model)
    other = take(tmp_path, seed=1)

    assert model.scored == []
    assert (ids(again), again.key) == (ids(first), first.key)
    assert ids(other) != ids(first)
    assert other.key != first.key


@pytest.mark.parametrize("size", [100, 101, 10**9])
def test_a_sample_as_large_as_the_vocabulary_is_the_census(tmp_path: Path, size: int) -> None:
    """Key and all; no word has to be looked up."""
    census, model = take(tmp_path, sample=None), Many()

    swept = take(tmp_path, model, sample=size, words=NAMED)

    assert (swept.key, swept.keys, swept.sample) == (census.key, (census.key,), None)
    assert "part" not in swept.provenance
    assert model.scored == []


def test_named_ids_are_there_besides(tmp_path: Path) -> None:
    """The union by id, ascending, each id once, whether drawn too or not."""
    plain = take(tmp_path)
    of_drawn = WORDS[IDS.index(ids(plain)[4])]

    both = take(tmp_path, words=[*NAMED, of_drawn])

    assert ids(both) == sorted({*ids(plain), 0, 3, 297})
    assert both.sample == Sample(10, 100, 0, named=4)
    assert both.frame["score"].tolist() == ids(both)
    assert both.frame.index.tolist() == list(range(len(both.frame)))
    assert both.provenance["named_ids"] == 4


def test_the_drawn_and_the_named_ids_have_keys_of_their_own(tmp_path: Path) -> None:
    """Audits share the first whatever they name; the second does not depend on the draw."""
    plain, both = take(tmp_path), take(tmp_path, words=NAMED)
    elsewhere = take(tmp_path, words=NAMED, seed=1)

    assert both.keys == (plain.key, both.named_key)
    assert elsewhere.key != plain.key
    assert elsewhere.named_key == both.named_key
    assert take(tmp_path, words=["bk"]).keys[0] == plain.key
    named = Store(tmp_path).read(both.named_key)
    assert named is not None
    assert named.frame["token_id"].tolist() == [0, 3, 297]


def test_ids_that_are_named_are_no_census(tmp_path: Path) -> None:
    """Words that name every token of a vocabulary do not take the census's place."""
    census = take(tmp_path, sample=None)

    both = take(tmp_path, words=WORDS)

    assert ids(both) == list(IDS)
    assert census.key not in both.keys


def test_words_of_no_token_name_nothing(tmp_path: Path) -> None:
    """The plain sample is left."""
    assert take(tmp_path, words=["zz"]).keys == take(tmp_path).keys


def test_the_noise_is_the_larger_one(tmp_path: Path) -> None:
    """Of the drawn and the named ids."""
    take(tmp_path, Many(off=0.25))

    assert take(tmp_path, Many(off=0.5), words=NAMED).noise == 0.5
    assert take(tmp_path, Many(off=0.125), words=["bk", "bl"]).noise == 0.25


def test_a_sample_under_the_papers_protocol(tmp_path: Path) -> None:
    """The same ids under both."""
    swept = take(tmp_path, protocol="paper", words=NAMED)

    assert ids(swept) == ids(take(tmp_path, words=NAMED))
    assert swept.provenance["protocol"] == "paper"


def test_a_token_outside_the_sample_is_said_to_be_so(tmp_path: Path) -> None:
    """It may be in the vocabulary."""
    swept = take(tmp_path)
    outside = next(word for word in WORDS if word not in set(swept.frame["text"]))

    with pytest.raises(Exception, match=r"^no single token in a sample of 10 of 100 token ids \("):
        swept.score_of(outside)


@pytest.mark.parametrize(
    "wrong", [{"sample": 0}, {"words": ["two words"]}, {"words": ["!"], "sample": None}]
)
def test_what_is_wrong_is_refused_before_anything_is_scored(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    """Also words that a census does not need."""
    model = Many()

    with pytest.raises(SpecError):
        take(tmp_path, model, **wrong)

    assert model.scored == []


def test_a_missing_lexicon_stops_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is scored."""
    (tmp_path / "afinn").mkdir()
    (tmp_path / "afinn" / "AFINN-111.txt").write_text("damaged")
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    model = Many()

    with pytest.raises(ReferenceMissing):
        take(tmp_path, model, words=["lexicon:afinn"])

    assert model.scored == []


# What rests on them


def test_named_words_measure_as_in_the_census(tmp_path: Path) -> None:
    """Every spelling of every word that a lexicon rates is there: the correlation is the same."""
    ratings = pd.Series(np.random.default_rng(0).random(60), index=WORDS[:60], name="toy")

    def rho(swept: Sweep) -> tuple[float, int]:
        rng = np.random.default_rng(0)
        worst = swept.frame.assign(score=np.sin(swept.frame["token_id"]))
        answers = {"best": Answers(swept.frame, +1), "worst": Answers(worst, -1)}
        estimate = framing_inversion.inversion(answers, ratings, rng=rng)
        return estimate.secondary["best"], estimate.n

    assert rho(take(tmp_path, words=WORDS[:60])) == rho(take(tmp_path, sample=None))


def test_named_ids_would_bend_the_distribution(tmp_path: Path) -> None:
    """The plain sample's mean is about the vocabulary's; with the highest ids named it is not."""
    true = np.mean(IDS)
    plain = [take(tmp_path, seed=i).frame["score"].mean() for i in range(20)]
    bent = [take(tmp_path, seed=i, words=WORDS[80:]).frame["score"].mean() for i in range(20)]

    assert np.mean(plain) == pytest.approx(true, abs=5)
    assert np.mean(bent) > true + 50
