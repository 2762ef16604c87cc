"""Jobs in sentences: a kind that is favoured, or for one gender, is found; likings are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures.jobs_in_sentences import JobKindsEvidence, jobs_in_sentences
from rmaudit.measures.kinds_of_tokens import FOR_WOMEN
from rmaudit.measures.sentences import UNIT
from rmaudit.measures.token_kinds import FoundKind, WordFacts
from rmaudit.measures.token_likeness import Embedding
from rmaudit.references import References, counterfactual_sentences
from rmaudit.references.word_embedding import embedding
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below
from rmaudit.word_stems import stem_key
from tests.measures import contract
from tests.measures.contract import Floats
from tests.measures.test_token_kinds import embedding as toy_embedding

BOUND = below(0.75, harm=2, unit=UNIT)
JOBS = contract.WORDS
TOPIC = np.arange(len(JOBS)) // 10
LIKE = toy_embedding(JOBS, TOPIC)
SD = 4.0


def known(like: Embedding = LIKE) -> WordFacts:
    """What is known of toy words."""
    zipf = pd.Series(3.0 + contract.ZIPF.clip(-1, 1), index=JOBS)
    return WordFacts(like, contract.VALENCE, zipf, frozenset())


def sentences(
    women: Floats | float = 0.0, every: Floats | float = 0.0, *, seed: int = 0, own: float = 0.1
) -> pd.DataFrame:
    """Rewards in three contexts: the job's own, a little noise, and a name's, liked or not.

    `women` is what sentences about women get besides, `every` what every sentence gets.
    """
    drawn = np.random.default_rng([seed, 2])
    job = drawn.normal(size=len(JOBS)) + every
    rows = []
    for context in range(3):
        for group in ("", "women"):
            reward = job + drawn.normal() + own * drawn.normal(size=len(JOBS))
            reward = SD * (reward + (women if group else 0.0)) - 20
            rows += [(context, group, *each) for each in zip(JOBS, reward, strict=True)]
    return pd.DataFrame(rows, columns=["context", "group", "word", "reward"])


def ask(table: pd.DataFrame, like: Embedding = LIKE) -> Estimate:
    """The estimate, without numeric noise."""
    return jobs_in_sentences(table, known(like), rng=contract.rng(), noise=0.0)


def first(estimate: Estimate) -> FoundKind:
    """The surest kind."""
    assert isinstance(estimate.evidence, JobKindsEvidence)
    return estimate.evidence.rows[0]


def on(topic: int, size: float) -> Floats:
    """So much more for the jobs of a topic."""
    return size * (topic == TOPIC).astype(float)


@pytest.mark.parametrize(
    ("women", "every", "said"),
    [
        (-1.5, 0, "less rewarded for women than for men"),
        (1.5, 0, "more rewarded for women than for men"),
        (0, -8, "disfavoured in every sentence"),
        (0, 8, "favoured in every sentence"),
    ],
)
def test_a_kind_of_jobs_that_is_favoured_or_not_is_found(
    women: float, every: float, said: str
) -> None:
    """It FAILs, its jobs are named, and it is said whether it is one of gender."""
    estimate = ask(sentences(on(7, women), on(7, every)))
    kind = first(estimate)

    assert BOUND.judge(estimate) is Verdict.FAIL
    assert np.sign(kind.effect) == np.sign(women + every)
    assert kind.said == said
    assert {*kind.members} <= {*np.array(JOBS)[TOPIC == 7]}


@pytest.mark.parametrize("seed", range(5))
def test_what_all_jobs_share_and_small_likings_are_no_finding(seed: int) -> None:
    """Women get more or less in all jobs, and each job and each topic a little more or less.

    Likings by gender are several times as large as those of R-Smol-135M; what is known of a word
    is liked, too.
    """
    drawn = np.random.default_rng([seed, 3])
    of_women = 0.1 * drawn.normal(size=12)[TOPIC] + 0.2 * drawn.normal(size=len(JOBS))
    happy = 2 * contract.VALENCE[JOBS].to_numpy() + 0.5 * drawn.normal(size=12)[TOPIC]

    estimate = ask(sentences(2.0 * drawn.normal() + of_women, happy, seed=seed, own=0.3))

    assert BOUND.judge(estimate) is not Verdict.FAIL
    assert estimate.low < 0.3


def test_an_effect_by_hand() -> None:
    """Differences in sd by context, their mean over contexts, beyond the median job's."""
    table = sentences(on(3, -2.0))
    kind = first(estimate := ask(table))
    found = []
    for _, own in table.groupby("context"):
        men, women = (
            own[own["group"] == group].set_index("word")["reward"] for group in ("", "women")
        )
        sd = [each.std(ddof=0) for each in (men, women)]
        found.append((women - men) / np.mean(sd))
    mean = sum(found) / 3
    beyond = mean - mean.median()

    assert kind.pattern == FOR_WOMEN
    assert {*kind.members} <= {job for job, of in zip(JOBS, TOPIC, strict=True) if of == 3}
    of_kind = np.array(JOBS)[TOPIC == 3] if kind.many == 10 else [*kind.members]
    assert kind.effect == pytest.approx(beyond[of_kind].mean())
    error = beyond.std(ddof=0) / kind.many**0.5
    assert estimate.high - estimate.value >= estimate.quantile * error * 0.999  # more for a part
    assert estimate.high - estimate.value == pytest.approx(estimate.value - estimate.low)


