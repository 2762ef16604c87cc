"""Engine scores are the checkpoint's own scores of full, unpadded rows."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification

from rmaudit.errors import ModelError, ScoreError
from rmaudit.models.heads.linear import linear
from rmaudit.scoring import ATTENTION, engine
from rmaudit.scoring.engine import Ids, Scorer
from tests.toys import SPECIAL, toy_checkpoint, toy_tokenizer

TOLERANCE = 1e-4  # in sd of the scores
TOKENIZER = toy_tokenizer()
PAD, BOS, EOS, START, END = (int(TOKENIZER.convert_tokens_to_ids(token)) for token in SPECIAL)
ADDED = len(TOKENIZER) - 1


def ids_of(text: str) -> Ids:
    """The toy tokenizer's ids of a text as it stands."""
    return tuple(TOKENIZER(text, add_special_tokens=False).input_ids)


LOVE, WAR, NEWLINE = ids_of("love") + ids_of(" war") + ids_of("\n")
PREFIX = ids_of("<|start|>user\nthe love of the city<|end|>\n<|start|>assistant\n")  # 21 ids

# By what they add to plain attention. The windows are shorter than the prefix.
KINDS: dict[str, dict[str, Any]] = {
    "llama": {"kind": "llama"},
    "llama, a key head each": {"kind": "llama", "num_key_value_heads": 4},
    "llama, one key head": {"kind": "llama", "num_key_value_heads": 1},
    "gemma": {"kind": "gemma"},
    "gemma2, softcap and window": {"kind": "gemma2"},
    "gemma3_text, window": {
        "kind": "gemma3_text",
        "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "mistral, window": {"kind": "mistral"},
    "phi3": {"kind": "phi3", "eos_token_id": EOS},
    "phi3, window": {"kind": "phi3", "eos_token_id": EOS, "sliding_window": 8},
    "qwen2": {"kind": "qwen2"},
    "qwen2, window": {
        "kind": "qwen2",
        "use_sliding_window": True,
        "sliding_window": 8,
        "max_window_layers": 1,
    },
    "qwen3": {"kind": "qwen3"},
}
PADS = {
    "its own pad": PAD,
    "pad is the turn's end": END,
    "pad ends the prefix": NEWLINE,
    "no pad": None,
}
SUFFIXES = {"turn's end": (END,), "turn's end, newline": (END, NEWLINE), "no suffix": ()}
ANSWERS: list[Ids] = [
    (LOVE,),
    (WAR,),
    (BOS,),
    (START,),
    (END,),
    (PAD,),
    (EOS,),
    (NEWLINE,),
    (ADDED,),
    (),
    (LOVE, WAR),
    (LOVE, END),
    (END, LOVE),
    (LOVE, PAD),
    (PAD, LOVE),
    (PAD, PAD),
    (END, NEWLINE, PAD),
    (LOVE, ADDED, EOS),
    ids_of("the pain of war and the joy of peace"),
]


@dataclass(frozen=True)
class Toy:
    """One checkpoint, loaded twice: as transformers runs it, and for the engine."""

    own: Any
    shared: Any

    def scorer(self, pad: int | None = PAD) -> Scorer:
        """What the engine gets."""
        return Scorer(self.shared.base_model, linear(self.shared.score.weight), pad)

    @torch.inference_mode()
    def expected(
        self, prefix: Ids, answers: Sequence[Ids], suffix: Ids, pad: int | None
    ) -> NDArray[np.float32]:
        """The checkpoint's own scores, one unpadded row at a time."""
        self.own.config.pad_token_id = pad
        rows = [torch.tensor([[*prefix, *answer, *suffix]]) for answer in answers]
        scores = [self.own(input_ids=row, use_cache=False).logits.item() for row in rows]
        return np.array(scores, dtype=np.float32)


def load(folder: Path) -> Toy:
    """The checkpoint of a folder."""

    def model(attention: str) -> Any:
        return AutoModelForSequenceClassification.from_pretrained(
            folder, attn_implementation=attention, dtype=torch.float32
        ).eval()

    return Toy(model("eager"), model(ATTENTION))


@pytest.fixture(scope="module", params=KINDS.values(), ids=list(KINDS))
def toy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A checkpoint of each kind."""
    return load(toy_checkpoint(tmp_path_factory.mktemp("toy"), **request.param))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A checkpoint where the kind does not matter."""
    return load(toy_checkpoint(tmp_path_factory.mktemp("llama")))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """One layer: small enough to be asked hundreds of times."""
    folder = tmp_path_factory.mktemp("tiny")
    return load(toy_checkpoint(folder, num_hidden_layers=1, hidden_size=16))


def assert_same(
    scores: NDArray[np.float32], expected: NDArray[np.float32], *, sd: float | None = None
) -> None:
    """The scores agree within the tolerance, a small part of their sd."""
    sd = float(expected.std()) if sd is None else sd
    assert sd > 0.03  # or else nothing could tell them apart
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE * sd)


