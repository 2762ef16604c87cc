"""Measure token_kinds on the published models, with and without a reference, and its power.

    RMAUDIT_DATA=FOLDER python -m lab kinds [--sets 40]

The ten models of Christian et al. 2026 have scores of 2,145 words. For each the surest effect is
printed as the audit has it, and with what other lineages share taken away (a quadratic regression
on the mean residual of the models outside of its lineage). Then sets of 5, 10, 20 and 40 words are
moved by 1.5, 3 and 6 sd of a model's own residuals, under every prompt: tight sets are a word's
nearest, loose ones a random half of its nearest twice as many. Printed is the share that FAILs.
"""

from __future__ import annotations

import os
from itertools import cycle, product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.harness import arguments
from rmaudit.measures.kinds_of_tokens import (
    ALWAYS,
    Kinds,
    TokenKindEffect,
    kinds_of,
)
from rmaudit.measures.token_kinds import described
from rmaudit.measures.token_likeness import Embedding
from rmaudit.prompts import FAMILY
from rmaudit.references import References
from rmaudit.references.offensive_text_masks import mask, masked
from rmaudit.references.offensive_word_lists import english
from rmaudit.references.published_score_tables import MIRROR, WORDS, words
from rmaudit.references.word_embedding import embedding
from rmaudit.runs.audit_importer import audits_in

ASKED = {"greatest_ever_one": 1, "best_ever_one": 1, "worst_ever_one": -1}
SIZES, SDS = (5, 10, 20, 40), (1.5, 3.0, 6.0)

_Floats = NDArray[np.float64]


def main() -> None:
    """Print the surest effect of each published model, then the power."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", type=int, default=40, help="planted sets of each kind")
    asked = parser.parse_args()
    models = published()
    texts = tuple(next(iter(models.values())).index)
    kinds = _kinds(texts)
    signs = np.array([FAMILY[name].frame for name in ASKED])
    scores = {name: table[list(ASKED)].to_numpy(float).T for name, table in models.items()}
    print(f"{len(texts)} words, {len(kinds.words)} stems, {kinds.many:,} kinds")
    own = {name: kinds.profiles(each, signs) for name, each in scores.items()}
    for name in models:
        others = [other for other in models if lineage(other) != lineage(name)]
        alone = kinds.surest(*own[name])
        less = {
            pattern: _without(profile, [own[other][0][pattern] for other in others])
            for pattern, profile in own[name][0].items()
        }
        sds = {pattern: float(left[: len(kinds.words)].std()) for pattern, left in less.items()}
        print(f"{name} | {_said(kinds, alone)} | {_said(kinds, kinds.surest(less, sds))}")
    _power(kinds, scores, signs, asked.sets)


def published() -> dict[str, pd.DataFrame]:
    """Return the published scores of single words, by model: a row a word, a column a prompt."""
    parts: dict[str, list[pd.DataFrame]] = {}
    folder = Path(os.environ["RMAUDIT_DATA"]) / MIRROR
    for path in sorted(folder.glob("*/*_rewards_*.parquet")):
        parts.setdefault(path.stem.split("_rewards_")[1], []).append(words(path).frame)
    found = {}
    for name, tables in parts.items():
        table = pd.concat(tables)
        table[WORDS] = table[WORDS].str.lower()
        table = table[table[WORDS].str.isalpha()].drop_duplicates(WORDS).set_index(WORDS)
        found[name] = table.sort_index()
    return found


def lineage(model: str) -> str:
    """Return whose reward data or backbone a published model has, which it shares with others."""
    known = {"Gemma-2-27B": "Gemma 27B", "GRM": "GRM", "ArmoRM": "ArmoRM"}
    return next((said for part, said in known.items() if part in model), "Skywork Llama")


def _kinds(texts: tuple[str, ...]) -> Kinds:
    known = References()
    zipf = known.frequency("wordfreq", texts)
    each = (tuple(zip(values.index, values, strict=True)) for values in (known.valence(), zipf))
    return kinds_of(texts, Embedding(*embedding()), *each, english())


def _without(profile: _Floats, others: list[_Floats]) -> _Floats:
    shared = np.mean(others, axis=0)
    both = ~np.isnan(profile + shared)
    design = np.vander(shared[both], 3)
    rest = profile.copy()
    rest[both] -= design @ (np.linalg.pinv(design) @ profile[both])
    return rest


def _said(kinds: Kinds, found: list[TokenKindEffect]) -> str:
    row = described(kinds, found[0])
    shown = [mask(member) if masked(member) else member for member in row.members[:4]]
    return f"{row.effect:.2f} (low {row.low:.2f}) {', '.join(shown)} {row.said}"


def _power(kinds: Kinds, scores: dict[str, _Floats], signs: NDArray[np.intp], sets: int) -> None:
    rng = np.random.default_rng(0)
    _, declaration = audits_in(Path("audits"))["token_kinds"]
    near = kinds.near[:, : 2 * max(SIZES)]
    for loose, size, sd in product((False, True), SIZES, SDS):
        failed = 0
        for model, _ in zip(cycle(scores.values()), range(sets), strict=False):
            around = near[rng.integers(len(near)), : 2 * size if loose else size]
            hit = rng.choice(around, size, replace=False) if loose else around
            left, own = kinds.profiles(model, signs)
            left[ALWAYS][hit] += sd * own[ALWAYS]
            failed += kinds.surest(left, own)[0].low >= declaration.bound.ends[1]
        kind = "loose" if loose else "tight"
        print(f"{kind} set of {size} moved by {sd} sd: {failed / sets:.2f} FAIL", flush=True)


if __name__ == "__main__":
    main()
