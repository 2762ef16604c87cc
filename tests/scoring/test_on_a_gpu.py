"""Try what only a GPU can tell: rewards are those of a CPU, and the host waits for nothing.

Skipped without a GPU, in CI too: whoever has one runs `pytest tests/scoring/test_on_a_gpu.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from rmaudit.models import device_placement
from rmaudit.scoring import (
    ScoringPath,
    compiled_layers,
    engine,
    gradient,
    memory_sized_batches,
    waited_for,
)
from rmaudit.scoring.attention_in_blocks import rows_a_block
from rmaudit.scoring.scorer import Scorer
from rmaudit.scoring.shared_prefix_attention import Prefix, attend
from tests.scoring.rows import ANSWERS, END, PAD, PREFIX, SUFFIXES, Toy, assert_same, load
from tests.scoring.test_any_checkpoint import KINDS
from tests.toys import toy_checkpoint

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="it needs a GPU"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype"),
]
GPU = torch.device("cuda", 0)
SINGLES = [(i,) for i in range(5, 300)]


def on_gpu(toy: Toy, *, ids_per_batch: int | None = None) -> Scorer:
    """The toy's scorer, its backbone on the GPU, where its head follows."""
    toy.shared.to(GPU)
    return toy.scorer(ids_per_batch=ids_per_batch)


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """A Llama, as transformers runs it on the CPU, and for the engine."""
    return load(toy_checkpoint(tmp_path))


@contextmanager
def host_never_waits() -> Iterator[None]:
    """Whatever would make the host wait for the GPU raises, but for events."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("path", ScoringPath)
@pytest.mark.parametrize("kind", KINDS)
def test_rewards_are_those_of_the_checkpoint_on_a_cpu(
    tmp_path: Path, kind: str, path: ScoringPath
) -> None:
    """On every path, whatever is pad or follows; small batches, several of them under way."""
    toy = load(toy_checkpoint(tmp_path, kind=kind, **KINDS[kind]), path)
    scorer = on_gpu(toy, ids_per_batch=64)
    for suffix in SUFFIXES.values():
        scores = engine.score(scorer, PREFIX, ANSWERS, suffix)

        assert_same(scores, toy.expected(PREFIX, ANSWERS, suffix, PAD))


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_a_call_is_begun_without_waiting_for_the_gpu(tmp_path: Path, kind: str) -> None:
    """Torch raises at any wait; rewards are those of one batch, and come in the caller's order."""
    toy = load(toy_checkpoint(tmp_path, kind=kind, **KINDS[kind]))
    scorer = on_gpu(toy)
    whole = engine.score(scorer, PREFIX, SINGLES, (END,))
    with host_never_waits():
        begun = engine.begin(scorer, PREFIX, SINGLES, (END,))

    assert callable(begun)
    assert_same(waited_for(begun), whole)


