"""Choose one objective of a head that has several, any of which can be audited as the reward.

An objective is what the model's own class returns for it before outputs are combined: `rewards` of
ArmoRM (W x) and of QRM (the mean over an output's quantiles, after the transform where there is
one), the means of URM, and each label of an ordinary sequence classifier. None of these reads the
gate, so an objective's reward depends on the prompt through the row alone.

Which one is audited says the registry (`objective`). Names are those of `id2label` in config.json,
or the ones on the model cards: of ArmoRM's and QRM's 19 outputs (arXiv:2406.12845), or of the five
attributes of HelpSteer, which the other QRMs and URM have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.heads import gated, linear, uncertainty
from rmaudit.checkpoints.heads.linear import Shapes
from rmaudit.errors import ModelError, nearest

if TYPE_CHECKING:
    from torch import Tensor

    from rmaudit.scoring import Head

HELPSTEER = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
_GATED = (
    *(f"helpsteer-{name}" for name in HELPSTEER),
    "ultrafeedback-overall_score",
    "ultrafeedback-instruction_following",
    "ultrafeedback-truthfulness",
    "ultrafeedback-honesty",
    "ultrafeedback-helpfulness",
    "beavertails-is_safe",
    "prometheus-score",
    "argilla-overall_quality",
    "argilla-judge_lm",
    "code-complexity",
    "code-style",
    "code-explanation",
    "code-instruction-following",
    "code-readability",
)
_CARDS: Mapping[str, Sequence[Sequence[str]]] = {  # by the head's family: names on model cards
    gated.NAME: (_GATED, _GATED[: len(HELPSTEER)]),
    uncertainty.NAME: (HELPSTEER,),
}
_OUTPUTS: Mapping[str, Callable[[Mapping[str, Any], Shapes], int]] = {
    gated.NAME: gated.outputs,
    linear.NAME: linear.outputs,
    uncertainty.NAME: uncertainty.outputs,
}
_EACH: Mapping[str, Callable[[Mapping[str, Tensor], Mapping[str, Any]], Head]] = {
    gated.NAME: gated.each,
    linear.NAME: linear.each,
    uncertainty.NAME: uncertainty.each,
}
_SHOWN = 40  # names in an error


def names(family: str, config: Mapping[str, Any], shapes: Shapes) -> tuple[str, ...]:
    """Return the names, or else numbers, of a head's outputs in order; () if it has one output."""
    many = _OUTPUTS[family](config, shapes) if family in _OUTPUTS else 1
    if many == 1:
        return ()
    cards = (card for card in _CARDS.get(family, ()) if len(card) == many)
    return _labels(config, many) or next(map(tuple, cards), _numbers(many))


def index_of(asked: str, family: str, found: Sequence[str]) -> int:
    """Return the index in `found` of the output `asked` for by name, number or the name's end.

    `honesty` is `ultrafeedback-honesty` if no other name ends so.

    Raises:
        ModelError: there is none, or several; `found` are the names of all.
    """
    if not found:
        message = f"no objective {asked!r}: its {family} head gives one reward and no more; leave "
        raise ModelError(f"{message}the objective out")
    if asked in found:
        return list(found).index(asked)
    if re.fullmatch("[0-9]{1,6}", asked) and int(asked) < len(found):
        return int(asked)
    ending = [name for name in found if name.endswith(f"-{asked}")]
    if len(ending) == 1:
        return list(found).index(ending[0])
    if ending:
        message = f"objective {asked!r} is {len(ending)} of its outputs; name one of these: "
        raise ModelError(message + ", ".join(ending))
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    if more or not all(map(str.isdecimal, found)):
        more += f", or a number from 0 to {len(found) - 1}"
    raise ModelError(
        f"no objective {asked!r} among the outputs of its {family} head;{nearest(asked, found)} "
        f"known: {', '.join(found[:_SHOWN])}{more}"
    )


def build(
    family: str, tensors: Mapping[str, Tensor], config: Mapping[str, Any], at: int
) -> OneOutput:
    """Return the head whose reward is output `at`, with these tensors as its weights."""
    return OneOutput(_EACH[family](tensors, config), at)


@dataclass(frozen=True, slots=True, eq=False)
class OneOutput:
    """A head that gives one output, `at`, of another head, `every`, which gives (..., outputs)."""

    every: Head
    at: int

    @property
    def reads_prefix(self) -> bool:
        """Return whether the outputs depend on the prompt's states."""
        return self.every.reads_prefix

    def after(self, prefix: tuple[int, ...], states: Tensor) -> Callable[[Tensor], Tensor]:
        """Return a function that maps states (..., hidden) to rewards (...) after this prompt."""
        outputs = self.every.after(prefix, states)
        return lambda pooled: outputs(pooled)[..., self.at]


def _labels(config: Mapping[str, Any], many: int) -> tuple[str, ...]:
    """Return config.json's labels of `many` outputs; () without, or if any is LABEL_0 or the like.

    Or if two are equal.
    """
    said = config.get("id2label")
    if not isinstance(said, Mapping) or set(said) != {str(i) for i in range(many)}:
        return ()
    found = tuple(str(said[str(i)]) for i in range(many))
    plain = any(re.fullmatch("LABEL_[0-9]+", name) for name in found)
    return () if plain or len(set(found)) != many else found


def _numbers(many: int) -> tuple[str, ...]:
    return tuple(map(str, range(many)))
