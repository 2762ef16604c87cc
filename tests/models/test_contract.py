"""What every checkpoint keeps to, by whichever loader it comes and however its rows are laid out.

That the model's own forward is transformers' is seen in `test_loaded_weights`, in
`tests/layout/test_encoder_pair.py` and `tests/checkpoints/test_adapter_files.py`; here the
engine is held to it.
"""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError, SpecError
from rmaudit.models import forward_parity_check, transformers_loader
from rmaudit.models.checkpoint_model import Checkpoint
from tests.checkpoints.folders import save_adapter
from tests.models.loaded import rows_of
from tests.toys import pair_tokenizer, toy_checkpoint, toy_tokenizer

PROMPT = "the love of the city?"
TEXTS = ["love", " war", "peace and pain", ""]
HASHES = {"weights", "tokenizer"}
pytestmark = [
    pytest.mark.usefixtures("offline"),
    pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning"),
]


@dataclass(frozen=True)
class Kind:
    """How a checkpoint is saved in a folder, and what its identity and provenance say."""

    save: Callable[[Path], ModelSpec]
    identity: dict[str, str]  # besides the hashes
    provenance: dict[str, str | int]
    hashes: frozenset[str] = frozenset(HASHES)
    reads: Callable[[str], str] = str  # what a text's ids read as


def chat(home: Path) -> ModelSpec:
    """A causal model with a chat template."""
    return ModelSpec("toy", str(toy_checkpoint(home / "chat")))


def pair(home: Path) -> ModelSpec:
    """An encoder of question and answer."""
    folder = toy_checkpoint(home / "pair", kind="deberta-v2", tokenizer=pair_tokenizer())
    return ModelSpec("toy", str(folder))


def adapter(home: Path) -> ModelSpec:
    """A LoRA adapter on a causal model, whose head it leaves."""
    model: Any = AutoModelForSequenceClassification.from_pretrained(toy_checkpoint(home / "base"))
    save_adapter(model, home / "adapter", task_type="SEQ_CLS", target_modules=["q_proj"])
    return ModelSpec("toy", str(home / "adapter"))


