"""Answer what audits ask of models (`Scores`), from the store or by scoring.

A run that is planned, and another host that scores for it, need a question as data: `Request`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.prompts import Prompt

if TYPE_CHECKING:
    import pandas as pd

    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.first_token_logprobs import Logprobs
    from rmaudit.scores.score_store import Store
    from rmaudit.scores.sweep_result import Sweep
    from rmaudit.scores.text_rewards import TextScores
    from rmaudit.search.cached_search import SearchResult
    from rmaudit.search.search_settings import Settings

Kind = Literal["sweep", "texts", "pairs", "base", "policy", "search"]  # methods of `Scores`
FORWARDS: Collection[Kind] = ("base", "policy")  # log-probabilities: one forward of one row
_OWN = Prompt("pairs", "each pair's own prompt", 0)  # in place of one, in lists of what is asked
_NO_WORDS = OwnWords()


@dataclass(frozen=True, slots=True)
class Request:
    """A call of a method of `Scores`: its name, the model's entry, the other arguments by name."""

    kind: Kind
    spec: ModelSpec
    given: Mapping[str, Any]

    @property
    def prompt(self) -> Prompt:
        """Return the prompt that is asked; one that stands for all of whole answers' own."""
        prompt: Prompt = self.given.get("prompt", _OWN)
        return prompt


@dataclass(frozen=True, slots=True)
class Scores:
    """What audits ask of models: each method returns stored scores, or makes and stores them.

    They are `kept` in a store or a cache's folder. A base or policy runs on `device`. Progress may
    be shown in the context `watched`, and `on_request` is told a question before the answer.
    """

    kept: Path | Store
    device: str = "auto"
    watched: Callable[[], AbstractContextManager[None]] = nullcontext
    on_request: Callable[[Scored, Request], None] | None = None

    def sweep(  # noqa: PLR0913  (keyword-only after the subjects)
        self,
        model: Scored,
        prompt: Prompt,
        *,
        sample: int | None = None,
        seed: int = 0,
        words: tuple[str, ...] = (),
        own_words: OwnWords = _NO_WORDS,
    ) -> Sweep:
        """Return the rewards of a vocabulary, or of a sample of it and of `words`.

        `own_words` are those of the run, whose lexicons `words` may name. Raises as `scores.sweep`.
        """
        from rmaudit.scores.sweep import sweep

        how: dict[str, Any] = {"sample": sample, "seed": seed}
        how |= {"words": words, "own_words": own_words}
        with self._asked(model, "sweep", prompt=prompt, **how):
            return sweep(model, prompt, cache=self.kept, **how)

    def texts(self, model: Scored, prompt: Prompt, texts: tuple[str, ...]) -> TextScores:
        """Return the rewards of texts as answers to a prompt. Raises as `score_texts`."""
        from rmaudit.scores.text_rewards import score_texts

        with self._asked(model, "texts", prompt=prompt, texts=texts):
            return score_texts(model, prompt, texts, cache=self.kept)

    def pairs(self, model: Scored, answers: pd.DataFrame) -> TextScores:
        """Return the rewards of whole answers, each to its own prompt: n of n rows.

        The columns are those of `answer_files.rewards`, which says what is raised.
        """
        from rmaudit.scores.answer_files import rewards

        with self._asked(model, "pairs", answers=answers):
            return rewards(model, answers, cache=self.kept)

    def base(self, model: Scored, prompt: Prompt) -> Logprobs:
        """Return the log-probabilities of the model's base. Raises as `base_logprobs`."""
        from rmaudit.scores.first_token_logprobs import base_logprobs

        with self._asked(model, "base", prompt=prompt):
            return base_logprobs(model, prompt, cache=self.kept, device=self.device)

    def policy(self, model: Scored, prompt: Prompt) -> Logprobs:
        """Return the log-probabilities of the model's policy. Raises as `base_logprobs`."""
        from rmaudit.scores.first_token_logprobs import base_logprobs

        with self._asked(model, "policy", prompt=prompt):
            how: dict[str, Any] = {"cache": self.kept, "device": self.device}
            return base_logprobs(model, prompt, of="policy", **how)

    def search(self, model: Scored, prompt: Prompt, settings: Settings) -> SearchResult:
        """Return the answers of highest or lowest reward that a search finds. Raises as it does."""
        from rmaudit.search.cached_search import search

        with self._asked(model, "search", prompt=prompt, settings=settings):
            return search(model, prompt, settings, cache=self.kept)

    def again(self, model: Scored, request: Request) -> object:
        """Ask again what was asked before, or on another host; return the scores."""
        return getattr(self, request.kind)(model, **request.given)

    def _asked(self, model: Scored, kind: Kind, **given: object) -> AbstractContextManager[None]:
        if self.on_request is not None:
            self.on_request(model, Request(kind, model.spec, given))
        return self.watched()
