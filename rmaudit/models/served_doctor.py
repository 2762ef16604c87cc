"""`rmaudit doctor` for a server: check that its rewards repeat and equal those of its checkpoint.

Server and checkpoint score the same answers. The server may run in another dtype, so if its rewards
are not those of the checkpoint in float32, the checkpoint is run in the 16-bit types too. How far
it is then from itself in float32 is what such a type does to this model, and a faithful server is
not much farther from it. Both are taken over the same answers, so the result does not hang on how
many these are; a wrong template, pooling, head or scale is off by more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from rmaudit.errors import ModelError, ScoreError
from rmaudit.models.checkpoint_doctor import SLOW, Check, draw_answers, rewards_in_dtype, sd_of
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.served_model import ServedIds, ServedTexts

# Rms differences in sd of the server's rewards.
EXACT = 1e-3  # from the checkpoint in float32: other kernels
ITSELF = 0.2  # from the server's own answer: a 16-bit reward depends on its neighbours in a batch
# Times the checkpoint's noise in a 16-bit type: the server has a noise of its own, as large.
TIMES, TIMES_LARGEST = 2.5, 4
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
    model: ServedIds | ServedTexts,
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
    if isinstance(model, ServedIds):
        asked = draw_answers(model.vocabulary(), answers, rng)
    served = score(prompt, asked)
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
    compared = tuple(fit.check if fit is best else _without_limits(fit.check) for fit in fits)
    said = (*notes, *_sentences(served, best, max(fit.noise for fit in fits)))
    return ServerChecks(sd, (*checks, *compared), best.dtype, best.ranks, best.least_ranks, said)


@dataclass(frozen=True, slots=True)
class _DtypeComparison:
    """A comparison of a server's rewards with `here`, its checkpoint's rewards in one dtype.

    `noise` is the rms change of rewards by the dtype, in the model's units; `ranks` is
    Spearman's correlation, and `least_ranks` the lowest that is allowed.
    """

    dtype: str
    here: Rewards
    noise: float
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
    asked_for = () if local.spec.dtype == "auto" else (local.spec.dtype,)
    for dtype in dict.fromkeys(("float32", *(asked_for or ("bfloat16", "float16")))):
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


def _comparison(dtype: str, here: Rewards, widest: Rewards, served: Rewards) -> _DtypeComparison:
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
        return _DtypeComparison(dtype, here, 0.0, check, ranks, LEAST_CORRELATION)
    rounded = torch.from_numpy(here).to(getattr(torch, dtype)).float().numpy()
    noise = rounded - widest
    lost = 1 - float(spearmanr(rounded, widest).statistic)
    least = min(LEAST_CORRELATION, max(_LEAST_EVER, 1 - TIMES**2 * lost))
    rms, largest = float(np.sqrt((noise**2).mean())), float(np.abs(noise).max())
    allowed = max(EXACT, TIMES_LARGEST * largest / sd)
    check = Check.of(name, difference, allowed, max(EXACT, TIMES * rms / sd))
    return _DtypeComparison(dtype, here, rms, check, ranks, least)


def _nearest(fits: Sequence[_DtypeComparison]) -> _DtypeComparison:
    """Return the comparison with the best rank correlation, if possible one within its limit."""
    ranks = {fit.dtype: float(np.nan_to_num(fit.ranks, nan=-2.0)) for fit in fits}
    return max(fits, key=lambda fit: (ranks[fit.dtype] >= fit.least_ranks, ranks[fit.dtype]))


def _without_limits(check: Check) -> Check:
    return replace(check, allowed=None, allowed_rms=None)


def _sentences(served: Rewards, best: _DtypeComparison, noise: float) -> Iterator[str]:
    """Yield sentences: in which dtype the rewards agree, or what the server may do differently.

    `noise` is the rms noise of the narrowest dtype, which the server may run in.
    """
    if best.ok:
        yield f"the server's scores fit the checkpoint in {best.dtype}"
        return
    yield f"the server's scores fit the checkpoint in no dtype; the nearest is {best.dtype}"
    if best.ranks < best.least_ranks:
        yield "their order is another one: are weights, chat template and pooling the checkpoint's?"
        return
    if served.min() >= 0 and served.max() <= 1:
        yield "they have its order and lie within 0 and 1: does the server apply a sigmoid?"
        return
    slope, offset = np.polyfit(best.here.astype(float), served.astype(float), 1)
    left = served - (slope * best.here + offset)
    exact = max(EXACT * float(best.here.std()), TIMES * noise)
    if float(np.sqrt((left**2).mean())) <= abs(slope) * exact:
        fitted = f"{slope:.3g} times the checkpoint's and {offset:+.3g}"
        yield (
            f"they have its order and another scale, {fitted}: does the server normalize them "
            f"(OpenRLHF's --normalize_reward), or apply an activation?"
        )


def _draw_texts(model: ServedIds | ServedTexts, count: int, rng: np.random.Generator) -> list[str]:
    """Draw up to `count` distinct texts from the vocabulary, none of them blank."""
    texts = list(dict.fromkeys(text for text in model.vocabulary().texts if text.strip()))
    return [texts[i] for i in rng.choice(len(texts), size=min(count, len(texts)), replace=False)]
