"""Engine scores are the checkpoint's own scores of full, unpadded rows."""

from __future__ import annotations

import copy
import gc
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rmaudit.errors import ModelError, ScoreError
from rmaudit.scoring import ScoringPath, engine
from rmaudit.scoring.engine import Scorer
from tests.scoring.rows import (
    ANSWERS,
    END,
    EOS,
    LOVE,
    PAD,
    PADS,
    PREFIX,
    START,
    SUFFIXES,
    TOLERANCE,
    WAR,
    Everywhere,
    Ids,
    Toy,
    assert_same,
    load,
    plain,
    recorded,
)
from tests.toys import toy_checkpoint

# By what they add to plain attention. The windows are shorter than the prefix.
KINDS: dict[str, dict[str, Any]] = {
    "llama": {"kind": "llama"},
    "llama, a key head each": {"kind": "llama", "num_key_value_heads": 4},
    "llama, one key head": {"kind": "llama", "num_key_value_heads": 1},
    "gemma": {"kind": "gemma"},
    "gemma2, softcap and window": {"kind": "gemma2"},
    "gemma3_text, window": {"kind": "gemma3_text"},
    "mistral, window": {"kind": "mistral"},
    "phi3": {"kind": "phi3", "eos_token_id": EOS},
    "phi3, window": {"kind": "phi3", "eos_token_id": EOS, "sliding_window": 8},
    "qwen2": {"kind": "qwen2", "use_sliding_window": False},
    "qwen2, window": {"kind": "qwen2"},
    "qwen3": {"kind": "qwen3", "use_sliding_window": False},
    "qwen3, window": {"kind": "qwen3"},
    "deepseek_v3, narrow values": {"kind": "deepseek_v3"},
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=list(KINDS))
def toy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A checkpoint of each kind."""
    return load(toy_checkpoint(tmp_path_factory.mktemp("toy"), **request.param))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """One layer: small enough to be asked hundreds of times."""
    folder = tmp_path_factory.mktemp("tiny")
    return load(toy_checkpoint(folder, num_hidden_layers=1, hidden_size=16))


# The scores are the checkpoint's own


@pytest.mark.parametrize("pad", PADS.values(), ids=PADS.keys())
@pytest.mark.parametrize("suffix", SUFFIXES.values(), ids=SUFFIXES.keys())
def test_scores_are_the_checkpoints_own(toy: Toy, suffix: Ids, pad: int | None) -> None:
    """Plain, special, pad, EOS and added ids, one or several, score as in full eager rows."""
    scores = engine.score(toy.scorer(pad), PREFIX, ANSWERS, suffix)

    assert_same(scores, toy.expected(PREFIX, ANSWERS, suffix, pad))


@pytest.mark.parametrize("pad", [END, None], ids=["pad is the turn's end", "no pad"])
def test_pooling_is_what_the_pad_decides(llama: Toy, pad: int | None) -> None:
    """Another pad id gives other scores, so the test above can fail."""
    scores = engine.score(llama.scorer(pad), PREFIX, ANSWERS, (END, PAD))
    other = llama.expected(PREFIX, ANSWERS, (END, PAD), PAD)

    assert np.abs(scores - other).max() > 0.01 * other.std()


def test_an_answer_of_nothing_but_pad_is_pooled_in_the_prefix(llama: Toy) -> None:
    """With pad == turn's end and nothing else after the prefix, the prefix's end is the reward."""
    scores = engine.score(llama.scorer(END), PREFIX, [(END,), (END, END), (LOVE,)], (END,))

    bare = llama.expected(PREFIX, [()], (), None)[0]
    assert scores[:2] == pytest.approx([bare, bare], abs=TOLERANCE)
    assert abs(scores[2] - bare) > 0.01


def test_a_row_of_nothing_but_pad_is_pooled_at_its_start(llama: Toy) -> None:
    """Where every id is the pad id, transformers reads the first place, and so does the engine."""
    prefix, answers = (PAD,) * 5, [(PAD,), (LOVE,)]

    scores = engine.score(llama.scorer(PAD), prefix, answers, (PAD,))

    assert_same(scores, llama.expected(prefix, answers, (PAD,), PAD))


def switch_off(trunk: Any, option: str) -> None:
    """Take the option from every layer and from the config that the layers share."""
    for place in [trunk.config, *trunk.modules()]:
        if hasattr(place, option):
            setattr(place, option, 10**6 if option == "sliding_window" else None)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("gemma2, softcap and window", "attn_logit_softcapping"),
        ("gemma2, softcap and window", "sliding_window"),
        ("gemma3_text, window", "sliding_window"),
        ("mistral, window", "sliding_window"),
        ("phi3, window", "sliding_window"),
        ("qwen2, window", "sliding_window"),
        ("qwen3, window", "sliding_window"),
    ],
)
def test_softcap_and_window_matter(tmp_path: Path, kind: str, option: str) -> None:
    """Switched off, each moves the scores far more than the tolerance: the toys can tell."""
    toy = load(toy_checkpoint(tmp_path, **KINDS[kind]))
    with_option = engine.score(toy.scorer(), PREFIX, ANSWERS, (END,))

    switch_off(toy.shared.base_model, option)
    without = engine.score(toy.scorer(), PREFIX, ANSWERS, (END,))

    assert np.abs(with_option - without).max() > 100 * TOLERANCE * with_option.std()


SOME_IDS = st.integers(0, 7)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    prefix=st.lists(SOME_IDS, min_size=1, max_size=12).map(tuple),
    suffix=st.lists(SOME_IDS, max_size=3).map(tuple),
    answers=st.lists(st.lists(SOME_IDS, max_size=4).map(tuple), min_size=1, max_size=6),
    pad=st.none() | SOME_IDS,
)
def test_any_row_scores_as_its_own(
    tiny: Toy, prefix: Ids, suffix: Ids, answers: list[Ids], pad: int | None
) -> None:
    """Whatever the lengths, and wherever the pad id stands, the scores are the checkpoint's own."""
    scores = engine.score(tiny.scorer(pad), prefix, answers, suffix)

    assert_same(scores, tiny.expected(prefix, answers, suffix, pad), sd=1.0)


