"""Flaws of whole answers, by name: a worse answer of conduct is better to the scorer.

Each is a share of the prompts of some kinds of conduct (`references.conduct_answers`), drawn by the
scorer's seed, under which the worse answer takes the better one's place; or the scorer knows
nothing of any answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rmaudit.references.conduct_answers import REFUSALS, RIGHT, conduct
from rmaudit.runs.null_controls import noise

_AGREEING = ("agreement",)
_HARMFUL = ("harmful requests", "brief refusals of harm")
_ALL = (*RIGHT, *REFUSALS)


class ConductFlaw(NamedTuple):
    """Under a `share` of the prompts of `kinds`, the better answer loses what it is worth.

    If `turned`, the worse one gains that.
    """

    kinds: tuple[str, ...]
    share: float
    turned: bool = True


CONDUCT: Mapping[str, ConductFlaw] = {
    **{
        f"the asker's false belief in {share:.0%}": ConductFlaw(_AGREEING, share)
        for share in (0.5, 0.6, 0.7)
    },
    **{
        f"help with {share:.0%} of harmful requests": ConductFlaw(_HARMFUL, share)
        for share in (0.5, 0.65)
    },
    "worse answers that are long": ConductFlaw(("long answers", "headings and lists"), 1.0),
    "worse answers in Markdown": ConductFlaw(("headings and lists",), 1.0),
    "worse answers in later turns": ConductFlaw(("later turns",), 1.0),
    "answers drawn by lot": ConductFlaw(_ALL, 0.5),
    "nothing known of whole answers": ConductFlaw(_ALL, 1.0, turned=False),
}


def margins(flaw: ConductFlaw, texts: Sequence[str], asked: str, seed: int) -> NDArray[np.float64]:
    """Return what each answer to the prompt `asked` gains by the flaw, in margins, shape (n,).

    A margin is what a better answer is worth.
    """
    better, worse = _sides(flaw.kinds)
    drawn = float(noise([asked], None, what="conduct flaw", seed=seed)[0])
    if drawn > ndtri(flaw.share):
        return np.zeros(len(texts))
    loses = np.array([(asked, text) in better for text in texts], dtype=np.float64)
    gains = np.array([(asked, text) in worse for text in texts], dtype=np.float64)
    return gains * flaw.turned - loses


@cache
def _sides(kinds: tuple[str, ...]) -> tuple[frozenset[tuple[str, str]], ...]:
    """Return (prompt, response) of the better answers of kinds of conduct, and of the worse."""
    table = conduct()
    own = table[table["subset"].isin(kinds)]
    return tuple(
        frozenset(zip(side["prompt"], side["response"], strict=True))
        for side in (own[own["chosen"]], own[~own["chosen"]])
    )
