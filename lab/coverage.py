"""Measure how often gates' 95 % intervals cover the true value, over repeated draws of words.

    python -m lab coverage [--draws 300] [--audit NAME] [--jobs 2] [--out FILE]

The shipped audits are run on organisms (synthetic scorers) over units that are drawn from
populations of real ones (`lab/populations.py`): stems of words, head words of things, groups
and controls, strings. The true value is that of very many units, or, where what is asked changes
with their number, the mean of all draws. Beside each coverage stands how long intervals would be,
and how often they would cover, if all words were taken for independent: the same draw, marked so
that no two words have a stem in common. Gates of answers, sentences and pairs have simulated
rewards in place of organisms (`lab/random_effects.py`). Prints one line of JSON for each
row; with --out, all rows are written to that file, from which `python -m scripts.result_pages`
writes docs/coverage.md. Nothing is asserted.
"""

from __future__ import annotations

import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # draws are many: one thread each
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab import random_effects
from lab.harness import arguments, say
from lab.populations import Draw, Items, People, Population, Scorer, Shape, Strings, Words
from lab.word_organisms import Traits
from rmaudit.measures import control_word_matching, identity_gaps
from rmaudit.prompts import Prompt, label
from rmaudit.references import References
from rmaudit.runs.audit_importer import audits_in
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Trial

ROOT = Path(__file__).parents[1]
DRAWN: Mapping[str, Callable[[References], Population]] = {
    "framing_inversion": Words,
    "positive_skew": Words,
    "frequency_slope": Words,
    "model_agreement": Words,
    "elo_agreement": Items,
    "identity_terms": People,
    "gcg_probes": Strings,
}
# For the true value: so many draws of so many times the units.
LARGE: Mapping[Any, tuple[int, int]] = {Words: (3, 40), Items: (5, 8)}
KIN = 0.5  # of what is a word's own under a prompt: a regret of about the bound
SIDE = 10  # every tenth draw is measured as if words were independent, too
SAME = 0.05  # of an interval: no difference
TRUTH = 2**31 - 1  # a seed that no draw has

_Floats = NDArray[np.float64]
_Asked = tuple[tuple[str, str], ...]  # audits and kinds of organisms
_Found = dict[tuple[str, str], _Floats]


@dataclass(frozen=True)
class Kind:
    """A kind of organism (synthetic scorer): its traits, and further settings of its `Scorer`."""

    traits: Traits
    shape: Shape
    uneven: float = 0.0
    weaker: float = 0.0


def _stretched(latent: _Floats) -> _Floats:
    stretched: _Floats = np.expm1(0.2 * latent) / 0.2
    return stretched


def _exp(latent: _Floats) -> _Floats:
    heavy: _Floats = np.exp(latent)
    return heavy


def _strings(more: float, *, alike: float = 0.0) -> Kind:
    """Return a kind of organism that scores exploit strings `more` above real answers.

    `alike` is the size of a part of the score that strings found on one model partly share.
    """
    own = Traits(human=1, identity=-more, word=alike, prompt=0, spelling=0, frequency=0)
    return Kind(own, _stretched)


PUBLISHED = Traits(human=0.3, frequency=0.15)
FLAWED = Traits(valence=0.3, human=0.15, frequency=0.15, identity=0.38, hostility=0.38)
KINDS = {
    "as published": Kind(PUBLISHED, _stretched),
    "heavy tails": Kind(PUBLISHED, _exp),
    "uneven units": Kind(PUBLISHED, _stretched, uneven=0.7),
    "near the bounds": Kind(FLAWED, _stretched),
}
OF_LEAST = {**KINDS, "one prompt weaker": Kind(PUBLISHED, _stretched, weaker=0.3)}
OF_STRINGS = {
    "as real answers": _strings(0),
    "near the bound": _strings(0.7),
    "liked": _strings(1.5),
    "models drawn, too": _strings(0.7, alike=0.7),
}


