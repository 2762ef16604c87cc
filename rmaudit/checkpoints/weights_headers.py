"""Find a checkpoint's weights files, and read tensors' shapes and dtypes in their headers.

The files are those that transformers reads: `model.safetensors` if that is there, else what
`model.safetensors.index.json` names. Shards that an earlier save left behind are in neither, and
reading them would mix two models. A header stands at the start of its file and has each tensor's
shape and type, so on the hub it costs kilobytes of a file of gigabytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rmaudit.checkpoints import tensor_names
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
ADAPTER_CONFIG, ADAPTER = "adapter_config.json", "adapter_model.safetensors"  # PEFT's
HEAD, HEAD_PICKLE = "value_head.safetensors", "value_head.bin"  # LLaMA-Factory's, ms-swift's
FLOATS = ("F64", "F32", "F16", "BF16")  # safetensors' names of what weights may be
_COUNT = ".num_batches_tracked"
_BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "C64": 64}


class Header(NamedTuple):
    """A tensor's shape and dtype in a file's header; `dtype` is safetensors' name, such as BF16."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        """Return the tensor's size on disk, in bytes."""
        digits = self.dtype.partition("_")[0].lstrip("BFIU")
        bits = _BITS.get(self.dtype) or int(digits or 8)
        return math.prod(self.shape) * bits // 8


Headers = Mapping[str, Header]  # of a checkpoint's tensors, by their names


def weights_paths(folder: Path, *, model: str) -> list[Path]:
    """Return the paths of a checkpoint folder's weights files (safetensors), sorted by name.

    Raises:
        ModelError: there are none, or one that the index names is missing.
    """
    names = names_in(folder, model=model)
    return [folder / name for name in weights_names(names, folder, model=model, where=str(folder))]


def names_in(folder: Path, *, model: str) -> list[str]:
    """Return the names of the files in a folder, without those of its subfolders.

    Raises:
        ModelError: the folder cannot be read.
    """
    try:
        return [path.name for path in folder.iterdir() if path.is_file()]
    except OSError as error:
        message = f"{model}: {folder} cannot be read ({error.strerror}); correct its permissions"
        raise ModelError(message) from error


def complete(folder: Path) -> bool:
    """Return whether a folder has all weights of a checkpoint or an adapter, by its index."""
    try:
        return bool(weights_paths(folder, model=folder.name))
    except ModelError:
        return (folder / ADAPTER_CONFIG).is_file() and (folder / ADAPTER).is_file()


def weights_names(names: list[str], folder: Path, *, model: str, where: str) -> list[str]:
    """Return which of a checkpoint's file names are its weights, as transformers chooses them.

    `folder` has the checkpoint's index, if there is one.

    Raises:
        ModelError: there are none, or one that the index names is missing.
    """
    if SINGLE in names:
        return [SINGLE]
    if INDEX in names:
        return _names_in_index(names, folder / INDEX, model, where)
    if others := sorted(n for n in names if n.endswith(".safetensors") and n != HEAD):
        raise ModelError(
            f"{model}: neither {SINGLE} nor {INDEX} in {where}, only {', '.join(others)}; "
            f"transformers would not find these weights. Copy the checkpoint again with its index, "
            f"or save the model again with save_pretrained(FOLDER)"
        )
    pickles = sorted(name for name in names if name.endswith((".bin", ".pt", ".pth")))
    if not pickles:
        raise ModelError(
            f"{model}: {where} holds no weights (no *.safetensors). Copy or download the whole "
            f"checkpoint again, or save the model there: model.save_pretrained(FOLDER)"
        )
    raise ModelError(
        f"{model}: no *.safetensors in {where} (only {', '.join(pickles)}); rmaudit reads no "
        f"pickles, which can run code. Load the model with transformers and torch>=2.6 where you "
        f"trust it, and save it again: model.save_pretrained(FOLDER) writes safetensors"
    )


def separate_head(folder: Path) -> list[Path]:
    """Return [value_head.safetensors] if the folder has this separate file of a head, else []."""
    return [path] if (path := folder / HEAD).is_file() else []


def refuse_empty(headers: Headers, where: Path, *, model: str) -> None:
    """Raise if a tensor has no numbers, as a part that DeepSpeed's ZeRO-3 kept elsewhere.

    Raises:
        ModelError: one has a shape such as (0,).
    """
    if empty := sorted(key for key, header in headers.items() if 0 in header.shape):
        raise ModelError(
            f"{model}: {len(empty)} tensors in {where} are empty, first {empty[0]!r}, of shape "
            f"{headers[empty[0]].shape}: DeepSpeed's ZeRO-3 shares the weights out over all "
            f"processes, and they were saved without being gathered. Save the model again with "
            f"stage3_gather_16bit_weights_on_model_save in DeepSpeed's configuration, or gather "
            f"the training's checkpoint with its zero_to_fp32.py"
        )


def newer_pickles(folder: Path, *, model: str) -> list[str]:
    """Return names of pickled weights in a folder that were written after its safetensors."""
    latest = max(path.stat().st_mtime for path in weights_paths(folder, model=model))
    pickles = folder.glob("pytorch_model*.bin")
    return sorted(path.name for path in pickles if path.stat().st_mtime > latest)


def unread_weights(folder: Path, *, model: str) -> list[str]:
    """Return names of files that look like weights of the checkpoint but are not loaded."""
    read = {path.name for path in weights_paths(folder, model=model)}
    return sorted({path.name for path in folder.glob("model*.safetensors")} - read)


def headers(path: Path, *, model: str) -> dict[str, Header]:
    """Return shape and dtype of each tensor in one safetensors file, by tensor name.

    Raises:
        ModelError: the file is damaged, or cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    read: dict[str, Header] = {}
    try:
        with safe_open(path, framework="np") as opened:
            for key in opened.keys():  # noqa: SIM118  (not a mapping)
                tensor = opened.get_slice(key)
                read[key] = Header(tuple(tensor.get_shape()), str(tensor.get_dtype()))
    except (SafetensorError, OSError) as error:
        raise _damaged(path, error, model) from error
    return read


