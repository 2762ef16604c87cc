"""Engine scores are the checkpoint's own scores of full, unpadded rows."""

from __future__ import annotations

import copy
import gc
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
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
    "llama, one key head": {"kind": "llama", "num_key_value_heads": 1},
    "gemma2, softcap and window": {"kind": "gemma2"},
    "gemma3_text, window": {"kind": "gemma3_text"},
    "phi3, window": {"kind": "phi3", "eos_token_id": EOS, "sliding_window": 8},
    "qwen2, window": {"kind": "qwen2"},
    "deepseek_v3, narrow values": {"kind": "deepseek_v3"},
}
SINGLES: list[Ids] = [(i,) for i in range(5, 105)]


# The scores are the checkpoint's own


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_checkpoints_own(tmp_path: Path, kind: str) -> None:
    """Whatever is pad or follows: plain, special, pad, EOS and added ids score as in full rows."""
    toy = load(toy_checkpoint(tmp_path, **KINDS[kind]))
    every = itertools.product(PADS.values(), SUFFIXES.values())
    for pad, suffix in itertools.islice(every, 0, None, 1 if kind == "llama" else 4):
        scores = engine.score(toy.scorer(pad), PREFIX, ANSWERS, suffix)

        assert_same(scores, toy.expected(PREFIX, ANSWERS, suffix, pad))


def test_where_all_is_pad_the_prefix_is_read(llama: Toy) -> None:
    """Back to its last id that is not pad, or to its first."""
    answers = [(PAD,), (LOVE,)]
    for prefix in ((*PREFIX, PAD, PAD), (PAD,) * 5):
        scores = engine.score(llama.scorer(PAD), prefix, answers, (PAD,))
        assert_same(scores, llama.expected(prefix, answers, (PAD,), PAD), sd=1.0)


def test_the_first_id_is_read_where_asked(tmp_path: Path) -> None:
    """Of a two-way backbone: whole rows run, pad ids at their end too, and state 0 is read."""
    two_way = load(toy_checkpoint(tmp_path / "two-way", is_causal=False), ScoringPath.FULL_ROWS)
    scorer, suffix = two_way.scorer(), (END, PAD)
    scorer.first = True

    with recorded(two_way.shared.base_model) as batches:
        scores = engine.score(scorer, PREFIX, ANSWERS, suffix)

    rows = [(*PREFIX, *answer, *suffix) for answer in ANSWERS]
    assert {row for batch in batches for row in batch} == set(rows)
    head, backbone = plain(two_way.own.score.weight), two_way.own.base_model
    with torch.inference_mode():
        states = [backbone(torch.tensor([row])).last_hidden_state[0, 0] for row in rows]
    assert_same(scores, head(torch.stack(states)).numpy())


def test_a_half_precision_backbone_has_its_head_in_float32(llama: Toy) -> None:
    """The head sees the backbone's own states, widened and not rounded again."""
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


# What is run


def test_the_prefix_runs_once_no_row_is_padded_and_equal_ones_run_once(llama: Toy) -> None:
    """Rows that differ in trailing pad ids only are equal; scores keep the caller's order."""
    answers: list[Ids] = [(WAR, LOVE), (LOVE,), (WAR,), (LOVE,), (LOVE, PAD), (LOVE, PAD, PAD)]

    with recorded(llama.shared.base_model) as batches:
        scores = engine.score(llama.scorer(), PREFIX, answers, ())
        none = engine.score(llama.scorer(), PREFIX, [], (END,))

    assert batches == [[PREFIX], [(LOVE,), (WAR,)], [(WAR, LOVE)]]
    assert (none.shape, none.dtype) == ((0,), np.float32)
    assert_same(scores, llama.expected(PREFIX, answers, (), PAD))
    assert scores[1] == scores[3] == scores[4] == scores[5] != scores[2]


@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_batch_size_does_not_matter(llama: Toy, size: int) -> None:
    """Any number of ids a batch gives the same scores, no batch has more, and all are counted."""
    answers = [(i,) for i in range(50)] + ANSWERS
    expected = engine.score(llama.scorer(), PREFIX, answers, (END,))
    done: list[int] = []

    with recorded(llama.shared.base_model) as batches:
        scorer = llama.scorer(ids_per_batch=size)
        scores = engine.score(scorer, PREFIX, answers, (END,), on_progress=done.append)

    assert_same(scores, expected)
    assert all(sum(map(len, rows)) <= size or len(rows) == 1 for rows in batches[1:])
    assert len(batches) > 50 or size > 1
    assert (sum(done), len(done)) == (len(answers), len(batches) - 1)


def test_the_prefix_is_remembered_until_it_is_forgotten(llama: Toy) -> None:
    """It runs once for all calls with the same ids, and anew for others, as many though they be."""
    scorer, other = llama.scorer(), (*PREFIX[:-1], WAR)

    with recorded(llama.shared.base_model) as batches:
        for prefix in (PREFIX, list(PREFIX), other, PREFIX):
            scores = engine.score(scorer, prefix, [(LOVE,)], (END,))
            assert_same(scores, llama.expected(tuple(prefix), [(LOVE,)], (END,), PAD), sd=1.0)
        scorer.forget()
        engine.score(scorer, PREFIX, [(LOVE,)], (END,))

    row = [(LOVE, END)]
    assert batches == [[PREFIX], row, row, [other], row, [PREFIX], row, [PREFIX], row]