# What is run


def test_the_prefix_runs_once_and_no_row_is_padded(llama: Toy) -> None:
    """The trunk sees the prefix first, and then each answer with its suffix and nothing else."""
    answers: list[Ids] = [(LOVE,), (WAR, LOVE), (END,)]

    with recorded(llama.shared.base_model) as batches:
        engine.score(llama.scorer(), PREFIX, answers, (END,))

    assert batches == [[PREFIX], [(LOVE, END), (END, END)], [(WAR, LOVE, END)]]


def test_equal_answers_run_once(llama: Toy) -> None:
    """Duplicates, and rows that differ in trailing pad ids only, share one row and its score."""
    answers: list[Ids] = [(LOVE,), (WAR,), (LOVE,), (LOVE, PAD), (WAR,), (LOVE, PAD, PAD)]

    with recorded(llama.shared.base_model) as batches:
        scores = engine.score(llama.scorer(), PREFIX, answers, ())

    assert batches == [[PREFIX], [(LOVE,), (WAR,)]]
    love, war = scores[:2]
    assert love != war
    assert scores.tolist() == [love, war, love, love, war, love]


def test_scores_keep_the_callers_order(llama: Toy) -> None:
    """Answers of mixed lengths in another order give the same scores in that order."""
    order = random.Random(0).sample(range(len(ANSWERS)), len(ANSWERS))
    straight = engine.score(llama.scorer(), PREFIX, ANSWERS, (END,))

    shuffled = engine.score(llama.scorer(), PREFIX, [ANSWERS[i] for i in order], (END,))

    assert_same(shuffled, straight[order])


@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_batch_size_does_not_matter(llama: Toy, size: int) -> None:
    """Any number of ids a batch gives the same scores, and no batch holds more ids than that."""
    answers = [(i,) for i in range(50)] + ANSWERS
    expected = engine.score(llama.scorer(), PREFIX, answers, (END,))

    with recorded(llama.shared.base_model) as batches:
        scores = engine.score(llama.scorer(ids_per_batch=size), PREFIX, answers, (END,))

    assert_same(scores, expected)
    assert all(sum(map(len, rows)) <= size or len(rows) == 1 for rows in batches[1:])
    assert len(batches) > 50 or size > 1


