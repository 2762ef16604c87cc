"""Open a model by name: the registry of sources, each of which opens one kind of model.

rmaudit's own are in `rmaudit.sources`. Others add theirs by an entry point of the group
`rmaudit.sources`, whose name is the KIND of `source: KIND+...` in models.yaml.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from rmaudit.checkpoints import bundled_model
from rmaudit.checkpoints.third_party_errors import brief, short
from rmaudit.config import servers
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import Dtype, ModelSpec, known_models
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.config.scorer_functions import SOURCE
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.errors import ModelError, NoWeights, RmauditError, SpecError
from rmaudit.models.model_interfaces import RewardModel, Scored
from rmaudit.models.text_scorer import TextScorer

_PUBLISHED = (  # of the ten models of Christian et al. 2025, which have a rank there
    "; or take its published scores, without weights: `--rm-recorded` in a run, `--recorded` in "
    "`rmaudit tokens`, `recorded=True` in rmaudit.run and rmaudit.sweep"
)


@dataclass(frozen=True, slots=True)
class Opening:
    """Hold how a run opens its models; every source is given it with the entry of models.yaml.

    Attributes:
        cache: the folder of what is built and remembered of models.
        device: where weights are loaded, as for `load`.
        dtype: what they are loaded as, in place of the entry's; None for the entry's.
        own_words: prompts and lists of the run, and the language of its common words.
        recorded: whether published scores stand in the model's place.
    """

    cache: Path = field(default_factory=default_cache)
    device: str = "auto"
    dtype: Dtype | None = None
    own_words: OwnWords = field(default_factory=OwnWords)
    recorded: bool = False


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
) -> RewardModel | TextScorer:
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
    folder = default_cache() if cache is None else Path(cache)
    model = opened_by_name(name, Opening(folder, device, dtype), registry)
    return cast("RewardModel | TextScorer", model)  # for nobody asked for recorded scores


def opened_by_name(
    name: str | Path | None, opening: Opening, registry: Path | None = None
) -> Scored:
    """Open the model that `name` means, as `load` does; or, if asked for, its published scores."""
    entries = known_models(registry)
    specs = [entries.default] if name is None else resolve(entries, str(name))
    if len(specs) != 1:
        message = f"{name!r} means {len(specs)} models; load one at a time"
        raise SpecError(message)
    return opened(specs[0], replace(opening, own_words=entries.words))


def kind_of(spec: ModelSpec) -> str:
    """Return the kind of a models.yaml entry: one of `servers.OURS`, or that of another package."""
    if spec.implicit is not None:
        return "implicit"
    if spec.source.startswith(SOURCE):
        return "function"
    return servers.kind_of(spec.source) or "checkpoint"


def opened(spec: ModelSpec, opening: Opening | None = None) -> Scored:
    """Open a models.yaml entry by the source of its kind; without `opening`, as `load` does.

    Raises as `load` does, and `ModelError` if the source of another package cannot be imported,
    raises anything else, or returns no model.
    """
    given = opening or Opening()
    kind = "recorded" if given.recorded else kind_of(spec)
    if kind in servers.OURS:  # found by name, so that nothing imports a source
        try:
            model: Scored = getattr(import_module("rmaudit.sources"), kind)(spec, given)
        except ModelError as error:
            if given.recorded or spec.rewardbench_rank is None:
                raise
            raise ModelError(f"{error}{_PUBLISHED}") from error
    else:
        model = _opened_by_others(kind, spec, given)
    if spec.objective is not None and not given.recorded:
        try:
            model.with_head()
        except NoWeights:
            message = f"{spec.name}: no objective {spec.objective!r}, for only a checkpoint has a "
            raise ModelError(f"{message}head with outputs to choose among; leave it out") from None
    return model


def _opened_by_others(kind: str, spec: ModelSpec, opening: Opening) -> RewardModel | TextScorer:
    """Open an entry by the entry point `kind` of another package, with its errors in a sentence."""
    found = servers.installed().get(kind)
    if found is None:
        raise SpecError(f"{spec.name}: {servers.unknown_kind(kind)}")
    whose = f"{spec.name}: its source {kind!r}, {found.value} of another package,"
    try:
        model: Any = found.load()(spec, opening)
    except RmauditError:
        raise
    except Exception as error:
        message = f"{whose} raised {brief(error)}; correct or update that package"
        raise ModelError(message) from error
    if not isinstance(model, RewardModel | TextScorer):
        message = f"{whose} returned {short(repr(model))}, allowed: a RewardModel or a TextScorer"
        raise ModelError(f"{message} (docs/how-to/sources-and-outputs.md)")
    return model
