"""Run untrusted chat templates and tokenizers in a child process with limits: the child's side.

Run by its path. Reads a line of JSON for each question on standard input, and writes one for its
answer. Where a question takes too much, the process ends, and with it all that it took.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sized
from contextlib import suppress
from typing import Any

_MOST_PRINTED = 100_000  # characters beside those of the conversation
_GROWTH, _FREE = 100, 1000  # what a tokenizer may make of a character, and of a text beside that
Tokenizers = dict[int, Any]  # by the numbers that the parent gives them, the oldest first


class TooMuchError(Exception):
    """Raised when a template prints, or a tokenizer makes, too many characters or ids."""


def print_conversations(request: Mapping[str, Any]) -> list[str]:
    """Return each conversation as the template prints it, by transformers' own code."""
    from transformers import PreTrainedTokenizerBase

    texts = []
    for turns in request["conversations"]:
        text = str(
            PreTrainedTokenizerBase().apply_chat_template(
                turns,
                tokenize=False,
                add_generation_prompt=False,
                chat_template=request["template"],
                **request["settings"],
            )
        )
        said = sum(len(turn["content"]) for turn in turns)
        if len(text) > _MOST_PRINTED + 2 * said:
            raise TooMuchError(f"it prints {len(text):,} characters of a conversation of {said:,}")
        texts.append(text)
    return texts


def load_tokenizer(request: Mapping[str, Any], held: Tokenizers) -> None:
    """Load the tokenizer.json `content` and hold it under its `name`, in the oldest one's place."""
    made = _tokenizer(request["content"])
    while len(held) >= request["most"]:
        del held[next(iter(held))]
    held[request["name"]] = made


def try_file(request: Mapping[str, Any], _held: Tokenizers) -> None:
    """Load the tokenizer.json at `path`, and raise if it makes too many ids of one of `texts`."""
    with open(request["path"], encoding="utf-8") as file:  # noqa: PTH123  (nothing else is needed)
        made = _tokenizer(file.read())
    encode_texts({**request, "name": 0, "pairs": None}, {0: made})


def _tokenizer(content: str) -> Any:  # noqa: ANN401  (of Rust)
    from tokenizers import Tokenizer

    made = Tokenizer.from_str(content)
    made.no_padding()  # as transformers does before it tokenizes
    made.no_truncation()
    return made


def encode_texts(request: Mapping[str, Any], held: Tokenizers) -> None:
    """Tokenize each text, with the `pairs` if there are any; raise if too much is made of one.

    On an error the next text follows: the same error is as quick where the text is tokenized next.
    """
    tokenizer, texts = held[request["name"]], request["texts"]
    for text, pair in zip(texts, request["pairs"] or [None] * len(texts), strict=True):
        ids, said = _attempt(tokenizer.encode, text, pair), len(text) + len(pair or "")
        _refuse_many(ids or (), "ids", said)
        if ids is None and tokenizer.normalizer is not None:
            for part in (text, pair or ""):
                letters = _attempt(tokenizer.normalizer.normalize_str, part) or ""
                _refuse_many(letters, "letters", said)


def _refuse_many(made: Sized, what: str, said: int) -> None:
    if len(made) > _FREE + _GROWTH * said:
        raise TooMuchError(f"it makes {len(made):,} {what} of {said:,} characters")


def decode_ids(request: Mapping[str, Any], held: Tokenizers) -> None:
    """Decode each row of ids; raise if it reads as too many characters."""
    tokenizer = held[request["name"]]
    for ids in request["rows"]:
        text = _attempt(tokenizer.decode, ids, False) or ""  # noqa: FBT003  (special tokens too)
        if len(text) > _GROWTH * (_FREE + len(ids)):
            raise TooMuchError(f"{len(ids):,} of its ids read as {len(text):,} characters")


def _attempt(make: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401  (of Rust)
    """Return what `make` returns, or None where it raises anything but a `MemoryError`."""
    try:
        return make(*given)
    except MemoryError:
        raise
    except BaseException:  # noqa: BLE001  (of Rust, a panic)
        return None


def answer(request: Mapping[str, Any], held: Tokenizers) -> dict[str, Any]:
    """Carry out a request; return {"answer": ...}, or why there is no answer."""
    do = {"load": load_tokenizer, "try": try_file, "encode": encode_texts, "decode": decode_ids}
    try:
        if request["what"] == "print":
            return {"answer": print_conversations(request)}
        return {"answer": do[request["what"]](request, held)}
    except TooMuchError as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"refused": f"it needs more than {request['memory'] >> 20} MiB of memory"}
    except BaseException as error:  # noqa: BLE001  (of Rust, a panic)
        lines = str(error).splitlines()
        return {"failed": lines[0] if lines else type(error).__name__}


def main() -> None:
    """Answer JSON requests from standard input, one a line, until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks is interrupted, and ends this
    held: Tokenizers = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["what"] == "print":
            import transformers.tokenization_utils_base  # noqa: F401  (its time is not a stranger's)
        with suppress(ImportError, ValueError, OSError):  # a system without such limits
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (request["memory"], resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])  # its signal ends the process
        said = json.dumps(answer(request, held))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(said + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
