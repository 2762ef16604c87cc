"""A sweep scores every token id once, keeps the scores, and finds them again without a model."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.errors import MeasureError, ScoreError, SpecError, StoreError
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.text_scorer import TextScorer
from rmaudit.prompts import PROMPTS
from rmaudit.scores.sweep import sweep
from rmaudit.scores.sweep_result import Sweep
from rmaudit.scores.text_rewards import score_texts
from tests.scores.letters import Letters, sweep_of
from tests.toys import SPECIAL, toy_tokenizer

Patch = pytest.MonkeyPatch

SIZE = len(toy_tokenizer())


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache into which `swept` swept."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def swept(folder: Path, cache: Path) -> Sweep:
    """A sweep of the real checkpoint."""
    return sweep(checkpoint(folder, cache), "greatest", cache=cache)


def checkpoint(folder: Path, cache: Path) -> Checkpoint:
    """The folder, fresh: its weights are not loaded."""
    return Checkpoint(ModelSpec("toy", str(folder)), cache=cache)


def ranked(scores: Sequence[float]) -> Sweep:
    """A sweep with these scores, its tokens called t0, t1 ..."""
    return sweep_of([f"t{i}" for i in range(len(scores))], scores)


# What a sweep holds


def test_a_judge_that_draws_the_order_of_a_pair_is_told(tmp_path: Path) -> None:
    """It gives an answer another reward each time it is asked (reward-bench#272)."""
    rng, words = np.random.default_rng(0), [f"word{i}" for i in range(64)]

    def judge(_: str, responses: Sequence[str]) -> list[float]:
        places = rng.choice([-1, 1], size=len(responses))  # which answer comes first
        return [0.01 * len(text) + place for text, place in zip(responses, places, strict=True)]

    entry = {"vocabulary": words, "version": "1", "batch": 64, "retries": 0, "concurrency": 1}
    scorer = TextScorer(ScorerEntry("judge", judge, **entry))
    with pytest.raises(SpecError, match="judge: a function of texts has no protocol 'exact'"):
        sweep(scorer, "best", protocol="exact", cache=tmp_path)
    found = sweep(scorer, "best", cache=tmp_path)

    (said,) = [text for text in found.caveats if "Asked again" in text]
    assert f"rewards are {found.noise:.2g} off" in said
    assert "they are drawn at random" in said
    assert 0.5 < found.noise < 2


@pytest.mark.slow
def test_a_row_for_every_id(folder: Path, cache: Path, swept: Sweep) -> None:
    """All ids in their order, special, byte and added ones too; each has its own reward.

    The sweep has model, prompt, key, everything that decides the scores, and what ran.
    """
    frame, model = swept.frame, checkpoint(folder, cache)

    assert frame["token_id"].tolist() == list(range(SIZE))
    assert frame["token"].tolist()[:5] == SPECIAL
    assert frame["text"].iloc[-1] == "<added>"
    assert list(frame.columns) == ["token_id", "token", "text", "score"]
    assert (frame["token_id"].dtype, frame["score"].dtype) == (np.int32, np.float32)
    assert all(type(value) is str for value in [*frame["token"], *frame["text"]])
    assert frame["score"].nunique() > SIZE / 2
    picked = [0, 4, 5, 100, 275, SIZE - 1]
    scores = model.score(PROMPTS["greatest"].text, [(i,) for i in picked])
    assert frame["score"][picked].tolist() == pytest.approx(scores.tolist(), abs=1e-5)
    about = swept.provenance
    assert (swept.model, swept.prompt, len(swept.key)) == ("toy", PROMPTS["greatest"], 64)
    assert model.identity.items() <= about.items()
    assert (about["prompt"], about["protocol"]) == (PROMPTS["greatest"].text, "exact")
    assert (about["source"], about["suffix"], about["suffix_ids"]) == (str(folder), "<|end|>", 1)
    assert PROMPTS["greatest"].text in about["prefix"]


# What is swept


def test_a_name_is_loaded(folder: Path, cache: Path, swept: Sweep) -> None:
    """What `rmaudit.load` and `rmaudit.run` take, `sweep` takes, too."""
    for given in (folder, str(folder)):
        named = sweep(given, "greatest", cache=cache)

        assert (named.model, named.key) == ("toy", swept.key)
        assert named.frame.equals(swept.frame)


def test_what_is_no_model_or_no_sweep_is_refused(swept: Sweep) -> None:
    """The error says who gives one."""
    with pytest.raises(SpecError, match=r"got 3; give what rmaudit\.load returns"):
        sweep(3, "best")
    with pytest.raises(SpecError, match=r"got 'worst'; give what rmaudit\.sweep returns"):
        swept.compare("worst")


# The cache


def test_a_second_call_is_a_read(folder: Path, cache: Path, swept: Sweep, tmp_path: Path) -> None:
    """Not even where the weights are gone by then; nor for a copy elsewhere of another name."""
    copied = shutil.copytree(folder, tmp_path / "copy")
    model = Checkpoint(ModelSpec("another name", str(copied)), cache=cache)
    mean = model.identity  # the hashes are known from here on
    (copied / "model.safetensors").write_bytes(b"")
    os.utime(copied / "model.safetensors")

    again = sweep(model, "greatest", cache=cache)

    assert mean["weights"]
    assert (again.model, again.key) == ("another name", swept.key)
    pd.testing.assert_frame_equal(again.frame, swept.frame)


def test_keys_are_those_of_earlier_releases(tmp_path: Path) -> None:
    """Caches stay of use. A key that changes here costs every user every sweep: raise VERSION."""
    model = Letters()
    sampled = sweep(model, "best", cache=tmp_path, sample=3, words=["b"])

    assert [
        sweep(model, "best", cache=tmp_path).key,
        *sampled.keys,
        sweep(model, "best", cache=tmp_path, protocol="paper").key,
        score_texts(model, "best", ["a", "ab"], cache=tmp_path).key,
    ] == [
        "d20c4e351b20b0706c12834c2589b4c41a8ad5e42bfe7d9cde1500dd8124543d",
        "209ce7674386b21d513e73ab6051cbac2cc35ec781f3afecc9629826623db3b3",
        "88df1ee473b06ce4889ecd498db57a7a972099f1a118b5342e599ff207cea533",
        "94c29073a364fceb83b907dc98bd57b89cf140b0413dc2e4ac1a65c633aacea7",
        "21c8952560b2ec62ae2e7a9ad4c8d811b235ac154cd966cb5619f41118ca9d28",
    ]


def test_the_users_cache_is_the_default(tmp_path: Path, monkeypatch: Patch) -> None:
    """Without `cache` the scores are kept in the user's."""
    monkeypatch.setattr("rmaudit.scores.score_store.default_cache", lambda: tmp_path)

    swept = sweep(Letters(), "best")

    assert (tmp_path / "scores" / f"{swept.key}.parquet").is_file()


def test_what_goes_wrong_is_never_stored(tmp_path: Path) -> None:
    """A score that is no number, a protocol that there is not, a cache that cannot be written."""

    class Broken(Letters):
        def _sums(self, rows: Any) -> Any:
            raise ScoreError("1 of 5 rewards are not finite numbers")

    with pytest.raises(ScoreError):
        sweep(Broken(), "best", cache=tmp_path)
    model = Letters()
    with pytest.raises(SpecError, match=r"'papers'.*exact, paper"):
        sweep(model, "best", protocol="papers", cache=tmp_path)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="give another folder with --rm-cache"):
        sweep(model, "best", cache=tmp_path / "file")

    assert model.scored == []
    assert not list(tmp_path.rglob("*.parquet"))
    assert sweep(model, "best", cache=tmp_path).frame["score"].tolist() == [0, 1, 2, 5, 6]


