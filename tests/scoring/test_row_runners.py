"""Every path gives the hidden states of full rows, and runs no more than it has to."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import accelerate
import pytest
import torch
from torch import Tensor, nn
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
    Ids,
    Toy,
    assert_same,
    load,
    recorded,
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


@pytest.mark.parametrize("path", ScoringPath)
@torch.inference_mode()
def test_each_path_gives_the_states_of_full_rows(tmp_path: Path, path: ScoringPath) -> None:
    """Rows of any length, one after another, and of nothing, which are read inside the prefix."""
    mistral = load(toy_checkpoint(tmp_path, kind="mistral"))  # its window ends in the prefix
    backbone = (mistral.shared if path is SHARES else mistral.own).base_model

    def own_states(row: Ids) -> Tensor:
        output = mistral.own.base_model(input_ids=torch.tensor([row]), use_cache=False)
        states: Tensor = output.last_hidden_state[0]
        return states

    with recorded(backbone) as ran:
        after = row_runners.prepare(path, backbone, PREFIX)
        first = None
        for length in (1, 5, 2, 1):
            rows = [tuple(range(start, start + length)) for start in (5, 50, 100)]
            states = after.states(rows, [LENGTH + length - 1] * 3)
            expected = [own_states((*PREFIX, *row))[-1] for row in rows]
            torch.testing.assert_close(states, torch.stack(expected), rtol=0, atol=1e-4)
            first = states if first is None else first
        assert torch.equal(first, states)  # what is kept of the prefix is as it was
        inside = after.states([(), (), ()], [0, LENGTH - 1, 7])
    own = own_states(PREFIX)[[0, LENGTH - 1, 7]]
    torch.testing.assert_close(inside, own, rtol=0, atol=1e-4)
    assert sum(batch == [PREFIX] for batch in ran) == (path is not FULL)
    assert after.ids_of((LOVE, END)) == (2 if path is SHARES else 26)
    assert after.causal is (path is not FULL)


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


def test_positions_are_given_where_they_are_taken(llama: Toy, tmp_path: Path) -> None:
    """Llama takes them, Bloom has none."""
    given: list[Any] = []

    def note(_: object, __: object, kwargs: dict[str, Any]) -> None:
        given.append(kwargs.get("position_ids"))

    for toy in (llama, load(toy_checkpoint(tmp_path, kind="bloom"))):
        hook = toy.own.base_model.register_forward_pre_hook(note, with_kwargs=True)
        engine.score(Toy(toy.own, toy.own, EXPANDS).scorer(), PREFIX, [(LOVE,), (WAR,)], (END,))
        hook.remove()

    assert [positions is None for positions in given] == [True, False, True, True]
    assert given[1].tolist() == [[LENGTH, LENGTH + 1]] * 2


def test_ids_go_where_the_embedding_runs(llama: Toy) -> None:
    """An embedding on disk is on no device, but its hook knows where it will run: a GPU, say."""
    assert row_runners.device_of(llama.shared.base_model) == torch.device("cpu")
    embedding, backbone = nn.Embedding(2, 2, device="meta"), nn.Module()
    embedding._hf_hook = accelerate.hooks.AlignDevicesHook("cuda:1")
    backbone.get_input_embeddings = lambda: embedding
    assert row_runners.device_of(backbone) == torch.device("cuda:1")