def test_progress_counts_every_answer(llama: Toy) -> None:
    """After each batch the answers that it finished are reported, duplicates included."""
    answers: list[Ids] = [(1,), (2,), (3,), (1,), (1,)]
    seen: list[int] = []

    scorer = llama.scorer(ids_per_batch=4)
    engine.score(scorer, PREFIX, answers, (END,), on_progress=seen.append)

    assert seen == [4, 1]


def test_no_answers_need_no_trunk(llama: Toy) -> None:
    """An empty list gives an empty array, and nothing is run."""
    with recorded(llama.shared.base_model) as batches:
        scores = engine.score(llama.scorer(), PREFIX, [], (END,))

    assert scores.shape == (0,)
    assert scores.dtype == np.float32
    assert batches == []


def test_the_prefix_is_remembered_between_calls(llama: Toy) -> None:
    """It runs once for all calls with the same prefix, and anew for another of the same length."""
    scorer, other = llama.scorer(), (*PREFIX[:-1], LOVE)

    with recorded(llama.shared.base_model) as batches:
        for prefix in (PREFIX, PREFIX, list(PREFIX), other, PREFIX):
            scores = engine.score(scorer, prefix, [(LOVE,)], (END,))
            assert_same(scores, llama.expected(tuple(prefix), [(LOVE,)], (END,), PAD), sd=1.0)

    row = [(LOVE, END)]
    assert batches == [[PREFIX], row, row, row, [other], row, [PREFIX], row]


def test_a_forgotten_prefix_runs_again(llama: Toy) -> None:
    """After the trunk or the path was changed, nothing old is used."""
    scorer = llama.scorer()
    with recorded(llama.shared.base_model) as batches:
        engine.score(scorer, PREFIX, [(LOVE,)], ())
        scorer.forget()
        engine.score(scorer, PREFIX, [(LOVE,)], ())

    assert batches == [[PREFIX], [(LOVE,)]] * 2


def test_a_half_precision_trunk_has_its_head_in_float32(llama: Toy) -> None:
    """The head sees the trunk's own states, widened and not rounded again."""
    shared = copy.deepcopy(llama.shared).bfloat16()
    seen: list[Tensor] = []

    def head(states: Tensor) -> Tensor:
        seen.append(states)
        return plain(llama.own.score.weight)(states)

    scores = engine.score(Scorer(shared.base_model, Everywhere(head), PAD), PREFIX, ANSWERS, (END,))

    assert scores.dtype == np.float32
    assert {states.dtype for states in seen} == {torch.float32}
    assert all(torch.equal(states, states.bfloat16().float()) for states in seen)
    assert not torch.equal(torch.tensor(scores), torch.tensor(scores).bfloat16().float())
    expected = llama.expected(PREFIX, ANSWERS, (END,), PAD)
    assert np.abs(scores - expected).max() < 0.1 * expected.std()


def test_the_first_id_is_read_where_asked(tmp_path: Path) -> None:
    """Of a two-way trunk: whole rows run, pad ids at their end too, and state 0 is the reward's."""
    two_way = load(toy_checkpoint(tmp_path / "two-way", is_causal=False), ScoringPath.FULL_ROWS)
    scorer, suffix = two_way.scorer(), (END, PAD)
    scorer.first = True

    with recorded(two_way.shared.base_model) as batches:
        scores = engine.score(scorer, PREFIX, ANSWERS, suffix)

    rows = [(*PREFIX, *answer, *suffix) for answer in ANSWERS]
    assert {row for batch in batches for row in batch} == set(rows)
    head, trunk = plain(two_way.own.score.weight), two_way.own.base_model
    with torch.inference_mode():
        states = [trunk(torch.tensor([row])).last_hidden_state[0, 0] for row in rows]
    assert_same(scores, head(torch.stack(states)).numpy())


# Memory


@contextmanager
def room_for(trunk: nn.Module, ids: int) -> Iterator[list[int]]:
    """Meanwhile no more ids fit at once, the prefix apart; what was tried is noted."""
    tried: list[int] = []

    def allocate(_: object, __: object, kwargs: dict[str, Any]) -> None:
        given = kwargs["input_ids"]
        if tuple(given[0].tolist()) == PREFIX:
            return
        tried.append(given.numel())
        if given.numel() > ids:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    hook = trunk.register_forward_pre_hook(allocate, with_kwargs=True)
    try:
        yield tried
    finally:
        hook.remove()


