"""Compare rewards that a trainer logged with the model's own (`rmaudit doctor --against`).

Where they differ, common mistakes are tried: another layout of the rows, another place at which the
reward is read, something else that is read there, an adapter that was not applied, a 16-bit type, a
sign, a scale, rows in another order. Of all that explains the rewards, the explanation with the
fewest causes is named. Exact ones go before those that a 16-bit type's rounding would allow.
`scores.served_doctor` explains a server's rewards in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from rmaudit.config.model_registry import Dtype
from rmaudit.errors import ModelError, ScoreError
from rmaudit.layout.answer_slot import Ids, ids_alone
from rmaudit.models import trainer_row_layouts, what_was_read
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.trainer_reward_positions import Fit, Reading, Rewards, fits, readings
from rmaudit.models.trainer_row_layouts import Marks
from rmaudit.models.what_was_read import Values
from rmaudit.scores.causes_of_differences import CAUSES, UNEXPLAINED, Cause
from rmaudit.scores.reward_log_file import LoggedRow

EXACT = 1e-3  # sd: other kernels, in float32
TIMES = 2.5  # times the model's own noise in a 16-bit type: the trainer has one of its own
_DIGIT_ERROR, _MOST_DIGIT_ERROR = 0.35, 0.1  # of the last digit that was written; sd
_RANKS_ALIKE = 0.9  # rank correlation from which on other weights are likelier than another head
_MOST_ROOM_FOR_ORDER = 0.05  # sd: with more room, sorted rewards of any two heads may look alike
DTYPES: tuple[Dtype, ...] = ("bfloat16", "float16", "float32")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of comparing logged rewards with the model's.

    Attributes:
        rows: the number of rows.
        sd: the standard deviation of the model's rewards of these rows.
        causes: what is wrong; empty if the rewards are the model's.
        way: how the rows were laid out and read, in words.
        rms: the difference that the explanation leaves, in sd; if none fits, that of the best one.
        scale, offset: the logged rewards are `scale` times the model's, plus `offset`.
        rank_correlation: Spearman's, for the explanation or, if none fits, the nearest one.
    """

    rows: int
    sd: float
    causes: tuple[Cause, ...]
    way: str
    rms: float
    scale: float
    offset: float
    rank_correlation: float

    @property
    def unexplained(self) -> bool:
        """Return whether the rewards differ from the model's, and nothing that was tried fits."""
        return any(cause.name in UNEXPLAINED for cause in self.causes)

    @property
    def ok(self) -> bool:
        """Return whether the logged rewards are the model's own."""
        return not self.causes


class _Explanation(NamedTuple):
    """A way in which the model's rewards may have become the logged ones, and how well it fits."""

    causes: tuple[str, ...]
    fit: Fit
    way: str
    ours: Rewards
    allowed: float

    @property
    def fits(self) -> bool:
        return self.fit.rms <= self.allowed


def against(
    model: Checkpoint, logged: Sequence[LoggedRow], *, dtypes: Sequence[Dtype] = DTYPES
) -> Diagnosis:
    """Compare logged rewards with the model's own; if they differ, name what explains it.

    Where nothing does in the model's own dtype, the other ones of `dtypes` are tried.

    Raises:
        ModelError: the model cannot be loaded, or reads pairs of texts.
        ScoreError: its rewards of these rows are not finite, or all equal.
    """
    if model.identity["pool"] == "first id":
        message = f"{model.name}: it reads a pair of texts, and --against tries ways to lay out one"
        raise ModelError(message)
    rewards = np.array([row.reward for row in logged], dtype=np.float64)
    marks = trainer_row_layouts.marks_of(model)
    ways, before = _row_layouts(model, logged, marks)
    first = next(iter(ways))
    values = what_was_read.as_it_is(model, {first: ways[first]})
    own = next(readings(ways[first], before, marks, model.rows.pad))
    base = _rewards_at(values["", first], own)
    sd = float(base.std())
    if not np.isfinite(sd) or sd == 0:
        raise ScoreError(f"{model.name}: its rewards of these rows are not finite, or all equal")
    digits = max(row.decimals for row in logged)
    allowed = EXACT + min(_DIGIT_ERROR * 10.0**-digits / sd, _MOST_DIGIT_ERROR)

    def tried(
        dtype: str, values: Mapping[tuple[str, str], Values], allowed: float
    ) -> list[_Explanation]:
        every = _explanations(ways, values, before, marks, model.rows.pad, rewards, allowed)
        return [each._replace(causes=(*each.causes, *([dtype] * bool(dtype)))) for each in every]

    found = tried("", values, allowed)
    if not any(each.fits and not each.causes for each in found):
        found = []
        for more in what_was_read.everything(model, ways):
            values |= more
            found += tried("", more, allowed)
            if any(each.fits for each in found):
                break
    if not any(each.fits for each in found):
        for dtype, there in _in_other_types(model, ways, dtypes):
            noise = _rewards_at(there["", first], own) - base
            room = EXACT + TIMES * float(np.sqrt(np.mean(noise**2))) / sd
            found += tried(dtype, there, room)
            if dtype == "float32":  # then the model's own type has this noise
                found += tried("", values, room)
    return _diagnosis_of(found, rewards, sd)


