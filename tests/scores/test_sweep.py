"""A sweep scores every token id once, keeps the scores, and finds them again without a model."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import MeasureError, ScoreError, SpecError, StoreError
from rmaudit.layout.slot import Slot, Vocabulary
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.prompts import FAMILY, PROMPTS, Prompt
from rmaudit.scores import store
from rmaudit.scores.sweep import Sweep, score_texts, sweep
from tests.scores.letters import Letters
from tests.toys import SPECIAL, toy_checkpoint, toy_tokenizer

SIZE = len(toy_tokenizer())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real checkpoint."""
    return toy_checkpoint(tmp_path_factory.mktemp("toy") / "toy")


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
    names = [f"t{i}" for i in range(len(scores))]
    frame = pd.DataFrame(
        {
            "token_id": np.arange(len(scores), dtype=np.int32),
            "token": names,
            "text": names,
            "score": np.array(scores, dtype=np.float32),
        }
    )
    return Sweep("toy", PROMPTS["best"], "key", frame, {})


# What a sweep holds


def test_a_row_for_every_id(swept: Sweep) -> None:
    """All ids in their order, special, byte and added ones among them, typed as documented."""
    frame = swept.frame

    assert frame["token_id"].tolist() == list(range(SIZE))
    assert frame["token"].tolist()[:5] == SPECIAL
    assert frame["text"].iloc[-1] == "<added>"
    assert list(frame.columns) == ["token_id", "token", "text", "score"]
    assert frame["token_id"].dtype == np.int32
    assert frame["score"].dtype == np.float32
    assert all(type(value) is str for value in [*frame["token"], *frame["text"]])
    assert np.isfinite(frame["score"]).all()
    assert frame["score"].nunique() > SIZE / 2


def test_scores_are_those_of_the_model(folder: Path, cache: Path, swept: Sweep) -> None:
    """Each row has the reward of its id as the one-token answer to the prompt."""
    picked = [0, 4, 5, 100, 275, SIZE - 1]

    scores = checkpoint(folder, cache).score(PROMPTS["greatest"].text, [(i,) for i in picked])

    assert swept.frame["score"][picked].tolist() == pytest.approx(scores.tolist(), abs=1e-5)


def test_a_sweep_says_where_it_comes_from(folder: Path, swept: Sweep) -> None:
    """Model, prompt, key, everything that decides the scores, and what ran."""
    model = checkpoint(folder, folder.parent / "another cache")

    assert (swept.model, swept.prompt, len(swept.key)) == ("toy", PROMPTS["greatest"], 64)
    assert model.identity.items() <= swept.provenance.items()
    assert swept.provenance["prompt"] == PROMPTS["greatest"].text
    assert swept.provenance["protocol"] == "exact"
    assert swept.provenance["source"] == str(folder)
    assert swept.provenance["suffix"] == "<|end|>"
    assert swept.provenance["suffix_ids"] == 1
    assert PROMPTS["greatest"].text in swept.provenance["prefix"]


# The cache


def test_the_second_call_loads_no_weights(folder: Path, cache: Path, swept: Sweep) -> None:
    """A fresh model finds the sweep in the cache and never builds its scorer."""
    model = checkpoint(folder, cache)

    again = sweep(model, "greatest", cache=cache)

    assert model._weights is None
    pd.testing.assert_frame_equal(again.frame, swept.frame)
    assert (again.key, again.provenance) == (swept.key, swept.provenance)


def test_the_first_call_does_load_them(folder: Path, tmp_path: Path) -> None:
    """With an empty cache the scorer is built: the test above can fail."""
    model = checkpoint(folder, tmp_path)

    sweep(model, "greatest", cache=tmp_path)

    assert model._weights is not None


def test_a_copy_of_the_checkpoint_shares_its_sweeps(
    folder: Path, cache: Path, swept: Sweep, tmp_path: Path
) -> None:
    """Neither path nor name is part of the key."""
    copied = shutil.copytree(folder, tmp_path / "copy")
    model = Checkpoint(ModelSpec("another name", str(copied)), cache=cache)

    again = sweep(model, "greatest", cache=cache)

    assert model._weights is None
    assert (again.model, again.key) == ("another name", swept.key)