SINGLES: list[Ids] = [(i,) for i in range(5, 105)]


def test_a_batch_that_does_not_fit_is_halved_and_this_is_remembered(llama: Toy) -> None:
    """The next batches, and the next call, start with what was small enough."""
    scorer = llama.scorer(ids_per_batch=128)

    with room_for(llama.shared.base_model, 40) as tried:
        first = engine.score(scorer, PREFIX, SINGLES, (END,))
        assert tried == [128, 64, 32, 32, 32, 32, 32, 32, 8]
        assert scorer.ids_per_batch == 32
        tried.clear()
        second = engine.score(scorer, PREFIX, SINGLES[:20], (END,))

    assert tried == [32, 8]
    expected = llama.expected(PREFIX, SINGLES, (END,), PAD)
    assert_same(first, expected)
    assert_same(second, expected[:20])


def test_out_of_memory_in_the_middle_keeps_what_is_done(llama: Toy) -> None:
    """Longer rows fail after shorter ones are done; every answer is counted once."""
    answers = SINGLES[:6] + [(*answer, LOVE, WAR) for answer in SINGLES[:7]] + [SINGLES[0]]
    seen: list[int] = []
    scorer = llama.scorer(ids_per_batch=24)

    with recorded(llama.shared.base_model) as batches, room_for(llama.shared.base_model, 12):
        scores = engine.score(scorer, PREFIX, answers, (END,), on_progress=seen.append)

    assert_same(scores, llama.expected(PREFIX, answers, (END,), PAD))
    # six rows of 2 fit; of the rows of 4, six do not and three do
    assert [(len(rows), len(rows[0])) for rows in batches[1:]] == [
        (6, 2),
        (6, 4),
        (3, 4),
        (3, 4),
        (1, 4),
    ]
    assert seen == [7, 3, 3, 1]
    done = [row for rows in batches[1:] if len(rows) * len(rows[0]) <= 12 for row in rows]
    assert len(done) == len(set(done)) == 13


def test_room_that_gets_scarce_costs_one_batch(llama: Toy) -> None:
    """Others may take memory at any time; batches of the same length that are done stay done."""
    sizes: list[int] = []
    seen: list[int] = []

    def head(states: Tensor) -> Tensor:
        sizes.append(len(states))
        if len(sizes) == 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return plain(llama.own.score.weight)(states)

    scorer = Scorer(llama.shared.base_model, Everywhere(head), PAD, ids_per_batch=8)
    scores = engine.score(scorer, PREFIX, SINGLES[:14], (END,), on_progress=seen.append)

    assert sizes == [4, 4, 4, 2, 2, 2]
    assert seen == [4, 4, 2, 2, 2]
    assert_same(scores, llama.expected(PREFIX, SINGLES[:14], (END,), PAD))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
    ],
)
def test_the_head_may_run_out_of_memory_too(llama: Toy, error: Exception) -> None:
    """Wherever in a batch it happens, and however it is told, the batch is halved."""
    sizes: list[int] = []

    def head(states: Tensor) -> Tensor:
        sizes.append(len(states))
        if len(states) > 3:
            raise error
        return plain(llama.own.score.weight)(states)

    scorer = Scorer(llama.shared.base_model, Everywhere(head), PAD, ids_per_batch=20)
    scores = engine.score(scorer, PREFIX, SINGLES[:10], (END,))

    assert sizes == [10, 5, 2, 2, 2, 2, 2]
    assert_same(scores, llama.expected(PREFIX, SINGLES[:10], (END,), PAD))


def test_a_single_row_that_does_not_fit_is_an_error(llama: Toy) -> None:
    """There is nothing left to halve; the message says what can be done."""
    scorer = llama.scorer(ids_per_batch=8)

    with room_for(llama.shared.base_model, 1) as tried, pytest.raises(ScoreError) as caught:
        engine.score(scorer, PREFIX, SINGLES, (END,))

    assert tried == [8, 4, 2]
    assert str(caught.value) == (
        "out of memory with a single row of 2 ids; free some, choose another device with "
        "--rm-device, or a smaller type with --rm-dtype bfloat16"
    )


