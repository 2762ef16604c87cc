"""What an audit asks of a model, as data: it can be counted, listed, and made on another host."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rmaudit.config.registry import ModelSpec
from rmaudit.prompts import Prompt

if TYPE_CHECKING:
    from rmaudit.models.protocol import Scored
    from rmaudit.scores.store import Store
    from rmaudit.search.settings import Settings

Kind = Literal["sweep", "texts", "pairs", "base", "search"]


@dataclass(frozen=True, slots=True)
class Request:
    """Scores under a prompt.

    Attributes:
        kind: "sweep" of the vocabulary, scores of "texts", of "pairs" of answers from
            a file (only the audit knows them), log-probabilities of the model's "base", or a
            "search".
        texts: of "texts": what is scored.
        settings: of a "search".
        sample: of a "sweep": how many ids are drawn, with `seed`; None for the whole vocabulary.
        words: of a sample: what is scored besides.
    """

    spec: ModelSpec
    prompt: Prompt
    kind: Kind
    texts: tuple[str, ...] = ()
    settings: Settings | None = None
    sample: int | None = None
    seed: int = 0
    words: tuple[str, ...] = ()


def answer(request: Request, model: Scored, kept: Path | Store, device: str = "auto") -> Any:  # noqa: ANN401  (by its kind)
    """What the model says, read from the store or made: Sweep, TextScores, Logprobs or Found.

    `device` is where a base runs. Raises as the function of each kind.
    """
    prompt = request.prompt
    if request.kind == "sweep":
        from rmaudit.scores.sweep import sweep

        sample, seed, words = request.sample, request.seed, request.words
        return sweep(model, prompt, cache=kept, sample=sample, seed=seed, words=words)
    if request.kind == "texts":
        from rmaudit.scores.texts import score_texts

        return score_texts(model, prompt, request.texts, cache=kept)
    if request.kind == "base":
        from rmaudit.scores.logprobs import base_logprobs

        return base_logprobs(model, prompt, cache=kept, device=device)
    from rmaudit.search.api import search

    assert request.settings is not None, "a search has settings"  # noqa: S101  (for types)
    return search(model, prompt, request.settings, cache=kept)
