"""The ids of a text are those of the tokenizer.json that was saved, whatever class reads it."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Sequence, Split
from transformers import AutoTokenizer, BertTokenizer, PreTrainedTokenizerFast

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout import saved_tokenizer
from rmaudit.layout.layouts import ChatLayout
from rmaudit.layout.saved_tokenizer import PROBES
from rmaudit.layout.tokenizers import read
from tests.toys import TEMPLATE, pair_tokenizer, toy_tokenizer

TEXTS = [text for texts in PROBES.values() for text in texts]
WORDS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BYTES = ByteLevel(add_prefix_space=False, use_regex=False)
PRE: dict[str, PreTokenizer] = {
    "gpt2": ByteLevel(add_prefix_space=False),
    "llama3": Sequence([Split(Regex(rf"\p{{L}}+|\p{{N}}{{1,3}}|{WORDS}"), "isolated"), BYTES]),
    "smollm": Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]),
    "words": pre_tokenizers.Metaspace(),
}
KINDS = ("llama", "qwen2", "qwen3", "gemma2", "smollm3", "exaone4", "seed_oss", "olmo2", "mistral")
CLASSES = ("PreTrainedTokenizerFast", "LlamaTokenizerFast", "GPT2Tokenizer", "Qwen2Tokenizer")


@cache
def trained(pre: str) -> Tokenizer:
    """A BPE tokenizer that knows the texts, with a pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = PRE[pre], decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=["<unk>", "<s>", "</s>", "<pad>", "<|endoftext|>"],
        initial_alphabet=[*ByteLevel.alphabet(), "\u2581"],
        show_progress=False,
        min_frequency=1,
    )
    tokenizer.train_from_iterator([*TEXTS, "12 123 1234 2026"] * 2, trainer)
    return tokenizer


