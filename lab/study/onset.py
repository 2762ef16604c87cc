"""Compare when harm is predicted to begin with when it begins, for all reward heads of the study.

    RMAUDIT_DATA=FOLDER python -m lab study.onset [--cache FOLDER] [--states FOLDER]

Predicted is what after_training and community_odds report, from their own prompts and the half of
the references that no head was trained on. Observed is the same under the study's four other
prompts, by the other half; of communities, for the one that is reported. What is found is written
to docs/data/onset.json, and its table into docs/evidence/after_training.md. What takes long are the
states of 390,000 answers of one token, under seven prompts, the first time: half an hour of a core.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.study.harm import FEWEST
from lab.study.harm import PROMPTS as OTHERS
from lab.study.measure import DATA, STATES, Study
from lab.study.onset_table import COMMUNITY
from rmaudit.checkpoints.bundled_model import SPLIT_SALT
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.measures import after_training as measure
from rmaudit.measures import harm_onset
from rmaudit.measures.after_training_evidence import Onset
from rmaudit.measures.control_word_matching import Valence
from rmaudit.measures.identity_communities import (
    communities_of,
    onset_of_community,
    worst_community,
)
from rmaudit.measures.identity_communities_evidence import CommunityGap, CommunityOddsEvidence
from rmaudit.measures.identity_gaps import TermScores, compared
from rmaudit.measures.rank_gaps import WORDS
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.measures.word_spellings import word_of
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.references import References
from rmaudit.references.unwanted_words import unwanted
from rmaudit.scores.first_token_logprobs import base_logprobs
from scripts import audit_pages

ONSETS = DATA / "onset.json"


class Side:
    """Prompts with the states of every token and term, the policy, and one half of the words."""

    def __init__(self, study: Study, prompts: Iterable[Prompt], references: References) -> None:
        """Take the study, the prompts, and the half of the references."""
        vocabulary, self.prompts = study.model.vocabulary(), [*prompts]
        ids = [(int(i),) for i in vocabulary.ids]
        self.states = [study.states.of(prompt, ids) for prompt in self.prompts]
        self.policies = {own.name: base_logprobs(study.model, own).by_id for own in self.prompts}
        texts = pd.Series(list(vocabulary.texts), dtype="str")
        self.tokens = pd.DataFrame({"token_id": vocabulary.ids, "text": texts})
        zipf = References().frequency("wordfreq", sorted(set(word_of(texts))))
        happiness = references.lexicon("labmt")
        self.known = measure.Known(happiness, zipf, unwanted())
        valence = Valence(happiness, references.sentiment())
        single = frozenset(vocabulary.texts)
        self.asked = compared(*references.identity(), valence, single=single)
        self.of_terms = [study.states.of(prompt, self.asked.texts) for prompt in self.prompts]

    def answers(self, head: NDArray[np.float32]) -> dict[str, Answers]:
        """Return a head's rewards of every token by the prompt's name."""
        return {
            own.name: Answers(self.tokens.assign(score=(states @ head).astype(float)), own.frame)
            for own, states in zip(self.prompts, self.states, strict=True)
        }

    def terms(self, head: NDArray[np.float32]) -> dict[str, TermScores]:
        """Return a head's rewards of the terms for groups and their controls, likewise."""
        return {
            own.name: TermScores(states @ head, own.frame, noise=0.0)
            for own, states in zip(self.prompts, self.of_terms, strict=True)
        }

    def onsets(self, answers: Mapping[str, Answers]) -> tuple[Onset, ...]:
        """Return at how many nats of training on these rewards harms begin."""
        return measure.outcome(answers, self.policies, self.known).onsets

    def worst(
        self, head: NDArray[np.float32], answers: Mapping[str, Answers]
    ) -> tuple[CommunityGap, Onset]:
        """Return the community that community_odds names, and at how many nats its harm begins."""
        estimate = worst_community(
            self.asked,
            self.terms(head),
            rng=np.random.default_rng(0),
            strengths=harm_onset.strengths(answers, self.policies),
            traced=harm_onset.traced(answers, self.policies),
        )
        found = cast("CommunityOddsEvidence", estimate.evidence)
        return found.rows[0], found.onsets[0]

    def onset_of(
        self, which: CommunityGap, head: NDArray[np.float32], answers: Mapping[str, Answers]
    ) -> Onset | None:
        """Return at how many nats a community's harm begins; None if it has too few words here."""
        inside = communities_of(self.asked).get(which.community)
        words = self.asked.by_community.codes[WORDS]
        if inside is None or np.unique(words[inside]).size < FEWEST:
            return None
        traced = harm_onset.traced(answers, self.policies)
        reach = np.zeros(len(traced.nats))
        return onset_of_community(self.asked, self.terms(head), which, traced, reach=reach)


def onsets_of(
    gates: Side, others: Side, head: NDArray[np.float32]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each harm with its predicted onset, and how many nats are observed."""
    own, seen = gates.answers(head), others.answers(head)
    for one, other in zip(gates.onsets(own), others.onsets(seen), strict=True):
        yield one.harm, asdict(one) | {"observed": other.nats}
    worst, one = gates.worst(head, own)
    if there := others.onset_of(worst, head, seen):
        yield COMMUNITY, asdict(one) | {"observed": there.nats}


def main() -> None:
    """Measure all heads, and write docs/data/onset.json and its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    parser.add_argument("--states", type=Path, default=STATES, help="the folder of cached states")
    args = parser.parse_args()
    study = Study(args.cache, args.states)
    gates = Side(study, PROMPTS.values(), References(salt=SPLIT_SALT))
    others = Side(study, OTHERS, References(salt=SPLIT_SALT, fitting=True))
    found = []
    for head in study.heads:
        onsets = dict(onsets_of(gates, others, head.weights))
        found.append({"flaw": head.flaw, "dose": head.dose, "onsets": onsets})
        print(head.flaw, head.dose, flush=True)
    ONSETS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    audit_pages.main()
