"""Check that a server's rewards repeat and equal those of its checkpoint (`rmaudit doctor`).

Server and checkpoint score the same answers. The server may run in another dtype, so if its rewards
are not those of the checkpoint in float32, the checkpoint is run in the 16-bit types too. How far
it is then from itself in float32 is what such a type does to this model, and a faithful server is
not much farther from it. Both are taken over the same answers, so the result does not hang on how
many these are; a wrong template, pooling, head or scale is off by more. What explains such a
difference is looked for as in rewards that a trainer logged (`scores.logged_rewards_check`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.config.model_registry import Dtype
from rmaudit.errors import ModelError, ScoreError
from rmaudit.models import what_was_read
from rmaudit.models.checkpoint_doctor import SLOW, Check, draw_answers, rewards_in_dtype, sd_of
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scores import logged_rewards_check
from rmaudit.scores.reward_log_file import LoggedRow

# Rms differences in sd of the server's rewards.
EXACT = 1e-3  # from the checkpoint in float32: other kernels
ITSELF = 0.2  # from the server's own answer: a 16-bit reward depends on its neighbours in a batch
# Times the checkpoint's noise in a 16-bit type: the server has a noise of its own, as large.
TIMES, TIMES_LARGEST = 2.5, 4
_ANSWER = "Yes."
_EXPLAINED = 16  # answers among which a cause is looked for, each by whole rows
LEAST_CORRELATION = 0.99  # of ranks; less where the noise alone takes more away
_LEAST_EVER = 0.9

Rewards = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ServerChecks:
    """The result of checking that a server's rewards repeat and equal those of its checkpoint.

    Attributes:
        sd: of the server's rewards.
        checks: the server against itself, and against the checkpoint in each dtype that was tried.
        dtype: the one in which the checkpoint fits, or is nearest; None without a checkpoint.
        rank_correlation: Spearman's with the checkpoint in that dtype; None without one.
        least_correlation: the lowest that is allowed.
        notes: sentences on what was found.
    """

    sd: float
    checks: tuple[Check, ...]
    dtype: str | None
    rank_correlation: float | None
    least_correlation: float
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Return whether the checks and the rank correlation are within tolerance; NaN is not."""
        ranks = self.rank_correlation
        fine = ranks is None or ranks >= self.least_correlation
        return fine and all(check.ok for check in self.checks)


