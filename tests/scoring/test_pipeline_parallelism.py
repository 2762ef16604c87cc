"""A backbone over several devices: each works on a batch of its own, and no reward changes."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from contextlib import ExitStack

import numpy as np
import pytest
import torch
from accelerate import dispatch_model
from torch import nn

from rmaudit.scoring import ScoringPath, engine, pipeline_parallelism
from rmaudit.scoring.pipeline_parallelism import Pipeline
from rmaudit.scoring.row_runners import Ids
from rmaudit.scoring.scorer import Scorer
from tests.scoring.rows import END, PREFIX, Toy

SINGLES: list[Ids] = [(i,) for i in range(5, 105)]  # 100
DEVICES = torch.device("cpu", 0), torch.device("cpu", 1)  # of torch's CPU, but two to us
BATCHES = 10  # of one call, five for each device
PATIENCE = 20  # seconds, of a test that fails


def spread(toy: Toy, path: ScoringPath = ScoringPath.SHARED_PREFIX) -> Scorer:
    """A scorer whose first layer is on one device, and its second on another."""
    base = toy.shared.base_model if path is ScoringPath.SHARED_PREFIX else toy.own.base_model
    head = toy.scorer().head
    names = ("embed_tokens", "layers.0", "layers.1", "norm", "rotary_emb")
    dispatch_model(base, dict.fromkeys(names, "cpu"), force_hooks=True)  # accelerate's, as on GPUs
    places = dict(zip(base.layers, DEVICES, strict=True)) | {base.embed_tokens: DEVICES[0]}
    return Scorer(base, head, 0, path, ids_per_batch=26, pipeline=Pipeline(places, min_ids=1))


def layers_of(scorer: Scorer) -> list[nn.Module]:
    """The two layers."""
    return list(scorer.backbone.get_submodule("layers").children())


@pytest.mark.slow
@pytest.mark.parametrize("path", [ScoringPath.SHARED_PREFIX, ScoringPath.EXPANDED_CACHE])
def test_the_next_batch_begins_before_the_last_has_ended(llama: Toy, path: ScoringPath) -> None:
    """Each enters the first device as the last one enters the second; one at a time; same bytes."""
    scorer, alone = spread(llama, path), spread(llama, path)
    alone.pipeline = None
    ids = 1 if path is ScoringPath.SHARED_PREFIX else len(PREFIX) + 1
    alone.ids_per_batch = len(SINGLES) // BATCHES * ids
    scorer.ids_per_batch = 10**6  # it makes five batches a device of them
    for one in (scorer, alone):
        engine.score(one, PREFIX, SINGLES[:1], ())  # the prefix has run
    seen, meeting = list[str](), threading.Barrier(2, timeout=PATIENCE)

    def enter(device: int) -> None:
        before = seen.count(f"{device} in")
        seen.append(f"{device} in")
        if before != (BATCHES - 1 if device else 0):  # not the last, not the first
            meeting.wait()

    with ExitStack() as hooks:
        for device, layer in enumerate(layers_of(scorer)):
            entered = layer.register_forward_pre_hook(lambda *_, at=device: enter(at))
            left = layer.register_forward_hook(lambda *_, at=device: seen.append(f"{at} out"))
            hooks.callback(entered.remove)
            hooks.callback(left.remove)
        rewards = engine.score(scorer, PREFIX, SINGLES, ())

    expected = engine.score(alone, PREFIX, SINGLES, ())
    assert rewards.tobytes() == expected.tobytes()
    assert len(set(rewards.tolist())) > 50
    for device in "01":
        own = [event for event in seen if event[0] == device]
        assert own == [f"{device} in", f"{device} out"] * BATCHES


@pytest.mark.slow
def test_rows_of_several_lengths_are_not_joined(llama: Toy) -> None:
    """Batches on their way at the same time would find each other's ends."""
    scorer, alone = spread(llama), spread(llama)
    alone.pipeline = None
    scorer.joins, scorer.ids_per_batch = 200, 200
    answers: list[Ids] = [tuple(range(5, 6 + length)) for length in range(40)]

    rewards = engine.score(scorer, PREFIX, answers, (END,))

    expected = engine.score(alone, PREFIX, answers, (END,))
    np.testing.assert_allclose(rewards, expected, atol=1e-5 * expected.std())


