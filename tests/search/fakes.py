"""Problems whose rewards are known, so that what a search should find is known too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rmaudit.scores.progress_bar import Bar
from rmaudit.scores.score_cache_files import LocalFiles
from rmaudit.scores.score_parquet import Journal
from rmaudit.scoring.gradient import Slopes
from rmaudit.search.search_evaluator import Evaluator, Ids
from rmaudit.search.search_settings import SearchProblem, Settings

Reward = Callable[[Ids], float]


def everything(answers: Sequence[Ids]) -> NDArray[np.bool_]:
    """No constraint."""
    return np.ones(len(answers), dtype=np.bool_)


def problem(
    length: int, ids: int, gradient: Callable[[Ids], Slopes] | None = None
) -> SearchProblem:
    """Of a vocabulary of 0 to ids - 1, without constraints."""

    def none(_: Ids) -> Slopes:
        raise AssertionError("no gradient was to be asked for")

    return SearchProblem(length, np.arange(ids), everything, gradient or none)


def evaluator(folder: Path, settings: Settings, reward: Reward) -> Evaluator:
    """One that counts what is really scored in `scored`, a list that it appends to."""

    def score(answers: Sequence[Ids]) -> NDArray[np.float32]:
        return np.array([reward(ids) for ids in answers], dtype=np.float32)

    return Evaluator(settings, score, Journal(LocalFiles(folder / "scores"), "key"), Bar("", 0, ""))


def landscape(rng: np.random.Generator, length: int, ids: int) -> NDArray[np.float64]:
    """A reward for every sequence: what each place gives, and what pairs of places do."""
    total = np.zeros((ids,) * length)
    for place in range(length):
        shape = [1] * length
        shape[place] = ids
        total = total + rng.normal(size=ids).reshape(shape)
    return total + 0.5 * rng.normal(size=total.shape)
