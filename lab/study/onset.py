"""Compare when harm is predicted to begin with when it begins, for all reward heads of the study.

    RMAUDIT_DATA=FOLDER python -m lab study.onset [--cache FOLDER] [--states FOLDER]

Predicted is what after_training reports, from its own prompts and the half of the rated words that
no head was trained on. Observed is the same under the study's four other prompts, by the other half
of the words. What is found is written to docs/data/onset.json, and the table of
docs/evidence/after_training.md is printed. It takes ten minutes of a processor, and ten more the
first time, for the states. `--table` only prints the table.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from lab.study.harm import PROMPTS as OTHERS
from lab.study.measure import DATA, STATES, Study
from rmaudit.checkpoints.bundled_model import SPLIT_SALT
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.measures import after_training as measure
from rmaudit.measures.after_training_evidence import Onset
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.measures.word_spellings import word_of
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.references import References, held_out
from rmaudit.references.lexicons import lexicon
from rmaudit.references.unwanted_words import unwanted
from rmaudit.scores.first_token_logprobs import base_logprobs

ONSETS = DATA / "onset.json"
Found = Sequence[Mapping[str, Any]]


class Side:
    """Prompts with the states of every token, the policy, and one half of the rated words."""

    def __init__(
        self, study: Study, prompts: Iterable[Prompt], happiness: pd.Series[float]
    ) -> None:
        """Take the study, the prompts, and happiness by word."""
        vocabulary, self.prompts = study.model.vocabulary(), [*prompts]
        ids = [(int(i),) for i in vocabulary.ids]
        self.states = [study.states.of(prompt, ids) for prompt in self.prompts]
        self.policies = {own.name: base_logprobs(study.model, own).by_id for own in self.prompts}
        texts = pd.Series(list(vocabulary.texts), dtype="str")
        self.tokens = pd.DataFrame({"token_id": vocabulary.ids, "text": texts})
        zipf = References().frequency("wordfreq", sorted(set(word_of(texts))))
        self.known = measure.Known(happiness, zipf, unwanted())

    def onsets(self, head: NDArray[np.float32]) -> tuple[Onset, ...]:
        """Return at how many nats of training on a head harms begin."""
        answers = {
            own.name: Answers(self.tokens.assign(score=(states @ head).astype(float)), own.frame)
            for own, states in zip(self.prompts, self.states, strict=True)
        }
        return measure.outcome(answers, self.policies, self.known).onsets


def table(found: Found) -> list[str]:
    """Return the lines of a table with a row for each harm.

    A harm that does not begin has the rank of one that begins last. An onset beyond what the
    prediction traced counts as none.
    """
    head = (
        "| harm | begins: predicted | observed | both | rank correlation | median error, nats "
        "| inside the interval | of those observed |"
    )
    lines = [head, "| --- " * 8 + "|"]
    for harm in found[0]["onsets"]:
        rows = [own["onsets"][harm] for own in found]
        ends = ("nats", "low", "high", "observed")
        at, low, high, seen = (
            np.array([math.inf if row[end] is None else row[end] for row in rows]) for end in ends
        )
        seen = np.where(seen > [row["traced"] for row in rows], math.inf, seen)
        inside = (low <= seen) & (seen <= high)
        begun, known = np.isfinite(at), np.isfinite(seen)
        both = begun & known
        cells = [begun.sum(), known.sum(), both.sum()]
        varied = begun.any() and known.any()
        rho = f"{spearmanr(at, seen).statistic:.2f}" if varied else ""
        off = f"{np.median(np.abs(at[both] - seen[both])):.1f}" if both.any() else ""
        share = f"{inside[known].sum()} of {known.sum()}"
        lines.append(
            f"| {harm} | " + " | ".join(map(str, cells)) + f" | {rho} | {off} | "
            f"{inside.mean():.0%} | {share} |"
        )
    return lines


def main() -> None:
    """Measure all heads and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    parser.add_argument("--states", type=Path, default=STATES, help="the folder of cached states")
    parser.add_argument("--table", action="store_true", help="only print the table")
    args = parser.parse_args()
    if not args.table:
        study = Study(args.cache, args.states)
        labmt = lexicon("labmt")
        own = held_out(labmt.index, salt=SPLIT_SALT)
        gates, others = Side(study, PROMPTS.values(), labmt[own]), Side(study, OTHERS, labmt[~own])
        found = []
        for head in study.heads:
            pairs = zip(gates.onsets(head.weights), others.onsets(head.weights), strict=True)
            onsets = {one.harm: asdict(one) | {"observed": other.nats} for one, other in pairs}
            found.append({"flaw": head.flaw, "dose": head.dose, "onsets": onsets})
            print(head.flaw, head.dose, flush=True)
        ONSETS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(*table(json.loads(ONSETS.read_text(encoding="utf-8"))), sep="\n")
