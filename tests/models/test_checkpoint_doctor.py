"""The doctor passes models that are scored as they score themselves, and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints.adapter_merge import rounded
from rmaudit.errors import ModelError
from rmaudit.models import checkpoint_doctor, forward_parity_check
from rmaudit.models.checkpoint_doctor import Check, Examination, examine
from rmaudit.scoring import ScoringPath, row_runners, shared_prefix_attention
from tests.checkpoints.folders import save_adapter
from tests.models.loaded import Folders, checkpoint, retensor
from tests.toys import toy_checkpoint, toy_tokenizer

PROMPT = "the love of the city?"
SIZE = len(toy_tokenizer())
KINDS = {
    "gemma2": ScoringPath.SHARED_PREFIX,
    "gpt_oss": ScoringPath.EXPANDED_CACHE,
    "doge": ScoringPath.FULL_ROWS,
}


def named(found: Examination) -> dict[str, Check]:
    """The checks by the first words of their names."""
    return {" ".join(check.name.split()[:2]): check for check in found.checks}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_right_model_passes(folders: Folders, kind: str) -> None:
    """Four checks in float32, with noise of its last bits only; the report knows the path."""
    model = checkpoint(folders(kind))

    found = examine(model, PROMPT, answers=64)

    assert found.ok
    size = model.weights((), ()).scorer.batch_limit(0)
    assert size != 64  # the small batches are for the check only
    assert [check.name for check in found.checks] == [
        f"{KINDS[kind]} against the model's own forward",
        "alone against among many",
        f"batches of 64 ids against {size}",
        "the same again",
    ]
    assert [check.allowed for check in found.checks] == [1e-4, 1e-4, 1e-4, 0.0]
    assert 0 < found.noise < 1e-5
    assert (found.path, found.dtype) == (KINDS[kind], "float32")
    assert torch.device(found.device) == next(model.weights((), ()).model.parameters()).device
    assert found.sd > 0.05
    assert ["gives the ids of tokenizer.json" in note for note in found.notes] == [True]


@pytest.mark.slow
def test_float32_that_does_not_fit_is_a_note(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other checks stand."""

    def full(*_: object) -> None:
        raise ModelError("toy: its weights do not fit on 'cpu'")

    monkeypatch.setattr(checkpoint_doctor, "rewards_in_dtype", full)

    found = examine(checkpoint(folders("llama"), dtype="bfloat16"), PROMPT, answers=16)

    assert len(found.checks) == 4
    assert found.notes[1:] == ("not compared with float32: toy: its weights do not fit on 'cpu'",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "asked", "slow"),
    [(8, 8, 8), (64, 64, 64), (10**6, 339, 43)],
)
def test_how_many_answers_are_asked(folders: Folders, count: int, asked: int, slow: int) -> None:
    """As many as wanted, or all ids that are known and longer answers; some row by row."""
    found = named(examine(checkpoint(folders("llama")), PROMPT, answers=count))

    assert (found["batches of"].answers, found["the same"].answers) == (asked, asked)
    assert (found["shared prefix"].answers, found["alone against"].answers) == (slow, slow)


