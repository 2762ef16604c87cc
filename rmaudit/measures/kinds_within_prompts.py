"""Estimate what answers of each kind get more than others to the same prompt, and the errors.

The error of an effect must cover that a kind may be worth more under one prompt than another: that
is what the jackknife over prompts tells, but for a kind that few prompts have it tells it of few.
Hundreds of kinds are tried at once, though, and together they tell how much errors exceed what the
spread of each prompt's rewards accounts for. So each kind's variance is pooled with those of all
others, as in the analysis of gene expression (Smyth 2004, doi 10.2202/1544-6115.1027). A kind
whose own variance is far greater than that of the others is left as it is (after Phipson et al.
2016, doi 10.1214/16-AOAS920).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

FEWEST_ANSWERS = 16  # so many answers' worth of differences within prompts tell of a kind
FEWEST_PROMPTS = 8  # over which they are spread, as so many equal ones (Kish)
_FEWEST_KINDS = 10  # whose variances are pooled
_UNLIKE = 0.01  # level of the test whether a kind's own variance is like those of others
_NONE = 1e-9  # of a variance: rounding
_MOST = 1e4  # degrees of freedom: as good as infinitely many

_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp]
_Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class KindsWithinPrompts:
    """Kinds within prompts, the length held fixed, and for all but `held` kinds these as well.

    `x` (n, k) is what is left of the kinds, `squares` its sums of squares (prompts, k). The two
    bases are what is taken out of rewards: for kinds that are held (k,), and for all others.
    """

    prompts: _Codes
    held: _Bools
    bases: tuple[_Floats, _Floats]
    x: _Floats
    squares: _Floats

    @classmethod
    def of(cls, x: _Floats, lengths: _Floats, held: _Bools, prompts: _Codes) -> KindsWithinPrompts:
        """Return the residuals of `x` (n, k) on the lengths (n, h), or on held kinds as well."""
        bases = _basis(lengths, prompts), _basis(np.hstack([lengths, x[:, held]]), prompts)
        left = _residual(x, bases[1], prompts)
        left[:, held] = _residual(x[:, held], bases[0], prompts)
        return cls(prompts, held, bases, left, _by_prompt(left**2, prompts))

    def met(self) -> _Bools:
        """Return which kinds are met in enough answers and prompts, (k,)."""
        often: _Bools = self.squares.sum(axis=0) >= FEWEST_ANSWERS
        return often & (self._spread_over() >= FEWEST_PROMPTS)

    def only(self, kinds: _Bools) -> KindsWithinPrompts:
        """Return these kinds alone, with all that is held fixed for them."""
        return replace(
            self, held=self.held[kinds], x=self.x[:, kinds], squares=self.squares[:, kinds]
        )

    def effects(self, rewards: _Floats) -> _Floats:
        """Return each kind's effect on the rewards (n,), in sd of a prompt's, (k,)."""
        products, _ = self._products(rewards)
        squares, freedom = self._spread(rewards)
        found: _Floats = products.sum(axis=0) / self.squares.sum(axis=0)
        return found / math.sqrt(squares.sum() / freedom.sum())

    def errors(self, rewards: _Floats) -> tuple[_Floats, _Floats]:
        """Return the standard errors of the effects and their degrees of freedom, (k,) each.

        A kind's own variance is that of the jackknife over prompts, where the spread of the rewards
        is estimated anew each time; its degrees of freedom are those of as many equal prompts (Kish
        1965). What is pooled is its ratio to the variance that follows from each prompt's spread.
        """
        products, rest = self._products(rewards)
        squares, freedom = self._spread(rewards)
        total, many = self.squares.sum(axis=0), len(freedom)
        slopes = products.sum(axis=0) / total
        left = (products.sum(axis=0) - products) / (total - self.squares)
        left /= np.sqrt((squares.sum() - squares) / (freedom.sum() - freedom))[:, None]
        own = (many - 1) / many * ((left - left.mean(axis=0)) ** 2).sum(axis=0)
        of_prompts = rest[:, None] - slopes * (2 * products - slopes * self.squares)
        of_prompts = np.maximum(of_prompts, _NONE * squares.sum())
        parts = of_prompts / freedom[:, None] * self.squares
        expected = parts.sum(axis=0) / total**2 * (freedom.sum() / squares.sum())
        known = parts.sum(axis=0) ** 2 / (parts**2 / freedom[:, None]).sum(axis=0)
        ratios, like = pooled(own / expected, self._spread_over() - 1)
        return np.sqrt(ratios * expected), np.minimum(like, known)

    def _spread(self, rewards: _Floats) -> tuple[_Floats, _Floats]:
        """Return the rewards' sums of squares by prompt and their degrees of freedom."""
        off = _centred(rewards[:, None], self.prompts)
        freedom: _Floats = np.bincount(self.prompts).astype(np.float64) - 1
        return _by_prompt(off**2, self.prompts)[:, 0], freedom

    def _products(self, rewards: _Floats) -> tuple[_Floats, _Floats]:
        """Return by prompt the products of kinds and rewards, and the squares of what is left."""
        bare, full = (_residual(rewards[:, None], basis, self.prompts) for basis in self.bases)
        products = _by_prompt(self.x * full, self.prompts)
        products[:, self.held] = _by_prompt(self.x[:, self.held] * bare, self.prompts)
        return products, _by_prompt(full**2, self.prompts)[:, 0]

    def _spread_over(self) -> _Floats:
        total, each = self.squares.sum(axis=0), (self.squares**2).sum(axis=0)
        prompts: _Floats = total**2 / np.maximum(each, _NONE)
        return prompts


