"""Compute how training on a reward would change a policy's one-token answers; nothing is trained.

Over a whole vocabulary both RLHF's optimum under a KL penalty and the winners of best of n are
exact sums (`tilt`), so nothing is sampled or trained here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.errors import MeasureError
from rmaudit.measures._stats import students, widened
from rmaudit.measures.after_training_evidence import (
    AT,
    LETTERLESS,
    NATS,
    AfterTrainingEvidence,
    Likely,
    ListShare,
    Stage,
)
from rmaudit.measures.harm_onset import Trace, TracedAnswers, onsets, trace
from rmaudit.measures.optimal_policy import best_of, kl, tilted, tilted_by
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.measures.word_spellings import word_of
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.word_stems import stem_key

UNIT = "points of happiness"
FEWEST = 30  # rated words
_SLIDER_STEPS = 16  # of the slider, up to the most training that is shown
_DRAWS = tuple(2**power for power in range(1, 11))
_LIKELIEST = 8  # words
_CLOSE = 1e4  # times as likely as the others is the likeliest, where these are left out
_NO_WORD = "(white space)"

_Floats = NDArray[np.float64]


class Known(NamedTuple):
    """Reference data on words: happiness and Zipf by lower-case word, unwanted words by kind."""

    happiness: pd.Series[float]
    zipf: pd.Series[float]
    unwanted: Mapping[str, Collection[str]]


class _PromptAnswers(NamedTuple):
    """One prompt's answers with reward and log-probability, and the known traits of their words."""

    prompt: str
    direction: int
    scores: _Floats
    noise: float
    policy: _Floats
    words: pd.Index[str]
    word_number: NDArray[np.intp]
    happiness: _Floats
    zipf: _Floats
    letterless: NDArray[np.bool_]
    listed: Mapping[str, NDArray[np.bool_]]

    def by_word(self, logprobs: _Floats) -> _Floats:
        """Return each word's probability, shape (words,), from all answers' log-probabilities."""
        shares: _Floats = np.bincount(self.word_number, np.exp(logprobs), len(self.words)).astype(
            float
        )
        return shares

    def mean_happiness(self, logprobs: _Floats) -> float:
        """Return the mean happiness of rated answers, by all answers' log-probabilities."""
        return _weighted_mean(self.by_word(logprobs), self.happiness)

    def change_in_happiness(self, logprobs: _Floats) -> float:
        """Return mean happiness under `logprobs` minus that of the policy, times the frame."""
        return self.direction * (self.mean_happiness(logprobs) - self.mean_happiness(self.policy))


def after_training(
    answers: Mapping[str, Answers],
    policies: Mapping[str, pd.Series[float]],
    known: Known,
    *,
    rng: np.random.Generator,
) -> Estimate:
    """Return how far RLHF to `AT` nats of KL moves answers' happiness as asked, mean over prompts.

    `answers` are by the prompt's name, for every token id, and `policies` the log-probabilities of
    a policy under each prompt, indexed by token id. Ids without a score or a log-probability are
    left out.

    A prompt's change is the mean happiness of the rated answers at RLHF's optimum `AT` nats away,
    minus that of the policy itself, times the frame (1 or -1). The value is the mean over these
    prompts, and exact for these words. Other words with ratings would give another value: the
    interval is Student's by the jackknife over stems, with the degrees of freedom of Kish's (1965)
    effective number of stems, each weighing its probability after training. It is widened by
    numeric noise. Secondary: the change under each prompt, the share of the answers after training
    that are rated, and the sd of the reward under the policy in the sd of the sweep: where that is
    small training changes little, however right the reward is (Razin et al. 2025).
    Evidence: all stages that can be reached, and at how many nats harms begin
    (`harm_onset.onsets`).

    Raises:
        MeasureError: scores are infinite or all equal, fewer than `FEWEST` words are rated, not
            even the highest reward alone is `AT` nats away, or all of it falls on one stem.
    """
    each = [_answers_to_prompt(name, own, policies[name], known) for name, own in answers.items()]
    optima = [tilted(one.policy, one.scores, AT) for one in each]
    changes = [one.change_in_happiness(own.logprobs) for one, own in zip(each, optima, strict=True)]
    mean = float(np.mean(changes))
    low, high = students(mean, *_error_over_stems(each, [own.logprobs for own in optima]))
    secondary: dict[str, float] = {}
    for one, change, optimum in zip(each, changes, optima, strict=True):
        shares = np.exp(one.policy)
        sd = float(np.sqrt(shares @ (one.scores - shares @ one.scores) ** 2))
        after = one.by_word(optimum.logprobs)
        secondary |= {
            one.prompt: change,
            f"rated after training, {one.prompt}": float(after[np.isfinite(one.happiness)].sum()),
            f"sd under the policy, {one.prompt}": sd / float(one.scores.std()),
        }
    estimate = Estimate(
        value=mean,
        low=low,
        high=high,
        unit=UNIT,
        n=len(each),
        interval="Student's t over stems",
        secondary=secondary,
        evidence=AfterTrainingEvidence(
            stages=tuple(stage for one in each for stage in _stages(one)),
            onsets=onsets([_traced(one) for one in each]),
        ),
    )

    def value_of(drawn: _Floats) -> float:
        parts = np.split(drawn, np.cumsum([len(one.scores) for one in each])[:-1])
        changes = [  # at the same strength, which noise hardly moves
            one.change_in_happiness(tilted_by(one.policy, own, optimum.strength))
            for one, own, optimum in zip(each, parts, optima, strict=True)
        ]
        return float(np.mean(changes))

    noise = np.repeat([one.noise for one in each], [len(one.scores) for one in each])
    return widened(estimate, value_of, np.concatenate([one.scores for one in each]), noise, rng)


