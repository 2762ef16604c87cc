"""Before the first score the engine is held against the checkpoint's own forward."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rmaudit.errors import ModelError, ScoreError
from rmaudit.models import (
    checkpoint_doctor,
    checkpoint_rows,
    forward_parity_check,
    transformers_loader,
)
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.model_interfaces import LOOSELY, caveats_of_scores
from rmaudit.models.own_forward import Weights
from rmaudit.scoring import ScoringPath, engine, row_runners, shared_prefix_attention
from tests.models.loaded import Folders, checkpoint, load, retensor, rows_of
from tests.scoring.rows import (
    ADDED,
    ANSWERS,
    BOS,
    END,
    EOS,
    LOVE,
    PAD,
    PREFIX,
    START,
    TOKENIZER,
)
from tests.toys import toy_checkpoint

FULL, SHARED, EXPANDED = (
    ScoringPath.FULL_ROWS,
    ScoringPath.SHARED_PREFIX,
    ScoringPath.EXPANDED_CACHE,
)
KINDS = {
    **dict.fromkeys(("llama", "gemma2", "deepseek_v3", "gpt2"), SHARED),
    **dict.fromkeys(("gpt_oss", "bloom"), EXPANDED),
    **dict.fromkeys(("doge", "jamba"), FULL),
}
PROMPT = "the love of the city?"
ROWS = [(*PREFIX, *answer, END) for answer in ANSWERS]


def check(loaded: Weights, dtype: str = "float32") -> list[str]:
    """Check them; the warnings that came."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forward_parity_check.check(loaded, PREFIX, (END,), name="toy", dtype=dtype)
    return [str(warning.message) for warning in caught]


def assert_own_scores(loaded: Weights) -> None:
    """The engine gives what the model's own forward does."""
    scores = engine.score(loaded.scorer, PREFIX, ANSWERS, (END,))
    own = loaded.own_rewards(ROWS)
    np.testing.assert_allclose(scores, own, rtol=0, atol=1e-4 * float(own.std()))


# What passes


@pytest.mark.parametrize("kind", KINDS)
def test_right_weights_pass_in_silence(folders: Folders, kind: str) -> None:
    """On every path, in every dtype, the path is left as it is."""
    for dtype in ("float32", "bfloat16", *(["float16"] if kind == "llama" else [])):
        loaded = load(folders(kind), KINDS[kind], dtype)

        assert check(loaded, dtype) == []
        assert loaded.scorer.path is KINDS[kind]


def test_equal_rewards_pass(tmp_path: Path) -> None:
    """Without an sd to measure in, the last bits of equal rewards are no difference."""
    folder = toy_checkpoint(tmp_path / "toy")
    retensor(folder, lambda tensors: tensors["model.embed_tokens.weight"].fill_(0.3))
    loaded = load(folder)

    assert loaded.own_rewards(ROWS).std() < 1e-6
    assert check(loaded) == []
    assert loaded.scorer.path is SHARED


# A fast path that is wrong


CANNOT = {
    "gpt_oss": "GptOssAttention: its attention takes 's_aux', which shared",
    "doge": "DogeAttention: its attention takes 'attention_mask', which shared",
    "diffllama": "DiffLlamaAttention: layer 0 calls its attention twice",
    "bloom": "BloomModel: the attention 'rmaudit_shared_prefix' was reached in 0 of 2 layers",
    "jamba": "JambaModel: the attention 'rmaudit_shared_prefix' was reached in 1 of 2 layers",
}


