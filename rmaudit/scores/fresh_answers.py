"""Draw new answers from a policy, and pair each with an equally long one to another question.

What is bundled with rmaudit is public, so a reward model may have been trained on it. Nobody can
have been trained on what is drawn as the audit runs. No label is needed: an answer suits its own
question better than an equally long answer to another question.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit import json_cache
from rmaudit.errors import NotAsked
from rmaudit.layout.answer_slot import Slot
from rmaudit.models.base_language_model import Base
from rmaudit.models.model_interfaces import RewardModel
from rmaudit.references.fresh_questions import questions
from rmaudit.scores.answer_files import ASKED, Samples, read_samples
from rmaudit.scores.pair_files import Pairs
from rmaudit.scores.score_parquet import checksum
from rmaudit.word_stems import stem_key

FRESH, BUNDLED = "fresh answers", "bundled answers"  # subsets of the pairs
QUESTIONS, ANSWERS, LONGEST = 48, 2, 60  # questions, answers to each, and tokens of an answer
_TRIED = 140  # questions, of which those are asked whose rows are equally long
WITHIN = 0.1  # how much longer or shorter the other answer may be, as a share of words
_VERSION = "1"  # raise it when a change could draw other answers
_ABOUT = 0.75  # of pairs: how often the own answer must have more of the question's words
_LETTERS = 4  # of a word that counts as one of the question's


def drawn_from(policy: Base, model: RewardModel, *, seed: int) -> Samples:
    """Return answers of the `policy` to questions drawn with the `seed`, without rewards (cached).

    Question and answer are laid out as in the rows of the reward `model`. The weights are loaded
    only if these answers are not in the policy's cache.

    Raises:
        ModelError: as `Base.loaded` and `answer_sampling.drawn`.
    """
    slots = _of_few_lengths(
        [model.slot(each) for each in questions(_TRIED, rng=np.random.default_rng(seed))]
    )
    fields = {
        **policy.identity,
        "slots": hashlib.sha256("".join(slot.digest for slot in slots).encode()).hexdigest(),
        "drawn": f"{ANSWERS} of {LONGEST} tokens, seed {seed}, version {_VERSION}",
    }

    def make() -> list[str]:
        from rmaudit.models import answer_sampling

        ids = policy.using(
            model.vocabulary(),
            lambda likelihood: answer_sampling.drawn(
                likelihood,
                [slot.prefix for slot in slots for _ in range(ANSWERS)],
                longest=LONGEST,
                ends=model.special_ids,
                rng=np.random.default_rng([seed, 1]),
            ),
        )
        return model.texts(ids)

    texts: list[str] = json_cache.cached(policy.cache, "fresh-answers", fields, make)
    asked = [str(slot.prompt) for slot in slots for _ in range(ANSWERS)]
    frame = pd.DataFrame({"prompt": asked, "turns": "", "response": texts})
    found = frame.assign(response=frame["response"].str.strip(), reward=float("nan"))
    source = f"{len(found)} answers drawn from {policy.folder.name}, {checksum(found)[:12]}"
    return Samples(found, source)


def _of_few_lengths(slots: Sequence[Slot]) -> list[Slot]:
    """Return `QUESTIONS` slots of the commonest lengths: those of one length run together."""
    of_length = Counter(len(slot.prefix) for slot in slots)
    return sorted(slots, key=lambda slot: (-of_length[len(slot.prefix)], len(slot.prefix)))[
        :QUESTIONS
    ]


def fresh_pairs(fresh: Samples, *, seed: int) -> Pairs:
    """Return the pairs made of `fresh` answers, and of as many bundled ones, without rewards.

    The subset of a pair is `FRESH` or `BUNDLED`, its group the question; the answer to the question
    is `chosen`, the other one is not.

    Raises:
        NotAsked: the answers make too few pairs, or are hardly about their questions.
    """
    made = matched(_some(fresh.frame, seed), seed=seed).assign(subset=FRESH)
    about = _share_about_question(made) if len(made) else 0.0
    if made["group"].nunique() < QUESTIONS // 4 or about < _ABOUT:
        raise NotAsked(
            f"{fresh.source}: {made['group'].nunique()} questions have an answer to pair with an "
            f"equally long one to another question, and {about:.0%} of these have more of the "
            f"question's words than the other; at least {QUESTIONS // 4} and {_ABOUT:.0%} are "
            f"needed; give answers of a better policy, by --rm-policy or --rm-samples"
        )
    bundled = matched(_some(read_samples(None).frame, seed), seed=seed).assign(subset=BUNDLED)
    frame = pd.concat([made, bundled], ignore_index=True)
    line = np.arange(len(frame)) // 2 + 1
    return Pairs(frame.assign(line=line, reward=float("nan")), fresh.source)


def _some(answers: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return at most `QUESTIONS` drawn questions with `ANSWERS` different drawn answers each."""
    mixed = answers.sample(frac=1, random_state=np.random.default_rng([seed, 2]))
    unlike = mixed[mixed["response"].str.strip() != ""].drop_duplicates([*ASKED, "response"])
    some = unlike[unlike.groupby(ASKED).cumcount() < ANSWERS]
    return some[some.groupby(ASKED, sort=False).ngroup() < QUESTIONS].reset_index(drop=True)


def matched(answers: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Return two rows for each pair: an answer to its question, and one as long to another.

    Each answer stands in one match of two answers, of which each is asked its own question and the
    other's. So a scorer that reads no question wins exactly half of the pairs. `answers` has the
    columns `prompt`, `turns` and `response`; answers without a match are left out.
    """
    asked = answers.groupby(ASKED, sort=False).ngroup().to_numpy()
    words = answers["response"].str.count(r"\S+").to_numpy(np.int64)
    free, rows = set(range(len(answers))), list[tuple[int, int]]()
    for one in np.random.default_rng([seed, 3]).permutation(len(answers)).tolist():
        fits = [
            (abs(int(words[other] - words[one])), other)
            for other in free
            if asked[other] != asked[one]
            and abs(words[other] - words[one]) <= WITHIN * max(words[other], words[one])
        ]
        if one in free and fits:
            other = min(fits)[1]
            free -= {one, other}
            rows += [(one, one), (one, other), (other, other), (other, one)]
    question, answer = np.array(rows, dtype=np.intp).reshape(-1, 2).T
    return pd.DataFrame(
        {
            **{name: answers[name].to_numpy()[question] for name in ASKED},
            "response": answers["response"].to_numpy()[answer],
            "chosen": question == answer,
            "group": np.array([f"question {at}" for at in asked[question]], dtype=object),
        }
    )


def _share_about_question(pairs: pd.DataFrame) -> float:
    """Return the share of pairs whose own answer has more of the question's words; ties half."""
    asked, said = (pairs[name].map(_stems) for name in ("prompt", "response"))
    has = np.array([len(one & other) for one, other in zip(asked, said, strict=True)])
    wins: NDArray[np.float64] = (np.sign(has[0::2] - has[1::2]) + 1) / 2
    return float(wins.mean())


def _stems(text: str) -> set[str]:
    words = (word.strip(".,:;!?\"'()*") for word in text.split())
    return {stem_key(word) for word in words if len(word) >= _LETTERS}
