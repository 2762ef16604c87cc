"""Turn errors of third-party readers, such as transformers, into one line; hold warnings back.

transformers warns, up to seven times, before it raises what we say in one line. So its warnings
are held back while it reads: printed, each once, if it could read, and dropped if it could not.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rmaudit.errors import ModelError, RmauditError

_TOO_LONG = 300  # letters of others' texts that are repeated


def brief(error: BaseException) -> str:
    """Return an error's type and the first line of its text, cut to 300 letters."""
    lines = str(error).strip().splitlines()
    return type(error).__name__ + (f": {short(lines[0], _TOO_LONG)}" if lines else "")


def short(text: str, letters: int = 100) -> str:
    """Return the text, or if it is longer than `letters`, its start and its length."""
    return text if len(text) <= letters else f"{text[:letters]}... ({len(text):,} characters)"


def unreadable(model: str, what: str, folder: Path, error: BaseException) -> ModelError:
    """Return the error for a checkpoint's file that a third party's reader could not read."""
    return ModelError(
        f"{model}: {what} could not be read from {folder} ({brief(error)}); "
        f"save the model and its tokenizer there again with save_pretrained(FOLDER)"
    )


@contextmanager
def named(model: str) -> Iterator[None]:
    """Put the model's name before the text of a `ModelError` that is raised in a `with` block."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{model}: {error}") from error


@contextmanager
def as_model_error(model: str, what: str, folder: Path) -> Iterator[None]:
    """Turn any error of a third-party reader in a `with` block into a `ModelError` of one line.

    Raises:
        ModelError: the block raised; also for a panic of a Rust library.
    """
    try:
        with transformers_log_held_back():
            yield
    except BaseException as error:
        if not is_failure(error):
            raise
        raise unreadable(model, what, folder, error) from error


def is_failure(error: BaseException) -> bool:
    """Return whether an error is a failure of third-party code, not of rmaudit, memory or Ctrl-C.

    A panic in Rust code is no `Exception`: left alone, it would end the process.
    """
    if isinstance(error, RmauditError | MemoryError):
        return False
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


@contextmanager
def transformers_log_held_back() -> Iterator[None]:
    """Hold back what transformers logs in a `with` block; log it at the end if all went well."""
    from transformers.utils import logging as theirs

    logger = theirs.get_logger("transformers")
    waiting, handlers = _DistinctMessages(), list(logger.handlers)
    logger.handlers = [waiting]
    try:
        yield
    finally:
        logger.handlers = handlers
    for record in waiting.records.values():
        logger.handle(record)


class _DistinctMessages(logging.Handler):
    """A log handler that stores each distinct log message once."""

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[str, logging.LogRecord] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Store the record, if no record of the same text is stored."""
        self.records.setdefault(record.getMessage(), record)