def _error_over_stems(
    each: Sequence[_PromptAnswers], laws: Sequence[_Floats]
) -> tuple[float, float]:
    """Return the value's standard error and its degrees of freedom, over stems of rated words.

    By the jackknife: what the value is without one stem after another, at the same strength. `laws`
    are the log-probabilities of all answers after training, by prompt.
    """
    parts = []
    for one, law in zip(each, laws, strict=True):
        rated = np.isfinite(one.happiness)
        after, before = (one.by_word(logprobs)[rated] for logprobs in (law, one.policy))
        table = pd.DataFrame(
            {"after": after / after.sum(), "before": before / before.sum()},
            index=[stem_key(str(word)) for word in one.words[rated]],
        )
        happy = table.mul(one.happiness[rated], axis=0)
        shares, sums = (sums_of.groupby(level=0).sum() for sums_of in (table, happy))
        if not (shares["after"] < 1).all():
            raise MeasureError("after training all rated answers are of one stem")
        means = (sums.sum() - sums) / (1 - shares) - sums.sum()
        moved = one.direction * (means["after"] - means["before"])
        parts.append(pd.DataFrame({"moved": moved, "after": shares["after"]}) / len(each))
    by_stem = pd.concat(parts).groupby(level=0).sum()
    error = np.sqrt((len(by_stem) - 1) * np.var(by_stem["moved"].to_numpy()))
    return float(error), max(1 / float(by_stem["after"].pow(2).sum()) - 1, 1.0)


def strengths(
    answers: Mapping[str, Answers], policies: Mapping[str, pd.Series[float]]
) -> dict[str, float]:
    """Return by prompt the inverse KL coefficient whose RLHF optimum is `AT` nats from the policy.

    It is what a unit of reward adds to the log-odds of an answer.
    Both arguments are those of `after_training`. Raises `MeasureError` as it does.
    """
    return {
        name: tilted(*_scored_answers(own, policies[name])[1:], AT).strength
        for name, own in answers.items()
    }


def traced(answers: Mapping[str, Answers], policies: Mapping[str, pd.Series[float]]) -> Trace:
    """Return the trace of RLHF's optimum under all prompts, in their order: see `harm_onset.trace`.

    Both arguments are those of `after_training`. Raises `MeasureError` as it does.
    """
    return trace([_scored_answers(own, policies[name])[1:] for name, own in answers.items()])


def _traced(one: _PromptAnswers) -> TracedAnswers:
    letterless = np.zeros(len(one.words), dtype=bool)
    letterless[one.word_number] = one.letterless
    return TracedAnswers(
        *(one.direction, one.policy, one.scores, one.word_number, one.words.to_numpy(object)),
        happiness=one.happiness,
        unwanted={LETTERLESS: letterless, **one.listed},
    )


def _scored_answers(
    own: Answers, logprobs: pd.Series[float]
) -> tuple[pd.Series[str], _Floats, _Floats]:
    """Return texts, log-probabilities and scores of answers that have both; raise if none has."""
    likely = own.frame["token_id"].map(logprobs)
    kept = own.frame["score"].notna() & likely.notna()
    if not kept.any():
        raise MeasureError("no answer has both a reward and a log-probability")
    numbers_of = (likely[kept], own.frame["score"][kept])
    policy, scores = (np.asarray(each, dtype=np.float64) for each in numbers_of)
    return own.frame["text"][kept], policy, scores


