"""What differs between checkpoints in how their weights get into memory.

`native` is the usual way, transformers' class with one of our heads; `trusted` runs the class that
a checkpoint brings. Nothing here loads torch.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from rmaudit.layout.layouts import Layout
    from rmaudit.models.weights import Weights

DTYPES = ("float32", "bfloat16", "float16")


class Loader(Protocol):
    """A checkpoint's files, found and checked, and the way in which they are loaded.

    Every member raises `ModelError` where config.json or the tokenizer does not make sense.
    """

    @property
    def folder(self) -> Path:
        """The folder of its files; of an adapter, the adapter's own."""

    @property
    def layout(self) -> Layout:
        """How its rows are laid out."""

    @property
    def defaults(self) -> PretrainedConfig:
        """Its configuration with the defaults of its class, such as Gemma's pad id."""

    @property
    def rows(self) -> int:
        """Rows of the embedding: ids go from 0 to one less."""

    @property
    def pad(self) -> int | None:
        """The id that pooling skips; None if none is skipped."""

    @property
    def dtype(self) -> str:
        """What it runs in."""

    @property
    def settings(self) -> Mapping[str, str]:
        """How its weights are run and read: all of its identity that needs no hash of a file."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where its weights are from, and of what kind they are."""

    def files(self) -> list[Path]:
        """The files that are hashed, and then loaded: nobody may write to them in between."""

    def hashes(self, cache: Path) -> Mapping[str, str]:
        """Hashes of its files, by what they decide; remembered in `cache`."""

    def load(self, device: str) -> Weights:
        """Its weights on a device: "auto", "spread", or torch's name of one."""


def ran_on() -> dict[str, str]:
    """The versions and the machine that scores come from. Loads torch, for its version."""
    import torch
    import transformers

    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "machine": platform.machine(),
    }


def dtype_of(
    spec: ModelSpec, own: object, folder: Path, *, name: str, entry: str = "in models.yaml"
) -> str:
    """The registry's dtype, or else the checkpoint's `own`, or else float32.

    `entry` says where another one can be named.

    Raises:
        ModelError: it is one that rmaudit does not run.
    """
    dtype = spec.dtype if spec.dtype != "auto" else str(own or "float32").removeprefix("torch.")
    if dtype not in DTYPES:
        message = (
            f"{name}: dtype {dtype!r} in {folder / 'config.json'}; known: {', '.join(DTYPES)}. "
            f"Name one of these as `dtype` {entry}"
        )
        raise ModelError(message)
    return dtype


def refuse_too_many_layers(
    config: Mapping[str, Any], tensors: Iterable[str], folder: Path, *, name: str
) -> None:
    """Refuse a configuration of more layers than there are tensors: building it takes for ever.

    Raises:
        ModelError: it is so.
    """
    there = len(list(tensors))
    text = config.get("text_config") or {}
    for part in (config, text):
        for key in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
            layers = part.get(key)
            if isinstance(layers, int) and layers > there:
                message = (
                    f"{name}: {key} in {folder / 'config.json'} is {layers:,}, and the weights "
                    f"have {there:,} tensors in all, fewer than one a layer; copy config.json from "
                    f"the checkpoint's own"
                )
                raise ModelError(message)
