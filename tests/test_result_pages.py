"""The pages that are outputs of runs say what the recorded data of these runs say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from lab.study.page import spearman
from scripts.result_pages import pages


def test_every_page_is_written_from_its_data() -> None:
    """`python -m scripts.result_pages` writes again those that differ."""
    written = pages()

    differ = [path.name for path, text in written.items() if path.read_text("utf-8") != text]
    assert differ == []


def test_the_studys_correlation_is_scipys() -> None:
    """Of samples that have a head several times or not at all, ties and all."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 30).astype(float), rng.normal(size=30)
    times = rng.integers(0, 4, size=(6, 30))

    found = spearman(x, y, times.astype(float))

    expected = [spearmanr(np.repeat(x, w), np.repeat(y, w)).statistic for w in times]
    assert found == pytest.approx(expected)
