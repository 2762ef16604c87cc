"""What the engine runs, and how often; what it does for want of memory; what it refuses.

That its scores are the checkpoint's own is in `test_any_checkpoint`.
"""

from __future__ import annotations

import copy
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.errors import ModelError, ScoreError
from rmaudit.scoring import ScoringPath, engine
from rmaudit.scoring.scorer import Scorer
from tests.scoring.rows import (
    ANSWERS,
    END,
    EOS,
    LOVE,
    PAD,
    PREFIX,
    START,
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

SINGLES: list[Ids] = [(i,) for i in range(5, 105)]


def scored(scorer: Scorer, answers: list[Ids], **how: Any) -> NDArray[np.float32]:
    """The scores of answers that end their turn."""
    return engine.score(scorer, PREFIX, answers, (END,), **how)


def own(llama: Toy, answers: list[Ids], suffix: Ids = (END,)) -> NDArray[np.float32]:
    """The checkpoint's own."""
    return llama.expected(PREFIX, answers, suffix, PAD)


def with_head(llama: Toy, head: Any, **settings: Any) -> Scorer:
    """A scorer of this backbone with another head."""
    return Scorer(llama.shared.base_model, Everywhere(head), PAD, **settings)


# What is read, and what is run


def test_where_all_is_pad_the_prefix_is_read(llama: Toy) -> None:
    """Back to its last id that is not pad, or to its first."""
    answers = [(PAD,), (LOVE,)]
    for prefix in ((*PREFIX, PAD, PAD), (PAD,) * 5):
        scores = engine.score(llama.scorer(PAD), prefix, answers, (PAD,))
        assert_same(scores, llama.expected(prefix, answers, (PAD,), PAD), sd=1.0)


def test_the_first_id_is_read_where_asked(tmp_path: Path) -> None:
    """Of a two-way backbone: whole rows run, pad ids at their end too, and state 0 is read."""
    two_way = load(toy_checkpoint(tmp_path, is_causal=False), ScoringPath.FULL_ROWS)
    scorer, suffix = two_way.scorer(), (END, PAD)
    scorer.first = True

    scores = engine.score(scorer, PREFIX, ANSWERS, suffix)

    rows = [torch.tensor([(*PREFIX, *answer, *suffix)]) for answer in ANSWERS]
    with torch.inference_mode():
        states = [two_way.own.base_model(row).last_hidden_state[0, 0] for row in rows]
    assert_same(scores, plain(two_way.own.score.weight)(torch.stack(states)).numpy())


def test_a_half_precision_backbone_has_its_head_in_float32(llama: Toy) -> None:
    """The head sees the backbone's own states, widened and not rounded again."""
    half = Toy(llama.own, copy.deepcopy(llama.shared).bfloat16())
    seen: list[Tensor] = []

    def head(states: Tensor) -> Tensor:
        seen.append(states)
        return plain(llama.own.score.weight)(states)

    scores = scored(with_head(half, head), ANSWERS)

    assert scores.dtype == np.float32
    assert {states.dtype for states in seen} == {torch.float32}
    assert all(torch.equal(states, states.bfloat16().float()) for states in seen)
    assert not torch.equal(torch.tensor(scores), torch.tensor(scores).bfloat16().float())
    expected = own(llama, ANSWERS)
    assert np.abs(scores - expected).max() < 0.1 * expected.std()


def test_the_prefix_runs_once_no_row_is_padded_and_equal_ones_run_once(llama: Toy) -> None:
    """Rows that differ in trailing pad ids only are equal; scores keep the caller's order.

    The prefix is remembered for other calls with the same ids until it is forgotten, and runs anew
    for others, as many though they be.
    """
    answers: list[Ids] = [(WAR, LOVE), (LOVE,), (WAR,), (LOVE,), (LOVE, PAD), (LOVE, PAD, PAD)]
    scorer, other = llama.scorer(), (*PREFIX[:-1], WAR)

    with recorded(llama.shared.base_model) as batches:
        scores = engine.score(scorer, PREFIX, answers, ())
        none = engine.score(scorer, PREFIX, [], (END,))
        assert batches == [[PREFIX], [(LOVE,), (WAR,)], [(WAR, LOVE)]]
        batches.clear()
        for prefix in (list(PREFIX), other, PREFIX):
            again = engine.score(scorer, prefix, [(LOVE,)], (END,))
            assert_same(again, llama.expected(tuple(prefix), [(LOVE,)], (END,), PAD), sd=1.0)
        scorer.forget()
        scored(scorer, [(LOVE,)])

    row = [(LOVE, END)]
    assert batches == [row, [other], row, [PREFIX], row, [PREFIX], row]
    assert (none.shape, none.dtype) == ((0,), np.float32)
    assert_same(scores, own(llama, answers, ()))
    assert scores[1] == scores[3] == scores[4] == scores[5] != scores[2]


@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_no_batch_has_more_ids_than_it_may(llama: Toy, size: int) -> None:
    """And every answer is counted when its batch is done."""
    answers, done = [(i,) for i in range(50)] + ANSWERS, list[int]()

    with recorded(llama.shared.base_model) as batches:
        scores = scored(llama.scorer(ids_per_batch=size), answers, on_progress=done.append)

    assert_same(scores, scored(llama.scorer(), answers))
    assert all(sum(map(len, rows)) <= size or len(rows) == 1 for rows in batches[1:])
    assert len(batches) > 50 or size > 1
    assert (sum(done), len(done)) == (len(answers), len(batches) - 1)


def test_small_groups_of_several_lengths_are_one_batch(llama: Toy) -> None:
    """As far as they are small when the shorter rows are padded."""
    scorer, lengths = llama.scorer(), {len(answer) for answer in ANSWERS}
    for joins, most in ((1000, 1), (40, len(lengths) - 2)):
        scorer.joins = joins
        with recorded(llama.shared.base_model) as batches:
            scored(scorer, ANSWERS)

        ran = [batch for batch in batches if batch != [PREFIX]]
        assert len(ran) <= most
        assert all(sum(map(len, batch)) <= joins or len(batch) == 1 for batch in ran)


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
    """What is done is kept; the next batches, and the next call, start with what was small.

    So it is with rows of several lengths, joined ones too.
    """
    scorer, expected = llama.scorer(ids_per_batch=128), own(llama, SINGLES)
    seen: list[int] = []

    with room_for(llama.shared.base_model, 40) as tried:
        assert_same(scored(scorer, SINGLES, on_progress=seen.append), expected)
        assert tried == [128, 64, 32, 32, 32, 32, 32, 32, 8]
        assert seen == [16] * 6 + [4]
        assert scorer.ids_per_batch == 32
        tried.clear()
        assert_same(scored(scorer, SINGLES[:20]), expected[:20])
        assert tried == [32, 8]
    longer = SINGLES[:6] + [(*answer, LOVE, WAR) for answer in SINGLES[:7]] + [SINGLES[0]]
    with room_for(llama.shared.base_model, 12) as tried:
        assert_same(scored(llama.scorer(ids_per_batch=24), longer), own(llama, longer))
    assert tried == [12, 24, 12, 12, 4]  # six rows of 2 fit; of the rows of 4, six do not
    joining = llama.scorer()
    joining.joins = 1000
    with room_for(llama.shared.base_model, 16):
        assert_same(scored(joining, ANSWERS), own(llama, ANSWERS))


@pytest.mark.parametrize("path", ScoringPath)
def test_a_single_row_that_does_not_fit_is_an_error(llama: Toy, path: ScoringPath) -> None:
    """Nothing is left to halve: it counts the ids that would have run, and says what to do."""
    shares = path is ScoringPath.SHARED_PREFIX
    toy = Toy(llama.own, llama.shared if shares else llama.own, path)
    ids = 2 + len(PREFIX) * (not shares)
    ran = 2 + len(PREFIX) * (path is ScoringPath.FULL_ROWS)  # elsewhere the prefix has run

    with room_for(toy.shared.base_model, 1) as tried, pytest.raises(ScoreError) as caught:
        scored(toy.scorer(ids_per_batch=4 * ids), SINGLES)

    assert tried == [4 * ran, 2 * ran, ran]
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

    scorer = with_head(llama, head, ids_per_batch=20)
    if isinstance(error, MemoryError):
        assert_same(scored(scorer, SINGLES[:10]), own(llama, SINGLES[:10]))
        assert sizes == [10, 5, 2, 2, 2, 2, 2]
    else:
        with pytest.raises(RuntimeError) as caught:
            scored(scorer, SINGLES[:10])
        assert caught.value is error
        assert (sizes, scorer.ids_per_batch) == ([10], 20)


def test_a_prefix_that_does_not_fit_is_a_score_error(
    llama: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of memory before any row runs is the error of a single row."""

    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(llama.shared.base_model, "forward", fail)

    with pytest.raises(ScoreError, match=rf"^out of memory with a single row of {len(PREFIX)} ids"):
        scored(llama.scorer(), ANSWERS)


@pytest.mark.parametrize("room", [20, 7])
def test_batches_that_are_read_late_give_the_same(llama: Toy, room: int) -> None:
    """As on a GPU: the last batch is left to whoever waits, and one that is too large is halved."""
    scorer, done = llama.scorer(ids_per_batch=20), list[int]()
    before = scored(llama.scorer(ids_per_batch=20), SINGLES)
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


@pytest.mark.slow
def test_nothing_of_a_batch_is_kept(llama: Toy) -> None:
    """Every batch starts with the same tensors alive: the prefix's, and none of other rows."""
    alive: list[int] = []
    scorer = llama.scorer(ids_per_batch=20)
    scored(scorer, SINGLES[:10])

    def count(*_: object) -> None:
        gc.collect()
        tensors = [thing for thing in gc.get_objects() if type(thing) is Tensor]
        alive.append(len({tensor.untyped_storage().data_ptr() for tensor in tensors}))

    hook = llama.shared.base_model.register_forward_pre_hook(count)
    try:
        scored(scorer, SINGLES[10:60])
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
        scored(scorer, answers, name=name)
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
    """Minus infinity is no very low reward. It is refused on waiting: a GPU may be busy with it."""
    scorer = with_head(llama, lambda states: torch.full(states.shape[:-1], bad))
    scorer.behind = 1

    begun = engine.begin(scorer, PREFIX, [(LOVE,), (WAR,)], (END,))

    assert callable(begun)
    with pytest.raises(ScoreError, match=r"^2 of 2 rewards are not finite numbers"):
        begun()


def test_a_backbone_that_never_reaches_the_attention_is_refused(llama: Toy) -> None:
    """A backbone with attention of its own would ignore the prefix, so it is an error."""
    with pytest.raises(ModelError, match=r"LlamaModel.*'rmaudit_shared_prefix'.* 0 of 2 layers"):
        scored(Toy(llama.own, llama.own).scorer(), ANSWERS)