@pytest.mark.parametrize("kind", CANNOT)
def test_a_path_that_the_backbone_cannot_go_is_left(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """One warning, and full rows give the model's own rewards."""
    monkeypatch.setattr(checkpoint_rows, "path_of", lambda _: SHARED)
    model = checkpoint(folders(kind), cache=tmp_path)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.score(PROMPT, ["love"])
        model.score(PROMPT, ["war"])

    (message,) = (str(warning.message) for warning in caught)
    assert f"toy: the path 'shared prefix' is not exact here ({CANNOT[kind]}" in message
    assert model.provenance["path"] == "full rows"
    assert_own_scores(model.weights((), ()))


def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared-prefix attention that sees beyond the window."""
    name = "_mask_unseen_positions"
    real = getattr(shared_prefix_attention, name)
    monkeypatch.setattr(
        shared_prefix_attention, name, lambda scores, past, n, _: real(scores, past, n, None)
    )


def wrong_states(kind: type, change: Callable[[Tensor], Tensor]) -> Callable[..., None]:
    """A path whose states come out changed."""
    real: Any = kind.states  # type: ignore[attr-defined]

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(kind, "states", lambda *a: change(real(*a)))

    return plant


DIFFER = (
    r"rewards differ by up to [0-9.e-]+, their sd being [0-9.e-]+, most for the ids \[[0-9, ]+\]"
)
NONE_FINITE = r"8 of 8 rewards are not finite numbers; first ids: .*"
SHARES, CACHES = row_runners.SharedPrefix, row_runners.ExpandedCache
FAULTS: dict[str, tuple[str, str, Callable[..., None]]] = {
    "no window": ("gemma2", "float32", no_window),
    "rows swapped": ("llama", "float32", wrong_states(SHARES, lambda states: states.flip(0))),
    "bad cache": ("gpt_oss", "float32", wrong_states(CACHES, lambda states: states.roll(1, -1))),
    "no numbers": ("llama", "float32", wrong_states(SHARES, lambda states: states * torch.nan)),
    "more than noise": ("llama", "bfloat16", wrong_states(SHARES, lambda states: states.flip(-1))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_path_that_is_wrong_in_silence_is_left(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """One warning with how wrong it was; the scores are then the model's own."""
    kind, dtype, plant = FAULTS[fault]
    plant(monkeypatch)
    loaded = load(folders(kind), KINDS[kind], dtype)

    (message,) = check(loaded, dtype)

    why = NONE_FINITE if fault == "no numbers" else DIFFER
    assert re.match(rf"toy: the path '{KINDS[kind]}' is not exact here \({why}\); ", message)
    assert loaded.scorer.path is FULL
    assert loaded.model.config._attn_implementation == loaded.attention
    if dtype == "float32":
        assert_own_scores(loaded)


# A path that is wrong for few ids


Wrong = Callable[[int, int], bool]


@pytest.fixture
def turned(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A model whose shared path turns the sign of what follows the prefix, for some ids.

    `wrong` says it of an id and of the prefix's length; transformers' own forward shares no prefix.
    The other result counts the rows that were run.
    """

    def model(wrong: Wrong, dtype: Any = "auto") -> tuple[Checkpoint, list[int]]:
        run = list[int]()

        def turn(_: object, ids: tuple[Tensor, ...], given: dict[str, Any], output: Any) -> None:
            rows, prefix = given.get("input_ids", *ids), given.get("shared_prefix")
            run.append(len(rows))
            if prefix is not None and not prefix.recording:
                odd = [wrong(i, prefix.length) for i in rows[:, 0].tolist()]
                states = output.last_hidden_state
                states *= 1 - 2 * torch.tensor(odd, device=states.device)[:, None, None].int()

        def load(*given: Any) -> Weights:
            weights = real(*given)
            weights.scorer.backbone.register_forward_hook(turn, with_kwargs=True)
            return weights

        monkeypatch.setattr(transformers_loader, "load", load)
        return checkpoint(folders("llama"), dtype=dtype), run

    real = transformers_loader.load
    return model


BYTE = next(i for i in range(len(TOKENIZER)) if TOKENIZER.decode([i]) == "\ufffd")
SPECIAL_IDS = {"first": 0, "last": ADDED, "pad": PAD, "bos": BOS, "eos": EOS, "byte": BYTE}
SPECIAL_IDS["added"] = START  # none of the others, and not what ends a row


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [*((kind, "bfloat16") for kind in SPECIAL_IDS), ("byte", "float32"), ("byte", "float16")],
)
def test_a_path_that_is_wrong_for_one_id_is_refused(
    folders: Folders, turned: Callable[..., Any], kind: str, dtype: str
) -> None:
    """Whichever special kind it is of: before the first score, which is then the model's own."""
    one = SPECIAL_IDS[kind]
    model, _ = turned(lambda i, _: i == one, dtype)

    with pytest.warns(UserWarning, match=rf"'shared prefix' is not exact .* ids \[{one}\]\)"):
        scores = model.score(PROMPT, [(LOVE,), (one,)])

    rows = rows_of(model, PROMPT, [(LOVE,), (one,)])
    own = load(folders("llama"), FULL, dtype).own_rewards(rows)
    np.testing.assert_allclose(scores, own, atol=1e-5 if dtype == "float32" else 0.1)
    assert model.provenance["path"] == "full rows"


LONGER = "the love of the city and the pain of war?"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "dtype"), [(4, "float32"), (forward_parity_check.MANY, "bfloat16")]
)
def test_a_path_that_is_wrong_after_another_length_is_refused(
    folders: Folders, turned: Callable[..., Any], answers: int, dtype: str
) -> None:
    """A prompt of a length that was scored before is not tried again; one of a new length is."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        length = len(checkpoint(folders("llama")).slot(PROMPT).prefix)
        model, _ = turned(lambda i, after: i == ADDED and after > length, dtype)
        assert len(model.slot(LONGER).prefix) > length
        before = model.score(PROMPT, [(LOVE,)])
        assert model.score(PROMPT, [(LOVE,)]).tolist() == before.tolist()

    with pytest.warns(UserWarning, match=rf"is not exact here .* ids \[{ADDED}\]\)"):
        model.score(LONGER, [(i % ADDED,) for i in range(answers)])
    assert model.provenance["path"] == "full rows"


def test_prefixes_of_one_class_are_about_as_long() -> None:
    """The longest is at most 1.42 times as long as the shortest, and there are two a doubling."""
    classes = [list(own) for _, own in groupby(range(4096), forward_parity_check.length_class)]

    assert len(classes) == 24
    assert all(own[-1] <= 1.42 * own[0] for own in classes)


def test_what_a_check_costs(turned: Callable[..., Any]) -> None:
    """Each row twice, and the prefix: every kind of id at the load, four rows for few answers."""
    model, run = turned(lambda *_: False)
    counts = []
    for prompt, answers in (
        (PROMPT, 1),
        (PROMPT, 1),
        (LONGER, 1),
        (LONGER, forward_parity_check.MANY),
    ):
        before = sum(run)
        scores = model.score(prompt, [(i % ADDED,) for i in range(answers)])
        counts.append(sum(run) - before - len(scores))

    assert counts == [14 + 14 + 1, 0, 4 + 4 + 1, 14 + 14 + 1]


def test_no_score_changes_with_the_check(folders: Folders) -> None:
    """A 16-bit model has its own tensors again after it ran in float32, bit for bit."""
    loaded = load(folders("llama"), SHARED, "bfloat16")
    scores = engine.score(loaded.scorer, PREFIX, ANSWERS, (END,))
    before = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    batch = loaded.scorer.ids_per_batch

    assert check(loaded, "bfloat16") == []

    after = loaded.model.state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert {tensor.dtype for tensor in after.values()} == {torch.bfloat16}
    assert loaded.scorer.ids_per_batch == batch
    again = engine.score(loaded.scorer, PREFIX, ANSWERS, (END,))
    assert again.tobytes() == scores.tobytes()


def test_a_loose_check_is_said(folders: Folders) -> None:
    """Where float32 cannot be had, as of quantized weights: in the provenance, and in caveats."""
    loaded = load(folders("llama"), SHARED, "bfloat16")
    loaded.model.register_buffer("quantized", torch.zeros(3, dtype=torch.uint8))

    found = forward_parity_check.check(loaded, PREFIX, (END,), name="toy", dtype="bfloat16")

    assert found.loosely == "its weights are quantized"
    (said,) = caveats_of_scores({LOOSELY: found.loosely})
    assert "its weights are quantized" in said
    assert caveats_of_scores({}) == ()


# A class that reads the reward in another way


def shifted(output: Any) -> None:
    """A bias that no checkpoint of ours has."""
    output.logits += 1


def squashed(output: Any) -> None:
    """A function after the head."""
    output.logits = 3 * torch.tanh(output.logits)


@pytest.mark.parametrize(
    ("path", "dtype", "read"),
    [
        (SHARED, "float32", shifted),
        (FULL, "float32", shifted),
        (FULL, "float32", squashed),
        (FULL, "bfloat16", squashed),
    ],
)
def test_a_reward_that_is_read_otherwise_is_refused(
    folders: Folders, path: ScoringPath, dtype: str, read: Callable[[Any], None]
) -> None:
    """No path gives it: with how far ours is off, and why that may be."""
    loaded = load(folders("llama"), path, dtype)
    loaded.model.register_forward_hook(lambda _, __, output: read(output))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ModelError) as refused:
            forward_parity_check.check(loaded, PREFIX, (END,), name="toy", dtype=dtype)

    said = rf"toy: rmaudit does not give the rewards of the checkpoint's own forward \({DIFFER}\); "
    assert re.match(said, str(refused.value))
    assert len(caught) == (path is SHARED)


@pytest.mark.slow
def test_rows_that_see_each_other_are_scored_one_at_a_time(tmp_path: Path) -> None:
    """Doge's experts are chosen over all rows of a batch; the doctor finds nothing wrong either."""
    folder = toy_checkpoint(tmp_path / "toy", kind="doge", is_moe=True, num_experts_per_tok=4)
    loaded = load(folder, FULL)

    (said,) = check(loaded)

    assert re.match(
        rf"toy: rows of one batch change each other's rewards \({DIFFER}\), as in", said
    )
    assert loaded.scorer.ids_per_batch == 1
    assert_own_scores(loaded)
    model = checkpoint(folder)
    with pytest.warns(UserWarning, match="one row at a time"):
        assert checkpoint_doctor.examine(model, PROMPT, answers=16).ok


