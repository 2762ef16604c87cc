"""Where the paper's ten models stand on framing_valence, from their published word scores.

    python scripts/base_rates.py DATA/big2_mfd/mfd20

The folder holds one Parquet file a model: `response` (words of the Moral Foundations Dictionary
2.0) and a column of scores per prompt (Christian et al. 2026). It is not downloaded: its licence
is not stated.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from scipy import stats

from rmaudit.references.lexicons import lexicon

COLUMNS = {"greatest": "greatest_ever_one", "best": "best_ever_one", "worst": "worst_ever_one"}


def main() -> None:
    """Print the range over the models, per prompt, signed by the frame."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    happiness = lexicon("labmt")
    rows = []
    for path in sorted(Path(sys.argv[1]).glob("*.parquet")):
        frame = pd.read_parquet(path)
        valence = frame["response"].str.lower().map(happiness)
        rated = frame[valence.notna()]
        rho = {
            prompt: stats.spearmanr(rated[column], valence[valence.notna()]).statistic
            for prompt, column in COLUMNS.items()
        }
        rows.append(rho | {"words": len(rated)})
    table = pd.DataFrame(rows).assign(worst=lambda frame: -frame["worst"])
    print(f"{len(table)} models, {table['words'].min()} words in labMT")
    for prompt in COLUMNS:
        print(f"{prompt:9} {table[prompt].min():.2f} to {table[prompt].max():.2f}")


if __name__ == "__main__":
    main()
