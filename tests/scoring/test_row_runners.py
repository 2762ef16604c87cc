"""Every path gives the hidden states of full rows, and runs no more than it has to."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import accelerate
import pytest
import torch
from torch import nn
from transformers import DynamicCache

from rmaudit.errors import ModelError
from rmaudit.scoring import ScoringPath, engine, row_runners
from tests.scoring.rows import (
    ANSWERS,
    END,
    LOVE,
    PAD,
    PREFIX,
    WAR,
    Toy,
    assert_same,
    load,
)
from tests.toys import toy_checkpoint

SHARES, EXPANDS, FULL = ScoringPath
LENGTH = len(PREFIX)


@contextmanager
def lengths_seen(module: nn.Module) -> Iterator[list[int]]:
    """How many ids of a row come to a module, call by call."""
    seen: list[int] = []
    hook = module.register_forward_hook(lambda _, __, output: seen.append(output.shape[1]))
    try:
        yield seen
    finally:
        hook.remove()


# The states are those of full rows


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt2"])
def test_the_final_norm_runs_on_the_last_ids_only(tmp_path: Path, kind: str) -> None:
    """Where the backbone has a `norm`, elsewhere on all; no hook is left, nor after an error."""
    toy = load(toy_checkpoint(tmp_path, kind=kind))
    scorer, backbone = toy.scorer(), toy.shared.base_model
    norm = backbone.ln_f if kind == "gpt2" else backbone.norm

    with lengths_seen(norm) as seen, lengths_seen(backbone.get_input_embeddings()) as ids:
        scores = engine.score(scorer, PREFIX, [(LOVE,), (LOVE, WAR)], (END,))

    assert ids == [LENGTH, 2, 3]
    assert seen == (ids if kind == "gpt2" else [LENGTH, 1, 1])
    assert_same(scores, toy.expected(PREFIX, [(LOVE,), (LOVE, WAR)], (END,), PAD))
    if kind == "llama":
        backbone.layers[1].forward = None
        with pytest.raises(TypeError):
            engine.score(scorer, PREFIX, [(LOVE,)], (END,))
    assert not norm._forward_pre_hooks


# The expanded cache


class Strange(DynamicCache):
    """A cache that may keep state where no copy reaches it."""


def test_a_strange_cache_is_not_expanded(llama: Toy, tmp_path: Path) -> None:
    """Only transformers' own dynamic cache is known to be copied whole: not MiniMax's, say."""
    backbone = copy.deepcopy(llama.own.base_model)
    for cache, found in ((None, "NoneType"), (Strange(), "Strange")):
        hook = backbone.register_forward_hook(
            lambda _, __, output, cache=cache: setattr(output, "past_key_values", cache)
        )
        with pytest.raises(ModelError, match=f"^LlamaModel: its cache is a {found}, not a Dynamic"):
            row_runners.prepare(EXPANDS, backbone, PREFIX)
        hook.remove()
    minimax = load(toy_checkpoint(tmp_path, kind="minimax"), EXPANDS)
    with pytest.raises(ModelError, match=r"^MiniMaxModel: its cache is a MiniMaxCache, not a "):
        engine.score(minimax.scorer(), PREFIX, ANSWERS, (END,))


def test_ids_go_where_the_embedding_runs(llama: Toy) -> None:
    """An embedding on disk is on no device, but its hook knows where it will run: a GPU, say."""
    assert row_runners.device_of(llama.shared.base_model) == torch.device("cpu")
    embedding, backbone = nn.Embedding(2, 2, device="meta"), nn.Module()
    embedding._hf_hook = accelerate.hooks.AlignDevicesHook("cuda:1")
    backbone.get_input_embeddings = lambda: embedding
    assert row_runners.device_of(backbone) == torch.device("cuda:1")
