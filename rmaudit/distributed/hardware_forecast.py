"""Predict how a model would run on given GPUs, from its files' headers, before a download.

Memory follows the rules by which weights are placed (`models.device_placement`, and accelerate's
map of layers for several GPUs) and batches are sized (`scoring.memory_sized_batches`). Seconds are
computed, at a share of the maker's peak (`distributed.cost`); nothing is measured.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import checkpoint_source, head_detection
from rmaudit.config.model_registry import ModelSpec
from rmaudit.distributed.cost import Size, size_of
from rmaudit.errors import ModelError, SpecError
from rmaudit.prompts import PROMPTS

if TYPE_CHECKING:
    from torch import nn

    from rmaudit.checkpoints.checked_checkpoint import Checked

GB = 10**9
KINDS = {  # GPUs that can be named, and the bytes that are free on an idle one
    "A10": 23 * GB,
    "A100": 84 * GB,
    "A100-40": 41 * GB,
    "H100": 84 * GB,
    "H200": 149 * GB,
    "L40S": 47 * GB,
    "RTX4090": 25 * GB,
}
PREFIXES = (2_000, 8_000)  # ids of longer prompts, for which batches are told too
_NAMED = re.compile(r"([A-Za-z0-9-]+?)(?::([1-9][0-9]?))?")


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: its kind, and the bytes that are free on it."""

    kind: str
    free: int


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A prediction of how a model would run: memory, batch sizes, seconds, download.

    Attributes:
        weights: bytes of the weights in memory, by the number of the GPU.
        batches: how many ids run at once, by the length of the prompt in ids.
        seconds: expected for a sweep of the vocabulary under one prompt; None if the hardware's
            rate is not known.
        download: bytes that are not on this machine yet.
        disk: bytes that are free where they would go.
    """

    weights: dict[int, int]
    batches: dict[int, int]
    seconds: float | None
    download: int
    disk: int


def gpus_named(text: str) -> list[Gpu]:
    """Return the GPUs that a text names, such as "H100" or "H100:2".

    Raises:
        SpecError: `text` names no known GPU.
    """
    found = _NAMED.fullmatch(text)
    kind = next((kind for kind in KINDS if found and kind.lower() == found[1].lower()), None)
    if found is None or kind is None:
        known = ", ".join(KINDS)
        message = f"--as {text!r}: write a kind of GPU and how many, such as H100:2; known kinds: "
        raise SpecError(message + known)
    return [Gpu(kind, KINDS[kind])] * int(found[2] or 1)


def gpus_here() -> list[Gpu]:
    """Return the GPUs of this machine with the free bytes of each; [] if there are none."""
    import torch

    from rmaudit.scoring import memory_sized_batches

    if not torch.cuda.is_available():
        return []
    devices = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    return [
        Gpu(torch.cuda.get_device_name(at), memory_sized_batches.free_on(at) or 0) for at in devices
    ]


def forecast(spec: ModelSpec, cache: Path, gpus: Sequence[Gpu]) -> Rehearsal:
    """Predict how the model of a models.yaml entry would run; only small files are downloaded.

    Raises:
        ModelError: the model cannot be had or scored, or does not fit, on the GPUs or on this
            machine's disk.
    """
    from rmaudit.models.checkpoint_model import Checkpoint
    from rmaudit.models.checkpoint_rows import CheckpointRows
    from rmaudit.scoring import memory_sized_batches

    found = head_detection.find(spec, cache)
    model = Checkpoint(spec, cache=cache, rows=CheckpointRows(found, cache))
    size = size_of(model)
    assert size is not None, "it has weights"  # noqa: S101  (for types)
    elsewhere = not isinstance(found.base, checkpoint_source.Folder)
    download = sum(header.bytes for header in found.headers.values()) if elsewhere else 0
    disk = shutil.disk_usage(found.base.path).free
    if download > disk:
        message = (
            f"{model.name}: {download / GB:,.1f} GB are to be downloaded, and {disk / GB:,.1f} GB "
            f"are free for them; free some, or set HF_HOME to a folder with room"
        )
        raise ModelError(message)
    backbone = _on_meta(found, size.dtype)
    weights = _placed(model.name, backbone, size, gpus)
    room = min(gpus[at].free - held for at, held in weights.items())
    at_once = len(weights) + 1 if len(weights) > 1 else 1  # batches under way in a pipeline
    slot = model.slot(PROMPTS["greatest"].text)
    lengths = (len(slot.prefix), *PREFIXES)
    batches = {n: memory_sized_batches.ids_in(room // 2 // at_once, backbone, n) for n in lengths}
    ids = len(model.vocabulary().ids) * (1 + len(slot.suffix)) + len(slot.prefix)
    rates = size.seconds(2.0 * size.passed * ids, len(weights))
    return Rehearsal(weights, batches, rates.get(gpus[0].kind), download, disk)


def lines(found: Rehearsal, gpus: Sequence[Gpu]) -> Iterator[tuple[str, str]]:
    """Yield the prediction as lines for a person: a label, and a text."""
    for at, held in found.weights.items():
        gpu = gpus[at]
        yield f"cuda:{at}", f"{gpu.kind}: weights {held / GB:,.1f} GB of {gpu.free / GB:,.0f} free"
    told = ", ".join(f"{ids:,} after a prompt of {n:,}" for n, ids in found.batches.items())
    yield "ids a batch", told
    if found.seconds is not None:
        yield (
            "a sweep",
            f"about {found.seconds:,.0f} s by computation, and loading before the first",
        )
    yield "download", f"{found.download / GB:,.1f} GB; {found.disk / GB:,.0f} GB are free on disk"


def _placed(name: str, backbone: nn.Module, size: Size, gpus: Sequence[Gpu]) -> dict[int, int]:
    """Return the bytes of weights on each GPU that would be used, by number; raise if too large.

    Raises:
        ModelError: they do not fit.
    """
    from accelerate import infer_auto_device_map
    from accelerate.utils import get_balanced_memory

    from rmaudit.models import device_placement

    free = [gpu.free for gpu in gpus]
    if (
        one := device_placement.one_gpu(
            len(gpus), free.__getitem__, device_placement.ROOM * size.bytes
        )
    ) is not None:
        return {one: size.bytes}
    usable = {at: int(device_placement.USABLE * room) for at, room in enumerate(free)}
    whole: Any = getattr(backbone, "_no_split_modules", None)
    log = logging.getLogger("accelerate.utils.modeling")
    level = log.level
    log.setLevel(logging.ERROR)  # it warns of GPUs that are only named
    try:
        balanced = get_balanced_memory(backbone, usable, no_split_module_classes=whole)
        places = infer_auto_device_map(backbone, balanced, no_split_module_classes=whole)
    finally:
        log.setLevel(level)
    if set(places.values()) & {"cpu", "disk"}:
        raise device_placement.too_large(name, size.dtype, size.bytes, free)
    weights = dict.fromkeys(sorted(set(places.values())), 0)
    for module, at in places.items():
        held = backbone.get_submodule(module).parameters()
        weights[at] += sum(one.numel() * one.element_size() for one in held)
    return weights


def _on_meta(found: Checked, dtype: str) -> nn.Module:
    """Return the backbone without its weights, on torch's meta device."""
    import torch
    from transformers import AutoModel

    with torch.device("meta"):
        made: nn.Module = AutoModel.from_config(found.defaults, dtype=getattr(torch, dtype))
    return made
