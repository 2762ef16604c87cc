"""Encoders that read (question, answer), by no chat template: rows, slopes and what is refused.

That they score as their classes do, `tests/models/test_bert_token_types.py` has.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from rmaudit.checkpoints import head_detection, weights_headers
from rmaudit.errors import ModelError
from rmaudit.layout import tokenizers
from rmaudit.layout.answer_slot import Response
from rmaudit.layout.encoder_pair import PairLayout
from rmaudit.layout.layouts import ChatLayout, layout_of
from rmaudit.models import checkpoint_doctor
from tests.checkpoints.folders import refused
from tests.float64 import all_in_float64, assert_slopes
from tests.layout.made import TOY, pair
from tests.models.loaded import by_transformers, checkpoint, retensor, rows_of
from tests.toys import pair_tokenizer, toy_checkpoint

KINDS = ("deberta-v2", "deberta")
PROMPT = "the love of the city?"
TEXTS = ["love", " war", "peace and pain", "", "the table.", "love"]


def saved(folder: Path, kind: str, **settings: Any) -> Path:
    """A toy encoder as `save_pretrained` writes it."""
    return toy_checkpoint(folder, kind=kind, tokenizer=pair_tokenizer(kind), **settings)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each kind, which the tests leave as it is."""
    home = tmp_path_factory.mktemp("encoders")
    return {kind: saved(home / kind, kind) for kind in KINDS}


# Rewards


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_slopes_are_the_rewards_derivatives(tmp_path: Path, kind: str) -> None:
    """As central differences by its own class say, in float64; both ways, so none is 0."""
    folder = saved(tmp_path / "toy", kind, pooler_hidden_act={"deberta": "tanh"}.get(kind, "gelu"))
    model, answers = checkpoint(folder), [(7, 8), (9, 0)]
    own = AutoModelForSequenceClassification.from_pretrained(folder).eval().double()
    slot, scores = model.slot(PROMPT), model.score(PROMPT, answers)
    narrow = model.gradient(PROMPT, answers)
    weights = model.weights(slot.prefix, slot.suffix)
    weights.model.double()

    def rewards(embeddings: Tensor) -> Tensor:
        mask = torch.ones(embeddings.shape[:2], dtype=torch.long)
        found: Tensor = own(inputs_embeds=embeddings, attention_mask=mask).logits[:, 0]
        return found

    looked = head_detection.find(model.spec, tmp_path)
    head = {k: v.double() for k, v in weights_headers.tensors(folder, looked.head.keys).items()}
    with all_in_float64():
        weights.scorer.head = looked.head.family.build(head, looked.config)
        weights.scorer.forget()
        found = model.gradient(PROMPT, answers)
        for answer, slopes in zip(answers, found.slopes, strict=True):
            row, embedding = (*slot.prefix, *answer, *slot.suffix), own.get_input_embeddings()
            assert_slopes(
                slopes, embedding, rewards, row, start=len(slot.prefix), ids=(0, 1, 5, 20)
            )

    np.testing.assert_allclose(narrow.rewards, scores, atol=1e-5)
    np.testing.assert_allclose(narrow.slopes, found.slopes, atol=1e-4 * np.abs(found.slopes).max())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_passes_too(homes: dict[str, Path], dtype: Any) -> None:
    """Preflight lets it pass; transformers' first DeBERTa cannot run in it."""
    found = checkpoint_doctor.examine(
        checkpoint(homes["deberta-v2"], dtype=dtype), PROMPT, answers=8
    )

    assert found.ok
    assert found.checks[-1].rms > 1e-6


# Layout


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_the_second_of_the_tokenizers_pair(
    homes: dict[str, Path], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a slot and in the paper's rows: in their order, in batches or not, equal ones too."""
    model = checkpoint(homes[kind])
    tokenizer, slot = AutoTokenizer.from_pretrained(homes[kind]), model.slot(PROMPT)
    # Alone, "" would be no second.
    expected = [tuple(tokenizer([PROMPT], [text]).input_ids[0]) for text in TEXTS]

    assert rows_of(model, PROMPT, TEXTS) == expected
    assert (slot.prefix_text, slot.suffix_text) == (f"[CLS]{PROMPT}[SEP]", "[SEP]")
    assert model.retokenized(PROMPT, TEXTS) == expected
    monkeypatch.setattr(tokenizers, "_BATCH", 2)
    assert model.retokenized(PROMPT, TEXTS) == expected
    assert model.retokenized(PROMPT, []) == []
    np.testing.assert_allclose(
        model.score_rows(expected), by_transformers(homes[kind], expected), atol=1e-5
    )


@pytest.mark.parametrize(
    ("single", "double"),
    [
        ("[CLS] $A", "[CLS] $A $B:1"),
        ("$A [SEP]", "$A [SEP] $B:1 [SEP]:1"),
        ("[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B:1 [SEP]:1"),
    ],
)
def test_another_form_of_pair_is_refused(single: str, double: str) -> None:
    """The tokenizer is shown what it made, and where to get the right one."""
    tokenizer = pair_tokenizer()
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=single, pair=double, special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )

    made = tokenizer("love", "answer").input_ids
    said = f"(DebertaV2Tokenizer, [CLS] '[CLS]', [SEP] '[SEP]') makes {made} of [5] and"
    assert said in refused(pair(tokenizer).slot, "love")


@pytest.mark.parametrize("token", ["cls_token", "sep_token"])
def test_a_tokenizer_without_cls_or_sep_is_refused(token: str) -> None:
    """Such as a language model's."""
    tokenizer = pair_tokenizer("deberta")
    setattr(tokenizer, token, None)

    with pytest.raises(ModelError, match=r"\[[A-Z]{3}\] None"):
        pair(tokenizer).slot(PROMPT)


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"template": "a.jinja"}, "template: a.jinja"), ({"pool": "last"}, "pool: last")],
)
def test_settings_of_causal_models_are_refused(
    homes: dict[str, Path], settings: dict[str, str], said: str
) -> None:
    """They would change nothing, silently."""
    with pytest.raises(ModelError, match=rf"models.yaml has `{said}`, .* remove `{said[:4]}"):
        checkpoint(homes["deberta-v2"], **settings)


# Loading


@pytest.mark.slow
def test_places_that_early_releases_saved_are_no_surprise(tmp_path: Path) -> None:
    """`position_ids` is 0, 1, 2 … and computed anew by transformers, which tells of no odd key."""
    folder = saved(tmp_path / "toy", "deberta-v2")
    answers: list[Response] = ["love", "war"]
    before = checkpoint(folder).score(PROMPT, answers)
    places = {"deberta.embeddings.position_ids": torch.arange(128)[None]}
    retensor(folder, lambda tensors: tensors.update(places))

    np.testing.assert_allclose(checkpoint(folder).score(PROMPT, answers), before, rtol=1e-5)


def test_config_json_alone_tells_that_pairs_are_read(tmp_path: Path) -> None:
    """A folder of a tokenizer only may have none."""
    assert isinstance(layout_of(tmp_path, TOY, tmp_path), ChatLayout)
    for architecture, expected in (
        ("DebertaV2ForSequenceClassification", PairLayout),
        ("LlamaForSequenceClassification", ChatLayout),
    ):
        (tmp_path / "config.json").write_text(json.dumps({"architectures": [architecture]}))
        assert isinstance(layout_of(tmp_path, TOY, tmp_path), expected)
