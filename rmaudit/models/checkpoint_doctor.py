"""Compare rewards with the model's own forward pass, across batches and dtypes (`doctor`).

The scoring path, the batch size, the neighbours in a batch and the dtype should not move a reward.
Each is changed alone and the rewards of the same answers compared; differences are in sd of these
rewards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints.heads import CLASSIFIERS
from rmaudit.config.model_registry import Dtype
from rmaudit.conversation import Asked
from rmaudit.errors import ModelError
from rmaudit.layout import saved_tokenizer
from rmaudit.layout.answer_slot import Ids, Response, Slot
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.forward_parity_check import TOLERANCE
from rmaudit.scoring import ScoringPath

EXACT = 1e-4  # sd; what float32 must keep to
_EQUAL = 1e-6  # of the largest reward: a smaller sd is rounding
SLOW = 40  # answers that run one by one
_SMALL = 64  # ids in the small batches


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison of two computations of the same rewards; differences are in sd of the rewards.

    `allowed` limits the largest and `allowed_rms` the rms difference; None is no limit.
    """

    name: str
    largest: float
    rms: float
    allowed: float | None
    answers: int
    allowed_rms: float | None = None

    @classmethod
    def of(
        cls,
        name: str,
        difference: NDArray[np.float32],
        allowed: float | None,
        allowed_rms: float | None = None,
    ) -> Check:
        """Return a `Check` of the largest and rms `difference`, (n,) in sd; None is no limit."""
        rms = float(np.sqrt((difference**2).mean()))
        largest = float(np.abs(difference).max())
        return cls(name, largest, rms, allowed, len(difference), allowed_rms)

    @property
    def ok(self) -> bool:
        """Return whether the largest and the rms difference are within their limits; NaN is not."""
        fine = self.allowed is None or self.largest <= self.allowed
        return fine and (self.allowed_rms is None or self.rms <= self.allowed_rms)


@dataclass(frozen=True, slots=True)
class Examination:
    """The result of `examine`: `ScoringPath`, dtype, device, sd of the rewards, checks, notes.

    `slot` is the prompt as token ids.
    """

    path: ScoringPath
    dtype: str
    device: str
    slot: Slot
    sd: float
    checks: tuple[Check, ...]
    notes: tuple[str, ...]

    @property
    def noise(self) -> float:
        """Return the largest rms difference, in sd, among the checks that have a limit."""
        return max(check.rms for check in self.checks if check.allowed is not None)

    @property
    def ok(self) -> bool:
        """Return whether every check is within its limits."""
        return all(check.ok for check in self.checks)


def examine(model: Checkpoint, prompt: Asked, *, answers: int = 256) -> Examination:
    """Compare rewards of `answers` random answers across batches, repeats, dtypes and own forward.

    The model's own forward pass, answers alone and rewards in float32 are compared with the usual
    rewards. Answers are ids of the vocabulary, and a few of several ids.

    Raises:
        ModelError: the model cannot be loaded or scored, or its rewards are all equal.
    """
    slot = model.slot(prompt)
    asked = draw_answers(model.vocabulary(), answers, np.random.default_rng(0))
    slow = asked[:: max(1, len(asked) // SLOW)]
    scorer = model.weights(slot.prefix, slot.suffix).scorer
    many = model.score(prompt, asked)
    sd = sd_of(many, model.name)
    among = dict(zip(asked, many, strict=True))
    here = np.array([among[answer] for answer in slow])
    limit = EXACT if model.rows.dtype == "float32" else TOLERANCE[model.rows.dtype]

    def check(name: str, other: NDArray[np.float32], allowed: float | None) -> Check:
        return Check.of(name, (other - (many if len(other) == len(many) else here)) / sd, allowed)

    rows = [(*slot.prefix, *answer, *slot.suffix) for answer in slow]
    own = model.own_rewards(rows)
    alone = np.concatenate([model.score(prompt, [answer]) for answer in slow])
    repeated = model.score(prompt, asked)
    before, size = scorer.ids_per_batch, scorer.batch_limit(len(slot.prefix))
    few = min(_SMALL, size)
    scorer.ids_per_batch = few
    try:
        small = model.score(prompt, asked)
    finally:
        scorer.ids_per_batch = before
    checks = [
        check(f"{scorer.path} against the model's own forward", own, limit),
        check("alone against among many", alone, limit),
        check(f"batches of {few} ids against {size}", small, limit),
        check("the same again", repeated, 0.0),
    ]
    compared = saved_tokenizer.comparison(model.rows.layout.tokenizer)
    notes = [compared.said] if compared is not None else []
    if model.identity["head"] not in CLASSIFIERS:
        notes.append("transformers has no class for this head: it is rmaudit's on both sides")
    if model.rows.dtype != "float32":
        try:
            wide = rewards_in_dtype(model, "float32", prompt, asked)
            checks.append(check(f"float32 against {model.rows.dtype}", wide, None))
        except (ModelError, MemoryError) as error:
            notes.append(f"not compared with float32: {error}")
    if (adapter := model.adapter) is not None and (said := adapter.base_in_training):
        if adapter.base_was_nf4:
            other = model.with_adapter(replace(adapter, rounded=True))
            rounded = _scored_once(other, prompt, asked)
            checks.append(check("its base in 4 bits (NF4), as in training", rounded, None))
        else:
            notes.append(f"what the rounding of its base in training ({said}) changed: not known")
    return Examination(
        path=scorer.path,
        dtype=model.rows.dtype,
        device=str(model.provenance["device"]),
        slot=slot,
        sd=sd,
        checks=tuple(checks),
        notes=tuple(notes),
    )


def sd_of(rewards: NDArray[np.float32], name: str) -> float:
    """Return the standard deviation of the model's rewards; raise if they are all equal.

    Raises:
        ModelError: they are all equal, apart from rounding.
    """
    sd = float(rewards.std())
    if sd <= _EQUAL * float(np.abs(rewards).max()):
        raise ModelError(f"{name}: {len(rewards)} answers have one reward: {rewards[0]:g}")
    return sd


def draw_answers(vocabulary: Vocabulary, count: int, rng: np.random.Generator) -> list[Ids]:
    """Draw up to `count` distinct answers: about one in nine has two to five ids, others one id.

    If the vocabulary is too small, each of its ids is drawn, and there are fewer than `count`.
    """
    ids = np.array(vocabulary.ids)
    longer = min(math.ceil(count / 9), math.ceil(len(ids) / 8))
    chosen = rng.choice(ids, size=min(count - longer, len(ids)), replace=False)
    single = [(int(i),) for i in chosen]
    several = [tuple(map(int, rng.choice(ids, size=2 + k % 4))) for k in range(longer)]
    return list(dict.fromkeys([*single, *several]))


def rewards_in_dtype(
    model: Checkpoint, dtype: Dtype, prompt: Asked, answers: Sequence[Response]
) -> NDArray[np.float32]:
    """Return the rewards of `answers` computed in `dtype`, with a second copy of the weights.

    Raises:
        ModelError: the weights cannot be loaded in it, or there is no room for them.
        ScoreError: a reward is not a finite number in it.
    """
    other = Checkpoint(replace(model.spec, dtype=dtype), cache=model.cache, device=model.device)
    return _scored_once(other, prompt, answers)


def _scored_once(
    model: Checkpoint, prompt: Asked, answers: Sequence[Response]
) -> NDArray[np.float32]:
    """Return the rewards of `answers`, and free the model's weights."""
    try:
        return model.score(prompt, answers)
    finally:
        model.close()
