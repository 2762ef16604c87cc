"""Whatever the checkpoint, the rows and the batches: the engine gives the model's own scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmaudit.scoring import ATTENTION, ScoringPath, engine
from tests.scoring.rows import END, PAD, TOLERANCE, Ids, Toy, load
from tests.toys import toy_checkpoint

WINDOW = {"sliding_window": 5}
SWITCHED = {**WINDOW, "use_sliding_window": True, "max_window_layers": 1}
KINDS: dict[str, dict[str, Any]] = {
    "llama": {},
    "gemma2": {"sliding_window": 6, "attn_logit_softcapping": 2.0},
    "gemma3_text": WINDOW,
    "mistral": WINDOW,
    "phi3": {**WINDOW, "eos_token_id": END},
    "qwen2": SWITCHED,
    "qwen3": SWITCHED,
    "deepseek_v3": {},  # its values are narrower than its keys
}
# A seed's sizes: one key head for several queries, one for each, and one for all.
SEEDS: list[dict[str, Any]] = [
    {"num_key_value_heads": 2},
    {"num_key_value_heads": 4, "head_dim": 4, "pad_token_id": END},
    {"num_key_value_heads": 1, "hidden_size": 16, "pad_token_id": None},
]


def on(toy: Toy, path: ScoringPath) -> Toy:
    """The toy on a path."""
    usual = "eager" if toy.own.config.model_type == "gemma2" else "sdpa"
    shared = path is ScoringPath.SHARED_PREFIX
    toy.shared.set_attn_implementation(ATTENTION if shared else usual)
    return replace(toy, path=path)


Pool = Callable[[str, int], tuple[Toy, float]]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    """Checkpoints by kind and seed, made when first drawn, and the sd of their scores."""

    @cache
    def made(kind: str, seed: int) -> tuple[Toy, float]:
        own = SEEDS[seed] if kind != "deepseek_v3" else {}  # whose sizes depend on each other
        chosen = {**KINDS[kind], **own}
        if kind == "phi3":  # its heads are as wide as its hidden size allows
            chosen.pop("head_dim", None)
        folder = toy_checkpoint(tmp_path_factory.mktemp(kind), kind=kind, seed=seed, **chosen)
        toy = load(folder)
        singles = [(i,) for i in range(0, 300, 5)]
        sd = float(toy.expected((7, 8, 9), singles, (), None).std())
        assert sd > 0.03  # or else nothing could tell them apart
        return toy, sd

    return made


def some_ids(most: int, least: int = 0) -> st.SearchStrategy[Ids]:
    """Mostly special ids, which may be the pad id, and words among them."""
    one = st.integers(0, 7) | st.integers(8, 299)
    return st.lists(one, min_size=least, max_size=most).map(tuple)


@st.composite
def pads(draw: st.DrawFn, prefix: Ids, answers: list[Ids], suffix: Ids) -> int | None:
    """None, the toy's own pad, the turn's end, or whatever stands in one of the rows."""
    there = [*prefix, *suffix, *(i for answer in answers for i in answer)]
    return draw(st.sampled_from([None, PAD, END]) | st.sampled_from(there))


@pytest.mark.slow
@given(
    data=st.data(),
    kind=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, len(SEEDS) - 1),
    path=st.sampled_from(list(ScoringPath)),
    prefix=some_ids(16, least=1),
    suffix=some_ids(3),
    answers=st.lists(some_ids(6), min_size=1, max_size=6),
    ids_per_batch=st.integers(1, 40) | st.none(),
    joins=st.sampled_from([None, 40, 1000]),
    behind=st.sampled_from([None, 1]),
)
def test_any_checkpoint_gives_its_own_scores(
    *,
    pool: Pool,
    data: st.DataObject,
    kind: str,
    seed: int,
    path: ScoringPath,
    prefix: Ids,
    suffix: Ids,
    answers: list[Ids],
    ids_per_batch: int | None,
    joins: int | None,
    behind: int | None,
) -> None:
    """On every path that the backbone can go, row by row as the model's own unpadded forward.

    Also where small groups are joined, and batches are read late, as on a GPU.
    """
    pad = data.draw(pads(prefix, answers, suffix))
    toy, sd = pool(kind, seed)
    toy = on(toy, path)

    scorer = toy.scorer(pad, ids_per_batch=ids_per_batch)
    scorer.joins, scorer.behind = joins, behind

    scores = engine.score(scorer, prefix, answers, suffix)

    expected = toy.expected(prefix, answers, suffix, pad)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE * sd)
