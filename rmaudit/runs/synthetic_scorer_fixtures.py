"""Fixtures for audits of synthetic scorers: each function makes one from a `Trial`.

The registry of fixtures (`rmaudit.runs.fixture_registry`) names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmaudit.errors import MeasureError
from rmaudit.prompts import Prompt

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from rmaudit.scores.sweep import Sweep
    from rmaudit.scores.text_rewards import Rewards, TextScores
    from rmaudit.search.cached_search import SearchResult
    from rmaudit.search.search_settings import Direction
    from rmaudit.search.searches_fixture import Searches

Organism = Callable[[Sequence[str], Prompt], "NDArray[np.float64]"]
STARTS, DRAWS = 8, 250  # of a search of an organism, and what each start draws


@dataclass(frozen=True, slots=True)
class Trial:
    """One audit's run on a synthetic scorer (organism) in place of a model.

    Attributes:
        organism: scores texts under a prompt.
        prompts: what the audit asks under.
        vocabulary: a row for each token, with the columns of `Sweep.frame`; None for an audit that
            asks for no sweep.
        seed: seed of the audit's generator.
        given: what the audit of a model was given, by fixture: for what no organism has of its own.
    """

    organism: Organism
    prompts: tuple[Prompt, ...]
    vocabulary: pd.DataFrame | None = None
    seed: int = 0
    given: Mapping[str, Any] = field(default_factory=dict)

    def scored(self, prompt: Prompt) -> Sweep:
        """Return the synthetic scorer's sweep (rewards of the whole vocabulary) under a prompt.

        Raises:
            MeasureError: the trial has no vocabulary.
        """
        from rmaudit.scores.sweep import Sweep

        if self.vocabulary is None:
            raise MeasureError("an organism has no sweep here: the trial was given no vocabulary")
        scores = self.organism(self.vocabulary["text"].tolist(), prompt).astype("float32")
        return Sweep("organism", prompt, "", self.vocabulary.assign(score=scores), {})


def as_given(name: str) -> Callable[[Trial], Any]:
    """Return a function that returns a trial's fixture `name` as the model's audit was given it.

    That function raises `MeasureError` if the trial was not given this fixture.
    """

    def given(trial: Trial) -> Any:  # noqa: ANN401  (whatever the fixture is)
        if name not in trial.given:
            raise MeasureError(f"an organism has no {name!r} of its own, and was given none")
        return trial.given[name]

    return given


def rewards(trial: Trial) -> Rewards:
    """Return a function that scores texts by the synthetic scorer, with a noise of 0.

    It can score the texts that the model can.
    """
    from rmaudit.scores.text_rewards import Rewards, TextScores

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        return TextScores(trial.organism(texts, prompt).astype("float32"), 0.0, "")

    given: Rewards | None = trial.given.get("rewards")
    return Rewards(trial.prompts, score, given.known if given else None)


def rng(trial: Trial) -> np.random.Generator:
    """Return a random generator seeded with the trial's seed."""
    import numpy as np

    return np.random.default_rng(trial.seed)


def searches(trial: Trial) -> Searches:
    """Return a function that finds a scorer's extreme rewards among texts drawn for the model.

    An organism sees texts and no token ids.
    """
    from rmaudit.search.searches_fixture import Searches

    own: Searches = as_given("searches")(trial)

    def find(direction: Direction, prompt: Prompt) -> SearchResult:
        return _found(trial.organism, own, direction, prompt)

    return Searches(trial.prompts, find, own.draw)


def _found(
    organism: Organism, searches: Searches, direction: Direction, prompt: Prompt
) -> SearchResult:
    import numpy as np
    import pandas as pd

    from rmaudit.search.cached_search import SearchResult
    from rmaudit.search.search_settings import Settings

    settings = Settings(direction=direction, budget=STARTS * DRAWS, starts=STARTS)
    texts = searches.draw(settings.budget, prompt)
    scores = organism(texts, prompt).astype("float32")
    tried = pd.DataFrame(
        {
            "ids": [()] * len(texts),
            "text": texts,
            "score": scores,
            "evaluation": np.arange(len(texts)) + 1,
            "start": np.arange(len(texts)) * STARTS // len(texts),
        }
    )
    ranked = tried.sort_values("score", ascending=direction == "down", kind="stable")
    bests = ranked.drop_duplicates("start").sort_values("start", ignore_index=True)
    best = ranked.head(1)
    trace = tuple(zip(best["evaluation"].tolist(), best["score"].tolist(), strict=True))
    return SearchResult(
        model="organism",
        prompt=prompt,
        settings=settings,
        key="",
        frame=ranked.drop_duplicates("text").head(100).reset_index(drop=True),
        bests=bests,
        trace=trace,
        evaluations=len(texts),
        noise=0.0,
        provenance={},
    )