@pytest.mark.slow
def test_want_of_memory_and_errors_leave_the_devices_free(llama: Toy) -> None:
    """A batch that does not fit is halved, behind it nothing is lost; another error is told."""
    scorer, alone = spread(llama), spread(llama)
    alone.pipeline = None
    alone.ids_per_batch = scorer.ids_per_batch = 6
    expected = engine.score(alone, PREFIX, SINGLES, (END,))
    second = layers_of(scorer)[1]

    def fail(_: object, given: tuple[torch.Tensor, ...]) -> None:
        if len(given[0]) > 3:
            raise error

    error: Exception = torch.OutOfMemoryError("CUDA out of memory.")
    scorer.ids_per_batch = 12
    hook = second.register_forward_pre_hook(fail)
    rewards = engine.score(scorer, PREFIX, SINGLES, (END,))
    assert scorer.ids_per_batch == 6
    error = RuntimeError("CUDA error: device-side assert")
    broken = spread(llama)
    broken.ids_per_batch = 12
    with pytest.raises(RuntimeError, match="device-side"):
        engine.score(broken, PREFIX, SINGLES, (END,))
    hook.remove()

    assert rewards.tobytes() == expected.tobytes()
    broken.ids_per_batch = 6
    np.testing.assert_array_equal(engine.score(broken, PREFIX, SINGLES, (END,)), expected)


@pytest.mark.slow
def test_no_thread_holds_the_weights(llama: Toy) -> None:
    """Who closes a model gets its memory back."""
    scorer = spread(llama)
    engine.score(scorer, PREFIX, SINGLES, (END,))
    held = weakref.ref(scorer.pipeline)
    scorer.pipeline = None
    gc.collect()

    assert held() is None


def test_the_rotary_embedding_is_no_stage_and_moves_to_the_first_device(llama: Toy) -> None:
    """So a batch enters each device once, though transformers' maps put it on the last device.

    It bears no hook of accelerate's any more, which would send what it reads elsewhere.
    """
    model = copy.deepcopy(llama.shared)
    names = ("model.embed_tokens", "model.layers.0", "model.layers.1", "model.norm", "score")
    places = dict(zip(names, (0, 0, 1, 1, 1), strict=True)) | {"model.rotary_emb": 1}
    dispatch_model(model, dict.fromkeys(places, "cpu"), force_hooks=True)
    model.hf_device_map = places
    rotary = model.base_model.rotary_emb
    assert hasattr(rotary, "_hf_hook")

    found = pipeline_parallelism.pipeline_of(model)

    assert found is not None
    assert not hasattr(rotary, "_hf_hook")
    entered = pipeline_parallelism.stages(model, places)
    assert [device.index for device in entered.values()] == [0, 0, 1, 1, 1]
    assert rotary not in entered


@pytest.mark.parametrize(
    ("places", "batches"),
    [
        ((0, 0, 0), None),
        ((0, 0, 1), 10),
        ((0, "cuda:1", 2), 15),
        ((0, 1, "cpu"), None),  # weights that come to a GPU when they are used
        ((0, 1, "disk"), None),
        (None, None),
    ],
)
def test_which_models_are_pipelined(
    llama: Toy, places: tuple[int | str, ...] | None, batches: int | None
) -> None:
    """Those that lie on several GPUs, as accelerate's map says, and on nothing else."""
    model = llama.shared
    if places is not None:
        names = ("model.embed_tokens", "model.layers.0", "model.layers.1")
        model.hf_device_map = dict(zip(names, places, strict=True))
    try:
        found = pipeline_parallelism.pipeline_of(model)
    finally:
        if places is not None:
            del model.hf_device_map

    assert (found and found.batches) == batches