# Memory


@contextmanager
def room_for(backbone: nn.Module, ids: int) -> Iterator[list[int]]:
    """Meanwhile no more ids fit at once, the prefix apart; what was tried is noted."""
    tried: list[int] = []

    def allocate(_: object, __: object, kwargs: dict[str, Any]) -> None:
        given = kwargs["input_ids"]
        if tuple(given[0].tolist()) == PREFIX:
            return
        tried.append(given.numel())
        if given.numel() > ids:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    hook = backbone.register_forward_pre_hook(allocate, with_kwargs=True)
    try:
        yield tried
    finally:
        hook.remove()


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_halved_and_this_is_remembered(llama: Toy) -> None:
    """What is done is kept; the next batches, and the next call, start with what was small."""
    scorer, expected = llama.scorer(ids_per_batch=128), llama.expected(PREFIX, SINGLES, (END,), PAD)
    seen: list[int] = []

    with room_for(llama.shared.base_model, 40) as tried:
        first = engine.score(scorer, PREFIX, SINGLES, (END,), on_progress=seen.append)
        assert tried == [128, 64, 32, 32, 32, 32, 32, 32, 8]
        assert seen == [16] * 6 + [4]
        assert scorer.ids_per_batch == 32
        tried.clear()
        second = engine.score(scorer, PREFIX, SINGLES[:20], (END,))
        assert tried == [32, 8]

    assert_same(first, expected)
    assert_same(second, expected[:20])
    longer = SINGLES[:6] + [(*answer, LOVE, WAR) for answer in SINGLES[:7]] + [SINGLES[0]]
    with room_for(llama.shared.base_model, 12) as tried:
        scores = engine.score(llama.scorer(ids_per_batch=24), PREFIX, longer, (END,))
    assert tried == [12, 24, 12, 12, 4]  # six rows of 2 fit; of the rows of 4, six do not
    assert_same(scores, llama.expected(PREFIX, longer, (END,), PAD))


@pytest.mark.parametrize("path", [ScoringPath.SHARED_PREFIX, ScoringPath.FULL_ROWS])
def test_a_single_row_that_does_not_fit_is_an_error(llama: Toy, path: ScoringPath) -> None:
    """Nothing is left to halve: it counts the ids that would have run, and says what to do."""
    full = path is ScoringPath.FULL_ROWS
    toy = Toy(llama.own, llama.own if full else llama.shared, path)
    ids = 2 + len(PREFIX) * full

    with room_for(toy.shared.base_model, 1) as tried, pytest.raises(ScoreError) as caught:
        engine.score(toy.scorer(ids_per_batch=4 * ids), PREFIX, SINGLES, (END,))

    assert tried == [4 * ids, 2 * ids, ids]
    for named in (f"a single row of {ids} ids", "--rm-device", "--rm-dtype bfloat16"):
        assert named in str(caught.value)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA error: device-side assert")])
