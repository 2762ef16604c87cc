"""Score by a Python function of texts, declared by `@rmaudit.scorer`.

Such a scorer has no token ids and needs no torch; see `rmaudit.config.scorer_functions.scorer`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints.third_party_errors import brief, short
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.config.scorer_functions import Score, ScorerEntry
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.conversation import Asked
from rmaudit.errors import NoWeights, ScoreError
from rmaudit.layout.answer_slot import refuse_text
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.external_scorer_batches import (
    Pace,
    Progress,
    by_prompt,
    checked_rewards,
    do_nothing,
    in_batches,
    unwatched,
)

OPENED = "opened"  # the field of a key that has the source of an entry in models.yaml
OWN_WORDS = "texts of its vocabulary"  # the field `answers` of what it scores in a sweep
_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds before the first retry, and at most before another


class TextScorer:
    """A reward model that is a Python function of texts; see `model_interfaces.Scored`."""

    kind = "a function of texts"
    takes: ClassVar[Literal["texts"]] = "texts"  # what it scores
    behind_server: ClassVar[bool] = False  # so `rmaudit doctor` compares it with its checkpoint
    limits: ClassVar[Mapping[str, int]] = {}  # a server's, if it says them
    pace: Pace | None = None
    takes_turns = False  # of a conversation; else it is given as one text

    def __init__(
        self,
        entry: ScorerEntry,
        spec: ModelSpec | None = None,
        own_words: OwnWords | None = None,
    ) -> None:
        """Take the scoring function of `entry`, which is not called yet.

        `spec` is its entry in models.yaml, if it has one. `own_words` are the run's: where the
        function names no vocabulary, it is the common words of the run's language.
        """
        self.entry, self.spec = entry, spec or entry.spec
        self.own_words = own_words or OwnWords()

    @classmethod
    def of(
        cls,
        spec: ModelSpec,
        function: Score,
        *,
        vocabulary: str | Path | Sequence[str] | None = None,
        own_words: OwnWords | None = None,
    ) -> TextScorer:
        """Return the model of a models.yaml entry whose rewards a function gives; see `scorer`.

        The entry's `version`, `batch` and `concurrency` are the function's, and its `source` is a
        part of the key of the scores. `vocabulary` and `own_words` are as of `scorer` and
        `TextScorer`.
        """
        words = vocabulary if isinstance(vocabulary, str | Path | None) else tuple(vocabulary)
        entry = ScorerEntry(
            spec.name, function, words, spec.version, spec.batch, 0, spec.concurrency
        )
        return cls(entry, spec, own_words)

    def __repr__(self) -> str:
        return f"<TextScorer {self.name}>"

    @property
    def name(self) -> str:
        """Return the name that the function was declared with."""
        return self.entry.name

    @property
    def identity(self) -> dict[str, str]:
        """Return the function's name, and its version or source hash; may raise `SpecError`.

        Of an entry of models.yaml, its source too.
        """
        own = self.entry.identity
        return own if self.spec == self.entry.spec else {**own, OPENED: self.spec.source}

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return where the function is from, and whether a version or its source identifies it."""
        known = self.identity
        how = f"version {known['version']}" if "version" in known else "the function's source"
        return {"source": self.spec.source, "scorer known by": how}

    @property
    def of_words(self) -> bool:
        """Return whether the vocabulary is a list of texts, and not a tokenizer's."""
        return not isinstance(self.entry.vocabulary, str | Path)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        given = self.entry.vocabulary
        if isinstance(given, str | Path):
            return _of_tokenizer(self.spec, given)
        if given is None:
            from rmaudit.references.word_list_lookup import common

            given = tuple(map(str, common(self.own_words)))
        return Vocabulary(tuple(range(len(given))), given, given)

    def vocabulary(self) -> Vocabulary:
        """Return the declared tokenizer's tokens, or the declared texts, or else common words.

        The ids of texts and words go from 0.

        Raises:
            ModelError: the tokenizer cannot be had.
        """
        return self._vocabulary

    def with_weights(self, what: str) -> NoReturn:  # noqa: ARG002  (as `RewardModel` has it)
        """Raise `NoWeights`: this model has no weights."""
        message = f"{self.name} is {self.kind}: it has no token ids, gradients or base"
        raise NoWeights(f"{message} model, which this audit needs")

    def with_head(self) -> NoReturn:
        """Raise `NoWeights`, as `with_weights`."""
        self.with_weights("a head")

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield lines (label, text) on how it is scored, or raise `RmauditError` if it is not."""
        yield "scored", f"as texts, by {self.kind}"
        yield "vocabulary", f"{len(self.vocabulary().ids):,} texts are scored"

    def close(self) -> None:
        """Do nothing: there is nothing to free."""

    def score(
        self, prompt: Asked, responses: Sequence[str], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return n responses' rewards, shape (n,), by the user's function, called in batches.

        Raises:
            SpecError: `responses` is a single text.
            ScoreError: the function raises, or returns anything but a finite number for each.
        """
        refuse_text(responses)
        entry = self.entry
        return in_batches(
            lambda batch: self.batch(prompt, batch),
            responses,
            Pace(entry.batch, entry.concurrency, self.pace.stop if self.pace else do_nothing),
            on_progress,
        )

    def score_each(
        self,
        prompts: Sequence[Asked],
        responses: Sequence[str],
        *,
        on_progress: Progress = unwatched,
    ) -> NDArray[np.float32]:
        """Return the reward of each response to its own prompt, shape (n,). Raises as `score`."""
        return by_prompt(self.score, prompts, responses, on_progress)

    def batch(self, prompt: Asked, responses: Sequence[str]) -> list[float]:
        """Return the responses' rewards by one call of the function; retry if the call raises."""
        for attempt in range(self.entry.retries + 1):
            try:
                given = self.entry.function(str(prompt), list(responses))
                break
            except Exception as error:
                if attempt == self.entry.retries:
                    tries = f" after {attempt + 1} tries" if attempt else ""
                    message = (
                        f"{self.name}: its function raised {brief(error)}{tries}, "
                        f"on {len(responses)} responses, the first {short(repr(responses[0]))}"
                    )
                    raise ScoreError(message) from error
                time.sleep(min(_WAIT * 2**attempt, _LONGEST_WAIT))
        return checked_rewards(given, responses, f"{self.name}: its function")


def _of_tokenizer(spec: ModelSpec, where: str | Path) -> Vocabulary:
    """Return the vocabulary of the tokenizer in a folder or hub id. Raises `ModelError`."""
    from rmaudit.checkpoints import checkpoint_source
    from rmaudit.layout import tokenizers

    place = Path(where).expanduser()
    own = replace(spec, source=str(place.resolve()) if place.is_dir() else str(where))
    folder = checkpoint_source.find(
        own, default_cache(), folder_hint=f"vocabulary=FOLDER of {spec.name}"
    ).path
    return tokenizers.vocabulary(tokenizers.read(folder, own))
