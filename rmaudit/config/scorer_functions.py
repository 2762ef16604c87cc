"""Register scorers that users bring: functions from a prompt and answers to rewards, by name.

A function takes the place of a checkpoint: a judge, an ensemble, a client of a server. It sees
texts alone; what audits need of token ids, gradients or a base model is not to be had of it.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rmaudit.config.model_spec import ModelSpec
from rmaudit.errors import SpecError, refuse_halves

Score = Callable[[str, Sequence[str]], Sequence[float]]
SOURCE = "scorer:"  # what the source of a model that is a function begins with
_NAME = re.compile(r"\w[\w. -]*")
_MOST = 64  # batches at once


@dataclass(frozen=True, slots=True)
class ScorerEntry:
    """A user's scoring function and how to call it (batch size, retries, threads); see `scorer`."""

    name: str
    function: Score
    vocabulary: str | Path | tuple[str, ...] | None
    version: str | None
    batch: int
    retries: int
    concurrency: int

    @property
    def identity(self) -> dict[str, str]:
        """Return what identifies the scorer's results (version or source hash), for cache keys.

        Raises:
            SpecError: no version is given, and its source cannot be read.
        """
        if self.version is not None:
            return {"scorer": self.name, "version": self.version}
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            message = f"{self.name}: the source of its function cannot be read, so nobody could"
            raise SpecError(f"{message} tell when it changes; give @scorer a version=") from None
        return {"scorer": self.name, "source": hashlib.sha256(source.encode()).hexdigest()}

    @property
    def spec(self) -> ModelSpec:
        """Return the scorer as a model entry, as models.yaml would define it."""
        return ModelSpec(self.name, f"{SOURCE}{self.name}")


_known: dict[str, ScorerEntry] = {}


def scorer(  # noqa: PLR0913  (keyword-only after the name)
    name: str,
    *,
    vocabulary: str | Path | Sequence[str] | None = None,
    version: str | None = None,
    batch: int = 256,
    retries: int = 0,
    concurrency: int = 1,
) -> Callable[[Score], Score]:
    """Register a scoring function under a name, so that `pytest audits --model NAME` audits it.

    Declare it in conftest.py:

        @rmaudit.scorer("house-rm")
        def house_rm(prompt: str, responses: Sequence[str]) -> Sequence[float]: ...

    It is given a prompt's text and up to `batch` answers, and returns a finite number for each,
    higher being better. What a sweep scores is its `vocabulary`: the tokens of a tokenizer (a
    folder, or a hub id), or a list of texts; by default the common English words (`wordfreq`, one
    use in a million and more).

    Scores are kept like those of any model, under a key with `version`, or else with the function's
    own source: what that calls is not seen, so give a version where something else decides. A call
    that raises is tried again `retries` times, each time after twice as long, from half a second;
    up to `concurrency` batches run at once, in threads. The function itself stays as it is.

    Raises:
        SpecError: the name, the vocabulary or a number is wrong, or the name is another
            function's.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        allowed = "letters, digits, spaces and . _ -, beginning with a letter or digit"
        raise SpecError(f"a scorer is called {name!r}, allowed: {allowed}")
    _refuse_wrong_number("batch", batch, 1, None)
    _refuse_wrong_number("retries", retries, 0, None)
    _refuse_wrong_number("concurrency", concurrency, 1, _MOST)
    if not (version is None or (isinstance(version, str) and version)):
        raise SpecError(f"{name}: version={version!r}, allowed: a text, such as '2026-11'")

    def known(function: Score) -> Score:
        entry = ScorerEntry(
            name, function, _texts(name, vocabulary), version, batch, retries, concurrency
        )
        other = _known.get(name)
        if other and _qualified_name(other.function) != _qualified_name(function):
            message = f"two scorers are called {name!r}: {_qualified_name(other.function)} and "
            raise SpecError(f"{message}{_qualified_name(function)}; give one another name")
        _known[name] = entry  # of a cell or a module that ran again, the last
        return function

    return known


def scorers() -> dict[str, ScorerEntry]:
    """Return all registered scorers, by name."""
    return dict(_known)


def forget(name: str) -> None:
    """Remove the scorer called `name`, if there is one."""
    _known.pop(name, None)


def entry_of(spec: ModelSpec) -> ScorerEntry | None:
    """Return the scorer behind a model's entry; None if the entry is a checkpoint or a server.

    Raises:
        SpecError: it is a scorer's, and nobody has declared it in this process.
    """
    if not spec.source.startswith(SOURCE):
        return None
    if spec.name not in _known:
        message = f"no scorer is called {spec.name!r} here; import the module that declares it"
        raise SpecError(f"{message} with @rmaudit.scorer")
    return _known[spec.name]


def _texts(
    name: str, vocabulary: str | Path | Sequence[str] | None
) -> str | Path | tuple[str, ...] | None:
    if vocabulary is None or isinstance(vocabulary, str | Path):
        return vocabulary
    texts = tuple(vocabulary)
    wrong = [text for text in texts if not isinstance(text, str)]
    if wrong or not texts:
        found = f"{wrong[0]!r} in it" if wrong else "an empty one"
        message = f"{name}: its vocabulary is a list with {found}, allowed: a list of texts, a "
        raise SpecError(f"{message}tokenizer's folder, or its hub id")
    refuse_halves(texts, f"{name}: its vocabulary")
    if doubles := len(texts) - len(set(texts)):
        raise SpecError(f"{name}: {doubles} texts of its vocabulary stand there twice; each once")
    return texts


def _refuse_wrong_number(what: str, number: int, least: int, most: int | None) -> None:
    whole = isinstance(number, int) and not isinstance(number, bool)
    if not whole or number < least or (most is not None and number > most):
        allowed = f"a whole number from {least}" + (f" to {most}" if most else "")
        raise SpecError(f"{what}={number!r} of a scorer, allowed: {allowed}")


def _qualified_name(function: Score) -> str:
    """Return a function's module and qualified name, such as `package.module.name`.

    Cells of one notebook have the same module.
    """
    module = getattr(function, "__module__", "?")
    return f"{module}.{getattr(function, '__qualname__', type(function).__name__)}"
