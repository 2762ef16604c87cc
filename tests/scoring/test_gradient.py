"""Slopes are the reward's derivatives, on every path; a gradient is whole, or refused with why."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rmaudit.errors import ModelError, NoGradient, ScoreError
from rmaudit.scoring import ScoringPath, engine, gradient, memory_sized_batches
from rmaudit.scoring.scorer import Scorer
from tests.float64 import all_in_float64, assert_slopes
from tests.scoring.rows import (
    END,
    EOS,
    LOVE,
    PAD,
    PREFIX,
    START,
    TOLERANCE,
    WAR,
    Everywhere,
    Ids,
    Toy,
    load,
    recorded,
)
from tests.toys import toy_checkpoint

PAIRS: list[Ids] = [(LOVE, WAR), (WAR, PAD), (START, LOVE), (LOVE, LOVE), (PAD, WAR)]
IDS = (LOVE, WAR, PAD, EOS, 20, 77, 150, 290)  # some of the 301 to compare at
SHARED, EXPANDED, FULL = ScoringPath
slow = pytest.mark.slow


def slopes(scorer: Scorer, answers: list[Ids] = PAIRS, suffix: Ids = (END,)) -> gradient.Slopes:
    """The slopes of answers to the prefix."""
    return gradient.slopes(scorer, PREFIX, answers, suffix, name="toy")


def hooks_of(backbone: nn.Module) -> int:
    """How many hooks stand on its modules."""
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in backbone.modules())


# The slopes are the reward's derivatives


FAST = [
    ("llama", SHARED),
    ("gemma2", FULL),  # softcap and window
    ("gemma3_text", SHARED),  # its embedding scales; window
    ("qwen2", EXPANDED),  # a window in the second layer
    ("qwen3_next", EXPANDED),  # whose cache is overwritten, so it goes in full rows
]
SLOW = {
    SHARED: "gemma2 qwen2 gpt2 opt gemma mistral mixtral deepseek_v3",
    EXPANDED: "llama gemma2 gpt2 opt bloom gpt_neo falcon",
    FULL: "llama qwen2 gpt2 opt",
}


@pytest.mark.parametrize(
    ("kind", "path"),
    [*FAST]
    + [
        pytest.param(kind, path, marks=slow)
        for path, kinds in SLOW.items()
        for kind in kinds.split()
    ],
)
def test_slopes_are_the_rewards_derivatives(tmp_path: Path, kind: str, path: ScoringPath) -> None:
    """As central differences of transformers' own reward of the full row say, in float64."""
    toy = load(toy_checkpoint(tmp_path, kind=kind), path)
    toy.own.double(), toy.shared.double()
    for model in (toy.own, toy.shared):
        model.config._experts_implementation = "eager"  # the default has no float64

    def rewards(embeddings: Tensor) -> Tensor:
        states = toy.own.base_model(inputs_embeds=embeddings, use_cache=False).last_hidden_state
        found: Tensor = toy.own.score(states[:, -1])[:, 0]
        return found

    with all_in_float64():
        found = slopes(toy.scorer(), PAIRS[:2], (END, WAR))
        assert found.slopes.dtype == found.distances.dtype == np.float64
        assert found.slopes.shape == (2, 2, toy.own.config.vocab_size)
        for answer, own in zip(PAIRS, found.slopes, strict=False):
            row = (*PREFIX, *answer, END, WAR)
            embedding = toy.own.get_input_embeddings()
            assert_slopes(own, embedding, rewards, row, start=len(PREFIX), ids=IDS)


