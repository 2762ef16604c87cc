"""Weights lie where they belong, say what transformers says, and keep the head as it was saved."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from logging import Handler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate.hooks import AlignDevicesHook
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification
from transformers.utils import logging

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError, ScoreError
from rmaudit.models import device_placement
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.scoring import ScoringPath, engine, path_of
from tests.models.loaded import Folders, by_transformers, change, load
from tests.scoring.rows import ANSWERS, END, PAD, PREFIX

FULL, SHARED = ScoringPath.FULL_ROWS, ScoringPath.SHARED_PREFIX
ROWS = [(*PREFIX, *answer, END) for answer in ANSWERS]
KINDS = {"llama": SHARED, "gemma2": SHARED, "gpt_oss": ScoringPath.EXPANDED_CACHE, "doge": FULL}


def refusal(folder: Path, **settings: Any) -> str:
    """The text with which loading is refused."""
    with pytest.raises(ModelError) as caught:
        load(folder, **settings)
    return str(caught.value)


# The model's own rewards


@pytest.mark.parametrize("kind", KINDS)
def test_own_rewards_are_transformers_own(folders: Folders, kind: str) -> None:
    """Row by row and to the last bits, whatever path the scorer goes."""
    loaded = load(folders(kind), KINDS[kind])

    own = loaded.own_rewards(ROWS)

    assert own.dtype == np.float32
    assert own.std() > 0.1
    assert own.tolist() == pytest.approx(by_transformers(folders(kind), ROWS), abs=1e-6)


def configured(folder: Path, copy: Path, **said: Any) -> Path:
    """A copy of the folder that says something else in config.json."""
    change(shutil.copytree(folder, copy) / "config.json", **said)
    return copy


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("path", [SHARED, FULL])
def test_own_rewards_leave_no_trace(folder: Path, path: ScoringPath, fails: bool) -> None:
    """Attention, pad id and path are as before, also when they fail; the scores are the same."""
    loaded = load(folder, pad=None, path=path)
    before = engine.score(loaded.scorer, PREFIX, ANSWERS, (END,))
    attention = loaded.model.config._attn_implementation

    if fails:
        with pytest.raises(ModelError, match=r"^toy: its own forward failed \(IndexError: "):
            loaded.own_rewards([(10**6,)])
    else:
        loaded.own_rewards(ROWS)

    assert loaded.model.config._attn_implementation == attention
    assert loaded.model.config.pad_token_id == PAD
    assert loaded.scorer.path is path
    assert engine.score(loaded.scorer, PREFIX, ANSWERS, (END,)).tolist() == before.tolist()


# The head


def test_the_head_is_not_rounded_to_the_runs_dtype(folder: Path) -> None:
    """A float32 head stays one next to a bfloat16 backbone, in the scorer and in own rewards."""
    head = load_file(folder / "model.safetensors")["score.weight"]
    assert not torch.equal(head, head.bfloat16().float())
    loaded = load(folder, dtype="bfloat16", path=FULL)
    states = torch.randn(5, head.shape[1], dtype=torch.bfloat16)

    expected = states.float() @ head[0]

    assert next(loaded.scorer.backbone.parameters()).dtype == torch.bfloat16
    for rewards in (loaded.scorer.head(states.float()), loaded.model.score(states)[:, 0]):
        torch.testing.assert_close(rewards, expected, rtol=1e-5, atol=1e-6)


# Where they do not fit


def test_weights_that_do_not_fit_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two ways on."""

    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(AutoModelForSequenceClassification, "from_pretrained", fail)

    assert refusal(folder) == (
        "toy: its weights do not fit on 'cpu'; spread them over all devices with "
        "--rm-device spread, or choose a smaller type with --rm-dtype bfloat16"
    )


def test_weights_that_cannot_be_read_are_refused(folder: Path, tmp_path: Path) -> None:
    """Such as for a setting that its class does not take."""
    message = refusal(configured(folder, tmp_path / "odd", hidden_act="none"))

    assert message.startswith(f"toy: its weights could not be read from {tmp_path}/odd (KeyError: ")
    assert "\n" not in message


