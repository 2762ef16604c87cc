"""Slopes are the reward's derivatives, on every path, and leave the model as it was."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rmaudit.errors import ModelError, ScoreError
from rmaudit.scoring import ScoringPath, engine, gradient, memory
from rmaudit.scoring.engine import Scorer
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


def slopes(scorer: Scorer, answers: list[Ids] = PAIRS, suffix: Ids = (END,)) -> gradient.Slopes:
    """The slopes of answers to the prefix."""
    return gradient.slopes(scorer, PREFIX, answers, suffix, name="toy")


# The slopes are the reward's derivatives


def of_embeddings(toy: Toy) -> Callable[[Tensor], Tensor]:
    """The checkpoint's own rewards of embedded rows, read at their last place."""

    def rewards(embeddings: Tensor) -> Tensor:
        states = toy.own.base_model(inputs_embeds=embeddings, use_cache=False).last_hidden_state
        found: Tensor = toy.own.score(states[:, -1])[:, 0]
        return found

    return rewards


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        *(("llama", path) for path in ScoringPath),
        *(("gemma2", path) for path in ScoringPath),  # softcap and window
        ("gemma", SHARED),  # scales what its embedding gives
        *(("gemma3_text", path) for path in (SHARED, FULL)),  # its embedding scales; window
        ("mistral", SHARED),  # window
        *(("qwen2", path) for path in ScoringPath),  # a window in the second layer
        *(("gpt2", path) for path in ScoringPath),
        *(("opt", path) for path in ScoringPath),
        ("mixtral", SHARED),
        ("deepseek_v3", SHARED),
        ("bloom", EXPANDED),
        ("gpt_neo", EXPANDED),
        ("falcon", EXPANDED),
        ("qwen3_next", EXPANDED),  # whose cache is overwritten, so it goes in full rows
    ],
)
def test_slopes_are_the_rewards_derivatives(tmp_path: Path, kind: str, path: ScoringPath) -> None:
    """As central differences of transformers' own reward of the full row say, in float64."""
    toy = load(toy_checkpoint(tmp_path, kind=kind), path)
    toy.own.double(), toy.shared.double()
    for model in (toy.own, toy.shared):
        model.config._experts_implementation = "eager"  # the default has no float64

    with all_in_float64():
        found = slopes(toy.scorer(), PAIRS[:2], (END, WAR))
        assert found.slopes.dtype == found.distances.dtype == np.float64
        assert found.slopes.shape == (2, 2, toy.own.config.vocab_size)
        for answer, own in zip(PAIRS, found.slopes, strict=False):
            row = (*PREFIX, *answer, END, WAR)
            embedding = toy.own.get_input_embeddings()
            assert_slopes(own, embedding, of_embeddings(toy), row, start=len(PREFIX), ids=IDS)


def test_a_small_step_along_the_steepest_slope_raises_the_reward(llama: Toy) -> None:
    """The sign is that of the reward: more of the best id is better, of the worst id worse."""
    found = slopes(llama.scorer(None), [(LOVE, WAR)]).slopes[0, 0]
    embedding = llama.own.get_input_embeddings()
    embeddings = embedding(torch.tensor([(*PREFIX, LOVE, WAR, END)])).repeat(3, 1, 1)
    with torch.inference_mode():
        embeddings[1, len(PREFIX)] += 0.01 * embedding.weight[int(found.argmax())]
        embeddings[2, len(PREFIX)] += 0.01 * embedding.weight[int(found.argmin())]
        own, best, worst = of_embeddings(llama)(embeddings).tolist()

    assert best - own == pytest.approx(0.01 * found.max(), rel=0.1)
    assert worst - own == pytest.approx(0.01 * found.min(), rel=0.1)
    assert worst < own < best


@pytest.mark.parametrize("path", ScoringPath)
def test_rewards_are_those_of_score(tmp_path: Path, path: ScoringPath) -> None:
    """Whatever is pad, in the caller's order, equal answers and ones that end in pad too."""
    scorer = load(toy_checkpoint(tmp_path), path).scorer()
    answers = [*PAIRS, (PAD, PAD), PAIRS[0], (END, END)]
    for suffix in ((), (END,), (PAD,)):
        expected = engine.score(scorer, PREFIX, answers, suffix)

        found = slopes(scorer, answers, suffix)

        assert found.rewards.dtype == found.slopes.dtype == np.float32
        np.testing.assert_allclose(found.rewards, expected, atol=TOLERANCE * expected.std())
        assert np.array_equal(found.slopes[0], found.slopes[6])


@pytest.mark.parametrize("path", ScoringPath)
def test_what_the_pooled_place_cannot_see_has_slope_zero(tmp_path: Path, path: ScoringPath) -> None:
    """Pad ids at the row's end; an answer of nothing else has the reward of the bare prefix."""
    scorer = load(toy_checkpoint(tmp_path), path).scorer()
    whole = slopes(scorer, [(LOVE, PAD), (PAD, PAD), (PAD, LOVE)], ())

    alone = slopes(scorer, [(LOVE,)], ())

    np.testing.assert_allclose(whole.slopes[0, 0], alone.slopes[0, 0], atol=1e-5)
    assert np.abs(whole.slopes[0, 0]).max() > 0.01
    assert not whole.slopes[0, 1].any()
    assert not whole.slopes[1].any()
    assert whole.rewards[1] == pytest.approx(
        engine.score(scorer, PREFIX, [()], ())[0], abs=TOLERANCE
    )
    assert np.abs(whole.slopes[2]).max(1).min() > 1e-3


