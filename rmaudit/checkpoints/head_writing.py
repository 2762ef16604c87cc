"""Write a checkpoint beside another, with the same files but for the vector of its head."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints import tensor_names, weights_headers
from rmaudit.errors import ModelError, SpecError

if TYPE_CHECKING:
    from torch import Tensor

    from rmaudit.checkpoints.checked_checkpoint import Checked

_SAME = 1e-3  # relative: a tensor that is the head's vector but for a factor, such as its std


def refuse_folder(to: Path) -> None:
    """Raise `SpecError` unless `to` is free for a new checkpoint: absent, or an empty folder."""
    if to.is_dir() and not any(to.iterdir()):
        return
    if to.exists() or to.is_symlink():
        message = f"{to}: is there already, and nothing is written over it; name a new folder"
        raise SpecError(message)


def rounded(checked: Checked, old: NDArray[np.float32], new: _Vector) -> NDArray[np.float32]:
    """Return the vector `new` (hidden,) as the checkpoint's files can hold it.

    `old` is the head's vector now. Raises as `write`.
    """
    _, tensor, factor = _stored(checked, old)
    held = _tensor(new * factor, tensor).float().numpy().ravel()
    return np.asarray(held / np.float32(factor))


_Vector = NDArray[np.floating]


def write(checked: Checked, old: NDArray[np.float32], new: _Vector, to: Path) -> None:
    """Write the checkpoint to the folder `to`, with the vector `new` in place of `old`, (hidden,).

    Files of weights that stay as they are are hard links to the old ones where the file system has
    them, all others copies; the old files are only read.

    Raises:
        ModelError: the head is an adapter's, or its vector is not one of its tensors.
        SpecError: `to` is no free folder.
        OSError: it cannot be written.
    """
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    key, tensor, factor = _stored(checked, old)
    refuse_folder(to)
    folder = checked.base.path
    weights = weights_headers.weights_paths(folder, model=checked.name)
    weights += weights_headers.separate_head(folder)
    partial = to.with_name(f".{to.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for path in sorted(folder.iterdir()):
            if not path.is_file():
                continue
            own = partial / path.name
            names: dict[str, str] = {}
            if path in weights:
                with safe_open(path, framework="pt") as opened:
                    names, about = tensor_names.plain(opened.keys()), opened.metadata()
            if key in names:
                tensors = load_file(path)
                tensors[names[key]] = _tensor(new * factor, tensor)
                save_file(tensors, own, about)
                own.chmod(path.stat().st_mode & 0o777)  # it would be its owner's only
            elif path in weights:
                _link(path.resolve(), own)  # a file of the hub's cache is a link itself
            else:
                shutil.copyfile(path, own)
        partial.replace(to)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _stored(checked: Checked, old: NDArray[np.float32]) -> tuple[str, Tensor, float]:
    """Return name and tensor of the head's vector in its files, and its factor to `old`."""
    if checked.adapter is not None:
        message = (
            f"{checked.name}: is an adapter, which has no whole checkpoint of its own; merge it "
        )
        raise ModelError(f"{message}into its base (merge_and_unload), save that, and mend that")
    for key, tensor in weights_headers.tensors(checked.base.path, checked.head.keys).items():
        if tensor.numel() == len(old):
            held = tensor.double().numpy().ravel()
            factor = float(held @ old / (old.astype(np.float64) @ old))
            if np.abs(held - factor * old).max() <= _SAME * np.abs(held).max():
                return key, tensor, factor
    message = f"{checked.name}: no tensor of its head is its vector alone ("
    message += f"{', '.join(checked.head.keys)}), so that none can be written in its place; save "
    raise ModelError(f"{message}the model with a head of its own, such as score.weight of one row")


def _tensor(values: _Vector, like: Tensor) -> Tensor:
    import torch

    return torch.from_numpy(np.asarray(values, np.float64)).to(like.dtype).reshape(like.shape)


def _link(path: Path, to: Path) -> None:
    try:
        os.link(path, to)
    except OSError:  # a file system without hard links, or another one
        shutil.copyfile(path, to)
