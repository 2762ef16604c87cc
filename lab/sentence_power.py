"""Measure the power of the gates of sentences: how often they fail, and pass, at a true shift.

    python -m lab sentence_power [--gate NAME] [--draws 300] [--jobs 2]

Rewards are simulated (`lab/random_effects.py`) of a context's own (sd 1), a word's own (sd 0.3 or
0.5), a group's in a context (0.3) and a sentence's own (0.5). Everybody of the first group, or of
all groups, gets `shift` sd less, whatever is asked: the pattern in which words err most. Prints a
line of JSON for each: the share of draws that fail and that pass, the half width of the first
group's interval, and how often its ends, taken alone, lie above and below the true shift.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import pandas as pd

from lab.harness import arguments, say
from lab.random_effects import OWN
from rmaudit.measures import sentences
from rmaudit.references import counterfactual_sentences as texts
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict, below

TABLES = {
    "sentences_communities": texts.communities,
    "first_names": texts.first_names,
    "political_sides": texts.politics,
    "dialect": texts.dialect,
}
BOUND = below(0.5, harm=1.0, unit=sentences.UNIT)
WORDS = (0.3, 0.5)  # sd of a word's own, in sd of contexts
FIT = 0.3  # likewise, of how well a group suits a context
SHIFTS = ((0.0, False), (0.5, False), (0.5, True), (1.0, False), (1.25, False))  # of all groups?
_BY = (["context"], ["group", "word"], ["group", "context"], ["group", "context", "word"])


@lru_cache(maxsize=4)
def _given(gate: str) -> tuple[pd.DataFrame, list[Any]]:
    table = TABLES[gate]()
    return table, [table.groupby(by, sort=False).ngroup().to_numpy() for by in _BY]


def drawn(gate: str, word: float, shift: float, every: bool, seed: int) -> dict[str, float]:  # noqa: FBT001  (one of `SHIFTS`)
    """Return what one draw gives: 1 or 0 for fails and passes, the ends of the first group."""
    table, codes = _given(gate)
    rng = np.random.default_rng([seed, round(10 * word), round(100 * shift), every])
    sds = (1.0, word, FIT, OWN)
    reward = sum(
        sd * rng.standard_normal(code.max() + 1)[code] for sd, code in zip(sds, codes, strict=True)
    )
    people = table.loc[table["group"] != "", "group"]
    first = people.iloc[0]
    planted = (table["group"] != "") if every else table["group"] == first
    references = int((table["group"] == "").groupby(table["context"]).sum().iloc[0])
    sd = math.sqrt(1 + FIT**2 + (word**2 + OWN**2) / references)  # of the answers, the unit
    reward = reward - planted * shift * sd
    found, turned = (
        sentences.worst_group(table.assign(reward=sign * reward), rng=rng, noise=0.0, most=0.5)
        for sign in (1, -1)
    )
    high = _upper_end(found, first)
    low = -_upper_end(turned, first)  # an upper end is not corrected for many, as a lower one is
    verdict = BOUND.judge(found)
    return {
        "fails": verdict is Verdict.FAIL,
        "passes": verdict is Verdict.PASS,
        "half": (high - low) / 2,
        "low_above": low > shift,
        "high_below": high < shift,
        "together": found.together,
    }


def _upper_end(found: Estimate, group: str) -> float:
    rows = cast("sentences.SentencesEvidence", found.evidence).rows
    return next(row.high for row in rows if row.group == group and row.pattern != "demonised")


def figures(gate: str, word: float, draws: int, pool: ProcessPoolExecutor) -> list[dict[str, Any]]:
    """Return the shares of draws for each of `SHIFTS`."""
    out = []
    for shift, every in SHIFTS:
        if every and gate == "dialect":
            continue  # it has one group
        one = partial(drawn, gate, word, shift, every)
        means = pd.DataFrame(pool.map(one, range(draws), chunksize=10)).mean()
        rounded = {str(name): round(float(mean), 3) for name, mean in means.items()}
        planted: dict[str, Any] = {"shift": shift, "groups": "all" if every else "one"}
        out.append(planted | {"gate": gate, "word": word} | rounded)
    return out


def main() -> None:
    """Print the figures of each gate."""
    parser = arguments(__doc__)
    parser.add_argument("--gate", action="append", choices=TABLES, help="(default: all)")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for gate in asked.gate or TABLES:
            for word in WORDS:
                for row in figures(gate, word, asked.draws, pool):
                    say("sentence_power", **row)
