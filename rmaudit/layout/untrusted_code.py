"""Run untrusted chat templates and tokenizers in a child process with limits: the parent's side.

A chat template is a program, and so is a tokenizer's normalizer. Neither can be bounded in the
process that runs it: one operator of Jinja, or one step in Rust, may take all memory and all time.
So a child process runs them (`untrusted_code_child`), with bounds of memory and of seconds
of computing. By the clock it has far longer, so that a busy machine refuses nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PATH = Path(__file__).with_name("untrusted_code_child.py")
_PRINT_LIMITS = {"seconds": 3.0, "memory": 512 << 20}  # of computing; bytes
_LOAD_LIMITS = {"seconds": 30.0, "memory": 1 << 30}
_BATCH = 64  # conversations at a time
_BATCH_SIZE = 100_000  # characters or ids at a time
_PATIENCE, _TIMES = 300.0, 10  # seconds by the clock, at least; per second of computing
_TO_DIE = 0.5  # seconds
_TOKENIZERS = -1  # the number of the child that holds tokenizers; templates have the others
_HELD = 2  # tokenizers at a time, such as a policy's and its reference's
_THREADED = ("OMP", "OPENBLAS", "RAYON")  # threads of libraries, each with memory of its own


class RefusedError(Exception):
    """Raised when a chat template or tokenizer exceeds a limit on memory, time or output."""


class FailedError(Exception):
    """Raised when a chat template or tokenizer fails, with the first line of its error message."""


def printed(
    conversations: Sequence[Sequence[Mapping[str, str]]],
    template: str,
    settings: Mapping[str, Any],
    *,
    process: int = 0,
) -> list[str]:
    """Return each conversation as a chat template prints it, in child process number `process`.

    Raises:
        RefusedError: the template takes more than 512 MiB of memory, or more than 3 s of computing
            for 64 conversations, or prints 100,000 characters more than twice what was said.
        FailedError: the template raises.
    """
    texts: list[str] = []
    for start in range(0, len(conversations), _BATCH):
        part = list(conversations[start : start + _BATCH])
        asked = {"conversations": part, "template": template, "settings": dict(settings)}
        texts += _child(os.getpid(), process).ask({"what": "print", **_PRINT_LIMITS, **asked})
    return texts


def try_file(path: Path, texts: Sequence[str]) -> None:
    """Load a tokenizer.json in the child process, and tokenize `texts`, before it is read here.

    Raises:
        RefusedError: this takes more than 1 GiB of memory or 30 s of computing, or makes more than
            100 ids of a character.
        FailedError: the file cannot be read.
    """
    asked = {"path": str(path), "texts": list(texts)}
    _child(os.getpid(), _TOKENIZERS).ask({"what": "try", **_LOAD_LIMITS, **asked})


def encode(tokenizer: Tokenizer, texts: Sequence[str], pairs: Sequence[str] | None) -> None:
    """Tokenize texts, or pairs of texts, in the child process, before it is done in this one.

    Raises:
        RefusedError: this takes more than 1 GiB of memory, or more than 10 s of computing for
            100,000 characters, or makes more than 100 ids of a character.
    """
    child = _child(os.getpid(), _TOKENIZERS)
    sizes = [len(text) for text in texts]
    if pairs is not None:
        sizes = [size + len(pair) for size, pair in zip(sizes, pairs, strict=True)]
    for start, end, size in _batches(sizes):
        asked = {"texts": list(texts[start:end]), "pairs": pairs and list(pairs[start:end])}
        child.ask({"what": "encode", **_limits(size), **asked}, of=tokenizer)


def decode(tokenizer: Tokenizer, rows: Sequence[Sequence[int]]) -> None:
    """Decode rows of ids in the child process, before it is done in this one.

    Raises:
        RefusedError: as `encode`, for 100,000 ids; or a row reads as more than 100,000 characters
            and 100 for each id.
    """
    child = _child(os.getpid(), _TOKENIZERS)
    for start, end, size in _batches([len(row) for row in rows]):
        asked = {"rows": [list(row) for row in rows[start:end]]}
        child.ask({"what": "decode", **_limits(size), **asked}, of=tokenizer)


def _batches(sizes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, size) of parts whose sizes sum to `_BATCH_SIZE` or less, or of one."""
    start = total = 0
    for at, size in enumerate(sizes):
        if at > start and total + size > _BATCH_SIZE:
            yield start, at, total
            start, total = at, 0
        total += size + 1
    if sizes:
        yield start, len(sizes), total