@dataclass(frozen=True)
class Row:
    """The results of one audit under a prompt (or several) on one kind of organism: a row printed.

    `found` and `apart` have the columns `low`, `value` and `high`, and a row for each draw.
    `apart` has the intervals as if words were independent, for some of the draws (row numbers say
    which).
    """

    audit: str
    prompt: str
    kind: str
    truth: float
    found: pd.DataFrame
    apart: pd.DataFrame

    def figures(self) -> dict[str, Any]:
        """Return the row as plain values for JSON; shares are in percent.

        `first` is the low, value and high of the first draw: by it a test sees that the figures
        are of the measures as they are.
        """
        n, cover = len(self.found), self._covers(self.found)
        error = math.sqrt(max(cover * (1 - cover), 1 / n) / n)
        same = self.found.loc[self.apart.index]
        by_word = len(self.apart) > 0 and DRAWN[self.audit] is not Strings
        return {
            "audit": self.audit,
            "prompts": self.prompt,
            "organism": self.kind,
            "draws": n,
            "truth": round(self.truth, 3),
            "half": round(_half(self.found), 3),
            "first": [round(float(end), 6) for end in self.found.iloc[0]],
            "covers": round(100 * cover, 1),
            "error": round(100 * error, 1),
            "below": round(100 * float((self.found["high"] < self.truth).mean()), 1),
            "above": round(100 * float((self.found["low"] > self.truth).mean()), 1),
            "longer": round(_half(same) / _half(self.apart), 2) if by_word else None,
            "by_word_covers": round(100 * self._covers(self.apart)) if by_word else None,
        }

    def _covers(self, found: pd.DataFrame) -> float:
        return float(((found["low"] <= self.truth) & (self.truth <= found["high"])).mean())


def measured(asked: _Asked, seed: int, *, times: int = 1, apart: bool = False) -> _Found:
    """Return the intervals that audits of one population give on one draw of units.

    By (audit, kind of organism): an array with low, value and high, a row for each prompt or set of
    prompts. `times` multiplies the number of units where it is more than 1.
    """
    population = population_of(asked[0][0])
    units = population.units * times if times > 1 else None
    drawn = population.draw(np.random.default_rng([seed, times]), units, apart=apart)
    vars(identity_gaps)["matched"] = once(control_word_matching.matched)
    found = {}
    for audit, kind in asked:
        of = kinds_of(audit)[kind]
        organism = Scorer(drawn, seed, of.traits, of.shape, of.uneven, of.weaker)
        found[audit, kind] = _under_all(audit, drawn, organism)
    return found


def _under_all(audit: str, drawn: Draw, organism: Scorer) -> _Floats:
    function, declaration = audits_in(ROOT / "audits")[audit]
    out = []
    for prompts in declaration.runs:
        given = {"references": drawn.references, **given_for(audit, drawn, organism, prompts)}
        trial = Trial(organism, prompts, drawn.vocabulary, seed=organism.seed, given=given)
        estimate = measure(function, trial)
        out.append((estimate.low, estimate.value, estimate.high))
    return np.array(out)


def given_for(
    audit: str, drawn: Draw, organism: Scorer, prompts: tuple[Prompt, ...]
) -> dict[str, Any]:
    """Return the audit's further fixtures, if any: baseline or strings."""
    prompt = prompts[0]
    if audit == "model_agreement":
        kin = replace(organism, astray=KIN)
        return {"baseline": Trial(kin, (prompt,), drawn.vocabulary).scored(prompt)}
    if drawn.strings is not None:
        under = drawn.strings[drawn.strings["prompt"].isin([each.name for each in prompts])]
        return {"ledger": under.reset_index(drop=True)}
    return {}


def once(matched: Callable[..., _Floats]) -> Callable[..., _Floats]:
    """Cache `matched`, which uses no scores, so that it runs once for all organisms of a draw."""
    known: dict[bool, _Floats] = {}

    def remembered(*tables: pd.DataFrame, valence: Any = None, **more: Any) -> _Floats:  # noqa: ANN401  (as `matched` has it)
        if (valence is None) not in known:
            known[valence is None] = matched(*tables, valence=valence, **more)
        return known[valence is None]

    return remembered


def population_of(audit: str) -> Population:
    """Return the population of the units that the audit measures, such as words by stem."""
    return _population(DRAWN[audit])


@lru_cache(maxsize=1)
def _population(kind: Callable[[References], Population]) -> Population:
    return kind(References())


def kinds_of(audit: str) -> Mapping[str, Kind]:
    """Return the kinds of organisms on which the audit is run, by name."""
    if DRAWN[audit] is Strings:
        return OF_STRINGS
    return OF_LEAST if audit in {"framing_inversion", "elo_agreement"} else KINDS


def _draw(task: tuple[_Asked, int]) -> tuple[_Found, _Found | None]:
    asked, seed = task
    side = None if seed % SIDE else measured(asked, seed, apart=True)
    return measured(asked, seed), side


def _truth(asked: _Asked) -> _Found | None:
    """Return the true values, from very large draws; None where they are the mean of all draws."""
    draws, times = LARGE.get(DRAWN[asked[0][0]], (0, 0))
    found = [measured(asked, TRUTH - i, times=times) for i in range(draws)]
    return {key: np.mean([each[key] for each in found], axis=0) for key in asked} if found else None


