"""Combine the rewards that several models give an answer: mean, minimum, or mean less k sd.

An ensemble's minimum, and its mean less a penalty on disagreement, resist over-optimisation where
single members do not, if their errors differ (Coste et al. 2024, arXiv:2310.02743, section 3; their
penalty is the variance, the sd here is in the unit of rewards). An error that all members share
stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd
import scipy  # its special functions alone, when they are asked for: a second
from numpy.typing import ArrayLike, NDArray

from rmaudit.config.model_spec import Rule
from rmaudit.errors import MeasureError
from rmaudit.measures.after_training import Known, outcome
from rmaudit.measures.after_training_evidence import AfterTrainingEvidence
from rmaudit.measures.ranking_comparison import REPLACED
from rmaudit.measures.scores_by_prompt import Answers

LEAST = 0.5  # of the policy's probability, on answers that all models have

_Floats = NDArray[np.float64]


class InCommon(NamedTuple):
    """The answers to a prompt that all models scored and a policy can give.

    Attributes:
        answers: a row for each of n answers: `token_id` (the first model's) and `text`.
        logprobs: the policy's log-probabilities, (n,).
        rewards: each model's own rewards, (models, n).
        share: the part of the policy's probability that these answers have.
    """

    answers: pd.DataFrame
    logprobs: _Floats
    rewards: _Floats
    share: float


def combined(rewards: ArrayLike, rule: Rule, k: float) -> _Floats:
    """Return one reward for each answer, (n,), of standardised ones of shape (members, n).

    The sd of `mean-sd` is over the members, its divisor their number: of two members the mean less
    1 sd is the minimum.
    """
    each = np.asarray(rewards, dtype=np.float64)
    if rule == "minimum":
        return np.asarray(each.min(axis=0))
    spread = k * each.std(axis=0) if rule == "mean-sd" else 0.0
    return np.asarray(each.mean(axis=0) - spread)


def name_of(rule: Rule, k: float) -> str:
    """Return a rule's name for readers, such as "mean - 1 sd"."""
    return f"mean - {k:g} sd" if rule == "mean-sd" else rule


def standardised(rewards: ArrayLike, logprobs: ArrayLike) -> _Floats:
    """Return rewards, (n,), shifted and scaled to mean 0 and sd 1 under a policy.

    `logprobs` are the policy's log-probabilities of the n answers, which need not sum to 1.

    Raises:
        MeasureError: the rewards do not differ where the policy has any probability.
    """
    reward, policy = (np.asarray(each, dtype=np.float64) for each in (rewards, logprobs))
    shares = np.exp(policy - scipy.special.logsumexp(policy))
    centred = reward - shares @ reward
    sd = float(np.sqrt(shares @ centred**2))
    if not sd > 0:
        raise MeasureError("all answers that the policy gives have one reward, so it has no scale")
    return np.asarray(centred / sd)


def in_common(sweeps: Sequence[pd.DataFrame], logprobs: pd.Series[float]) -> InCommon:
    """Return the answers that all models scored, with a policy's log-probabilities.

    `sweeps` have the columns `token_id`, `token`, `text` and `score`, a table for each model;
    `logprobs` are by the first model's token ids. Tables with the first one's tokens are joined by
    token id, others by text, where in either vocabulary one id alone has this text.

    Raises:
        MeasureError: the answers in common have less than `LEAST` of the policy's probability.
    """
    first, *others = (sweep.assign(score=sweep["score"].astype(float)) for sweep in sweeps)
    table = first[["token_id", "text"]].assign(
        logprob=first["token_id"].map(logprobs), **{"0": first["score"]}
    )
    every = float(np.exp(table["logprob"]).sum())
    vocabulary = ["token_id", "token"]
    for number, other in enumerate(others, 1):
        key = "token_id" if other[vocabulary].equals(first[vocabulary]) else "text"
        alone = other if key == "token_id" else _of_one_id(other)
        table = table if key == "token_id" else _of_one_id(table)
        table = table.merge(alone[[key, "score"]].rename(columns={"score": str(number)}), on=key)
    table = table.dropna()
    share = float(np.exp(table["logprob"]).sum()) / every
    if not share >= LEAST:
        message = f"the {len(table):,} answers that all models have hold {share:.0%} of what the "
        raise MeasureError(
            f"{message}policy answers, allowed: {LEAST:.0%} and more; combine models whose "
            f"vocabularies have the policy's words"
        )
    columns = table[[str(number) for number in range(len(sweeps))]]
    return InCommon(
        table[["token_id", "text"]].reset_index(drop=True),
        table["logprob"].to_numpy(float),
        columns.to_numpy(float).T,
        share,
    )


def _of_one_id(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose text no other row has and which is no part of a character."""
    texts = table["text"]
    return table[~texts.duplicated(keep=False) & ~texts.str.contains(REPLACED, regex=False)]


def outcomes(
    own: Mapping[str, InCommon],
    frames: Mapping[str, int],
    names: Sequence[str],
    known: Known,
    k: float,
) -> dict[str, AfterTrainingEvidence]:
    """Return what a policy becomes by each model's reward alone and by their combinations.

    By the names of models and rules. `own` are the answers in common by the prompt's name, `frames`
    the prompts' frames.

    Raises:
        MeasureError: a model's rewards do not differ, or too few words are rated.
    """
    policies = {
        prompt: pd.Series(each.logprobs, index=each.answers["token_id"])
        for prompt, each in own.items()
    }
    answers: dict[str, dict[str, Answers]] = {}
    for prompt, common in own.items():
        each = np.stack([standardised(rewards, common.logprobs) for rewards in common.rewards])
        rewards = dict(zip(names, each, strict=True))
        rewards |= {name_of(rule, k): combined(each, rule, k) for rule in get_args(Rule)}
        for name, scores in rewards.items():
            table = common.answers.assign(score=scores)
            answers.setdefault(name, {})[prompt] = Answers(table, frames[prompt])
    return {name: outcome(by_prompt, policies, known) for name, by_prompt in answers.items()}
