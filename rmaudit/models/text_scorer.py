"""A model that is a function of texts: see `rmaudit.config.scorers.scorer`. No torch, no ids."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints.reading import short
from rmaudit.config.cache_folder import default_cache
from rmaudit.config.registry import ModelSpec
from rmaudit.config.scorers import ScorerEntry
from rmaudit.errors import NoWeights, ScoreError
from rmaudit.layout.slot import refuse_text
from rmaudit.layout.tokenizers import Vocabulary

if TYPE_CHECKING:
    from rmaudit.models.protocol import RewardModel
    from rmaudit.models.recorded import Recorded

CAVEAT = (
    "Scored as texts, by a function that was declared with @rmaudit.scorer: how an answer becomes "
    "token ids is the function's affair."
)
OWN_WORDS = "texts of its vocabulary"  # the field `answers` of what it scores in a sweep
_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds before the first retry, and at most before another
_LARGEST = float(np.finfo(np.float32).max)
T = TypeVar("T")


class TextScorer:
    """A function as a model; see `rmaudit.models.protocol.Scored`."""

    def __init__(self, entry: ScorerEntry) -> None:
        """Nothing is called yet."""
        self.entry, self.spec = entry, entry.spec

    def __repr__(self) -> str:
        return f"<TextScorer {self.name}>"

    @property
    def name(self) -> str:
        """The name that it was declared with."""
        return self.entry.name

    @property
    def identity(self) -> dict[str, str]:
        """Its name, and its version or else its source. Raises `SpecError` without either."""
        return self.entry.identity

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """What says which function it was."""
        told = self.identity
        how = f"version {told['version']}" if "version" in told else "the function's source"
        return {"source": self.spec.source, "scorer known by": how}

    @property
    def of_words(self) -> bool:
        """Whether its vocabulary is a list of texts, and no tokenizer's."""
        return not isinstance(self.entry.vocabulary, str | Path)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        given = self.entry.vocabulary
        if isinstance(given, str | Path):
            return _of_tokenizer(self.spec, given)
        if given is None:
            from rmaudit.references.word_frequency import common

            given = tuple(map(str, common()))
        return Vocabulary(tuple(range(len(given))), given, given)

    def vocabulary(self) -> Vocabulary:
        """What a sweep of it scores: a tokenizer's tokens, or texts numbered from 0.

        Raises:
            ModelError: the tokenizer cannot be had.
        """
        return self._vocabulary

    def scores(
        self,
        *,
        computed: Callable[[RewardModel], T],  # noqa: ARG002  (as `Scored` has it)
        published: Callable[[Recorded], T],  # noqa: ARG002  (likewise)
        told: Callable[[TextScorer], T],
    ) -> T:
        """What the function tells."""
        return told(self)

    def with_weights(self, what: str) -> NoReturn:  # noqa: ARG002  (as `Scored` has it)
        """It has none. Raises `NoWeights`."""
        message = f"{self.name} is a function of texts: it has no token ids, gradients or base"
        raise NoWeights(f"{message} model, which this audit needs")

    def close(self) -> None:
        """There is nothing to free."""

    def score(
        self,
        prompt: str,
        responses: Sequence[str],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """Shape (n,): the reward of each response, in batches, several at once if it says so.

        Raises:
            SpecError: `responses` is a single text.
            ScoreError: the function raises, or returns anything but a finite number for each.
        """
        refuse_text(responses)
        size = self.entry.batch
        batches = [responses[first : first + size] for first in range(0, len(responses), size)]
        found: list[list[float]] = []
        with ThreadPoolExecutor(self.entry.concurrency) as pool:
            for batch, scores in zip(
                batches, pool.map(lambda each: self._batch(prompt, each), batches), strict=True
            ):
                found.append(scores)
                on_progress(len(batch))
        return np.array([score for scores in found for score in scores], dtype=np.float32)

    def _batch(self, prompt: str, responses: Sequence[str]) -> list[float]:
        """The rewards of one call, tried again where it raises."""
        for attempt in range(self.entry.retries + 1):
            try:
                given = self.entry.function(prompt, list(responses))
                break
            except Exception as error:
                if attempt == self.entry.retries:
                    tries = f" after {attempt + 1} tries" if attempt else ""
                    message = (
                        f"{self.name}: its function raised {type(error).__name__}: {error}{tries}, "
                        f"on {len(responses)} responses, the first {_short(responses[0])}"
                    )
                    raise ScoreError(message) from error
                time.sleep(min(_WAIT * 2**attempt, _LONGEST_WAIT))
        return self._checked(given, responses)

    def _checked(self, given: Sequence[float], responses: Sequence[str]) -> list[float]:
        """A float for each response, finite as float32."""
        if isinstance(given, str) or not hasattr(given, "__len__"):
            message = f"{self.name}: its function returned {_short(given)}, allowed: a list of "
            raise ScoreError(f"{message}{len(responses)} numbers, one for each response")
        scores = list(given)
        if len(scores) != len(responses):
            message = f"{self.name}: its function returned {len(scores)} scores for "
            raise ScoreError(f"{message}{len(responses)} responses; return one for each, in order")
        for score, response in zip(scores, responses, strict=True):
            number = isinstance(score, Real) and not isinstance(score, bool | np.bool_)
            if not number or not abs(float(score)) <= _LARGEST:  # a NaN too
                message = f"{self.name}: its function gave {_short(score)} for the response "
                raise ScoreError(f"{message}{_short(response)}, allowed: finite numbers")
        return [float(score) for score in scores]


def _of_tokenizer(spec: ModelSpec, where: str | Path) -> Vocabulary:
    """The vocabulary of a tokenizer's folder or hub id. Raises `ModelError`."""
    from rmaudit.checkpoints import source
    from rmaudit.layout import tokenizers

    place = Path(where).expanduser()
    own = replace(spec, source=str(place.resolve()) if place.is_dir() else str(where))
    folder = source.find(own, default_cache(), instead=f"vocabulary=FOLDER of {spec.name}").path
    return tokenizers.vocabulary(tokenizers.read(folder, own))


def _short(value: object) -> str:
    return short(repr(value))
