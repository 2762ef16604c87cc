"""Weights go where they fit, and to the host's memory only where somebody asked for that."""

from __future__ import annotations

import re
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rmaudit.errors import ModelError
from rmaudit.models import device_placement


@pytest.fixture
def size(folder: Path) -> int:
    """The bytes of its weights in float32."""
    return 4 * sum(t.numel() for t in load_file(folder / "model.safetensors").values())


class Gpus:
    """Stand-ins for torch's functions: how much is free on each GPU, in bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *free: int, worker: str = "") -> None:
        """One GPU for each number, as a worker of xdist sees them, or a process alone."""
        monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(free))
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(free))
        monkeypatch.setattr(torch.accelerator, "get_memory_info", lambda at: (free[at.index], 1))
        monkeypatch.setattr(torch.accelerator, "memory_reserved", lambda _: 0)
        monkeypatch.setattr(torch.accelerator, "memory_allocated", lambda _: 0)
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)


@pytest.mark.parametrize(
    ("device", "free", "dtype", "expected"),
    [
        ("auto", (), "float32", {"": "cpu"}),
        ("auto", (1.0, 1.21, 0.0), "float32", {"": "cuda:1"}),
        ("auto", (1.0, 1.19, 1.0), "float32", "auto"),
        ("auto", (1.0, 1.19, 1.0), "bfloat16", {"": "cuda:1"}),
        ("spread", (), "float32", "auto"),
        ("spread", (0.1,), "float32", "auto"),
        ("cpu", (), "float32", {"": "cpu"}),
        ("cpu:0", (9.0,), "float32", {"": "cpu:0"}),
    ],
)
def test_where_weights_go(  # noqa: PLR0917  (what is there, and what is asked for)
    folder: Path,
    size: int,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    free: tuple[float, ...],
    dtype: str,
    expected: object,
) -> None:
    """By default the freest GPU, with a fifth to spare, else all; free memory is in their sizes."""
    Gpus(monkeypatch, *(int(share * size) for share in free))

    assert device_placement.device_map(device, folder, dtype, name="toy") == expected


@pytest.mark.parametrize(
    ("free", "worker", "gpu", "looked_at"),
    [
        ((3, 2, 1), "", 0, [0, 1, 2]),
        ((3, 2, 1), "gw0", 0, [0]),
        ((3, 2, 1), "gw1", 1, [1]),
        ((3, 2, 1), "gw2", 0, [2, 0, 1, 2]),  # its own is too small
        ((3, 2, 1), "gw4", 1, [1]),
        ((3,), "gw7", 0, [0]),
        ((3, 2, 1), "master", 0, [0, 1, 2]),
        ((1, 1, 1), "gw0", None, [0, 0, 1, 2]),
    ],
)
def test_workers_take_gpus_in_turn(
    free: tuple[int, ...], worker: str, gpu: int | None, looked_at: list[int]
) -> None:
    """Each its own, if the weights fit there, and looks at no other, for a look takes memory."""
    looked: list[int] = []

    def free_on(at: int) -> int:
        looked.append(at)
        return free[at]

    assert device_placement.one_gpu(len(free), free_on, 1.5, worker) == gpu
    assert looked == looked_at


def test_weights_that_the_gpus_cannot_hold_are_refused(
    folder: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before they are loaded: accelerate fills 0.9 of what is free, the rest went to the host."""
    Gpus(monkeypatch, size // 2, int(size * 0.6))

    said = r"^toy: .*float32.*cuda:1.*--rm-dtype bfloat16.*--rm-device spread"
    with pytest.raises(ModelError, match=said):
        device_placement.device_map("auto", folder, "float32", name="toy")
    assert device_placement.device_map("auto", folder, "bfloat16", name="toy") == "auto"


@pytest.mark.parametrize(
    ("device", "places", "refused"),
    [
        ("auto", (0, 1, "cpu"), "on cpu"),
        ("auto", (0, "disk", "cpu"), "on cpu and disk"),
        ("auto", (0, 1), ""),
        ("auto", ("cpu",), ""),
        ("spread", (0, "cpu"), ""),
    ],
)
def test_layers_on_the_host_that_nobody_asked_for_are_refused(
    device: str, places: tuple[object, ...], refused: str
) -> None:
    """A sweep would fetch them for each batch."""
    raised = pytest.raises(ModelError, match=rf"^toy: .*{refused}.*--rm-device spread$")
    with raised if refused else nullcontext():
        device_placement.refuse_offloaded(device, places, name="toy")


@pytest.mark.parametrize(
    ("device", "gpus"),
    [*((device, 0) for device in ("tpu", "", "cpu:x", "cuda:-1", "meta")), ("cuda:7", 2)],
)
def test_an_unknown_device_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, device: str, gpus: int
) -> None:
    """With torch's own reason, and those that are here."""
    Gpus(monkeypatch, *[1] * gpus)

    with pytest.raises(ModelError) as caught:
        device_placement.device_map(device, folder, "float32", name="toy")

    message = str(caught.value)
    assert message.startswith(f"toy: no device {device!r} here")
    assert message.endswith("; known: auto, cpu, spread" + ", cuda:0, cuda:1" * bool(gpus))
    said = re.search(r" here \(.*(CUDA|NVIDIA)", message)  # by its build, and the machine
    assert (said is not None) is (device == "cuda:7")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("The NVIDIA driver on your system is too old (found version 11040).", "too old"),
        ("Found no NVIDIA driver on your system. Please check that you have one", ""),
        ("No CUDA GPUs are available", ""),
    ],
)
def test_a_gpu_that_torch_cannot_use_is_no_silent_cpu(
    folder: Path, monkeypatch: pytest.MonkeyPatch, said: str, why: str
) -> None:
    """An old driver is a warning; a machine without a GPU is none."""

    def init() -> None:
        raise RuntimeError(said)

    Gpus(monkeypatch)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "init", init)

    warned = pytest.warns(UserWarning, match=rf"^toy: it runs on the CPU, since .*{why}")
    with warned if why else nullcontext():
        assert device_placement.device_map("auto", folder, "float32", name="toy") == {"": "cpu"}


def test_workers_load_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where they choose a GPU themselves: the second sees what the first has taken."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    Gpus(monkeypatch, 1, worker="gw0")
    order: list[str] = []
    first_is_in, first_may_go = threading.Event(), threading.Event()

    def first() -> None:
        with device_placement.one_loads_at_a_time("auto"):
            first_is_in.set()
            first_may_go.wait(20)
            order.append("first")

    def second() -> None:
        with device_placement.one_loads_at_a_time("auto"):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    first_is_in.wait(20)
    threads[1].start()
    with device_placement.one_loads_at_a_time("cuda:0"):  # who names a GPU waits for nobody
        order.append("named")
    first_may_go.set()
    for thread in threads:
        thread.join(20)

    assert order == ["named", "first", "second"]
    assert re.fullmatch(r"(rmaudit: waiting for another process.*\n)?", capfd.readouterr().err)
