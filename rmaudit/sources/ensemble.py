"""Open an ensemble: the standardised rewards of several models, combined by a rule.

Rewards of two models have neither zero nor scale in common. So each member's are shifted and scaled
by two numbers: their mean over the bundled pairs of short answers, and their sd there within
prompts. These two are fixed for a member, whichever answers are asked: scores are cached, and
compared between prompts.

Members with one tokenizer and one chat template are scored by token ids, others by texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rmaudit import json_cache
from rmaudit.checkpoints.third_party_errors import short
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.scorer_functions import ScorerEntry
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError
from rmaudit.layout.answer_slot import Ids, Response, Slot
from rmaudit.measures.combined_rewards import combined, name_of
from rmaudit.models.external_scorer_batches import Progress, unwatched
from rmaudit.models.model_factory import Opening, opened
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.models.text_scorer import TextScorer
from rmaudit.prompts import PROMPTS
from rmaudit.references.text_changes import BUNDLED
from rmaudit.scores import pair_files
from rmaudit.scores.score_parquet import checksum

_PROBE = PROMPTS["greatest"].text
_VERSION = "1"  # raise it when members are standardised in another way
Member: TypeAlias = RewardModel | TextScorer


def ensemble_of(spec: ModelSpec, opening: Opening) -> EnsembleOfIds | EnsembleOfTexts:
    """Open an ensemble's members; it takes token ids if they lay them out alike, else texts.

    Raises:
        RmauditError: a member cannot be opened.
    """
    assert spec.ensemble is not None, "its kind says so"  # noqa: S101  (for types)
    models = [cast("Member", opened(member, opening)) for member in spec.ensemble.members]
    by_ids = [model for model in models if model.takes == "token ids"]
    if len(by_ids) == len(models) and _of_one_layout(by_ids):
        return EnsembleOfIds(spec, by_ids, opening)
    return EnsembleOfTexts(spec, models, opening)


def _of_one_layout(models: Sequence[RewardModel]) -> bool:
    """Return whether all have one tokenizer and one chat template."""
    first, *others = ((model.vocabulary(), _around(model, _PROBE)) for model in models)
    return all(other == first for other in others)


def _around(model: RewardModel, prompt: Asked) -> tuple[Ids, Ids]:
    """Return the token ids before and after an answer to the prompt."""
    slot = model.slot(prompt)
    return slot.prefix, slot.suffix


class _Scale(NamedTuple):
    """What is taken from a member's rewards, and what they are divided by."""

    mean: float
    sd: float