# The best and the worst


@pytest.mark.parametrize(
    ("scores", "top", "bottom"),
    [
        ([3, 1, 3, 2], [0, 2, 3, 1], [1, 3, 0, 2]),
        ([-0.0, 0.0, -1, 0.0], [0, 1, 3, 2], [2, 0, 1, 3]),
        ([i % 3 for i in range(300)], range(2, 300, 3), range(0, 300, 3)),  # not by a stable sort
    ],
)
def test_top_and_bottom_are_sorted_and_ties_are_in_the_order_of_their_ids(
    scores: Sequence[float], top: Sequence[int], bottom: Sequence[int]
) -> None:
    """The best first in `top`, the worst first in `bottom`; so many, and no more than there are."""
    swept = ranked(scores)

    assert swept.top(len(top))["token_id"].tolist() == list(top)
    assert swept.bottom(len(bottom))["token_id"].tolist() == list(bottom)
    assert len(swept.top()) == len(swept.bottom()) == min(25, len(scores))
    assert len(swept.top(0)) == 0
    assert len(swept.bottom(10**6)) == len(scores)


def test_tau_is_over_the_texts_that_both_have() -> None:
    """Whatever their order and number; too few of them give no number."""
    one, more = ranked(range(40)), ranked([*range(40), -5.0, 99.0])
    backwards = ranked([-score for score in range(40)])

    assert one.tau(more) == one.tau(one) == 1.0
    assert one.tau(backwards) == -1.0
    assert 0.9 < one.tau(ranked([1, 0, *range(2, 40)])) < 1.0
    with pytest.raises(MeasureError, match="share 2 texts, too few: tau needs 30"):
        one.tau(ranked([1.0, 2.0]))


