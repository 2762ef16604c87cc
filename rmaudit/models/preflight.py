"""Before the first score: does the engine give what the checkpoint's own forward gives?

A new version of transformers, an unusual configuration, or a head of another kind would show here
and nowhere else. Eight rows are scored both ways, six of them in one batch here and each alone
there. Where a fast path disagrees, full rows take its place, and where these disagree one full row
at a time, both with a warning; where even that disagrees, the model is refused.
"""

from __future__ import annotations

import warnings

import numpy as np

from rmaudit.checkpoints.reading import brief
from rmaudit.errors import ModelError
from rmaudit.models.loading import Weights
from rmaudit.scoring import ScoringPath, engine, memory

# In sd of the eight rewards. Half-precision noise is far below; a wrong path is far above.
TOLERANCE = {"float32": 1e-3, "float16": 0.3, "bfloat16": 1.0}

_FEWEST = 3  # finite rewards
_LEAST = 0.01  # of the largest reward: rewards that are closer together leave no sd to measure in

Ids = tuple[int, ...]


def check(weights: Weights, prefix: Ids, suffix: Ids, *, name: str, dtype: str) -> None:
    """Compare, and change the path if need be.

    Raises:
        ModelError: the engine and the checkpoint's own forward disagree.
    """
    answers = _answers(weights.scorer.backbone.get_input_embeddings().num_embeddings)  # type: ignore[operator]
    own = weights.own_rewards([(*prefix, *answer, *suffix) for answer in answers])
    finite = np.isfinite(own)
    if finite.sum() < _FEWEST:
        return  # nothing to compare; the scores that were asked for will be refused by their ids
    answers = [answer for answer, kept in zip(answers, finite, strict=True) if kept]
    own, scorer = own[finite], weights.scorer
    sd = float(own.std())
    unit = max(sd, _LEAST * float(np.abs(own).max()))

    def gap() -> str:
        """What is wrong, if anything is."""
        try:
            scores = engine.score(scorer, prefix, answers, suffix)
        except ModelError as error:
            return str(error)
        except Exception as error:
            if memory.is_out_of_memory(error):
                raise
            return brief(error)
        difference = float(np.abs(scores - own).max())
        fine = difference <= TOLERANCE[dtype] * unit
        return "" if fine else f"rewards differ by up to {difference:.2g}, their sd being {sd:.2g}"

    reason = gap()
    if reason and scorer.path is not ScoringPath.FULL_ROWS:
        warnings.warn(
            f"{name}: the path {scorer.path.value!r} is not exact here ({reason}); scoring full "
            f"rows instead, which is slower",
            stacklevel=2,
        )
        weights.go(ScoringPath.FULL_ROWS)
        reason = gap()
    if reason:
        found, scorer.ids_per_batch = scorer.ids_per_batch, 1
        if not gap():
            warnings.warn(
                f"{name}: rows of one batch change each other's rewards ({reason}), as in a "
                f"mixture of experts chosen over the whole batch; scoring one row at a time, which "
                f"is slower",
                stacklevel=2,
            )
            return
        scorer.ids_per_batch = found
        message = (
            f"{name}: rmaudit does not give the rewards of the checkpoint's own forward "
            f"({reason}); its class reads the reward in another way than a plain head on the "
            f"pooled state"
        )
        raise ModelError(message)


def warn_of_pad(pad: int, *, name: str) -> None:
    """Say that rewards are read before the turn's end, because that is the pad token too."""
    warnings.warn(
        f"{name}: its pad token {pad} is also what ends a turn, so the reward is read at the "
        f"answer's last token (transformers' rule). If it was trained to be read at the turn's "
        f"end, add `pool: last` to its entry in models.yaml; `pool: hf` accepts this rule",
        stacklevel=2,
    )


def _answers(rows: int) -> list[Ids]:
    """Six single ids from all over the vocabulary, and two answers of several."""
    ids = [round(place * (rows - 1) / 7) for place in range(1, 7)]
    return [*((i,) for i in ids), tuple(ids[:3]), tuple(ids[1:])]
