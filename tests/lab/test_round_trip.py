"""Survival: for each id, whether the paper's protocol scores it as itself, or as what."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers.processors import TemplateProcessing

from lab.round_trip import FATES, Survival, examples, of_tokenizer, survival
from rmaudit.config.model_registry import ModelSpec
from rmaudit.layout.answer_slot import Slot
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.prompts import PROMPTS
from tests.toys import TEMPLATE, WORDS, pair_tokenizer, toy_tokenizer

PREFIX, SUFFIX = (1, 10, 11), (12, 13)
SLOT = Slot("?", PREFIX, SUFFIX, "<s>?\n", "</s>\n")
FATE = {
    (5,): "itself",
    (6,): "another token",
    (5, 6): "several tokens",
    (5, 5): "several tokens",
    (): "nothing",
}


def of(*rows: tuple[int, ...], slot: Slot = SLOT, closing: tuple[int, ...] = ()) -> Survival:
    """What became of as many ids, from 5 on."""
    ids = tuple(range(5, 5 + len(rows)))
    texts = tuple(f"t{i}" for i in ids)
    return survival(Vocabulary(ids, texts, texts), slot, rows, closing=closing)


@pytest.mark.parametrize("bos", [(), (1,)], ids=["one BOS", "two"])
@pytest.mark.parametrize("closing", [(), (2,)], ids=["open", "closed"])
@pytest.mark.parametrize("hole", FATE)
def test_the_hole_decides(
    hole: tuple[int, ...], closing: tuple[int, ...], bos: tuple[int, ...]
) -> None:
    """Whatever the tokenizer puts around it: a second BOS, an EOS."""
    result = of((*bos, *PREFIX, *hole, *SUFFIX, *closing), closing=closing)

    assert result.frame["fate"].tolist() == [FATE[hole]]
    assert result.frame["hole"].tolist() == [hole]
    assert (result.doubled_bos, result.closing) == (bool(bos), closing)


@pytest.mark.parametrize(
    "row",
    [
        (1, 10, 99, *SUFFIX),
        (*PREFIX, 5, 99, 13),
        (*PREFIX, 13),
        (1, 10, *SUFFIX),
        (*PREFIX, 5, *SUFFIX, 2),
        (1, 10, 11, 12),
        (5,),
    ],
)
def test_what_ate_of_the_template_merged(row: tuple[int, ...]) -> None:
    """Ids that the exact slot has beside the hole are not there."""
    result = of(row)

    assert result.frame["fate"].tolist() == ["merged"]
    assert result.frame["hole"].tolist() == [None]


@pytest.mark.parametrize(
    ("prefix", "row", "fate"),
    [
        ((1, 10, 12), (1, 10, 12, 13), "merged"),  # too short for both, which share no id
        ((1, 10, 12), (1, 10, 12, 12, 13), "nothing"),
        ((1, 1, 10), (1, 1, 10, 5, *SUFFIX), "itself"),  # a template that itself prints two BOS
    ],
)
def test_slots_that_look_alike(prefix: tuple[int, ...], row: tuple[int, ...], fate: str) -> None:
    """Where the prefix ends as the suffix begins, and where it begins with two BOS."""
    result = of(row, slot=Slot("?", prefix, SUFFIX, "", ""))

    assert (result.frame["fate"].tolist(), result.doubled_bos) == ([fate], False)


def test_the_counts_are_of_all_ids() -> None:
    """Every fate is counted, in a fixed order, and equal rows are one."""
    nothing, love = (*PREFIX, *SUFFIX), (*PREFIX, 7, *SUFFIX)

    result = of(nothing, nothing, love, love)

    assert list(result.counts) == list(FATES)
    assert list(result.counts.values()) == [1, 1, 0, 2, 0]
    assert result.distinct_rows == 2
    assert result.frame["token_id"].tolist() == [5, 6, 7, 8]
    assert result.frame["token_id"].dtype == np.int32
    assert list(result.frame.columns) == ["token_id", "token", "text", "fate", "hole"]


def test_examples_show_no_words() -> None:
    """Signs and white space are shown, escaped; of a text with a letter or digit only its id."""
    texts = ("love", " ", "\n\x00", "!\u202e", "9", " x", "\ufffd", "", "é", "\u0301")
    rows = [(*PREFIX, *SUFFIX)] * len(texts)
    result = survival(Vocabulary(tuple(range(10)), texts, texts), SLOT, rows)

    shown = examples(result, "nothing", 10)

    assert shown[:4] == ["0", "1 ' '", "2 '\\n\\x00'", "3 '!\\u202e'"]
    assert shown[4:] == ["4", "5", "6 '\\ufffd'", "7 ''", "8", "9"]
    assert examples(result, "nothing", 1) == ["0"]
    assert examples(result, "merged") == []


def test_a_tokenizer_is_tried_without_weights(tmp_path: Path) -> None:
    """Five fates that add up, and what the tokenizer adds at the end."""
    tokenizer, template = toy_tokenizer(), tmp_path / "other.jinja"
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokenizer.save_pretrained(tmp_path / "toy")
    template.write_text("{{ bos_token }}" + TEMPLATE.replace("['content']", "['content'] | trim"))

    result = of_tokenizer(ModelSpec("toy", str(tmp_path / "toy")), PROMPTS["greatest"].text)
    trimmed = of_tokenizer(
        ModelSpec("toy", str(tmp_path / "toy"), template=str(template)), "Is it love?"
    )

    counts = list(result.counts.values())
    assert sum(counts) == len(tokenizer)
    assert counts[0] > len(tokenizer) / 3
    assert counts[2] > 100  # bytes that are no character: U+FFFD has three of its own
    assert (result.doubled_bos, result.closing) == (False, (2,))
    assert (trimmed.doubled_bos, trimmed.counts["nothing"] > 0) == (True, True)


def test_of_an_encoder_it_is_that_of_its_pairs(tmp_path: Path) -> None:
    """No template is needed."""
    pair_tokenizer().save_pretrained(tmp_path)
    config = {"architectures": ["DebertaV2ForSequenceClassification"], "model_type": "deberta-v2"}
    (tmp_path / "config.json").write_text(json.dumps(config))

    result = of_tokenizer(ModelSpec("toy", str(tmp_path)), PROMPTS["greatest"].text)

    assert sum(result.counts.values()) == len(pair_tokenizer())
    assert result.counts["itself"] >= len(WORDS)  # each a piece of its own
    assert (result.counts["merged"], result.closing) == (0, ())