def _diagnosis_of(tried: Sequence[_Explanation], logged: Rewards, sd: float) -> Diagnosis:
    """Return the diagnosis by the fitting explanation with fewest causes, or by the closest one."""
    fitting = [found for found in tried if found.fits]

    def plainness(each: _Explanation) -> tuple[float, ...]:
        # A scale, with an offset, fits whatever an offset or a sign alone would.
        fewest = (len(each.causes), "scale" in each.causes) if fitting else ()
        return (*fewest, each.fit.rms)

    chosen = min(fitting or tried, key=plainness)
    known = np.isfinite(chosen.ours)
    ranks = float(spearmanr(chosen.ours[known], logged[known]).statistic)
    correlation = abs(np.nan_to_num(ranks))  # of rewards that are all equal there is none
    names = chosen.causes
    if not fitting:
        names = (UNEXPLAINED[0 if correlation >= _RANKS_ALIKE else 1],)
    return Diagnosis(
        rows=len(logged),
        sd=sd,
        causes=tuple(CAUSES[name] for name in dict.fromkeys(names)),
        way=chosen.way,
        rms=chosen.fit.rms,
        scale=chosen.fit.scale,
        offset=chosen.fit.offset,
        rank_correlation=correlation,
    )


def _explanations(  # noqa: PLR0913, PLR0917  (private)
    rows_by_layout: Mapping[str, list[Ids]],
    values: Mapping[tuple[str, str], Values],
    leading_pads: Sequence[int],
    marks: Marks,
    pad: int | None,
    logged: Rewards,
    allowed: float,
) -> Iterator[_Explanation]:
    """Yield an explanation for each of `values`, each place of reading, and each sign or order.

    `values` are what may have been read at each id of the rows, by its name and the layout's.
    """
    deviations = {
        way: trainer_row_layouts.deviations(way, rows_by_layout[way], marks) for _, way in values
    }
    seen: set[tuple[str, str, tuple[int, ...]]] = set()
    for (what, way), of_rows in values.items():
        for reading in readings(rows_by_layout[way], leading_pads, marks, pad):
            if (what, way, reading.places) in seen:
                continue
            seen.add((what, way, reading.places))
            ours = _rewards_at(of_rows, reading)
            said = f"{way}, read {reading.detail or reading.cause or 'where the model reads'}"
            causes = (*filter(None, (what, *deviations[way], reading.cause)),)
            sorted_too = not what and allowed < _MOST_ROOM_FOR_ORDER
            for fit in fits(ours, logged, allowed, any_order=sorted_too):
                yield _Explanation((*causes, *fit.causes), fit, said, ours, allowed)


def _rewards_at(values: Values, reading: Reading) -> Rewards:
    """Return each row's reward at the index that `reading` gives; NaN for index -1 (a pad)."""
    pairs = zip(values, reading.places, strict=True)
    return np.array([row[at] if at >= 0 else np.nan for row, at in pairs], dtype=np.float64)


def _row_layouts(
    model: Checkpoint, logged: Sequence[LoggedRow], marks: Marks
) -> tuple[Mapping[str, list[Ids]], list[int]]:
    """Return the rows' token ids in each possible layout, and each row's number of leading pads."""
    if logged[0].response is not None:
        pairs = [(row.prompt or "", row.response or "") for row in logged]
        return trainer_row_layouts.layouts_of_pairs(pairs, model, marks), [0] * len(logged)
    if logged[0].text is not None:
        rows = [model.ids(ids_alone(model.tokenizer, row.text or "")) for row in logged]
        return trainer_row_layouts.layouts_of_ids(rows, marks), [0] * len(logged)
    cut = [trainer_row_layouts.unpadded(model.ids(row.ids or ()), marks) for row in logged]
    return trainer_row_layouts.layouts_of_ids([row for row, _ in cut], marks), [
        pads for _, pads in cut
    ]


def _in_other_types(
    model: Checkpoint, rows_by_layout: Mapping[str, list[Ids]], dtypes: Sequence[Dtype]
) -> Iterator[tuple[str, dict[tuple[str, str], Values]]]:
    """Score the rows in each other dtype that works; yield the dtype and what may have been read.

    That is by its name and the layout's.
    """
    for dtype in dtypes:
        if dtype == model.rows.dtype:
            continue
        spec = replace(model.spec, dtype=dtype)
        other = Checkpoint(spec, cache=model.cache, device=model.device)
        found: dict[tuple[str, str], Values] = {}
        try:
            for more in what_was_read.everything(other, rows_by_layout):
                found |= more
        except (ModelError, ScoreError, MemoryError):
            pass  # not in this type; what there is is tried, and the other types
        finally:
            other.close()
        if found:
            yield dtype, found
