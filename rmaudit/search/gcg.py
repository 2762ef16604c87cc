"""Search by greedy coordinate gradient (GCG) on a reward, with Faster-GCG's changes.

A step takes the gradient of the reward with respect to the one-hot ids of the current sequence,
predicts by it what each swap of one id would gain, scores a batch of promising swaps, and goes to
the best of them, also where that is worse than what it had. Zou et al. 2023 (arXiv:2307.15043,
algorithm 1) did so for a language model's loss; Christian et al. 2025, section 5, for rewards.
Faster-GCG: Li et al. 2024 (arXiv:2410.15362, section 3).

The authors' released code follows the gradient towards its upward target in both directions. Here
the gradient is that of what is searched for: of the reward, or of its negative. Faster-GCG's three
changes are all made: a batch has the swaps of the highest predicted gain, no sequence is tried
twice, and a swap is worth less the further its embedding is away.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rmaudit.search.search_evaluator import Evaluator, Ids
from rmaudit.search.search_problem import SearchProblem


def search(
    problem: SearchProblem, evaluator: Evaluator, starts: Sequence[Ids], _: np.random.Generator
) -> None:
    """Swap ids along the gradient, from each start, until its budget or all swaps are used up."""
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
    gains: NDArray[np.float64] = evaluator.settings.sign * steps
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