# What loading leaves behind


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What transformers logs as a warning or worse, wherever its handlers write it."""
    lines: list[str] = []
    handler = Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_warning()
    logging.add_handler(handler)
    try:
        yield lines
    finally:
        logging.remove_handler(handler)
        logging.set_verbosity(verbosity)
        (logging.enable_progress_bar if bar else logging.disable_progress_bar)()


@pytest.mark.parametrize("bar", [True, False])
def test_loading_is_silent(
    folder: Path, tmp_path: Path, said: list[str], capfd: pytest.CaptureFixture[str], bar: bool
) -> None:
    """No progress bar and no print, also where the tensors are refused: the error says which.

    Transformers is as talkative afterwards as before.
    """
    (logging.enable_progress_bar if bar else logging.disable_progress_bar)()
    odd = configured(folder, tmp_path / "odd", model_type="qwen2")

    load(folder)
    message = refusal(odd)

    assert re.match(r"toy: 6 missing keys in .*, first 'model\.layers\.0\.self_attn\.", message)
    assert capfd.readouterr() == ("", "")
    assert said == []
    assert logging.is_progress_bar_enabled() is bar
    assert logging.get_verbosity() == logging.WARNING
    AutoModelForSequenceClassification.from_pretrained(odd)
    assert "LOAD REPORT" in said[0]  # left to itself it prints one


# Spread weights


def spread_over(*devices: str) -> dict[str, str]:
    """Where the parts of a toy of two layers go."""
    parts = "embed_tokens", "layers.0", "layers.1", "norm", "rotary_emb"
    named = [f"model.{part}" for part in parts] + ["score"]
    return {part: devices[i % len(devices)] for i, part in enumerate(named)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "devices"),
    [
        *((kind, ("cpu", "disk")) for kind in KINDS),
        ("llama", ("disk", "cpu")),  # the embedding on disk
        ("llama", ("disk",)),
    ],
)
def test_spread_weights_score_as_those_in_one_place(
    folders: Folders,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    devices: tuple[str, ...],
) -> None:
    """Hooks of accelerate bring in what lies elsewhere; the preflight and every path agree."""
    spec = ModelSpec("toy", str(folders(kind)))
    whole, model = (Checkpoint(spec, cache=tmp_path, device="spread") for _ in range(2))
    expected = whole.score("the love?", ANSWERS)
    place = spread_over(*devices)  # what a machine with other devices would be told
    monkeypatch.setattr(device_placement, "device_map", lambda *_, **__: place)

    scores = model.score("the love?", ANSWERS)

    loaded = model.weights((), ())
    assert {p.device.type for p in loaded.model.parameters()} >= {"meta"}
    assert isinstance(loaded.model.get_input_embeddings()._hf_hook, AlignDevicesHook)
    assert scores.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert model.provenance["path"] == str(path_of(model.rows.defaults)) == str(KINDS[kind])
    assert model.provenance["device"] == ", ".join(devices)


def test_the_devices_of_spread_weights_are_named(folder: Path) -> None:
    """Each once, in the order of the layers; GPUs by number are torch's."""
    loaded = load(folder)
    loaded.model.hf_device_map = {"a": 0, "b": 1, "c": 0, "d": "disk", "e": torch.device("cpu")}

    assert loaded.device == "cuda:0, cuda:1, disk, cpu"
    assert load(folder).device == "cpu"


def test_out_of_memory_in_the_own_forward_is_a_score_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs first, so it is the first to find that there is no room."""
    loaded = load(folder)

    def fail(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(loaded.model, "forward", fail)

    longest = max(map(len, ROWS))
    with pytest.raises(ScoreError, match=rf"^out of memory with a single row of {longest} ids"):
        loaded.own_rewards(ROWS)


@pytest.mark.parametrize(
    "settings",
    [
        {"attn_implementation": "flash_attention_2"},
        {"id2label": ..., "label2id": ..., "num_labels": ...},
    ],
    ids=["an attention that is not here", "no labels"],
)
def test_what_config_json_says_of_class_and_attention_is_not_asked_for(
    folder: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    """Published checkpoints name what is not installed; a head's shape says how many labels."""
    copy = configured(folder, tmp_path / "copy", **settings)

    assert load(copy).own_rewards(ROWS).tolist() == load(folder).own_rewards(ROWS).tolist()
