"""Describe requests for scores as data, to count and list them or answer them on another host."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.model_spec import Implicit, Judge
from rmaudit.config.user_prompts_and_lists import OwnLexicon, OwnWords
from rmaudit.prompts import Prompt

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import Scored
    from rmaudit.scores.score_store import Store
    from rmaudit.search.search_settings import Settings

Kind = Literal["sweep", "texts", "pairs", "base", "policy", "search"]
FORWARDS: Collection[Kind] = ("base", "policy")  # log-probabilities: one forward of one row


@dataclass(frozen=True, slots=True)
class Request:
    """Request for scores of one model under one prompt.

    Attributes:
        kind: "sweep" of the vocabulary, scores of "texts", of "pairs" of answers from
            a file, log-probabilities of the model's "base" or "policy", or a "search".
        texts: of "texts": what is scored.
        pairs: of "pairs": each answer's prompt, its turns in JSON or "", and its text; where a
            fixture asks, it alone knows them.
        settings: of a "search".
        sample: of a "sweep": how many ids are drawn, with `seed`; None for the whole vocabulary.
        words: of a sample: what is scored besides.
        own_words: those of the run, whose lexicons `words` may name.
    """

    spec: ModelSpec
    prompt: Prompt
    kind: Kind
    texts: tuple[str, ...] = ()
    settings: Settings | None = None
    sample: int | None = None
    seed: int = 0
    words: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str, str], ...] = ()
    own_words: OwnWords = field(default_factory=OwnWords)


def plain(request: Request) -> dict[str, Any]:
    """Convert a request to plain data (mappings, tuples, strings, numbers), to send to other hosts.

    `from_plain` reads it. Of the run's own words it has what a sample can name: lexicons, and where
    their files are.
    """
    own = request.own_words
    files = {name: (str(one.file), one.scale) for name, one in own.lexicons.items()}
    words = {"language": own.language, "lexicons": files, "instead": dict(own.instead)}
    return {**asdict(replace(request, own_words=OwnWords())), "own_words": words}


def from_plain(given: Mapping[str, Any]) -> Request:
    """Rebuild a request from the mapping that `plain` returned."""
    from rmaudit.search.search_settings import Settings

    told, settings = dict(given), given["settings"]
    if settings is not None:
        told["settings"] = Settings(**settings)
    words = given["own_words"]
    files = {
        name: OwnLexicon(Path(file), scale) for name, (file, scale) in words["lexicons"].items()
    }
    told["own_words"] = OwnWords(**{**words, "lexicons": files})
    return Request(
        **{**told, "spec": _spec_of_mapping(given["spec"]), "prompt": Prompt(**given["prompt"])}
    )


def _spec_of_mapping(given: Mapping[str, Any]) -> ModelSpec:
    """Rebuild a model's entry from a mapping, with its nested `Judge` and `Implicit`."""
    judge, implicit = given["judge"], given["implicit"]
    if judge is not None:
        judge = Judge(**judge)
    if implicit is not None:
        reference = implicit["reference"]
        implicit = Implicit(**{**implicit, "reference": reference and _spec_of_mapping(reference)})
    return ModelSpec(**{**given, "judge": judge, "implicit": implicit})


def answer(request: Request, model: Scored, kept: Path | Store, device: str = "auto") -> Any:  # noqa: ANN401  (by its kind)
    """Return a request's scores, from `kept` or new.

    `device` is where a base or policy runs. Raises as the function of each kind.
    """
    prompt = request.prompt
    if request.kind == "sweep":
        from rmaudit.scores.sweep import sweep

        return sweep(
            model,
            prompt,
            cache=kept,
            sample=request.sample,
            seed=request.seed,
            words=request.words,
            own_words=request.own_words,
        )
    if request.kind == "texts":
        from rmaudit.scores.text_rewards import score_texts

        return score_texts(model, prompt, request.texts, cache=kept)
    if request.kind in FORWARDS:
        from rmaudit.scores.first_token_logprobs import base_logprobs, policy_logprobs

        of = base_logprobs if request.kind == "base" else policy_logprobs
        return of(model, prompt, cache=kept, device=device)
    if request.kind == "pairs":
        import pandas as pd

        from rmaudit.scores.answer_files import ASKED, rewards

        rows = pd.DataFrame(list(request.pairs), columns=[*ASKED, "response"])
        return rewards(model, rows, cache=kept)
    from rmaudit.search.cached_search import search

    assert request.settings is not None, "a search has settings"  # noqa: S101  (for types)
    return search(model, prompt, request.settings, cache=kept)
