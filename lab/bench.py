"""Self-test: count how often the audits block synthetic scorers with a planted flaw, and without.

Three questions, each answered by many organisms that differ in everything that is a word's own:

- how many runs are blocked of organisms without a flaw, and of organisms like published models;
- for each flaw at its stated size, how many runs are blocked, and how many FAIL;
- what the verdict is where a flaw puts the audit's value at its bound, and a quarter around it.

A run is every gating audit under every one of its prompts, judged together as `pytest audits`
judges a model.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lab import fresh_answers
from lab.answer_organisms import Habits, of_words_and_answers
from lab.conduct_flaws import ConductFlaw
from lab.flaws_to_detect import FLAWS, Flaw
from lab.planted_flaws import ALL
from lab.unlisted_answer_flaws import AnswerShift
from lab.word_organisms import Planted, Traits, marked_terms, standardized_elo
from rmaudit.errors import RmauditError, SpecError
from rmaudit.models.model_factory import load
from rmaudit.prompts import Prompt, label
from rmaudit.references import References
from rmaudit.runs.audit_importer import Audit, audits_in
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Organism, Trial
from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
from rmaudit.search.exploit_strings import bundled_strings
from rmaudit.verdicts.audit_declaration import Declaration
from rmaudit.verdicts.decision import decide, measured, unmeasured
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.verdict_policy import Policy

FALSE_ALARMS, FOUND, FAILED = 0.05, 0.95, 0.8  # shares of runs
AROUND = (0.75, 1.0, 1.25)  # of the bound
WITHOUT = "without it"  # of an organism like one with a flaw, but for that
CLEAN = Traits()
PUBLISHED = Traits(human=0.3, frequency=0.15)
TRAITS = {each.name for each in fields(Traits)} - {"shifts"}
_COARSE, _FEW = 7, 8  # sizes, and organisms of each, from which a value's size is read off
_DAY = date(2026, 1, 1)  # policies are empty: no day matters


@dataclass(frozen=True, slots=True)
class Judged:
    """The outcome of auditing a synthetic scorer (organism), by one audit or all blocking ones."""

    blocked: bool
    failed: bool
    by: tuple[str, ...]
    """The audits that block it."""
    values: tuple[float, ...]
    """Of the audit that was asked for, one for each of its measurements."""


@dataclass(frozen=True, slots=True)
class BenchOutcome:
    """Shares of the synthetic scorers (organisms) of one kind that audits blocked or failed."""

    kind: str
    """`clean`, `published`, or the name of the audit whose flaw it is."""
    said: str
    size: float | None
    """Of the flaw; None for organisms without one."""
    at: str
    """`stated`, or where the audit's value lies: `0.75 of the bound`; "" without a flaw."""
    runs: int
    blocked: float
    failed: float
    value: float | None
    """The median of the audit's value that is nearest to its bound, or beyond it furthest."""
    by: tuple[tuple[str, float], ...]
    """The share of runs that each audit blocks."""

    @property
    def as_stated(self) -> bool | None:
        """Return whether the shares of blocked runs meet the stated limits; None without limits.

        Few runs without a flaw are blocked, and nearly all with the stated one, most by FAIL. None
        where rmaudit states nothing: of organisms like published models, which have flaws of their
        own, and of sizes around the bound.
        """
        if self.kind == "clean" or self.at == WITHOUT:
            return self.blocked <= FALSE_ALARMS
        if self.at != "stated":
            return None
        return self.blocked >= FOUND and self.failed >= FAILED


