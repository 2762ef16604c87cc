"""An encoder's head on the state of the row's first id, for models that read a pair of texts.

With x the final state of [CLS] and `pooler_hidden_act` of config.json, as in transformers' DeBERTa
classes (`ContextPooler`, then `classifier`):

    reward = w · act(W x + b) + c

OpenAssistant/reward-model-deberta-v3-large-v2 has it. `rmaudit.layout.pair` lays out its rows.
Other encoders keep their heads elsewhere and tell question from answer by token types, which
rmaudit does not give; they are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.heads import mlp
from rmaudit.checkpoints.heads.linear import Shapes
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "pair", "first", frozenset[str]()
ARCHITECTURES = ("DebertaForSequenceClassification", "DebertaV2ForSequenceClassification")
LAYERS = ("pooler.dense", "classifier")
ACTIVATIONS = ("gelu", "relu", "silu", "tanh")  # by these names in torch and in transformers
_WHAT = "an encoder's head on its first state"


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the names of the head's tensors if the model is a DeBERTa classifier, else None.

    They are weights and biases of `pooler.dense` and `classifier`.

    Raises:
        ModelError: one is missing, unexpected or of a wrong shape; it is a classifier of several
            classes or of another encoder; it has token types, or an activation not known here.
    """
    there = [key for key in shapes if key.startswith(("pooler.", "classifier."))]
    if not wanted(config):
        _refuse_other(config, there)
        return None
    classes = shapes.get("classifier.weight", ())[:1]
    if classes and classes != (1,):
        message = (
            f"'classifier.weight' has {classes[0]} outputs, one for each class, and a reward model "
            f"has 1; audit a checkpoint that was trained to give a reward"
        )
        raise ModelError(message)
    if types := config.get("type_vocab_size"):
        message = (
            f"config.json has type_vocab_size {types!r}: the model tells question from answer by "
            f"token types, and rmaudit scores encoders without them only (type_vocab_size 0, as "
            f"DeBERTa-v3 has); audit one of these"
        )
        raise ModelError(message)
    _activation(config)
    hidden = mlp.hidden_size(config, what=_WHAT)
    return mlp.check(shapes, there, LAYERS, what=_WHAT, hidden=hidden, biases=True)


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> mlp.Stack:
    """Return the head made from the tensors of `pooler.dense` and `classifier`."""
    from torch.nn import functional

    return mlp.stack(tensors, LAYERS, between=getattr(functional, _activation(config)))


def wanted(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json is of an encoder with this head, which reads pairs."""
    architectures = config.get("architectures")
    return isinstance(architectures, list) and architectures[:1] in [[a] for a in ARCHITECTURES]


def _activation(config: Mapping[str, Any]) -> str:
    """Return the name of the activation between the head's layers, by default "gelu"."""
    name = config.get("pooler_hidden_act", "gelu")
    if name not in ACTIVATIONS:
        message = (
            f"config.json has pooler_hidden_act {name!r}; rmaudit knows {', '.join(ACTIVATIONS)}: "
            f"correct it if it is one of these under another name"
        )
        raise ModelError(message)
    return str(name)


def _refuse_other(config: Mapping[str, Any], there: list[str]) -> None:
    """Raise if the checkpoint has the classifier of an encoder that rmaudit does not know."""
    if odd := sorted(key for key in there if key.startswith("classifier.")):
        architecture = (config.get("architectures") or ["(none named)"])[0]
        message = (
            f"unsupported encoder architecture {architecture!r} (its classifier has {odd[0]!r}); "
            f"supported: {', '.join(ARCHITECTURES)}. Its class reads the reward in a way of its "
            f"own, so no other name in config.json would make it right: audit one of these or a "
            f"decoder, or score its texts with a function of yours (@rmaudit.scorer)"
        )
        raise ModelError(message)
