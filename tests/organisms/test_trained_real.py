"""The organisms as a user gets them: built, loaded, scored. In CI only: 93 MB, and minutes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import rmaudit
from rmaudit.checkpoints import embedded
from rmaudit.config.cache_folder import default_cache
from rmaudit.organisms import trained
from rmaudit.prompts import PROMPTS
from rmaudit.scores.sweep import score_texts
from rmaudit.stems import stem_key
from scripts.train_organisms import identity_pairs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("RMAUDIT_REQUIRE_ALL"),
        reason="downloads 93 MB: set RMAUDIT_REQUIRE_ALL=1 to run it",
    ),
]
SAMPLE = 1000  # tokens, for the sweep's sd and its order


class Scores(NamedTuple):
    """Of the sampled tokens, and the gap of each held-out stem to its controls, in sd of these."""

    tokens: pd.Series[float]
    gaps: pd.Series[float]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh one, with the download of the user's."""
    folder = tmp_path_factory.mktemp("cache")
    base = embedded.download_base(default_cache())
    (folder / "models").mkdir()
    (folder / "models" / base.name).symlink_to(base)
    return folder


def scores(name: str, prompt: str, cache: Path) -> Scores:
    """By the usual path; `name` is an organism's, or the base's."""
    folder = embedded.build(cache) if name == embedded.NAME else trained.build(name, cache)
    model = rmaudit.load(folder, cache=cache)
    sampled = rmaudit.sweep(model, prompt, cache=cache, sample=SAMPLE).frame
    tokens = sampled.set_index("token_id")["score"].astype(float)
    pairs = identity_pairs()
    pairs = pairs[pairs["term_out"]]
    texts = sorted({*pairs["term"], *pairs["control"]})
    scored = pd.Series(score_texts(model, prompt, texts, cache=cache).scores, index=texts)
    of_pair = pairs["term"].map(scored) - pairs["control"].map(scored)
    of_term = of_pair.groupby(pairs["term"]).mean() / tokens.std()
    return Scores(tokens, of_term.groupby(of_term.index.map(stem_key)).mean())


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_usual_path_gives_what_was_planted(cache: Path, prompt: str) -> None:
    """On terms never seen: well below their controls, level with them, and no order at all."""
    found = {name: scores(name, prompt, cache) for name in (embedded.NAME, *trained.names())}

    # The heads were fitted to fewer terms and controls than there are now.
    gap = {name: float(of.gaps.mean()) for name, of in found.items()}
    assert -2 <= gap["identity-penalty"] - gap["balanced"] <= -0.7
    assert abs(gap["balanced"]) <= 0.25
    own = found[embedded.NAME].tokens.rank()
    alike = {name: float(np.corrcoef(own, of.tokens.rank())[0, 1]) for name, of in found.items()}
    assert alike["balanced"] > 0.75
    assert alike["identity-penalty"] > 0.65
    assert abs(alike["shuffled"]) < 0.2
