"""Every path gives the hidden states of full rows, and runs no more than it has to."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import accelerate
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, DynamicCache

from rmaudit.errors import ModelError
from rmaudit.scoring import ATTENTION, ScoringPath, engine, paths
from rmaudit.scoring.engine import Scorer
from tests.scoring.rows import (
    ANSWERS,
    END,
    LOVE,
    NEWLINE,
    PAD,
    PREFIX,
    WAR,
    Ids,
    Toy,
    assert_same,
    fresh_rotation,
    load,
    plain,
    recorded,
)
from tests.toys import toy_checkpoint

SHARES, EXPANDS, FULL = (
    ScoringPath.SHARED_PREFIX,
    ScoringPath.EXPANDED_CACHE,
    ScoringPath.FULL_ROWS,
)
LENGTH = len(PREFIX)
each_path = pytest.mark.parametrize("path", list(ScoringPath))


@pytest.fixture(scope="module")
def mistral(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A backbone whose window is shorter than the prefix."""
    return load(toy_checkpoint(tmp_path_factory.mktemp("mistral"), kind="mistral"))


def backbone_of(toy: Toy, path: ScoringPath) -> nn.Module:
    """The toy's backbone with the attention that a path needs."""
    backbone: nn.Module = (toy.shared if path is SHARES else toy.own).base_model
    return backbone


@torch.inference_mode()
def own_states(toy: Toy, row: Ids) -> Tensor:
    """The checkpoint's own hidden states of one row, shape (length, hidden)."""
    output = toy.own.base_model(input_ids=torch.tensor([row]), use_cache=False)
    states: Tensor = output.last_hidden_state[0]
    return states


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


@each_path
@torch.inference_mode()
def test_each_path_gives_the_states_of_full_rows(mistral: Toy, path: ScoringPath) -> None:
    """Rows of any length, one after another, and of nothing, which are read inside the prefix."""
    backbone = backbone_of(mistral, path)
    with recorded(backbone) as ran:
        after = paths.after(path, backbone, PREFIX)
        first = None
        for length in (1, 5, 2, 1):
            rows = [tuple(range(start, start + length)) for start in (5, 50, 100)]
            states = after.states(rows, [LENGTH + length - 1] * 3)
            expected = [own_states(mistral, (*PREFIX, *row))[-1] for row in rows]
            torch.testing.assert_close(states, torch.stack(expected), rtol=0, atol=1e-4)
            first = states if first is None else first
        assert torch.equal(first, states)  # what is kept of the prefix is as it was
        inside = after.states([(), (), ()], [0, LENGTH - 1, 7])
    own = own_states(mistral, PREFIX)[[0, LENGTH - 1, 7]]
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
            paths.after(EXPANDS, backbone, PREFIX)
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


# Full rows


def test_a_two_way_backbone_runs_its_rows_whole(tmp_path: Path) -> None:
    """What comes after the place that is read changes it, so trailing pad ids run too."""
    toy = load(toy_checkpoint(tmp_path, is_causal=False))
    assert toy.path is FULL
    answers: list[Ids] = [(LOVE,), (LOVE, PAD), (LOVE, PAD, PAD), (PAD,), ()]
    suffix = (PAD,)

    with recorded(toy.shared.base_model) as batches:
        scores = engine.score(toy.scorer(), PREFIX, answers, suffix)

    assert batches == [
        [(*PREFIX, PAD)],
        [(*PREFIX, LOVE, PAD), (*PREFIX, PAD, PAD)],
        [(*PREFIX, LOVE, PAD, PAD)],
        [(*PREFIX, LOVE, PAD, PAD, PAD)],
    ]
    assert_same(scores, toy.expected(PREFIX, answers, suffix, PAD))
    assert len(set(scores.tolist())) == 5


@torch.inference_mode()
def test_full_rows_are_read_at_their_own_places(llama: Toy) -> None:
    """Rows of one batch may be pooled at different places, the prefix's among them."""
    rows: list[Ids] = [(LOVE, WAR, PAD), (PAD, PAD, PAD), (LOVE, PAD, PAD), (1, 2, 3)]
    at = [LENGTH + 1, 0, LENGTH, LENGTH + 2]

    states = paths.after(FULL, llama.own.base_model, PREFIX).states(rows, at)

    expected = [
        own_states(llama, (*PREFIX, *row))[place] for row, place in zip(rows, at, strict=True)
    ]
    torch.testing.assert_close(states, torch.stack(expected), rtol=0, atol=1e-4)


