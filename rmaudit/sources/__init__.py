"""Open the reward models of models.yaml: a function for each kind of source that rmaudit has.

`models.model_factory` finds them by the kind's name, and those of other packages by their entry
points; nothing imports this package.
"""

from __future__ import annotations

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.scorer_functions import entry_of
from rmaudit.config.servers import Server, server_of
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint_model import Checkpoint, from_spec
from rmaudit.models.model_factory import Opening
from rmaudit.models.recorded_model import Recorded
from rmaudit.models.text_scorer import TextScorer
from rmaudit.sources.ensemble import EnsembleOfIds, EnsembleOfTexts, ensemble_of
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


def implicit(spec: ModelSpec, opening: Opening) -> ImplicitReward:
    """Open the two language models of an implicit (DPO) reward. Raises as `ImplicitReward`."""
    assert spec.implicit is not None, "its kind says so"  # noqa: S101  (for types)
    cache, device, dtype = opening.cache, opening.device, opening.dtype
    return ImplicitReward(spec, spec.implicit, cache=cache, device=device, dtype=dtype)


def ensemble(spec: ModelSpec, opening: Opening) -> EnsembleOfIds | EnsembleOfTexts:
    """Open the members of an ensemble. Raises as `ensemble_of`."""
    assert spec.ensemble is not None, "its kind says so"  # noqa: S101  (for types)
    return ensemble_of(spec, spec.ensemble, opening)


def recorded(spec: ModelSpec, opening: Opening) -> Recorded:  # noqa: ARG001  (as every opener)
    """Open the published scores of a model in its place; they are looked up when needed."""
    return Recorded(spec)


def vllm(spec: ModelSpec, opening: Opening) -> ServedIds:
    """Open a model behind a vLLM or SGLang server; no request is sent yet.

    Raises:
        SpecError: a dtype was asked for, or the entry names no tokenizer.
        ModelError: the tokenizer cannot be had, or the key that the entry names is not set.
    """
    return ServedIds(_server_of(spec, opening), spec, opening.cache)


sglang = vllm


def openrlhf(spec: ModelSpec, opening: Opening) -> ServedTexts:
    """Open a model behind OpenRLHF's endpoint. Raises as `vllm`, but needs no tokenizer."""
    return ServedTexts(_server_of(spec, opening), spec, opening.cache)


def _server_of(spec: ModelSpec, opening: Opening) -> Server:
    """Return an entry's server; raise if there is none, or if a dtype was asked for."""
    if opening.dtype is not None:
        message = f"{spec.name}: dtype {opening.dtype} was asked for, and whoever started its "
        raise SpecError(f"{message}server decides that; leave it out")
    if (server := server_of(spec.source)) is None:
        raise SpecError(f"{spec.name}: its source {spec.source!r} is no server")
    return server