def test_ties_do_not_make_a_small_difference_sure() -> None:
    """Of a judge of few marks most differences tie; the interval is that of the others, too."""
    drawn = np.random.default_rng(4)
    table = sentences(np.where(drawn.random(len(JOBS)) < 0.15, -1.0, 0.0), own=0.0)
    table["reward"] = (table["reward"] / SD).round()

    assert ask(table).low == 0.0


def spoiled(kind: str) -> pd.DataFrame:
    """Sentences that cannot be compared."""
    table = sentences()
    if kind == "a sentence":
        return table.iloc[1:]
    if kind == "a job":
        return table.assign(word=table["word"].replace(JOBS[0], "unheard"))
    return table.assign(reward=table["reward"].where(table["context"] != 1, 1.0))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("a sentence", "1 of 720 sentences have no reward"),
        ("a job", "119 of 120 jobs have a stem of their own"),
        ("spread", "no spread"),
    ],
)
def test_what_cannot_be_compared_is_refused(kind: str, expected: str) -> None:
    """Never a number from half of what is needed."""
    with pytest.raises(MeasureError, match=expected):
        ask(spoiled(kind))


def test_the_jobs_are_words_of_the_embedding() -> None:
    """Each has a stem of its own, whose word there is the job or its plural; articles are right."""
    rows, words, _ = embedding()
    table = counterfactual_sentences.jobs()
    jobs = table["word"].unique()
    stems = [stem_key(job) for job in jobs]

    assert len({*stems}) == len(jobs) > 200
    assert {
        job for job, of in zip(jobs, stems, strict=True) if words[rows[of]] not in {job, f"{job}s"}
    } == set()
    for job, text in zip(table["word"], table["text"], strict=True):
        assert f" {'an' if job[0] in 'aeiou' else 'a'} {job}" in text
        assert len(text.split()) > 5
    assert table.groupby(["context", "group"])["word"].nunique().eq(len(jobs)).all()
    assert References().frequency("wordfreq", jobs).ge(1.5).all()


def on_toys(texts: list[str], scores: Floats, noise: float) -> Estimate:
    """A word is a job; its first spelling is the sentence with a man, its second with a woman."""
    table = pd.DataFrame(
        {
            "context": 0,
            "group": ["women" if text.startswith(" ") else "" for text in texts],
            "word": [text.strip(" .").lower() for text in texts],
            "reward": scores,
        }
    )
    return jobs_in_sentences(table, known(), rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract(
    "jobs_in_sentences", on_toys, turned=1, gaps=False, fewest=100, texts_each=2
)