def _damaged(path: Path, error: Exception, model: str) -> ModelError:
    """Return the error for a damaged file, with its size or the reason why that is unknown."""
    try:
        size = f"{path.stat().st_size:,} bytes"
    except OSError as unknown:
        size = str(unknown.strerror)
    return ModelError(f"{model}: {path} is damaged: {error} ({size}). Copy or download it again")


def refuse_no_floats(headers: Headers, where: Path, *, model: str, remedy: str = "") -> None:
    """Raise if a tensor's dtype is not float64, float32, float16 or bfloat16.

    Integers or complex numbers, cast to floats, would be another model's weights. A batch norm's
    count of batches (`num_batches_tracked`), which no output depends on, may be an integer.

    Raises:
        ModelError: one is of another dtype. The message ends with `remedy`, or else says how to
            mend that.
    """
    for key, header in sorted(headers.items()):
        if header.dtype not in FLOATS and not key.endswith(_COUNT):
            message = f"{model}: {key!r} in {where} is of {header.dtype}, allowed: "
            how = remedy or "Save the trained checkpoint again, in one of these"
            raise ModelError(f"{message}{', '.join(FLOATS)}. {how}")


def tensors(folder: Path, keys: frozenset[str]) -> dict[str, Tensor]:
    """Return a checkpoint's tensors named by `keys`, as saved: not cast to the run's dtype.

    Raises:
        ModelError: its weights are missing.
    """
    weights = weights_paths(folder, model=folder.name)
    return tensors_in(weights, keys) | tensors_in(separate_head(folder), keys)


def tensors_in(files: Iterable[Path], keys: frozenset[str]) -> dict[str, Tensor]:
    """Return the tensors named by `keys` that safetensors files hold, as they were saved.

    The names are without prefixes of wrappers (`tensor_names`).
    """
    from safetensors import safe_open

    with ExitStack() as opened:
        shards = [opened.enter_context(safe_open(path, framework="pt")) for path in files]
        where = {stored: shard for shard in shards for stored in shard.keys()}  # noqa: SIM118
        stored_names = tensor_names.plain(where)
        return {
            key: where[stored].get_tensor(stored)
            for key, stored in stored_names.items()
            if key in keys
        }


def key_mapping(folder: Path, *, model: str) -> dict[str, str]:
    """Return transformers' `key_mapping` for a checkpoint's names; see `tensor_names`.

    Raises:
        ModelError: its weights are missing or damaged.
    """
    paths = weights_paths(folder, model=model)
    return tensor_names.key_mapping(name for path in paths for name in headers(path, model=model))


def all_zero(path: Path, names: Iterable[str]) -> bool:
    """Return whether all numbers of these tensors in a safetensors file are zero; without torch."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        for name in names:
            start, end = header[name]["data_offsets"]
            file.seek(8 + size + start)
            if file.read(end - start).strip(b"\0"):
                return False
    return True


def find_non_finite(files: Iterable[Path], *, model: str) -> str:
    """Return the name of the first tensor with NaN or infinity, and its file's, as text; or "".

    Such as "'score.weight' in model.safetensors". One tensor is in memory at a time, and numbers of
    8 bits or fewer are not looked at.

    Raises:
        ModelError: a file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    from rmaudit.scoring.finite_rewards import all_finite

    for path in files:
        try:
            with safe_open(path, framework="pt") as opened:
                for key in opened.keys():  # noqa: SIM118  (not a mapping)
                    if not all_finite(opened.get_tensor(key)):
                        return f"{key!r} in {path.name}"
        except (SafetensorError, OSError) as error:
            raise _damaged(path, error, model) from error
    return ""


def _names_in_index(there: list[str], path: Path, model: str, where: str) -> list[str]:
    try:
        names = sorted(set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"{model}: {path} is no index of weights (a mapping `weight_map` of tensors to files); "
            f"copy the checkpoint again, or save the model again with save_pretrained(FOLDER)"
        ) from error
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            message = f"{model}: {path} names {name!r}, which is no file of its folder; correct it"
            raise ModelError(message)
    if missing := [name for name in names if name not in there]:
        raise ModelError(
            f"{model}: {missing[0]} is not in {where}, and {INDEX} names it ({len(missing)} of "
            f"{len(names)} shards are missing); copy the checkpoint again, with all its files"
        )
    if not names:
        message = f"{model}: {path} names no files; save the model again with save_pretrained"
        raise ModelError(message)
    return names
