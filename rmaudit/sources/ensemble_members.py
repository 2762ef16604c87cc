"""The members of an ensemble: how each one's rewards are standardised, and how they are combined.

Rewards of two models have neither zero nor scale in common. So each member's are shifted and scaled
by two numbers: their mean over the bundled pairs of short answers, and their sd there within
prompts. These two are fixed for a member, whichever answers are asked: scores are cached, and
compared between prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rmaudit import json_cache
from rmaudit.config.model_spec import Ensemble
from rmaudit.errors import ModelError
from rmaudit.measures.combined_rewards import combined, name_of
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.models.text_scorer import TextScorer
from rmaudit.references.text_changes import BUNDLED
from rmaudit.scores import pair_files
from rmaudit.scores.score_parquet import checksum

_VERSION = "1"  # raise it when members are standardised in another way
Member: TypeAlias = RewardModel | TextScorer


class _Scale(NamedTuple):
    """What is taken from a member's rewards, and what they are divided by."""

    mean: float
    sd: float


class Members:
    """The models of an ensemble, how each is standardised, and how they are combined."""

    def __init__(self, rule: Ensemble, models: Sequence[Member], cache: Path) -> None:
        """Take the models, opened; they are scored at the first reward."""
        self.rule, self.models, self._cache = rule, models, cache

    @cached_property
    def identity(self) -> dict[str, str]:
        """Return the rule, k, and hashes of the members and of what they are standardised on."""
        rule = self.rule
        each = [dict(model.identity) for model in self.models]
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
        facts = {
            key: value for model in reversed(self.models) for key, value in model.provenance.items()
        }
        named = ", ".join(model.name for model in self.models)
        return {**facts, "path": f"{name_of(self.rule.rule, self.rule.k)} of {named}"}

    @cached_property
    def _scales(self) -> list[_Scale]:
        return [self._scale(model) for model in self.models]

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

    def combined(self, of: Callable[[Any], NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the ensemble's rewards, (n,), where `of` gives those of a member."""
        each = [
            (of(model).astype(float) - scale.mean) / scale.sd
            for model, scale in zip(self.models, self._scales, strict=True)
        ]
        return combined(each, self.rule.rule, self.rule.k).astype(np.float32)

    def look(self) -> Iterator[tuple[str, str]]:
        """Yield a line (label, text) on the rule, and on each member's scale."""
        yield "reward", str(self.provenance["path"])
        for model, scale in zip(self.models, self._scales, strict=True):
            yield "member", f"{model.name}: (reward {-scale.mean:+.4g}) / {scale.sd:.4g}"

    def close(self) -> None:
        """Free the weights of all members."""
        for model in self.models:
            model.close()
