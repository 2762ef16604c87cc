"""What organisms see of texts, and the noise that is each text's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rmaudit.prompts import PROMPTS
from rmaudit.runs.null_controls import features, noise

BEST, WORST = PROMPTS["best"], PROMPTS["worst"]
TEXTS = st.lists(st.text(max_size=8), min_size=1, max_size=20)


def test_features_by_hand() -> None:
    """Spellings share their word; what no list has is 0; labMT's "love" is 8.42, so 3.42 above."""
    seen = features([" Love", "love", "qzxv", "", "the"])

    assert seen["word"].tolist() == ["love", "love", "qzxv", "", "the"]
    assert seen["length"].tolist() == [5, 4, 4, 0, 3]
    assert seen["valence"].tolist() == pytest.approx([3.42, 3.42, 0, 0, -0.02])
    assert seen["zipf"].tolist() == pytest.approx([5.82, 5.82, 0, 0, 7.73], abs=0.005)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=TEXTS, more=TEXTS, seed=st.integers(0, 9))
def test_the_noise_of_a_text_is_its_own(texts: list[str], more: list[str], seed: int) -> None:
    """Whatever stands beside it: the draws of a list are those of each of its texts alone."""
    together = noise([*texts, *more], BEST, what="w", seed=seed)
    alone = [float(noise([text], BEST, what="w", seed=seed)[0]) for text in texts]

    assert together[: len(texts)].tolist() == alone
    assert np.isfinite(together).all()


def test_noise_is_normal_and_differs_by_prompt_seed_and_kind() -> None:
    """Standard normal over many texts; independent where anything that names it differs."""
    texts = [f"t{i}" for i in range(20_000)]
    base = noise(texts, BEST, what="w", seed=0)
    others = [
        noise(texts, WORST, what="w", seed=0),
        noise(texts, None, what="w", seed=0),
        noise(texts, BEST, what="v", seed=0),
        noise(texts, BEST, what="w", seed=1),
    ]

    assert base.mean() == pytest.approx(0, abs=0.03)
    assert base.std() == pytest.approx(1, abs=0.02)
    assert np.quantile(base, 0.975) == pytest.approx(1.96, abs=0.06)
    for other in others:
        assert np.corrcoef(base, other)[0, 1] == pytest.approx(0, abs=0.03)