PAD = toy_tokenizer().pad_token_id
LINEAR = {"head": "linear", "pool": f"rightmost id but {PAD}", "dtype": "float32"}
DEVICE = "cuda:0" if torch.cuda.is_available() else "cpu"
LLAMA = {"architecture": "LlamaForSequenceClassification", "layers": 2, "device": DEVICE}
KINDS = {
    "chat": Kind(chat, {**LINEAR, "path": "shared prefix"}, LLAMA),
    "pair": Kind(
        pair,
        {"head": "pair", "pool": "first id", "dtype": "float32", "path": "full rows"},
        {"architecture": "DebertaV2ForSequenceClassification", "layers": 2},
        reads=str.lstrip,  # its words have no space before them
    ),
    "adapter": Kind(
        adapter, {**LINEAR, "path": "shared prefix"}, LLAMA, frozenset({*HASHES, "adapter"})
    ),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each in turn."""
    return KINDS[request.param]


@pytest.fixture
def model(kind: Kind, tmp_path: Path) -> Checkpoint:
    """It as a reward model."""
    return Checkpoint(kind.save(tmp_path), cache=tmp_path / "cache")


@pytest.mark.slow
def test_the_engine_gives_its_own_rewards(model: Checkpoint) -> None:
    """Of texts and ids, with progress; a whole row has the same reward, and one alone too."""
    answers, done = [*TEXTS, (7,), (7, 8, 9), (0,)], list[int]()
    rows = rows_of(model, PROMPT, answers)

    scores = model.score(PROMPT, answers, on_progress=done.append)

    own = model.own_rewards(rows)
    assert scores.dtype == own.dtype == np.float32
    assert scores.std() > 0.01
    near = {"rtol": 0, "atol": 1e-4 * float(own.std())}
    np.testing.assert_allclose(scores, own, **near)
    np.testing.assert_allclose(model.score_rows(rows), own, **near)
    np.testing.assert_allclose(model.score(PROMPT, answers[:1]), own[:1], **near)
    np.testing.assert_allclose(model.gradient(PROMPT, [(7, 8, 9)]).rewards, own[5], **near)
    assert sum(done) == len(answers)
    model.score_rows(rows, on_progress=done.append)
    assert sum(done) == 2 * len(answers)
    with pytest.raises(ModelError, match=rf"^{model.name}: a gradient was asked for answers of"):
        model.gradient(PROMPT, [(7,), (7, 8)])
    assert not any(p.requires_grad for p in model.weights((), ()).model.parameters())
    assert model.score(PROMPT, []).shape == model.score_rows([]).shape == (0,)
    assert model.own_rewards([]).shape == (0,)


def test_ids_and_texts_are_one_anothers(kind: Kind, model: Checkpoint) -> None:
    """Every text comes back, ids stay as they are, as ints; the rows of a prompt are of one."""
    answers = [model.ids(text) for text in TEXTS]
    vocabulary, slot = model.vocabulary(), model.slot(PROMPT)

    assert model.tokenized(TEXTS) == answers
    assert model.texts(answers) == [kind.reads(text) for text in TEXTS]
    assert model.ids("") == ()
    assert len({*answers}) == len(TEXTS)
    given: Any = np.array([3, 4])
    assert model.ids(given) == (3, 4)
    assert all(type(i) is int for i in model.ids(given))
    assert vocabulary.ids == tuple(range(model.rows.size))
    assert model.special_ids < {*vocabulary.ids}
    assert PROMPT in slot.prefix_text
    for row, text in zip(model.retokenized(PROMPT, TEXTS), TEXTS, strict=True):
        assert text.strip() in model.tokenizer.decode(row)
        assert {*row} <= {*vocabulary.ids}


def test_its_identity_is_the_same_before_and_after(kind: Kind, model: Checkpoint) -> None:
    """Of another checkpoint of the same files too; only hashes and what decides a score."""
    before, provenance = dict(model.identity), model.provenance
    model.score(PROMPT, TEXTS)
    after = model.provenance
    model.close()
    again = Checkpoint(model.spec, cache=model.cache.parent / "another cache")

    assert dict(model.identity) == dict(again.identity) == before
    assert again.template_digest == model.template_digest
    assert {key: before[key] for key in before if key not in kind.hashes} == kind.identity
    assert all(len(before[key]) == 64 for key in kind.hashes)
    read = {path.name for path in model.rows.files()}  # whose changes are told
    assert read >= {"model.safetensors", "tokenizer.json"}
    if "adapter" in kind.hashes:
        assert read >= {"adapter_config.json", "adapter_model.safetensors"}
    assert after.items() >= kind.provenance.items()
    assert {**after, "device": "auto"} == provenance
    assert (after["torch"], after["threads"]) == (torch.__version__, 1)
    assert json.dumps(after)


@pytest.mark.slow
def test_its_weights_come_with_the_first_score_and_go(
    model: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loaded once until `close`, which leaves no tensor; tried once near each prefix's length."""
    loads, tried = list[str](), list[Any]()
    load, check = transformers_loader.load, forward_parity_check.check
    monkeypatch.setattr(
        transformers_loader, "load", lambda rows, at: loads.append(at) or load(rows, at)
    )
    monkeypatch.setattr(
        forward_parity_check, "check", lambda *a, **said: tried.append(a[1:]) or check(*a, **said)
    )
    slot = model.slot(PROMPT)
    for _ in (model.vocabulary(), model.ids("love"), model.identity, model.provenance):
        model.close()  # which frees nothing
    assert (loads, tried) == ([], [])

    before = model.score(PROMPT, TEXTS)
    longer = "another " * 20
    for asked in (longer, longer, f"{longer}one", PROMPT):
        model.score(asked, ["war"])
    other = model.slot(longer)
    assert len(other.prefix) > 2 * len(slot.prefix)
    places = [(slot.prefix, slot.suffix), (other.prefix, other.suffix)]
    assert (loads, tried) == (["auto"], places)
    held = weakref.ref(model.weights((), ()).model)
    model.close()
    gc.collect()

    assert held() is None
    assert model.score(PROMPT, TEXTS).tolist() == before.tolist()
    assert (len(loads), len(tried)) == (2, 3)


def test_what_is_no_answer_is_refused_before_anything_is_loaded(
    model: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id without a row is named; one text is no list, for its letters would be scored.

    The engine needs a prefix, so rows that share no start are refused.
    """
    monkeypatch.setattr(transformers_loader, "load", None)
    rows = model.rows.size
    for ids, unknown in [((rows,), rows), ((3, 10**6), 10**6), ((-1,), -1), ((0, -7, -8), -7)]:
        for ask in (model.score, model.gradient):
            with pytest.raises(ModelError) as caught:
                ask(PROMPT, [ids])
            said = f"{model.name}: no token id {unknown}; ids go from 0 to {rows - 1}"
            assert str(caught.value) == said
        with pytest.raises(ModelError, match=said):
            model.score_rows([(5, *ids)])
    for strange in ([(5, 6), (6, 7)], [(5,)], [(5, 6), ()]):
        with pytest.raises(ModelError, match=r"^\w+: the rows to score share no id at their start"):
            model.score_rows(strange)
    given: Any
    for given in ("time", "", b"love"):
        with pytest.raises(SpecError, match=r"expected a list .* found the text .*; give a list"):
            model.score(PROMPT, given)