@contextmanager
def recorded(toy: Toy) -> Iterator[list[list[Ids]]]:
    """The batches of rows that the trunk is given meanwhile, the prefix's among them."""
    batches: list[list[Ids]] = []

    def note(_: object, __: object, kwargs: dict[str, Any]) -> None:
        batches.append([tuple(row) for row in kwargs["input_ids"].tolist()])

    hook = toy.shared.base_model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield batches
    finally:
        hook.remove()


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

    with recorded(llama) as batches:
        engine.score(llama.scorer(), PREFIX, answers, (END,))

    assert batches == [[PREFIX], [(LOVE, END), (END, END)], [(WAR, LOVE, END)]]


def test_equal_answers_run_once(llama: Toy) -> None:
    """Duplicates, and rows that differ in trailing pad ids only, share one row and its score."""
    answers: list[Ids] = [(LOVE,), (WAR,), (LOVE,), (LOVE, PAD), (WAR,), (LOVE, PAD, PAD)]

    with recorded(llama) as batches:
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
def test_batch_size_does_not_matter(llama: Toy, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Any number of ids a batch gives the same scores, and no batch holds more ids than that."""
    answers = [(i,) for i in range(50)] + ANSWERS
    expected = engine.score(llama.scorer(), PREFIX, answers, (END,))
    monkeypatch.setattr(engine, "TOKENS_PER_BATCH", size)

    with recorded(llama) as batches:
        scores = engine.score(llama.scorer(), PREFIX, answers, (END,))

    assert_same(scores, expected)
    assert all(sum(map(len, rows)) <= size or len(rows) == 1 for rows in batches[1:])
    assert len(batches) > 50 or size > 1


def test_progress_counts_every_answer(llama: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each batch the answers that it finished are reported, duplicates included."""
    monkeypatch.setattr(engine, "TOKENS_PER_BATCH", 4)
    answers: list[Ids] = [(1,), (2,), (3,), (1,), (1,)]
    seen: list[int] = []

    engine.score(llama.scorer(), PREFIX, answers, (END,), on_progress=seen.append)

    assert seen == [4, 1]


def test_no_answers_need_no_trunk(llama: Toy) -> None:
    """An empty list gives an empty array, and nothing is run."""
    with recorded(llama) as batches:
        scores = engine.score(llama.scorer(), PREFIX, [], (END,))

    assert scores.shape == (0,)
    assert scores.dtype == np.float32
    assert batches == []


# What is refused


def test_non_finite_scores_are_refused_by_their_ids(llama: Toy) -> None:
    """One poisoned embedding names the answers that hold its id, and no others."""
    shared = copy.deepcopy(llama.shared)
    shared.get_input_embeddings().weight.data[WAR] = torch.inf
    scorer = Toy(None, shared).scorer()

    with pytest.raises(ScoreError) as caught:
        engine.score(scorer, PREFIX, [(LOVE,), (WAR,), (START, WAR), (EOS,)], (END,))

    assert str(caught.value) == (
        f"2 of 4 rewards are not finite numbers; first ids: [{WAR}], [{START}, {WAR}]. "
        f"Try a wider dtype (dtype: float32 in models.yaml) or check the checkpoint"
    )


def test_a_head_of_infinities_names_five_answers(llama: Toy) -> None:
    """Where all rewards are spoiled, their number is told and the first five are named."""
    weight = llama.shared.score.weight.detach().clone()
    weight[0, 3] = torch.inf
    scorer = Scorer(llama.shared.base_model, linear(weight), PAD)

    with pytest.raises(ScoreError, match=r"7 of 7 .*: \[10\], \[11\], \[12\], \[13\], \[14\]\. "):
        engine.score(scorer, PREFIX, [(i,) for i in range(10, 17)], (END,))


def test_a_trunk_that_never_reaches_the_attention_is_refused(llama: Toy) -> None:
    """A trunk with attention of its own would ignore the prefix, so it is an error."""
    scorer = Scorer(llama.own.base_model, linear(llama.own.score.weight), PAD)

    with pytest.raises(ModelError) as caught:
        engine.score(scorer, PREFIX, ANSWERS, (END,))

    assert str(caught.value) == (
        "LlamaModel: the attention 'rmaudit_shared_prefix' was reached in 0 of 2 layers; "
        "this trunk cannot share a prefix"
    )
