"""Every path gives the hidden states of full rows, and runs no more than it has to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import accelerate
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, DynamicCache

from rmaudit.errors import ModelError
from rmaudit.scoring import ATTENTION, ScoringPath, engine, paths
from rmaudit.scoring.attention import Prefix
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
    """A trunk whose window is shorter than the prefix."""
    return load(toy_checkpoint(tmp_path_factory.mktemp("mistral"), kind="mistral"))


def trunk_of(toy: Toy, path: ScoringPath) -> nn.Module:
    """The toy's trunk with the attention that a path needs."""
    trunk: nn.Module = (toy.shared if path is SHARES else toy.own).base_model
    return trunk


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
@pytest.mark.parametrize("length", [1, 2, 5])
@torch.inference_mode()
def test_each_path_gives_the_states_of_full_rows(
    mistral: Toy, path: ScoringPath, length: int
) -> None:
    """At the place of the last id, row by row, in order."""
    rows = [tuple(range(start, start + length)) for start in (5, 50, 100)]
    after = paths.after(path, trunk_of(mistral, path), PREFIX)

    states = after.states(rows, [LENGTH + length - 1] * 3)

    expected = torch.stack([own_states(mistral, (*PREFIX, *row))[-1] for row in rows])
    assert states.shape == (3, 32)
    torch.testing.assert_close(states, expected, rtol=0, atol=1e-4)


