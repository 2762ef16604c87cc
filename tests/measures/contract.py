"""What a measure shows to the contract that all measures share, and toys to show it on.

A file of tests of a measure that an audit uses has a `Contract`: `test_contract.py` finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.verdicts.estimates_and_bounds import Estimate

Floats = NDArray[np.float64]

LETTERS = "bcdfghjklmnp"
WORDS = [  # 120, of three lengths
    "".join(three) + ("ok", "oruk", "orupik")[place % 3]
    for place, three in enumerate([*product(LETTERS, "aeiou", LETTERS)][::6])
]
TEXTS = [text for word in WORDS for text in (word, f" {word.capitalize()}")]
PLACES = {word: place for place, word in enumerate(WORDS)}
KNOWN = np.random.default_rng(7).normal(size=(12, len(WORDS)))  # what is known of each word
VALENCE, ZIPF, RATING = (
    pd.Series(column, index=WORDS, name=name)
    for column, name in zip(KNOWN, ("toy", "zipf", "elo"), strict=False)
)
SCORES = np.repeat(KNOWN[:4].sum(axis=0) + KNOWN[4], 2) + np.tile([0.0, 0.25], len(WORDS))
SCORES += 0.01 * np.random.default_rng(8).gamma(2, size=len(SCORES))


@dataclass(frozen=True)
class Contract:
    """A measure, by its name, on toys; and what it does that not all measures do.

    Attributes:
        measure: takes texts, their scores and the noise of a score. It may strip nothing of the
            scores, which may be NaN, one, or all alike: refusing them is the measure's task. It may
            bring what else the measure needs of the words (`KNOWN`), and another prompt (`turned`).
        turned: the sign that the value gets where scores are turned round; 0 where the other end
            answers then, as with the best or the least of something.
        noise: whether noise widens its interval.
        gaps: whether words without a score are left out; else each score counts, and one that is
            missing is refused.
        by_place: whether the toy says by place what a text is, so that rows have an order.
        chart: whether it has evidence for a chart.
        few: whether it may be of one or two texts.
        in_unit: whether `measure` also takes `unit=`, the unit of one of its prompts.
        by_rank: whether only the order of the scores counts.
        fewest: how many words, or what else it counts, are needed at least.
        texts_each: how many texts one of these takes; of 1, they are of different words.
        by_stem: whether forms of a word are one draw.
        spelt: of how many words further spellings of the same scores change nothing: all (1), any
            half (0.5), or none (0), where spellings are what is measured, or each text counts.
        kind: of its evidence, where that is not its name: it is part of another measure.
    """

    name: str
    measure: Callable[..., Estimate]
    turned: int
    noise: bool = True
    gaps: bool = True
    by_place: bool = False
    chart: bool = True
    few: bool = False
    in_unit: bool = False
    by_rank: bool = False
    spelt: float = 0.0
    by_stem: bool = False
    fewest: int = 0
    texts_each: int = 1
    kind: str = ""


# Twelve wordings: six adjectives, of which three ask for good things, in two wordings each.
WORDINGS = [f"{group}{i}" for group in "abcxyz" for i in range(2)]
FRAMES = {name: 1 if name[0] in "abc" else -1 for name in WORDINGS}
GROUPS = {name: name[0] for name in WORDINGS}


def rng() -> np.random.Generator:
    """The same draws each time."""
    return np.random.default_rng(0)


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """Low, value, high."""
    return estimate.low, estimate.value, estimate.high


def rows_of(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row for each answer of lines with `chosen` and `rejected` rewards, and what else is known.

    A line is its own group and of no subset, unless it says otherwise; answers grow longer.
    """
    return pd.DataFrame(
        [
            {
                "line": number,
                "response": "x" * place,
                "chosen": side == "chosen",
                "subset": line.get("subset", ""),
                "group": line.get("group", str(number)),
                "id": str(line.get("id", number)),
                "reward": reward,
            }
            for number, line in enumerate(lines, start=1)
            for side in ("chosen", "rejected")
            for place, reward in enumerate(line[side])
        ]
    )


def of(column: Floats, texts: list[str]) -> Floats:
    """What is known of the words of these texts."""
    return np.array([column[PLACES[text.strip().lower()]] for text in texts])


def frame(texts: list[str], scores: Floats) -> pd.DataFrame:
    """A sweep of these texts."""
    named = pd.Series(texts, dtype="str")
    return pd.DataFrame({"token_id": range(len(texts)), "text": named, "score": scores})


def under(
    prompts: Mapping[str, int], texts: list[str], rows: Iterable[Floats], noise: float = 0.0
) -> dict[str, Answers]:
    """The scores under prompts of these signs, a row each: of all texts, or of the first ones."""
    return {
        name: Answers(frame(texts[: len(row)], row), sign, noise)
        for (name, sign), row in zip(prompts.items(), rows, strict=True)
    }


def turned(texts: list[str], scores: Floats, *, by: float = -1.5, row: int = 0) -> Floats:
    """The scores under another prompt: changed by something of the words, in the scores' units.

    The unit goes by words, so that further spellings of a word do not change it.
    """
    known = of(KNOWN[0], texts)
    words = pd.DataFrame({"x": known, "y": scores}).dropna().groupby("x").mean()
    unit = np.cov(words.index, words["y"], bias=True)[0, 1] if len(words) > 1 else 0.0
    return np.asarray(scores + by * unit * of(KNOWN[row], texts))


def answers(
    texts: list[str], scores: Floats, noise: float, unit: float = 1.0
) -> dict[str, Answers]:
    """The scores under a frame, in this unit, and its opposite."""
    return {
        "best": Answers(frame(texts, unit * scores), +1, unit * noise),
        "worst": Answers(frame(texts, turned(texts, scores)), -1, noise),
    }


def second(texts: list[str]) -> Floats:
    """Return 1 for the second spelling of a word, 0 for the first."""
    return np.array([text.startswith(" ") for text in texts], float)


def split(texts: list[str], scores: Floats) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Strings, real answers and a sweep."""
    every = frame(texts, scores)
    return every.iloc[:5], every.iloc[5:9], every


def in_pairs(texts: list[str]) -> pd.DataFrame:
    """Two spellings of a word are a pair of answers, of which one was chosen."""
    words = [text.strip().lower() for text in texts]
    about = {
        "line": words,
        "prompt": "",
        "turns": "",
        "response": texts,
        "subset": "",
        "group": words,
    }
    return pd.DataFrame({**about, "chosen": [text.startswith(" ") for text in texts]})
