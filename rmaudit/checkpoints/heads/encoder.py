"""Read heads of encoders, which take a pair of texts; the reward is read at the row's first id.

With x the final state of [CLS], as in transformers' own classes:

    DeBERTa:     reward = w · act(W x + b) + c, act being `pooler_hidden_act` of config.json
    BERT:        reward = w · tanh(W x + b) + c, where W and b are of the backbone's pooler
    ModernBERT:  reward = w · norm(act(W x + b)) + c, act being `classifier_activation`

OpenAssistant/reward-model-deberta-v3-large-v2 has the first. `rmaudit.layout.encoder_pair` lays out
the rows. BERT tells question from answer by token types, which its rows get where its tokenizer
gives them (`scoring/row_runners.py`). Other encoders keep their heads elsewhere; they are
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.heads import linear, mlp
from rmaudit.checkpoints.heads.linear import Shapes, architecture, match
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "pair", "first", frozenset[str]()
BERT, MODERN = "BertForSequenceClassification", "ModernBertForSequenceClassification"
ARCHITECTURES = (
    "DebertaForSequenceClassification",
    "DebertaV2ForSequenceClassification",
    BERT,
    MODERN,
)
ACTIVATIONS = ("gelu", "relu", "silu", "tanh")  # by these names in torch and in transformers
_STARTS = ("classifier.", "head.", "pooler.")
_NORM = "head.norm"  # of ModernBERT, between its layers
_WHAT = "an encoder's head on its first state"


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the head's tensor names if the model is a known encoder's classifier, else None.

    They are weights and biases of two layers, for ModernBERT with a norm between them.

    Raises:
        ModelError: one is missing, unexpected or of a wrong shape; it is a classifier of several
            classes or of another encoder; it has token types and is not BERT, an activation that is
            not known here, or reads the reward from all states.
    """
    if not is_known(config):
        _refuse_other(config, shapes)
        return None
    classes = shapes.get("classifier.weight", ())[:1]
    if classes and classes != (1,):
        raise ModelError(
            f"'classifier.weight' has {classes[0]} outputs, one for each class, and a reward model "
            f"has 1; audit a checkpoint that was trained with num_labels=1, or declare a function "
            f"that returns the reward, by @rmaudit.scorer"
        )
    kind = architecture(config)
    if (types := config.get("type_vocab_size")) and kind not in {BERT, MODERN}:
        raise ModelError(
            f"config.json has type_vocab_size {types!r}: the model tells question from answer by "
            f"token types, which rmaudit gives to BERT only; audit an encoder without them "
            f"(type_vocab_size 0, as DeBERTa-v3 has)"
        )
    pooling = config.get("classifier_pooling", "cls")
    if kind == MODERN and pooling != "cls":
        raise ModelError(
            f"config.json has classifier_pooling {pooling!r}: its reward is read from all states "
            f"of a row, and rmaudit reads that of [CLS]; audit a checkpoint that was trained with "
            f"classifier_pooling 'cls'"
        )
    _activation(config)
    layers, hidden = _layers(config), mlp.hidden_size(config, what=_WHAT)
    starts = ("classifier.", f"{layers[0]}.") if kind == BERT else _STARTS
    if kind != MODERN:
        return mlp.check_layers(config, shapes, starts, layers, what=_WHAT)
    wanted = mlp.layer_shapes(shapes, layers, hidden, biases=True)
    wanted |= dict.fromkeys([f"{_NORM}.weight", f"{_NORM}.bias"], (hidden,))
    for key in (f"{layers[0]}.bias", f"{_NORM}.bias"):  # which its class has if config.json says so
        if key not in shapes:
            del wanted[key]
    return match(shapes, [key for key in shapes if key.startswith(starts)], wanted, what=_WHAT)


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> mlp.Stack:
    """Return the encoder's head with these tensors as its weights."""
    from torch.nn import functional

    act = getattr(functional, _activation(config))
    if f"{_NORM}.weight" not in tensors:
        return mlp.stack(tensors, _layers(config), between=act)
    scale, shift = tensors[f"{_NORM}.weight"].float(), tensors.get(f"{_NORM}.bias")
    eps = float(config.get("norm_eps", 1e-5))  # its class's default

    def between(states: Tensor) -> Tensor:
        own = scale.to(states.device)
        added = None if shift is None else shift.to(states.device).float()
        return functional.layer_norm(act(states), own.shape, own, added, eps)

    layers = {key: tensor for key, tensor in tensors.items() if not key.startswith(_NORM)}
    return mlp.stack(layers, _layers(config), between=between)


def is_bert(config: Mapping[str, Any]) -> bool:
    """Return whether the model is BERT, which tells question from answer by token types."""
    return architecture(config) == BERT


def _layers(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the head's two layers, by the encoder's architecture."""
    dense = {BERT: "bert.pooler.dense", MODERN: "head.dense"}
    return dense.get(architecture(config), "pooler.dense"), "classifier"


def _activation(config: Mapping[str, Any]) -> str:
    """Return the name of the activation between the head's layers, by config.json or its default.

    BERT's pooler has no choice.
    """
    if (kind := architecture(config)) == BERT:
        return "tanh"
    key = "classifier_activation" if kind == MODERN else "pooler_hidden_act"
    name = config.get(key, "gelu")
    if name not in ACTIVATIONS:
        raise ModelError(
            f"config.json has {key} {name!r}; rmaudit knows {', '.join(ACTIVATIONS)}: "
            f"correct it if it is one of these under another name"
        )
    return str(name)


def is_known(config: Mapping[str, Any]) -> bool:
    """Return whether config.json names an encoder architecture that rmaudit can score."""
    return architecture(config) in ARCHITECTURES


def _refuse_other(config: Mapping[str, Any], shapes: Shapes) -> None:
    """Raise if the checkpoint has the classifier of an encoder that rmaudit does not know."""
    if odd := sorted(key for key in shapes if key.startswith("classifier.")):
        raise ModelError(
            f"{odd[0]!r} is among its tensors, and rmaudit knows a classifier of that name in "
            f"{', '.join(ARCHITECTURES)} only; this is {architecture(config)!r}. Each class reads "
            f"the reward in a way of its own, so no other name in config.json would make it right: "
            f"audit one of these or a decoder with {linear.KEY!r}, or score its texts with a "
            f"function of yours (@rmaudit.scorer)"
        )
