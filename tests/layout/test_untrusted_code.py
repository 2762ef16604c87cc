"""Templates and tokenizers of strangers take neither the memory nor the time of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerBase

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout import chat_rendering, untrusted_code
from rmaudit.layout.tokenizers import read
from tests.toys import TEMPLATE, toy_tokenizer

TURNS = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "so"}]
DOUBLED = "{% set n = namespace(s=START) %}{% for i in range(60) %}{% set n.s = n.s OP n.s %}"
GREEDY = {
    "doubled texts": DOUBLED.replace("START", "'a'").replace("OP", "+") + "{% endfor %}",
    "doubled lists": DOUBLED.replace("START", "[1]").replace("OP", "+") + "{% endfor %}",
    "a list times": "{{ ([0] * 10**10) | length }}",
    "indent": "{{ ('a\n' * 10**6) | indent(10**9, true) | length }}",
    "percent": "{{ '%1000000000000d' % 1 }}",
    "format": "{{ '{:>99999999999}'.format('a') }}",
    "replace": "{% set s = 'a' * 10**6 %}{{ s.replace('a', s) | length }}",
    "the filter join": "{% set s = 'a' * 10**5 %}{{ (s | list) | join(s) | length }}",
    "tojson": "{{ [[[[1]]]] | tojson(indent=10**10) | length }}",
    "batch": "{{ ([1] | batch(10**11, 0) | list) | length }}",
    "lists of ranges": "{{ ([range(99999)] * 99999) | map('list') | list | length }}",
    "int": "{{ ('9' * 10**9) | int }}",
    "an error": "{{ raise_exception('a' * 10**9) }}",
    "encode": "{{ ('a' * 10**9).encode() | length }}",
    "a long text": "{{ 'a' * 200000 }}" + TEMPLATE,
}


@pytest.mark.parametrize("template", GREEDY.values(), ids=GREEDY)
def test_a_template_that_takes_memory_is_refused(template: str) -> None:
    """In the child, which lives on or is replaced: the next template is printed."""
    with pytest.raises(untrusted_code.RefusedError, match=r"512 MiB of memory|it prints 200,"):
        untrusted_code.printed([TURNS], template, {})

    assert untrusted_code.printed([TURNS], "{{ messages[0].content }}", {}) == ["Why?"]


@pytest.mark.parametrize(
    "address", ["raise_exception", "(raise_exception | string)[-8:-1]", "messages.count"]
)
def test_a_template_that_prints_an_address_is_refused(address: str) -> None:
    """Whole or in part: the next process would print another one, under another key."""
    with pytest.raises(ModelError, match="looks at the answer or at chance"):
        chat_rendering.render(
            toy_tokenizer(template=f"{{{{ {address} }}}}" + TEMPLATE), "Why?", model="toy"
        )


def test_what_is_printed_is_what_transformers_prints() -> None:
    """Special tokens and the date included; of many conversations, in their order."""
    tokenizer = toy_tokenizer(template="{{ bos_token }}{{ date_string }}" + TEMPLATE)
    answers = [str(number) for number in range(150)]

    found = chat_rendering.printed_texts(tokenizer, "Why?", answers, model="toy")

    turns = [[TURNS[0], {"role": "assistant", "content": answer}] for answer in answers]
    day = chat_rendering.TODAY.strftime("%d %b %Y")
    assert isinstance(tokenizer, PreTrainedTokenizerBase)
    assert found == tokenizer.apply_chat_template(turns, tokenize=False, date_string=day)


PADDING = {
    "strategy": {"Fixed": 10**11},
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "a",
}


def replacing(pattern: str, content: str) -> dict[str, Any]:
    """A step of a normalizer or a decoder."""
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def doubling(kind: str) -> dict[str, Any]:
    """Forty steps, one after the other, which double a letter."""
    return {"type": "Sequence", kind: [replacing("a", "aa")] * 40}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"normalizer": replacing("a", "a" * 10**6)}, "1,000,000 characters of one"),
        ({"normalizer": replacing("zq", "a" * 10**6)}, "500,000 characters of one"),
        ({"normalizer": doubling("normalizers")}, "1,099,511,627,776 characters of one"),
        ({"decoder": doubling("decoders")}, "its decoder may make 1,099,511,627,776 characters"),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 10**6}}, "its normalizer"),
        ({"padding": PADDING}, "1024 MiB of memory"),
    ],
    ids=["a letter", "a rare word", "doubled", "decoded", "before", "padded"],
)
def test_a_tokenizer_that_takes_memory_is_refused(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """Before anything is tokenized here; the line names the folder."""
    toy_tokenizer().save_pretrained(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")

    with pytest.raises(ModelError) as caught:
        read(tmp_path, ModelSpec("toy", str(tmp_path)))

    assert str(caught.value).startswith(f"toy: its tokenizer in {tmp_path} takes too much: ")
    assert said in str(caught.value)


def test_what_stood_the_trial_is_not_tried_again(tmp_path: Path) -> None:
    """Wherever the same bytes lie; other bytes are tried, and what was refused is refused again."""
    tokenizer = toy_tokenizer()
    tokenizer.add_tokens("of-this-test-alone")
    tokenizer.save_pretrained(tmp_path)
    path = tmp_path / "tokenizer.json"
    sound = path.read_text("utf-8")
    greedy = json.dumps({**json.loads(sound), "normalizer": replacing("a", "a" * 10**6)})

    assert untrusted_code.try_tokenizer(path=path)
    assert not untrusted_code.try_tokenizer(path=path)
    assert not untrusted_code.try_tokenizer(content=sound)
    assert untrusted_code.try_tokenizer(content=sound + " ")
    for _ in range(2):
        with pytest.raises(untrusted_code.RefusedError):
            untrusted_code.try_tokenizer(content=greedy)
    with pytest.raises(untrusted_code.FailedError):
        untrusted_code.try_tokenizer(path=tmp_path / "none.json")
