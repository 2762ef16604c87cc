"""Every stored set of scores carries the noise that was measured on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ScoreError
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.scores import protocols
from rmaudit.scores.store import Store
from rmaudit.scores.sweep import score_texts, sweep
from tests.scores.letters import Letters
from tests.toys import toy_checkpoint


def test_noise_is_the_root_mean_square() -> None:
    """Half of the rewards off by 3, half by 4: √((9 + 16) / 2)."""
    scores = np.arange(64, dtype=np.float32)
    asked: list[int] = []

    def alone(place: int) -> float:
        asked.append(place)
        return float(scores[place]) + (3 if len(asked) % 2 else -4)

    assert protocols.measured_noise(scores, alone) == {"noise": pytest.approx(np.sqrt(12.5))}
    assert len(set(asked)) == 16
    assert all(np.diff(asked) > 0)
    assert np.histogram(asked, bins=8, range=(0, 64))[0].tolist() == pytest.approx([2] * 8, abs=1)


def test_few_answers_are_all_scored_once_more() -> None:
    """Each once; of none there is no noise."""
    asked: list[int] = []

    protocols.measured_noise(
        np.zeros(5, dtype=np.float32), lambda place: asked.append(place) or 0.0
    )  # type: ignore[func-returns-value]

    assert asked == [0, 1, 2, 3, 4]
    assert protocols.measured_noise(np.zeros(0, dtype=np.float32), lambda _: 1.0) == {"noise": 0.0}


@pytest.mark.parametrize("protocol", ["exact", "paper"])
def test_a_noisy_model_is_found_out(tmp_path: Path, protocol: str) -> None:
    """Rewards that are off by 0.25 when alone have noise of 0.25; others none."""
    noisy = sweep(Letters(off=0.25), "best", protocol=protocol, cache=tmp_path / "noisy")
    quiet = sweep(Letters(), "best", protocol=protocol, cache=tmp_path / "quiet")

    assert (noisy.noise, quiet.noise) == (0.25, 0.0)
    assert noisy.provenance["noise"] == 0.25
    assert noisy.frame["score"].tolist() == quiet.frame["score"].tolist()


def test_the_noise_of_texts_is_measured_too(tmp_path: Path) -> None:
    """It comes with their scores."""
    assert score_texts(Letters(off=0.25), "best", ["a", "ab"], cache=tmp_path).noise == 0.25


def test_noise_is_measured_once(tmp_path: Path) -> None:
    """The second sweep reads it back."""
    sweep(Letters(off=0.25), "best", cache=tmp_path)
    model = Letters()

    assert sweep(model, "best", cache=tmp_path).noise == 0.25
    assert model.scored == []


def test_scores_without_noise_have_none(tmp_path: Path) -> None:
    """Scores that an earlier version stored are read as they are."""
    swept = sweep(Letters(), "best", cache=tmp_path)
    del swept.provenance["noise"]  # type: ignore[attr-defined]

    assert swept.noise == 0.0


def test_a_checkpoint_has_noise_and_the_same_again(tmp_path: Path) -> None:
    """In float32 more than none and below 1e-4 sd; a second cold sweep writes the same bytes."""
    folder = toy_checkpoint(tmp_path / "toy")
    files = []
    for cache in (tmp_path / "one", tmp_path / "two"):
        model = Checkpoint(ModelSpec("toy", str(folder), dtype="float32"), cache=cache)
        swept = sweep(model, "best", cache=cache)
        files.append(Store(cache)._path(swept.key).read_bytes())

    assert 0 < swept.noise < 1e-4 * swept.frame["score"].std()
    assert files[0] == files[1]


def test_noise_that_is_no_number_is_refused() -> None:
    """It would be stored, and spoil every interval."""
    with pytest.raises(ScoreError) as caught:
        protocols.measured_noise(np.zeros(4, dtype=np.float32), lambda _: float("nan"))

    assert str(caught.value) == (
        "the model's own forward gives nan for a row that the engine scored; "
        "try a wider dtype (--rm-dtype float32)"
    )