def test_score_of_a_text_is_that_tokens(swept: Sweep) -> None:
    """The decoded text is matched exactly, leading space and all."""
    for text in ("love", " love", "<added>", "\n"):
        (token_id,) = toy_tokenizer()(text, add_special_tokens=False).input_ids
        assert swept.score_of(text) == swept.frame["score"][token_id]
    assert swept.score_of("love") != swept.score_of(" love")
    with pytest.raises(MeasureError, match=r"^\d{2,} tokens decode to .*: ids \[(\d+, ){4}\d+\]$"):
        swept.score_of("\ufffd")


@pytest.mark.parametrize(
    ("texts", "near"),
    [
        (["lover", "glove", " love", "x", "y"], {"'lover'", "'glove'", "' love'"}),
        ([" love", " love", "y"], {"' love'"}),
        (["x", "y"], set()),
    ],
)
def test_score_of_an_unknown_text_suggests_near_tokens(texts: list[str], near: set[str]) -> None:
    """Each once, and only what can be followed: texts of tokens."""
    with pytest.raises(MeasureError) as caught:
        sweep_of(texts, range(len(texts))).score_of("love")

    told, _, nearest = str(caught.value).partition("; nearest: [")
    suggested = nearest.partition("]")[0]
    assert "'love'" in told
    assert set(suggested.split(", ")) - {""} == near
    assert "model.score" in nearest


# Texts


def test_texts_are_scored_once_and_come_in_the_callers_order(folder: Path, tmp_path: Path) -> None:
    """Texts of several tokens, doubled ones and the empty one score as the model scores them."""
    model = checkpoint(folder, tmp_path)
    texts = ["peace and joy", "war", "", "peace and joy", " war"]

    scored, again = (score_texts(model, "best", texts, cache=tmp_path) for _ in range(2))
    turned = score_texts(model, "best", texts[::-1], cache=tmp_path)

    expected = model.score(PROMPTS["best"].text, texts)
    assert scored.scores.tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    assert scored.scores[0] == scored.scores[3]
    assert scored.scores.dtype == np.float32
    assert 0 <= scored.noise < 1e-5
    assert (tmp_path / "scores" / f"{scored.key}.parquet").is_file()
    assert (again.scores.tolist(), again.noise) == (scored.scores.tolist(), scored.noise)
    assert again.key == scored.key != turned.key
    assert turned.scores.tolist() == pytest.approx(scored.scores.tolist()[::-1], abs=1e-5)


def test_no_texts_are_no_scores(tmp_path: Path) -> None:
    """An empty list is an empty array, the second time too; there is no noise to measure."""
    for _ in range(2):
        scored = score_texts(Letters(), "best", [], cache=tmp_path)

        assert (scored.scores.shape, scored.scores.dtype) == ((0,), np.float32)
        assert np.isnan(scored.noise)


# After training


def test_a_tilted_policy_is_likeliest_first() -> None:
    """Log-odds move with the rewards; ids that the policy does not know are left out."""
    sweep = ranked([0.0, 1.0, 2.0, 5.0])
    policy = pd.Series([-1.0, -1.0, -3.0], index=sweep.frame["token_id"].iloc[:3])

    found = sweep.tilt(policy, nats=0.3)

    assert len(found) == 3
    assert found["after"].is_monotonic_decreasing
    assert found["before"].sum() == pytest.approx(1)
    assert found["after"].sum() == pytest.approx(1)
    gain = np.log(found["after"] / found["before"])
    assert gain @ found["after"] == pytest.approx(0.3)
    assert np.corrcoef(gain, found["score"])[0, 1] == pytest.approx(1)


@pytest.mark.parametrize(("index", "says"), [([99], "no token id"), ([0], "one reward")])
def test_what_has_no_optimum_is_refused(index: list[int], says: str) -> None:
    """Nothing in common with the policy, or nothing to choose."""
    with pytest.raises(MeasureError, match=says):
        ranked([0.0, 1.0]).tilt(pd.Series([-1.0], index=index), nats=1)
