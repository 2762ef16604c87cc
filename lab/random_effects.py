"""Declare what gates of answers draw (random effects), and simulate the rewards of their answers.

A gate scores the rows of a table, such as sentences or changed answers. A row's reward is a sum of
normal random effects, each drawn once for every value of some columns: of the prompt, the word, the
context, the row itself. `python -m lab coverage` measures how often the gate's interval
holds the true value where the effect of what is drawn is 0, 0.3, 0.5 or 1 times the rows' own.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.measures import conduct, judge_wording, pair_accuracy, sentences
from rmaudit.measures.edits import shift
from rmaudit.references import counterfactual_sentences as texts
from rmaudit.references.conduct_answers import REFUSALS, RIGHT, SAME, STYLE
from rmaudit.references.text_changes import ANSWERS, AS_IT_IS, KEYS, key
from rmaudit.scores.changed_answers import subset_of_pairs
from rmaudit.scores.pair_files import conduct_pairs
from rmaudit.verdicts.estimates_and_bounds import Estimate

SDS = (0.0, 0.3, 0.5, 1.0)  # of what is drawn, in sd of the rows' own
OWN = 0.5  # of a change, a sentence, in sd of answers
AT = 0.5  # the bound of the shifts, in sd of answers: the true shift of one change, kind or group
LARGE = 12  # draws of many units, for the true value

_Floats = NDArray[np.float64]


class Effect(NamedTuple):
    """A random effect with one draw for each value of the columns `by`, times the column `on`.

    `drawn` effects are those of the gate's units: their sd is multiplied by one of `SDS`.
    """

    by: tuple[str, ...]
    sd: float
    on: str = ""
    drawn: bool = False


class Gate(NamedTuple):
    """A gate: its rows, what of their rewards is random and what is planted, and its measure.

    `unit` is the column whose values are drawn. Where the true value is not known by construction
    (None), it is the mean of large draws with so many `copies` of each unit; without copies, what
    is asked changes with their number, and it is the mean of all draws.
    """

    unit: str
    rows: Callable[[], pd.DataFrame]
    effects: tuple[Effect, ...]
    measure: Callable[..., Estimate]
    truth: float | None = AT
    copies: int = 0


def _changed(*changes: str) -> pd.DataFrame:
    """Return a row for each bundled answer as it is and after each change, the first planted."""
    answers = subset_of_pairs(None).frame.drop(columns="reward")
    answers["answer"] = answers.index.astype(str)
    rows = answers.merge(pd.DataFrame({"change": [AS_IT_IS, *changes]}), how="cross")
    empty = rows["change"].isin(_EMPTY)
    changed = (rows["change"] != AS_IT_IS) & ~empty
    planted = AT * (rows["change"] == changes[0])
    return rows.assign(changed=changed * 1.0, empty=empty * 1.0, kept=~empty * 1.0, planted=planted)


def _shift(rows: pd.DataFrame) -> Estimate:
    return shift(*_wide(rows), **_EACH)


def _wide(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row for each answer, and its rewards with a column for each change."""
    names = rows["change"].unique().tolist()
    table = pd.DataFrame(rows["reward"].to_numpy().reshape(-1, len(names)), columns=names)
    return rows.iloc[:: len(names)].reset_index(drop=True), table


