"""Run untrusted chat templates and tokenizers in a child process with limits: the child's side.

Run by its path. Reads a line of JSON for each question on standard input, and writes one for its
answer. Where a question takes too much, the process ends, and with it all that it took.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

_MOST_PRINTED = 100_000  # characters beside those of the conversation
_GROWTH, _FREE = 100, 1000  # what a tokenizer may make of a character, and of a text beside that
_LONG = 2000  # characters of a run
_RUNS = (" ", "\n", "a", "A", "1", ".", "-", "\u00e9", "\u611b", "\U0001f600", " a", "a1", "\ta\n")
_BATCH = 1000  # texts at a time


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
            message = f"it prints {len(text):,} characters of a conversation of {said:,}"
            raise TooMuchError(message)
        texts.append(text)
    return texts


def try_tokenizer(request: Mapping[str, Any]) -> None:
    """Raise if a tokenizer turns its own tokens or repeated letters into far too long an output."""
    from tokenizers import Tokenizer

    if (content := request["content"]) is None:
        with open(request["path"], encoding="utf-8") as file:  # noqa: PTH123  (nothing else is needed)
            content = file.read()
    for part in ("normalizer", "decoder"):
        growth = _worst_growth(json.loads(content).get(part))
        if growth > _GROWTH:
            message = f"its {part} may make {growth:,.0f} characters of one"
            raise TooMuchError(message)
    tokenizer: Any = Tokenizer.from_str(content)
    del content
    vocabulary = sorted(tokenizer.get_vocab().values())
    runs = [(run * _LONG)[:_LONG] for run in _RUNS]
    _refuse_growth(tokenizer, ["", *runs])
    for start in range(0, len(vocabulary), _BATCH):
        ids = vocabulary[start : start + _BATCH]
        texts = tokenizer.decode_batch([[i] for i in ids], skip_special_tokens=False)
        _refuse_growth(tokenizer, texts)


def _refuse_growth(tokenizer: Any, texts: Sequence[str]) -> None:  # noqa: ANN401  (of Rust)
    for text in texts:
        most = _FREE + _GROWTH * len(text)
        if len(text) > _GROWTH * _FREE:
            message = f"one of its tokens reads as {len(text):,} characters"
            raise TooMuchError(message)
        if tokenizer.normalizer is not None:
            made = len(tokenizer.normalizer.normalize_str(text))
            if made > most:
                message = f"its normalizer makes {made:,} characters of {len(text):,}"
                raise TooMuchError(message)
        made = len(tokenizer.encode(text))
        if made > most:
            message = f"it makes {made:,} ids of {len(text):,} characters"
            raise TooMuchError(message)


def _worst_growth(part: Any) -> float:  # noqa: ANN401  (JSON)
    """Return the most characters that a normalizer or decoder may make of one character."""
    grown = 1.0
    for step in _steps(part):
        if step.get("type") == "Replace":
            pattern, content = step.get("pattern"), str(step.get("content"))
            one = pattern.get("String", "") if isinstance(pattern, dict) else ""
            grown *= max(1.0, len(content) / max(1, len(one)))
        elif step.get("type") == "Prepend":
            grown += len(str(step.get("prepend")))
        elif step.get("type") == "Precompiled" and step.get("precompiled_charsmap"):
            blob = base64.b64decode(step["precompiled_charsmap"])
            strings = blob[4 + int.from_bytes(blob[:4], "little") :].split(b"\0")
            grown *= max(1, *map(len, strings), 1)
    return grown


def _steps(part: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401  (JSON)
    if isinstance(part, dict):
        yield part
        for name in ("normalizers", "decoders"):
            for each in part.get(name) or ():
                yield from _steps(each)


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out a request; return {"answer": ...}, or why there is no answer."""
    do = {"print": print_conversations, "try": try_tokenizer}[request["what"]]
    try:
        return {"answer": do(request)}
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
    for line in sys.stdin:
        request = json.loads(line)
        if request["what"] == "print":
            import transformers.tokenization_utils_base  # noqa: F401  (its time is not a stranger's)
        with suppress(ImportError, ValueError, OSError):  # a system without such limits
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (request["memory"], resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])  # its signal ends the process
        said = json.dumps(answer(request))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(said + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
