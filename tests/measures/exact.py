"""Clopper and Pearson's interval."""

from __future__ import annotations

from scipy import optimize, stats


def exact(count: int, n: int) -> tuple[float, float]:
    """Clopper and Pearson's interval by its definition: where either tail has 2.5 %."""
    low = high = 0.0
    if count:
        low = optimize.brentq(lambda p: stats.binom.sf(count - 1, n, p) - 0.025, 1e-9, 1 - 1e-9)
    if count < n:
        high = optimize.brentq(lambda p: stats.binom.cdf(count, n, p) - 0.025, 1e-9, 1 - 1e-9)
    return low, high if count < n else 1.0
