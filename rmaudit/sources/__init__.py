"""Open the reward models of models.yaml: what opens each kind of source that rmaudit has.

`models.model_factory` finds them by the kind's name, and those of other packages by their entry
points; nothing imports this package.
"""

from __future__ import annotations

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.scorer_functions import entry_of
from rmaudit.models.checkpoint_model import Checkpoint, from_spec
from rmaudit.models.model_factory import Opening
from rmaudit.models.recorded_model import Recorded
from rmaudit.models.text_scorer import TextScorer
from rmaudit.sources.ensemble import ensemble_of
from rmaudit.sources.implicit_reward import ImplicitReward
from rmaudit.sources.openrlhf_endpoint import ServedTexts
from rmaudit.sources.served_model import ServedIds


def checkpoint(spec: ModelSpec, opening: Opening) -> Checkpoint:
    """Open a checkpoint's folder or hub id, also a judge's. Raises as `from_spec`."""
    return from_spec(spec, cache=opening.cache, device=opening.device, dtype=opening.dtype)


def function(spec: ModelSpec, opening: Opening) -> TextScorer:
    """Open a function that was declared with `@rmaudit.scorer`.

    Raises:
        SpecError: none of this name was declared in this process.
    """
    entry = entry_of(spec)
    assert entry is not None, "its source is a function's"  # noqa: S101  (for types)
    return TextScorer(entry, own_words=opening.own_words)


def recorded(spec: ModelSpec, opening: Opening) -> Recorded:  # noqa: ARG001  (as every opener)
    """Open the published scores of a model in its place; they are looked up when needed."""
    return Recorded(spec)


implicit = ImplicitReward
ensemble = ensemble_of
vllm = sglang = ServedIds
openrlhf = ServedTexts