@dataclass(frozen=True)
class Bench:
    """The setting of a self-test: a folder of audits, a vocabulary, and reference lists.

    `vocabulary` has the columns of `Sweep.frame` without scores.
    """

    audits: Path
    vocabulary: pd.DataFrame
    references: References
    prepared: dict[str, Any] = field(default_factory=dict, compare=False)

    def gates(self) -> Iterator[Audit]:
        """Yield function and declaration of each blocking audit that can audit a synthetic scorer.

        Those that compare with another model are left out.
        """
        for function, declaration in audits_in(self.audits).values():
            if declaration.severity.gates and not needs_another_model(function):
                yield function, declaration

    def audit(self, name: str) -> Audit:
        """Return the function and the declaration of the audit called `name`.

        Raises:
            SpecError: there is none of this name.
        """
        if found := audits_in(self.audits).get(name):
            return found
        message = f"{self.audits}: no audit is called {name!r}; give the folder of rmaudit's audits"
        raise SpecError(message)

    def flaws(self, *, traits: bool) -> list[tuple[str, Flaw]]:
        """Return (audit, flaw) of flaws to detect: scorers' traits if `traits`, else paid changes.

        Traits are those of `word_organisms` and `planted_flaws`; a paid change is one of an answer
        that an organism of `answer_organisms` pays for.
        """
        return [
            (declaration.name, flaw)
            for _, declaration in audits_in(self.audits).values()
            for flaw in FLAWS.get(declaration.name, ())
            if (flaw.trait in TRAITS or flaw.trait in ALL) is traits
        ]

    def organism(self, traits: Traits, seed: int) -> Planted:
        """Return a synthetic scorer with the settings `traits`, which knows people's ratings."""
        if not self.prepared:
            elo, terms = standardized_elo(self.references), marked_terms(self.references)
            self.prepared.update(elo=elo, identity=terms)
        return Planted(traits, seed, **self.prepared)


def vocabulary_of(model: str) -> pd.DataFrame:
    """Return a checkpoint's vocabulary, with the columns of `Sweep.frame` without scores."""
    known = load(model).vocabulary()
    return pd.DataFrame(
        {"token_id": list(known.ids), "token": list(known.pieces), "text": list(known.texts)}
    )


def judged(  # noqa: PLR0913  (keyword-only after the subjects)
    bench: Bench,
    traits: Traits,
    seed: int,
    *,
    audit: str = "",
    habits: Habits | None = None,
    conduct: ConductFlaw | None = None,
    liking: AnswerShift | None = None,
) -> Judged:
    """Audit one organism with the settings `traits`, by one `audit` or all blocking ones.

    `habits` are what it likes of whole answers (`answer_organisms`), those of its seed by default;
    `conduct` is a flaw of these (`conduct_flaws`), and `liking` a kind of answers that is paid for.

    Raises:
        RmauditError: the audit that is asked for cannot be measured.
    """
    words = bench.organism(traits, seed)
    organism = _caching_scorer(of_words_and_answers(words, habits, conduct, liking))
    asked = [bench.audit(audit)] if audit else list(bench.gates())
    found = [
        _finding_of(bench, organism, each, prompts, seed)
        for each in asked
        for prompts in each[1].runs
    ]
    settled = decide(found, Policy(), _DAY)
    blocking = [finding for finding in settled if finding.blocks]
    if audit and (lost := [finding for finding in settled if finding.estimate is None]):
        raise RmauditError(f"{audit} cannot be measured of an organism: {lost[0].reason}")
    return Judged(
        blocked=bool(blocking),
        failed=any(finding.verdict is Verdict.FAIL for finding in blocking),
        by=tuple(dict.fromkeys(finding.audit for finding in blocking)),
        values=tuple(f.estimate.value for f in settled if audit and f.estimate),
    )


def _caching_scorer(scorer: Organism) -> Organism:
    known: dict[tuple[tuple[str, ...], Prompt], np.ndarray[Any, Any]] = {}

    def score(texts: Sequence[str], prompt: Prompt) -> np.ndarray[Any, Any]:
        key = tuple(texts), prompt
        if key not in known:
            known[key] = scorer(texts, prompt)
        return known[key].copy()

    return score