def test_a_batch_that_is_too_large_for_the_gpu_is_halved(toy: Toy) -> None:
    """Torch may have a few megabytes only; rewards are as before, and later batches smaller."""
    scorer = on_gpu(toy)
    answers = [(i % 290 + 5, j) for i in range(2000) for j in (7, 8, 9)]
    expected = engine.score(scorer, PREFIX, answers, (END,))
    before = scorer.batch_limit(len(PREFIX))
    scorer.forget()
    memory_sized_batches.release()
    total = torch.cuda.get_device_properties(GPU).total_memory
    room = torch.cuda.memory_reserved(GPU) + 12 * 2**20
    torch.cuda.set_per_process_memory_fraction(room / total, GPU)
    try:
        found = engine.score(scorer, PREFIX, answers, (END,))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, GPU)

    assert scorer.batch_limit(len(PREFIX)) < before
    assert_same(found, expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_as_near_as_the_models_own(tmp_path: Path, dtype: torch.dtype) -> None:
    """Against float32 on a CPU, and the own forward in half precision on this GPU."""
    toy = load(toy_checkpoint(tmp_path))
    exact = toy.expected(PREFIX, SINGLES, (END,), PAD)
    toy.shared.to(dtype)
    found = engine.score(on_gpu(toy), PREFIX, SINGLES, (END,))
    toy.own.to(GPU, dtype)
    rows = torch.tensor([[*PREFIX, *answer, END] for answer in SINGLES], device=GPU)
    with torch.inference_mode():
        own = toy.own(input_ids=rows, use_cache=False).logits[:, 0].float().cpu().numpy()

    def apart(rewards: NDArray[np.float32]) -> float:
        return float(np.sqrt(np.mean((rewards - exact) ** 2)))

    assert apart(found) < 1.5 * apart(own)
    assert apart(found) < 0.1 * exact.std()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("length", [1, 2, 3, 5, 100])
def test_attention_of_a_large_batch_is_as_near_as_the_table(
    length: int, dtype: torch.dtype
) -> None:
    """Of both against float64: in blocks of rows, and as it is computed where slopes are wanted."""
    draw = torch.Generator(GPU).manual_seed(0)

    def some(*shape: int) -> Tensor:
        return torch.randn(*shape, 64, generator=draw, device=GPU, dtype=dtype)

    query, key, value = (some(4096, heads, length) for heads in (8, 2, 2))
    shared = some(2, 42), some(2, 42)

    def out(kind: torch.dtype) -> Tensor:
        prefix = Prefix(42, keys={0: shared[0].to(kind)}, values={0: shared[1].to(kind)})
        rows = (one.to(kind) for one in (query, key, value))
        found, _ = attend(SimpleNamespace(layer_idx=0), *rows, None, 0.125, shared_prefix=prefix)  # type: ignore[arg-type]
        return found.double()

    table, exact = out(dtype), out(torch.float64)
    with torch.inference_mode():
        assert rows_a_block(query, key, value) == max(1, 2 ** (7 - (length - 1).bit_length()))
        blocks = out(dtype)

    assert not torch.equal(blocks, table)
    assert (blocks - exact).norm() < 1.05 * (table - exact).norm()


def test_a_large_batch_in_half_precision_waits_for_nothing(tmp_path: Path) -> None:
    """It is attended to in blocks; rewards are those of small batches, which are not."""
    toy = load(toy_checkpoint(tmp_path))
    toy.shared.to(torch.bfloat16)
    answers = [(i, j) for i in range(5, 261) for j in range(8, 16)]
    small = engine.score(on_gpu(toy, ids_per_batch=1024), PREFIX, answers, (END,))
    scorer = on_gpu(toy)
    whole = engine.score(scorer, PREFIX, answers, (END,))
    with host_never_waits():
        begun = engine.begin(scorer, PREFIX, answers, (END,))

    np.testing.assert_array_equal(waited_for(begun), whole)
    assert not np.array_equal(whole, small)
    assert (whole - small).std() < 0.1 * small.std()


def test_slopes_are_those_of_a_cpu(tmp_path: Path) -> None:
    """The same weights have the same slopes on both devices."""
    toy = load(toy_checkpoint(tmp_path))
    answers = [(7, 8), (9, 10), (11, 12)]
    expected = gradient.slopes(toy.scorer(), PREFIX, answers, (END,), name="toy").slopes
    found = gradient.slopes(on_gpu(toy), PREFIX, answers, (END,), name="toy").slopes

    np.testing.assert_allclose(found, expected, atol=1e-4 * expected.std())


@pytest.mark.filterwarnings("ignore")  # what torch's own compiler uses is deprecated in torch
def test_compiled_layers_give_the_same_rewards(toy: Toy) -> None:
    """Fused by inductor for this GPU."""
    scorer = on_gpu(toy)
    expected = engine.score(scorer, PREFIX, SINGLES, (END,))
    compiled_layers.fuse(scorer, name="toy")
    scorer.forget()
    try:
        assert_same(engine.score(scorer, PREFIX, SINGLES, (END,)), expected)
    finally:
        torch.compiler.reset()


def test_weights_that_fit_go_to_the_gpu(tmp_path: Path) -> None:
    """Nobody has to name a device."""
    assert device_placement.device_map("auto", toy_checkpoint(tmp_path), "float32", name="toy") == {
        "": f"cuda:{torch.cuda.current_device()}"
    }
