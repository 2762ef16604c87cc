"""Measure where the ten models of Christian et al. 2025 stand, by the audits' own measures.

    python -m scripts.reference_band DATA

writes rmaudit/references/band.json: one number a model, audit and prompt, and none of the scores
that they come from. What is measured on words it also prints, with intervals and what stands
beside. DATA has, as a mirror of the references does,

- published_tables: tables 1 and 3 as released;
- published_figures: figure 2A, its cells as printed;
- elo_everything: scores of 7,530 items;
- big2_mfd: in `mfd20` and `big2_nouns` one Parquet file a model, with `response` (words of the
  Moral Foundations Dictionary 2.0, nouns of the Big Two) and a column of scores for each of 54
  prompts (Christian et al. 2026). It is not downloaded: its licence is not stated.

identity_devaluation is not measured: 8 of its words are among these, and it asks for 20.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rmaudit
from rmaudit.config.registry import ModelSpec, default_path, load_registry
from rmaudit.measures import (
    elo_agreement,
    framing_inversion,
    framing_steepness,
    frequency_bias,
    funnel,
    positive_skew,
    prompt_stability,
)
from rmaudit.measures.joined import Answers
from rmaudit.prompts import ALL, FAMILY, PROMPTS, label
from rmaudit.references import References, published_tables
from rmaudit.references.band import FILE
from rmaudit.references.surface import surface
from rmaudit.verdicts.records import Estimate

DIGITS = 4
COLUMNS = {"greatest": "greatest_ever_one", "best": "best_ever_one", "worst": "worst_ever_one"}
NEUTRAL, COMMON, WORDS = 5.0, 4.0, 300  # as the audits have them: labMT's middle; Zipf; how many
TABLE = "published_tables/table_3_distribution_moments.csv"
FIGURE = "published_figures/figure_2a_kendall_tau_transcribed.csv"
ITEMS = "elo_everything/What, in one word, is the greatest thing ever.csv"
WORDINGS = ("greatest", "greatest_concept", "preferred")
FILES = {
    TABLE: TABLE,
    FIGURE: FIGURE,
    ITEMS: "elo_everything/*.csv",
    "big2_mfd": "big2_mfd/*/*.parquet",
}
_2025 = "github.com/brchristian/reward_model_optimal_pessimal_tokens at e82618bb"
_2026 = "github.com/brchristian/reward_models_inherit_value_biases_from_pretraining at 5d8d2e9d"

PROTOCOL = "the paper's protocol"
ON_WORDS = (
    "{} of 2,260 published words (Moral Foundations Dictionary 2.0, Big Two; chosen for their "
    f"meaning), {PROTOCOL}"
)
IN_SD = "; in sd of those words, 1.4 to 2.1 of a sweep's"

_Values = dict[str, float]
# Where it is not the audit's own, findings do not show the band: it is another scale.
UNITS = {
    "positive_skew": positive_skew.UNIT,
    "model_agreement": "mean Kendall's tau-b with nine others",
    "elo_agreement": elo_agreement.UNIT,
    "framing_inversion": framing_inversion.UNIT,
    "framing_steepness": "sd of the words per point of valence",
    "frequency_bias": "sd of the words per tenfold frequency",
    "funnel": funnel.UNIT,
    "prompt_stability": prompt_stability.UNIT,
}
_Entry = tuple[str, str, str, _Values]  # audit, label of its prompts, on what, values


def main() -> None:
    """Measure and write."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    FILE.write_text(as_text(measured(Path(sys.argv[1]))), encoding="utf-8")
    print(f"wrote {FILE}")


def as_text(band: Mapping[str, Any]) -> str:
    """The file's text, a line a number: the same from the same data."""
    return json.dumps(band, indent=1, ensure_ascii=True) + "\n"


def measured(data: Path) -> dict[str, Any]:
    """All of band.json."""
    models = paper_models(data)
    audits: dict[str, dict[str, Any]] = {}
    for audit, prompts, on, values in [*of_tables(data), *of_items(data), *of_words(data)]:
        rounded = {model: round(values[model], DIGITS) for model in models}
        audits.setdefault(audit, {})[prompts] = {"unit": UNITS[audit], "models": rounded, "on": on}
    return {
        "made_by": "scripts/reference_band.py",
        "rmaudit": rmaudit.__version__,
        "sources": {name: source(data, pattern) for name, pattern in FILES.items()},
        "audits": audits,
    }


def paper_models(data: Path) -> dict[str, ModelSpec]:
    """The ten by their names in models.yaml, in its order: those whose hub id has item scores."""
    columns = published_tables.items(data / ITEMS).frame.columns
    models = load_registry(default_path()).models
    return {name: spec for name, spec in models.items() if spec.source in columns}


def source(data: Path, pattern: str) -> dict[str, Any]:
    """Where files come from, how many they are, and the checksum of all their bytes in order."""
    paths = sorted(data.glob(pattern))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
    return {
        "from": _2026 if pattern.startswith("big2") else _2025,
        "files": len(paths),
        "sha256": digest,
    }


def of_tables(data: Path) -> list[_Entry]:
    """What the paper printed itself."""
    skewness = pd.read_csv(data / TABLE).set_index("Model")["Skewness"]
    tau = pd.read_csv(data / FIGURE, index_col=0)
    others = (tau.sum() - 1) / (len(tau) - 1)
    return [
        (
            "positive_skew",
            "greatest",
            f"every token of the vocabulary, as printed in table 3, {PROTOCOL}",
            _by_model(skewness),
        ),
        (
            "model_agreement",
            "greatest",
            f"mean tau with the other nine, not a baseline: figure 2A as printed, {PROTOCOL}",
            _by_model(others),
        ),
    ]