def _sentences(table: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Return a table's sentences; those of its first group lose half an sd, whatever is asked."""
    rows = table()
    first = next(group for group in rows["group"] if group)
    return rows.assign(planted=-AT * (rows["group"] == first))


def _conduct(kinds: Iterable[str], *, better: float = 0.0, other: float = 0.0) -> pd.DataFrame:
    """Return the pairs of these kinds; `better` is planted in all but the first, `other` in it."""
    rows = conduct_pairs(None).frame
    first, *_ = kinds
    rows = rows[rows["subset"].isin(kinds)].reset_index(drop=True)
    chosen, worst = rows["chosen"], rows["subset"] == first
    planted = better * (chosen & ~worst) + other * (~chosen & worst)
    return rows.assign(
        context=rows["group"], planted=planted, chosen_one=chosen * 1.0, other_one=1.0 - chosen
    )


def _pairs() -> pd.DataFrame:
    rows = subset_of_pairs(None).frame
    return rows.assign(planted=0.0, chosen_one=rows["chosen"] * 1.0)


_EMPTY = tuple(map(key, KEYS))
_ANY = np.random.default_rng(0)  # noise is 0: nothing is drawn
_EACH: dict[str, Any] = {"rng": _ANY, "noise": 0.0}


def _of_edits(*names: str) -> Gate:
    """Return a gate of edits: each is worth something of its own to a prompt, and to an answer.

    An answer that says nothing is worth one number a prompt.
    """
    effects = (
        Effect(("answer",), 1.0, "kept"),
        Effect(("prompt", "change"), OWN, "changed", drawn=True),
        Effect(("answer", "change"), OWN, "changed"),
        Effect(("prompt", "change"), 1.0, "empty", drawn=True),
    )
    return Gate("prompt", partial(_changed, *names), effects, _shift)


def _of_sentences(unit: str, table: Callable[[], pd.DataFrame]) -> Gate:
    """Return a gate of sentences: a word, and a group in a context, is worth something."""
    effects = (
        Effect(("context",), 1.0),
        Effect(("word", "group"), OWN, drawn=True),
        Effect(("context", "group"), OWN, drawn=True),
        Effect(("context", "word", "group"), OWN),
    )
    measure = partial(sentences.worst_group, **_EACH, most=AT)
    return Gate(unit, partial(_sentences, table), effects, measure, truth=None, copies=20)


def _of_wins(kinds: tuple[str, ...]) -> Gate:
    """Return a gate of conduct in which the better answer wins: in the first kind by chance."""
    effects = (
        Effect(("context",), 1.0, "chosen_one", drawn=True),
        Effect(("line", "chosen"), np.sqrt(0.5)),
    )
    rows = partial(_conduct, kinds, better=1.0)
    return Gate("context", rows, effects, partial(conduct.better_wins, kinds=kinds, **_EACH))


def _of_gains(kinds: tuple[str, ...], measure: Callable[..., Estimate]) -> Gate:
    """Return a gate of conduct in which a change is worth something to a fact, and to a pair."""
    effects = (
        Effect(("context",), 1.0),
        Effect(("context",), OWN, "other_one", drawn=True),
        Effect(("line",), OWN, "other_one"),
    )
    rows = partial(_conduct, kinds, other=AT)
    return Gate("context", rows, effects, partial(measure, kinds=kinds, **_EACH))


GATES: Mapping[str, Gate] = {
    "edits, one of them": _of_edits("gibberish at the end"),
    "edits, one empty answer": _of_edits(key(":")),
    "edits": _of_edits(*ANSWERS),
    "sentences_communities": _of_sentences("word", texts.communities),
    "first_names": _of_sentences("word", texts.first_names),
    "political_sides": _of_sentences("word", texts.politics),
    "dialect": _of_sentences("context", texts.dialect),
    "other_languages": _of_sentences("context", texts.languages),
    "gendered_pairs": _of_sentences("word", texts.gendered),
    "conduct_right": _of_wins(RIGHT),
    "conduct_refusals": _of_wins(REFUSALS),
    "conduct_style": _of_gains(STYLE, conduct.paid_for),
    "conduct_same": _of_gains(SAME, conduct.moved_by),
    "pair_accuracy": Gate(
        "prompt",
        _pairs,
        (
            Effect(("prompt",), 1.0, "chosen_one", drawn=True),
            Effect(("line", "chosen"), np.sqrt(0.5)),
        ),
        partial(pair_accuracy.accuracy, **_EACH),
    ),
    "judge_wording": Gate(
        "prompt",
        partial(_changed, "one", "two"),
        (
            Effect(("prompt",), 1.0),
            Effect(("answer",), 1.0),
            Effect(("prompt", "change"), OWN, "changed", drawn=True),
            Effect(("answer", "change"), OWN, "changed"),
        ),
        lambda rows: judge_wording.agreement(*_wide(rows), **_EACH),
        truth=None,
    ),
}


def measured(name: str, sd: float, seed: int, copies: int = 1) -> Estimate:
    """Return a gate's estimate on one draw of rewards; `sd` is that of the `drawn` effects.

    With `copies` there are so many of each unit.
    """
    gate, (rows, codes) = GATES[name], _rows(name, copies)
    own = zlib.crc32(f"{name} {sd}".encode())  # so that no two rows of a page share their luck
    rng = np.random.default_rng([seed, copies, own])
    reward = rows["planted"].to_numpy(np.float64)
    for effect, values in zip(gate.effects, codes, strict=True):
        drawn = rng.standard_normal(values.max() + 1)[values]
        size = effect.sd * (sd if effect.drawn else 1.0)
        reward = reward + size * drawn * (rows[effect.on] if effect.on else 1.0)
    return gate.measure(rows.assign(reward=reward))


def units(name: str) -> int:
    """Return how many units a gate draws."""
    return int(_rows(name, 1)[0][GATES[name].unit].nunique())


@lru_cache(maxsize=2)
def _rows(name: str, copies: int) -> tuple[pd.DataFrame, list[NDArray[np.intp]]]:
    """Return so many copies of a gate's rows, and the number of each row's value by effect."""
    gate = GATES[name]
    rows = gate.rows()
    own = [column for column in _NAMES if column in rows]
    if "word" in rows:
        own.remove("group")  # of people, who stay the same
    rows = pd.concat(
        [rows.assign(**(rows[own].astype(str) + f" {copy}")) for copy in range(copies)],
        ignore_index=True,
    )
    return rows, [
        np.asarray(rows.groupby(list(each.by), sort=False).ngroup(), dtype=np.intp)
        for each in gate.effects
    ]


_NAMES = (
    "line",
    "prompt",
    "answer",
    "group",
    "context",
    "block",
    "word",
)  # of units, which differ in copies
