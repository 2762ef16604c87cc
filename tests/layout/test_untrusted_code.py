"""Templates and tokenizers of strangers take neither the memory nor the time of a run."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerBase

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout import chat_rendering, chat_template, untrusted_code
from rmaudit.layout.answer_slot import decode_each, ids_alone
from rmaudit.layout.encoder_pair import PairLayout
from rmaudit.layout.layouts import ChatLayout
from rmaudit.layout.tokenizers import decoded, encoded, read, vocabulary
from tests.checkpoints.folders import refused
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

    found = chat_template.printed_texts(tokenizer, "Why?", answers, model="toy")

    turns = [[TURNS[0], {"role": "assistant", "content": answer}] for answer in answers]
    day = chat_template.TODAY.strftime("%d %b %Y")
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


def doubling(kind: str, *, steps: int) -> dict[str, Any]:
    """Steps, one after the other, which double a letter."""
    return {"type": "Sequence", kind: [replacing("a", "aa")] * steps}


def zero_width(pattern: str, content: str) -> dict[str, Any]:
    """A step that puts `content` where a regular expression finds nothing to replace."""
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def changed(folder: Path, change: dict[str, Any]) -> Path:
    """A toy's tokenizer with other parts, which nothing but its file names."""
    toy_tokenizer().save_pretrained(folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"normalizer": replacing("a", "a" * 10**6)}, "ids of"),
        ({"normalizer": doubling("normalizers", steps=14)}, "ids of"),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 10**6}}, "1,000,0"),
        (
            {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}},
            "",
        ),
    ],
    ids=["a letter", "doubled", "before", "unreadable"],
)
def test_a_tokenizer_that_takes_memory_is_refused(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """Before anything is tokenized here; the line names the folder."""
    folder = changed(tmp_path, change)

    text = refused(read, folder, ModelSpec("toy", str(folder)), at=folder)

    assert text.startswith("toy: its tokenizer in FOLDER takes too much: " if said else "toy: its ")
    assert said in text


SPREAD = {
    "a lookahead": [zero_width("(?=Q)", "Q")] * 12,
    "nothing": [replacing("", "Q")] * 12,
    "an edge": [zero_width(r"\b(?=Q)", "Q ")] * 12,
    "bytes": [replacing("Q", "\u00e9"), *[{"type": "ByteLevel"}] * 12],
    "a rare letter": [replacing("Q", "a" * 10**5)],
}


@pytest.mark.parametrize("steps", SPREAD.values(), ids=SPREAD)
@pytest.mark.parametrize("knows_all", [True, False])
def test_a_text_of_which_too_much_is_made_is_refused(
    steps: list[dict[str, Any]], tmp_path: Path, *, knows_all: bool
) -> None:
    """In the child, whatever the tokenizer makes of others: nothing, or an error if one is unknown.

    What grows as much in more steps would never come to an end here.
    """
    model = (
        {} if knows_all else {"model": {"type": "WordLevel", "vocab": {"Q": 0}, "unk_token": ""}}
    )
    normalizer = {"type": "Sequence", "normalizers": steps}
    split = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}
    parts = {"normalizer": normalizer, "pre_tokenizer": split, **model}
    folder = changed(tmp_path, parts)

    text = refused(PairLayout(folder, ModelSpec("toy", str(folder))).ids, "Q", at=folder)

    assert re.match("(toy: its|the) tokenizer (in|of) FOLDER takes too much: ", text)


@pytest.mark.slow
def test_a_text_that_takes_all_is_refused(tmp_path: Path) -> None:
    """It takes all of the memory of the child, which says so or is ended."""
    step = zero_width("(?=Q)", "Q")
    folder = changed(tmp_path, {"normalizer": {"type": "Sequence", "normalizers": [step] * 40}})
    model = ChatLayout(folder, ModelSpec("toy", str(folder)))

    with pytest.raises(ModelError, match=r"takes too much: it (ended the process|does not come)"):
        model.slot("Q" * 1000)


def test_a_decoder_that_takes_too_much_is_refused(tmp_path: Path) -> None:
    """Its tokens are spelled in the child first."""
    folder = changed(tmp_path, {"decoder": doubling("decoders", steps=20)})
    tokenizer = read(folder, ModelSpec("toy", str(folder)))

    letter = ids_alone(tokenizer, "a")

    for ask in (
        lambda: vocabulary(tokenizer),
        lambda: decode_each(tokenizer, [letter], at_start=True),
    ):
        with pytest.raises(ModelError, match=f"^the tokenizer of {folder} takes too much: "):
            ask()


def test_padding_in_the_file_pads_no_text(tmp_path: Path) -> None:
    """However long."""
    folder = changed(tmp_path, {"padding": PADDING})

    ids = ids_alone(read(folder, ModelSpec("toy", str(folder))), "love")

    assert ids == ids_alone(toy_tokenizer(), "love")


def test_the_child_holds_two_tokenizers() -> None:
    """A third takes the oldest one's place, and a child that died is given them again."""
    tokenizers = [toy_tokenizer(words) for words in (("love",), ("war",), ("peace",))]
    for tokenizer in [*tokenizers, *tokenizers[::-1], tokenizers[0]]:
        assert ids_alone(tokenizer, "love war peace")
        assert decoded(tokenizer, [[70], [71, 72]])
    with pytest.raises(untrusted_code.RefusedError):
        untrusted_code.printed([TURNS], GREEDY["int"], {})
    assert ids_alone(tokenizers[0], "love")
    assert encoded(tokenizers[1], ["a", "b"], ["c", "d"])["input_ids"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no such signal")
def test_a_child_that_is_stopped_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bound of computing ends it, the clock does; the next template is printed by another."""
    assert untrusted_code.printed([TURNS], "so", {}) == ["so"]
    child = untrusted_code._child(os.getpid(), 0)._process
    assert child is not None
    os.kill(child.pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(untrusted_code, "_PATIENCE", 0.01)
        patch.setattr(untrusted_code, "_TIMES", 0)
        with pytest.raises(untrusted_code.RefusedError, match=r"an end within 0.01 s by the clock"):
            untrusted_code.printed([TURNS], "so", {})

    assert untrusted_code.printed([TURNS], "so", {}) == ["so"]
