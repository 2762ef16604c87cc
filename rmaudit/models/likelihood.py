"""How likely a base language model finds whole answers: mean log-probabilities per token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmaudit.errors import ModelError

_BYTES = 2**28  # of logits at a time, in float32
_ROWS = 256  # at a time, however short


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A base whose weights are in memory; made by `Base.opened`.

    `shared` says of each id whether it is the same token in base and reward model, `own` which
    piece it is of the reward model.
    """

    name: str
    model: Any
    shared: Mapping[int, bool]
    own: Mapping[int, str]
    dtype: str

    def means(
        self, prefix: tuple[int, ...], answers: Sequence[tuple[int, ...]]
    ) -> NDArray[np.float32]:
        """Shape (n,): the mean natural log-probability of the ids of each answer after `prefix`.

        The softmax is in float32 over all rows of the head. NaN where an answer has an id that is
        a token of the reward model's own, or no id at all.

        Raises:
            ModelError: `prefix` has such an id, or the logits are not finite.
        """
        refuse_strange(prefix, self.shared, self.own, name=self.name)
        out = np.full(len(answers), np.nan, dtype=np.float32)
        known = [all(self.shared.get(i) for i in answer) for answer in answers]
        rows = int(self.model.get_output_embeddings().weight.shape[0])
        lengths = np.array([len(answer) for answer in answers])
        for length in sorted(set(lengths[lengths > 0].tolist())):
            places = [i for i in range(len(answers)) if known[i] and lengths[i] == length]
            size = max(1, min(_ROWS, _BYTES // (4 * length * rows)))
            for start in range(0, len(places), size):
                batch = places[start : start + size]
                out[batch] = self._batch(prefix, [answers[i] for i in batch])
        return out

    def _batch(
        self, prefix: tuple[int, ...], answers: Sequence[tuple[int, ...]]
    ) -> NDArray[np.float32]:
        """Answers of one length. The last id is predicted, and so never read."""
        import torch

        length, device = len(answers[0]), self.model.device
        with torch.inference_mode():
            ids = torch.tensor([(*prefix, *answer[:-1]) for answer in answers], device=device)
            made = self.model(input_ids=ids, use_cache=False, logits_to_keep=length).logits
            every = made[:, -length:].float().log_softmax(-1)
            wanted = torch.tensor(answers, device=every.device)
            taken = every.gather(-1, wanted[..., None])[..., 0].mean(-1)
            means: NDArray[np.float32] = taken.cpu().numpy()
        if np.isnan(means).any():
            raise not_finite(self.name, self.dtype)
        return means


def refuse_strange(
    prefix: tuple[int, ...], shared: Mapping[int, bool], own: Mapping[int, str], *, name: str
) -> None:
    """Refuse a prefix with an id that is no token of the base's.

    Raises:
        ModelError: it has one.
    """
    if strange := [i for i in prefix if not shared.get(i)]:
        message = (
            f"{name}: what stands before the answer has the id {strange[0]} "
            f"({own.get(strange[0])!r}), which is another token for the base, or none; "
            f"correct `base` in models.yaml"
        )
        raise ModelError(message)


def not_finite(name: str, dtype: str) -> ModelError:
    """The error of logits that are no numbers."""
    return ModelError(f"{name}: {dtype} gives logits that are not finite; try --rm-dtype float32")
