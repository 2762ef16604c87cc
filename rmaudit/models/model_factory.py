"""Open a model by name: a checkpoint, an implicit (DPO) reward, a server, or a function."""

from __future__ import annotations

from pathlib import Path

from rmaudit.checkpoints import bundled_model
from rmaudit.config.model_registry import Dtype, ModelSpec, known_models, resolve
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.config.scorer_functions import entry_of
from rmaudit.config.servers import is_served
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import ModelError, NoWeights, SpecError
from rmaudit.models.checkpoint_model import Checkpoint, from_spec
from rmaudit.models.implicit_reward import ImplicitReward, no_head
from rmaudit.models.model_interfaces import Scored
from rmaudit.models.served_model import ServedIds, from_server
from rmaudit.models.text_scorer import TextScorer


def weights_hash(model: Scored) -> str:
    """Return the hashes of a model's weights (and adapter, reference), joined by +; "" if none.

    models.yaml may pin it. For an adapter, it is its base's and its own, and likewise a policy's
    and its reference's; for the embedded model, the hash of what it is built from. "" for a model
    whose weights are not on this machine.

    Raises:
        ModelError: the files cannot be read.
    """
    if model.spec.source == "embedded" and "weights" in model.identity:
        return bundled_model.ingredients()
    own = (model.identity.get(name, "") for name in ("weights", "adapter", "reference weights"))
    return "+".join(filter(None, own))


def load(
    name: str | Path | None = None,
    *,
    registry: Path | None = None,
    cache: Path | str | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
) -> Checkpoint | ImplicitReward | ServedIds | TextScorer:
    """Open the reward model `name`: a name in models.yaml, a checkpoint folder or a hub id.

    The name of a declared `@rmaudit.scorer` is taken, too. Without a name, the default of
    models.yaml is opened. `registry` is a models.yaml (default: the one in the current folder, else
    rmaudit's own). The weights are loaded at the first score, onto `device`: "auto" (one GPU, all
    of them if it does not fit, or the CPU), "spread" (over all devices), or torch's name of one; in
    `dtype`, if given, instead of that in models.yaml.

    Raises:
        SpecError: the name or the registry is wrong.
        ModelError: the checkpoint cannot be had, or is no reward model that rmaudit can score.
    """
    entries = known_models(registry)
    specs = [entries.default] if name is None else resolve(entries, str(name))
    if len(specs) != 1:
        message = f"{name!r} means {len(specs)} models; load one at a time"
        raise SpecError(message)
    folder = None if cache is None else Path(cache)
    return opened(specs[0], cache=folder, device=device, dtype=dtype, own_words=entries.words)


def opened(
    spec: ModelSpec,
    *,
    cache: Path | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
    own_words: OwnWords | None = None,
) -> Checkpoint | ImplicitReward | ServedIds | TextScorer:
    """Open a models.yaml entry: a checkpoint, implicit (DPO) reward, server or function of texts.

    Raises as `load` does.
    """
    entry = entry_of(spec)
    if spec.objective is not None and (entry or spec.implicit or is_served(spec.source)):
        message = f"{spec.name}: no objective {spec.objective!r}, for only a checkpoint has a head"
        raise ModelError(f"{message} with outputs to choose among; leave it out")
    if entry:
        return TextScorer(entry, own_words=own_words)
    if spec.implicit is not None:
        return ImplicitReward(
            spec, spec.implicit, cache=cache or default_cache(), device=device, dtype=dtype
        )
    if not is_served(spec.source):
        return from_spec(spec, cache=cache, device=device, dtype=dtype)
    if dtype is not None:
        message = f"{spec.name}: dtype {dtype} was asked for, and whoever started its server "
        raise SpecError(f"{message}decides that; leave it out")
    return from_server(spec, cache or default_cache())


def checkpoint(
    name: str | Path | None = None,
    *,
    registry: Path | None = None,
    cache: Path | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
) -> Checkpoint:
    """Open a model that must be a checkpoint; raise `NoWeights` for any other kind of model.

    Raises as `load` does.
    """
    model = load(name, registry=registry, cache=cache, device=device, dtype=dtype)
    if isinstance(model, Checkpoint):
        return model
    if isinstance(model, TextScorer):
        model.with_weights("weights")
    if isinstance(model, ImplicitReward):
        raise no_head(model.name)
    raise NoWeights(f"{model.name} is behind a server: this needs its weights; give its checkpoint")