def test_only_want_of_memory_is_tried_again(llama: Toy, error: Exception) -> None:
    """Wherever in a batch it happens; any other error passes through as it is."""
    sizes: list[int] = []

    def head(states: Tensor) -> Tensor:
        sizes.append(len(states))
        if len(states) > 3:
            raise error
        return plain(llama.own.score.weight)(states)

    scorer = Scorer(llama.shared.base_model, Everywhere(head), PAD, ids_per_batch=20)
    if isinstance(error, MemoryError):
        scores = engine.score(scorer, PREFIX, SINGLES[:10], (END,))
        assert sizes == [10, 5, 2, 2, 2, 2, 2]
        assert_same(scores, llama.expected(PREFIX, SINGLES[:10], (END,), PAD))
    else:
        with pytest.raises(RuntimeError) as caught:
            engine.score(scorer, PREFIX, SINGLES[:10], (END,))
        assert caught.value is error
        assert (sizes, scorer.ids_per_batch) == ([10], 20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_small_groups_of_several_lengths_are_one_batch(tmp_path: Path, kind: str) -> None:
    """Shorter rows are padded where nobody looks, as on a GPU; scores are the checkpoint's own."""
    toy = load(toy_checkpoint(tmp_path, **KINDS[kind]))
    for suffix in SUFFIXES.values():
        each = {len((*answer, *suffix)) for answer in ANSWERS}
        for joins, most in ((1000, 1), (40, len(each) - 2)):
            scorer = toy.scorer()
            scorer.joins = joins
            with recorded(toy.shared.base_model) as batches:
                scores = engine.score(scorer, PREFIX, ANSWERS, suffix)

            assert_same(scores, toy.expected(PREFIX, ANSWERS, suffix, PAD))
            ran = batches[1:]  # after the prompt's
            assert len(ran) <= most
            assert all(sum(map(len, batch)) <= joins or len(batch) == 1 for batch in ran)


@pytest.mark.slow
def test_a_joined_batch_that_is_too_large_is_halved(llama: Toy) -> None:
    """Halves of a joined batch have rows of several lengths, too; no score changes."""
    scorer = llama.scorer()
    scorer.joins = 1000

    with room_for(llama.shared.base_model, 16):
        scores = engine.score(scorer, PREFIX, ANSWERS, (END,))

    assert_same(scores, llama.expected(PREFIX, ANSWERS, (END,), PAD))


@pytest.mark.parametrize("room", [20, 7])
def test_batches_that_are_read_late_give_the_same(llama: Toy, room: int) -> None:
    """As on a GPU: the last batch is left to whoever waits, and one that is too large is halved."""
    scorer, done = llama.scorer(ids_per_batch=20), list[int]()
    before = engine.score(llama.scorer(ids_per_batch=20), PREFIX, SINGLES, (END,))
    scorer.behind = 1

    with room_for(llama.shared.base_model, room):
        begun = engine.begin(scorer, PREFIX, SINGLES, (END,), on_progress=done.append)

    assert callable(begun)
    assert sum(done) == len(SINGLES) - (10 if room == 20 else 2)
    after = begun()
    assert sum(done) == len(SINGLES)
    if room == 20:
        assert after.tobytes() == before.tobytes()
    assert_same(after, before)


def test_a_number_that_is_not_finite_is_refused_on_waiting(llama: Toy) -> None:
    """Not before: the GPU may be busy with it."""
    scorer = poisoned(llama)
    scorer.behind = 1

    begun = engine.begin(scorer, PREFIX, [(LOVE,), (WAR,)], (END,))

    assert callable(begun)
    with pytest.raises(ScoreError, match="1 of 2 rewards are not finite"):
        begun()


@pytest.mark.slow
def test_nothing_of_a_batch_is_kept(llama: Toy) -> None:
    """Every batch starts with the same tensors alive: the prefix's, and none of other rows."""
    backbone, alive = llama.shared.base_model, []
    scorer = llama.scorer(ids_per_batch=20)
    engine.score(scorer, PREFIX, SINGLES[:10], (END,))

    def count(*_: object) -> None:
        gc.collect()
        tensors = [thing for thing in gc.get_objects() if type(thing) is Tensor]
        alive.append(len({tensor.untyped_storage().data_ptr() for tensor in tensors}))

    hook = backbone.register_forward_pre_hook(count)
    try:
        engine.score(scorer, PREFIX, SINGLES[10:60], (END,))
    finally:
        hook.remove()

    assert len(alive) == 5
    assert len(set(alive[1:])) == 1


# What is refused


def poisoned(llama: Toy) -> Scorer:
    """A scorer whose embedding of WAR is infinite."""
    shared = copy.deepcopy(llama.shared)
    shared.get_input_embeddings().weight.data[WAR] = torch.inf
    return Toy(llama.own, shared).scorer()


def refused(scorer: Scorer, answers: list[Ids], name: str = "") -> str:
    """What the error says."""
    with pytest.raises(ScoreError) as caught:
        engine.score(scorer, PREFIX, answers, (END,), name=name)
    return str(caught.value)


def test_non_finite_scores_are_refused_by_their_ids_and_the_weight(llama: Toy) -> None:
    """A poisoned embedding names the answers that hold its id, of many the first five; itself."""
    said = refused(poisoned(llama), [(LOVE,), (WAR,), (START, WAR), (EOS,)], "toy")

    assert said.startswith(f"toy: 2 of 4 rewards are not finite numbers; first ids: [{WAR}], [")
    assert "embed_tokens.weight holds NaN" in said
    assert "--rm-dtype" not in said
    many = refused(poisoned(llama), [(i, WAR) for i in range(10, 17)])
    assert re.match(r"7 of 7 .*: (\[\d+, \d+\](, |\. )){5}Its weight", many)


@pytest.mark.parametrize("bad", [float("-inf"), float("inf"), float("nan")])
def test_no_kind_of_a_number_that_is_not_finite_is_a_reward(llama: Toy, bad: float) -> None:
    """Minus infinity is no very low reward: it is refused as NaN is."""
    scorer = llama.scorer()
    scorer.head = Everywhere(lambda states: torch.full(states.shape[:-1], bad))

    assert refused(scorer, [(LOVE,), (WAR,)]).startswith("2 of 2 rewards are not finite numbers")


def test_a_backbone_that_never_reaches_the_attention_is_refused(llama: Toy) -> None:
    """A backbone with attention of its own would ignore the prefix, so it is an error."""
    with pytest.raises(ModelError, match=r"LlamaModel.*'rmaudit_shared_prefix'.* 0 of 2 layers"):
        engine.score(Toy(llama.own, llama.own).scorer(), PREFIX, ANSWERS, (END,))


def test_a_prefix_that_does_not_fit_is_a_score_error(
    llama: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of memory before any row runs is told like that of a single row."""

    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(llama.shared.base_model, "forward", fail)

    with pytest.raises(ScoreError, match=rf"^out of memory with a single row of {len(PREFIX)} ids"):
        engine.score(llama.scorer(), PREFIX, ANSWERS, (END,))
