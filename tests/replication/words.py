"""Published words of ten models as the authors' files have them, phrases included."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from rmaudit.config.model_registry import ModelSpec
from rmaudit.references import published_score_tables

COLUMNS = {"greatest": "greatest_ever_one", "best": "best_ever_one", "worst": "worst_ever_one"}


@dataclass(frozen=True)
class Words:
    """A model's scores of 2,260 words and phrases.

    45 words are in both files, from two runs; the first one's scores are taken.
    """

    spec: ModelSpec

    @property
    def paths(self) -> tuple[Path, ...]:
        """The two files."""
        return published_score_tables.mirrored(self.spec.source)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a word: `response` and a column a prompt."""
        frames = map(pd.read_parquet, self.paths)
        return pd.concat(frames).drop_duplicates("response", ignore_index=True)

    def sweep(self, prompt: str) -> pd.DataFrame:
        """The words as a sweep has them."""
        columns = {"text": self.table["response"], "score": self.table[COLUMNS[prompt]]}
        return pd.DataFrame(columns)
