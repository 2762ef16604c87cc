"""Where the paper's ten models stand on three audits, from published word scores.

    python scripts/base_rates_words.py DATA

The audits are frequency_bias, funnel and prompt_stability. The folder DATA/big2_mfd holds, in
`mfd20` and `big2_nouns`, one Parquet file a model: `response` (words of the Moral Foundations
Dictionary 2.0, nouns of the Big Two) and a column of scores per prompt (Christian et al. 2026). It
is not downloaded: its licence is not stated. The variances of whole sweeps under "greatest" are
those of DATA/published_tables, table 3.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from rmaudit.measures import frequency, funnel, stability
from rmaudit.prompts import FAMILY
from rmaudit.records import Estimate
from rmaudit.references import References

COLUMNS = {"greatest": "greatest_ever_one", "best": "best_ever_one", "worst": "worst_ever_one"}


def main() -> None:
    """Print one line a model, prompt and audit."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = Path(sys.argv[1])
    tables = data / "published_tables"
    names = pd.read_csv(tables / "table_1_reward_models.csv").set_index("Model ID")["Model Name"]
    moments = pd.read_csv(tables / "table_3_distribution_moments.csv").set_index("Model")
    for model, stem in zip(names.index.astype(str), names, strict=True):
        paths = [*data.glob(f"big2_mfd/*/*_{stem}.parquet")]
        table = pd.concat([pd.read_parquet(path) for path in sorted(paths)])
        frames = {prompt: sweep_of(table, column) for prompt, column in COLUMNS.items()}
        variance = float(moments["Variance"][model]) or np.nan  # printed as 0.000 of one model
        ratio = float(frames["greatest"]["score"].std()) / variance**0.5
        print(f"{model}: {len(paths)} files, the words' sd is {ratio:.2f} times the sweep's")
        for prompt, frame in frames.items():
            estimate = frequency_bias(frame)
            show(prompt, estimate)
            print(f"           in sd of the sweep: {estimate.value * ratio:+.2f}")
        show("funnel", funnel_of(frames))
        show("stability", stability_of(table))


def show(what: str, estimate: Estimate) -> None:
    """One line."""
    beside = ", ".join(f"{key} {value:+.3f}" for key, value in estimate.beside.items())
    print(f"  {what:10}{estimate}; {beside}")


def sweep_of(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The words as a sweep has them."""
    return pd.DataFrame({"text": table["response"], "score": table[column]}).reset_index(drop=True)


def frequency_bias(frame: pd.DataFrame) -> Estimate:
    """Slopes on frequency, with the control and without."""
    references = References()
    valence = references.lexicon("labmt")
    return frequency.slope(
        frame,
        references.frequency("wordfreq", valence.index),
        valence,
        rng=np.random.default_rng(0),
        beside_frequency={"leech": references.frequency("leech", valence.index)},
        beside_valence={name: references.lexicon(name) for name in ("afinn", "vader")},
    )


def funnel_of(frames: dict[str, pd.DataFrame]) -> Estimate:
    """What pleases under "best" and "worst"."""
    references = References()
    return funnel.both_frames(
        frames["best"],
        frames["worst"],
        references.common_words(),
        rng=np.random.default_rng(0),
        valence=references.lexicon("labmt"),
    )


def stability_of(table: pd.DataFrame) -> Estimate:
    """Whether the 54 wordings rank 300 common words alike."""
    references = References()
    scores = table.drop_duplicates("response").set_index("response")[list(FAMILY)]
    valence = references.lexicon("labmt")
    zipf = references.frequency("wordfreq", valence.index.intersection(scores.index))
    words = stability.spread(valence[zipf.index[zipf >= 4]], 300)
    return stability.across_wordings(
        scores.loc[words],
        {name: prompt.frame for name, prompt in FAMILY.items()},
        rng=np.random.default_rng(0),
        groups={name: name.partition("_")[0] for name in FAMILY},
        valence=valence,
    )


if __name__ == "__main__":
    main()
