"""Make the fixtures of audits of synthetic scorers: each function makes one from a `Trial`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmaudit.errors import MeasureError, NotAsked
from rmaudit.prompts import Prompt

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from rmaudit.scores.sweep_result import Sweep
    from rmaudit.scores.text_rewards import Rewards, TextScores

Organism = Callable[[Sequence[str], Prompt], "NDArray[np.float64]"]


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
        from rmaudit.scores.sweep_result import Sweep

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


def searches(_: Trial) -> Any:  # noqa: ANN401  (none is returned)
    """Refuse to search a synthetic scorer: a model's finds say nothing of it.

    Raises:
        NotAsked: always.
    """
    raise NotAsked("null controls do not search")
