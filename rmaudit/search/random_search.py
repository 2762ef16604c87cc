"""Random search: what any other search has to beat with the same budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmaudit.search.evaluate import Evaluator, Ids
from rmaudit.search.problem import SearchProblem

_DRAWN = 1024  # at a time


def search(
    problem: SearchProblem, evaluator: Evaluator, starts: Sequence[Ids], rng: np.random.Generator
) -> None:
    """Sequences drawn evenly, as many as the budget allows; starts make no difference to it."""
    for number in range(len(starts)):
        evaluator.begin(number)
        while evaluator.left > 0:
            answers = problem.draw(min(_DRAWN, evaluator.left), rng)
            evaluator.best(answers, evaluator.rewards(answers))