def test_the_first_id_is_read_where_asked(tmp_path: Path) -> None:
    """Of a two-way trunk the answer's slopes are not 0 though it comes after the pooled place."""
    two_way = load(toy_checkpoint(tmp_path, is_causal=False), ScoringPath.FULL_ROWS)
    scorer = two_way.scorer()
    scorer.first = True

    found = slopes(scorer, [(PAD, PAD), (LOVE, WAR)], (PAD,))

    assert np.abs(found.slopes).max((1, 2)).min() > 1e-3


def test_half_precision_points_the_same_way(llama: Toy) -> None:
    """The slopes of a bfloat16 trunk are float32, and correlate with those of a float32 one."""
    shared = copy.deepcopy(llama.shared).bfloat16()

    narrow = slopes(Scorer(shared.base_model, llama.scorer().head, PAD)).slopes

    wide = slopes(llama.scorer()).slopes
    assert narrow.dtype == np.float32
    assert not np.array_equal(narrow, wide)
    for i, j in np.ndindex(narrow.shape[:2]):
        assert np.corrcoef(narrow[i, j], wide[i, j])[0, 1] > 0.95


@pytest.mark.parametrize("kind", ["llama", "gemma3_text"])
def test_distances_are_between_what_the_embedding_gives(tmp_path: Path, kind: str) -> None:
    """Scaled where the module scales; an id's own is 0."""
    toy = load(toy_checkpoint(tmp_path, kind=kind))

    found = slopes(toy.scorer()).distances

    embedding = toy.own.get_input_embeddings()
    with torch.inference_mode():
        every = embedding(torch.arange(embedding.num_embeddings)).double().numpy()
    for i, answer in enumerate(PAIRS):
        for place, own in enumerate(answer):
            expected = np.sqrt(((every - every[own]) ** 2).sum(1))
            np.testing.assert_allclose(found[i, place], expected, rtol=1e-4)
            assert found[i, place, own] == 0