# Ids that have no reward


@pytest.mark.parametrize("count", [1, 3])
def test_poisoned_embeddings_leave_the_others_to_be_scored(tmp_path: Path, count: int) -> None:
    """Those that the preflight tries among them; asked for, they are refused by their ids.

    Half-trained models have NaN in the embeddings of some ids.
    """
    folder, embedding = toy_checkpoint(tmp_path / "toy"), "model.embed_tokens.weight"
    model = checkpoint(folder)
    size, prompt = len(model.vocabulary().ids), model.slot(PROMPT).prefix
    tried = [
        answer[0]
        for answer in forward_parity_check._answers(size, ())[:6]
        if answer[0] not in prompt
    ]
    tried = tried[:count]
    assert len(tried) == count
    good = [(i,) for i in range(size) if i not in tried]
    expected = model.score(PROMPT, good)
    retensor(
        folder, lambda tensors: tensors[embedding].index_fill_(0, torch.tensor(tried), torch.nan)
    )
    model = checkpoint(folder)

    scores = model.score(PROMPT, good)

    assert scores.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    said = rf"^toy: .*first ids: \[{tried[0]}\]\. Its weight '[a-z._]*embed_tokens\.weight'"
    with pytest.raises(ScoreError, match=said):
        model.score(PROMPT, [good[0], (tried[0],)])
