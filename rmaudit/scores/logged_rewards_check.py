"""`rmaudit doctor --against`: compare the rewards that a trainer logged with the model's own.

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
from rmaudit.scores.reward_log_file import LoggedRow

EXACT = 1e-3  # sd: other kernels, in float32
TIMES = 2.5  # times the model's own noise in a 16-bit type: the trainer has one of its own
_DIGIT_ERROR, _MOST_DIGIT_ERROR = 0.35, 0.1  # of the last digit that was written; sd
_RANKS_ALIKE = 0.9  # rank correlation from which on other weights are likelier than another head
_MOST_ROOM_FOR_ORDER = 0.05  # sd: with more room, sorted rewards of any two heads may look alike
DTYPES: tuple[Dtype, ...] = ("bfloat16", "float16", "float32")
UNEXPLAINED = ("other weights", "head")


class Cause(NamedTuple):
    """A cause of a difference between logged rewards and the model's, and its remedy, in words."""

    name: str
    said: str
    mend: str


_SERVE_HEAD = "serve the model as a sequence classifier, with its head: an embedding is no reward"
_MERGE = (
    "merge the adapter (PEFT's merge_and_unload), save the merged model and use that; servers may "
    "accept an adapter whose tensors they have no place for, and go on without them"
)
_CAUSES = {
    cause.name: cause
    for cause in (
        Cause("second BOS", "the rows that were scored begin with two BOS",
              "tokenize rendered text with add_special_tokens=False"),
        Cause("BOS", "the rows that were scored begin with a BOS that the model's layout has not",
              "tokenize rendered text with add_special_tokens=False"),
        Cause("no BOS", "the rows that were scored lack the BOS that the model's layout has",
              "tokenize with the tokenizer's special tokens, or add its BOS"),
        Cause("no template", "the rows that were scored are not in the chat template",
              "render them by tokenizer.apply_chat_template; or, if the model was trained so, give "
              "rmaudit that layout as `template:` in models.yaml"),
        Cause("template", "the rows that were scored are laid out by another template than the "
              "model's own",
              "compare the chat template that the trainer or server applies with the one that the "
              "model's folder has; give the one that it was trained with as `template:` in "
              "models.yaml"),
        Cause("eos", "the rows that were scored end with an eos after the template's own end",
              "leave the eos out where a template is applied"),
        Cause("end", "the rows that were scored do not end as the chat template ends",
              "look for max_length, which cuts rows, and for a template that prints no end"),
        Cause("last id", "the reward was read at the last id, not where the model's rule reads it",
              "write `pool: last` in models.yaml if the model was trained so"),
        Cause("pad is eos", "the reward was read before the token that ends the turn, because it "
              "is taken for padding",
              "give the tokenizer a pad token of its own before training, and set "
              "model.config.pad_token_id; or write `pool: hf` in models.yaml for a model that was "
              "trained so"),
        Cause("one early", "the reward was read one id before the end of the row",
              "read it at attention_mask.sum() - 1 of rows padded on the right"),
        Cause("prompt's end", "the reward was read at the last id before the answer",
              "read it where the answer ends; see by which mask its place is counted"),
        Cause("left padding", "rows were padded on the left and read as if padded on the right, so "
              "that all but the longest were read in their middle",
              'set tokenizer.padding_side = "right", or read the last column'),
        Cause("unit state", "the head read the state scaled to length 1, as embeddings are scaled",
              "serve the model as a sequence classifier, whose states are pooled as they are"),
        Cause("last number", "no head was applied: the reward is the last number of the state",
              _SERVE_HEAD),
        Cause("unit last number", "no head was applied: the reward is the last number of the "
              "state scaled to length 1, which is an embedding",
              _SERVE_HEAD),
        Cause("softmax", "the rewards were put through a softmax over the head's outputs",
              "log logits: with vLLM, use_activation=false"),
        Cause("no adapter", "the adapter is missing: its LoRA was not applied to the base", _MERGE),
        Cause("base", "the adapter is missing: these are the rewards of its base", _MERGE),
        Cause("base head", "the adapter's head is missing: its base's head reads the states",
              _MERGE),
        Cause("bfloat16", "the trainer ran in bfloat16",
              "nothing, if that is meant; audit what it saw with --rm-dtype bfloat16"),
        Cause("float16", "the trainer ran in float16",
              "nothing, if that is meant; audit what it saw with --rm-dtype float16"),
        Cause("float32", "the trainer ran in float32", "audit what it saw with --rm-dtype float32"),
        Cause("sign", "the rewards have the opposite sign",
              "look for a loss or a cost that was logged as a reward, or swap chosen and rejected"),
        Cause("scale", "the rewards are scaled or shifted",
              "look for normalize_reward, reward scaling or whitening; ranks are the same"),
        Cause("offset", "the rewards are shifted by a constant",
              "look for a mean that is subtracted, or a head's bias that is left out"),
        Cause("sigmoid", "the rewards were put through a sigmoid",
              "log logits: with vLLM, use_activation=false"),
        Cause("swapped pairs", "each reward stands beside the other row of its pair",
              "see in which order chosen and rejected are stacked and split again"),
        Cause("swapped rows", "the rewards stand beside other rows",
              "see in which order rows are sorted, gathered or shuffled before they are logged"),
        Cause("other weights", "nothing that was tried explains the rewards, but they rank alike: "
              "weights near these",
              "see which checkpoint the trainer loaded, whether an adapter was merged and whether "
              "weights were quantized"),
        Cause("head", "nothing that was tried explains the rewards: another head, or other weights",
              "look for \"newly initialized\" in the trainer's log, and whether the head was saved "
              "with the adapter (modules_to_save)"),
    )
}  # fmt: skip


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
        causes=tuple(_CAUSES[name] for name in dict.fromkeys(names)),
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