@pytest.mark.parametrize("path", ScoringPath)
def test_rewards_are_those_of_score_and_what_cannot_be_seen_has_slope_zero(
    tmp_path: Path, path: ScoringPath
) -> None:
    """In the caller's order, equal ones too; pad ids at a row's end are not seen, others are."""
    scorer = load(toy_checkpoint(tmp_path), path).scorer()
    answers = [*PAIRS, (PAD, PAD), PAIRS[0], (LOVE, PAD)]
    for suffix in ((), (END,), (PAD,)):
        expected = engine.score(scorer, PREFIX, answers, suffix)
        found = slopes(scorer, answers, suffix)
        assert found.rewards.dtype == found.slopes.dtype == np.float32
        np.testing.assert_allclose(found.rewards, expected, atol=TOLERANCE * expected.std())
        assert np.array_equal(found.slopes[0], found.slopes[6])
        steep = np.abs(found.slopes).max(2)
        seen = np.array([[True, True]] * 8)
        if suffix != (END,):  # as far as there is an id that is not pad
            seen[[1, 7], 1] = seen[5] = False
        assert ((steep > 1e-3) == seen).all()
    alone = slopes(scorer, [(LOVE,)], ())
    np.testing.assert_allclose(found.slopes[7, 0], alone.slopes[0, 0], atol=1e-5)


def test_half_precision_points_the_same_way(llama: Toy) -> None:
    """The slopes of a bfloat16 backbone are float32, and correlate with those of a float32 one."""
    shared = copy.deepcopy(llama.shared).bfloat16()

    narrow = slopes(Scorer(shared.base_model, llama.scorer().head, PAD)).slopes

    wide = slopes(llama.scorer()).slopes
    assert narrow.dtype == np.float32
    assert not np.array_equal(narrow, wide)
    for i, j in np.ndindex(narrow.shape[:2]):
        assert np.corrcoef(narrow[i, j], wide[i, j])[0, 1] > 0.95


