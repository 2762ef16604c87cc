"""Read a head of one label with a bias for every token, at the row's last id: w · h + b.

transformers' classes ...ForTokenClassification have it, as `score` (Llama, Qwen, Mistral and most
others) or `classifier` (GPT-2, Bloom, Falcon and their like). LLaMA-Factory v1 trains such reward
models (v1/trainers/rm_trainer.py), and verl such critics; both trainers read a whole answer's
reward at the row's last id. The class keeps no trace of what it was trained for: a critic looks the
same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.heads import mlp
from rmaudit.checkpoints.heads.linear import Shapes, architecture
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "token classifier", "last", frozenset[str]()
_CLASSIFIER = ("biogpt", "bloom", "falcon", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "mpt")
_WHAT = "a token classifier of one label"


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the names of the layer's weight and bias; None if the class is another.

    Raises:
        ModelError: one is missing, unexpected or of a wrong shape, or there are several labels.
    """
    if not architecture(config).endswith("ForTokenClassification"):
        return None
    name = "classifier" if config.get("model_type") in _CLASSIFIER else "score"
    if not any(key.startswith(f"{name}.") for key in shapes):
        return None  # an encoder's, or none
    labels = shapes.get(f"{name}.weight", ())[:1]
    if labels and labels != (1,):
        raise ModelError(
            f"'{name}.weight' has {labels[0]} labels for every token, as in a process reward model "
            f"(TRL's PRMTrainer): it judges each step of a solution, and gives no reward to a "
            f"whole answer. rmaudit scores models with 1 label; audit an outcome reward model"
        )
    return mlp.check_layers(config, shapes, f"{name}.", [name], what=_WHAT)


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> mlp.Stack:  # noqa: ARG001  (as all families have it)
    """Return the head of one layer with these tensors (weight and bias) as its weights."""
    (name,) = {key.rpartition(".")[0] for key in tensors}
    return mlp.stack(tensors, [name])
