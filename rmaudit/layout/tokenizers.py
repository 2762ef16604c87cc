"""Read a model's tokenizer, chat template and vocabulary, without its weights.

Tokenizers fail in any way on a text: with a panic of Rust code, or for want of an unknown token.
To our callers it is one thing, a `ModelError` of one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from rmaudit.checkpoints import third_party_errors
from rmaudit.checkpoints.third_party_errors import brief, is_failure, short
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout import saved_tokenizer, sentencepiece_model, untrusted_code
from rmaudit.layout.saved_tokenizer import COPY_FILES

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerBase

P = ParamSpec("P")
R = TypeVar("R")
_BATCH = 8192  # texts at a time: what is held twice
_MOST_ADDED = 200_000  # takes a quarter of a minute, and twice as many a minute and a half
_LARGEST = 1 << 28  # bytes of a file; real ones have at most tens of millions
_BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_ADDED_MARKS = {"tokenizer.json": b'"special"', "tokenizer_config.json": b'"special"'}
_ADDED_MARKS["added_tokens.json"] = b'":'
_OPENS_MODEL_TURN = "{%- set add_generation_prompt = true -%}"
_BYTE = re.compile("<0x[0-9A-F]{2}>")  # as SentencePiece names a byte


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Token ids of a tokenizer, ascending, with their raw tokens (pieces) and decoded texts."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    texts: tuple[str, ...]


def read(folder: Path, spec: ModelSpec) -> PreTrainedTokenizerBase:
    """Read the tokenizer in `folder`, with the chat template of models.yaml if it names one.

    A tokenizer's own code never runs.

    Raises:
        ModelError: the tokenizer or the template cannot be read, it adds more than 200,000 tokens,
            two of its pieces have one id, or it takes too much memory or time.
    """
    from transformers import AutoTokenizer

    _refuse_many_added(folder, spec.name)
    described = (path := folder / "tokenizer.json").is_file()
    pieces_only = not described and sentencepiece_model.is_known(folder)
    if described:
        _refuse_costly(path, spec.name)
    with third_party_errors.as_model_error(spec.name, "its tokenizer", folder):
        tokenizer: Any = (
            sentencepiece_model.read(folder)
            if pieces_only
            else AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        )
        if described:
            saved_tokenizer.use(tokenizer, path, model=spec.name)
        pieces: dict[str, int] = tokenizer.get_vocab()
    _refuse_shared_ids(pieces, folder, spec.name)
    if spec.template is not None:
        try:
            tokenizer.chat_template = Path(spec.template).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            shown = short(repr(spec.template).strip("'"), 500)
            raise ModelError(f"{spec.name}: template {shown}: {brief(error)}") from error
    if spec.judge is not None and isinstance(tokenizer.chat_template, str):
        # A judge answers after the conversation, where a guard model's own template says so.
        tokenizer.chat_template = _OPENS_MODEL_TURN + tokenizer.chat_template
    return tokenizer


def with_model_errors(
    function: Callable[Concatenate[PreTrainedTokenizerBase, P], R],
) -> Callable[Concatenate[PreTrainedTokenizerBase, P], R]:
    """Wrap a function whose first argument is a tokenizer: its failures raise `ModelError`."""

    @wraps(function)
    def guarded(tokenizer: PreTrainedTokenizerBase, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(tokenizer, *args, **kwargs)
        except BaseException as error:
            if not is_failure(error):
                raise
            whose = tokenizer.name_or_path or type(tokenizer).__name__
            costly = isinstance(error, untrusted_code.RefusedError)
            what = f"takes too much: {error}" if costly else f"failed on a text ({brief(error)})"
            message = f"the tokenizer of {whose} {what}, so no rows can be made with it; "
            raise ModelError(f"{message}{COPY_FILES}") from error

    return guarded


@with_model_errors
def encoded(
    tokenizer: PreTrainedTokenizerBase,
    /,
    texts: str | list[str],
    pairs: str | list[str] | None = None,
    **settings: bool,
) -> BatchEncoding:
    """Tokenize a text, or each of many, or pairs of texts; `settings` are those of transformers.

    Whatever the tokenizer makes of them, it makes it in a child process first, under limits.

    Raises:
        ModelError: the tokenizer fails, or takes too much memory or time.
    """
    if _is_tried(tokenizer):
        each = [texts] if isinstance(texts, str) else texts
        second = [pairs] if isinstance(pairs, str) else pairs
        untrusted_code.encode(tokenizer.backend_tokenizer, each, second)
    return tokenizer(texts, pairs, **settings)


def ids_of_each(
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    *,
    first: str | None = None,
    add_special_tokens: bool = True,
) -> list[tuple[int, ...]]:
    """Return the ids of each text, or of its pair with the text `first`; equal ones run once.

    Raises as `encoded`.
    """
    distinct, found = list(dict.fromkeys(texts)), dict[str, tuple[int, ...]]()
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        asked = (batch, None) if first is None else ([first] * len(batch), batch)
        made = encoded(tokenizer, *asked, add_special_tokens=add_special_tokens)
        found.update(zip(batch, map(tuple, made.input_ids), strict=True))
    return [found[text] for text in texts]


@with_model_errors
def decoded(tokenizer: PreTrainedTokenizerBase, rows: Sequence[Sequence[int]]) -> list[str]:
    """Decode each row of ids with its special tokens, in a child process first, under limits.

    Raises:
        ModelError: as `encoded`.
    """
    if _is_tried(tokenizer):
        untrusted_code.decode(tokenizer.backend_tokenizer, rows)
    texts: list[str] = tokenizer.batch_decode(
        rows, skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    return texts


def _is_tried(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Return whether a child process can do what a tokenizer does: it is Rust's work alone."""
    return tokenizer.is_fast and type(tokenizer).__module__.startswith("transformers.")


