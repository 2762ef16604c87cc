"""From a name to a model: a checkpoint, or a function that was declared with `@rmaudit.scorer`."""

from __future__ import annotations

from pathlib import Path

from rmaudit.config.registry import Dtype, known_models, resolve
from rmaudit.config.scorers import entry_of
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint import Checkpoint, from_spec
from rmaudit.models.text_scorer import TextScorer


def load(
    name: str | Path | None = None,
    *,
    registry: Path | None = None,
    cache: Path | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
) -> Checkpoint | TextScorer:
    """The reward model that `name` means: a registry name, a checkpoint folder or a hub id.

    Also a scorer's, where it was declared. Without a name, the registry's default. `registry` is a
    models.yaml (default: the one in the current folder, else rmaudit's own). The weights are loaded
    at the first score, onto `device`: "auto" (one GPU, all of them if it does not fit, or the CPU),
    "spread" (over all devices), or torch's name of one; in `dtype`, if given, instead of the
    registry's.

    Raises:
        SpecError: the name or the registry is wrong.
        ModelError: the checkpoint cannot be had, or is no reward model that rmaudit can score.
    """
    entries = known_models(registry)
    specs = [entries.default] if name is None else resolve(entries, str(name))
    if len(specs) != 1:
        message = f"{name!r} means {len(specs)} models; load one at a time"
        raise SpecError(message)
    if entry := entry_of(specs[0]):
        return TextScorer(entry)
    return from_spec(specs[0], cache=cache, device=device, dtype=dtype)


def checkpoint(
    name: str | Path | None = None,
    *,
    registry: Path | None = None,
    cache: Path | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
) -> Checkpoint:
    """The same, for what needs weights. Raises as `load` does, and `NoWeights` for a function."""
    model = load(name, registry=registry, cache=cache, device=device, dtype=dtype)
    return model if isinstance(model, Checkpoint) else model.with_weights("weights")
