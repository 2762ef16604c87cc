"""Score several objectives (head outputs) of a checkpoint with one load and one forward pass.

A head with several outputs gives all of them for the price of one, so the rewards of an objective
are a column of what one pass gives. If a run scores objectives one after the other
(`runs.score_requests.answer`), the later ones find here what the pass for the first one gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints.heads.single_objective import OneOutput
from rmaudit.layout.answer_slot import Ids
from rmaudit.scoring import Begun, waited_for

if TYPE_CHECKING:
    from torch import Tensor

    from rmaudit.models.forward_parity_check import PathChecks
    from rmaudit.models.loaded_weights import Weights
    from rmaudit.scoring.engine import Scorer

_ROWS = 64  # whole rows whose outputs are remembered: more than the noise is measured on
Call = tuple[Ids, Ids, tuple[Ids, ...]]  # prefix, suffix, answers


@dataclass(slots=True)
class InMemory:
    """A checkpoint's loaded weights and stored head outputs, shared by the models of its outputs.

    Attributes:
        weights: the loaded weights, for the objective that was scored first; None before.
        tried: the results of comparing rewards with the model's own forward, by prefix length.
        keeps: whether `outputs` are kept, for other objectives that are scored next.
        outputs: all outputs of the calls that were finished while `keeps` was set.
        warned: whether the user was warned that the pad token ends turns.
    """

    weights: Weights | None = None
    tried: dict[int, PathChecks] = field(default_factory=dict)
    keeps: bool = False
    outputs: dict[Call, NDArray[np.float32]] = field(default_factory=dict)
    warned: bool = False
    _scorers: dict[int | None, Scorer] = field(default_factory=dict)  # None: of all outputs

    def free(self) -> None:
        """Drop the weights and everything computed from them: kept outputs and scorers."""
        self.weights = None
        self.outputs.clear()
        self._scorers.clear()

    def weights_of(self, at: int | None) -> Weights | None:
        """Return the `Weights` whose reward is head output `at`; None if no weights are loaded.

        `at` is None if no objective was chosen.
        """
        if self.weights is None or at is None or self.weights.outputs is None:
            return self.weights
        return weights_of_output(self.weights, self.weights.outputs, at, self._scorer(at))

    def begin(  # noqa: PLR0913  (as `engine.begin`)
        self,
        at: int,
        prefix: Ids,
        answers: Sequence[Ids],
        suffix: Ids,
        *,
        on_progress: Callable[[int], None],
        name: str,
    ) -> Begun:
        """Start scoring by head output `at`, from stored outputs or a pass, kept if `keeps` is set.

        Raises as `engine.begin`; the weights are loaded.
        """
        from rmaudit.scoring import engine

        call = (prefix, suffix, tuple(answers))
        if (found := self.outputs.get(call)) is not None:
            on_progress(len(answers))
            return found[:, at]
        scorer = self._scorer(None)
        begun = engine.begin(scorer, prefix, answers, suffix, on_progress=on_progress, name=name)

        def finished() -> NDArray[np.float32]:
            every = waited_for(begun)
            if self.keeps:
                self.outputs[call] = every
            return every[:, at] if len(every) else every

        return finished if callable(begun) else finished()

    def _scorer(self, at: int | None) -> Scorer:
        """Return a scorer for head output `at` (None: all) with the loaded scorer's settings."""
        loaded = self.weights
        assert loaded is not None, "the weights are loaded"  # noqa: S101  (for types)
        own, head = loaded.scorer, loaded.scorer.head
        assert isinstance(head, OneOutput), "it has several outputs"  # noqa: S101  (for types)
        if at == head.at:
            return own
        if at not in self._scorers:
            chosen = head.every if at is None else replace(head, at=at)
            self._scorers[at] = replace(own, head=chosen)
        scorer = self._scorers[at]
        if scorer.path is not own.path:
            scorer.path = own.path
            scorer.forget()
        scorer.ids_per_batch = own.ids_per_batch
        return scorer


def weights_of_output(
    weights: Weights, outputs: Callable[[Ids], Tensor], at: int, scorer: Scorer
) -> Weights:
    """Return a copy of `weights` whose reward is output `at` of a head with several outputs.

    `outputs` gives all outputs for one whole row by the model's own forward.
    """
    return replace(weights, scorer=scorer, own=lambda row: float(outputs(row)[at]), outputs=outputs)


def with_cache(outputs: Callable[[Ids], Tensor], model: Any) -> Callable[[Ids], Tensor]:  # noqa: ANN401  (transformers' classes)
    """Return the function `outputs` with a cache of its results, by row and the model's dtype.

    So the rows on which noise is measured run once for all objectives.
    """

    @lru_cache(maxsize=_ROWS)
    def once(row: Ids, dtype: object) -> Tensor:  # noqa: ARG001  (the type is a part of the key)
        return outputs(row).cpu()

    return lambda row: once(row, next(model.parameters()).dtype)
