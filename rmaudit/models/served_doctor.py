"""Does a server score as its checkpoint does, and as it did a moment ago?

The same answers are put to both. A server runs its own kernels, mostly in bfloat16, so its rewards
are not equal to ours; a wrong template, pooling, head or scale is off by more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from rmaudit.errors import ModelError
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.models.doctor import Check, drawn
from rmaudit.models.served import ServedIds, ServedTexts

LARGEST = 0.3  # sd; R-Smol in bfloat16 is at most 0.05 sd from itself in float32
LEAST_CORRELATION = 0.99  # of ranks
_EQUAL = 1e-6  # of the largest reward: a smaller sd is rounding
_SLOW = 40  # answers that are asked one by one


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found. `rank_correlation` is Spearman's with the checkpoint, None without one."""

    sd: float
    checks: tuple[Check, ...]
    rank_correlation: float | None
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether all is within tolerance; a NaN is not."""
        ranks = self.rank_correlation is None or self.rank_correlation >= LEAST_CORRELATION
        return ranks and all(check.ok for check in self.checks)


def compare(
    model: ServedIds | ServedTexts,
    local: Checkpoint | None,
    prompt: str,
    *,
    answers: int = 256,
    seed: int = 0,
) -> Comparison:
    """Score `answers` answers of the model's vocabulary by the server, again, alone, and here.

    Raises:
        ModelError: the server or the checkpoint cannot score, or rewards are all equal.
    """
    rng = np.random.default_rng(seed)
    score: Callable[[str, Sequence[Any]], NDArray[np.float32]] = model.score
    asked: Sequence[Any] = _texts(model, answers, rng)
    if isinstance(model, ServedIds):
        asked = drawn(model.vocabulary(), answers, rng)
    served = score(prompt, asked)
    sd = float(served.std())
    if sd <= _EQUAL * float(np.abs(served).max()):
        raise ModelError(f"{model.name}: {len(asked)} answers have one reward: {served[0]:g}")

    def check(name: str, other: NDArray[np.float32], than: NDArray[np.float32]) -> Check:
        gap = np.abs(other - than) / sd
        rms = float(np.sqrt((gap**2).mean()))
        return Check(name, float(gap.max()), rms, LARGEST, len(other))

    step = max(1, len(asked) // _SLOW)
    alone = np.concatenate([score(prompt, [answer]) for answer in asked[::step]])
    checks = [
        check("the server, asked again", score(prompt, asked), served),
        check("the server, alone against in batches", alone, served[::step]),
    ]
    if local is None:
        note = "no checkpoint to compare with: name it as `checkpoint` in models.yaml"
        return Comparison(sd, tuple(checks), None, (note,))
    here = local.score(prompt, asked)
    checks.append(check(f"the server against {local.loader.dtype} here", here, served))
    ranks = float(spearmanr(served, here).statistic)
    return Comparison(sd, tuple(checks), ranks, tuple(_scaled(served, here, ranks, checks[-1])))


def _texts(model: ServedIds | ServedTexts, count: int, rng: np.random.Generator) -> list[str]:
    """Distinct texts of the vocabulary, none of them empty."""
    texts = list(dict.fromkeys(text for text in model.vocabulary().texts if text.strip()))
    return [texts[i] for i in rng.choice(len(texts), size=min(count, len(texts)), replace=False)]


def _scaled(
    served: NDArray[np.float32], here: NDArray[np.float32], ranks: float, found: Check
) -> list[str]:
    """A server that has the order and another scale is told so: it says what to look for."""
    if found.ok or not ranks >= LEAST_CORRELATION:
        return []
    slope, offset = np.polyfit(here.astype(float), served.astype(float), 1)
    fitted = f"about {slope:.3g} times the checkpoint's and {offset:+.3g}"
    cause = "an activation, or OpenRLHF's --normalize_reward?"
    return [f"the order is the same and the scale is not: rewards are {fitted}; {cause}"]
