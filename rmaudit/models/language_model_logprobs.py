"""Compute log-probabilities of next tokens and of whole answers under a base language model."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import DynamicCache

from rmaudit.checkpoints import file_hashes
from rmaudit.errors import ModelError
from rmaudit.layout.answer_slot import Ids
from rmaudit.scoring import ScoringPath, finite_rewards, path_of
from rmaudit.scoring.finite_rewards import exact_products
from rmaudit.scoring.onednn_matmul import fast_products

_BYTES = 2**28  # of logits at a time, in float32
_ROWS = 256  # at a time, however short


class _Run(NamedTuple):
    """The result of running a prefix: log-probabilities of the next id, and the KV cache."""

    following: Tensor  # (head rows,)
    cache: Any  # transformers'; None where rows have to be run whole


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A base language model in memory, which gives log-probabilities of tokens and answers.

    Made by `Base.loaded`. Log-probabilities are natural, their softmax in float32 over all rows of
    the base's output layer (lm_head).

    Attributes:
        name: the base's, for errors.
        model: transformers' causal language model.
        shared: of each id, whether it is the same token in base and reward model.
        own: the reward model's token (piece) for each id.
        dtype: what the base runs in.
        loaded_from: its files as they were when they were loaded.
        correct: for errors: where to correct the choice of this model.
    """

    name: str
    model: Any
    shared: Mapping[int, bool]
    own: Mapping[int, str]
    dtype: str
    loaded_from: file_hashes.States
    correct: str = "`base` in models.yaml"
    _runs: dict[Ids, _Run] = field(default_factory=dict, init=False)  # of the last prefix

    def following(self, prefix: Ids) -> NDArray[np.float32]:
        """Return the log-probability that each id comes next after `prefix`, (lm_head rows,).

        Raises:
            ModelError: `prefix` has an id that is no token of the base's, a log-probability is not
                finite, or a file of the base's changed since it was loaded.
        """
        self.refuse_unshared(prefix)
        with exact_products(), torch.inference_mode():
            found: NDArray[np.float32] = self._logprobs([prefix], 1)[0, -1].cpu().numpy()
        file_hashes.refuse_changed(self.loaded_from, model=self.name)
        self.refuse_non_finite(np.isfinite(found))
        return found

    def sums(self, prefix: Ids, answers: Sequence[Ids]) -> NDArray[np.float32]:
        """Return each answer's summed log-probability after `prefix`, (n,); NaN for unknown ids.

        Unknown are tokens of the reward model's own. The sum is 0 for no id.

        Raises:
            ModelError: `prefix` has such an id, a log-probability is no number, or a file of the
                base's changed since it was loaded.
        """
        self.refuse_unshared(prefix)
        out = np.array([np.nan if answer else 0 for answer in answers], dtype=np.float32)
        known = [all(self.shared.get(i) for i in answer) for answer in answers]
        rows = int(self.model.get_output_embeddings().weight.shape[0])
        lengths = np.array([len(answer) for answer in answers])
        for length in sorted(set(lengths[lengths > 0].tolist())):
            places = [i for i in range(len(answers)) if known[i] and lengths[i] == length]
            size = max(1, min(_ROWS, _BYTES // (4 * length * rows)))
            for start in range(0, len(places), size):
                batch = places[start : start + size]
                out[batch] = self._sums(prefix, [answers[i] for i in batch])
        file_hashes.refuse_changed(self.loaded_from, model=self.name)
        return out

    def whole(self, row: Ids, start: int) -> float:
        """Return the summed log-probability of a row's ids from index `start`, by one forward pass.

        Raises:
            ModelError: it is no number.
        """
        if start == len(row):
            return 0.0
        with exact_products(), torch.inference_mode():
            every = self._logprobs([row[:-1]], len(row) - start)
            wanted = torch.tensor([row[start:]], device=every.device)
            total = float(every.gather(-1, wanted[..., None]).sum())
        self.refuse_non_finite(~np.isnan(np.array([total])))
        return total

    def _sums(self, prefix: Ids, answers: Sequence[Ids]) -> NDArray[np.float32]:
        """Return the summed log-probability, shape (n,), of answers that all have one length.

        An answer's last id is predicted, and so is never an input.
        """
        with exact_products(), fast_products(self.model), torch.inference_mode():
            run = self._run_prefix(prefix)
            wanted = torch.tensor(answers, device=run.following.device)
            total = run.following[wanted[:, 0]]
            if wanted.shape[1] > 1:
                every = self._logprobs_after(prefix, run.cache, wanted[:, :-1])
                total = total + every.gather(-1, wanted[:, 1:, None])[..., 0].sum(-1)
            sums: NDArray[np.float32] = total.cpu().numpy()
        self.refuse_non_finite(~np.isnan(sums))
        return sums

    def _run_prefix(self, prefix: Ids) -> _Run:
        """Run the model on `prefix`, or return the last result if that was of the same prefix."""
        if prefix not in self._runs:
            self._runs.clear()  # frees the other's memory first
            ids = torch.tensor([prefix], device=self.model.device)
            shares = path_of(self.model.config) is not ScoringPath.FULL_ROWS
            output = self.model(input_ids=ids, use_cache=shares, logits_to_keep=1)
            cache = output.past_key_values if shares else None
            following = output.logits[0, -1].float().log_softmax(-1)
            # Others keep state where no copy reaches it.
            self._runs[prefix] = _Run(following, cache if type(cache) is DynamicCache else None)
        return self._runs[prefix]

    def _logprobs_after(self, prefix: Ids, cache: Any, ids: Tensor) -> Tensor:  # noqa: ANN401  (transformers')
        """Return next-token log-probabilities (n, L, lm_head rows) after `prefix` and `ids` (n, L).

        `cache` holds the states of `prefix`; None: it runs again before each row of ids.
        """
        if cache is None:
            rows = [(*prefix, *row) for row in ids.tolist()]
            return self._logprobs(rows, ids.shape[1])
        own = copy.deepcopy(cache)  # the model writes into it
        own.reorder_cache(torch.zeros(len(ids), dtype=torch.long, device=ids.device))
        options = {}
        if "position_ids" in inspect.signature(self.model.forward).parameters:
            positions = torch.arange(ids.shape[1], device=ids.device) + len(prefix)
            options["position_ids"] = positions.expand(len(ids), -1)
        output = self.model(input_ids=ids, past_key_values=own, use_cache=True, **options)
        return output.logits.float().log_softmax(-1)  # type: ignore[no-any-return]

    def _logprobs(self, rows: Sequence[Ids], last: int) -> Tensor:
        """Return next-token log-probabilities at the final `last` ids of rows of one length.

        The shape is (n, last, lm_head rows).
        """
        ids = torch.tensor(rows, device=self.model.device)
        logits: Tensor = self.model(input_ids=ids, use_cache=False, logits_to_keep=last).logits
        return logits[:, -last:].float().log_softmax(-1)

    def refuse_unshared(self, prefix: Ids) -> None:
        """Raise ModelError if an id of `prefix` is not the same token for this model."""
        if strange := [i for i in prefix if not self.shared.get(i)]:
            message = (
                f"{self.name}: what stands before the answer has the id {strange[0]} "
                f"({self.own.get(strange[0])!r}), which is another token for this model, or none; "
                f"correct {self.correct}"
            )
            raise ModelError(message)

    def refuse_non_finite(self, good: NDArray[np.bool_]) -> None:
        """Raise ModelError unless all are `good`, which says which logits are finite."""
        if not good.all():
            message = (
                f"{self.name}: {self.dtype} gives logits that are not finite numbers. "
                f"{finite_rewards.reason(self.model)}"
            )
            raise ModelError(message)
