"""Run batches in a pipeline through a backbone on several devices, so that all devices stay busy.

Each device holds some layers, so a batch passes one device after the other, and with one batch at a
time all others wait. Here a few threads each run a batch from its ids to its rewards. A batch has a
device to itself until it moves on to the next, and then the batch behind it comes in.

Threads, and not only rewards read back late: accelerate's hooks copy the rotary embedding to each
layer's device anew, and torch lets a copy wait for all that both devices' current streams were
given before. On one stream a device, the first would wait for the last layer of the batch in front.
Each thread has streams of its own, so a batch waits for its own copies only. On a GPU a device is
handed on by an event: nobody waits for it but the device.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import torch
from torch import nn

from rmaudit.scoring.row_runners import device_of

_BATCHES_PER_DEVICE = 5  # in one call: filling and emptying cost about a sixth at most
_MIN_IDS = 1024  # ids of a batch: with fewer, a GPU waits for the host that starts its kernels

S = TypeVar("S")
T = TypeVar("T")


def pipeline_of(model: nn.Module) -> Pipeline | None:
    """Return a pipeline for a model spread over several GPUs, else None; move its rotary embedding.

    None also where a part is on the CPU or on disk: its weights come to a GPU when they are used.
    """
    places: Mapping[str, Any] = getattr(model, "hf_device_map", None) or {}
    if (kind := torch.accelerator.current_accelerator()) is not None and kind.type != "cuda":
        return None  # streams and events of others were not tried
    different = set(map(str, places.values()))
    if len(different) < 2 or different & {"cpu", "disk"}:  # noqa: PLR2004  (several)
        return None
    _move_rotary_embedding_to_first_device(model)
    return Pipeline(stages(model, places))


def stages(model: nn.Module, places: Mapping[str, Any]) -> dict[nn.Module, torch.device]:
    """Return each module of accelerate's device map that has weights, with the device it runs on.

    `places` is accelerate's map of module names to devices. Only what holds weights is a stage. A
    rotary embedding holds none, and accelerate puts it last: as a stage it would send each batch to
    the last device before its first layer.
    """
    return {
        module: torch.device("cuda", place) if isinstance(place, int) else torch.device(place)
        for name, place in places.items()
        if next((module := model.get_submodule(name)).parameters(), None) is not None
    }


def _move_rotary_embedding_to_first_device(model: nn.Module) -> None:
    """Move modules without weights (rotary embeddings) to the device of the input embedding.

    Their output is then there at once, and waits for no batch on another device.
    """
    from accelerate.hooks import remove_hook_from_module

    base: nn.Module = model.base_model  # type: ignore[assignment]
    first = device_of(base)
    for name, module in base.named_children():
        if "rotary" in name and next(module.parameters(), None) is None:
            remove_hook_from_module(module, recurse=True)
            module.to(first)


class Pipeline:
    """Runs batches through a model on several GPUs, each GPU one batch at a time."""

    def __init__(
        self, stages: Mapping[nn.Module, torch.device], *, min_ids: int = _MIN_IDS
    ) -> None:
        """Take `stages`: the modules before which a batch moves to a device, each with that device.

        A call is cut into `batches` batches, fewer where these had less than `min_ids` ids.
        """
        self._stages, self._fewest = dict(stages), min_ids
        self._devices = sorted(set(stages.values()), key=str)
        self._free = {device: threading.Lock() for device in self._devices}
        self._left: dict[torch.device, torch.cuda.Event] = {}  # when the last batch left a GPU
        self._here = threading.local()
        self.at_once = len(self._devices) + 1  # one waits at the door, while rewards are read
        self.batches = _BATCHES_PER_DEVICE * len(self._devices)
        self._pool = ThreadPoolExecutor(self.at_once, "rmaudit")

    def batch_limit(self, ids: int) -> int:
        """Return how many ids a batch may have if a scoring call has `ids` ids in all."""
        return max(self._fewest, -(-ids // self.batches))

    def run(self, backbone: nn.Module, one: Callable[[S], T], batches: Sequence[S]) -> Iterator[T]:
        """Yield `one(batch)` for each batch, in order; `one` runs in threads, in inference mode.

        A batch leaves the pipeline where the backbone's forward ends. Raises as `one` does.
        """
        for device in self._gpus():
            torch.cuda.synchronize(device)  # the prefix's keys and values are there
        with self._watched(backbone):
            made = [self._pool.submit(self._through, one, batch) for batch in batches]
            try:
                for future in made:
                    yield future.result()
            finally:  # whoever stops early finds the devices free
                wait([future for future in made if not future.cancel()])

    @contextmanager
    def _watched(self, backbone: nn.Module) -> Iterator[None]:
        with ExitStack() as hooks:
            for module, device in self._stages.items():
                entering = module.register_forward_pre_hook(
                    lambda *_, device=device: self._enter(device),
                    prepend=True,
                )
                hooks.callback(entering.remove)
            hooks.callback(backbone.register_forward_hook(lambda *_: self._leave()).remove)
            yield

    def _through(self, one: Callable[[S], T], batch: S) -> T:
        self._begin()
        try:
            with torch.inference_mode():
                return one(batch)
        finally:
            self._leave()  # also where the forward failed

    def _begin(self) -> None:
        """Give this thread its own CUDA streams, the same for all of its batches."""
        if not hasattr(self._here, "device"):
            self._here.device = None
            for device in reversed(self._gpus()):  # the last becomes the thread's current device
                torch.cuda.set_stream(torch.cuda.Stream(device))  # type: ignore[no-untyped-call]

    def _enter(self, device: torch.device) -> None:
        if device == self._here.device:
            return
        self._leave()  # before it waits for the next: no two wait for each other
        self._free[device].acquire()
        self._here.device = device
        if device in self._left:
            torch.cuda.current_stream(device).wait_event(self._left[device])

    def _leave(self) -> None:
        device, self._here.device = self._here.device, None
        if device is None:
            return
        if device.type == "cuda":
            self._left[device] = torch.cuda.current_stream(device).record_event()
        self._free[device].release()

    def _gpus(self) -> list[torch.device]:
        return [device for device in self._devices if device.type == "cuda"]
