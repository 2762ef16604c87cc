"""Find and merge the word scores that Christian et al. 2026 published: ten models, 54 prompts.

The nouns of the Big Two and the Moral Foundations Dictionary 2.0. Their repository states no
licence, so nothing here downloads them: a user clones it
(github.com/brchristian/reward_models_inherit_value_biases_from_pretraining) and imports the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from rmaudit.prompts import FAMILY
from rmaudit.references import published_score_tables
from rmaudit.references.published_score_tables import PARQUET, PublishedTable

MIRROR = "big2_mfd"  # below RMAUDIT_DATA
_COLUMN = published_score_tables.WORDS


@dataclass(frozen=True, slots=True)
class MergedWords:
    """A model's published scores of single words under 54 prompts, merged from its files.

    Attributes:
        table: `response` (ascending) and a column of scores for each of the 54 prompts.
        files: how many files were merged.
        phrases: how many answers of several words were left out.
        twice: how many words are in more than one file; their scores are averaged.
        apart: the largest difference between two scores of such a word, in sd of a prompt's words.
    """

    table: PublishedTable
    files: int
    phrases: int
    twice: int
    apart: float

    @property
    def said(self) -> str:
        """Return a one-line summary: words, prompts, files, duplicates and what was left out."""
        line = (
            f"{len(self.table.frame):,} words under {len(FAMILY)} prompts from {self.files} files"
        )
        told = []
        if self.twice:
            again = f"{self.twice:,} words are in two files, averaged"
            told.append(f"{again}: at most {self.apart:.2g} sd apart")
        if self.phrases:
            told.append(f"{self.phrases:,} answers of several words left out")
        return f"{line} ({'; '.join(told)})" if told else line


def model_in_name(path: Path) -> str:
    """Return the hub id, as `stem_of` writes it, in the name of a file of word scores; "" if none.

    The dictionary before it says nothing: seven files of MFD words are named after the Big Two.
    """
    return path.stem.partition("_rewards_")[2]


def stem_of(source: str) -> str:
    """Return the hub id as the authors write it in file names: "/" becomes "_"."""
    return source.replace("/", "_")


def without_twins(paths: Iterable[Path]) -> list[Path]:
    """Return the sorted paths, without CSV files that are there as Parquet files too."""
    known = set(paths)
    return sorted(
        path for path in known if path.suffix == PARQUET or path.with_suffix(PARQUET) not in known
    )


def mirrored(source: str) -> tuple[Path, ...]:
    """Return the files of published word scores for a hub id, below RMAUDIT_DATA; () if none."""
    mirror = os.environ.get("RMAUDIT_DATA")
    if not mirror or "/" not in source:
        return ()
    folder = Path(mirror) / MIRROR
    found = (path for end in ("csv", "parquet") for path in folder.glob(f"*/*_rewards_*.{end}"))
    return tuple(path for path in without_twins(found) if model_in_name(path) == stem_of(source))


@lru_cache(maxsize=16)
def merged(paths: tuple[Path, ...]) -> MergedWords:
    """Merge a model's files of word scores: each single word once, with its mean score per prompt.

    Raises:
        SpecError: a file is not as the authors write it.
    """
    tables = [published_score_tables.words(path) for path in paths]
    every = pd.concat([table.frame for table in tables], ignore_index=True)
    phrases = every[_COLUMN].str.contains(r"\s")
    groups = every[~phrases].groupby(_COLUMN, sort=True)[list(FAMILY)]
    frame = groups.mean().astype("float32")
    again = groups.size() > 1
    gaps = (groups.max() - groups.min())[again] / frame.std()
    return MergedWords(
        PublishedTable(
            paths[0] if len(paths) == 1 else Path(os.path.commonpath(paths)),
            hashlib.sha256("".join(table.sha256 for table in tables).encode()).hexdigest(),
            frame.reset_index(),
        ),
        files=len(paths),
        phrases=int(every[_COLUMN][phrases].nunique()),
        twice=int(again.sum()),
        apart=float(gaps.to_numpy().max()) if again.any() else 0.0,
    )