def _limits(size: int) -> Mapping[str, float]:
    return {"seconds": 10 * max(1, size / _BATCH_SIZE), "memory": _LOAD_LIMITS["memory"]}


class _Child:
    """A child process that answers one request at a time, and is restarted if it died."""

    def __init__(self) -> None:
        self._held: dict[int, Tokenizer] = {}  # what the process holds, the oldest first
        self._process: subprocess.Popen[str] | None = None
        self._lock = Lock()
        atexit.register(self.end)

    def ask(self, request: Mapping[str, Any], *, of: Tokenizer | None = None) -> Any:  # noqa: ANN401  (JSON)
        """Send a request to the child, which holds the tokenizer `of`, and return its answer.

        Raises `RefusedError` and `FailedError`.
        """
        with self._lock:
            if of is None:
                return self._asked(request)
            if id(of) not in self._held:
                load = {"what": "load", **_LOAD_LIMITS, "name": id(of), "most": _HELD}
                self._asked({**load, "content": of.to_str()})
                if len(self._held) >= _HELD:
                    del self._held[next(iter(self._held))]
                self._held[id(of)] = of
            return self._asked({**request, "name": id(of)})

    def _asked(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON)
        line = json.dumps(request) + "\n"
        seconds = max(_PATIENCE, _TIMES * request["seconds"])
        late, began = Timer(seconds, self._kill), time.monotonic()  # one that sleeps, or is stopped
        late.daemon = True
        late.start()
        try:
            said = self._answer(line)
        except BaseException:  # such as Ctrl-C: its answer would be taken for the next one's
            self.end()
            raise
        finally:
            late.cancel()
        code = 0 if said else self.end(_TO_DIE)
        if not said and time.monotonic() - began > seconds:
            raise RefusedError(f"it does not come to an end within {seconds:g} s by the clock")
        if code == -signal.SIGPROF:
            message = f"it does not come to an end within {request['seconds']:g} s of computing"
            raise RefusedError(message)
        if not said:
            message = f"it ended the process that tried it (code {code}), as what needs more than "
            raise RefusedError(f"{message}{request['memory'] >> 20} MiB of memory does")
        found = json.loads(said)
        if "refused" in found:
            raise RefusedError(found["refused"])
        if "failed" in found:
            raise FailedError(found["failed"])
        return found["answer"]

    def _answer(self, line: str) -> str:
        """Send `line` to the child, started if need be; return its answer, or "" if it died."""
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  (our own worker)
                [sys.executable, "-P", str(_PATH)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                env={**os.environ, **{f"{name}_NUM_THREADS": "1" for name in _THREADED}},
            )
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018  (for types)
        with suppress(BrokenPipeError):
            self._process.stdin.write(line)
            self._process.stdin.flush()
        return self._process.stdout.readline()

    def _kill(self) -> None:
        if (process := self._process) is not None:
            process.kill()

    def end(self, patience: float = 0.0) -> int:
        """End the child process, within `patience` seconds by itself; return its exit code."""
        process, self._process = self._process, None
        self._held.clear()
        if process is None:
            return 0
        if not patience:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                assert pipe  # noqa: S101  (for types)
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(patience or None)  # it may have died of itself: that is its code
        process.kill()
        return process.wait()


@cache
def _child(_parent: int, _number: int) -> _Child:
    """Return the child process number `_number` of this process; forks do not share it."""
    return _Child()
