"""The paper's protocol: decoded, laid out by the template, tokenized again as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product
from typing import Any

import pytest
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from rmaudit.layout import chat_template, tokenizers
from rmaudit.layout.layouts import split_shared_prefix
from tests.layout.made import chat
from tests.toys import SPECIAL, TEMPLATE, toy_tokenizer

PROMPT = "the love of the city?"
BOS, EOS = SPECIAL.index("<s>"), SPECIAL.index("</s>")
TRIMS = "{{- bos_token -}}" + TEMPLATE.replace("message['content']", "message['content'] | trim")


def llama_like(template: str = TRIMS, *, single: str = "<s> $A") -> PreTrainedTokenizerFast:
    """A tokenizer that adds a BOS, with a template that prints one and trims."""
    tokenizer = toy_tokenizer(template=template)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=single, special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    return tokenizer


@pytest.mark.parametrize("batch", [2, 8192])
def test_a_row_is_what_the_authors_code_makes(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    """Each is the template's text, tokenized with the tokenizer's own special tokens.

    In batches or not, with equal texts among them, in their order.
    """
    monkeypatch.setattr(tokenizers, "_BATCH", batch)
    tokenizer = llama_like()
    texts = ["love", " love", "peace and joy", "", "love", "\n", "\ufffd", "<|end|>", "love"]

    found = chat(tokenizer).retokenized(PROMPT, texts)

    for text, row in zip(texts, found, strict=True):
        turns = [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": text}]
        printed = tokenizer.apply_chat_template(turns, tokenize=False)
        assert list(row) == tokenizer(printed).input_ids
        assert row[:2] == (BOS, BOS)
    assert chat(tokenizer).retokenized(PROMPT, []) == []


def test_equal_texts_are_printed_once() -> None:
    """A vocabulary has thousands of ids that decode to U+FFFD. A class may print by itself."""
    tokenizer, printed = llama_like(), list[Any]()

    class Counts(type(tokenizer)):  # type: ignore[misc]
        def apply_chat_template(self, turns: Sequence[Any], **settings: Any) -> Any:
            printed.extend(turns)
            return super().apply_chat_template(turns, **settings)

    tokenizer.__class__ = Counts
    chat(tokenizer).retokenized(PROMPT, ["love", "war", "love", "love"])

    assert len(printed) == 2


@pytest.mark.parametrize(
    ("single", "closed"), [("<s> $A", ()), ("<s> $A </s>", (EOS,)), ("$A </s>", (EOS,)), ("$A", ())]
)
def test_what_the_tokenizer_closes_a_text_with(single: str, closed: tuple[int, ...]) -> None:
    """An EOS of its own, if it has one, stands at the end of every row."""
    layout = chat(llama_like(single=single))

    (row,) = layout.retokenized(PROMPT, ["love"])

    assert layout.closing == closed
    assert row[len(row) - len(closed) :] == closed


def test_the_digest_tells_templates_and_days_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates with equal slots may print other texts: the text of the template decides."""
    digests = {chat(llama_like(template)).digest for template in (TEMPLATE, TRIMS, TRIMS)}
    monkeypatch.setattr(chat_template, "TODAY", chat_template.TODAY.replace(year=2030))

    assert len(digests) == 2
    assert chat(llama_like()).digest not in digests


def test_split_takes_the_longest_shared_prefix() -> None:
    """Every row is prefix and rest, no rest is empty, and no longer prefix would do."""
    every = [row for length in (1, 2, 3) for row in product((0, 1), repeat=length)]
    assert split_shared_prefix([]) == ((), [])
    for given in chain.from_iterable(product(every, repeat=many) for many in (1, 2, 3)):
        prefix, rests = split_shared_prefix(given)

        assert tuple(prefix + rest for rest in rests) == given
        assert all(rests)
        assert min(map(len, rests)) == 1 or len({rest[0] for rest in rests}) > 1
