"""Read a linear head at a token of its own: InternLM2's reward models, and Athene.

reward = w · h at the last place of that token. The template does not print it: the makers' code
puts it at the end of every row, and so do the layouts here (`rmaudit.layout.layouts`).

InternLM2 (Cai et al. 2024, arXiv:2403.17297; InternLM2ForRewardModel in modeling_internlm2.py): the
id is `reward_token_id` in config.json, 92527 in the published ones. Athene (Nexusflow's model cards
of Athene-RM-8B and -70B; config.json names the class of its trainer): id 128003, in code only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.heads import mlp
from rmaudit.checkpoints.heads.linear import Linear, Shapes, architecture
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "linear at a token", "token", frozenset[str]()
KEY = "v_head.weight"
INTERNLM2 = "InternLM2ForRewardModel"
ATHENE = ("CustomAutoModelForSequenceClassification", "AtheneForSequenceClassification")
_ATHENE_ID = 128003


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the name `v_head.weight` if the class is InternLM2's or Athene's, else None.

    Raises:
        ModelError: the tensor is missing, has others beside it or another shape, or config.json
            names no token at which it can be read.
    """
    if reward_id(config) is None:
        return None
    what = "a head that is read at a token"
    return mlp.check_layers(config, shapes, "v_head.", ["v_head"], what=what, biases=False)


def reward_id(config: Mapping[str, Any]) -> int | None:
    """Return the id of the token at which the reward is read; None if the class has no such token.

    Raises:
        ModelError: config.json names none, or it has no row in the embedding.
    """
    kind = architecture(config)
    if kind != INTERNLM2 and (kind not in ATHENE or config.get("model_type") != "llama"):
        return None
    found = config.get("reward_token_id") if kind == INTERNLM2 else _ATHENE_ID
    rows = config.get("vocab_size")
    if type(found) is not int or type(rows) is not int or not 0 <= found < rows:
        where = "reward_token_id in config.json" if kind == INTERNLM2 else "in its makers' code"
        raise ModelError(
            f"{kind} reads the reward at a token of its own, whose id is {found!r} ({where}); it "
            f"should be a whole number below vocab_size, {rows!r}: copy config.json from the "
            f"checkpoint's own"
        )
    return found


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Linear:  # noqa: ARG001  (as all families have it)
    """Return the linear head with the tensor `v_head.weight`, shape (1, hidden)."""
    return Linear(tensors[KEY].detach().float()[0])