def _by_model(column: pd.Series[float]) -> _Values:
    return {str(model): float(value) for model, value in column.items()}


def of_items(data: Path) -> list[_Entry]:
    """Agreement with people's ratings."""
    files = {name: f"{ALL[name].text.removesuffix('?')}.csv" for name in WORDINGS}
    folder = data / "elo_everything"
    asked = {name: published_tables.items(folder / file).frame for name, file in files.items()}
    items = asked["greatest"].rename(columns={"elo_score": "elo", "elo_matches": "matches"})
    seen = surface(items["name"].tolist())
    values = {
        name: elo_agreement.agreement_with_people(
            items.assign(shown=True),
            {prompt: elo_agreement.Asked(frame[spec.source]) for prompt, frame in asked.items()},
            seen,
            rng=np.random.default_rng(0),
        ).value
        for name, spec in paper_models(data).items()
    }
    prompts = label([ALL[name] for name in WORDINGS])
    return [("elo_agreement", prompts, f"the audit's own 7,530 items, {PROTOCOL}", values)]


@dataclass(frozen=True)
class Words:
    """A model's scores of the words of big2_mfd, and what the audits that can be had make of them.

    45 words are in both files, from two runs; the first one's scores are taken.
    """

    data: Path
    spec: ModelSpec

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a word: `response` and a column a prompt."""
        name = self.spec.source.replace("/", "_")
        paths = sorted((self.data / "big2_mfd").glob(f"*/*_rewards_{name}.parquet"))
        return pd.concat(map(pd.read_parquet, paths)).drop_duplicates("response", ignore_index=True)

    @property
    def spread(self) -> float:
        """The sd of the words under "greatest", in sd of the whole sweep (table 3).

        NaN where table 3 prints a variance of 0.
        """
        variance = pd.read_csv(self.data / TABLE).set_index("Model")["Variance"]
        ratio = self.sweep("greatest")["score"].var() / (variance[self.spec.name] or np.nan)
        return float(ratio**0.5)

    def sweep(self, prompt: str) -> pd.DataFrame:
        """The words as a sweep has them."""
        columns = {"text": self.table["response"], "score": self.table[COLUMNS[prompt]]}
        return pd.DataFrame(columns)

    @property
    def answers(self) -> dict[str, Answers]:
        """The words under the three prompts, as the measures of framing take them."""
        return {name: Answers(self.sweep(name), prompt.frame) for name, prompt in PROMPTS.items()}

    def inversion(self) -> Estimate:
        """framing_inversion."""
        valence = References().lexicon("labmt")
        return framing_inversion.inversion(self.answers, valence, rng=np.random.default_rng(0))

    def steepness(self) -> Estimate:
        """framing_steepness, with the lexicons that stand beside."""
        references = References()
        secondary = {
            "vader": references.lexicon("vader"),
            "labmt": references.lexicon("labmt") - NEUTRAL,
        }
        valence = references.lexicon("afinn")
        return framing_steepness.steepness(
            self.answers, valence, rng=np.random.default_rng(0), secondary=secondary
        )

    def frequency(self, prompt: str) -> Estimate:
        """frequency_bias."""
        valence = References().lexicon("labmt")
        zipf = References().frequency("wordfreq", valence.index)
        return frequency_bias.slope(self.sweep(prompt), zipf, valence, rng=np.random.default_rng(0))

    def funnel(self) -> Estimate:
        """Funnel."""
        return funnel.both_frames(
            self.sweep("best"),
            self.sweep("worst"),
            References().common_words(),
            rng=np.random.default_rng(0),
            valence=References().lexicon("labmt"),
        )

    def stability(self) -> Estimate:
        """prompt_stability."""
        scores = self.table.set_index("response")[list(FAMILY)]
        valence = References().lexicon("labmt")
        zipf = References().frequency("wordfreq", valence.index.intersection(scores.index))
        words = prompt_stability.spread(valence[zipf.index[zipf >= COMMON]], WORDS)
        return prompt_stability.across_wordings(
            scores.loc[words],
            {name: prompt.frame for name, prompt in FAMILY.items()},
            rng=np.random.default_rng(0),
            groups={name: name.partition("_")[0] for name in FAMILY},
            valence=valence,
        )


def of_words(data: Path) -> list[_Entry]:
    """What can be had of the published scores of words."""
    words = {name: Words(data, spec) for name, spec in paper_models(data).items()}

    for name, each in words.items():
        print(f"{name}: {len(each.table):,} words, their sd is {each.spread:.2f} of a sweep's")

    def entry(
        audit: str, names: Sequence[str], measure: Callable[[Words], Estimate], unit: str = ""
    ) -> _Entry:
        prompts = label([FAMILY.get(name) or PROMPTS[name] for name in names])
        found = {model: measure(each) for model, each in words.items()}
        for model, estimate in found.items():
            secondary = ", ".join(
                f"{key} {value:+.3f}" for key, value in estimate.secondary.items()
            )
            print(f"{audit}[{model}-{prompts}]: {estimate}; {secondary}")
        (n,) = {estimate.n for estimate in found.values()}
        values = {model: estimate.value for model, estimate in found.items()}
        return audit, prompts, ON_WORDS.format(f"{n:,}") + unit, values

    return [
        entry("framing_inversion", list(PROMPTS), Words.inversion),
        entry("framing_steepness", list(PROMPTS), Words.steepness, IN_SD),
        *(
            entry("frequency_bias", [name], partial(Words.frequency, prompt=name), IN_SD)
            for name in PROMPTS
        ),
        entry("funnel", ["best", "worst"], Words.funnel),
        entry("prompt_stability", list(FAMILY), Words.stability),
    ]


if __name__ == "__main__":
    main()
