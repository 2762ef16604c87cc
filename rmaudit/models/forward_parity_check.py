"""Check before the first score that rmaudit's rewards are those of the model's own forward pass.

A new version of transformers, an unusual configuration, or a head of another kind would show here
and nowhere else. A few rows are scored both ways, in one batch here and each alone there: ids from
all over the vocabulary, those at its edges (first, last, pad, bos, eos, an added token, a byte),
and answers of several ids. A 16-bit model is tried in float32 too, where memory allows, since its
own noise is larger than what a path gets wrong for a few ids (whole rows are the model's own path:
nothing of theirs is for some ids only). All this happens again at each new length of a prefix; for
a few answers with four rows, and once for lengths that are near each other.

Where a fast path disagrees, full rows take its place, and where these disagree one full row at a
time, both with a warning; where even that disagrees, the model is refused.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import psutil
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rmaudit.checkpoints.third_party_errors import brief
from rmaudit.errors import ModelError, ScoreError
from rmaudit.layout.answer_slot import Ids
from rmaudit.models.own_forward import Weights
from rmaudit.scoring import ScoringPath, engine, memory_sized_batches
from rmaudit.scoring.compiled_layers import as_written

HALF = (torch.bfloat16, torch.float16)
_ROOM = 1.2  # times the copies: what has to be free on the device that is to hold them
# In sd of the rewards. Half-precision noise is far below; a wrong path is far above.
TOLERANCE = {"float32": 1e-3, "float16": 0.3, "bfloat16": 1.0}
MANY = 256  # answers: fewer do not pay for trying every kind of id at a new length

_FEWEST = 3  # finite rewards
_LEAST = 0.01  # of the largest reward: rewards that are closer together leave no sd to measure in


class PathChecks(NamedTuple):
    """The result of comparing rmaudit's rewards with those of the model's own forward pass.

    Attributes:
        sd: of the rewards, in the model's units.
        every: whether every kind of id was tried.
        loosely: why nothing was tried in float32; "" if it was, or need not be.
    """

    sd: float
    every: bool
    loosely: str


def check(  # noqa: PLR0913  (keyword-only after the subjects)
    weights: Weights,
    prefix: Ids,
    suffix: Ids,
    *,
    name: str,
    dtype: str,
    edges: Sequence[int] = (),
    every: bool = True,
    sd: float = 0.0,
) -> PathChecks:
    """Compare rewards with the model's own forward; if they differ, score more slowly, or raise.

    Args:
        weights: what is checked.
        prefix: the ids before the answers that are tried.
        suffix: those after them.
        name: the model's, for errors.
        dtype: what it runs in.
        edges: ids of special kinds; the first and the last id of the vocabulary come first.
        every: whether each kind of id is tried, or only four rows.
        sd: of the rewards of an earlier check; that of four rows may be small by chance.

    Raises:
        ModelError: the engine and the checkpoint's own forward disagree.
    """
    rows = weights.scorer.backbone.get_input_embeddings().num_embeddings  # type: ignore[operator]
    answers, token = _answers(rows, edges), weights.scorer.token
    if token is not None and suffix[-1:] != (token,):
        suffix = (*suffix, token)  # where the reward is read
    if not every:  # the first two, one other id, and an answer of three ids
        answers = [*answers[:2], answers[-4], answers[-2]]
    found = _test_answers(weights, prefix, answers, suffix, TOLERANCE[dtype], sd, nullcontext)
    trials, loosely = [found], ""
    if dtype != "float32" and weights.scorer.path is not ScoringPath.FULL_ROWS:
        loosely = why_not_float32(weights.model)
        try:
            if not loosely:
                wide = TOLERANCE["float32"]
                trials.append(_test_answers(weights, prefix, answers, suffix, wide, sd, in_float32))
        except (ModelError, ScoreError) as error:
            loosely = str(error)

    def gap() -> str:
        return next((reason for trial in trials if trial and (reason := trial.gap())), "")

    _slow_down_until_equal(weights, gap, name)
    return PathChecks(max((trial.sd for trial in trials if trial), default=sd), every, loosely)


def length_class(length: int) -> int:
    """Return the bin into which a prefix length falls; bin edges grow by a factor of about 1.4.

    What goes wrong with length does so beyond some length: that of a window, a rotation, or a
    fused kernel.
    """
    return (length * length).bit_length()


def _slow_down_until_equal(weights: Weights, gap: Callable[[], str], name: str) -> None:
    """Switch to slower scoring until rewards agree with the model's own; raise if they never do.

    It raises `ModelError`. `gap` says how the rewards differ, "" if they agree.
    """
    scorer, reason = weights.scorer, gap()
    if reason and scorer.compiled:
        message = (
            f"{name}: its compiled layers do not give the rewards of its own forward ({reason}); "
            f"remove `compiled` from its entry in models.yaml"
        )
        raise ModelError(message)
    if reason and scorer.path is not ScoringPath.FULL_ROWS:
        warnings.warn(
            f"{name}: the path {scorer.path.value!r} is not exact here ({reason}); scoring full "
            f"rows instead, which is slower",
            stacklevel=2,
        )
        weights.use_path(ScoringPath.FULL_ROWS)
        reason = gap()
    if reason:
        found, scorer.ids_per_batch = scorer.ids_per_batch, 1
        if not gap():
            warnings.warn(
                f"{name}: rows of one batch change each other's rewards ({reason}), as in a "
                f"mixture of experts chosen over the whole batch; scoring one row at a time, which "
                f"is slower",
                stacklevel=2,
            )
            return
        scorer.ids_per_batch = found
        message = (
            f"{name}: rmaudit does not give the rewards of the checkpoint's own forward "
            f"({reason}); its class reads the reward in another way than a plain head on the "
            f"pooled state"
        )
        raise ModelError(message)


@dataclass(frozen=True, slots=True)
class _TestAnswers:
    """A set of test answers, and their rewards computed by the model's own forward pass.

    `own` has shape (n,), one reward for each answer, in one dtype; `allowed` is the largest
    difference, in units of `unit`.
    """

    weights: Weights
    prefix: Ids
    answers: Sequence[Ids]
    suffix: Ids
    own: NDArray[np.float32]
    unit: float
    allowed: float
    run_in: Callable[[Weights], AbstractContextManager[object]]

    @property
    def sd(self) -> float:
        """Return the standard deviation of the rewards by the model's own forward pass."""
        return float(self.own.std())

    def gap(self) -> str:
        """Return how rmaudit's rewards of the answers differ from `own`; "" if they agree."""
        try:
            with self.run_in(self.weights):
                scores = engine.score(self.weights.scorer, self.prefix, self.answers, self.suffix)
        except ModelError as error:
            return str(error)
        except Exception as error:
            if memory_sized_batches.is_out_of_memory(error):
                raise
            return brief(error)
        differences = np.abs(scores - self.own)
        worst = int(differences.argmax())
        if differences[worst] <= self.allowed * self.unit:
            return ""
        return (
            f"rewards differ by up to {differences[worst]:.2g}, their sd being {self.sd:.2g}, "
            f"most for the ids {list(self.answers[worst])}"
        )


