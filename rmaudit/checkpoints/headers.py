"""What safetensors files say of themselves: each tensor's shape and type, without its numbers.

A header stands at the start of its file, so on the hub it costs kilobytes of a file of gigabytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rmaudit.checkpoints import shards
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


def in_file(path: Path, *, model: str) -> dict[str, Header]:
    """Those of one file.

    Raises:
        ModelError: it is damaged.
    """
    from safetensors import SafetensorError, safe_open

    read: dict[str, Header] = {}
    try:
        with safe_open(path, framework="np") as opened:
            for key in opened.keys():  # noqa: SIM118  (not a mapping)
                tensor = opened.get_slice(key)
                read[key] = Header(tuple(tensor.get_shape()), str(tensor.get_dtype()))
    except SafetensorError as error:
        raise ModelError(f"{model}: {path} is damaged: {error}") from error
    return read


def in_folder(folder: Path, *, model: str) -> dict[str, Header]:
    """Those of all weights of a folder.

    Raises:
        ModelError: there are none, or a file is missing or damaged.
    """
    read: dict[str, Header] = {}
    for shard in shards.of(folder, model=model):
        read |= in_file(shard, model=model)
    return read


def on_hub(source: str, revision: str, folder: Path, *, model: str) -> dict[str, Header]:
    """Those of all weights at a hub id's commit, by range requests: nothing big is downloaded.

    `folder` has the commit's small files.

    Raises:
        ModelError: there are none.
        OSError: or any other of `hub.failures`, the hub cannot be asked.
    """
    names = names_on_hub(source, revision)
    read: dict[str, Header] = {}
    for shard in shards.choose(names, folder, model=model, where=source):
        read |= file_on_hub(source, revision, shard)
    return read


def names_on_hub(source: str, revision: str) -> list[str]:
    """The files of a hub id's commit, without those of its folders. Raises `hub.failures`."""
    from huggingface_hub import HfApi

    return [n for n in HfApi().list_repo_files(source, revision=revision) if "/" not in n]


def file_on_hub(source: str, revision: str, name: str) -> dict[str, Header]:
    """Those of one file of a hub id's commit. Raises `hub.failures`."""
    from huggingface_hub import HfApi

    found = HfApi().parse_safetensors_file_metadata(source, name, revision=revision)
    return {key: Header(tuple(t.shape), str(t.dtype)) for key, t in found.tensors.items()}