@each_path
@torch.inference_mode()
def test_a_row_of_nothing_is_read_inside_the_prefix(mistral: Toy, path: ScoringPath) -> None:
    """Its states are the prefix's own, each at its place."""
    after = paths.after(path, trunk_of(mistral, path), PREFIX)

    states = after.states([(), (), ()], [0, LENGTH - 1, 7])

    torch.testing.assert_close(
        states, own_states(mistral, PREFIX)[[0, LENGTH - 1, 7]], rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("path", [SHARES, EXPANDS])
@torch.inference_mode()
def test_a_prefix_runs_once_for_rows_of_every_length(mistral: Toy, path: ScoringPath) -> None:
    """Batches leave what is kept of the prefix as it was, whatever their sizes."""
    batches: list[list[Ids]] = [[(LOVE,)], [(1, 2, 3, 4)] * 3, [()], [(WAR, LOVE)], [(LOVE,)]]
    trunk = trunk_of(mistral, path)

    with recorded(trunk) as ran:
        after = paths.after(path, trunk, PREFIX)
        states = [after.states(rows, [LENGTH + len(rows[0]) - 1] * len(rows)) for rows in batches]

    assert ran == [[PREFIX], *(rows for rows in batches if rows[0])]
    assert torch.equal(states[0], states[-1])


@pytest.mark.parametrize(("path", "expected"), [(SHARES, 2), (EXPANDS, 26), (FULL, 26)])
def test_ids_of_a_row(llama: Toy, path: ScoringPath, expected: int) -> None:
    """What a row takes of a batch: its own ids, or a copy of the prefix too."""
    with torch.inference_mode():
        after = paths.after(path, trunk_of(llama, path), PREFIX)

    assert after.ids_of((LOVE, END)) == expected
    assert after.causal is (path is not FULL)


# The final norm


@pytest.mark.parametrize("kind", ["llama", "gemma2", "gpt2"])
def test_the_final_norm_runs_on_the_last_ids_only(tmp_path: Path, kind: str) -> None:
    """Where the trunk has a `norm`; elsewhere it runs on all, and the scores are as exact."""
    toy = load(toy_checkpoint(tmp_path, kind=kind))
    trunk = toy.shared.base_model
    norm = trunk.ln_f if kind == "gpt2" else trunk.norm

    with lengths_seen(norm) as seen, lengths_seen(trunk.get_input_embeddings()) as ids:
        scores = engine.score(toy.scorer(), PREFIX, [(LOVE,), (LOVE, WAR)], (END,))

    assert ids == [LENGTH, 2, 3]
    assert seen == (ids if kind == "gpt2" else [LENGTH, 1, 1])
    assert_same(scores, toy.expected(PREFIX, [(LOVE,), (LOVE, WAR)], (END,), PAD))
    assert not norm._forward_pre_hooks


def test_the_norm_is_whole_again_after_an_error(llama: Toy) -> None:
    """A batch that fails leaves no hook behind."""
    shared = copy.deepcopy(llama.shared)
    scorer = Toy(llama.own, shared).scorer()
    engine.score(scorer, PREFIX, [(LOVE,)], (END,))
    shared.base_model.layers[1].forward = None

    with pytest.raises(TypeError):
        engine.score(scorer, PREFIX, [(LOVE,)], (END,))

    assert not shared.base_model.norm._forward_pre_hooks


# The expanded cache


class Strange(DynamicCache):
    """A cache that may keep state where no copy reaches it."""


@pytest.mark.parametrize(
    ("cache", "found"), [(lambda: None, "NoneType"), (Strange, "Strange")], ids=["none", "strange"]
)
def test_a_strange_cache_is_not_expanded(
    llama: Toy, cache: Callable[[], object], found: str
) -> None:
    """Only transformers' own dynamic cache is known to be copied whole."""
    trunk = copy.deepcopy(llama.own.base_model)

    def exchanged(_: object, __: object, output: Any) -> Any:
        output.past_key_values = cache()
        return output

    trunk.register_forward_hook(exchanged)

    with pytest.raises(ModelError) as caught:
        paths.after(EXPANDS, trunk, PREFIX)

    assert str(caught.value) == (
        f"LlamaModel: its cache is a {found}, not a DynamicCache; the prefix's cache cannot be "
        f"copied for many rows"
    )


def test_a_trunk_with_a_cache_of_its_own_is_refused(tmp_path: Path) -> None:
    """MiniMax keeps the state of its linear layers outside of what is copied."""
    toy = load(toy_checkpoint(tmp_path, kind="minimax"), EXPANDS)

    with pytest.raises(ModelError, match=r"^MiniMaxModel: its cache is a MiniMaxCache, not a "):
        engine.score(toy.scorer(), PREFIX, ANSWERS, (END,))


def test_positions_are_given_where_they_are_taken(llama: Toy, tmp_path: Path) -> None:
    """Llama takes them, Bloom has none."""
    given: list[Any] = []

    def note(_: object, __: object, kwargs: dict[str, Any]) -> None:
        given.append(kwargs.get("position_ids"))

    for toy in (llama, load(toy_checkpoint(tmp_path, kind="bloom"))):
        trunk = toy.own.base_model
        hook = trunk.register_forward_pre_hook(note, with_kwargs=True)
        engine.score(Toy(toy.own, toy.own, EXPANDS).scorer(), PREFIX, [(LOVE,), (WAR,)], (END,))
        hook.remove()

    assert [positions is None for positions in given] == [True, False, True, True]
    assert given[1].tolist() == [[LENGTH, LENGTH + 1]] * 2


# Full rows


def test_a_two_way_trunk_runs_its_rows_whole(tmp_path: Path) -> None:
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


@each_path
@pytest.mark.parametrize("places", PLACES.values(), ids=list(PLACES))
def test_a_spread_trunk_scores_the_same(
    tmp_path: Path, path: ScoringPath, places: Sequence[str]
) -> None:
    """Weights that come and go give the scores of weights that stay."""
    whole = load(toy_checkpoint(tmp_path / "toy", kind="mistral"))
    model = spread(tmp_path, ATTENTION if path is SHARES else "sdpa", places)
    assert all(hasattr(layer, "_hf_hook") for layer in model.model.layers)
    on_disk = [name for name, weight in model.named_parameters() if weight.device.type == "meta"]
    assert bool(on_disk) is ("disk" in places)
    scorer = Scorer(model.base_model, plain(whole.own.score.weight), PAD, path)

    for suffix in ((END,), (END, NEWLINE)):
        scores = engine.score(scorer, PREFIX, ANSWERS, suffix)

        assert_same(scores, whole.expected(PREFIX, ANSWERS, suffix, PAD))


def test_hooks_hand_on_the_prefix_itself(tmp_path: Path) -> None:
    """A copy of it for each layer would record nothing; every layer writes to the same one."""
    toy_checkpoint(tmp_path / "toy")
    model = spread(tmp_path, ATTENTION, PLACES["a layer on disk"])
    given: list[Prefix] = []

    def note(_: object, __: object, kwargs: dict[str, Any]) -> None:
        given.append(kwargs["shared_prefix"])

    for layer in model.model.layers:
        layer.self_attn.register_forward_pre_hook(note, with_kwargs=True)
    with torch.inference_mode():
        paths.after(SHARES, model.base_model, PREFIX)

    assert len(given) == 2
    assert given[0] is given[1]
    assert {layer: keys.shape for layer, keys in given[0].keys.items()} == {
        0: (2, LENGTH, 8),
        1: (2, LENGTH, 8),
    }


@pytest.mark.parametrize(("places", "offloaded"), [("all in memory", False), ("all on disk", True)])
def test_ids_go_where_the_embedding_runs(tmp_path: Path, places: str, offloaded: bool) -> None:
    """An embedding on disk is on no device, but its hook knows where it will run."""
    toy_checkpoint(tmp_path / "toy")
    trunk = spread(tmp_path, ATTENTION, PLACES[places]).base_model
    weight = trunk.get_input_embeddings().weight

    assert (weight.device.type == "meta") is offloaded
    assert paths.device_of(trunk) == torch.device("cpu")


def test_an_offloaded_embedding_may_run_on_a_gpu() -> None:
    """The device is the hook's, wherever it is."""
    embedding = nn.Embedding(2, 2, device="meta")
    embedding._hf_hook = accelerate.hooks.AlignDevicesHook("cuda:1")
    trunk = nn.Module()
    trunk.get_input_embeddings = lambda: embedding

    assert paths.device_of(trunk) == torch.device("cuda:1")


def test_without_hooks_ids_go_to_the_weights(llama: Toy) -> None:
    """An ordinary trunk is where its embedding is."""
    assert paths.device_of(llama.shared.base_model) == torch.device("cpu")
    assert np.isfinite(engine.score(llama.scorer(), PREFIX, [(LOVE,)], ())).all()
