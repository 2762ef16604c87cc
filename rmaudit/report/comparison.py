"""What results.json says of several models together: how alike they rank the words they share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from rmaudit.measures import similarity
from rmaudit.references.word_frequency import zipf
from rmaudit.report.document import Comparison, Ranked

FEWEST = 30  # shared words
_ENDS, _APART = 3, 6  # words at either end; words that are ranked most unlike
_COMMON = 3.0  # Zipf: people write it once in a million words; parts of words they do not


def compared(frames: Mapping[str, Mapping[str, pd.DataFrame]]) -> list[Comparison]:
    """How alike models are, for each prompt under which two of them or more were swept.

    `frames` are by prompt and model, with columns `text` and `score`; what is ranked are common
    words. A model that scores all shared words alike is left out; so is a prompt with fewer than
    `FEWEST`.
    """
    out = []
    for prompt, by_model in frames.items():
        scores = similarity.in_common(by_model) if len(by_model) > 1 else pd.DataFrame()
        scores = scores.loc[:, scores.min() < scores.max()]
        if len(scores) < FEWEST or scores.shape[1] < 2:  # noqa: PLR2004  (a pair)
            continue
        tau = similarity.taus(scores)
        out.append(
            Comparison(
                prompt=prompt,
                models=tuple(str(name) for name in scores),
                words=len(scores),
                tau=tuple(map(tuple, tau.to_numpy().round(4).tolist())),
                places=tuple(map(tuple, similarity.placed(tau).to_numpy().round(4).tolist())),
                ranked=_ranked(scores),
            )
        )
    return out


def _ranked(scores: pd.DataFrame) -> tuple[Ranked, ...]:
    """The best and worst words by mean rank, then those whose ranks are furthest apart."""
    ranks = scores.sort_index().rank(ascending=False)
    common = zipf("wordfreq", ranks.index)
    ranks = ranks[ranks.index.isin(common.index[common >= _COMMON])]
    by_mean = ranks.mean(axis=1).sort_values(kind="stable").index
    by_range = (ranks.max(axis=1) - ranks.min(axis=1)).sort_values(kind="stable").index[::-1]
    chosen = [*by_mean[:_ENDS], *by_mean[-_ENDS:], *by_range[:_APART]]
    kept = list(dict.fromkeys(str(word) for word in chosen))
    ordered = np.round(ranks.loc[kept].to_numpy(float), 1).tolist()
    return tuple(Ranked(word, tuple(row)) for word, row in zip(kept, ordered, strict=True))
