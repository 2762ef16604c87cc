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
        """The tensor's size on disk, in bytes."""
        digits = self.dtype.partition("_")[0].lstrip("BFIU")
        bits = _BITS.get(self.dtype) or int(digits or 8)
        return math.prod(self.shape) * bits // 8


Headers = Mapping[str, Header]  # of a checkpoint's tensors, by their names


def in_file(path: Path, *, model: str) -> dict[str, Header]:
    """The tensors of one safetensors file, by their names.

    Raises:
        ModelError: it is damaged, or cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    read: dict[str, Header] = {}
    try:
        with safe_open(path, framework="np") as opened:
            for key in opened.keys():  # noqa: SIM118  (not a mapping)
                tensor = opened.get_slice(key)
                read[key] = Header(tuple(tensor.get_shape()), str(tensor.get_dtype()))
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{model}: {path} is damaged: {error}") from error
    return read
