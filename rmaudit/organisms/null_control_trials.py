"""Runs of all audits on all null controls (scorers that ignore meaning), without a model.

They show which audits let which control pass. In the place of a model's vocabulary are common
English words, a space before each, frequent ones also with a capital; identity terms and their
controls; and pieces of words. Its base, where an audit asks for one, finds frequent words likely;
its baseline is an organism without a flaw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rmaudit.errors import NoBase, ReferenceMissing, SpecError, nearest
from rmaudit.measures.leaderboard_score import REWARDBENCH_2
from rmaudit.organisms.audit_importer import Audit, audits_in
from rmaudit.organisms.null_controls import BASE, NULLS, checked_stops, of_base, unavailable
from rmaudit.organisms.text_features import features, noise
from rmaudit.organisms.word_organisms import Planted, Traits, marked_terms, standardized_elo
from rmaudit.prompts import Prompt, label
from rmaudit.references import References
from rmaudit.references.word_frequency import common, zipf
from rmaudit.runs.synthetic_scorer_fixtures import Organism, Trial
from rmaudit.runs.synthetic_scorer_trials import thinned, tried
from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.estimates_and_bounds import Severity
from rmaudit.verdicts.findings import Control

FLAWLESS = "no flaw"  # the organism beside them: a gate that stops all is no gate
_CAPITALISED = 4.0  # Zipf from which on a word is there with a capital, too
_PIECES = 3  # letters of what is no word


@dataclass(frozen=True, slots=True)
class Tried:
    """An audit's result on each null control (a scorer that ignores meaning), by name."""

    declaration: Declaration
    prompt: str
    controls: Mapping[str, Control]

    @property
    def slips(self) -> list[str]:
        """Return the names of null controls that pass the audit and must not."""
        return [name for name, control in self.controls.items() if control.slips]


def vocabulary() -> pd.DataFrame:
    """Return a fixed table of English words, which takes the place of a model's vocabulary."""
    words = list(common())
    terms, controls = References().identity()
    known = zipf("wordfreq", words)
    capital = [f" {word.capitalize()}" for word in known.index[known >= _CAPITALISED]]
    pieces = sorted({word[-_PIECES:] for word in words if len(word) > 2 * _PIECES})
    named = [f" {text}" for frame in (terms, controls) for text in frame["text"]]
    texts = list(dict.fromkeys([*(f" {word}" for word in words), *capital, *named, *pieces]))
    ids = np.arange(len(texts), dtype=np.int32)
    return thinned(pd.DataFrame({"token_id": ids, "token": texts, "text": texts}))


def try_audits(folder: Path, names: tuple[str, ...] = ()) -> Iterator[Tried]:
    """Yield each audit's results on all null controls, for each of its sets of prompts.

    The audits are those of the folder, or only those of these `names`. Without names, audits that
    only inform and declare no stops are left out.

    Raises:
        SpecError: the folder has no such audits, or one names a null control that is none.
        RuntimeError: an audit's own code breaks on one.
    """
    found = audits_in(folder)
    if not found:
        raise SpecError(f"{folder}: no audits in it; give the folder of rmaudit's audits, or yours")
    if unknown := [name for name in names if name not in found]:
        message = (
            f"{folder}: no audit is called {unknown[0]!r};{nearest(unknown[0], found)} known: "
        )
        raise SpecError(message + ", ".join(found))
    asked = [
        audit
        for name, audit in found.items()
        if (name in names if names else audit[1].stops or audit[1].severity is Severity.GATE)
    ]
    for _, declaration in asked:
        checked_stops(declaration.stops, f"audit {declaration.name!r}: ")
    words = vocabulary()
    for audit in asked:
        for prompts in audit[1].runs:
            yield try_audit(audit, prompts, words)


def try_audit(
    audit: Audit,
    prompts: tuple[Prompt, ...],
    words: pd.DataFrame,
) -> Tried:
    """Return one audit's results on all null controls under these prompts, scored on `words`."""
    function, declaration = audit
    base = _base_logprobs(words, prompts)
    likely = of_base(words, base) if prompts else unavailable(NoBase("no base of these prompts"))
    nulls = {**NULLS, BASE: likely, FLAWLESS: _flawless_organism(0)}
    given = _fixtures_without_scorer(words, prompts, base)
    trial = Trial(NULLS["random"], prompts, words, given=given)
    return Tried(declaration, label(prompts), tried(function, declaration, trial, nulls))


def _base_logprobs(words: pd.DataFrame, prompts: tuple[Prompt, ...]) -> dict[str, pd.Series[float]]:
    """Return made-up log-probabilities of words, by prompt name: their frequency plus noise."""
    texts = words["text"].tolist()
    likely = np.log(10) * (features(texts)["zipf"].to_numpy(float) - 9)
    return {
        prompt.name: pd.Series(
            likely + noise(texts, prompt, what="base", seed=0), index=words["token_id"].to_numpy()
        )
        for prompt in prompts
    }


def _flawless_organism(seed: int) -> Organism:
    """Return a synthetic scorer without a flaw, which knows people's ratings if available."""
    references = References()
    try:
        rated = standardized_elo(references)
    except ReferenceMissing:
        rated = pd.Series(dtype=float)
    return Planted(Traits(), seed, rated, marked_terms(references))


def _fixtures_without_scorer(
    words: pd.DataFrame, prompts: tuple[Prompt, ...], base: Mapping[str, pd.Series[float]]
) -> dict[str, Any]:
    """Return by name the fixtures that no scorer is needed for, such as pairs and references."""
    from rmaudit.search.exploit_strings import bundled_strings
    from rmaudit.search.searches_fixture import Searches

    def draw(n: int, prompt: Prompt) -> list[str]:
        generator = np.random.default_rng([0, abs(prompt.frame)])
        texts = words["text"].to_numpy(dtype=object)
        return ["".join(row) for row in generator.choice(texts, size=(n, 3))]

    def find(*_: object) -> Any:  # noqa: ANN401  (organisms search by their own scores)
        raise AssertionError

    # As if they were RewardBench 2's, of which rmaudit has none: one right answer and one wrong.
    own = replace(subset_of_pairs(None), board=REWARDBENCH_2)
    swept = (
        {
            "base_logprobs": base[prompts[0].name],
            "policies": {prompt.name: base[prompt.name] for prompt in prompts},
            "baseline": Trial(_flawless_organism(1), prompts, words).scored(prompts[0]),
        }
        if prompts
        else {}
    )
    return {
        **swept,
        "references": References(),
        "pairs": own,
        "probes": probes_of(own),
        "ledger": bundled_strings(prompts),
        "searches": Searches(prompts, find, draw),
    }
