"""Give the states that a plain linear head reads, and its vector: a reward is their product.

With them, what another head on the same backbone would give is a product, too (`rmaudit why`,
`rmaudit mend`). States take long to compute, so they are cached: one file in `<cache>/states` for
each model and list of answers (or part of a long one), named by a hash of all that decides them.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints import weights_headers
from rmaudit.checkpoints.heads import gated, linear, mlp, uncertainty, value, verdict_logits
from rmaudit.checkpoints.heads.linear import AsTheyAre
from rmaudit.config.paths_and_atomic_writes import in_place_of
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError, NoWeights
from rmaudit.layout.answer_slot import Response
from rmaudit.models.checkpoint_model import Checkpoint, with_head
from rmaudit.models.external_scorer_batches import Progress, unwatched
from rmaudit.models.model_interfaces import Scored
from rmaudit.prompts import PROMPTS
from rmaudit.scoring import Head, version

BLOCK = 4_096  # answers whose states are one file
_COMPARED = 8  # answers whose rewards are compared with the product
_LEAST = 0.01  # of the largest reward: rewards that are closer together leave no sd to measure in
_OTHERS = {
    gated.NAME: "weighs its outputs by a gate that reads the prompt: it is another vector for each",
    uncertainty.NAME: "is a product of two functions of the state",
    verdict_logits.NAME: "is two rows of a language model's output layer",
}
_NEEDED = "what pairs taught, and the smallest repair, need a checkpoint's head that is one vector"
_SEVERAL, _LAYERS = "is one output of several", "has layers with a function between them"


def with_linear_head(model: Scored) -> tuple[Checkpoint, NDArray[np.float32]]:
    """Return the model, which must be a checkpoint, and its head's vector, shape (hidden,).

    Raises:
        NoWeights: it is a function, recorded, implicit, or behind a server.
        ModelError: as `linear_head`.
    """
    try:
        found = with_head(model)
    except NoWeights:
        message = (
            f"{model.name}: {_NEEDED}, and this model is opened without one; name the folder or "
            f"the hub id of its checkpoint"
        )
        raise NoWeights(message) from None
    return found, linear_head(found)


def linear_head(model: Checkpoint) -> NDArray[np.float32]:
    """Return the vector of a model's plain linear head, shape (hidden,), in the reward's units.

    Rewards differ from products of states and vector by one number at most, the head's bias.

    Raises:
        ModelError: the head is no vector (a gate, several layers, one output of several), or is a
            part of a language model.
    """
    checked, family = model.rows.checked, model.rows.checked.head.family.NAME
    found = None
    if family != verdict_logits.NAME and checked.objective is None:
        found = _vector(_head(model))
    if found is None:
        why = _OTHERS.get(family, _LAYERS) if checked.objective is None else _SEVERAL
        message = (
            f"{model.name}: its {family} head {why}; {_NEEDED}: score.weight, or a value head of "
            f"one layer. Correct its training pairs, and train it again"
        )
        raise ModelError(message)
    return found


def _head(model: Checkpoint) -> Head:
    """Return the head as saved; an adapter's is known once it is merged into its base."""
    if model.adapter is not None:
        slot = model.slot(PROMPTS["greatest"].asked)
        return model.weights(slot.prefix, slot.suffix).scorer.head
    checked = model.rows.checked
    return model.rows.head_of(weights_headers.tensors(checked.base.path, checked.head.keys))


def _vector(head: Head) -> NDArray[np.float32] | None:
    """Return the vector (hidden,) of a head that is one, None of any other."""
    if isinstance(head, value.Normalised):
        inner = _vector(head.value)
        return None if inner is None else inner / np.float32(head.std)
    if isinstance(head, mlp.Stack) and len(head.layers) == 1:
        return np.asarray(head.layers[0].weight[0].cpu().numpy())
    if isinstance(head, linear.Linear):
        return np.asarray(head.vector.cpu().numpy())
    return None


