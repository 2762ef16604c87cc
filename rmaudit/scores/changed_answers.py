"""Score answers before and after changes that should earn no reward, such as doubled spaces."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rmaudit.references.text_changes import ANSWERS, AS_IT_IS, BUNDLED
from rmaudit.scores import pair_files
from rmaudit.scores.answer_files import ASKED
from rmaudit.scores.pair_files import Pairs
from rmaudit.scores.text_rewards import TextScores

MOST = 64  # lines whose answers are changed


@dataclass(frozen=True, slots=True)
class Probes:
    """Answers with a model's rewards before and after each change of `text_changes`.

    Attributes:
        answers: a row for each of n answers, with the columns of `Pairs.frame` but for the reward.
        rewards: shape (n, 1 + changes), float32 in the model's own units: the reward of each answer
            as it is, and under the name of each change of `references.text_changes`.
        source: where the answers come from, in words.
        noise: the numeric noise of a reward, in the same units; NaN if it was not measured.
        key: the key of the rewards in the store.
    """

    answers: pd.DataFrame
    rewards: pd.DataFrame
    source: str
    noise: float = float("nan")
    key: str = ""

    def scored(self, found: TextScores) -> Probes:
        """Return the answers with the rewards of the rows of `changed`, their noise and key."""
        return replace(self, rewards=table(found.scores), noise=found.noise, key=found.key)


def subset_of_pairs(pairs: Pairs | None) -> Pairs:
    """Return `pairs`, or the bundled pairs if None, cut to 64 lines spread evenly over the file.

    The bundled ones are one pair to each of 55 prompts: what a change is worth differs between
    prompts, so that a pair of another prompt tells more than a further one of the same.
    """
    given = pair_files.read(BUNDLED) if pairs is None else pairs
    lines = given.frame["line"].unique()
    if len(lines) <= MOST:
        source = pair_files.OURS if pairs is None else given.source
        return Pairs(given.frame, source)
    kept = lines[np.linspace(0, len(lines) - 1, MOST).round().astype(int)]
    frame = given.frame[given.frame["line"].isin(kept)].reset_index(drop=True)
    return Pairs(frame, f"{MOST} of the {given.source}")


def changed(answers: pd.DataFrame) -> pd.DataFrame:
    """Return a table of all answers unchanged, then of all answers again for each single change.

    The columns are `prompt`, `turns` and `response`.
    """
    asked = answers[[*ASKED, "response"]]
    edited = (asked.assign(response=asked["response"].map(of)) for of in ANSWERS.values())
    return pd.concat([asked, *edited], ignore_index=True)


def table(scores: np.ndarray[tuple[int], np.dtype[np.float32]]) -> pd.DataFrame:
    """Reshape scores of `changed`'s rows: a row an answer; columns: unchanged, then each change."""
    names = [AS_IT_IS, *ANSWERS]
    return pd.DataFrame(scores.reshape(len(names), -1).T, columns=names)


def probes_of(pairs: Pairs) -> Probes:
    """Return all answers of the pairs as `Probes`, without any rewards yet."""
    return Probes(pairs.frame.drop(columns="reward"), pd.DataFrame(), pairs.source)