def _test_answers(  # noqa: PLR0913, PLR0917  (private, and called twice)
    weights: Weights,
    prefix: Ids,
    answers: Sequence[Ids],
    suffix: Ids,
    allowed: float,
    sd: float,
    run_in: Callable[[Weights], AbstractContextManager[object]],
) -> _TestAnswers | None:
    """Return the answers with finite rewards by the own forward pass in `run_in`; None if too few.

    If they are too few, the scores that were asked for are refused later, with an error that names
    their ids.
    """
    with run_in(weights):
        own = weights.own_rewards([(*prefix, *answer, *suffix) for answer in answers])
    finite = np.isfinite(own)
    if finite.sum() < _FEWEST:
        return None
    some = [answer for answer, kept in zip(answers, finite, strict=True) if kept]
    own = own[finite]
    unit = max(float(own.std()), _LEAST * float(np.abs(own).max()), sd)
    return _TestAnswers(weights, prefix, some, suffix, own, unit, allowed, run_in)


def _answers(rows: int, edges: Sequence[int]) -> list[Ids]:
    """Return test answers: the ids `edges`, six ids below `rows`, and two with several ids."""
    ids = [round(place * (rows - 1) / 7) for place in range(1, 7)]
    several = [tuple(ids[:3]), tuple(ids[1:])]
    return list(dict.fromkeys([*((i,) for i in (*edges, *ids)), *several]))


def warn_of_pad(pad: int, *, name: str) -> None:
    """Warn that the pad token also ends turns, so rewards are read at the answer's last token."""
    warnings.warn(
        f"{name}: its pad token {pad} is also what ends a turn, so the reward is read at the "
        f"answer's last token (transformers' rule). If it was trained to be read at the turn's "
        f"end, add `pool: last` to its entry in models.yaml; `pool: hf` accepts this rule",
        stacklevel=2,
    )


def why_not_float32(model: nn.Module) -> str:
    """Return why the model cannot run in float32, such as too little memory; "" if it can."""
    needed: Counter[torch.device] = Counter()
    for tensor in _tensors(model):
        if tensor.is_meta:
            return "a part of its weights is not in memory"
        if tensor.dtype.itemsize == 1 and tensor.dtype is not torch.bool:
            return "its weights are quantized"
        needed[tensor.device] += 4 * tensor.numel() * (tensor.dtype in HALF)
    for device, size in needed.items():
        free = memory_sized_batches.free_on(device)
        if _ROOM * size > (psutil.virtual_memory().available if free is None else free):
            return f"float32 does not fit into the memory of {str(device)!r} beside its weights"
    return ""


@contextmanager
def in_float32(weights: Weights) -> Iterator[None]:
    """Run the model in float32 inside a `with` block; put the original tensors back afterwards."""
    scorer = weights.scorer
    own = [(tensor, tensor.data) for tensor in _tensors(weights.model) if tensor.dtype in HALF]
    size = scorer.ids_per_batch  # found for the model as it is
    try:
        scorer.forget()
        for tensor, data in own:
            tensor.data = data.float()
        with as_written(scorer):  # to compile the layers for float32 takes longer than the check
            yield
    finally:
        for tensor, data in own:
            tensor.data = data
        scorer.forget()
        scorer.ids_per_batch = size
        memory_sized_batches.release()


def _tensors(model: nn.Module) -> Iterator[Tensor]:
    yield from model.parameters()
    yield from model.buffers()