def test_a_changing_rotation_forgets_longer_rows(tmp_path: Path) -> None:
    """A dynamic rotation goes with the longest row so far; each row here is as if it were first."""
    rope = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}
    folder = toy_checkpoint(tmp_path, max_position_embeddings=LENGTH, rope_parameters=rope)
    toy = load(folder)
    assert toy.path is FULL
    short, long = [(LOVE,), (WAR,)], [(LOVE,) * 30]
    scorer = toy.scorer()

    before = engine.score(scorer, PREFIX, short, (END,))
    engine.score(scorer, PREFIX, long, (END,))
    afterwards = engine.score(scorer, PREFIX, short, (END,))

    assert before.tolist() == afterwards.tolist()
    assert_same(before, toy.expected(PREFIX, short, (END,), PAD))
    with torch.inference_mode():  # transformers' own forward does remember
        fresh_rotation(toy.own)
        for answer in (*long, *short[:1]):
            row = torch.tensor([[*PREFIX, *answer, END]])
            reward = toy.own(input_ids=row, use_cache=False).logits.item()
    assert abs(reward - before[0]) > 1e-2


# Spread over devices: accelerate's hooks move weights and arguments, here between disk and memory


PLACES = {
    "all in memory": ["cpu"] * 6,
    "a layer on disk": ["cpu", "cpu", "disk", "cpu", "cpu", "cpu"],
    "all on disk": ["disk", "disk", "disk", "disk", "cpu", "cpu"],
}
PARTS = (
    "model.embed_tokens",
    "model.layers.0",
    "model.layers.1",
    "model.norm",
    "model.rotary_emb",
    "score",
)


def spread(folder: Path, attention: str, places: Sequence[str]) -> Any:
    """The checkpoint, each part in its place, with accelerate's hooks."""
    model = AutoModelForSequenceClassification.from_pretrained(
        folder / "toy", attn_implementation=attention, dtype=torch.float32
    ).eval()
    return accelerate.dispatch_model(
        model,
        dict(zip(PARTS, places, strict=True)),
        main_device="cpu",
        offload_dir=str(folder / "offload"),
        force_hooks=True,
    )


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *((SHARES, name) for name in ("a layer on disk", "all in memory")),
        *((path, "all on disk") for path in (EXPANDS, FULL)),
    ],
)
def test_a_spread_backbone_scores_the_same(tmp_path: Path, path: ScoringPath, name: str) -> None:
    """Weights that come and go give the scores of weights that stay."""
    places = PLACES[name]
    whole = load(toy_checkpoint(tmp_path / "toy", kind="mistral"))
    model = spread(tmp_path, ATTENTION if path is SHARES else "sdpa", places)
    assert all(hasattr(layer, "_hf_hook") for layer in model.model.layers)
    on_disk = [name for name, weight in model.named_parameters() if weight.device.type == "meta"]
    assert bool(on_disk) is ("disk" in places)
    scorer = Scorer(model.base_model, plain(whole.own.score.weight), PAD, path)

    for suffix in ((END,), (END, NEWLINE)):
        scores = engine.score(scorer, PREFIX, ANSWERS, suffix)

        assert_same(scores, whole.expected(PREFIX, ANSWERS, suffix, PAD))


def test_ids_go_where_the_embedding_runs(llama: Toy, tmp_path: Path) -> None:
    """An embedding on disk is on no device, but its hook knows where it will run: a GPU, say."""
    toy_checkpoint(tmp_path / "toy")
    assert paths.device_of(llama.shared.base_model) == torch.device("cpu")
    for places, where in (("all in memory", "cpu"), ("all on disk", "meta")):
        backbone = spread(tmp_path, ATTENTION, PLACES[places]).base_model
        assert backbone.get_input_embeddings().weight.device.type == where
        assert paths.device_of(backbone) == torch.device("cpu")
    embedding = nn.Embedding(2, 2, device="meta")
    embedding._hf_hook = accelerate.hooks.AlignDevicesHook("cuda:1")
    backbone = nn.Module()
    backbone.get_input_embeddings = lambda: embedding
    assert paths.device_of(backbone) == torch.device("cuda:1")
