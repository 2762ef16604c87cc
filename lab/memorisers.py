"""Count how the audit of fresh answers judges rewards that know public texts alone.

    python -m lab memorisers [--seeds N]

A memoriser is a sound organism on all texts that rmaudit has, and pays by length for all others, or
for a share of the questions. The organisms are those of the self-test, with the habits of real
models; the answers are the lab's (`lab.fresh_answers`).
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab import fresh_answers
from lab.answer_organisms import AnswerScorer
from lab.bench import CLEAN, Bench
from lab.harness import arguments
from rmaudit.prompts import Prompt
from rmaudit.references import References
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Organism, Trial

SHARES = (0.0, 0.3, 0.5, 1.0)  # of the questions whose fresh answers it pays by length
_PARTS = 1000


def memoriser(bench: Bench, share: float, seed: int) -> Organism:
    """Return a scorer that knows of a `share` of questions only the answers that are public."""
    sound = AnswerScorer(bench.organism(CLEAN, seed))
    by_length = AnswerScorer(bench.organism(CLEAN, seed), "answers drawn anew", 1.0)

    def score(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
        place = zlib.crc32(f"{seed}{prompt.text}".encode()) % _PARTS
        return (by_length if place < _PARTS * share else sound)(texts, prompt)

    return score


def main() -> None:
    """Print, for each share, the median value and the verdicts."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=24)
    asked = parser.parse_args()
    bench = Bench(Path("audits"), pd.DataFrame(), References())
    function, declaration = bench.audit("fresh_answers")
    given = {"fresh": fresh_answers.pairs()}
    for share in SHARES:
        found = [
            measure(function, Trial(memoriser(bench, share, seed), (), seed=seed, given=given))
            for seed in range(asked.seeds)
        ]
        verdicts = Counter(str(declaration.bound.judge(each)) for each in found)
        value = np.median([each.value for each in found])
        warned = sum("public" in " ".join(each.caveats) for each in found)
        print(f"by length: {share:.0%}  median {value:.2f}  {dict(verdicts)}  warned {warned}")
