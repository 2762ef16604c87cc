"""The reward of an ensemble: the standardised rewards of several models, combined by a rule.

Members with one tokenizer and one chat template are scored by token ids, others by texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.model_spec import Ensemble
from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError, NoGradient
from rmaudit.layout.answer_slot import Ids, Response, Slot
from rmaudit.models.external_scorer_batches import Progress, unwatched
from rmaudit.models.model_factory import Opening, opened
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.models.text_scorer import TextScorer
from rmaudit.prompts import PROMPTS
from rmaudit.sources.ensemble_members import Member, Members

_PROBE = PROMPTS["greatest"].text


def ensemble_of(
    spec: ModelSpec, rule: Ensemble, opening: Opening
) -> EnsembleOfIds | EnsembleOfTexts:
    """Open an ensemble's members; it takes token ids if they lay them out alike, else texts.

    Raises:
        RmauditError: a member cannot be opened.
    """
    models = [cast("Member", opened(member, opening)) for member in rule.members]
    members = Members(rule, models, opening.cache)
    by_ids = [model for model in models if model.takes == "token ids"]
    if len(by_ids) == len(models) and _of_one_layout(by_ids):
        return EnsembleOfIds(spec, members, by_ids)
    return EnsembleOfTexts(spec, members, opening.own_words)


def _of_one_layout(models: Sequence[RewardModel]) -> bool:
    """Return whether all have one tokenizer and one chat template."""
    first, *others = ((model.vocabulary(), _around(model, _PROBE)) for model in models)
    return all(other == first for other in others)


def _around(model: RewardModel, prompt: Asked) -> tuple[Ids, Ids]:
    """Return the token ids before and after an answer to the prompt."""
    slot = model.slot(prompt)
    return slot.prefix, slot.suffix


class EnsembleOfIds(RewardModel):
    """An ensemble whose members share tokenizer and chat template; see `RewardModel`."""

    def __init__(self, spec: ModelSpec, members: Members, by_ids: Sequence[RewardModel]) -> None:
        """Take the members, also as models `by_ids`; rows of token ids are those of the first."""
        self.spec, self._members, self._by_ids = spec, members, by_ids
        self.rows = by_ids[0].rows

    @property
    def identity(self) -> dict[str, str]:
        """Return what determines the scores. See `Members.identity`."""
        return self._members.identity

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return facts for the report. See `Members.provenance`."""
        return {**self._members.provenance, "source": self.spec.source}

    def slot(self, prompt: Asked) -> Slot:
        """Return the prompt as token ids with a hole for the answer.

        Raises:
            ModelError: two members lay it out differently.
        """
        first, *others = self._by_ids
        for other in others:
            if _around(other, prompt) != _around(first, prompt):
                message = (
                    f"{self.name}: {first.name} and {other.name} lay out {short(str(prompt))} "
                )
                raise ModelError(f"{message}differently; give them one chat template")
        return first.slot(prompt)

    def score(
        self, prompt: Asked, responses: Sequence[Response], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each response to the prompt, shape (n,). See `RewardModel`."""
        rewards = self._members.combined(lambda model: model.score(prompt, responses))
        on_progress(len(responses))
        return rewards

    def score_rows(
        self, rows: Sequence[Ids], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each row (prompt and answer ids), all of one prompt, shape (n,)."""
        rewards = self._members.combined(lambda model: model.score_rows(rows))
        on_progress(len(rows))
        return rewards

    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Return each row's reward, (n,), by the members' own forward passes on that row alone."""
        return self._members.combined(lambda model: model.own_rewards(rows))

    def gradient(self, prompt: Asked, answers: Sequence[Sequence[int]]) -> NoReturn:  # noqa: ARG002  (as `RewardModel` has it)
        """Raise `NoGradient`: of an ensemble none is made."""
        raise NoGradient(self.name, "an ensemble gives rewards of several models, and no gradients")

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield lines (label, text): the rule, the members' scales, vocabulary, a sample prompt."""
        yield from self._members.look()
        yield from super().look()

    def close(self) -> None:
        """Free the weights of all members."""
        self._members.close()


class EnsembleOfTexts(TextScorer):
    """An ensemble of models with several tokenizers, or that take texts; see `TextScorer`."""

    kind = "an ensemble of models without a common tokenizer"

    def __init__(self, spec: ModelSpec, members: Members, own_words: OwnWords) -> None:
        """Take the members; the vocabulary is the common words of the run's language."""
        entry = ScorerEntry(spec.name, self.batch, None, "members", spec.batch, 0, 1)
        super().__init__(entry, spec, own_words)
        self._members = members
        self.takes_turns = all(m.takes != "texts" or m.takes_turns for m in members.models)

    @property
    def identity(self) -> dict[str, str]:
        """Return what determines the scores. See `Members.identity`."""
        return self._members.identity

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return facts for the report. See `Members.provenance`."""
        return {**self._members.provenance, "source": self.spec.source}

    def batch(self, prompt: Asked, responses: Sequence[str]) -> list[float]:
        """Return the rewards of responses to one prompt."""
        rewards: list[float] = self._members.combined(
            lambda model: model.score(prompt, responses)
        ).tolist()
        return rewards

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield lines (label, text): the rule, the members' scales, how texts are scored."""
        yield from self._members.look()
        yield from super().look()

    def close(self) -> None:
        """Free the weights of all members."""
        self._members.close()