@pytest.fixture
def no_preflight(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the doctor finds must not depend on it."""
    nothing = forward_parity_check.PathChecks(sd=1.0, every=True, loosely="")
    monkeypatch.setattr(forward_parity_check, "check", lambda *_, **__: nothing)


def blind(
    scores: Tensor, prefix: shared_prefix_attention.Prefix, past: int, window: int | None
) -> None:
    """Hide from each row its own earlier ids, of which there are few."""
    others = ~torch.eye(scores.shape[2], dtype=torch.bool, device=scores.device)
    scores[..., past:].masked_fill_(others, float("-inf"))


def mixed(how: Callable[[Tensor], Tensor]) -> tuple[Any, str, Callable[..., Any]]:
    """A backbone whose states come out otherwise."""
    real = row_runners.SharedPrefix.states
    return row_runners.SharedPrefix, "states", lambda *given: how(real(*given))


FAULTS = {
    "drops keys": ((shared_prefix_attention, "_mask_unseen_positions", blind), "FTTT"),
    "on neighbours": (mixed(lambda states: states + 0.01 * states.mean(0)), "FFFT"),
    "on the batch size": (mixed(lambda states: states * (1 + 0.001 * len(states))), "FFFT"),
    "on chance": (mixed(lambda states: states + 1e-6 * torch.randn_like(states)), "TTTF"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("no_preflight")
def test_rewards_that_depend_on_something_else_are_not_exact(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Such as those of a backbone that mixes the rows of a batch; the same twice has no noise."""
    planted, expected = FAULTS[fault]
    monkeypatch.setattr(*planted)

    found = examine(checkpoint(folders("llama")), PROMPT, answers=64)

    assert not found.ok
    assert "".join("FT"[check.ok] for check in found.checks) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*trained on a quantized base:UserWarning")
@pytest.mark.parametrize("bits", [4, 8])
def test_what_the_bits_of_a_base_in_training_changed_is_measured(tmp_path: Path, bits: int) -> None:
    """As far as the same adapter on a base that was rounded on disk is; of 8 bits it is not known.

    The exit code does not depend on it: the model that is audited is the merged one.
    """
    base = toy_checkpoint(tmp_path / "base", seed=1)
    loaded: Any = AutoModelForSequenceClassification.from_pretrained(base)
    settings = {"task_type": "SEQ_CLS", "target_modules": ["q_proj", "up_proj"]}
    adapter = save_adapter(loaded, tmp_path / "adapter", **settings)
    (adapter / "README.md").write_text(f"- load_in_{bits}bit: True\n")
    model = checkpoint(adapter)

    found = examine(model, PROMPT, answers=32)

    if bits == 8:
        assert any("load_in_8bit: True) changed: not known" in note for note in found.notes)
        return
    asked = checkpoint_doctor.draw_answers(model.vocabulary(), 32, np.random.default_rng(0))
    here = model.score(PROMPT, asked)
    retensor(base, lambda t: t.update((k, rounded(t[k])) for k in t if "_proj" in k))
    there = checkpoint(adapter, cache=tmp_path / "rounded").score(PROMPT, asked)
    measured = named(found)["its base"]
    assert measured.rms == pytest.approx(np.sqrt(np.mean((there - here) ** 2)) / here.std(), 1e-3)
    assert measured.rms > 0.01
    assert found.ok


@pytest.mark.parametrize(
    ("key", "value", "reward"),
    [("score.weight", 0.0, "0"), ("model.embed_tokens.weight", 0.3, r"-?0\.\d+")],
)
def test_equal_rewards_cannot_be_examined(
    tmp_path: Path, key: str, value: float, reward: str
) -> None:
    """Nothing could be seen in them, nor in what rounding makes of them."""
    folder = toy_checkpoint(tmp_path / "toy")
    retensor(folder, lambda tensors: tensors[key].fill_(value))

    with pytest.raises(ModelError, match=rf"^toy: 16 answers have one reward: {reward}$"):
        examine(checkpoint(folder), PROMPT, answers=16)


@pytest.mark.parametrize(
    ("largest", "allowed", "ok"),
    [
        (0.0, 0.0, True),
        (1e-9, 0.0, False),
        (1e-4, 1e-4, True),
        (2e-4, 1e-4, False),
        (float("nan"), 1e-4, False),
        (float("nan"), None, True),
        (9.0, None, True),
    ],
)
def test_a_check_is_ok_up_to_what_is_allowed(
    largest: float, allowed: float | None, ok: bool
) -> None:
    """NaN is nothing to be sure of; without a limit anything goes."""
    assert Check("it", largest, 0.0, allowed, 9).ok is ok


def test_the_noise_is_the_largest_over_what_is_judged() -> None:
    """The distance to float32 is no noise, and one bad check is enough to fail."""
    good = Check("a", 1e-5, 1e-6, 1e-4, 9)
    given: Any = {"path": KINDS["doge"], "dtype": "x", "device": "cpu", "slot": None, "sd": 1.0}
    found = Examination(**given, checks=(good, Check("b", 1.0, 0.5, None, 9)), notes=())

    assert (found.ok, found.noise) == (True, 1e-6)
    bad = replace(found, checks=(*found.checks, Check("c", 1.0, 0.3, 0.1, 9)))
    assert (bad.ok, bad.noise) == (False, 0.3)
