"""Draw answers from a language model, token by token; prompts of one length run together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rmaudit.layout.answer_slot import Ids
from rmaudit.models.language_model_logprobs import Likelihood

TEMPERATURE = 0.8
_ROWS = 96  # at a time


def drawn(
    likelihood: Likelihood,
    prefixes: Sequence[Ids],
    *,
    longest: int,
    ends: frozenset[int],
    rng: np.random.Generator,
) -> list[Ids]:
    """Return the ids of an answer after each prefix, drawn at `TEMPERATURE`, without the end.

    An answer ends before the first id of `ends`, or at `longest` ids. Tokens that are not the
    reward model's too are never drawn.

    Raises:
        ModelError: a prefix has an id that is no token of the language model's, or its logits are
            not finite.
    """
    found: list[Ids] = [()] * len(prefixes)
    for length in sorted({len(prefix) for prefix in prefixes}):
        places = [at for at, prefix in enumerate(prefixes) if len(prefix) == length]
        for start in range(0, len(places), _ROWS):
            batch = places[start : start + _ROWS]
            rows = _continued(likelihood, [prefixes[at] for at in batch], longest, ends, rng)
            for at, row in zip(batch, rows, strict=True):
                stop = next((n for n, each in enumerate(row) if each in ends), len(row))
                found[at] = tuple(row[:stop])
    return found


def _continued(
    likelihood: Likelihood,
    prefixes: Sequence[Ids],
    longest: int,
    ends: frozenset[int],
    rng: np.random.Generator,
) -> list[list[int]]:
    """Return the ids drawn after each of `prefixes`, which have one length, until all have ended.

    A row that has ended goes on: what follows its end is to be cut off.
    """
    for prefix in dict.fromkeys(prefixes):
        likelihood.refuse_unshared(prefix)
    model = likelihood.model
    ids = given = torch.tensor(prefixes, device=model.device)
    answers, cache = np.empty((len(prefixes), 0), dtype=np.int64), None
    with torch.inference_mode():
        while answers.shape[1] < longest and not np.isin(answers, [*ends]).any(axis=1).all():
            made: Any = model(input_ids=given, past_key_values=cache, use_cache=True)
            cache = getattr(made, "past_key_values", None)
            logits: NDArray[np.float32] = made.logits[:, -1].float().cpu().numpy()
            likelihood.refuse_non_finite(np.isfinite(logits))
            known = [likelihood.shared.get(i, False) for i in range(logits.shape[1])]
            new = _one_of_each_row(np.where(known, logits, -np.inf), rng)
            answers = np.column_stack([answers, new])
            following = torch.from_numpy(new).to(model.device)[:, None]
            ids = torch.cat([ids, following], dim=1)
            given = ids if cache is None else following  # some keep no state of their own here
    rows: list[list[int]] = answers.tolist()
    return rows


def _one_of_each_row(logits: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return an index drawn from the softmax of each row, shape (rows,)."""
    above = (logits - logits.max(axis=1, keepdims=True)).astype(np.float64)
    shares = np.exp(above / TEMPERATURE)
    sums = shares.cumsum(axis=1)
    at = (1 - rng.random(len(sums))) * sums[:, -1]  # above 0, so that no impossible one is drawn
    return np.array([np.searchsorted(*row) for row in zip(sums, at, strict=True)], dtype=np.int64)