@with_model_errors
def vocabulary(tokenizer: PreTrainedTokenizerBase, *, rows: int | None = None) -> Vocabulary:
    """Return the tokenizer's ids, raw tokens and texts; only ids below `rows`, if it is given.

    Raises:
        ModelError: the tokenizer fails.
    """
    known = set(tokenizer.get_vocab().values())
    ids = sorted(i for i in known if rows is None or i < rows)
    texts = decoded(tokenizer, [[i] for i in ids])
    pieces = tokenizer.convert_ids_to_tokens(ids)
    return Vocabulary(tuple(ids), tuple(map(str, pieces)), tuple(texts))


@with_model_errors
def edges(tokenizer: PreTrainedTokenizerBase, *, rows: int) -> tuple[int, ...]:
    """Return one id of each special kind (first, last, pad, bos, eos, added, byte) below `rows`.

    These are, in this order and where they exist, the first id, the last, pad, bos, eos, an added
    token that is none of these, and a token of a byte that is no text by itself.

    Raises:
        ModelError: the tokenizer fails.
    """
    known = vocabulary(tokenizer, rows=rows)
    named = (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id)
    found = [*known.ids[:1], *known.ids[-1:], *(i for i in named if i is not None and i < rows)]
    added = (i for i in sorted(tokenizer.added_tokens_decoder) if i < rows and i not in found)
    bytewise = (
        i
        for i, piece, text in zip(known.ids, known.pieces, known.texts, strict=True)
        if _BYTE.fullmatch(piece) or text == "\ufffd"
    )
    return tuple(dict.fromkeys([*found, *islice(added, 1), *islice(bytewise, 1)]))


def _refuse_many_added(folder: Path, model: str) -> None:
    """Raise if a tokenizer file is too large or adds too many tokens.

    This runs before the tokenizer is read: reading time grows faster than the number of tokens.
    """
    for name, mark in _ADDED_MARKS.items():
        try:
            size = (folder / name).stat().st_size
            count = (folder / name).read_bytes().count(mark) if size <= _LARGEST else 0
        except OSError:
            continue  # whoever needs the file says what is wrong with it
        if size > _LARGEST:
            message = f"{model}: {name} in {folder} has {size:,} bytes, and rmaudit reads at most "
            raise ModelError(f"{message}{_LARGEST:,}; {COPY_FILES}")
        if count > _MOST_ADDED:
            raise ModelError(
                f"{model}: {name} in {folder} has {count:,} added tokens, and rmaudit reads "
                f"tokenizers with at most {_MOST_ADDED:,}; {COPY_FILES}"
            )


def _refuse_costly(path: Path, model: str) -> None:
    """Raise if reading a tokenizer.json takes too much memory or time, in a child process.

    A normalizer may turn one word into a gigabyte, and it is given each added token as the file is
    read: those of the file, and those that the files beside it name.
    """
    texts = {text for name in _BESIDE for text in _strings(path.with_name(name))}
    try:
        untrusted_code.try_file(
            path, [*texts, *chain.from_iterable(saved_tokenizer.PROBES.values())]
        )
    except untrusted_code.RefusedError as error:
        message = f"{model}: its tokenizer in {path.parent} takes too much: {error}; {COPY_FILES}"
        raise ModelError(message) from error
    except untrusted_code.FailedError:
        return  # whoever reads it says what is wrong with it


def _strings(path: Path) -> Iterator[str]:
    """Yield every string in a JSON file, the names of fields too; none of what is no such file."""
    try:
        waiting = [json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, RecursionError):
        return
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, list | dict):
            waiting += found
            waiting += found.values() if isinstance(found, dict) else ()


def _refuse_shared_ids(pieces: dict[str, int], folder: Path, model: str) -> None:
    """Raise if two tokens share an id, since the id could be decoded to either."""
    piece_of = {number: piece for piece, number in pieces.items()}
    if len(piece_of) == len(pieces):
        return
    number = min(n for piece, n in pieces.items() if piece_of[n] != piece)
    first, second = sorted(piece for piece, n in pieces.items() if n == number)[:2]
    raise ModelError(
        f"{model}: two pieces of its tokenizer in {folder} have the id {number}: {first!r} and "
        f"{second!r}, and which of them the model means is unknown; {COPY_FILES}"
    )
