"""Read the plain head: one weight vector, reward = w · h (transformers' `score`, no bias)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

Shapes = Mapping[str, tuple[int, ...]]  # of tensors, by name
NAME, POOL, IGNORED = "linear", "hf", frozenset[str]()
KEY = "score.weight"
OBJECTIVE = "rmaudit_objective"  # in a configuration: the output that is audited
_SHOWN = 8  # names of a head's tensors in an error
HIDDEN = ("word_embed_proj_dim", "hidden_size", "n_embd", "d_model")  # what configurations say


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the name `score.weight` if there is such a tensor, else None.

    Raises:
        ModelError: its shape is not (1, hidden), or it has several labels and none is asked for.
    """
    if KEY not in shapes:
        return None
    hidden = hidden_size(config)
    if shapes[KEY][1:] == (hidden,) and shapes[KEY][0] > 1:
        if OBJECTIVE in config:
            return frozenset({KEY})
        raise several_labels(KEY, shapes[KEY])
    if shapes[KEY] != (1, hidden):
        message = (
            f"{KEY!r} has shape {shapes[KEY]}, a reward model of hidden size "
            f"{hidden} needs (1, {hidden}): "
        )
        fits = any(shape[-1:] == (hidden,) for key, shape in shapes.items() if key != KEY)
        if fits and len(shapes[KEY]) == len((1, hidden)):
            message += (
                f"other tensors are of size {hidden}, so the head reads something else than a "
                f"state, as SARM's reads features of an autoencoder, which rmaudit does not; "
                f"score it with a function of yours that calls its code (@rmaudit.scorer)"
            )
        else:
            message += "take config.json and *.safetensors from one and the same checkpoint"
        raise ModelError(message)
    return frozenset({KEY})


def several_labels(key: str, shape: tuple[int, ...]) -> ModelError:
    """Return the error for a head with several outputs (labels) if none of them was chosen."""
    return ModelError(
        f"{key!r} has shape {shape}: {shape[0]} labels, and which of them is the reward is not "
        f"known. Name it by its number from 0 or its label in config.json, as in --model "
        f"'NAME#0', or `objective` in models.yaml. A model that is to give one reward is trained "
        f"with num_labels=1"
    )


def match(
    shapes: Shapes, there: Iterable[str], wanted: Mapping[str, tuple[Any, ...]], *, what: str
) -> frozenset[str]:
    """Return the names in `wanted`; raise unless the head's tensors are these, of these shapes.

    `there` are those names among `shapes` that can only be the head's; `what` calls it in errors.

    Raises:
        ModelError: a tensor is missing, unexpected or of another shape.
    """
    more = f" and {len(wanted) - _SHOWN} more" if len(wanted) > _SHOWN else ""
    has = f"{what} has {', '.join([*wanted][:_SHOWN])}{more}"
    if missing := [key for key in wanted if key not in shapes]:
        raise ModelError(
            f"no {missing[0]!r} among its tensors; {has}. It would be incomplete: copy the "
            f"checkpoint again, with all its *.safetensors"
        )
    if unexpected := sorted({*there} - {*wanted}):
        raise ModelError(
            f"unexpected {unexpected[0]!r} among its tensors; {has}. This is another one, or a "
            f"damaged one: compare with its model card"
        )
    for key, shape in wanted.items():
        if shapes[key] != shape:
            raise ModelError(
                f"{key!r} has shape {shapes[key]}, expected {shape} in {what}; take config.json "
                f"and *.safetensors from one and the same checkpoint"
            )
    return frozenset(wanted)


def architecture(config: Mapping[str, Any]) -> str:
    """Return the first model class that config.json names; "(none)" if it names none."""
    return str((config.get("architectures") or ["(none)"])[0])


def hidden_size(config: Mapping[str, Any]) -> object:
    """Return the hidden size as a configuration names it, or "(none named)"."""
    text = config.get("text_config") or config
    return next((text[key] for key in HIDDEN if key in text), "(none named)")


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Linear:  # noqa: ARG001  (as all families have it)
    """Return the plain linear head with the tensor `score.weight`, shape (1, hidden)."""
    return Linear(tensors[KEY].detach().float()[0])


def outputs(config: Mapping[str, Any], shapes: Shapes) -> int:  # noqa: ARG001  (as all families have it)
    """Return the number of outputs of the head (`num_labels`)."""
    return shapes[KEY][0]


def each(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Linear:  # noqa: ARG001  (as `build`)
    """Return a head that maps states (..., hidden) to the outputs for all labels (..., labels)."""
    return Linear(tensors[KEY].detach().float().T)


class SameForEveryPrompt:
    """Base of heads that map states to rewards in the same way after every prompt."""

    __slots__ = ()
    reads_prefix: ClassVar[bool] = False

    def after(self, prefix: tuple[int, ...], states: Tensor) -> Self:  # noqa: ARG002  (as `Head` has it)
        """Return the head itself, which is called with states and returns rewards."""
        return self


class AsTheyAre(SameForEveryPrompt):
    """A stand-in for a head that gives the states themselves, to look at what heads read."""

    def __call__(self, states: Tensor) -> Tensor:
        """Return the states (..., hidden)."""
        return states


@dataclass(slots=True, eq=False)
class Linear(SameForEveryPrompt):
    """A plain linear head: reward = `vector` · state, in float32.

    With a matrix (hidden, outputs) in place of the vector, the head gives several outputs.

    It moves to the device of the first states.
    """

    vector: Tensor

    def __call__(self, states: Tensor) -> Tensor:
        """Return the rewards, shape (...), of states (..., hidden), in float32."""
        if self.vector.device != states.device:
            from torch import inference_mode

            with inference_mode(mode=False):  # whose copy no gradient can be taken through
                self.vector = self.vector.to(states.device)
        return states @ self.vector
