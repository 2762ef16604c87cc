"""Read a reward as the logit of one token id at the row's last id (Nemotron: id 0).

Such a checkpoint is a language model like any other, so config.json cannot tell: the registry names
the id, which comes here as `rmaudit_reward_logit` in the configuration. Only for classes whose
logits are the product of states and `lm_head.weight` and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.heads import mlp
from rmaudit.checkpoints.heads.linear import Linear, Shapes, architecture, match
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "logit", "last", frozenset[str]()
SETTING = "rmaudit_reward_logit"
ARCHITECTURES = ("LlamaForCausalLM",)
KEY, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
_WHAT = "a logit as reward"


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the name of the output layer's tensor if models.yaml sets `logit` (an id), else None.

    It is `lm_head.weight`, or for tied embeddings that saved none, the backbone's embedding.

    Raises:
        ModelError: it is of another class, the tensor is missing or of a wrong shape, or it has no
            such id.
    """
    if SETTING not in config:
        return None
    if architecture(config) not in ARCHITECTURES:
        raise ModelError(
            f"its architecture is {architecture(config)}, and {_WHAT} is known of "
            f"{', '.join(ARCHITECTURES)} only, whose logits are neither scaled nor capped; "
            f"remove the logit from its entry in models.yaml if it has a head of its own"
        )
    key = _key(config, shapes)
    there = [name for name in shapes if name.startswith("lm_head.")]
    rows, hidden = config.get("vocab_size"), mlp.hidden_size(config, what=_WHAT)
    found = match(shapes, there, {key: (rows, hidden)}, what=f"{_WHAT} with vocab_size {rows}")
    _refuse_id(config[SETTING], shapes[key][0])
    return found


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Linear:
    """Return a linear head whose vector is the output layer's row for the reward token."""
    weight = tensors[KEY] if KEY in tensors else tensors[EMBEDDING]
    row = weight[config[SETTING]].detach().float()
    return Linear(row.clone())  # so that the other rows' memory is freed


def _key(config: Mapping[str, Any], shapes: Shapes) -> str:
    """Return the output layer's tensor name: `lm_head.weight` or a tied embedding; raise without.

    Saved ones count, as transformers 5 has it, tied or not.
    """
    if KEY in shapes:
        return KEY
    tied = config.get("tie_word_embeddings") is True
    if tied and EMBEDDING in shapes:
        return EMBEDDING
    missing = EMBEDDING if tied else KEY
    why = "are tied to it" if tied else "are not tied (tie_word_embeddings)"
    raise ModelError(
        f"no {missing!r} among its tensors, which {_WHAT} needs, for its logits {why} in "
        f"config.json; copy the checkpoint again, with config.json and all its *.safetensors"
    )


def _refuse_id(number: object, rows: int) -> None:
    if type(number) is not int or not 0 <= number < rows:
        raise ModelError(
            f"the reward is to be the logit of id {number!r}; ids are whole numbers from 0 to "
            f"{rows - 1}: correct it in models.yaml (Nemotron's is 0)"
        )