class _Combined:
    """What both kinds of ensembles are: members, how each is standardised, and the rule."""

    spec: ModelSpec

    def _take(self, models: Sequence[Member], opening: Opening) -> None:
        """Take the members, opened; they are scored at the first reward."""
        assert self.spec.ensemble is not None, "its kind says so"  # noqa: S101  (for types)
        self._rule, self._members, self._cache = self.spec.ensemble, models, opening.cache

    @cached_property
    def identity(self) -> dict[str, str]:
        """Return the rule, k, and hashes of the members and of what they are standardised on."""
        rule = self._rule
        each = [dict(model.identity) for model in self._members]
        return {
            "head": "ensemble",
            "rule": f"{rule.rule} {rule.k!r}" if rule.rule == "mean-sd" else rule.rule,
            "weights": hashlib.sha256(json.dumps(each, sort_keys=True).encode()).hexdigest(),
            "standardised on": checksum(pair_files.read(BUNDLED).frame),
            "standardised by": _VERSION,
        }

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Return facts for the report: those of all members, their names and the rule."""
        facts = [model.provenance.items() for model in reversed(self._members)]
        named = ", ".join(model.name for model in self._members)
        return {
            **{key: value for each in facts for key, value in each},
            "path": f"{name_of(self._rule.rule, self._rule.k)} of {named}",
            "source": self.spec.source,
        }

    @cached_property
    def _scales(self) -> list[_Scale]:
        return [self._scale(model) for model in self._members]

    def _scale(self, model: Member) -> _Scale:
        """Return a member's mean and sd over the bundled pairs, scored once and then cached.

        Raises:
            ModelError: it gives all answers to a prompt one reward.
        """
        pairs = pair_files.read(BUNDLED).frame

        def make() -> list[float]:
            prompts, answers = (pairs[name].tolist() for name in ("prompt", "response"))
            rewards = model.score_each(prompts, answers).astype(float)
            within = rewards - pairs.assign(reward=rewards).groupby("prompt")["reward"].transform(
                "mean"
            )
            return [float(rewards.mean()), float(np.sqrt((within**2).mean()))]

        fields = {**model.identity, "pairs": checksum(pairs), "version": _VERSION}
        scale = _Scale(*json_cache.cached(self._cache, "ensemble-scale", fields, make))
        if not scale.sd > 0:
            message = f"{model.name} gives each two answers of rmaudit's bundled pairs one reward"
            raise ModelError(f"{message}, so it has no scale; leave it out of the ensemble")
        return scale

    def _combined(self, of: Callable[[Any], NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the ensemble's rewards, (n,), where `of` gives those of a member."""
        each = [
            (of(model).astype(float) - scale.mean) / scale.sd
            for model, scale in zip(self._members, self._scales, strict=True)
        ]
        return combined(each, self._rule.rule, self._rule.k).astype(np.float32)

    def _look_at_members(self) -> Iterator[tuple[str, str]]:
        """Yield a line (label, text) on the rule, and on each member's scale."""
        yield "reward", str(self.provenance["path"])
        for model, scale in zip(self._members, self._scales, strict=True):
            yield "member", f"{model.name}: (reward {-scale.mean:+.4g}) / {scale.sd:.4g}"

    def close(self) -> None:
        """Free the weights of all members."""
        for model in self._members:
            model.close()


class EnsembleOfIds(_Combined, RewardModel):
    """An ensemble whose members share tokenizer and chat template; see `RewardModel`."""

    no_gradient = "an ensemble gives rewards of several models, and no gradients"

    def __init__(self, spec: ModelSpec, models: Sequence[RewardModel], opening: Opening) -> None:
        """Take the members; rows of token ids are those of the first."""
        self.spec, self._by_ids, self.rows = spec, models, models[0].rows
        self._take(models, opening)

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
        rewards = self._combined(lambda model: model.score(prompt, responses))
        on_progress(len(responses))
        return rewards

    def score_rows(
        self, rows: Sequence[Ids], *, on_progress: Progress = unwatched
    ) -> NDArray[np.float32]:
        """Return the reward of each row (prompt and answer ids), all of one prompt, shape (n,)."""
        rewards = self._combined(lambda model: model.score_rows(rows))
        on_progress(len(rows))
        return rewards

    def own_rewards(self, rows: Sequence[Ids]) -> NDArray[np.float32]:
        """Return each row's reward, (n,), by the members' own forward passes on that row alone."""
        return self._combined(lambda model: model.own_rewards(rows))

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield lines (label, text): the rule, the members' scales, vocabulary, a sample prompt."""
        yield from self._look_at_members()
        yield from super().look()


class EnsembleOfTexts(_Combined, TextScorer):
    """An ensemble of models with several tokenizers, or that take texts; see `TextScorer`."""

    kind = "an ensemble of models without a common tokenizer"

    def __init__(self, spec: ModelSpec, models: Sequence[Member], opening: Opening) -> None:
        """Take the members; the vocabulary is the common words of the run's language."""
        entry = ScorerEntry(spec.name, self.batch, None, "members", spec.batch, 0, 1)
        super().__init__(entry, spec, opening.own_words)
        self._take(models, opening)
        self.takes_turns = all(m.takes != "texts" or m.takes_turns for m in models)

    def batch(self, prompt: Asked, responses: Sequence[str]) -> list[float]:
        """Return the rewards of responses to one prompt."""
        found = self._combined(lambda model: model.score(prompt, responses))
        rewards: list[float] = found.tolist()
        return rewards

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield lines (label, text): the rule, the members' scales, how texts are scored."""
        yield from self._look_at_members()
        yield from super().look()
