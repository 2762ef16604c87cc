"""`Scores`: what audits ask of models, answered from the store or by scoring.

A run that is planned, and another host that scores for it, need a question as data: `Request`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.model_spec import Implicit, Judge
from rmaudit.config.user_prompts_and_lists import OwnLexicon, OwnWords
from rmaudit.prompts import Prompt

if TYPE_CHECKING:
    import pandas as pd

    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.first_token_logprobs import Logprobs
    from rmaudit.scores.score_store import Store
    from rmaudit.scores.sweep import Sweep
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
        return self.given.get("prompt", _OWN)


@dataclass(frozen=True, slots=True)
class Scores:
    """What audits ask of models: each method returns stored scores, or makes and stores them.

    Attributes:
        kept: the store, or the folder of the cache.
        device: where a base or a policy runs.
        watched: a context in which progress may be shown.
        on_request: told each question before it is answered.
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

        how = {"sample": sample, "seed": seed, "words": words, "own_words": own_words}
        with self._asked(model, "sweep", prompt=prompt, **how):
            return sweep(
                model,
                prompt,
                cache=self.kept,
                sample=sample,
                seed=seed,
                words=words,
                own_words=own_words,
            )

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
        """Return the log-probabilities of the model's policy. Raises as `policy_logprobs`."""
        from rmaudit.scores.first_token_logprobs import policy_logprobs

        with self._asked(model, "policy", prompt=prompt):
            return policy_logprobs(model, prompt, cache=self.kept, device=self.device)

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


def plain(request: Request) -> dict[str, Any]:
    """Convert a request to plain data (mappings, sequences, strings, numbers), for other hosts.

    `from_plain` reads it. Of the run's own words it has what a sample can name: lexicons, and where
    their files are.
    """
    given = dict(request.given)
    for name in {"prompt", "settings"} & given.keys():
        given[name] = asdict(given[name])
    if (own := given.get("own_words")) is not None:
        files = {name: (str(one.file), one.scale) for name, one in own.lexicons.items()}
        given["own_words"] = {
            "language": own.language,
            "lexicons": files,
            "instead": {**own.instead},
        }
    if (answers := given.get("answers")) is not None:
        own = [name for name in ("prompt", "turns", "response") if name in answers]
        given["answers"] = {name: answers[name].tolist() for name in own}
    return {"kind": request.kind, "spec": asdict(request.spec), "given": given}


def from_plain(data: Mapping[str, Any]) -> Request:
    """Rebuild a request from the mapping that `plain` returned."""
    import pandas as pd

    from rmaudit.search.search_settings import Settings

    made: dict[str, Callable[[Any], Any]] = {
        "prompt": lambda of: Prompt(**of),
        "settings": lambda of: Settings(**of),
        "own_words": _own_words_of_mapping,
        "answers": pd.DataFrame,
    }
    given = {name: made[name](of) if name in made else of for name, of in data["given"].items()}
    return Request(data["kind"], _spec_of_mapping(data["spec"]), given)


def _own_words_of_mapping(given: Mapping[str, Any]) -> OwnWords:
    files = {
        name: OwnLexicon(Path(file), scale) for name, (file, scale) in given["lexicons"].items()
    }
    return replace(OwnWords(**given), lexicons=files)


def _spec_of_mapping(given: Mapping[str, Any]) -> ModelSpec:
    """Rebuild a model's entry from a mapping, with its nested `Judge` and `Implicit`."""
    judge, implicit = given["judge"], given["implicit"]
    if judge is not None:
        judge = Judge(**judge)
    if implicit is not None:
        reference = implicit["reference"]
        implicit = Implicit(**{**implicit, "reference": reference and _spec_of_mapping(reference)})
    return ModelSpec(**{**given, "judge": judge, "implicit": implicit})
