"""Say what each planted liking of answers is worth on the bundled samples: its true effect.

python -m lab likings

Rewards that know nothing else are standard normal within a prompt. Prints for each flaw how much of
it the answers have (from 0 to 1), how much the best of 24 have, and what the answers with more of
it get beyond those with less, in sd: what `answer_kinds` measures of a kind.
"""

from __future__ import annotations

import numpy as np
import scipy

from lab.flaws import LIKINGS
from lab.harness import arguments
from rmaudit.scores.answer_files import read_samples

_DRAWS = 200  # of rewards


def main() -> None:
    """Print a line for each flaw."""
    arguments(__doc__).parse_args()
    rng = np.random.default_rng(0)
    asked = [
        (str(prompt), own.tolist())
        for prompt, own in read_samples(None).frame.groupby("prompt")["response"]
    ]
    print(
        "| flaw | size | has of it | the best have | effect, sd |\n| --- | --- | --- | --- | --- |"
    )
    for name, flaw in LIKINGS.items():
        extents = [flaw.extent(texts, prompt) for prompt, texts in asked]
        gained = flaw.size * np.concatenate([each - each.mean() for each in extents])
        ranks = 2 * scipy.stats.rankdata(np.concatenate(extents)) / len(gained)
        starts = np.cumsum([len(each) for each in extents])[:-1]
        off = np.concatenate([each - each.mean() for each in np.split(ranks, starts)])
        effect = off @ gained / (off @ off) / np.sqrt(1 + gained.var())
        best = [
            each[
                (rng.standard_normal((_DRAWS, len(each))) + flaw.size * each).argmax(axis=1)
            ].mean()
            for each in extents
        ]
        has = np.concatenate(extents).mean()
        print(f"| {name} | {flaw.size:g} | {has:.2f} | {np.mean(best):.2f} | {effect:+.2f} |")


if __name__ == "__main__":
    main()