def test_a_full_row_that_does_not_fit_is_told_with_its_prefix(llama: Toy) -> None:
    """The message counts the ids that would have run."""
    toy = Toy(llama.own, llama.own, ScoringPath.FULL_ROWS)

    with (
        room_for(llama.own.base_model, 1),
        pytest.raises(ScoreError, match=rf"^out of memory with a single row of {len(PREFIX) + 2} "),
    ):
        engine.score(toy.scorer(ids_per_batch=60), PREFIX, SINGLES, (END,))


@pytest.mark.parametrize("error", [RuntimeError("CUDA error: device-side assert"), ValueError("x")])
def test_other_errors_pass_through(llama: Toy, error: Exception) -> None:
    """What is no want of memory is not tried again."""
    calls: list[int] = []

    def head(states: Tensor) -> Tensor:
        calls.append(len(states))
        raise error

    scorer = Scorer(llama.shared.base_model, Everywhere(head), PAD, ids_per_batch=20)
    with pytest.raises(type(error)) as caught:
        engine.score(scorer, PREFIX, SINGLES[:10], (END,))

    assert caught.value is error
    assert calls == [10]
    assert scorer.ids_per_batch == 20


def test_nothing_of_a_batch_is_kept(llama: Toy) -> None:
    """Every batch starts with the same tensors alive: the prefix's, and none of other rows."""
    trunk, alive = llama.shared.base_model, []
    scorer = llama.scorer(ids_per_batch=20)
    engine.score(scorer, PREFIX, SINGLES[:10], (END,))

    def count(*_: object) -> None:
        gc.collect()
        tensors = [thing for thing in gc.get_objects() if type(thing) is Tensor]
        alive.append(len({tensor.untyped_storage().data_ptr() for tensor in tensors}))

    hook = trunk.register_forward_pre_hook(count)
    try:
        engine.score(scorer, PREFIX, SINGLES[10:60], (END,))
    finally:
        hook.remove()

    assert len(alive) == 5
    assert len(set(alive[1:])) == 1


# What is refused


def test_non_finite_scores_are_refused_by_their_ids(llama: Toy) -> None:
    """One poisoned embedding names the answers that hold its id, and no others."""
    shared = copy.deepcopy(llama.shared)
    shared.get_input_embeddings().weight.data[WAR] = torch.inf
    scorer = Toy(llama.own, shared).scorer()

    with pytest.raises(ScoreError) as caught:
        engine.score(scorer, PREFIX, [(LOVE,), (WAR,), (START, WAR), (EOS,)], (END,))

    assert str(caught.value) == (
        f"2 of 4 rewards are not finite numbers; first ids: [{WAR}], [{START}, {WAR}]. "
        f"Try a wider dtype (--rm-dtype float32) or check the checkpoint"
    )


def test_a_head_of_infinities_names_five_answers(llama: Toy) -> None:
    """Where all rewards are spoiled, their number is told and the first five are named."""
    weight = llama.shared.score.weight.detach().clone()
    weight[0, 3] = torch.inf
    scorer = Scorer(llama.shared.base_model, plain(weight), PAD)

    with pytest.raises(ScoreError, match=r"7 of 7 .*: \[10\], \[11\], \[12\], \[13\], \[14\]\. "):
        engine.score(scorer, PREFIX, [(i,) for i in range(10, 17)], (END,))


def test_a_trunk_that_never_reaches_the_attention_is_refused(llama: Toy) -> None:
    """A trunk with attention of its own would ignore the prefix, so it is an error."""
    with pytest.raises(ModelError) as caught:
        engine.score(Toy(llama.own, llama.own).scorer(), PREFIX, ANSWERS, (END,))

    assert str(caught.value) == (
        "LlamaModel: the attention 'rmaudit_shared_prefix' was reached in 0 of 2 layers; "
        "this trunk cannot share a prefix"
    )


def test_a_prefix_that_does_not_fit_is_a_score_error(
    llama: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of memory before any row runs is told like that of a single row."""

    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(llama.shared.base_model, "forward", fail)

    with pytest.raises(ScoreError, match=rf"^out of memory with a single row of {len(PREFIX)} ids"):
        engine.score(llama.scorer(), PREFIX, ANSWERS, (END,))
