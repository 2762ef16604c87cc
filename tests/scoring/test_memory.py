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


def free(monkeypatch: pytest.MonkeyPatch, device: str, size: int) -> None:
    """A machine with `size` bytes free where the backbone is, and hardly any elsewhere."""
    here = torch.device(device)
    monkeypatch.setattr(memory, "device_of", lambda _: here)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda d: (size if d == here else 1, 10**15))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 0)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 0)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=size))


def backbone(
    *, dtype: torch.dtype = torch.float32, intermediate: int | None = 48, heads: int = 4
) -> Any:
    """All that the estimate wants of a backbone."""
    text = SimpleNamespace(
        hidden_size=32, intermediate_size=intermediate, num_attention_heads=heads
    )
    layer = torch.nn.Linear(1, 1, dtype=dtype)
    return SimpleNamespace(
        config=SimpleNamespace(get_text_config=lambda: text), parameters=layer.parameters
    )


@pytest.mark.parametrize(
    ("toy", "own", "in_float32"),  # attention scores: heads * (24 of the prefix + 16)
    [
        (backbone(), 4 * (8 * 32 + 3 * 48 + 160), 2 * 32 + 160),
        (backbone(dtype=torch.bfloat16), 2 * (8 * 32 + 3 * 48 + 160), 2 * 32 + 160),
        (backbone(intermediate=None), 4 * (8 * 32 + 3 * 128 + 160), 2 * 32 + 160),
        (backbone(heads=8), 4 * (8 * 32 + 3 * 48 + 320), 2 * 32 + 320),
    ],
    ids=["float32", "bfloat16", "no intermediate size", "more heads"],
)
def test_bytes_per_id(toy: Any, own: int, in_float32: int) -> None:
    """Hidden, intermediate and attention's share, in the run's dtype and in float32, twice."""
    assert memory.bytes_per_id(toy, 24) == 2 * (own + 4 * in_float32)


@pytest.mark.parametrize(
    ("device", "size", "each", "expected"),
    [
        *((device, 100_000, 500, 100) for device in ("cpu", "cuda:1", "mps")),
        *((device, 10**15, 1, 512 if device == "cpu" else 16384) for device in ("cpu", "cuda:0")),
        ("cpu", 10_000 * MB, 4 * MB, 128),  # a CPU takes half a gigabyte at most
        ("cuda:0", 10_000 * MB, 4 * MB, 1250),
        ("cuda:0", 0, 500, 1),  # one row is tried all the same: it may fit
    ],
)
def test_half_of_the_free_memory_of_the_device(
    monkeypatch: pytest.MonkeyPatch, device: str, size: int, each: int, expected: int
) -> None:
    """Divided by what an id takes in the layers that are kept; never more ids than are of use."""
    free(monkeypatch, device, size)
    monkeypatch.setattr(memory, "bytes_per_id", lambda *_: each)

    for kept in (1, 7):
        found = memory.ids_per_batch(backbone(), 24, kept=kept)
        assert found == (expected if each == 1 else max(1, expected // kept))


def test_the_engine_asks_once(monkeypatch: pytest.MonkeyPatch, llama: Toy) -> None:
    """A scorer without a number finds one at its first batch, and keeps it."""
    asked: list[int] = []
    monkeypatch.setattr(
        memory, "ids_per_batch", lambda _, prefix, kept: asked.append(prefix) or 6 * kept
    )
    scorer = llama.scorer()

    for _ in range(2):
        engine.score(scorer, PREFIX, [(i,) for i in range(9)], (END,))

    assert (asked, scorer.ids_per_batch) == ([len(PREFIX)], 6)


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


def test_what_torch_holds_in_reserve_is_free_and_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The weights of a model that was closed may still be in torch's reserve."""
    free(monkeypatch, "cuda:1", 100)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 70)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 30)
    assert memory.free_on(torch.device("cuda:1")) == 140

    emptied: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(True))
    for cuda in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        memory.release()
    assert emptied == [True]
