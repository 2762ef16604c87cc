"""Read InternLM2's tokenizer from its SentencePiece model, tokenizer.model, without its code.

Its checkpoints have no tokenizer.json; transformers' own reading of tokenizer.model takes merges in
another order and drops the space that such a model may put before a text. What is built here is
what the makers' fast class builds (tokenization_internlm2_fast.py beside the checkpoints): BPE with
bytes for unknown characters, merges by the scores of their pieces, the names of added tokens from
tokenizer_config.json. `tests/layout` holds it to SentencePiece's own ids.

The file is a protobuf message (sentencepiece_model.proto): of a field's number and type, its value.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerBase

_NAME, _CONFIG = "tokenizer.model", "tokenizer_config.json"
_CLASSES = ("InternLM2Tokenizer", "InternLM2TokenizerFast")
_LARGEST = 1 << 26  # bytes; the published one has 1.5 million
_BPE = 2
_SPACE = "\u2581"
_PIECES, _TRAINER, _NORMALIZER = 1, 2, 3  # fields of the message
_FIRST = ("<unk>", "<s>", "</s>")  # whatever the file calls them


def is_known(folder: Path) -> bool:
    """Return whether the tokenizer in a folder is InternLM2's, and only in its own format."""
    try:
        named = json.loads((folder / _CONFIG).read_text(encoding="utf-8")).get("tokenizer_class")
    except (OSError, ValueError, AttributeError):
        return False  # whoever reads it says what is wrong with it
    return named in _CLASSES and (folder / _NAME).is_file()


def read(folder: Path) -> PreTrainedTokenizerBase:
    """Return the tokenizer in a folder with tokenizer.model and tokenizer_config.json.

    Raises:
        OSError: a file cannot be read.
        ValueError: tokenizer.model is none of InternLM2's: damaged, too large, or not BPE.
        KeyError, TypeError: tokenizer_config.json says something else than is needed of a token.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors
    from transformers import PreTrainedTokenizerFast

    said = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    names, scores, starts_with_space = _read_model(folder / _NAME)
    added = {int(i): AddedToken(**token) for i, token in said["added_tokens_decoder"].items()}
    vocabulary = _vocabulary(names, added)
    merges = _merges(vocabulary, names, scores)
    built = Tokenizer(
        models.BPE(vocabulary, merges, unk_token=_FIRST[0], fuse_unk=True, byte_fallback=True)
    )
    built.add_special_tokens(list(added.values()))
    before = [normalizers.Prepend(_SPACE)] if starts_with_space else []
    built.normalizer = normalizers.Sequence([*before, normalizers.Replace(" ", _SPACE)])
    built.decoder = decoders.Sequence(
        [
            decoders.Replace(_SPACE, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(content=" ", left=1),
        ]
    )
    bos, eos = _token(said, "bos_token", _FIRST[1]), _token(said, "eos_token", _FIRST[2])
    around = [bos] * bool(said.get("add_bos_token", True)), [eos] * bool(said.get("add_eos_token"))
    built.post_processor = processors.TemplateProcessing(
        single=[*around[0], "$A", *around[1]],
        special_tokens=[(token, vocabulary[token]) for side in around for token in side],
    )
    jinja = folder / "chat_template.jinja"
    return PreTrainedTokenizerFast(
        tokenizer_object=built,
        unk_token=_FIRST[0],
        bos_token=bos,
        eos_token=eos,
        pad_token=_token(said, "pad_token", eos),
        clean_up_tokenization_spaces=False,
        chat_template=jinja.read_text(encoding="utf-8")
        if jinja.is_file()
        else said.get("chat_template"),
        name_or_path=str(folder),
    )


def _token(said: Mapping[str, Any], key: str, default: str) -> str:
    """Return a token that tokenizer_config.json names, as a text or with its settings."""
    found = said.get(key) or default
    return str(found["content"] if isinstance(found, dict) else found)


def _vocabulary(names: Sequence[str], added: Mapping[int, AddedToken]) -> dict[str, int]:
    """Return the id of each piece; ids of `added` tokens go by the names that these have."""
    own = [*_FIRST, *names[len(_FIRST) :]]
    for number, token in added.items():
        if number >= len(own):
            raise ValueError(f"{_CONFIG} adds the token {number}, and {_NAME} has {len(own):,}")
        own[number] = token.content
    found = {name: number for number, name in enumerate(own)}
    if len(found) != len(own):
        raise ValueError(f"two tokens of {_NAME} and {_CONFIG} have one name")
    return found


def _merges(
    vocabulary: Mapping[str, int], names: Sequence[str], scores: Sequence[float]
) -> list[tuple[str, str]]:
    """Return all pairs of pieces that make a piece; of the highest scores first."""
    found: list[tuple[float, str, str]] = []
    for name, number in vocabulary.items():
        if number < len(_FIRST) or name != names[number]:
            continue  # a token that is never made of pieces
        pairs = [(name[:at], name[at:]) for at in range(1, len(name))]
        known = [pair for pair in pairs if pair[0] in vocabulary and pair[1] in vocabulary]
        known.sort(key=lambda pair: (vocabulary[pair[0]], vocabulary[pair[1]]))
        found += [(scores[number], *pair) for pair in known]
    found.sort(key=lambda one: -one[0])  # stable
    return [(first, second) for _, first, second in found]


def _read_model(path: Path) -> tuple[list[str], list[float], bool]:
    """Return names and scores of the pieces, and whether a text gets a space before it."""
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path} has more than {_LARGEST:,} bytes")
    names: list[str] = []
    scores: list[float] = []
    trainer: dict[int, Any] = {}
    normalizer: dict[int, Any] = {}
    for field, value in _fields(path.read_bytes()):
        if field == _PIECES:
            piece = dict(_fields(value))
            names.append(piece[1].decode())
            scores.append(struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0)  # noqa: PLR2004
        elif field == _TRAINER:
            trainer = dict(_fields(value))
        elif field == _NORMALIZER:
            normalizer = dict(_fields(value))
    if trainer.get(3, 1) != _BPE or len(names) < len(_FIRST):
        raise ValueError(f"{path} is no SentencePiece model of the type BPE, as InternLM2's is")
    return names, scores, bool(normalizer.get(3, 1))


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value (whole number or bytes) of each field of a protobuf message."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:  # noqa: PLR2004  (the last one)
                return value
            shift += 7

    try:
        while at < len(message):
            number, kind = divmod(varint(), 8)
            if kind == 0:
                yield number, varint()
                continue
            size = {1: 8, 5: 4}.get(kind) or varint()
            if kind not in {1, 2, 5} or at + size > len(message):
                raise ValueError(f"{_NAME} is damaged")
            yield number, message[at : at + size]
            at += size
    except IndexError as error:
        raise ValueError(f"{_NAME} is damaged") from error