@pytest.mark.parametrize("what", ["prompt", "identity", "template"])
def test_whatever_decides_a_score_is_in_the_key(
    tmp_path: Path, what: str, unmeasured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another prompt, another model or another rendering is scored anew."""
    model = Letters()
    first = sweep(model, "best", cache=tmp_path)
    model.scored.clear()
    if what == "identity":
        model.identity = {"weights": "0b"}
    if what == "template":
        monkeypatch.setattr(model, "slot", lambda prompt: Slot(prompt, (1, 2), (3,), "", ""))

    second = sweep(model, "worst" if what == "prompt" else "best", cache=tmp_path)

    assert second.key != first.key
    assert len(model.scored) == 5


def test_keys_are_those_of_earlier_releases(tmp_path: Path) -> None:
    """Caches stay of use. A key that changes here costs every user every sweep: raise VERSION."""
    model = Letters()
    sampled = sweep(model, "best", cache=tmp_path, sample=3, words=["b"])

    assert [
        sweep(model, "best", cache=tmp_path).key,
        sampled.key,
        sampled.named_key,
        sweep(model, "best", cache=tmp_path, protocol="paper").key,
        score_texts(model, "best", ["a", "ab"], cache=tmp_path).key,
    ] == [
        "d20c4e351b20b0706c12834c2589b4c41a8ad5e42bfe7d9cde1500dd8124543d",
        "209ce7674386b21d513e73ab6051cbac2cc35ec781f3afecc9629826623db3b3",
        "88df1ee473b06ce4889ecd498db57a7a972099f1a118b5342e599ff207cea533",
        "94c29073a364fceb83b907dc98bd57b89cf140b0413dc2e4ac1a65c633aacea7",
        "21c8952560b2ec62ae2e7a9ad4c8d811b235ac154cd966cb5619f41118ca9d28",
    ]


def test_the_users_cache_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `cache` the scores are kept in the user's."""
    monkeypatch.setattr("rmaudit.scores.sweep.default_cache", lambda: tmp_path)

    swept = sweep(Letters(), "best")

    assert (tmp_path / "scores" / f"{swept.key}.parquet").is_file()


def test_a_broken_sweep_goes_on(
    tmp_path: Path, unmeasured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep that was interrupted scores only what is missing, and is none the worse for it."""
    monkeypatch.setattr(store, "SHARD", 2)
    model, real = Letters(), Letters.score

    def score(self: Letters, prompt: str, responses: Sequence[Any], **settings: Any) -> Any:
        if (5,) in responses:  # the third of three shards starts at id 6, the second at id 2
            raise KeyboardInterrupt
        return real(self, prompt, responses, **settings)

    with monkeypatch.context() as broken:
        broken.setattr(Letters, "score", score)
        with pytest.raises(KeyboardInterrupt):
            sweep(model, "best", cache=tmp_path)
    model.scored.clear()

    swept = sweep(model, "best", cache=tmp_path)

    assert [answer for _, answer in model.scored] == [(2,), (5,), (6,)]
    assert swept.frame["score"].tolist() == [0, 1, 2, 5, 6]


# Prompts and protocols


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("worst", PROMPTS["worst"]),
        ("worst_ever_one", PROMPTS["worst"]),
        ("bad_time_please", FAMILY["bad_time_please"]),
        ("Is it good?", Prompt("custom", "Is it good?", +1)),
        (Prompt("mine", "Is it bad?", -1), Prompt("mine", "Is it bad?", -1)),
        ("", Prompt("custom", "", +1)),
    ],
    ids=["name", "name in the family", "of the family", "text", "prompt", "empty text"],
)
def test_a_prompt_is_a_name_or_any_text(tmp_path: Path, given: str | Prompt, meant: Prompt) -> None:
    """One of the paper's names means its text; anything else is asked as it stands."""
    model = Letters()

    swept = sweep(model, given, cache=tmp_path)

    assert swept.prompt == meant
    assert {prompt for prompt, _ in model.scored} == {meant.text}


def test_an_unknown_protocol_is_refused(tmp_path: Path) -> None:
    """The protocols there are, are named, and the model is asked nothing."""
    model = Letters()

    with pytest.raises(SpecError) as caught:
        sweep(model, "best", protocol="papers", cache=tmp_path)

    assert str(caught.value) == "unknown protocol 'papers'; known: exact, paper"
    assert model.scored == []


# Errors on the way


def test_a_score_that_is_no_number_is_never_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ScoreError leaves nothing that a later call could read."""
    model = Letters()

    def refuse(*_: object, **__: object) -> NDArray[np.float32]:
        raise ScoreError("1 of 5 rewards are not finite numbers")

    with monkeypatch.context() as broken:
        broken.setattr(model, "score", refuse)
        with pytest.raises(ScoreError):
            sweep(model, "best", cache=tmp_path)

    assert not list(tmp_path.rglob("*.parquet"))
    assert sweep(model, "best", cache=tmp_path).frame["score"].tolist() == [0, 1, 2, 5, 6]


def test_a_cache_that_cannot_be_written_is_refused(folder: Path, tmp_path: Path) -> None:
    """The error of a real checkpoint, too, names the option that gives another folder."""
    (tmp_path / "file").write_text("not a folder")
    cache = tmp_path / "file" / "cache"

    with pytest.raises(StoreError, match="give another folder with --rm-cache"):
        sweep(checkpoint(folder, cache), "best", cache=cache)


# The best and the worst


def test_top_and_bottom_are_sorted(swept: Sweep) -> None:
    """The best come first in `top`, the worst first in `bottom`; 25 unless told otherwise."""
    top, bottom = swept.top(), swept.bottom()

    assert len(top) == len(bottom) == 25
    assert top["score"].is_monotonic_decreasing
    assert bottom["score"].is_monotonic_increasing
    assert top["score"].iloc[0] == swept.frame["score"].max()
    assert bottom["score"].iloc[0] == swept.frame["score"].min()
    assert list(top.columns) == list(swept.frame.columns)


@pytest.mark.parametrize(
    ("scores", "top", "bottom"),
    [
        ([1, 1, 1, 1], [0, 1, 2, 3], [0, 1, 2, 3]),
        ([1, 2, 1, 2], [1, 3, 0, 2], [0, 2, 1, 3]),
        ([3, 1, 3, 2], [0, 2, 3, 1], [1, 3, 0, 2]),
        ([-0.0, 0.0, -1, 0.0], [0, 1, 3, 2], [2, 0, 1, 3]),
    ],
)
def test_ties_are_in_the_order_of_their_ids(
    scores: list[float], top: list[int], bottom: list[int]
) -> None:
    """Equal scores are told by their ids, at both ends."""
    swept = ranked(scores)

    assert swept.top()["token_id"].tolist() == top
    assert swept.bottom()["token_id"].tolist() == bottom


def test_many_ties_are_in_the_order_of_their_ids() -> None:
    """So are hundreds of them, where an unstable sort would mix them up."""
    swept = ranked([i % 3 for i in range(300)])

    assert swept.top(100)["token_id"].tolist() == list(range(2, 300, 3))
    assert swept.bottom(100)["token_id"].tolist() == list(range(0, 300, 3))


@pytest.mark.parametrize(("n", "rows"), [(0, 0), (1, 1), (3, 3), (10, 3)])
def test_n_is_how_many(n: int, rows: int) -> None:
    """No more than asked for, and no more than there are."""
    swept = ranked([1, 2, 3])

    assert (len(swept.top(n)), len(swept.bottom(n))) == (rows, rows)


# One token's score


@pytest.mark.parametrize("text", ["love", " love", "<added>", "\n"])
def test_score_of_a_text_is_that_tokens(swept: Sweep, text: str) -> None:
    """The decoded text is matched exactly, leading space and all."""
    (token_id,) = toy_tokenizer()(text, add_special_tokens=False).input_ids

    assert swept.score_of(text) == swept.frame["score"][token_id]
    assert swept.score_of("love") != swept.score_of(" love")


def unknown(texts: Sequence[str], text: str) -> str:
    """The refusal of a text that is none of these tokens."""
    swept = ranked(range(len(texts)))
    with pytest.raises(MeasureError) as caught:
        Sweep("toy", swept.prompt, "", swept.frame.assign(text=texts), {}).score_of(text)
    return str(caught.value)


def test_score_of_an_unknown_text_suggests_near_ones() -> None:
    """Tokens that are spelled alike are named, the one with a leading space among them."""
    message = unknown(["lover", "glove", " love", "x", "y"], "love")

    assert message.startswith("no single token decodes to 'love'; nearest: [")
    assert message.endswith("]; see model.score for texts")
    assert all(near in message for near in ("'lover'", "'glove'", "' love'"))


@pytest.mark.parametrize(
    ("texts", "nearest"), [(["x", "y"], "[]"), ([" love", "y"], "[' love']")], ids=["none", "one"]
)
def test_only_tokens_are_suggested_and_each_once(texts: list[str], nearest: str) -> None:
    """A suggestion can be followed: it is the text of a token."""
    assert f"nearest: {nearest};" in unknown(texts, "love")


def test_score_of_an_ambiguous_text_is_refused(tmp_path: Path) -> None:
    """Byte fragments decode to the same sign; their ids are named rather than one chosen."""
    with pytest.raises(MeasureError) as caught:
        sweep(Letters(), "best", cache=tmp_path).score_of("\ufffd")

    assert str(caught.value) == "2 tokens decode to '\ufffd': ids [5, 6]"


def test_an_ambiguous_text_names_five_ids(swept: Sweep) -> None:
    """Of many tokens that decode alike, the first five are enough."""
    with pytest.raises(MeasureError, match=r"^\d{2,} tokens decode to .*: ids \[(\d+, ){4}\d+\]$"):
        swept.score_of("\ufffd")


# Texts


def test_texts_come_back_in_the_callers_order(folder: Path, tmp_path: Path) -> None:
    """Texts of several tokens, doubled ones and the empty one score as the model scores them."""
    model = checkpoint(folder, tmp_path)
    texts = ["peace and joy", "war", "", "peace and joy", " war"]

    scored = score_texts(model, "best", texts, cache=tmp_path)

    expected = model.score(PROMPTS["best"].text, texts)
    assert scored.scores.tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    assert scored.scores[0] == scored.scores[3]
    assert scored.scores.dtype == np.float32
    assert 0 <= scored.noise < 1e-5
    assert (tmp_path / "scores" / f"{scored.key}.parquet").is_file()


def test_texts_are_scored_once(folder: Path, tmp_path: Path) -> None:
    """The same list is read back without the weights; the same texts in another order are not."""
    texts = ["war", "peace and joy"]
    first = score_texts(checkpoint(folder, tmp_path), "best", texts, cache=tmp_path)
    model = checkpoint(folder, tmp_path)

    again = score_texts(model, "best", texts, cache=tmp_path)
    assert model._weights is None
    assert (again.scores.tolist(), again.noise) == (first.scores.tolist(), first.noise)
    assert again.key == first.key

    turned = score_texts(model, "best", texts[::-1], cache=tmp_path)
    assert model._weights is not None
    assert turned.scores.tolist() == pytest.approx(first.scores.tolist()[::-1], abs=1e-5)
    assert turned.key != first.key


def test_no_texts_are_no_scores(tmp_path: Path) -> None:
    """An empty list is an empty array, the second time too."""
    for _ in range(2):
        scored = score_texts(Letters(), "best", [], cache=tmp_path)

        assert scored.scores.shape == (0,)
        assert scored.scores.dtype == np.float32
        assert scored.noise == 0.0


def test_texts_that_are_the_vocabulary_are_no_sweep(tmp_path: Path) -> None:
    """Scoring each token's text first does not spoil the sweep that follows."""

    class TwoLetters(Letters):
        def vocabulary(self) -> Vocabulary:
            return Vocabulary((0, 1), ("a", "b"), ("a", "b"))

    score_texts(TwoLetters(), "best", ["a", "b"], cache=tmp_path)

    assert sweep(TwoLetters(), "best", cache=tmp_path).frame["token_id"].tolist() == [0, 1]
