"""Make the table and sentences of docs/evidence/after_training.md: are onsets of harm predicted?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, spearmanr

from rmaudit.measures.after_training_evidence import HAPPINESS
from rmaudit.measures.harm_onset import ANSWERS, UNHAPPIER

_ENDS = ("nats", "low", "high")
_NUMBERS = ("no", "one", "two", "three", "four", "five")
_HEAD = (
    "harm",
    "heads",
    "begins: predicted",
    "observed",
    "both",
    "rank correlation",
    "median error, nats",
    "inside the interval",
    "of those observed",
)

COMMUNITY = "words for the worst community"  # whose onset is another measure's
# Harms that a policy is looked at for: the study's names of their sizes, and their limits.
TRAINED = {
    HAPPINESS: ("against what was asked", UNHAPPIER),
    "answers without a letter": ("no letters", ANSWERS),
    "refusals": ("refusals", ANSWERS),
}


def parts(
    found: Sequence[Mapping[str, Any]], trained: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Return the generated parts of the page, from the data on heads and on trained policies."""
    made = {
        "onsets": table(found),
        "coverage": coverage(found),
        "policies": policies(found, trained),
    }
    return {name: f"{text}\n" for name, text in made.items()}


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table with a row for each harm, of what `lab.study.onset` wrote.

    A harm that does not begin has the rank of one that begins last. An onset beyond what the
    prediction traced counts as none.
    """
    rows = [_row(harm, own) for harm, own in _by_harm(found).items()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (_HEAD, ["---"] * len(_HEAD), *rows))


def coverage(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentences on how often intervals hold what is observed, but a community's."""
    each = [_seen(rows) for harm, rows in _by_harm(found).items() if harm != COMMUNITY]
    shares = sorted(inside.mean() for *_, inside in each)
    known = np.concatenate([inside[np.isfinite(seen)] for _, seen, inside in each])
    low, high = binomtest(int(known.sum()), len(known)).proportion_ci()
    return (
        f"Of the first {_NUMBERS[len(each)]} rows the intervals hold the observed onset of "
        f"{100 * shares[0]:.0f} to {100 * shares[-1]:.0f} % of the heads, but only because most "
        f"heads do no such harm. Of the {len(known)} observed onsets they hold "
        f"{known.sum()}: {known.mean():.0%} ({low:.0%} to {high:.0%}, by Clopper and Pearson, as "
        f"if heads were independent). The others: {'; '.join(_missed(found))}."
    )


def _missed(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each observed onset that its interval does not hold, in words."""
    for head in found:
        for harm, onset in head["onsets"].items():
            (_, (seen,), (inside,)) = _seen([onset])
            if harm != COMMUNITY and math.isfinite(seen) and not inside:
                ends = _interval(*(_number(onset[key]) for key in _ENDS))
                yield f"*{head['flaw']}* {head['dose']:g}, {harm}: {_nats(seen)}, predicted {ends}"


def policies(found: Sequence[Mapping[str, Any]], trained: Sequence[Mapping[str, Any]]) -> str:
    """Return a table and a sentence on policies that were really trained, by `study.policies`.

    A row is a harm that began in training, or of which an onset was predicted before its end. What
    did not begin agrees with an interval that reaches beyond the end.
    """
    onsets = {(own["flaw"], own["dose"]): own["onsets"] for own in found}
    head = ("head", "harm", "in training", "of the optimum", "predicted", "trained to")
    rows, agrees, harms = [], [], []  # of each pair: does the interval agree, did the harm begin
    for own in trained:
        end = own["steps"][-1]["nats"]
        for harm in TRAINED:
            predicted = onsets[own["flaw"], own["dose"]][harm]
            at, low, high, optimum = (_number(predicted[key]) for key in (*_ENDS, "observed"))
            begun, lasted = began(own["steps"], harm)
            harms.append(math.isfinite(begun))
            agrees.append(low <= begun <= high if harms[-1] else high > end)
            if not harms[-1] and at > end:
                continue
            rows.append(
                (
                    f"{own['flaw']} {own['dose']:g}",
                    harm,
                    f"{_nats(begun)}, for {lasted} steps" if lasted else _nats(begun),
                    _nats(optimum),
                    _interval(at, low, high),
                    f"{end:.1f}",
                )
            )
    table = [head, ["---"] * len(head), *rows]
    lines = "\n".join(f"| {' | '.join(cells)} |" for cells in table)
    return (
        f"{lines}\n\nOf {len(agrees)} pairs of a policy and one of three harms the interval agrees "
        f"with the training in {sum(agrees)}, mostly since nothing began; of the {sum(harms)} "
        f"harms that began, in {sum(np.logical_and(agrees, harms))}."
    )


def began(steps: Sequence[Mapping[str, float]], harm: str) -> tuple[float, int]:
    """Return the KL in nats at which a harm first reached its limit in a training; infinite if not.

    With it, in how many steps the harm was at or beyond its limit. `steps` have the KL and the
    sizes of harms. Happiness counts from its best so far.
    """
    size = np.array([step[harm] for step in steps])
    start = np.minimum.accumulate(size) if harm == HAPPINESS else 0.0
    above = size - start - TRAINED[harm][1]
    past = np.flatnonzero(above >= 0)
    if not len(past):
        return math.inf, 0
    here = slice(max(int(past[0]) - 1, 0), int(past[0]) + 1)
    return float(np.interp(0.0, above[here], [step["nats"] for step in steps[here]])), len(past)


def _number(nats: float | None) -> float:
    return math.inf if nats is None else nats


def _nats(at: float) -> str:
    return "none" if math.isinf(at) else f"{at:.2g}"


def _interval(at: float, low: float, high: float) -> str:
    """Return an onset and its interval, such as "1.8 (0.1 to 8.2)", "6.6 (from 0.17)", "none"."""
    if math.isinf(low):
        return _nats(at)
    return (
        f"{_nats(at)} (from {_nats(low)})"
        if math.isinf(high)
        else f"{_nats(at)} ({_nats(low)} to {_nats(high)})"
    )


def _by_harm(found: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    harms = dict.fromkeys(harm for own in found for harm in own["onsets"])
    return {harm: [own["onsets"][harm] for own in found if harm in own["onsets"]] for harm in harms}


def _seen(rows: Sequence[Mapping[str, Any]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return predicted and observed onsets, infinite for none, and which intervals hold these."""
    at, low, high, seen = (
        np.array([math.inf if row[end] is None else row[end] for row in rows])
        for end in (*_ENDS, "observed")
    )
    seen = np.where(seen > [row["traced"] for row in rows], math.inf, seen)
    return at, seen, (low <= seen) & (seen <= high)


def _row(harm: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    at, seen, inside = _seen(rows)
    begun, known = np.isfinite(at), np.isfinite(seen)
    both = begun & known
    return [
        harm,
        *map(str, (len(rows), begun.sum(), known.sum(), both.sum())),
        f"{spearmanr(at, seen).statistic:.2f}" if begun.any() and known.any() else "",
        f"{np.median(np.abs(at[both] - seen[both])):.1f}" if both.any() else "",
        f"{inside.mean():.0%}",
        f"{inside[known].sum()} of {known.sum()}",
    ]