def pooled(ratios: _Floats, freedom: _Floats) -> tuple[_Floats, _Floats]:
    """Return variances that are pooled with one another, and their degrees of freedom, (k,) each.

    The true `ratios`, of which each is estimated with its `freedom`, are taken to be drawn from a
    scaled inverse chi-squared distribution, whose two parameters are estimated from all (Smyth
    2004, sections 3 and 6.2). A ratio that is greater than the distribution allows (an F-test at
    1 %) is returned as it is, and so are all where there are fewer than ten.
    """
    if len(ratios) < _FEWEST_KINDS:
        return ratios, freedom
    digamma, polygamma = scipy.special.digamma, scipy.special.polygamma
    logs = np.log(np.maximum(ratios, _NONE)) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    half = _MOST / 2
    if excess > 2 / _MOST:  # trigamma(x) is about 1/x
        half = scipy.optimize.brentq(lambda x: polygamma(1, x) - excess, 1e-3, _MOST)
    prior, centre = 2 * half, math.exp(logs.mean() + digamma(half) - math.log(half))
    unlike = ratios / centre > scipy.stats.f.isf(_UNLIKE, freedom, prior)
    together = (prior * centre + freedom * ratios) / (prior + freedom)
    return np.where(unlike, ratios, together), np.where(unlike, freedom, prior + freedom)


def _basis(held: _Floats, prompts: _Codes) -> _Floats:
    """Return an orthonormal basis (n, h) of what is held fixed within prompts."""
    basis, sizes, _ = np.linalg.svd(_centred(held, prompts), full_matrices=False)
    kept: _Floats = basis[:, sizes > _NONE]
    return kept


def _residual(values: _Floats, basis: _Floats, prompts: _Codes) -> _Floats:
    """Return values (n, k) less their prompts' means and what the basis (n, h) tells of them."""
    off = _centred(values, prompts)
    left: _Floats = off - basis @ (basis.T @ off)
    return left


def _centred(values: _Floats, prompts: _Codes) -> _Floats:
    means = _by_prompt(values, prompts) / np.bincount(prompts)[:, None]
    centred: _Floats = values - means[prompts]
    return centred


def _by_prompt(values: _Floats, prompts: _Codes) -> _Floats:
    """Return the sums of values (n, k) over each prompt's answers, (prompts, k)."""
    rows = np.arange(len(prompts))
    of_prompt = scipy.sparse.csr_array((np.ones(len(rows)), (prompts, rows)))
    return np.asarray(of_prompt @ values, dtype=np.float64)
