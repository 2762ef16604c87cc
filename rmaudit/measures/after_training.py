"""Measure what training on the reward makes of a policy's one-token answers, before any training.

Over a whole vocabulary both RLHF's optimum under a KL penalty and the winners of best of n are
exact sums (`tilt`), so nothing is sampled here and nothing collapses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart, Move, Moves, Points, numbers, row_of
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import students, widened
from rmaudit.measures.joined import Answers
from rmaudit.measures.tilt import best_of, kl, tilted
from rmaudit.measures.words import word_of
from rmaudit.verdicts.evidence import Evidence
from rmaudit.verdicts.records import Estimate

UNIT = "points of happiness"
AT = 4.0  # nats: about best of 150
NATS = (0.5, 1.0, 2.0, AT, 8.0)
DRAWS = (4, 16, 64, 1024)
FEWEST = 30  # rated words
_SHOWN = 8  # words
_NO_WORD = "(white space)"

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Likely:
    """A word, with its share of the answers before and after some training."""

    word: str
    before: float
    after: float


@dataclass(frozen=True, kw_only=True)
class Trained:
    """The policy after some training, `nats` of KL away from where it began.

    `happiness` is the mean of the rated words, `variety` the effective number of words (e to the
    power of their entropy), `zipf` the mean Zipf frequency, `letterless` the share of answers
    without a letter; `likely` are the likeliest words.
    """

    prompt: str
    how: str
    nats: float
    happiness: float
    variety: float
    zipf: float
    letterless: float
    likely: tuple[Likely, ...]


@dataclass(frozen=True, kw_only=True)
class AfterTrainingEvidence(Evidence):
    """The policy under each prompt, as it is and after more and more training."""

    kind: Literal["after_training"] = "after_training"
    stages: tuple[Trained, ...]

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return panels of the happiness by training, and of the words that become likely."""
        by_prompt: dict[str, list[Trained]] = {}
        for _, evidence in found:
            for stage in evidence.stages:
                by_prompt.setdefault(stage.prompt, []).append(stage)
        if not by_prompt:
            return None
        return Chart(
            "What training on this reward would make of the policy",
            "The policy's one-token answers as they are, at the best policy within so many nats of "
            "it (RLHF's optimum under a KL penalty), and as best of n picks them: exact sums over "
            "the whole vocabulary. A hollow dot is a word's share of the answers before, a full "
            f"one its share after {AT:g} nats.",
            tuple(
                panel for prompt, stages in by_prompt.items() for panel in _panels(prompt, stages)
            ),
            {
                "prompt": "text",
                "training": "text",
                **numbers("nats", "happiness", "variety", "Zipf", "without a letter", "share"),
                "likeliest": "term",
            },
            tuple(
                row for stages in by_prompt.values() for stage in stages for row in _cells(stage)
            ),
        )


class _Prompted(NamedTuple):
    """Answers to a prompt that have a reward and a log-probability, and what is known of them."""

    prompt: str
    direction: int
    scores: _Floats
    noise: float
    policy: _Floats
    words: pd.Index[str]
    place: NDArray[np.intp]
    happiness: _Floats
    zipf: _Floats
    letterless: NDArray[np.bool_]

    def by_word(self, law: _Floats) -> _Floats:
        """Return each word's share of the answers, shape (words,)."""
        shares: _Floats = np.bincount(self.place, np.exp(law), len(self.words)).astype(float)
        return shares

    def happy(self, law: _Floats) -> float:
        """Return the mean happiness of the answers that are rated."""
        return _mean(self.by_word(law), self.happiness)

    def change(self, scores: _Floats) -> float:
        """Return how much happier, as asked, answers are at the optimum `AT` nats away."""
        after = self.happy(tilted(self.policy, scores, AT).logprobs)
        return self.direction * (after - self.happy(self.policy))


def after_training(
    answers: Mapping[str, Answers],
    policies: Mapping[str, pd.Series[float]],
    happiness: pd.Series[float],
    zipf: pd.Series[float],
    *,
    rng: np.random.Generator,
) -> Estimate:
    """Return how much happier, as asked, answers are after `AT` nats of training on the reward.

    `answers` are by the prompt's name, for every token id, and `policies` the log-probabilities of
    a policy under each prompt, indexed by token id; `happiness` and `zipf` are indexed by
    lower-case word. Ids without a score or a log-probability are left out.

    A prompt's change is the mean happiness of the rated answers at RLHF's optimum `AT` nats away,
    less that of the policy as it is, turned as the frame asks. It is exact: what varies is how the
    question is put, so the value is the mean over prompts, and the interval Student's over them,
    widened by numeric noise. Secondary: the change under each prompt, the share of the answers
    after training that are rated, and the sd of the reward under the policy in the sd of the sweep:
    where that is small training changes little, however right the reward is (Razin et al. 2025).
    Evidence: all stages that can be reached.

    Raises:
        MeasureError: there are fewer than two prompts, scores are infinite or all equal, fewer than
            `FEWEST` words are rated, or not even the highest reward alone is `AT` nats away.
    """
    if len(answers) < 2:  # noqa: PLR2004  (an sd)
        raise MeasureError("the interval is over prompts: two or more are needed")
    each = [_prompted(name, own, policies[name], happiness, zipf) for name, own in answers.items()]
    changes = [one.change(one.scores) for one in each]
    mean = float(np.mean(changes))
    low, high = students(mean, float(np.std(changes, ddof=1)) / len(each) ** 0.5, len(each) - 1)
    secondary: dict[str, float] = {}
    for one, change in zip(each, changes, strict=True):
        shares = np.exp(one.policy)
        sd = float(np.sqrt(shares @ (one.scores - shares @ one.scores) ** 2))
        after = one.by_word(tilted(one.policy, one.scores, AT).logprobs)
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
        interval="Student's t, over prompts",
        secondary=secondary,
        evidence=AfterTrainingEvidence(
            stages=tuple(stage for one in each for stage in _stages(one))
        ),
    )

    def value_of(drawn: _Floats) -> float:
        parts = np.split(drawn, np.cumsum([len(one.scores) for one in each])[:-1])
        return float(np.mean([one.change(own) for one, own in zip(each, parts, strict=True)]))

    noise = np.repeat([one.noise for one in each], [len(one.scores) for one in each])
    return widened(estimate, value_of, np.concatenate([one.scores for one in each]), noise, rng)


