"""Toy files of words, as Christian et al. 2026 published theirs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from rmaudit.prompts import FAMILY

SOURCE = "owner/Quantile-8B"
STEM = "rewards_owner_Quantile-8B"


def table(words: dict[str, float]) -> pd.DataFrame:
    """The score of each word under the first prompt, and one more under each that follows."""
    scores = np.array(list(words.values()))[:, None] + np.arange(len(FAMILY))
    return pd.DataFrame(scores, columns=list(FAMILY)).assign(response=list(words))


def write(folder: Path, kind: str, words: dict[str, float], end: str = "parquet") -> Path:
    """A dictionary's file of `SOURCE`, in the order of the authors' columns."""
    path = folder / kind / f"{kind}_{STEM}.{end}"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = table(words)[["response", *FAMILY]]
    if end == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path