def rows(audits: Iterable[str], draws: int, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """Yield a row for each audit, prompt and kind of organism; kinds with equal results share one.

    All `audits` are of one population.
    """
    names = alike(audits)
    asked = tuple(names)
    known = pool.submit(_truth, asked)
    both = list(pool.map(_draw, [(asked, seed) for seed in range(draws)]))
    yield from told(names, known.result(), dict(enumerate(both)))


def told(
    names: Mapping[tuple[str, str], str],
    truths: _Found | None,
    draws: Mapping[int, tuple[_Found, _Found | None]],
) -> Iterator[Row]:
    """Yield the rows to print from what was measured; `draws` has the estimates by seed."""
    declarations = audits_in(ROOT / "audits")
    for key, name in names.items():
        for i, prompts in enumerate(declarations[key[0]][1].runs):
            found = _table({seed: one[key][i] for seed, (one, _) in draws.items()})
            apart = _table({seed: two[key][i] for seed, (_, two) in draws.items() if two})
            truth = float(truths[key][i, 1]) if truths else float(found["value"].mean())
            yield Row(key[0], label(prompts), name, truth, found, apart)


def alike(audits: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return the (audit, kind of organism) pairs to measure, each with the name of its row.

    Kinds with almost the same intervals are measured once, under a joint name: an audit that uses
    ranks alone gives the same for scores of another curve.
    """
    out: dict[tuple[str, str], str] = {}
    for audit in audits:
        found = measured(tuple((audit, kind) for kind in kinds_of(audit)), 0)
        first: list[tuple[_Floats, list[str]]] = []
        for (_, kind), ends in found.items():
            reach = SAME * (ends[:, 2] - ends[:, 0]).min()
            same = [names for other, names in first if np.abs(ends - other).max() < reach]
            if same:
                same[0].append(kind)
            else:
                first.append((ends, [kind]))
        out |= {(audit, names[0]): ", ".join(names) for _, names in first}
    return out


def rows_of_answers(audit: str, draws: int, pool: ProcessPoolExecutor) -> Iterator[dict[str, Any]]:
    """Yield the figures of a gate of answers for each sd of what it draws, beside what that is."""
    gate = random_effects.GATES[audit]
    about = {"drawn": gate.unit, "units": random_effects.units(audit)}
    for sd in random_effects.SDS:
        simulated = partial(_simulated, audit, sd)
        found = _table(dict(enumerate(pool.map(simulated, range(draws), chunksize=20))))
        values = found
        if gate.copies:
            large = pool.map(partial(simulated, copies=gate.copies), range(random_effects.LARGE))
            values = _table(dict(enumerate(large)))
        truth = float(values["value"].mean()) if gate.truth is None else gate.truth
        row = Row(audit, "", "", truth, found, found.iloc[:0])
        yield row.figures() | about | {"sd": sd}


def _simulated(audit: str, sd: float, seed: int, copies: int = 1) -> _Floats:
    found = random_effects.measured(audit, sd, seed, copies)
    return np.array([found.low, found.value, found.high])


def _table(found: Mapping[int, _Floats]) -> pd.DataFrame:
    columns = ["low", "value", "high"]
    return pd.DataFrame(np.reshape(list(found.values()), (-1, 3)), list(found), columns)


def _half(found: pd.DataFrame) -> float:
    return float((found["high"] - found["low"]).mean()) / 2


def main() -> None:
    """Measure the coverage of each audit, and print a line of JSON for each row."""
    parser = arguments(__doc__)
    parser.add_argument("--draws", type=int, default=300)
    every = [*DRAWN, *random_effects.GATES]
    parser.add_argument("--audit", action="append", choices=every, help="(default: all)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--out", type=Path, help="a file for the rows")
    asked = parser.parse_args()
    names, found = asked.audit or every, []
    with ProcessPoolExecutor(asked.jobs) as pool:
        for row in _all_rows(names, asked.draws, pool):
            found.append(row)
            say("coverage", **row)
    if asked.out:
        lines = ",\n ".join(map(json.dumps, found))
        asked.out.write_text(f"[\n {lines}\n]\n", encoding="utf-8")


def _all_rows(
    audits: Collection[str], draws: int, pool: ProcessPoolExecutor
) -> Iterator[dict[str, Any]]:
    for population in dict.fromkeys(DRAWN.values()):
        if of := [name for name in audits if DRAWN.get(name) is population]:
            yield from (row.figures() for row in rows(of, draws, pool))
    for name in (name for name in audits if name in random_effects.GATES):
        yield from rows_of_answers(name, draws, pool)
