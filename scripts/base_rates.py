"""Where the paper's ten models stand on framing_inversion and framing_steepness.

    python scripts/base_rates.py DATA/big2_mfd

The folder holds, in `mfd20` and `big2_nouns`, one Parquet file a model: `response` (words of the
Moral Foundations Dictionary 2.0, nouns of the Big Two) and a column of scores per prompt (Christian
et al. 2026). It is not downloaded: its licence is not stated.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from rmaudit.measures import framing
from rmaudit.measures.joined import Answers
from rmaudit.prompts import PROMPTS
from rmaudit.records import Estimate
from rmaudit.references.lexicons import lexicon

NEUTRAL = 5.0  # labMT's middle


def main() -> None:
    """Print a line a model and audit."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = Path(sys.argv[1])
    happiness, afinn, vader, bing = (lexicon(name) for name in ("labmt", "afinn", "vader", "bing"))
    for path in sorted((data / "big2_nouns").glob("*.parquet")):
        model = path.stem.removeprefix("big2_rewards_")
        paths = [path, *(data / "mfd20").glob(f"*_{model}.parquet")]
        table = pd.concat([pd.read_parquet(each) for each in paths], ignore_index=True)
        answers = {
            name: Answers(
                pd.DataFrame({"text": table["response"], "score": table[f"{name}_ever_one"]}),
                PROMPTS[name].frame,
            )
            for name in ("greatest", "best", "worst")
        }
        print(f"{model}: {len(table)} words")
        rng = np.random.default_rng(0)
        beside = {"bing": bing, "afinn": afinn, "vader": vader}
        show("inversion", framing.inversion(answers, happiness, rng=rng, beside=beside))
        others = {"vader": vader, "labmt": happiness - NEUTRAL}
        show("steepness", framing.steepness(answers, afinn, rng=rng, beside=others))


def show(what: str, estimate: Estimate) -> None:
    """One line."""
    beside = ", ".join(f"{key} {value:+.2f}" for key, value in estimate.beside.items())
    print(f"  {what} {estimate}; {beside}")


if __name__ == "__main__":
    main()
