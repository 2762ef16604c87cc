"""InternLM2's tokenizer, read from tokenizer.model without its code, gives SentencePiece's own ids.

`internlm2.model` was trained by SentencePiece 0.2 (BPE, bytes for unknown characters, a space
before a text, six names without use) on this repository's own pages; `IDS` is what its
`SentencePieceProcessor.encode` gives.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerBase

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout import sentencepiece_model, tokenizers
from tests import internlm2
from tests.models.loaded import change

SAID = {
    "love": "394 311 380",
    " love": "269 311 380",
    "the love of the city": "273 394 311 380 301 273 291 274 417",
    "What, in one word, is the greatest thing ever?": (
        "394 454 404 276 413 308 332 395 344 403 413 324 273 315 268 276 323 267 309 321 343 464"
    ),
    "  two  spaces": "269 294 409 399 269 398 412 397 408 275",
    "     five": "303 269 411 402 380",
    "line\nbreak\n\n": "341 270 395 490 419 268 397 422 490 490",
    "\u4f60\u597d \u043c\u0438\u0440": "394 503 482 394 498 478 479",
    "x = 12345;": "394 436 394 438 394 437 444 446 456 440 451",
    "aaaaaaa ===== ---------": (
        "266 397 397 397 397 397 397 394 438 438 438 438 438 302 416 416 416 416 416 416 416 416"
    ),
    "\U0001f600 emoji": "394 249 168 161 137 321 406 399 466 402",
    "tab\there": "294 397 419 18 312 268",
    "A reward model's rewards": "337 378 403 304 449 398 378 340",
    "": "",
}
IDS = {text: [int(i) for i in ids.split()] for text, ids in SAID.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tokenizer's two files."""
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(internlm2.TOKENIZER))
    shutil.copy(internlm2.MODEL, tmp_path / "tokenizer.model")
    return tmp_path


def read(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer as a run reads it."""
    return tokenizers.read(folder, ModelSpec("toy", str(folder)))


def test_its_ids_are_sentencepieces(folder: Path) -> None:
    """Of words, spaces, line breaks, digits, scripts and characters that it has not."""
    tokenizer = read(folder)

    found = {text: tokenizer(text, add_special_tokens=False).input_ids for text in IDS}

    assert found == IDS
    assert len(tokenizer) == 512
    assert tokenizer.decode(IDS["the love of the city"]) == "the love of the city"


def test_added_tokens_stand_at_their_ids(folder: Path) -> None:
    """In place of the names that the file has for them; a BOS comes before a text."""
    tokenizer = read(folder)

    ids = tokenizer("<|im_start|>love<|im_end|><|reward|>").input_ids

    assert ids == [1, 5, *IDS["love"], 6, 8]
    assert tokenizer.decode([8]) == "<|reward|>"
    assert tokenizer.chat_template == internlm2.TEMPLATE


def test_a_tokenizer_json_comes_first(folder: Path) -> None:
    """As transformers has it."""
    own = read(folder)
    own.save_pretrained(folder)
    (folder / "tokenizer.model").write_bytes(b"")
    change(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")

    assert read(folder).get_vocab() == own.get_vocab()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (internlm2.MODEL.read_bytes()[:-9], "damaged"),
        (b"", "no SentencePiece model of the type BPE"),
        (b"\x80", "damaged"),
        (b"\x0b", "damaged"),
    ],
)
def test_a_damaged_file_is_refused(folder: Path, content: bytes, named: str) -> None:
    """In one line."""
    (folder / "tokenizer.model").write_bytes(content)

    with pytest.raises(ModelError, match=named):
        read(folder)


def test_an_added_token_beyond_the_file_is_refused(folder: Path) -> None:
    """It would have no row, or another's."""
    added = internlm2.TOKENIZER["added_tokens_decoder"]
    change(folder / "tokenizer_config.json", added_tokens_decoder={"512": added["8"], **added})

    with pytest.raises(ModelError, match="adds the token 512"):
        read(folder)


def test_other_classes_are_left_to_transformers(folder: Path) -> None:
    """Only InternLM2's is read here."""
    change(folder / "tokenizer_config.json", tokenizer_class="LlamaTokenizer")

    assert not sentencepiece_model.is_known(folder)
