"""Get rewards from a model in training, running the prompt once for all answers if possible.

The rows are those that the trainer's tokenizer makes. What they share at the start goes through the
engine (`rmaudit.scoring`), once the engine gave what the model's own forward gives for eight rows;
a model that the engine does not know, or disagrees with, is run whole row by whole row.
"""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rmaudit.errors import ModelError, ScoreError
from rmaudit.layout.layouts import split_shared_prefix
from rmaudit.models import forward_parity_check
from rmaudit.models.own_forward import Weights
from rmaudit.scoring import ScoringPath, engine, path_of
from rmaudit.scoring.scorer import Scorer

Ids = tuple[int, ...]
Rewards = Callable[[str, Sequence[str]], list[float]]


@contextlib.contextmanager
def rewards_in_training(
    model: Any,  # noqa: ANN401  (transformers')
    tokenizer: Any,  # noqa: ANN401  (transformers')
    *,
    batch: int,
    autocast: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
) -> Iterator[Rewards]:
    """Yield a function that scores responses to a prompt by a model that is still in training.

    `model` gives one logit a row; one of PEFT is asked with its adapters. `batch` is how many whole
    rows run at once where the prompt cannot be shared. `autocast` is the trainer's. Afterwards the
    model's mode and attention, and every generator of random numbers, are as they were.

    Raises:
        ScoreError: the model gives anything but one logit for each row.
    """
    with _undisturbed(model):
        weights = _weights(model)
        tried = False

        def rewards(prompt: str, responses: Sequence[str]) -> list[float]:
            with autocast():  # it holds for the thread that enters it, and audits ask in another
                return scored(prompt, responses)

        def scored(prompt: str, responses: Sequence[str]) -> list[float]:
            nonlocal weights, tried
            rows = _rows(tokenizer, prompt, responses)
            prefix, rests = split_shared_prefix(rows)
            if len(rows) == 1 and weights is not None:  # one alone measures the noise
                alone: list[float] = weights.own_rewards(rows).tolist()
                return alone
            if weights is not None and prefix and not tried:
                weights, tried = _checked(weights, prefix, rests[0]), True
            if weights is None or not prefix:
                return _score_whole_rows(model, tokenizer, rows, batch)
            found: list[float] = engine.score(weights.scorer, prefix, rests, ()).tolist()
            return found

        try:
            yield rewards
        finally:
            if weights is not None:
                weights.model.set_attn_implementation(weights.attention)


def _rows(tokenizer: Any, prompt: str, responses: Sequence[str]) -> list[Ids]:  # noqa: ANN401  (transformers')
    """Return the token ids of the prompt with each response, by the tokenizer's chat template."""
    asked = {"role": "user", "content": prompt}
    rows = tokenizer.apply_chat_template(
        [[asked, {"role": "assistant", "content": response}] for response in responses],
        tokenize=True,
        return_dict=True,
    )
    return [tuple(row) for row in rows["input_ids"]]


@dataclass(frozen=True, slots=True, eq=False)
class _Head:
    """Reward head for the scoring engine that calls the output layer of the model in training."""

    reads_prefix: ClassVar[bool] = False
    layer: torch.nn.Module

    def after(self, prefix: Ids, states: Tensor) -> Callable[[Tensor], Tensor]:  # noqa: ARG002  (as `scoring.Head` has it)
        """Return the head itself: it maps states to rewards in the same way after every prompt."""
        return self

    def __call__(self, states: Tensor) -> Tensor:
        """Return the rewards, shape (n,), of hidden states in float32, shape (n, hidden)."""
        dtype = next(self.layer.parameters()).dtype
        rewards: Tensor = self.layer(states.to(dtype))[..., 0]
        return rewards


def _weights(model: Any) -> Weights | None:  # noqa: ANN401  (transformers')
    """Wrap the model for rmaudit's scoring engine; return None if the engine cannot run it."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model  # PEFT's
    score, backbone = getattr(inner, "score", None), getattr(inner, "base_model", None)
    if not isinstance(score, torch.nn.Module) or not isinstance(backbone, torch.nn.Module):
        return None
    compiled = hasattr(model, "_orig_mod")  # another way through it would be compiled anew
    if backbone is inner or inner.config.num_labels != 1 or compiled:
        return None
    path = path_of(inner.config)
    if path is ScoringPath.FULL_ROWS:
        return None
    decoder: Any = getattr(backbone, "language_model", backbone)  # of a multimodal model, its text
    pad = inner.config.get_text_config().pad_token_id
    scorer = Scorer(decoder, _Head(score), pad)

    def own(row: Ids) -> float:
        ids = torch.tensor([row], device=inner.device)
        return float(model(input_ids=ids, use_cache=False).logits[0, 0])

    attention = inner.config._attn_implementation  # noqa: SLF001  (its only name)
    weights = Weights("the model in training", inner, scorer, own, attention)
    weights.use_path(path)
    return weights


def _checked(weights: Weights, prefix: Ids, suffix: Ids) -> Weights | None:
    """Return `weights` if the engine's rewards equal the model's own; else warn, return None."""
    dtype = next(weights.scorer.backbone.parameters()).dtype
    name = "float32" if dtype is torch.float32 and not _autocasts() else "bfloat16"
    try:
        forward_parity_check.check(weights, prefix, suffix, name=weights.name, dtype=name)
    except ModelError as error:
        warnings.warn(f"{error}; whole rows are run instead, which is slower", stacklevel=2)
        weights.model.set_attn_implementation(weights.attention)
        return None
    return weights


def _autocasts() -> bool:
    return torch.is_autocast_enabled() or torch.is_autocast_enabled("cpu")


@torch.no_grad()  # what a module remembers in inference mode, no gradient may pass later
def _score_whole_rows(model: Any, tokenizer: Any, rows: Sequence[Ids], batch: int) -> list[float]:  # noqa: ANN401  (transformers')
    """Return the logit of each row, run in batches of similar length and padded as TRL does."""
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    found = np.empty(len(rows))
    for first in range(0, len(rows), batch):
        places = order[first : first + batch]
        padded = tokenizer.pad(
            {"input_ids": [list(rows[place]) for place in places]},
            padding_side="right",
            return_tensors="pt",
        )
        inputs = {key: padded[key].to(model.device) for key in ("input_ids", "attention_mask")}
        logits = model(**inputs).logits
        if logits.numel() != len(places):
            message = f"the model's logits have the shape {tuple(logits.shape)}, allowed: one for "
            raise ScoreError(f"{message}each of {len(places)} rows (num_labels 1)")
        found[places] = logits.float().flatten().cpu().numpy()
    return found.tolist()


@contextlib.contextmanager
def _undisturbed(model: Any) -> Iterator[None]:  # noqa: ANN401  (torch's)
    """Put the model in evaluation mode; restore modes and random generators afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    own, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    on = {each.device for each in model.parameters() if each.device.type == "cuda"}
    with torch.random.fork_rng(devices=on):
        model.eval()
        try:
            yield
        finally:
            for module, training in modes:
                module.training = training
            random.setstate(own)
            np.random.set_state(numpys)  # noqa: NPY002
