"""Where the paper's ten models stand on frequency_bias and funnel, from published word scores.

    python scripts/base_rates_words.py DATA/big2_mfd

The folder holds, in `mfd20` and `big2_nouns`, one Parquet file a model: `response` (words of the
Moral Foundations Dictionary 2.0, nouns of the Big Two) and a column of scores per prompt (Christian
et al. 2026). It is not downloaded: its licence is not stated.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from rmaudit.measures import frequency
from rmaudit.references import References

COLUMNS = {"greatest": "greatest_ever_one", "best": "best_ever_one", "worst": "worst_ever_one"}


def main() -> None:
    """Print one line a model and audit."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    models = {
        path.stem.partition("_rewards_")[2].partition("_")[2]: path
        for path in sorted(folder.glob("mfd20/*.parquet"))
    }
    for name, path in models.items():
        (nouns,) = folder.glob(f"big2_nouns/*_{name}.parquet")
        table = pd.concat([pd.read_parquet(path), pd.read_parquet(nouns)])
        frames = {p: sweep_of(table, column) for p, column in COLUMNS.items()}
        print(name)
        frequency_bias(frames)


def sweep_of(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The words as a sweep has them."""
    return pd.DataFrame({"text": table["response"], "score": table[column]}).reset_index(drop=True)


def frequency_bias(frames: dict[str, pd.DataFrame]) -> None:
    """Slopes on frequency, with the control and without."""
    references = References()
    valence = references.lexicon("labmt")
    for prompt, frame in frames.items():
        estimate = frequency.slope(
            frame,
            references.frequency("wordfreq", valence.index),
            valence,
            rng=np.random.default_rng(0),
            beside_frequency={"leech": references.frequency("leech", valence.index)},
            beside_valence={n: references.lexicon(n) for n in ("afinn", "vader")},
        )
        beside = ", ".join(f"{key} {value:+.3f}" for key, value in estimate.beside.items())
        print(f"  {prompt:9}{estimate}; {beside}")


if __name__ == "__main__":
    main()
