"""Compute how training on a reward would change a policy's one-token answers; nothing is trained.

Over a whole vocabulary both RLHF's optimum under a KL penalty and the winners of best of n are
exact sums (`tilt`), so nothing is sampled or trained here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
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
from rmaudit.measures.harm_onset import TracedAnswers, onsets, scored_answers
from rmaudit.measures.optimal_policy import Tilted, best_of, kl, tilted, tilted_by
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


@dataclass(frozen=True, kw_only=True)
class _PromptAnswers(TracedAnswers):
    """One prompt's answers, with the noise of a reward and the words' Zipf frequencies, (words,).

    The policy's log-probabilities are those of the answers that have a reward, normalised.
    """

    prompt: str
    noise: float
    zipf: _Floats

    @cached_property
    def start(self) -> _Floats:
        """Return each word's probability under the policy itself, shape (words,)."""
        return self.by_word(self.policy)

    def by_word(self, logprobs: _Floats) -> _Floats:
        """Return each word's probability, shape (words,), from all answers' log-probabilities."""
        return np.asarray(np.bincount(self.word_number, np.exp(logprobs), len(self.words)), float)

    def change_in_happiness(self, logprobs: _Floats) -> float:
        """Return mean happiness of rated answers less that under the policy, times the frame.

        `logprobs` are those of all answers.
        """
        now, start = (
            _weighted_mean(shares, self.happiness)
            for shares in (self.by_word(logprobs), self.start)
        )
        return self.direction * (now - start)


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
            onsets=onsets(each),
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


def _answers_to_prompt(
    prompt: str, own: Answers, logprobs: pd.Series[float], about: Known
) -> _PromptAnswers:
    texts, likely, scores = scored_answers(own, logprobs)
    word_number, words = pd.factorize(word_of(texts))
    happy, common = (
        np.asarray(known.reindex(words), dtype=np.float64)
        for known in (about.happiness, about.zipf)
    )
    if (rated := int(np.isfinite(happy).sum())) < FEWEST:
        raise MeasureError(f"{rated} words are scored and rated; at least {FEWEST} are needed")
    letterless = np.zeros(len(words), dtype=bool)
    letterless[word_number] = ~texts.str.contains(r"[^\W\d_]")
    listed = {
        name: pd.Index(sorted(set(unwanted))).get_indexer(pd.Index(words)) >= 0
        for name, unwanted in about.unwanted.items()
    }
    return _PromptAnswers(
        prompt=prompt,
        direction=own.sign,
        scores=scores,
        noise=own.noise,
        policy=tilted(likely, scores, 0.0).logprobs,
        words=np.asarray(words, dtype=object),
        word_number=word_number,
        happiness=happy,
        zipf=common,
        unwanted={LETTERLESS: letterless, **listed},
    )


def outcome(
    answers: Mapping[str, Answers], policies: Mapping[str, pd.Series[float]], known: Known
) -> AfterTrainingEvidence:
    """Return the policy as it is and at each of `NATS` that can be reached, and harms' onsets.

    The arguments are those of `after_training`, which has more stages, and says what is raised.
    """
    each = [_answers_to_prompt(name, own, policies[name], known) for name, own in answers.items()]
    stages = [
        _stage(one, law)
        for one in each
        for law in (one.policy, *(optimum.logprobs for optimum in _reached(one)))
    ]
    return AfterTrainingEvidence(stages=tuple(stages), onsets=onsets(each))


def _reached(one: _PromptAnswers) -> list[Tilted]:
    """Return RLHF's optima at those of `NATS` that can be reached."""
    found = []
    for nats in NATS:
        with suppress(MeasureError):  # out of reach
            found.append(tilted(one.policy, one.scores, nats))
    return found


def _stages(one: _PromptAnswers) -> Iterator[Stage]:
    """Yield stages: the policy itself, RLHF optima by increasing KL, best of n by increasing n."""
    yield _stage(one, one.policy)
    reached = _reached(one)
    most = reached[-1].strength if reached else 0.0
    between = (
        tilted_by(one.policy, one.scores, most * k / _SLIDER_STEPS) for k in range(1, _SLIDER_STEPS)
    )
    laws = [*(each.logprobs for each in reached), *between]
    yield from sorted((_stage(one, law) for law in laws), key=lambda stage: stage.nats)
    for draws in _DRAWS:
        yield _stage(one, best_of(one.policy, one.scores, draws), draws)


def _stage(one: _PromptAnswers, law: _Floats, draws: int = 0) -> Stage:
    """Return the stage of answers with log-probabilities `law`; `draws` is that of best of n."""
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
        letterless=_rounded(float(np.exp(law) @ one.unwanted[LETTERLESS][one.word_number])),
        listed=tuple(
            ListShare(name, _rounded(float(shares @ those)))
            for name, those in one.unwanted.items()
            if name != LETTERLESS
        ),
        likely=tuple(
            Likely(str(one.words[at]) or _NO_WORD, _rounded(one.start[at]), _rounded(shares[at]))
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