def _finding_of(
    bench: Bench, organism: Organism, audit: Audit, prompts: tuple[Prompt, ...], seed: int
) -> Finding:
    function, declaration = audit
    asked = label(prompts)
    claim = declaration.claimed(model="organism", model_source="", prompt=asked, nodeid="")
    given = {
        "references": bench.references,
        "ledger": bundled_strings(prompts),
        "probes": probes_of(subset_of_pairs(None)),
        "fresh": fresh_answers.pairs(),
    }
    trial = Trial(organism, prompts, bench.vocabulary, seed=seed, given=given)
    try:
        return measured(claim, measure(function, trial), Policy(), _DAY)
    except RmauditError as error:
        return unmeasured(claim, str(error), Policy(), Verdict.ERROR)


def flawed(flaw: Flaw, size: float) -> Traits:
    """Return the settings (traits) of a synthetic scorer that has the flaw at this size."""
    named: dict[str, Any] = dict(flaw.fixed)
    if flaw.trait in ALL:
        return replace(CLEAN, **named, shifts=((flaw.trait, size),))
    return replace(CLEAN, **named | {flaw.trait: size})


def sizes(bench: Bench, audit: str, flaw: Flaw) -> dict[str, float]:
    """Return the flaw sizes to test, by name: the declared one, and some near the audit's bound.

    The latter are read off a straight line between the medians of a few organisms of a few sizes; a
    value that no size up to the stated one has is left out.
    """
    grid = np.linspace(flaw.without, flaw.size, _COARSE)
    _, declaration = bench.audit(audit)
    medians = [ladder(bench, audit, flaw, "", size, range(_FEW)).value for size in grid]
    values = np.array(medians, dtype=np.float64)
    end = _end_that_is_crossed(declaration, values)
    rising = np.argsort(values)
    found = {"stated": flaw.size}
    for part in AROUND:
        if values.min() <= part * end <= values.max():
            size = float(np.interp(part * end, values[rising], grid[rising]))
            found[f"{part:g} of the bound"] = size
    return found


def ladder(  # noqa: PLR0913, PLR0917  (what is judged, of which organisms)
    bench: Bench, audit: str, flaw: Flaw, at: str, size: float, seeds: Sequence[int]
) -> BenchOutcome:
    """Return how `audit` judges synthetic scorers that have the flaw at this size (named `at`)."""
    runs = [judged(bench, flawed(flaw, size), seed, audit=audit) for seed in seeds]
    _, declaration = bench.audit(audit)
    return counted(audit, flaw.says, runs, size=size, at=at, declaration=declaration)


def counted(  # noqa: PLR0913  (keyword-only after the subjects)
    kind: str,
    said: str,
    runs: Sequence[Judged],
    *,
    size: float | None = None,
    at: str = "",
    declaration: Declaration | None = None,
) -> BenchOutcome:
    """Return a `BenchOutcome` of runs: shares blocked and failed, and the median value."""
    by = Counter(audit for run in runs for audit in run.by)
    values = [_furthest_out(run.values, declaration) for run in runs] if declaration else []
    return BenchOutcome(
        kind=kind,
        said=said,
        size=size,
        at=at,
        runs=len(runs),
        blocked=float(np.mean([run.blocked for run in runs])),
        failed=float(np.mean([run.failed for run in runs])),
        value=float(np.median(values)) if values else None,
        by=tuple((audit, n / len(runs)) for audit, n in by.most_common()),
    )


def _furthest_out(values: Sequence[float], declaration: Declaration) -> float:
    """Return the value furthest outside the audit's bound; if none is, the nearest to an end."""
    low, high = declaration.bound.ends
    return min(values, key=lambda value: min(value - low, high - value))


def _end_that_is_crossed(declaration: Declaration, values: np.ndarray[Any, Any]) -> float:
    """Return the end (low or high) of the audit's bound that values cross as the flaw grows."""
    low, high = declaration.bound.ends
    if np.isfinite(low) and np.isfinite(high):
        return high if values[-1] > values[0] else low
    return low if np.isfinite(low) else high


def needs_another_model(function: Callable[..., Estimate]) -> bool:
    """Return whether an audit looks at more than one reward model, which no organism stands for."""
    others = {"baseline", "baseline_model", "base_logprobs", "policies", "searches", "reward_model"}
    return bool(others & set(inspect.signature(function).parameters))
