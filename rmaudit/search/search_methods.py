"""Search by two methods: exhaustive coordinate search, and greedy coordinate gradient (GCG)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rmaudit.search.search_evaluator import Evaluator, Hit
from rmaudit.search.search_settings import Ids, SearchProblem

_MAX_CHECKED = 2048  # ids at a time: to see whether a sequence is admitted, it is tokenized again

Context = tuple[int, Ids, Ids]  # a place's number, what is before and what after it


def exhaustive(
    problem: SearchProblem, evaluator: Evaluator, starts: Sequence[Ids], rng: np.random.Generator
) -> None:
    """Climb from each start to a local optimum, then vary the best sequences of all starts.

    Each step is exact: of all allowed ids at one place, while the others stay fixed, the best is
    taken. A start ends where no place can be bettered alone: at least as good as any sequence that
    differs from it in one id. What budget is left then goes to the surroundings of the best
    sequences, since the best of all may be two ids away. It needs no gradient. What stands before
    the place is run once for all of its ids (`RewardModel.score_rows`).
    """
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


def gcg(
    problem: SearchProblem, evaluator: Evaluator, starts: Sequence[Ids], _: np.random.Generator
) -> None:
    """Swap ids along the gradient, from each start, until its budget or all swaps are used up.

    A step takes the gradient of the reward with respect to the one-hot ids of the current sequence,
    predicts by it what each swap of one id would gain, scores a batch of promising swaps, and goes
    to the best of them, also where that is worse than what it had. Zou et al. 2023
    (arXiv:2307.15043, algorithm 1) did so for a language model's loss; Christian et al. 2025,
    section 5, for rewards. Their released code follows the gradient towards its upward target in
    both directions; here it is that of what is searched for.

    Faster-GCG's three changes are made (Li et al. 2024, arXiv:2410.15362, section 3): a batch has
    the swaps of the highest predicted gain, no sequence is tried twice, and a swap is worth less
    the further its embedding is away.
    """
    tried: set[Ids] = set()  # of the whole search
    for number, first in enumerate(starts):
        evaluator.begin(number)
        current = first
        while evaluator.left > 0:
            gains = _gains(problem, evaluator, current)
            swaps = _swaps(problem, evaluator, current, gains, tried)
            if not swaps:
                break
            tried.update(swaps)
            found = evaluator.record_best(swaps, evaluator.rewards(swaps))
            if found:
                current = found[0].ids


def _gains(problem: SearchProblem, evaluator: Evaluator, current: Ids) -> NDArray[np.float64]:
    """Return each one-id swap's predicted gain, less a penalty for distance: (length, allowed ids).

    In units of the gains' own sd, minus the distance between the embeddings of the two ids, in mean
    distances: so both mean the same for every model.
    """
    slopes = problem.gradient(current)
    places = np.arange(len(current))
    steps = slopes.slopes[0].astype(np.float64)
    steps = steps[:, problem.allowed] - steps[places, list(current)][:, None]
    gains = evaluator.settings.value(steps)
    gains /= gains.std() or 1.0
    far = slopes.distances[0][:, problem.allowed].astype(np.float64)
    gains -= far / (far.mean() or 1.0)
    return gains


def _swaps(
    problem: SearchProblem,
    evaluator: Evaluator,
    current: Ids,
    gains: NDArray[np.float64],
    tried: set[Ids],
) -> list[Ids]:
    """Return the sequences to score in this step, each `current` with one id replaced."""
    batch = evaluator.settings.batch
    size = min(batch, evaluator.left)
    order = np.argsort(-gains, axis=None, kind="stable")
    swaps: list[Ids] = []
    width = gains.shape[1]
    for start in range(0, len(order), batch):
        some = order[start : start + batch]
        new = [
            (*current[:place], token_id, *current[place + 1 :])
            for place, token_id in zip(
                (some // width).tolist(), problem.allowed[some % width].tolist(), strict=True
            )
        ]
        fresh = [ids for ids in dict.fromkeys(new) if ids not in tried and ids != current]
        swaps += problem.admitted(fresh)
        if len(swaps) >= size:
            break
    return swaps[:size]
