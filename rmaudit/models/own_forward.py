"""Hold a loaded model with rmaudit's scorer of it, and rewards by the model's own forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rmaudit.checkpoints.heads.single_objective import OneOutput
from rmaudit.checkpoints.third_party_errors import brief
from rmaudit.errors import ModelError, RmauditError
from rmaudit.layout.answer_slot import Ids
from rmaudit.scoring import ATTENTION, Head, ScoringPath, memory_sized_batches, pipeline_parallelism
from rmaudit.scoring.compiled_layers import as_written
from rmaudit.scoring.finite_rewards import exact_products
from rmaudit.scoring.memory_sized_batches import row_does_not_fit
from rmaudit.scoring.row_runners import FullRows, device_of, reset_rotary_lengths
from rmaudit.scoring.scorer import Scorer

T = TypeVar("T")


@dataclass(slots=True)
class Weights:
    """A loaded model with its own forward pass, and the scorer by which rmaudit runs it.

    Attributes:
        name: the model's name in models.yaml, for errors.
        model: the model object, of transformers' class.
        scorer: what the engine gets.
        own: maps a row of ids to its reward by the model's own forward.
        attention: the implementation that transformers chose for it; None if it is left alone.
    """

    name: str
    model: Any
    scorer: Scorer
    own: Callable[[Ids], float]
    attention: str | None

    @property
    def device(self) -> str:
        """Return the device that the model is on, or the devices over which it is spread."""
        places = getattr(self.model, "hf_device_map", None) or {"": self.model.device}
        named = (f"cuda:{place}" if isinstance(place, int) else place for place in places.values())
        return ", ".join(dict.fromkeys(map(str, named)))

    def use_path(self, path: ScoringPath) -> None:
        """Switch to the scoring path `path`, and to the attention implementation that it needs."""
        self.scorer.path = path
        self.scorer.forget()
        if self.attention is not None:
            shared = path is ScoringPath.SHARED_PREFIX
            self.model.set_attn_implementation(ATTENTION if shared else self.attention)

    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Return each row's reward, (n,), by the model's own forward pass on that row alone.

        Raises:
            ModelError: the forward fails, as with a configuration that does not make sense.
            ScoreError: a row does not fit into memory.
        """
        return np.array(self._run_as_loaded(rows, self.own), dtype=np.float32)

    def at_each_id(
        self, rows: Sequence[Ids], reads: Sequence[Callable[[Head, Ids, Tensor], Tensor]]
    ) -> list[list[NDArray[np.float32]]]:
        """Return, for each of `reads` and each row of n ids, what it gives at every id, (n,).

        `reads` are given the head, the row and its final states (n, hidden). Raises as
        `own_rewards`.
        """

        def read(row: Ids) -> list[NDArray[np.float32]]:
            states = FullRows(self.scorer.backbone, row).prefix_states().float()
            return [each(self.scorer.head, row, states).cpu().numpy() for each in reads]

        by_row = self._run_as_loaded(rows, read)
        return [list(values) for values in zip(*by_row, strict=True)]

    @exact_products()
    @torch.inference_mode()
    def _run_as_loaded(self, rows: Sequence[Ids], compute: Callable[[Ids], T]) -> list[T]:
        """Return `compute(row)` of each row, without rmaudit's compiled layers and attention.

        Attention is the implementation that transformers chose at loading. Errors are told as
        `own_rewards` says.
        """
        try:
            with as_written(self.scorer), self._own_attention():
                return [compute(row) for row in rows]
        except RmauditError:
            raise
        except Exception as error:
            if not memory_sized_batches.is_out_of_memory(error):
                message = (
                    f"{self.name}: its own forward failed ({brief(error)}); config.json may not be "
                    f"that of its weights: copy it from the checkpoint's own"
                )
                raise ModelError(message) from error
        memory_sized_batches.release()  # outside of the handler, whose error would hold the tensors
        raise row_does_not_fit(max(map(len, rows)))

    @contextmanager
    def _own_attention(self) -> Iterator[None]:
        if self.attention is not None:
            self.model.set_attn_implementation(self.attention)
        try:
            yield
        finally:
            self.use_path(self.scorer.path)


def as_weights(
    model: Any,  # noqa: ANN401  (transformers' classes)
    scorer: Scorer,
    *,
    classifier: bool,
    name: str,
    verdict: Sequence[int] = (),
) -> Weights:
    """Return a model and its scorer as `Weights`, with a function for the model's own rewards.

    The own rewards are those of a `classifier`'s forward, of a language model's logits of the two
    ids in `verdict` if there are any, or else of our head.
    """
    scorer.pipeline = pipeline_parallelism.pipeline_of(model)
    if verdict:
        own = _by_logits(model, verdict)
    else:
        own = _by_class(model, scorer) if classifier else _by_head(scorer)
    attention = model.config._attn_implementation  # noqa: SLF001  (its only name)
    return Weights(name, model, scorer, own, attention)


def _by_class(model: Any, scorer: Scorer) -> Callable[[Ids], float]:  # noqa: ANN401  (transformers' classes)
    """Return a function from a row of ids to its reward, a logit of transformers' forward pass.

    Backbone, attention and pooling are transformers'; a plain head is in float32. Of an encoder all
    is transformers', its head in the run's dtype too.
    """
    label = scorer.head.at if isinstance(scorer.head, OneOutput) else 0

    def reward(row: Ids) -> float:
        reset_rotary_lengths(scorer.backbone)
        ids = torch.tensor([row], device=device_of(scorer.backbone))
        with _pooled_as(model, scorer.pad):
            return float(model(input_ids=ids, use_cache=False).logits[0].flatten()[label])

    return reward


def _by_logits(model: Any, verdict: Sequence[int]) -> Callable[[Ids], float]:  # noqa: ANN401  (transformers' classes)
    """Return a function from a row of ids to its reward: the logit of yes minus that of no.

    `verdict` has the two ids.
    """
    yes, no = verdict

    def reward(row: Ids) -> float:
        reset_rotary_lengths(model.base_model)
        ids = torch.tensor([row], device=device_of(model))
        logits = model(input_ids=ids, use_cache=False).logits[0, -1].float()
        return float(logits[yes] - logits[no])

    return reward


@contextmanager
def _pooled_as(model: Any, pad: int | None) -> Iterator[None]:  # noqa: ANN401  (transformers' classes)
    """Set the model's pad id inside a `with` block: it decides where transformers reads the reward.

    That is the rightmost id that is not the pad id, as in our scorer; without one, the last id.
    """
    config = model.config.get_text_config()
    before, config.pad_token_id = config.pad_token_id, pad
    try:
        yield
    finally:
        config.pad_token_id = before


def _by_head(scorer: Scorer) -> Callable[[Ids], float]:
    """Return a function from a row of ids to the reward of rmaudit's head for it.

    It is for heads that transformers has no class for.
    """

    def reward(row: Ids) -> float:
        if (at := scorer.pooled_at(row)) is None and scorer.token is not None:
            raise scorer.no_token()
        states, at = FullRows(scorer.backbone, row).prefix_states().float(), at or 0
        return float(scorer.head.after(row, states)(states[at : at + 1])[0])

    return reward
