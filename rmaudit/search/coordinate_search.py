"""Exhaustive coordinate search: try every id at one position, while the others stay fixed.

Each step is exact: of all allowed ids at that place, the best is taken. A start ends where no place
can be bettered alone: at least as good as any sequence that differs from it in one id. What budget
is left then goes to the surroundings of the best sequences, since the best of all may be two ids
away. It needs no gradient. What stands before the place is run once for all of its ids
(`RewardModel.score_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rmaudit.search.search_evaluator import Evaluator, Hit, Ids
from rmaudit.search.search_problem import SearchProblem

_MAX_CHECKED = 2048  # ids at a time: to see whether a sequence is admitted, it is tokenized again

Context = tuple[int, Ids, Ids]  # a place's number, what is before and what after it


def search(
    problem: SearchProblem, evaluator: Evaluator, starts: Sequence[Ids], rng: np.random.Generator
) -> None:
    """Climb from each start to a local optimum, then vary the best sequences of all starts."""
    swept: dict[Context, list[Hit]] = {}
    for number, first in enumerate(starts):
        evaluator.begin(number)
        _climb(problem, evaluator, first, swept, rng)
    evaluator.widen()
    _widen(problem, evaluator, swept, rng)


def _climb(
    problem: SearchProblem,
    evaluator: Evaluator,
    first: Ids,
    swept: dict[Context, list[Hit]],
    rng: np.random.Generator,
) -> None:
    places = rng.permutation(len(first)).tolist()
    ids = rng.permutation(problem.allowed).tolist()  # should the budget end within a sweep
    current, value = first, -np.inf  # what is scored betters a start
    still, turn = 0, 0
    while still < len(first) and evaluator.left > 0:
        context = _contexts(current)[places[turn % len(first)]]
        known = {current: value}
        for hit in _sweep_place(problem, evaluator, context, ids, swept):
            known[hit.ids] = max(hit.value, known.get(hit.ids, hit.value))
        best = max(known, key=known.__getitem__)
        still = still + 1 if best == current else 1
        current, value = best, known[best]
        turn += 1


def _widen(
    problem: SearchProblem,
    evaluator: Evaluator,
    swept: dict[Context, list[Hit]],
    rng: np.random.Generator,
) -> None:
    """Score all ids at each untried position of the best sequences, until the budget is used up."""
    ids = rng.permutation(problem.allowed).tolist()
    while evaluator.left > 0:
        around = (context for hit in evaluator.top() for context in _contexts(hit.ids))
        context = next((context for context in around if context not in swept), None)
        if context is None:
            return
        _sweep_place(problem, evaluator, context, ids, swept)


def _contexts(answer: Ids) -> list[Context]:
    return [(place, answer[:place], answer[place + 1 :]) for place in range(len(answer))]


def _sweep_place(
    problem: SearchProblem,
    evaluator: Evaluator,
    context: Context,
    ids: Sequence[int],
    swept: dict[Context, list[Hit]],
) -> Sequence[Hit]:
    """Score all `ids` at one position, or look in `swept` if that was done; return the best hits.

    `context` is the position: its index, and the ids before and after it. `swept` has the hits of
    earlier calls.
    """
    if context in swept:
        evaluator.credit_current_start(swept[context])
        return swept[context]
    _, before, after = context
    answers: list[Ids] = []
    for first in range(0, len(ids), _MAX_CHECKED):
        some = ids[first : first + _MAX_CHECKED]
        answers += problem.admitted([(*before, token_id, *after) for token_id in some])
        if len(answers) > evaluator.left:  # more than it may score
            break
    rewards = evaluator.rewards(answers)
    found = evaluator.record_best(answers, rewards)
    if len(rewards) == len(answers):  # else the budget ended it, and it is not swept
        swept[context] = found
    return found
