"""A checkpoint's weights in memory, with the engine's view of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rmaudit.checkpoints.reading import brief
from rmaudit.errors import ModelError, RmauditError
from rmaudit.scoring import ATTENTION, ScoringPath, memory
from rmaudit.scoring.engine import Scorer, too_small

Ids = tuple[int, ...]


@dataclass(slots=True)
class Weights:
    """The model as its class runs it, and the scorer that runs its backbone.

    Attributes:
        name: for errors, the registry's.
        model: the class's instance.
        scorer: what the engine gets.
        own: the reward of one whole row by the model's own forward.
        attention: the implementation that transformers chose for it; None where it is left alone.
    """

    name: str
    model: Any
    scorer: Scorer
    own: Callable[[Ids], float]
    attention: str | None

    @property
    def device(self) -> str:
        """Where it is, or over which devices it is spread."""
        places = getattr(self.model, "hf_device_map", None) or {"": self.model.device}
        named = (f"cuda:{place}" if isinstance(place, int) else place for place in places.values())
        return ", ".join(dict.fromkeys(map(str, named)))

    def go(self, path: ScoringPath) -> None:
        """Score on this path from now on."""
        self.scorer.path = path
        self.scorer.forget()
        if self.attention is not None:
            shared = path is ScoringPath.SHARED_PREFIX
            self.model.set_attn_implementation(ATTENTION if shared else self.attention)

    @torch.inference_mode()
    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Shape (n,): the rewards of whole rows by the model's own forward, one row at a time.

        Raises:
            ModelError: the forward fails, as with a configuration that does not make sense.
            ScoreError: a row does not fit into memory.
        """
        try:
            with self._own_attention():
                return np.array([self.own(row) for row in rows], dtype=np.float32)
        except RmauditError:
            raise
        except Exception as error:
            if not memory.is_out_of_memory(error):
                message = (
                    f"{self.name}: its own forward failed ({brief(error)}); config.json may not be "
                    f"that of its weights: copy it from the checkpoint's own"
                )
                raise ModelError(message) from error
        memory.release()  # outside of the handler, whose error would hold the tensors
        raise too_small(max(map(len, rows)))

    @contextmanager
    def _own_attention(self) -> Iterator[None]:
        if self.attention is not None:
            self.model.set_attn_implementation(self.attention)
        try:
            yield
        finally:
            self.go(self.scorer.path)
