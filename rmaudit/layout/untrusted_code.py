"""Run untrusted chat templates and tokenizers in a child process with limits: the parent's side.

A chat template is a program, and so is a tokenizer's normalizer. Neither can be bounded in the
process that runs it: one operator of Jinja, or one step in Rust, may take all memory and all time.
So a child process runs them (`untrusted_code_child`), with bounds of memory and of seconds
of computing (not of waiting, so that a busy machine refuses nothing).
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

_PATH = Path(__file__).with_name("untrusted_code_child.py")
_PRINT_LIMITS = {"seconds": 3.0, "memory": 512 << 20}  # of computing; bytes
_TRIAL_LIMITS = {"seconds": 60.0, "memory": 1 << 30}
_BATCH = 64  # conversations at a time
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


def try_tokenizer(*, path: Path | None = None, content: str | None = None) -> bool:
    """Try a tokenizer.json in a limited child process; return False if it has passed before.

    It is given by its `path` or `content`. The tokenizer reads every text of its
    vocabulary, and long runs of letters. A tokenizer that has stood the trial in this process is
    not tried again, since the same bytes do the same.

    Raises:
        RefusedError: the tokenizer takes more than 1 GiB of memory or 60 s of computing, or makes
            more than 100 characters or ids of one.
        FailedError: the tokenizer cannot be read, or raises.
    """
    asked = {"path": path and str(path), "content": content}
    child, digest = _child(os.getpid(), 0), _digest(path, content)
    if digest in child.passed:
        return False
    child.ask({"what": "try", **_TRIAL_LIMITS, **asked})
    child.passed.add(digest)
    return True


def _digest(path: Path | None, content: str | None) -> str:
    if path is None:
        return hashlib.sha256((content or "").encode("utf-8", "surrogatepass")).hexdigest()
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FailedError(str(error)) from error


class _Child:
    """A child process that answers one request at a time, and is restarted if it died."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        """SHA-256 of the tokenizers that stood the trial."""
        self._process: subprocess.Popen[str] | None = None
        self._lock = Lock()
        atexit.register(self.end)

    def ask(self, request: Mapping[str, Any]) -> Any:  # noqa: ANN401  (JSON)
        """Send a request to the child and return its answer.

        Raises `RefusedError` and `FailedError`.
        """
        line = json.dumps(request) + "\n"
        with self._lock:
            try:
                said = self._answer(line)
            except BaseException:  # such as Ctrl-C: its answer would be taken for the next one's
                self.end()
                raise
            code = 0 if said else self.end()
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

    def end(self) -> int:
        """End the child process; return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                assert pipe  # noqa: S101  (for types)
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(0.5)  # it may have died of itself: that is its code
        process.kill()
        return process.wait()


@cache
def _child(_parent: int, _number: int) -> _Child:
    """Return the child process number `_number` of this process; forks do not share it."""
    return _Child()
