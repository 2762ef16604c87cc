"""What safetensors files say of themselves: each tensor's shape and type, without its numbers.

A header stands at the start of its file, so on the hub it costs kilobytes of a file of gigabytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rmaudit.errors import ModelError

_BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "C64": 64}


class Header(NamedTuple):
    """One tensor; `dtype` is safetensors' name of it, such as BF16."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        """Its size on disk."""
        digits = self.dtype.partition("_")[0].lstrip("BFIU")
        bits = _BITS.get(self.dtype) or int(digits or 8)
        return math.prod(self.shape) * bits // 8


Headers = Mapping[str, Header]


def in_folder(folder: Path, *, model: str) -> dict[str, Header]:
    """Those of all shards of a folder.

    Raises:
        ModelError: there are none, or a file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    shards = sorted(path for path in folder.glob("*.safetensors") if path.is_file())
    if not shards:
        raise no_weights(model, str(folder), [path.name for path in folder.iterdir()])
    read: dict[str, Header] = {}
    for shard in shards:
        try:
            with safe_open(shard, framework="np") as opened:
                for key in opened.keys():  # noqa: SIM118  (not a mapping)
                    tensor = opened.get_slice(key)
                    read[key] = Header(tuple(tensor.get_shape()), str(tensor.get_dtype()))
        except SafetensorError as error:
            message = f"{model}: {shard} is damaged: {error}"
            raise ModelError(message) from error
    return read


def on_hub(source: str, revision: str, *, model: str) -> dict[str, Header]:
    """Those of all shards at a hub id's commit, by range requests: nothing big is downloaded.

    Raises:
        ModelError: there are none.
        OSError: or any other of `hub.FAILURES`, the hub cannot be asked.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    names = [name for name in api.list_repo_files(source, revision=revision) if "/" not in name]
    shards = sorted(name for name in names if name.endswith(".safetensors"))
    if not shards:
        raise no_weights(model, source, names)
    read: dict[str, Header] = {}
    for shard in shards:
        found = api.parse_safetensors_file_metadata(source, shard, revision=revision)
        read |= {key: Header(tuple(t.shape), str(t.dtype)) for key, t in found.tensors.items()}
    return read


def no_weights(model: str, where: str, names: list[str]) -> ModelError:
    """The error of a place without safetensors, which says what is there instead."""
    other = sorted(name for name in names if name.endswith((".bin", ".pt", ".pth")))
    found = f"only {', '.join(other)}" if other else "no weights"
    message = (
        f"{model}: no *.safetensors in {where} ({found}); rmaudit reads no pickles. "
        f"Save the model again with save_pretrained(FOLDER)"
    )
    return ModelError(message)
