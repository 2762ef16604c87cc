"""Find the part of a kind that stands out, and say by how much it must.

A topic does not fill a word's neighbourhood: of 49 tokens for drinks 18 stems are words of
R-Smol-135M's vocabulary, and ten of these are among the forty nearest of one of them. Their mean
with thirty other words is a quarter of their own. So of each neighbourhood the words that get most,
and those that get least, are a kind as well, and its interval holds for all choices of as many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

SOME = "some "  # how the name of a part of a spelling begins
PARTS = {10: 5, 20: 5, 40: 10}  # of so many nearest words, how many are a part
_SHARES, _FEWEST = (2, 4), 5  # of words of a spelling: a half, a quarter; words of a part

_Rows = NDArray[np.intp]


def reach(comparisons: int, choices: float = 0.0) -> float:
    """Return how many errors an effect must have to be sure among `comparisons` (5 %, two-sided).

    Each comparison is the best of so many choices as `choices` is the logarithm of.
    """
    tail = math.log(0.025) - math.log(comparisons) - choices
    return -float(scipy.special.ndtri_exp(tail))


def sizes_of_parts(size: int, *, spelt: bool) -> tuple[int, ...]:
    """Return the numbers of words of the parts of a kind: of a spelling, or of a neighbourhood."""
    if spelt:
        return tuple(sorted({max(-(-size // share), _FEWEST) for share in _SHARES}))
    return (PARTS[size],) if size in PARTS else ()


def parts(
    left: NDArray[np.float64], rows: _Rows, sizes: tuple[int, ...]
) -> Iterator[tuple[_Rows, float]]:
    """Yield the rows of parts of kinds, (kinds, some), and the logarithm of how many could be.

    `rows` are those of kinds of one size, (kinds, words), and `left` is what each row gets. A part
    are the words that get most, then those that get least; the first stands out most.
    """
    if not sizes:
        return
    order = np.take_along_axis(rows, np.argsort(-left[rows], axis=1, kind="stable"), axis=1)
    for some in sizes:
        choices = _log_binomial(rows.shape[1], some)
        yield order[:, :some], choices
        yield order[:, : -some - 1 : -1], choices


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