def strengths(
    answers: Mapping[str, Answers], policies: Mapping[str, pd.Series[float]]
) -> dict[str, float]:
    """Return by how much a unit of reward moves log-odds at the optimum `AT` nats away, by prompt.

    Both arguments are those of `after_training`. Raises `MeasureError` as it does.
    """
    return {
        name: tilted(*_known(own, policies[name])[1:], AT).strength for name, own in answers.items()
    }


def _known(own: Answers, logprobs: pd.Series[float]) -> tuple[pd.Series[str], _Floats, _Floats]:
    """Return texts, log-probabilities and scores of the answers that have both numbers."""
    likely = own.frame["token_id"].map(logprobs)
    kept = own.frame["score"].notna() & likely.notna()
    if not kept.any():
        raise MeasureError("no answer has both a reward and a log-probability")
    numbers_of = (likely[kept], own.frame["score"][kept])
    policy, scores = (np.asarray(each, dtype=np.float64) for each in numbers_of)
    return own.frame["text"][kept], policy, scores


def _prompted(
    prompt: str,
    own: Answers,
    logprobs: pd.Series[float],
    happiness: pd.Series[float],
    zipf: pd.Series[float],
) -> _Prompted:
    texts, likely, scores = _known(own, logprobs)
    policy = tilted(likely, scores, 0.0).logprobs
    place, words = pd.factorize(word_of(texts))
    happy, common = (
        np.asarray(known.reindex(words), dtype=np.float64) for known in (happiness, zipf)
    )
    if (rated := int(np.isfinite(happy).sum())) < FEWEST:
        raise MeasureError(f"{rated} words are scored and rated; at least {FEWEST} are needed")
    return _Prompted(
        prompt=prompt,
        direction=own.sign,
        scores=scores,
        noise=own.noise,
        policy=policy,
        words=pd.Index(words),
        place=place,
        happiness=happy,
        zipf=np.where(common > 0, common, np.nan),
        letterless=~texts.str.contains(r"[^\W\d_]").to_numpy(bool),
    )


def _stages(one: _Prompted) -> Iterator[Trained]:
    """Yield the policy at the start, at the optima that can be reached, and as best of n."""
    yield _stage(one, "as it is", one.policy)
    for nats in NATS:
        try:
            law = tilted(one.policy, one.scores, nats).logprobs
        except MeasureError:  # the highest reward alone is nearer
            continue
        yield _stage(one, _nats(nats), law)
    for draws in DRAWS:
        yield _stage(one, f"best of {draws:,}", best_of(one.policy, one.scores, draws))


def _stage(one: _Prompted, how: str, law: _Floats) -> Trained:
    start, shares = one.by_word(one.policy), one.by_word(law)
    some = shares[shares > 0]
    return Trained(
        prompt=one.prompt,
        how=how,
        nats=max(kl(law, one.policy), 0.0),
        happiness=_mean(shares, one.happiness),
        variety=float(np.exp(-(some @ np.log(some)))),
        zipf=_mean(shares, one.zipf),
        letterless=float(np.exp(law) @ one.letterless),
        likely=tuple(
            Likely(str(one.words[at]) or _NO_WORD, float(start[at]), float(shares[at]))
            for at in np.argsort(-shares, kind="stable")[:_SHOWN]
        ),
    )


def _mean(shares: _Floats, known: _Floats) -> float:
    """Return the mean, by shares, of what is known of words, where it is."""
    some = np.isfinite(known)
    return float(shares[some] @ known[some] / shares[some].sum())


def _nats(nats: float) -> str:
    return f"{nats:g} nats"


def _panels(prompt: str, stages: Sequence[Trained]) -> Iterator[Points | Moves]:
    yield Points(
        title=f"{prompt}: mean happiness of the answers",
        axis="labMT, 1 to 9",
        rows=tuple(row_of(each.how, each.happiness) for each in stages),
        zero=False,
    )
    moved = next(each for each in stages if each.how == _nats(AT)).likely
    most = max(max(each.before, each.after) for each in moved)
    yield Moves(
        title=f"{prompt}: the likeliest words after {_nats(AT)}",
        axis="share of the answers",
        rows=tuple(Move(each.word, each.before, each.after) for each in moved),
        ends=("before", "after"),
        domain=(0.0, 1.05 * most),
    )


def _cells(stage: Trained) -> Iterator[tuple[str, ...]]:
    figures = (stage.nats, stage.happiness, stage.variety, stage.zipf)
    own = (*(f"{number:.2f}" for number in figures), f"{stage.letterless:.1%}")
    for place, each in enumerate(stage.likely):
        first = (stage.how, *own) if place == 0 else ("",) * (len(own) + 1)
        yield stage.prompt, *first, f"{each.after:.3f}", each.word