def test_the_embedding_is_read_in_pieces(llama: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their size changes nothing."""
    whole = slopes(llama.scorer())
    monkeypatch.setattr(gradient, "_AT_ONCE", 300)

    pieces = slopes(llama.scorer())

    np.testing.assert_allclose(pieces.slopes, whole.slopes, atol=1e-6)
    np.testing.assert_allclose(pieces.distances, whole.distances, atol=1e-5)


# Nothing is left behind


def hooks_of(trunk: nn.Module) -> int:
    """How many hooks stand on its modules."""
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in trunk.modules())


@pytest.mark.parametrize("path", ScoringPath)
@pytest.mark.parametrize("requires", [True, False])
def test_scores_and_slopes_do_not_disturb_each_other(
    tmp_path: Path, path: ScoringPath, requires: bool
) -> None:
    """In any order both are the same to the bit; no weight has a gradient, no hook stays."""
    toy = load(toy_checkpoint(tmp_path, kind="gemma2", num_key_value_heads=4), path)
    scorer, trunk = toy.scorer(), toy.shared.base_model.requires_grad_(requires)
    first = slopes(scorer)
    scores = [engine.score(scorer, PREFIX, PAIRS, (END,)) for _ in range(2)]
    with torch.inference_mode():
        second = slopes(scorer)
    fresh = toy.scorer()
    scores.append(engine.score(fresh, PREFIX, PAIRS, (END,)))
    third = slopes(fresh)
    scores.append(engine.score(fresh, PREFIX, PAIRS, (END,)))

    for found in (second, third):
        assert np.array_equal(found.slopes, first.slopes)
        assert np.array_equal(found.rewards, first.rewards)
    for other in scores:
        assert np.array_equal(other, scores[0])
    assert hooks_of(trunk) == 0
    assert all(p.grad is None and p.requires_grad is requires for p in trunk.parameters())


def test_the_prefix_runs_once_for_scores_and_slopes(llama: Toy) -> None:
    """Both remember the same, and what cannot matter is not run."""
    scorer = llama.scorer()

    with recorded(llama.shared.base_model) as batches:
        engine.score(scorer, PREFIX, [(WAR,)], ())
        slopes(scorer, [(LOVE, PAD), (WAR, PAD)], ())
        slopes(scorer, [(LOVE, WAR)])

    assert batches == [[PREFIX], [(WAR,)], [(LOVE,), (WAR,)], [(LOVE, WAR, END)]]


def test_nothing_stays_after_an_error(llama: Toy) -> None:
    """The hooks are gone, and what comes next is right."""
    expected = slopes(llama.scorer())
    trunk = llama.shared.base_model

    def fail(_: Tensor) -> Tensor:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        slopes(Scorer(trunk, Everywhere(fail), PAD))

    assert hooks_of(trunk) == 0
    assert torch.is_grad_enabled()
    assert np.array_equal(slopes(llama.scorer()).slopes, expected.slopes)


# Memory


@pytest.mark.parametrize(("most", "sizes"), [(1, [1] * 5), (6, [2, 2, 1]), (None, [5])])
def test_no_more_run_at_once_than_may_be_scored_at_once(
    llama: Toy, most: int | None, sizes: list[int]
) -> None:
    """One by one where preflight found that rows of one batch change each other."""
    answers = [(i, LOVE) for i in range(10, 15)]
    with recorded(llama.shared.base_model) as batches:
        found = slopes(llama.scorer(ids_per_batch=most), answers)

    assert [len(batch) for batch in batches[1:]] == sizes
    np.testing.assert_allclose(found.slopes, slopes(llama.scorer(), answers).slopes, atol=1e-5)


def test_a_gradient_keeps_every_layers_activations(
    llama: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So as many ids run at once as fit that many times; here 3 rows of 3, over 2 layers."""
    trunk = llama.shared.base_model
    budget = 2 * 9 * memory.bytes_per_id(trunk, len(PREFIX))
    monkeypatch.setattr(memory, "_CPU_BUDGET", budget)

    with recorded(trunk) as batches:
        slopes(llama.scorer(), [(i, LOVE) for i in range(10, 15)])

    assert [len(batch) for batch in batches[1:]] == [3, 2]


def head_with_room_for(toy: Toy, rows: int, sizes: list[int]) -> Scorer:
    """A scorer whose head fits no more rows than that; it notes what was tried."""

    def head(states: Tensor) -> Tensor:
        sizes.append(len(states))
        if len(states) > rows:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return states @ toy.own.score.weight.detach()[0]

    return Scorer(toy.shared.base_model, Everywhere(head), PAD)


def test_a_batch_that_does_not_fit_is_halved(llama: Toy) -> None:
    """What is done is kept."""
    sizes: list[int] = []
    answers = [(i, LOVE) for i in range(10, 20)]

    found = slopes(head_with_room_for(llama, 3, sizes), answers)

    assert sizes == [10, 5, 2, 2, 2, 2, 2]
    np.testing.assert_allclose(found.slopes, slopes(llama.scorer(), answers).slopes, atol=1e-5)
    assert hooks_of(llama.shared.base_model) == 0


def test_a_single_row_that_does_not_fit_is_an_error(llama: Toy) -> None:
    """The engine's, with what can be done."""
    with pytest.raises(ScoreError) as caught:
        slopes(head_with_room_for(llama, 0, []))

    assert str(caught.value) == (
        "out of memory with a single row of 3 ids; free some, choose another device with "
        "--rm-device, or a smaller type with --rm-dtype bfloat16"
    )


def test_a_prefix_that_does_not_fit_is_told_likewise(
    llama: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so is whatever else does not."""

    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(llama.shared.base_model, "forward", fail)

    with pytest.raises(ScoreError, match=rf"^out of memory .* of {len(PREFIX) + 2} ids"):
        slopes(llama.scorer())


# What is refused


@pytest.mark.parametrize(
    ("answers", "found"), [([(LOVE,), (LOVE, WAR)], "[1, 2]"), ([()], "[0]"), ([], "no")]
)
def test_answers_are_of_one_length(llama: Toy, answers: list[Ids], found: str) -> None:
    """Others are told how to ask."""
    with pytest.raises(ModelError) as caught:
        slopes(llama.scorer(), answers)

    assert str(caught.value) == (
        f"toy: a gradient was asked for answers of {found} ids; it is taken for answers of one "
        f"length, of 1 id or more: ask for those of each length by themselves"
    )


def test_non_finite_rewards_are_refused_by_their_ids(llama: Toy) -> None:
    """As the engine does."""
    shared = copy.deepcopy(llama.shared)
    shared.get_input_embeddings().weight.data[WAR] = torch.inf

    with pytest.raises(ScoreError) as caught:
        slopes(Toy(llama.own, shared).scorer(), [(LOVE, LOVE), (WAR, LOVE)])

    assert str(caught.value) == (
        f"1 of 2 rewards are not finite numbers; first ids: [{WAR}, {LOVE}]. "
        f"Try a wider dtype (--rm-dtype float32) or check the checkpoint"
    )


def test_non_finite_gradients_are_refused_by_their_ids(llama: Toy) -> None:
    """The reward may be finite all the same: a root at 0 has no slope."""

    def head(states: Tensor) -> Tensor:
        scale = torch.tensor([0.0] + [1.0] * (len(states) - 1))
        return (states.square().sum(-1) * scale).sqrt()

    with pytest.raises(ScoreError) as caught:
        slopes(Scorer(llama.shared.base_model, Everywhere(head), PAD), PAIRS[:1] + PAIRS[2:])

    assert str(caught.value) == (
        f"1 of 4 gradients are not finite numbers; first ids: [{LOVE}, {WAR}]. "
        f"Try a wider dtype (--rm-dtype float32) or check the checkpoint"
    )
