"""Read a judge's reward: the logit of one verdict word minus that of the other one.

Any language model can be a judge, so config.json cannot tell: models.yaml says so (`judge`), which
comes here as `rmaudit_verdict` in the configuration, with the ids of the two words once the
tokenizer is read. Both logits are read at the row's last id. A logit is a product of the last state
and a row of the output layer, which Gemma 2 caps by a tanh; whether a class does anything else with
it shows in its own forward, with which rewards are compared before the first score
(`models/forward_parity_check.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.heads.linear import (
    Linear,
    SameForEveryPrompt,
    Shapes,
    hidden_size,
    match,
)
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "verdict", "last", frozenset[str]()
SETTING, CAP = "rmaudit_verdict", "final_logit_softcapping"
OUTPUT = ("lm_head.weight", "embed_out.weight")
EMBEDDING = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight")


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the name of the output layer's tensor if models.yaml declares a judge, else None.

    Without an output layer of its own, the model's logits are made with its embedding.

    Raises:
        ModelError: there is neither, it is of a wrong shape, or there is a classifier's head.
    """
    if SETTING not in config:
        return None
    found = [key for key in sorted(shapes) if key in OUTPUT]
    found = found or [key for key in sorted(shapes) if key.endswith(EMBEDDING)]
    heads = [key for key in sorted(shapes) if key.startswith("score.")]
    if found and not heads:
        rows = (config.get("text_config") or config).get("vocab_size")
        wanted = {found[0]: (rows, hidden_size(config))}
        return match(shapes, (), wanted, what=f"a judge with vocab_size {rows}")
    why = f"{heads[0]!r} is" if heads else f"none of {', '.join((*OUTPUT, *EMBEDDING))} is"
    raise ModelError(
        f"{why} among its tensors, so it is no language model and cannot be a judge; remove "
        f"`judge` from its entry in models.yaml"
    )


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Linear | Capped:
    """Return a head for the logit of yes minus that of no, whose token ids are in `config`."""
    (weight,) = tensors.values()
    yes, no = (weight[i].detach().float().clone() for i in config[SETTING])
    cap = (config.get("text_config") or config).get(CAP)
    return Linear(yes - no) if cap is None else Capped(Linear(yes), Linear(no), float(cap))


@dataclass(frozen=True, slots=True, eq=False)
class Capped(SameForEveryPrompt):
    """A head with reward yes - no, both being logits capped by `cap` · tanh(logit / `cap`)."""

    yes: Linear
    no: Linear
    cap: float

    def __call__(self, states: Tensor) -> Tensor:
        """Return the rewards, shape (...), of states (..., hidden), in float32."""
        yes, no = (one(states) / self.cap for one in (self.yes, self.no))
        return self.cap * (yes.tanh() - no.tanh())
