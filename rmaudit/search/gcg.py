"""Search by greedy coordinate gradient (GCG) on a reward, with Faster-GCG's changes.

A step takes the gradient of the reward with respect to the one-hot ids of the current sequence,
predicts by it what each swap of one id would gain, scores a batch of promising swaps, and goes to
the best of them, also where that is worse than what it had. Zou et al. 2023 (arXiv:2307.15043,
algorithm 1) did so for a language model's loss; Christian et al. 2025, section 5, for rewards.
Faster-GCG: Li et al. 2024 (arXiv:2410.15362, section 3).

The authors' released code follows the gradient towards its upward target in both directions. Here
the gradient is that of what is searched for: of the reward, of its negative, or of its distance
from the target.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rmaudit.search.search_evaluator import Evaluator, Ids
from rmaudit.search.search_problem import SearchProblem


def search(
    problem: SearchProblem, evaluator: Evaluator, starts: Sequence[Ids], rng: np.random.Generator
) -> None:
    """Swap ids along the gradient, from each start, until its budget or all swaps are used up."""
    tried: set[Ids] = set()  # of the whole search
    for number, first in enumerate(starts):
        evaluator.begin(number)
        current = first
        while evaluator.left > 0:
            gains = _gains(problem, evaluator, current)
            swaps = _swaps(problem, evaluator, current, gains, tried, rng)
            if not swaps:
                break
            tried.update(swaps)
            found = evaluator.record_best(swaps, evaluator.rewards(swaps))
            if found:
                current = found[0].ids


def _gains(problem: SearchProblem, evaluator: Evaluator, current: Ids) -> NDArray[np.float64]:
    """Return each one-id swap's predicted gain, less a penalty for distance: (length, allowed ids).

    In units of the gains' own sd, minus `distance` times the distance between the embeddings of
    the two ids, in mean distances.
    """
    slopes, settings = problem.gradient(current), evaluator.settings
    places = np.arange(len(current))
    steps = slopes.slopes[0].astype(np.float64)
    steps = steps[:, problem.allowed] - steps[places, list(current)][:, None]
    gains: NDArray[np.float64] = settings.slope(float(slopes.rewards[0])) * steps
    gains /= gains.std() or 1.0
    far = slopes.distances[0][:, problem.allowed].astype(np.float64)
    gains -= settings.gcg.distance * far / (far.mean() or 1.0)
    return gains


def _swaps(  # noqa: PLR0913, PLR0917  (one step's whole state)
    problem: SearchProblem,
    evaluator: Evaluator,
    current: Ids,
    gains: NDArray[np.float64],
    tried: set[Ids],
    rng: np.random.Generator,
) -> list[Ids]:
    """Return the admitted sequences to score in this step, each `current` with one id replaced."""
    options = evaluator.settings.gcg
    size = min(options.batch, evaluator.left)
    if options.greedy:
        order = np.argsort(-gains, axis=None, kind="stable")
    else:
        order = _random_swaps(gains, options.top, options.batch, rng)
    swaps: list[Ids] = []
    width = gains.shape[1]
    if outside := problem.outside(current):  # what nothing may hold is replaced first
        order = order[np.isin(order // width, outside)]
    for start in range(0, len(order), options.batch):
        some = order[start : start + options.batch]
        new = [
            (*current[:place], token_id, *current[place + 1 :])
            for place, token_id in zip(
                (some // width).tolist(), problem.allowed[some % width].tolist(), strict=True
            )
        ]
        if options.fresh:
            new = [ids for ids in dict.fromkeys(new) if ids not in tried and ids != current]
        swaps += problem.admitted(new)
        if len(swaps) >= size:
            break
    return swaps[:size]


def _random_swaps(
    gains: NDArray[np.float64], top: int, batch: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return 4 x `batch` flat indices into `gains`, drawn from each position's `top` best ids."""
    length, width = gains.shape
    best = np.argsort(-gains, axis=1, kind="stable")[:, :top]
    places = rng.integers(length, size=4 * batch)  # some will be tried already, or not admitted
    ranks = rng.integers(best.shape[1], size=4 * batch)
    flat: NDArray[np.int64] = places * width + best[places, ranks]
    return flat
