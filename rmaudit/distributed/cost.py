"""What scores cost, computed from a model's size and what is asked: an estimate, never measured.

FLOPs are 2 for each parameter that an id passes and each id; the embedding is looked up and costs
none, and attention is left out: at the lengths of audits it adds a few per cent. A mixture of
experts is counted whole. Time is FLOPs at `SHARE` of the hardware's peak, without loading.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmaudit.distributed.needs import Need
from rmaudit.models.recorded import Recorded
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scoring import ScoringPath

if TYPE_CHECKING:
    from rmaudit.models.protocol import RewardModel, Scored

SHARE = 0.6  # of the peak: what large matrix products reach
PEAK = {  # FLOP/s of dense matrix products, as the maker states them
    "half precision": {"H100": 989e12, "A100": 312e12},
    "float32": {"H100": 67e12, "A100": 19.5e12},
}
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_LOOKED_UP = re.compile(r"(^|\.)(embed_tokens|wte|wpe|word_embeddings|tok_embeddings|lm_head)\.")
_OWN_ROWS = 16  # scored once more by the model's own forward, for the noise


@dataclass(frozen=True, slots=True)
class Size:
    """A model: `passed` are the parameters that each id passes, of `parameters` in all."""

    parameters: int
    passed: int
    dtype: str

    @property
    def bytes(self) -> int:
        """Of the weights in memory. Batches take what is free besides."""
        return self.parameters * _BYTES[self.dtype]

    def seconds(self, flops: float, gpus: int = 1) -> dict[str, float]:
        """How long so many FLOPs take, by hardware."""
        kind = "float32" if self.dtype == "float32" else "half precision"
        return {name: flops / (SHARE * peak * gpus) for name, peak in PEAK[kind].items()}


def size_of(model: Scored) -> Size | None:
    """Return the size of a model, from the headers of its files; None if there are none."""
    loader = getattr(model, "loader", None)
    headers = getattr(getattr(loader, "checked", None), "headers", None)
    if loader is None or headers is None:  # it has no weights, or runs its own code
        return None
    counts = {name: math.prod(header.shape) for name, header in headers.items()}
    passed = sum(n for name, n in counts.items() if not _LOOKED_UP.search(name))
    return Size(sum(counts.values()), passed, loader.dtype)


def ids_of(need: Need) -> int:
    """How many ids pass through the model for a need: the answers, and what stands around them."""
    model = need.model
    if isinstance(model, Recorded | TextScorer):
        return 0
    slot = model.slot(need.request.prompt.text)
    before, after = len(slot.prefix), len(slot.suffix)
    if need.request.kind == "base":
        return before
    own = _answers(model, need)
    full = model.identity.get("path") == ScoringPath.FULL_ROWS
    around = before + after if full else after
    return own + need.answers * around + before + _OWN_ROWS * (before + after + 1)


def flops_of(need: Need, size: Size) -> float:
    """FLOPs of what lacks of a need."""
    return 2.0 * size.passed * ids_of(need) * need.missing / max(need.answers, 1)


def sizes(needs: Iterable[Need]) -> Mapping[str, Size | None]:
    """The sizes of the models that are asked, by name."""
    models = {need.request.spec.name: need.model for need in needs}
    return {name: size_of(model) for name, model in models.items()}


def _answers(model: RewardModel, need: Need) -> int:
    """How many ids the answers themselves have."""
    from rmaudit.scores.texts import ids_of as ids_of_texts

    request = need.request
    if request.kind == "texts":
        return sum(map(len, ids_of_texts(model, request.texts)))
    if request.kind == "pairs" and need.work is not None:  # their prompts are left out
        column = "response" if "response" in need.work.rows else "text"
        return sum(map(len, ids_of_texts(model, need.work.rows[column].tolist())))
    return need.answers * (request.settings.length if request.settings else 1)
