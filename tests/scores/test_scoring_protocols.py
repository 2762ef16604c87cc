"""The two protocols, and the noise that is measured on whatever they score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ScoreError, SpecError
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.scores import shard_scoring
from rmaudit.scores.shard_scoring import measured_noise
from rmaudit.scores.sweep import sweep
from rmaudit.scores.text_rewards import Rewards, score_texts
from tests.scores.letters import Letters
from tests.toys import toy_tokenizer

Patch = pytest.MonkeyPatch

SIZE = len(toy_tokenizer())
each_protocol = pytest.mark.parametrize("protocol", ["exact", "paper"])


# The next call while a GPU computes one


@pytest.mark.slow
@each_protocol
def test_late_reads_leave_the_same_file(
    folder: Path, tmp_path: Path, monkeypatch: Patch, protocol: str
) -> None:
    """As on a GPU, with one shard a call and then with two: the same bytes, the same numbers."""
    monkeypatch.setattr(shard_scoring, "SHARD", 8)
    spec = ModelSpec("toy", str(folder))
    prompt, files, calls = PROMPTS["best"], list[bytes](), list[int]()
    for behind, ids in ((0, 16), (1, 16), (1, 35)):
        model = Checkpoint(spec, cache=tmp_path / "known")
        slot = model.slot(prompt.asked)
        assert model.answers_a_call(prompt.asked) == 0  # its weights are not there yet
        scorer = model.weights(slot.prefix, slot.suffix).scorer
        scorer.behind, scorer.ids_per_batch = behind, ids
        calls.append(model.answers_a_call(prompt.asked))
        cache = tmp_path / f"cache-{behind}-{ids}"
        swept = sweep(model, prompt, protocol=protocol, cache=cache)
        (path,) = (cache / "scores").glob(f"{swept.key}.parquet")
        files.append(path.read_bytes())
        same = pd.read_parquet(tmp_path / "cache-0-16" / "scores" / path.name)
        np.testing.assert_allclose(swept.frame["score"], same["score"], rtol=0, atol=1e-5)

    assert calls == [0, 16 // (1 + len(slot.suffix)), 35 // (1 + len(slot.suffix))]
    assert files[0] == files[1]


# The paper's protocol


def test_under_the_papers_protocol_ids_share_rows(tmp_path: Path, unmeasured: None) -> None:
    """The frame is the exact one's but for the scores; each distinct row is scored once."""
    model = Letters()

    swept = sweep(model, "best", protocol="paper", cache=tmp_path)

    base = len(PROMPTS["best"].text) + 9
    exact = sweep(model, "best", cache=tmp_path / "exact")
    assert swept.frame["score"].tolist() == [base, base + 1, base + 1, base - 1, base - 1]
    assert swept.frame["score"].dtype == np.float32
    pd.testing.assert_frame_equal(
        swept.frame.drop(columns="score"), exact.frame.drop(columns="score")
    )
    assert len([row for prompt, row in model.scored if not prompt]) == 3
    about = swept.provenance
    assert (about["protocol"], about["template"], about["distinct_rows"]) == ("paper", "1a", 3)
    assert (about["prefix"], about["suffix"]) == (f"<{PROMPTS['best'].text}>", "</>")
    assert len(about["rendered_rows"]) == 64


def test_a_paper_sweep_is_read_back_without_rendering(tmp_path: Path) -> None:
    """Rendering a vocabulary takes long: the key does not need it. Another template does."""
    first = sweep(Letters(), "best", protocol="paper", cache=tmp_path)
    model, other = Letters(), Letters()
    other.template_digest = "1b"

    again = sweep(model, "best", protocol="paper", cache=tmp_path)
    anew = sweep(other, "best", protocol="paper", cache=tmp_path)

    assert (model.rendered, model.scored, other.rendered) == (0, [], 1)
    assert (again.key, again.provenance) == (first.key, first.provenance)
    assert anew.key != first.key
    pd.testing.assert_frame_equal(again.frame, first.frame)


@each_protocol
def test_a_broken_sweep_goes_on(
    tmp_path: Path, unmeasured: None, monkeypatch: Patch, protocol: str
) -> None:
    """What was scored before it broke off is not scored again."""
    monkeypatch.setattr(shard_scoring, "SHARD", 1)

    class Mortal(Letters):
        def _sums(self, rows: Sequence[Any]) -> Any:
            if len(self.scored) > 2:
                raise KeyboardInterrupt
            return super()._sums(rows)

    with pytest.raises(KeyboardInterrupt):
        sweep(Mortal(), "best", protocol=protocol, cache=tmp_path)
    model = Letters()

    swept = sweep(model, "best", protocol=protocol, cache=tmp_path)

    whole = sweep(Letters(), "best", protocol=protocol, cache=tmp_path / "undisturbed")
    pd.testing.assert_frame_equal(swept.frame, whole.frame)
    assert len(model.scored) == (3 if protocol == "exact" else 1)