def compare(
    model: RewardModel | TextScorer,
    local: Checkpoint | None,
    prompt: str,
    *,
    answers: int = 256,
) -> ServerChecks:
    """Check that a server's rewards of random answers repeat, and equal those of `local`.

    `local` is the checkpoint that the server is said to serve; None if there is none here.

    Raises:
        ModelError: the server or the checkpoint cannot score, or rewards are all equal.
    """
    rng = np.random.default_rng(0)
    score: Callable[[str, Sequence[Any]], Rewards] = model.score
    asked: Sequence[Any] = _draw_texts(model, answers, rng)
    if model.takes == "token ids":
        asked = draw_answers(model.vocabulary(), answers, rng)
    served = score(prompt, asked)
    if not np.ptp(served):
        raise ModelError(_one_reward(model, local, prompt, served))
    sd = sd_of(served, model.name)
    step = max(1, len(asked) // SLOW)
    alone = np.concatenate([score(prompt, [answer]) for answer in asked[::step]])
    again = score(prompt, asked)
    checks = (
        Check.of("the server, asked again", (again - served) / sd, None, ITSELF),
        Check.of(
            "the server, alone against in batches", (alone - served[::step]) / sd, None, ITSELF
        ),
    )
    if local is None:
        note = "no checkpoint to compare with: name it as `checkpoint` in models.yaml"
        return ServerChecks(sd, checks, None, None, LEAST_CORRELATION, (note,))
    fits, notes = _comparisons(local, prompt, asked, served)
    fitting = [fit for fit in fits if fit.ok]
    best = min(fitting, key=lambda fit: fit.check.rms) if fitting else _nearest(fits)
    compared = tuple(
        fit.check if fit is best else replace(fit.check, allowed=None, allowed_rms=None)
        for fit in fits
    )
    said = [*notes, f"the server's scores fit the checkpoint in {best.dtype}"]
    if not best.ok:
        some = slice(None, None, max(1, len(asked) // _EXPLAINED))
        said[-1:] = [
            f"the server's scores fit the checkpoint in no dtype; the nearest is {best.dtype}",
            *_explained(local, _as_logged(model, prompt, asked[some], served[some]), fits),
        ]
    said += _other_template(model, prompt)
    return ServerChecks(
        sd, (*checks, *compared), best.dtype, best.ranks, best.least_ranks, tuple(said)
    )


@dataclass(frozen=True, slots=True)
class _DtypeComparison:
    """A comparison of a server's rewards with `here`, its checkpoint's rewards in one dtype.

    `ranks` is Spearman's correlation, and `least_ranks` the lowest that is allowed.
    """

    dtype: Dtype
    here: Rewards
    check: Check
    ranks: float
    least_ranks: float

    @property
    def ok(self) -> bool:
        """Return whether the server's rewards agree with the checkpoint's in this dtype."""
        return self.check.ok and self.ranks >= self.least_ranks


def _comparisons(
    local: Checkpoint, prompt: str, asked: Sequence[Any], served: Rewards
) -> tuple[list[_DtypeComparison], list[str]]:
    """Compare served rewards with the checkpoint's in float32; if these differ, in 16-bit types.

    A dtype of the entry is tried in place of the 16-bit types. Returns the comparisons, and a
    sentence for each dtype that could not be tried.

    Raises:
        ModelError: the checkpoint cannot be scored in any dtype.
    """
    fits: list[_DtypeComparison] = []
    failures: list[str] = []
    dtypes: tuple[Dtype, ...] = ("float32", "bfloat16", "float16")
    if local.spec.dtype != "auto":
        dtypes = ("float32", local.spec.dtype)
    for dtype in dict.fromkeys(dtypes):
        if fits and fits[0].dtype == "float32" and fits[0].ok:
            break
        try:
            here = rewards_in_dtype(local, dtype, prompt, asked)
        except (ModelError, ScoreError, MemoryError) as error:
            failures.append(f"not compared with {dtype}: {error}")
            continue
        fits.append(_comparison(dtype, here, fits[0].here if fits else here, served))
    if not fits:
        raise ModelError("; ".join(failures))
    return fits, failures


def _comparison(dtype: Dtype, here: Rewards, widest: Rewards, served: Rewards) -> _DtypeComparison:
    """Compare `served` with `here`, the checkpoint's rewards in `dtype`; `widest` gives the noise.

    `widest` are the checkpoint's rewards in the widest dtype that could run: how far those of
    `dtype` are from them is the noise that is allowed.
    """
    import torch

    name, sd = f"the server against {dtype} here", float(served.std())
    ranks = float(spearmanr(served, here).statistic)
    difference = (served - here) / sd
    if widest is here:  # nothing to measure its noise with
        allowed = EXACT if dtype == "float32" else ITSELF
        check = Check.of(name, difference, None, allowed)
        return _DtypeComparison(dtype, here, check, ranks, LEAST_CORRELATION)
    rounded = torch.from_numpy(here).to(getattr(torch, dtype)).float().numpy()
    noise = rounded - widest
    lost = 1 - float(spearmanr(rounded, widest).statistic)
    least = min(LEAST_CORRELATION, max(_LEAST_EVER, 1 - TIMES**2 * lost))
    rms, largest = float(np.sqrt((noise**2).mean())), float(np.abs(noise).max())
    allowed = max(EXACT, TIMES_LARGEST * largest / sd)
    check = Check.of(name, difference, allowed, max(EXACT, TIMES * rms / sd))
    return _DtypeComparison(dtype, here, check, ranks, least)


def _nearest(fits: Sequence[_DtypeComparison]) -> _DtypeComparison:
    """Return the comparison with the best rank correlation, if possible one within its limit."""
    ranks = {fit.dtype: float(np.nan_to_num(fit.ranks, nan=-2.0)) for fit in fits}
    return max(fits, key=lambda fit: (ranks[fit.dtype] >= fit.least_ranks, ranks[fit.dtype]))


def _as_logged(
    model: RewardModel | TextScorer, prompt: str, asked: Sequence[Any], served: Rewards
) -> list[LoggedRow]:
    """Return what the server was sent and what it gave, as a trainer would have logged it."""
    if model.takes == "texts":
        pairs = zip(asked, served.tolist(), strict=True)
        return [LoggedRow(reward, 16, prompt=prompt, response=text) for text, reward in pairs]
    slot = model.slot(prompt)
    rows = [slot.row(model.ids(answer)) for answer in asked]
    return [LoggedRow(r, 16, ids=row) for row, r in zip(rows, served.tolist(), strict=True)]


def _explained(
    local: Checkpoint, logged: Sequence[LoggedRow], fits: Sequence[_DtypeComparison]
) -> Iterator[str]:
    """Yield sentences on what explains that a server's rewards are not those of its checkpoint.

    What explains them exactly is looked for in float32, and else in the dtypes of `fits`.
    """
    wide = _in_float32(local)
    try:
        found = logged_rewards_check.against(wide, logged, dtypes=[fit.dtype for fit in fits])
    except (ModelError, ScoreError, MemoryError) as error:
        yield f"what explains it was not looked for: {error}"
        return
    finally:
        wide.close()
    causes = [each for each in found.causes if each.name not in logged_rewards_check.DTYPES]
    if causes and not found.unexplained:
        for cause in causes:
            yield f"{cause.name}: {cause.said}; to mend it: {cause.mend}"
        if (found.scale, found.offset) != (1, 0):
            yield f"they are {found.scale:.3g} times the checkpoint's and {found.offset:+.3g}"
        return
    yield (
        f"none of the causes that rmaudit knows explains them (rank correlation "
        f"{found.rank_correlation:.4f}): are weights, chat template and pooling the checkpoint's?"
    )


def _one_reward(
    model: RewardModel | TextScorer, local: Checkpoint | None, prompt: str, served: Rewards
) -> str:
    """Return the error for a server that gives all answers one reward, with why, where known."""
    reward = float(served[0])
    said = f"{model.name}: {len(served)} answers have one reward: {reward:g}"
    if reward == 1:
        return f"{said}, as a softmax over one class gives; have the server return logits"
    if local is None:
        return f"{said}, so the server reads nothing of an answer"
    slot, wide = local.slot(prompt), _in_float32(local)
    row = slot.row(local.vocabulary().ids[:1])
    try:
        (there,) = what_was_read.as_it_is(wide, {"": [row]})["", ""]
    finally:
        wide.close()
    own, before = there[: len(slot.prefix)], len(slot.prefix)
    at = int(np.abs(own - reward).argmin())
    if abs(own[at] - reward) > EXACT * float(there.std()):
        return f"{said}, and the checkpoint gives no id of the prompt this reward"
    return (
        f"{said}. It is what the checkpoint gives at id {at + 1} of the {before} before the "
        f"answer: the server reads the reward there, and not where the row ends, or cuts rows"
    )


def _in_float32(local: Checkpoint) -> Checkpoint:
    spec = replace(local.spec, dtype="float32")
    return Checkpoint(spec, cache=local.cache, device=local.device)


def _other_template(model: RewardModel | TextScorer, prompt: str) -> list[str]:
    """Return a sentence if the server's own chat template prints other ids than were sent."""
    if model.takes == "texts" or model.spec.judge is not None:
        return []
    slot, answer = model.slot(prompt), model.ids(_ANSWER)
    ours = slot.row(answer)
    theirs = model.rendered_there(prompt, _ANSWER)
    if theirs is None or theirs == ours:
        return []
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), -1)
    at = min(len(ours), len(theirs)) if at < 0 else at
    printed = [model.tokenizer.decode(list(ids[max(0, at - 3) :])) for ids in (theirs, ours)]
    said = (
        f"the server's own chat template prints other ids than rmaudit sent, from id {at + 1} on: "
        f"{short(repr(printed[0]), 60)} and not {short(repr(printed[1]), 60)}. These rewards do "
        f"not depend on it, but those of whoever sends messages do: start the server with the "
        f"checkpoint's template (--chat-template), or give its own as `template:` in models.yaml"
    )
    return [said]


def _draw_texts(model: RewardModel | TextScorer, count: int, rng: np.random.Generator) -> list[str]:
    """Draw up to `count` distinct texts from the vocabulary, none of them blank."""
    texts = list(dict.fromkeys(text for text in model.vocabulary().texts if text.strip()))
    return [texts[i] for i in rng.choice(len(texts), size=min(count, len(texts)), replace=False)]
