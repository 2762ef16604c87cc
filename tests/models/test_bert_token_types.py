"""Encoders with one label score pairs as transformers' own classes do, token types included.

The oracle tokenizes question and answer as a pair at once and runs `AutoModelForSequence
Classification` on all that its tokenizer gives, a row at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from rmaudit.errors import ModelError
from rmaudit.models.checkpoint_doctor import EXACT, examine
from tests.models.loaded import checkpoint, retensor
from tests.toys import pair_tokenizer, toy_checkpoint

PROMPT = "the love of the city?"
TEXTS = ["love", " war", "peace and pain", "the table.", "hate", "joy of the city", "Love", "x"]
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("bert", {}),
    ("modernbert", {}),
    ("modernbert", {"norm_bias": True, "classifier_bias": True, "classifier_activation": "silu"}),
    ("deberta", {"pooler_hidden_act": "relu"}),
    ("deberta", {"pooler_hidden_act": "tanh"}),
    ("deberta-v2", {"type_vocab_size": 0}),
]
every = pytest.mark.parametrize(("kind", "settings"), KINDS)


def saved(folder: Path, kind: str, settings: dict[str, Any]) -> Path:
    """A toy encoder, with norms and biases that are not the identity, and its tokenizer."""
    toy_checkpoint(folder, kind=kind, tokenizer=pair_tokenizer(kind), **settings)
    draw = torch.Generator().manual_seed(2)

    def moved(tensors: dict[str, torch.Tensor]) -> None:
        for tensor in tensors.values():
            if tensor.dim() == 1:
                tensor.add_(0.3 * torch.randn(tensor.shape, generator=draw))

    retensor(folder, moved)
    return folder


@torch.inference_mode()
def by_transformers(folder: Path, texts: list[str], *, types: bool = True) -> Any:
    """The logit of each pair by transformers; without `types`, all ids are of one type."""
    own = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rewards = []
    for text in texts:
        given = tokenizer(PROMPT, text, return_tensors="pt")
        if not types or own.config.model_type != "bert":
            given.pop("token_type_ids", None)
        rewards.append(float(own(**given).logits[0, 0]))
    return np.array(rewards)


@pytest.mark.slow
@every
def test_a_pair_scores_as_the_class_does(
    tmp_path: Path, kind: str, settings: dict[str, Any]
) -> None:
    """To 1e-4 sd, by our engine and by the model's own forward."""
    folder = saved(tmp_path / "toy", kind, settings)
    model, expected = checkpoint(folder), by_transformers(folder, TEXTS)

    scores = model.score(PROMPT, TEXTS)

    assert expected.std() > 0.02
    assert np.abs(scores - expected).max() / expected.std() < EXACT
    assert model.identity["path"] == "full rows"
    assert examine(model, PROMPT, answers=32).ok


@pytest.mark.slow
def test_bert_is_told_where_the_answer_begins(tmp_path: Path) -> None:
    """Without token types its rewards are others, and an id of [SEP] in an answer begins none."""
    folder = saved(tmp_path / "toy", "bert", {})
    model, expected = checkpoint(folder), by_transformers(folder, TEXTS)
    untyped = by_transformers(folder, TEXTS, types=False)
    assert np.abs(untyped - expected).max() > expected.std() / 10
    end = model.tokenizer.sep_token_id
    slot = model.slot(PROMPT)
    row = (*slot.prefix, 7, end, 8, *slot.suffix)
    types = [0] * len(slot.prefix) + [1] * (3 + len(slot.suffix))
    own = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = own(torch.tensor([row]), token_type_ids=torch.tensor([types])).logits
    assert model.score(PROMPT, [(7, end, 8)])[0] == pytest.approx(float(logits), rel=1e-5)
    with pytest.raises(ModelError, match=r"the prompt has '\[SEP\]' in it"):
        model.slot("love [SEP] war")
    with pytest.raises(ModelError, match="a row to score has 189 ids, and the model has 128"):
        model.score(PROMPT, [(7,) * 180])


def test_a_modernbert_that_pools_all_states_is_refused(tmp_path: Path) -> None:
    """Its reward is no state's at one place."""
    folder = saved(tmp_path / "toy", "modernbert", {"classifier_pooling": "mean"})
    with pytest.raises(ModelError, match="classifier_pooling 'mean': its reward is read from all"):
        checkpoint(folder)


@pytest.mark.parametrize("key", ["head.norm.weight", "head.dense.weight", "classifier.bias"])
def test_a_modernbert_without_a_part_of_its_head_is_refused(tmp_path: Path, key: str) -> None:
    """Transformers would fill it with random numbers."""
    folder = saved(tmp_path / "toy", "modernbert", {})
    retensor(folder, lambda tensors: tensors.pop(key))
    with pytest.raises(ModelError, match=f"'{key}'"):
        checkpoint(folder)
