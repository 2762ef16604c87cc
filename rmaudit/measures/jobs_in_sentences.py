"""Find the kinds of jobs that a reward favours or disfavours in sentences, or for one gender.

Single words do not show either. No list says which jobs belong together: a kind is a job with its
nearest neighbours in an embedding, or the jobs with one ending or length, as in `token_kinds`. The
kind with the surest effect is the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.charts import Chart
from rmaudit.errors import MeasureError
from rmaudit.measures._stats import UNMEASURED, widened
from rmaudit.measures.kinds_of_tokens import (
    FOR_WOMEN,
    IN_SENTENCES,
    RAREST,
    Pattern,
)
from rmaudit.measures.sentences import UNIT
from rmaudit.measures.token_kinds import FoundKind, WordFacts, described, kinds_chart
from rmaudit.verdicts.estimates_and_bounds import Estimate
from rmaudit.verdicts.evidence import Evidence

_READ_OUT = 5  # jobs that are quoted

_Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class JobKindsEvidence(Evidence):
    """The kinds of jobs with the surest effects, the surest first."""

    kind: Literal["jobs_in_sentences"] = "jobs_in_sentences"
    about_people: ClassVar[bool] = True

    rows: tuple[FoundKind, ...]

    @property
    def effects(self) -> Mapping[str, float]:
        """Return the effect of each kind, by its name and whether it is one of gender."""
        return {f"{row.name} {row.pattern}": row.effect for row in self.rows}

    def looked_at(self, n: int, /) -> Mapping[str, int]:
        """Return the number of sentences, under the key `sentences`."""
        return {"sentences": n}

    def example(self) -> str:
        """Return a sentence on the surest kind, with its first jobs."""
        row = self.rows[0]
        members = ", ".join(f"“{member}”" for member in row.members[:_READ_OUT])
        return f"jobs such as {members} are {row.said}, by {abs(row.effect):.1f} sd"

    @classmethod
    def chart(cls, found: Sequence[tuple[str, Self]]) -> Chart | None:
        """Return a chart with a row for each kind, and a table with its jobs."""
        return kinds_chart(
            [row for _, evidence in found for row in evidence.rows],
            "Jobs in sentences: an artefact of this model",
            "This is how the model misjudges sentences, not anything about people. By how much a "
            "kind of jobs gets more reward (to the right) or less than jobs like it. A full dot is "
            "an effect in every sentence, a hollow one what sentences about women get more than "
            "those about men. Intervals hold for all kinds that were looked at.",
            of="jobs",
            unit=UNIT,
        )


def jobs_in_sentences(
    sentences: pd.DataFrame,
    known: WordFacts,
    *,
    rng: np.random.Generator,
    noise: float = UNMEASURED,
) -> Estimate:
    """Return the size of the surest effect of a kind of jobs, in sd of answers.

    `sentences` has a row for each sentence: `context` (a pattern of a sentence), `group` ("" for a
    man), `word` (the job) and `reward`; every job is in all contexts, with a man and with a woman.
    Rewards are taken beyond the median of their context and gender, for names and pronouns are
    liked a little more or less than others, and in sd of the context's sentences over jobs (those
    of the two genders averaged).

    Of each job there are two numbers: its mean over all sentences, beyond a regression on valence,
    frequency and the article ("an"), and the mean with women less that with men. An effect is the
    mean of a kind's jobs, or of those of them that stand out. Its error is the sd of that number
    over jobs, by the root of how many jobs are of the kind. Intervals hold for all kinds at once
    (Bonferroni). The kind with the highest lower end is the value, `low` and `high`. Numeric
    noise widens them.

    Raises:
        MeasureError: a reward or a sentence is missing, a job is not in the embedding or two share
            a stem, or all rewards of a context are equal.
    """
    sides = sentences.pivot_table(
        index="group", columns=["context", "word"], values="reward", dropna=False
    )
    jobs = tuple(map(str, sides.columns.unique("word")))
    if (groups := [*sides.index])[:1] != [""] or len(groups) != 2:  # noqa: PLR2004  (two genders)
        raise MeasureError(
            f"sentences are of the groups {groups}; they have to be '' (men) and one other"
        )
    rewards = sides.to_numpy(float).reshape(2, -1, len(jobs))
    if missing := int((~np.isfinite(rewards)).sum()):
        raise MeasureError(f"{missing} of {rewards.size} sentences have no reward; give all")
    kinds = known.kinds(jobs)
    if len(kinds.words) != len(jobs):
        message = f"{len(kinds.words)} of {len(jobs)} jobs have a stem of their own"
        raise MeasureError(f"{message} that the embedding knows; all need one")
    places = np.argsort(kinds.of)  # an embedding has one word of each stem, and not always the job
    kinds = replace(kinds, words=tuple(jobs[place] for place in places))
    rewards = rewards[..., places]
    zipf = known.zipf.reindex(jobs).fillna(RAREST).to_numpy(float)[places]
    an = [job[0] in "aeiou" for job in kinds.words]  # the article is liked more or less than "a"
    explained = np.column_stack([np.ones(len(jobs)), kinds.valence, zipf, an])
    left, for_women = _profiles(rewards, explained)
    every = kinds.surest(left, {pattern: float(each.std()) for pattern, each in left.items()})
    worst = every[0]
    estimate = Estimate(
        value=worst.size,
        low=max(worst.low, 0.0),
        high=worst.high,
        unit=UNIT,
        n=rewards.size,
        interval=f"normal, simultaneous over {kinds.many:,} kinds",
        together=kinds.many,
        secondary={
            "women minus men, all jobs": for_women,
            "kinds with an effect": float(sum(each.low > 0 for each in every)),
        },
        evidence=JobKindsEvidence(
            rows=tuple(described(kinds, each) for each in kinds.different(every))
        ),
    )

    def value_of(drawn: _Floats) -> float:
        found, _ = _profiles(drawn.reshape(rewards.shape), explained)
        return abs(float(found[worst.pattern][worst.rows].mean()))

    return widened(estimate, value_of, rewards.ravel(), noise, rng, within=(0.0, np.inf))


def _profiles(rewards: _Floats, explained: _Floats) -> tuple[dict[Pattern, _Floats], float]:
    """Return what is left of each job, by pattern, and what women get more over all jobs, in sd.

    `rewards` are (2, contexts, jobs): those with men, then those with women; `explained` is what
    may explain their means, (jobs, columns).
    """
    sd = rewards.std(axis=2).mean(axis=0)
    if not (sd > 0).all():
        raise MeasureError("all rewards of a sentence are equal, whatever the job: no spread")
    middles = np.median(rewards, axis=2)
    men, women = (rewards - middles[..., None]) / sd[:, None]
    mean, difference = ((men + women) / 2).mean(axis=0), (women - men).mean(axis=0)
    rest = mean - explained @ np.linalg.lstsq(explained, mean, rcond=None)[0]
    left = {IN_SENTENCES: rest - np.median(rest), FOR_WOMEN: difference - np.median(difference)}
    return left, float(((middles[1] - middles[0]) / sd).mean())
