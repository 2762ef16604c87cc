"""How many ids run at once follows from the free memory, and an allocation that failed is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch

from rmaudit.scoring import engine, memory
from tests.scoring.rows import END, PREFIX, Toy

MB = 2**20


def free(monkeypatch: pytest.MonkeyPatch, device: str, size: int) -> list[torch.device]:
    """A machine with `size` bytes free where the trunk is; the devices that were asked."""
    asked: list[torch.device] = []

    def mem_get_info(device: torch.device) -> tuple[int, int]:
        asked.append(device)
        return size, 10**15

    monkeypatch.setattr(memory, "device_of", lambda _: torch.device(device))
    monkeypatch.setattr(torch.cuda, "mem_get_info", mem_get_info)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 0)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 0)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=size))
    return asked


def trunk(
    *, dtype: torch.dtype = torch.float32, intermediate: int | None = 48, heads: int = 4
) -> Any:
    """All that the estimate wants of a trunk."""
    text = SimpleNamespace(
        hidden_size=32, intermediate_size=intermediate, num_attention_heads=heads
    )
    layer = torch.nn.Linear(1, 1, dtype=dtype)
    return SimpleNamespace(
        config=SimpleNamespace(get_text_config=lambda: text), parameters=layer.parameters
    )


@pytest.mark.parametrize(
    ("toy", "expected"),
    [
        # scores: 4 heads * (24 + 16) = 160
        (trunk(), 2 * (4 * (8 * 32 + 3 * 48 + 160) + 4 * (2 * 32 + 160))),
        (
            trunk(dtype=torch.bfloat16),
            2 * (2 * (8 * 32 + 3 * 48 + 160) + 4 * (2 * 32 + 160)),
        ),
        (trunk(intermediate=None), 2 * (4 * (8 * 32 + 3 * 128 + 160) + 4 * (2 * 32 + 160))),
        (trunk(heads=8), 2 * (4 * (8 * 32 + 3 * 48 + 320) + 4 * (2 * 32 + 320))),
    ],
    ids=["float32", "bfloat16", "no intermediate size", "more heads"],
)
def test_bytes_per_id(toy: Any, expected: int) -> None:
    """Hidden, intermediate and attention's share, in the run's dtype and in float32."""
    assert memory.bytes_per_id(toy, 24) == expected


def test_a_longer_prefix_needs_more() -> None:
    """Attention scores grow with the prefix, by an id's scores in two types, twice."""
    more = memory.bytes_per_id(trunk(), 1000) - memory.bytes_per_id(trunk(), 0)

    assert more == 2 * (4 + 4) * 4 * 1000


@pytest.mark.parametrize(
    ("device", "size", "expected"),
    [
        ("cpu", 100_000, 50_000),
        ("cuda:1", 100_000, 50_000),
        ("mps", 100_000, 50_000),
        ("cpu", 10**12, None),
    ],
)
def test_half_of_the_free_memory(
    monkeypatch: pytest.MonkeyPatch, device: str, size: int, expected: int | None
) -> None:
    """The budget is divided by what an id takes; each device is asked for its own."""
    asked = free(monkeypatch, device, size)

    found = memory.ids_per_batch(trunk(), 24)

    each = memory.bytes_per_id(trunk(), 24)
    assert found == (memory._CPU_IDS if expected is None else expected // each)
    assert asked == ([torch.device(device)] if device.startswith("cuda") else [])
    if expected is not None:  # a gradient keeps every layer's activations
        assert memory.ids_per_batch(trunk(), 24, kept=3) == expected // (3 * each)


@pytest.mark.parametrize(
    ("device", "most"), [("cpu", memory._CPU_IDS), ("cuda:0", memory._IDS), ("mps", memory._IDS)]
)
def test_never_more_than_is_of_use(monkeypatch: pytest.MonkeyPatch, device: str, most: int) -> None:
    """Beyond some number of ids nothing is faster, however much is free."""
    free(monkeypatch, device, 10**15)
    monkeypatch.setattr(memory, "bytes_per_id", lambda *_: 1)

    assert memory.ids_per_batch(trunk(), 24) == most


@pytest.mark.parametrize(("device", "expected"), [("cpu", 128), ("mps", 128), ("cuda", 1250)])
def test_a_cpu_takes_half_a_gigabyte_at_most(
    monkeypatch: pytest.MonkeyPatch, device: str, expected: int
) -> None:
    """Ids of 4 MB each: with 10 GB free a CPU takes 128, a GPU half of all."""
    free(monkeypatch, device, 10_000 * MB)
    monkeypatch.setattr(memory, "bytes_per_id", lambda *_: 4 * MB)

    assert memory.ids_per_batch(trunk(), 24) == expected


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_one_id_at_least(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """With nothing free one row is tried all the same: it may fit."""
    free(monkeypatch, device, 0)

    assert memory.ids_per_batch(trunk(), 24) == 1


def test_the_engine_asks_once(monkeypatch: pytest.MonkeyPatch, llama: Toy) -> None:
    """A scorer without a number finds one at its first batch, and keeps it."""
    asked: list[int] = []

    def ids_per_batch(_: object, prefix: int) -> int:
        asked.append(prefix)
        return 6

    monkeypatch.setattr(memory, "ids_per_batch", ids_per_batch)
    scorer = llama.scorer()

    for _ in range(2):
        engine.score(scorer, PREFIX, [(i,) for i in range(9)], (END,))

    assert asked == [len(PREFIX)]
    assert scorer.ids_per_batch == 6


def failed_allocation() -> RuntimeError:
    """What torch's own CPU allocator says of 4 exabytes."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60)
    return caught.value


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), True),
        (torch.OutOfMemoryError(), True),
        (MemoryError(), True),
        (failed_allocation(), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 17.9 GB)"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"), False),
        (RuntimeError(), False),
        (ValueError("out of memory"), False),
        (KeyboardInterrupt(), False),
    ],
    ids=repr,
)
def test_what_is_out_of_memory(error: BaseException, expected: bool) -> None:
    """Each backend's way to say it, and nothing else."""
    assert memory.is_out_of_memory(error) is expected


@pytest.mark.parametrize("cuda", [True, False])
def test_release_empties_the_cache_of_a_gpu(monkeypatch: pytest.MonkeyPatch, cuda: bool) -> None:
    """Where there is one, what it holds in reserve is given back."""
    emptied: list[bool] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(True))

    memory.release()

    assert emptied == [True] * cuda


def test_what_torch_holds_in_reserve_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights of a model that was closed may still be in torch's reserve."""
    free(monkeypatch, "cuda:1", 100)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 70)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 30)

    assert memory.free_on(torch.device("cuda:1")) == 140