def saved(folder: Path, pre: str, kind: str, named: str, **settings: Any) -> Tokenizer:
    """A tokenizer in a folder, as a class that its pre-tokenizer may not be of."""
    trained(pre).save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": named, "bos_token": "<s>", "eos_token": "</s>", **settings}
    config |= {"pad_token": "<pad>", "unk_token": "<unk>", "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    return trained(pre)


def ids(tokenizer: Any, text: str) -> list[int]:
    """The ids of a text, no special tokens added."""
    made = tokenizer.encode(text, add_special_tokens=False)
    return made.ids if isinstance(tokenizer, Tokenizer) else made


def differing(folder: Path, own: Tokenizer) -> list[str]:
    """The texts that transformers' own class gives other ids."""
    theirs = AutoTokenizer.from_pretrained(folder)
    return [text for text in TEXTS if ids(theirs, text) != ids(own, text)]


@pytest.mark.slow
@pytest.mark.parametrize("pre", PRE)
@pytest.mark.parametrize("named", CLASSES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_class_gives_the_ids_of_the_file(
    kind: str, named: str, pre: str, tmp_path: Path
) -> None:
    """A warning shows a text that transformers gives others, exactly where there is one."""
    own = saved(tmp_path, pre, kind, named)
    wrong = differing(tmp_path, own)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read(tmp_path, ModelSpec("toy", str(tmp_path)))

    assert [ids(found, text) for text in TEXTS] == [ids(own, text) for text in TEXTS]
    assert found.chat_template == TEMPLATE
    assert (found.bos_token, found.pad_token_id) == ("<s>", own.token_to_id("<pad>"))
    said = [str(one.message) for one in caught if "tokenizer.json" in str(one.message)]
    assert [repr(wrong[0]) in one for one in said] == ([True] if wrong else [])


def test_ids_that_a_class_would_change_are_the_files(tmp_path: Path) -> None:
    """Both are shown, and the slot, which is in the key of scores, is another one."""
    own = saved(tmp_path, "llama3", "qwen2", "Qwen2Tokenizer")
    first = differing(tmp_path, own)[0]
    layout = ChatLayout(tmp_path, ModelSpec("toy", str(tmp_path)))

    with pytest.warns(UserWarning, match="of tokenizer.json") as caught:
        slot = layout.slot("the love of 2026")

    theirs = ids(AutoTokenizer.from_pretrained(tmp_path), first)
    said = f"{first!r} is {ids(own, first)} by it and {theirs} by transformers' Qwen2Tokenizer"
    assert any(said in str(one.message) for one in caught)
    assert layout.ids("1234567") == tuple(ids(own, "1234567"))
    assert slot.by == "tokenizer.json"


RIGHT = {
    "byte level": (toy_tokenizer(), {}),
    "GPT-2 with a first space": (None, {"add_prefix_space": True}),
    "a Unigram": (pair_tokenizer("deberta-v2"), {}),
    "WordPiece": (pair_tokenizer("bert"), {}),
    "WordPiece with case": (
        BertTokenizer(vocab={"[UNK]": 0, "A": 1, "a": 2, "##a": 3}, do_lower_case=True),
        {"do_lower_case": False},
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", RIGHT)
def test_what_transformers_reads_rightly_stays(name: str, tmp_path: Path) -> None:
    """A setting of tokenizer_config.json, which transformers always took, is no difference."""
    tokenizer, settings = RIGHT[name]
    if tokenizer is None:
        saved(tmp_path, "gpt2", "gpt2", "GPT2Tokenizer")
    else:
        tokenizer.save_pretrained(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    theirs = AutoTokenizer.from_pretrained(tmp_path)

    found = read(tmp_path, ModelSpec("toy", str(tmp_path)))

    for text in (*TEXTS, "A love of 12", "</s>the"):
        assert found(text).input_ids == theirs(text).input_ids
    assert saved_tokenizer.read_by(found) == ""
    assert found.get_vocab() == theirs.get_vocab()


def test_tokens_that_only_the_configuration_adds_are_tokens(tmp_path: Path) -> None:
    """With their flags, behind those of the file; what the file alone has stays."""
    own = saved(tmp_path, "llama3", "llama", "GPT2Tokenizer", extra_special_tokens=["<|new|>"])

    with pytest.warns(UserWarning, match="tokenizer.json"):
        found = read(tmp_path, ModelSpec("toy", str(tmp_path)))

    assert ids(found, "a<|new|>b") == [*ids(own, "a"), own.get_vocab_size(), *ids(own, "b")]
    assert own.get_vocab_size() in found.added_tokens_decoder
    assert found.decode([own.get_vocab_size()], skip_special_tokens=True) == ""


def test_a_token_of_two_ids_is_refused(tmp_path: Path) -> None:
    """By file and by class; both ids are named."""
    saved(tmp_path, "gpt2", "llama", "GPT2Tokenizer")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"</s>": 7})))

    with pytest.raises(ModelError, match=r"^toy: its token '</s>' has the id 2 by .* and 7 by"):
        saved_tokenizer.use(tokenizer, tmp_path / "tokenizer.json", model="toy")


def test_a_class_that_does_not_read_the_file_is_refused(tmp_path: Path) -> None:
    """If its ids are others; both are named."""
    saved(tmp_path, "gpt2", "t5", "ByT5Tokenizer")

    with pytest.raises(ModelError, match=r"^toy: .* by its tokenizer.json: '7' is \[.* ByT5Token"):
        read(tmp_path, ModelSpec("toy", str(tmp_path)))


def test_a_normalizer_of_the_file_is_kept(tmp_path: Path) -> None:
    """DeBERTa's class has NFC, and its files NFKC."""
    tokenizer = pair_tokenizer("deberta-v2")
    tokenizer.backend_tokenizer.normalizer = normalizers.NFKC()
    tokenizer.save_pretrained(tmp_path)

    with pytest.warns(UserWarning, match="tokenizer.json"):
        found = read(tmp_path, ModelSpec("toy", str(tmp_path)))

    assert ids(found, "\uff41") == ids(found, "a")
