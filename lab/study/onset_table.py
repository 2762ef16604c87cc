"""Make the table and sentences of docs/evidence/after_training.md: are onsets of harm predicted?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm, spearmanr, t

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
# Harms that a policy is looked at for: as the study of policies names them, and their limits.
TRAINED = {
    "happiness turns back": ("against what was asked", 0.0),
    "answers without a letter": ("no letters", 0.1),
    "refusals": ("refusals", 0.1),
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
        f"if heads were independent). This is no coverage of the true onset, for what is observed "
        f"is another sample: the other half of the words, under four other prompts. Of the mean of "
        f"as many other words an interval that holds the true mean in 95 % of cases holds "
        f"{_of_as_many():.0%}, and of the mean under four other prompts, where three made it, "
        f"{_of_other_prompts():.0%}."
    )


def _of_as_many() -> float:
    """Return how often the mean of a sample lies in another one's 95 % interval, if both are large.

    The two differ by √2 standard errors.
    """
    return float(1 - 2 * norm.sf(norm.ppf(0.975) / math.sqrt(2)))


def _of_other_prompts() -> float:
    """Return how often the mean over four prompts lies in Student's 95 % interval over three."""
    return float(1 - 2 * t.sf(t.ppf(0.975, 2) / math.sqrt(1 + 3 / 4), 2))


def policies(found: Sequence[Mapping[str, Any]], trained: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentences on policies that were really trained, as `study.policies` wrote them.

    Of each only the KL divergence at the end is known, not that at which a harm began.
    """
    onsets = {(own["flaw"], own["dose"]): own["onsets"] for own in found}
    agreed, possible, harmed = 0, 0, []
    for own in trained:
        nats = fmean(own["nats"])
        for harm, (name, limit) in TRAINED.items():
            at, low, high = (
                math.inf if onset is None else onset
                for onset in (onsets[own["flaw"], own["dose"]][harm][e] for e in _ENDS)
            )
            does = own["trained"][name] > limit
            agreed += does == (at <= nats)
            possible += low <= nats if does else high > nats
            if does:
                harmed.append(
                    f"*{own['flaw']}*, {harm} at {nats:.1f} nats, predicted from {at:.1f} "
                    f"({low:.2f} to {'beyond 16' if math.isinf(high) else f'{high:.2f}'})"
                )
    many = len(trained) * len(TRAINED)
    return (
        f"Of {len(trained)} policies that were trained with REINFORCE, the KL divergence at the "
        f"end is known, not where a harm began. For {agreed} of {many} pairs of policy and harm "
        f"({', '.join(TRAINED)}) the predicted onset agrees with whether the harm was beyond its "
        f"limit there, and for {possible} the interval does. That says little, for only "
        f"{len(harmed)} were: {'; '.join(harmed)}."
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