@pytest.mark.parametrize("kind", ["llama", "gemma3_text"])
def test_distances_are_between_what_the_embedding_gives(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scaled where the module scales; an id's own is 0; in pieces of any size."""
    toy = load(toy_checkpoint(tmp_path, kind=kind))
    whole = slopes(toy.scorer())
    monkeypatch.setattr(gradient, "_AT_ONCE", 300)

    found = slopes(toy.scorer())

    embedding = toy.own.get_input_embeddings()
    with torch.inference_mode():
        every = embedding(torch.arange(embedding.num_embeddings)).double().numpy()
    for i, answer in enumerate(PAIRS):
        for place, own in enumerate(answer):
            expected = np.sqrt(((every - every[own]) ** 2).sum(1))
            np.testing.assert_allclose(found.distances[i, place], expected, rtol=1e-4)
            assert found.distances[i, place, own] == 0
    np.testing.assert_allclose(found.slopes, whole.slopes, atol=1e-6)
    np.testing.assert_allclose(found.distances, whole.distances, atol=1e-5)


# Nothing is left behind


@pytest.mark.parametrize("path", ScoringPath)
@pytest.mark.parametrize("requires", [True, False])
def test_scores_and_slopes_do_not_disturb_each_other(
    tmp_path: Path, path: ScoringPath, requires: bool
) -> None:
    """In any order both are the same to the bit; no weight has a gradient, no hook stays."""
    toy = load(toy_checkpoint(tmp_path, kind="gemma2", num_key_value_heads=4), path)
    scorer, backbone = toy.scorer(), toy.shared.base_model.requires_grad_(requires)
    first = slopes(scorer)
    scores = [engine.score(scorer, PREFIX, PAIRS, (END,))]
    with torch.inference_mode():
        second = slopes(scorer)
    fresh = toy.scorer()
    scores.append(engine.score(fresh, PREFIX, PAIRS, (END,)))
    third = slopes(fresh)

    for found in (second, third):
        assert np.array_equal(found.slopes, first.slopes)
        assert np.array_equal(found.rewards, first.rewards)
    assert np.array_equal(*scores)
    assert hooks_of(backbone) == 0
    assert all(p.grad is None and p.requires_grad is requires for p in backbone.parameters())


# Memory


def test_the_prefix_runs_once_and_no_more_at_once_than_fit(
    llama: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than may be scored at once, nor than fit with every layer's activations kept."""
    answers, backbone = [(i, LOVE) for i in range(10, 15)], llama.shared.base_model
    expected = slopes(llama.scorer(), answers).slopes
    for most, sizes in ((1, [1] * 5), (6, [2, 2, 1]), (None, [5])):
        scorer = llama.scorer(ids_per_batch=most)
        with recorded(backbone) as batches:
            np.testing.assert_allclose(slopes(scorer, answers).slopes, expected, atol=1e-5)
            engine.score(scorer, PREFIX, [(WAR,)], ())
        assert [len(batch) for batch in batches] == [1, *sizes, 1]
        assert batches[0] == [PREFIX] != batches[-1]

    budget = (
        2 * 9 * memory_sized_batches.bytes_per_id(backbone, len(PREFIX))
    )  # 3 rows of 3, over 2 layers
    monkeypatch.setattr(memory_sized_batches, "_CPU_BUDGET", budget)
    with recorded(backbone) as batches:
        slopes(llama.scorer(), answers)
    assert [len(batch) for batch in batches[1:]] == [3, 2]


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_halved(llama: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done is kept; where one row or the prefix does not fit it is the engine's error."""
    answers, sizes = [(i, LOVE) for i in range(10, 20)], list[int]()
    expected = slopes(llama.scorer(), answers).slopes

    def head_with_room_for(rows: int) -> Scorer:
        def head(states: Tensor) -> Tensor:
            sizes.append(len(states))
            if len(states) > rows:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
            return states @ llama.own.score.weight.detach()[0]

        return Scorer(llama.shared.base_model, Everywhere(head), PAD)

    found = slopes(head_with_room_for(3), answers)
    assert sizes == [10, 5, 2, 2, 2, 2, 2]
    np.testing.assert_allclose(found.slopes, expected, atol=1e-5)
    with pytest.raises(ScoreError, match=r"^out of memory with a single row of 3 ids"):
        slopes(head_with_room_for(0))
    assert hooks_of(llama.shared.base_model) == 0

    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(llama.shared.base_model, "forward", fail)
    with pytest.raises(ScoreError, match=rf"^out of memory .* of {len(PREFIX) + 2} ids"):
        slopes(llama.scorer())


# What is refused


@pytest.mark.parametrize(
    ("answers", "found"), [([(LOVE,), (LOVE, WAR)], r"\[1, 2\]"), ([()], r"\[0\]"), ([], "no")]
)
def test_answers_are_of_one_length(llama: Toy, answers: list[Ids], found: str) -> None:
    """Others are told how to ask."""
    with pytest.raises(ModelError, match=rf"^toy: .* answers of {found} ids;.*ask for those of"):
        slopes(llama.scorer(), answers)


def test_what_is_not_finite_is_refused_by_its_ids(llama: Toy) -> None:
    """Rewards, as the engine does; and gradients of finite ones: a root at 0 has no slope."""
    shared = copy.deepcopy(llama.shared)
    shared.get_input_embeddings().weight.data[WAR] = torch.inf

    def head(states: Tensor) -> Tensor:
        scale = torch.tensor([0.0] + [1.0] * (len(states) - 1))
        return (states.square().sum(-1) * scale).sqrt()

    with pytest.raises(
        ScoreError, match=rf"^toy: 1 of 2 rewards .* first ids: \[{WAR}, {LOVE}\]\."
    ):
        slopes(Toy(llama.own, shared).scorer(), [(LOVE, LOVE), (WAR, LOVE)])
    with pytest.raises(
        ScoreError, match=rf"^toy: 1 of 4 gradients .* first ids: \[{LOVE}, {WAR}\]\."
    ):
        slopes(Scorer(llama.shared.base_model, Everywhere(head), PAD), PAIRS[:1] + PAIRS[2:])


def dead_end(backbone: Any) -> None:
    """One projection of many gives numbers without their history, as kernels without backward."""
    layer = backbone.layers[1].mlp.down_proj
    layer.forward = lambda x: (x @ layer.weight.T).detach()


def overwritten(backbone: Any) -> None:
    """The last norm overwrites what a gradient needs: an exponential, changed thereafter."""
    backbone.norm.forward = lambda x: x.exp().sqrt_().mul_(x).add_(1)


def more(backbone: Any, added: Callable[[Tensor], Any]) -> None:
    """What `added` gives of the ids is added to the states."""
    own = backbone.forward

    def forward(**kwargs: Any) -> Any:
        output = own(**kwargs)
        output.last_hidden_state = output.last_hidden_state + added(kwargs["input_ids"])
        return output

    backbone.forward = forward


def read_again(backbone: Any) -> None:
    """Another embedding, as large, reads the ids too."""
    backbone.other = nn.Embedding(backbone.embed_tokens.num_embeddings, 32)
    more(backbone, backbone.other)


def twice(backbone: Any) -> None:
    """The embedding runs once more."""
    more(backbone, lambda ids: 0 * backbone.embed_tokens(ids))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (dead_end, "its Linear layers have none"),
        (overwritten, "one of the variables needed for gradient computation has been modified"),
        (read_again, "its ids are read by more than its input embedding"),
        (twice, "its embedding ran 2 times in one batch"),
    ],
)
def test_a_backbone_that_cannot_be_differentiated(
    llama: Toy, spoil: Callable[[Any], None], why: str
) -> None:
    """It says which model, why, and the way out; it gives no gradient of what is left."""
    shared = copy.deepcopy(llama.shared)
    spoil(shared.base_model)
    scorer = Toy(llama.own, shared).scorer()

    with pytest.raises(NoGradient, match=rf"^toy: .*{why}.*--method exhaustive$"):
        slopes(scorer)

    assert hooks_of(shared.base_model) == 0
    assert torch.is_grad_enabled()
    assert np.isfinite(engine.score(scorer, PREFIX, PAIRS, (END,))).all()


def test_a_head_without_a_gradient_and_one_that_breaks(llama: Toy) -> None:
    """Nothing of the answer reaches the reward; an error of the device or the code passes."""

    def breaking(error: Exception) -> Callable[[Tensor], Tensor]:
        def head(_: Tensor) -> Tensor:
            raise error

        return head

    backbone = llama.shared.base_model
    with pytest.raises(NoGradient, match=r"\(nothing of its embedding reaches its reward\)"):
        slopes(Scorer(backbone, Everywhere(lambda states: states.detach().sum(-1)), PAD))
    for error in (RuntimeError("CUDA error: device-side assert triggered"), ValueError("x")):
        with pytest.raises(type(error)) as caught:
            slopes(Scorer(backbone, Everywhere(breaking(error)), PAD))
        assert caught.value is error
    assert hooks_of(backbone) == 0


def test_what_only_looks_like_a_fault_is_none(llama: Toy, tmp_path: Path) -> None:
    """Layers that select without a gradient; a small table of positions; changes in place."""
    chooses = load(toy_checkpoint(tmp_path, kind="axk2"))
    assert np.abs(slopes(chooses.scorer()).slopes).max() > 0.01

    shared = copy.deepcopy(llama.shared)
    read_again(shared.base_model)
    shared.base_model.other.num_embeddings = 128
    assert np.isfinite(slopes(Toy(llama.own, shared).scorer()).slopes).all()

    shared = copy.deepcopy(llama.shared)
    shared.base_model.layers[0].register_forward_pre_hook(
        lambda _, given: (given[0].mul_(1.0), *given[1:])
    )
    found, expected = (slopes(toy.scorer()) for toy in (Toy(llama.own, shared), llama))
    assert np.array_equal(found.slopes, expected.slopes)
