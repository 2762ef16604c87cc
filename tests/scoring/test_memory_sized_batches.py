"""How many ids run at once follows from the free memory, and an allocation that failed is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch

from rmaudit.scoring import memory_sized_batches
from tests.scoring.rows import Toy

MB = 2**20


def free(monkeypatch: pytest.MonkeyPatch, host: int, **gpus: int) -> None:
    """A machine with `host` bytes free, and on each GPU, "cuda0" say, as many as are named."""
    sizes = gpus

    def info(device: torch.device) -> tuple[int, int]:
        return sizes[f"{device.type}{device.index}"], 10**15

    monkeypatch.setattr(torch.accelerator, "get_memory_info", info)
    monkeypatch.setattr(torch.accelerator, "memory_reserved", lambda _: 0)
    monkeypatch.setattr(torch.accelerator, "memory_allocated", lambda _: 0)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=host))


def backbone(
    *devices: str, dtype: torch.dtype = torch.float32, inner: int | None = 48, heads: int = 4
) -> Any:
    """All that the estimate wants of a backbone; its embedding is on the first device."""
    text = SimpleNamespace(hidden_size=32, intermediate_size=inner, num_attention_heads=heads)
    size = torch.empty(0, dtype=dtype).element_size()
    held = [
        SimpleNamespace(device=torch.device(device), element_size=lambda: size)
        for device in devices or ("cpu",)
    ]
    return SimpleNamespace(
        config=SimpleNamespace(get_text_config=lambda: text),
        parameters=lambda: iter(held),
        get_input_embeddings=lambda: SimpleNamespace(parameters=lambda: iter(held[:1])),
    )


@pytest.mark.parametrize(
    ("toy", "own", "in_float32"),  # attention scores: heads * (24 of the prefix + 16)
    [
        (backbone(), 4 * (8 * 32 + 3 * 48 + 160), 2 * 32 + 160),
        (
            backbone(dtype=torch.bfloat16, inner=None, heads=8),
            2 * (8 * 32 + 3 * 128 + 320),
            2 * 32 + 320,
        ),
    ],
    ids=["float32", "bfloat16, no intermediate size, more heads"],
)
def test_bytes_per_id(toy: Any, own: int, in_float32: int) -> None:
    """Hidden, intermediate and attention's share, in the run's dtype and in float32, twice."""
    assert memory_sized_batches.bytes_per_id(toy, 24) == 2 * (own + 4 * in_float32)


EACH = 2 * (4 * (8 * 32 + 3 * 48 + 160) + 4 * (2 * 32 + 160))  # bytes of an id after 24


@pytest.mark.parametrize(
    ("devices", "host", "gpus", "expected"),
    [
        (("cpu",), 200 * EACH, {}, 100),
        (("mps:0",), 200 * EACH, {}, 100),  # which shares the host's
        (("cuda:1",), 10**15, {"cuda0": 1, "cuda1": 200 * EACH}, 100),
        (("xpu:0",), 1, {"xpu0": 200 * EACH}, 100),
        (("cuda:0", "cuda:1", "cpu"), 1, {"cuda0": 10**15, "cuda1": 200 * EACH}, 100),
        (("cpu",), 10**15, {}, 512),
        (("cuda:0",), 1, {"cuda0": 10**15}, 16384),
        (("cuda:0",), 1, {"cuda0": 0}, 1),  # one row is tried all the same: it may fit
    ],
    ids=str,
)
def test_half_of_the_free_memory_of_the_fullest_device(
    monkeypatch: pytest.MonkeyPatch,
    devices: tuple[str, ...],
    host: int,
    gpus: dict[str, int],
    expected: int,
) -> None:
    """Divided by what an id takes in all layers that stay; never more ids than are of use."""
    free(monkeypatch, host, **gpus)
    toy = backbone(*devices)
    room = memory_sized_batches.budget(toy)

    assert memory_sized_batches.ids_in(room, toy, 24) == expected
    assert memory_sized_batches.ids_in(200 * EACH, toy, 24, layers=7) == 28


def test_each_length_of_prefix_has_its_own_number(
    monkeypatch: pytest.MonkeyPatch, llama: Toy
) -> None:
    """A longer prefix leaves room for fewer ids; what a failure shows is remembered in bytes."""
    free(monkeypatch, 10_000 * MB)
    assert memory_sized_batches.budget(backbone()) == 512 * MB  # more makes nothing faster on a CPU
    scorer = llama.scorer()
    scorer.limit_batches(64, 2000)

    found = {prefix: scorer.batch_limit(prefix) for prefix in (45, 2000, 8000)}

    assert found[2000] == 64
    assert found[8000] < 20
    assert found[45] > 64
    before = scorer.batch_limit(2000)
    scorer.limit_batches(32, 2000)
    assert (before, scorer.batch_limit(2000)) == (64, 32)


FULL = [
    "MPS backend out of memory (MPS allocated: 17.9 GB)",
    "CUDA error: out of memory",
    "CUBLAS error: CUBLAS_STATUS_ALLOC_FAILED when calling `create(handle)`",
    "CUBLAS error: CUBLAS_STATUS_NOT_INITIALIZED when calling `create(handle)`",
    "CUDNN error: CUDNN_STATUS_ALLOC_FAILED when calling `create(handle)`",
]
OTHER = ["CUBLAS_STATUS_EXECUTION_FAILED", "CUDA error: device-side assert triggered", ""]


def test_what_is_out_of_memory() -> None:
    """Each backend's way to say it, and nothing else."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60)  # torch's own CPU allocator, of 4 exabytes
    full = [caught.value, torch.OutOfMemoryError(), MemoryError(), *map(RuntimeError, FULL)]
    others = [ValueError("out of memory"), KeyboardInterrupt(), *map(RuntimeError, OTHER)]

    known = memory_sized_batches.is_out_of_memory
    assert [repr(error) for error in full if not known(error)] == []
    assert [repr(error) for error in others if known(error)] == []


def test_what_torch_holds_in_reserve_is_free_and_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The weights of a model that was closed may still be in torch's reserve."""
    free(monkeypatch, 1, cuda1=100)
    monkeypatch.setattr(torch.accelerator, "memory_reserved", lambda _: 70)
    monkeypatch.setattr(torch.accelerator, "memory_allocated", lambda _: 30)
    assert memory_sized_batches.free_on(torch.device("cuda:1")) == 140
    assert memory_sized_batches.free_on(torch.device("cpu")) is None

    emptied: list[bool] = []
    monkeypatch.setattr(torch.accelerator, "empty_cache", lambda: emptied.append(True))
    for there in (True, False):
        monkeypatch.setattr(torch.accelerator, "is_available", lambda there=there: there)
        memory_sized_batches.release()
    assert emptied == [True]