@pytest.mark.slow
def test_a_checkpoint_sweeps_under_the_papers_protocol(folder: Path, tmp_path: Path) -> None:
    """Where a row is the exact one's, so is the score; the rest are their rows' scores."""
    model = Checkpoint(ModelSpec("toy", str(folder)), cache=tmp_path)

    swept = sweep(model, "greatest", protocol="paper", cache=tmp_path).frame
    exact = sweep(model, "greatest", cache=tmp_path).frame

    rows = model.retokenized(PROMPTS["greatest"].text, swept["text"].tolist())
    slot = model.slot(PROMPTS["greatest"].text)
    same = [row == (*slot.prefix, i, *slot.suffix) for i, row in enumerate(rows)]
    of_row = dict(zip(rows, swept["score"], strict=True))
    assert swept["token_id"].tolist() == list(range(SIZE))
    assert 0 < sum(same) < SIZE
    assert swept["score"][same].tolist() == pytest.approx(exact["score"][same].tolist(), abs=1e-5)
    assert swept["score"].tolist() == [of_row[row] for row in rows]


# Noise


def test_noise_is_the_root_mean_square_of_sixteen_that_are_spread() -> None:
    """Half of the rewards off by 3, half by 4: √((9 + 16) / 2). Few answers are all used."""
    scores = np.arange(64, dtype=np.float32)
    asked: list[int] = []

    def alone(places: Sequence[int]) -> NDArray[np.float32]:
        asked.extend(places)
        return scores[list(places)] + np.resize(np.array([3, -4], np.float32), len(places))

    assert measured_noise(scores, alone) == {"noise": pytest.approx(np.sqrt(12.5))}
    assert np.histogram(asked, bins=8, range=(0, 64))[0].tolist() == pytest.approx([2] * 8, abs=1)
    assert len(set(asked)) == 16
    asked.clear()
    measured_noise(scores[:5], alone)
    assert asked == [0, 1, 2, 3, 4]


@each_protocol
def test_a_noisy_model_is_found_out_once(tmp_path: Path, protocol: str) -> None:
    """Rewards that are off by 0.25 when alone have noise of 0.25, read back too; others none."""
    noisy = sweep(Letters(off=0.25), "best", protocol=protocol, cache=tmp_path / "noisy")
    again = sweep(Letters(), "best", protocol=protocol, cache=tmp_path / "noisy")
    quiet = sweep(Letters(), "best", protocol=protocol, cache=tmp_path / "quiet")

    assert (noisy.noise, again.noise, quiet.noise) == (0.25, 0.25, 0.0)
    assert noisy.provenance["noise"] == 0.25
    assert noisy.frame["score"].tolist() == quiet.frame["score"].tolist()
    assert score_texts(Letters(off=0.25), "best", ["a", "ab"], cache=tmp_path).noise == 0.25


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_noise_that_is_no_number_is_refused(bad: float) -> None:
    """It would be stored, and spoil every interval; one such answer is enough."""

    def alone(places: Sequence[int]) -> NDArray[np.float32]:
        return np.array([bad, *[0.0] * (len(places) - 1)], dtype=np.float32)

    with pytest.raises(ScoreError, match=rf"own forward gives {bad} .*--rm-dtype float32"):
        measured_noise(np.zeros(4, dtype=np.float32), alone)


# What a person sees


def test_what_would_be_scored_in_silence_is_refused(tmp_path: Path) -> None:
    """A near-miss of a prompt's name, and one text in place of a list, in every way to score."""
    letters = Letters()

    for asked in (
        lambda: sweep(letters, "gretest", cache=tmp_path),
        lambda: score_texts(letters, "gretest", ["a"], cache=tmp_path),
    ):
        with pytest.raises(SpecError, match=r"did you mean 'greatest'\?"):
            asked()
    rewards = Rewards((PROMPTS["best"],), lambda texts, prompt: NotImplemented)
    for asked in (
        lambda: score_texts(letters, "best", "time", cache=tmp_path),
        lambda: rewards("time"),
        lambda: rewards.scorable("time"),
    ):
        with pytest.raises(SpecError, match=r"found the text 'time'.*give a list, \['time'\]"):
            asked()
    assert not [*tmp_path.iterdir()]
