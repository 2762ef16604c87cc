"""From a name to a reward model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

from rmaudit.config.cache_folder import default_cache
from rmaudit.config.registry import Dtype, ModelSpec, default_path, load_registry, resolve
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint import Checkpoint


def load(
    name: str | Path | None = None,
    *,
    registry: Path | None = None,
    cache: Path | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
) -> Checkpoint:
    """The reward model that `name` means: a registry name, a checkpoint folder or a hub id.

    Without a name, the registry's default. `registry` is a models.yaml (default: the one in the
    current folder, else rmaudit's own). The weights are loaded at the first score, onto `device`:
    "auto" (one GPU, all of them if it does not fit, or the CPU), "spread" (over all devices), or
    torch's name of one; in `dtype`, if given, instead of the registry's.

    Raises:
        SpecError: the name or the registry is wrong.
        ModelError: the checkpoint cannot be had, or is no reward model that rmaudit can score.
    """
    entries = load_registry(registry or default_path())
    if name is None:
        return from_spec(entries.default, cache=cache, device=device, dtype=dtype)
    specs = resolve(entries, str(name))
    if len(specs) != 1:
        message = f"{name!r} means {len(specs)} models; load one at a time"
        raise SpecError(message)
    return from_spec(specs[0], cache=cache, device=device, dtype=dtype)


def from_spec(
    spec: ModelSpec,
    *,
    cache: Path | None = None,
    device: str = "auto",
    dtype: Dtype | None = None,
) -> Checkpoint:
    """The reward model of a registry entry. Raises `SpecError` and `ModelError` as `load` does."""
    if dtype is not None and dtype not in get_args(Dtype):
        raise SpecError(f"unknown dtype {dtype!r}; known: {', '.join(get_args(Dtype))}")
    asked = spec if dtype is None else replace(spec, dtype=dtype)
    return Checkpoint(asked, cache=cache or default_cache(), device=device)
