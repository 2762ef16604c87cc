"""The fresh flaws: what each looks for is met, and is rare enough to change what is picked."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lab.bench import vocabulary_of
from lab.fresh_answer_flaws import ANSWERS
from lab.fresh_flaws import WORDS
from lab.score_shifts import Rater
from rmaudit.scores.answer_files import read_samples

RATER: Rater = SimpleNamespace(seed=0, elo=pd.Series(dtype=float), known=lambda t: np.zeros(len(t)))


@pytest.mark.nightly  # the lists do not change
@pytest.mark.parametrize("name", WORDS)
def test_a_flaw_of_words_is_of_few_tokens(name: str) -> None:
    """At least twenty of the bundled model's vocabulary have it, and at most a tenth."""
    texts = vocabulary_of("R-Smol-135M")["text"].tolist()

    moved = WORDS[name].added(texts, RATER, 1, 1.0)

    assert 20 <= np.count_nonzero(moved) <= len(texts) / 10


@pytest.mark.parametrize("name", ANSWERS)
def test_a_liking_tells_a_policys_answers_apart(name: str) -> None:
    """Of those that are bundled: it differs within most prompts, and is from 0 to 1."""
    samples = read_samples(None).frame.groupby("prompt")["response"]

    found = [ANSWERS[name].extent(own.tolist(), str(prompt)) for prompt, own in samples]

    assert np.concatenate(found).min() >= 0
    assert np.concatenate(found).max() <= 1
    assert np.mean([each.std() > 0 for each in found]) >= 0.5