def states_of_each(
    model: Checkpoint,
    prompts: Sequence[Asked],
    responses: Sequence[Response],
    *,
    cache: Path | None = None,
    on_progress: Progress = unwatched,
) -> NDArray[np.float32]:
    """Return the state that the head reads of each response to its own prompt, (n, hidden).

    They are read from the folder `cache`, if one is given, or else computed and written to it, a
    file for each `BLOCK` of answers: whoever is interrupted computes only the others again.
    `on_progress` is called with numbers of answers that were computed.

    Raises:
        ModelError: the head is no vector (`linear_head`), the weights cannot be loaded, or the
            products are not the rewards that the model gives.
        ScoreError: a state is not finite.
    """
    vector = linear_head(model)
    if not len(responses):
        return np.empty((0, len(vector)), dtype=np.float32)
    fields = _key_fields(model, prompts, responses)
    name = hashlib.sha256(json.dumps(fields).encode()).hexdigest()
    path = None if cache is None else cache / "states" / f"{name}.npz"
    found = None if path is None else _read(path, fields)
    if found is None and len(responses) > BLOCK:
        found = np.concatenate(
            [
                states_of_each(
                    model,
                    prompts[at : at + BLOCK],
                    responses[at : at + BLOCK],
                    cache=cache,
                    on_progress=on_progress,
                )
                for at in range(0, len(responses), BLOCK)
            ]
        )
    elif found is None:
        states = model.reading(AsTheyAre())
        found = states.score_each(prompts, responses, on_progress=on_progress)
        _refuse_other_rewards(model, prompts, responses, found @ vector)
        if path is not None:
            _write(path, fields, found)
    return found


def _refuse_other_rewards(
    model: Checkpoint,
    prompts: Sequence[Asked],
    responses: Sequence[Response],
    products: NDArray[np.float32],
) -> None:
    """Raise unless rewards of some answers, each scored alone, are the products and one number."""
    from rmaudit.models.forward_parity_check import TOLERANCE

    places = sorted({round(at) for at in np.linspace(0, len(products) - 1, _COMPARED)})
    rewards = np.concatenate([model.score(prompts[i], [responses[i]]) for i in places])
    beside = rewards - products[places]
    unit = max(float(rewards.std()), _LEAST * float(np.abs(rewards).max()))
    if np.ptp(beside) > TOLERANCE[model.rows.dtype] * unit:
        message = (
            f"{model.name}: the products of its states and its head's vector are up to "
            f"{np.ptp(beside) / unit:.2g} sd from its rewards, so the head is not what it is taken "
            f"for; `rmaudit doctor` says whether the rewards are right, and if they are, report it"
        )
        raise ModelError(message)


def _key_fields(
    model: Checkpoint, prompts: Sequence[Asked], responses: Sequence[Response]
) -> dict[str, str]:
    """Return everything that decides the states: model, layout and answers."""
    slots = {prompt: model.slot(prompt) for prompt in prompts}
    rows = [
        [slots[prompt].digest, response if isinstance(response, str) else [*map(int, response)]]
        for prompt, response in zip(prompts, responses, strict=True)
    ]
    return {
        **model.identity,
        "scoring": version(max(len(slot.prefix) for slot in slots.values())),
        "rows": hashlib.sha256(json.dumps(rows).encode()).hexdigest(),
    }


def _read(path: Path, fields: Mapping[str, str]) -> NDArray[np.float32] | None:
    """Return the states in a file of the cache; None without one; warn if it is damaged."""
    try:
        with np.load(path) as kept:
            if json.loads(str(kept["fields"])) == fields:
                found: NDArray[np.float32] = kept["states"]
                return found
    except OSError:
        return None
    except (ValueError, KeyError, EOFError, BadZipFile):
        pass
    warnings.warn(f"{path}: its content is damaged; the states are computed anew", stacklevel=2)
    return None


def _write(path: Path, fields: Mapping[str, str], states: NDArray[np.float32]) -> None:
    """Write states to the cache; do nothing where it cannot be written."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with in_place_of(path) as own, own.open("wb") as file:
            np.savez(file, fields=np.array(json.dumps(fields)), states=states)