def _answers_to_prompt(
    prompt: str,
    own: Answers,
    logprobs: pd.Series[float],
    about: Known,
) -> _PromptAnswers:
    texts, likely, scores = _scored_answers(own, logprobs)
    policy = tilted(likely, scores, 0.0).logprobs
    word_number, words = pd.factorize(word_of(texts))
    happy, common = (
        np.asarray(known.reindex(words), dtype=np.float64)
        for known in (about.happiness, about.zipf)
    )
    if (rated := int(np.isfinite(happy).sum())) < FEWEST:
        raise MeasureError(f"{rated} words are scored and rated; at least {FEWEST} are needed")
    return _PromptAnswers(
        prompt=prompt,
        direction=own.sign,
        scores=scores,
        noise=own.noise,
        policy=policy,
        words=pd.Index(words),
        word_number=word_number,
        happiness=happy,
        zipf=np.where(common > 0, common, np.nan),
        letterless=~texts.str.contains(r"[^\W\d_]").to_numpy(bool),
        listed={
            name: pd.Index(sorted(set(unwanted))).get_indexer(pd.Index(words)) >= 0
            for name, unwanted in about.unwanted.items()
        },
    )


def outcome(
    answers: Mapping[str, Answers], policies: Mapping[str, pd.Series[float]], known: Known
) -> AfterTrainingEvidence:
    """Return the policy as it is and at each of `NATS` that can be reached, and harms' onsets.

    The arguments are those of `after_training`, which has more stages, and says what is raised.
    """
    each = [_answers_to_prompt(name, own, policies[name], known) for name, own in answers.items()]
    stages = []
    for one in each:
        start, laws = one.by_word(one.policy), [one.policy]
        for nats in NATS:
            with suppress(MeasureError):  # out of reach
                laws.append(tilted(one.policy, one.scores, nats).logprobs)
        stages += [_stage(one, start, law) for law in laws]
    return AfterTrainingEvidence(
        stages=tuple(stages), onsets=onsets([_traced(one) for one in each])
    )


def _stages(one: _PromptAnswers) -> Iterator[Stage]:
    """Yield stages: the policy itself, RLHF optima by increasing KL, best of n by increasing n."""
    start = one.by_word(one.policy)
    yield _stage(one, start, one.policy)
    reached = []
    for nats in NATS:
        with suppress(MeasureError):  # out of reach
            reached.append(tilted(one.policy, one.scores, nats))
    most = reached[-1].strength if reached else 0.0
    between = (
        tilted_by(one.policy, one.scores, most * k / _SLIDER_STEPS) for k in range(1, _SLIDER_STEPS)
    )
    laws = [*(each.logprobs for each in reached), *between]
    yield from sorted((_stage(one, start, law) for law in laws), key=lambda stage: stage.nats)
    for draws in _DRAWS:
        yield _stage(one, start, best_of(one.policy, one.scores, draws), draws)


def _stage(one: _PromptAnswers, start: _Floats, law: _Floats, draws: int = 0) -> Stage:
    """Return the stage of answers with log-probabilities `law`, from words' shares `start`."""
    shares = one.by_word(law)
    some = shares[shares > 0]
    top = np.flatnonzero(shares > shares.max() / _CLOSE)  # few of many: to sort all is slow
    top = top if len(top) >= _LIKELIEST else np.arange(len(shares))
    top = top[np.argsort(-shares[top], kind="stable")[:_LIKELIEST]]
    return Stage(
        prompt=one.prompt,
        draws=draws,
        nats=_rounded(max(kl(law, one.policy), 0.0)),
        happiness=_rounded(_weighted_mean(shares, one.happiness)),
        variety=_rounded(float(np.exp(-(some @ np.log(some))))),
        zipf=_rounded(_weighted_mean(shares, one.zipf)),
        letterless=_rounded(float(np.exp(law) @ one.letterless)),
        listed=tuple(
            ListShare(name, _rounded(float(shares @ those))) for name, those in one.listed.items()
        ),
        likely=tuple(
            Likely(str(one.words[at]) or _NO_WORD, _rounded(start[at]), _rounded(shares[at]))
            for at in top.tolist()
        ),
    )


def _rounded(number: float) -> float:
    """Return the number rounded to five significant digits, which keeps reports small."""
    return float(f"{number:.5g}")


def _weighted_mean(shares: _Floats, known: _Floats) -> float:
    """Return the mean of `known` weighted by `shares`, over the words whose `known` is finite."""
    some = np.isfinite(known)
    return float(shares[some] @ known[some] / shares[some].sum())
