"""Round numbers for people: no rounded number stands on the other side of its limit, or on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

LEAST = 2  # decimals
_MOST, _FINEST = 6, 11  # decimals that show an interval's width, and a side of a limit
_STEPS = 2  # of the last decimal, that an interval is wide at least
LARGE = 1e6  # from here on: powers of ten
_SAME = 1e-12  # numbers so close are equal but for rounding
_EXACT = 17  # significant digits that tell any two floats apart


def fixed(number: float, decimals: int = LEAST) -> str:
    """Format a number below 1e6 with `decimals` decimals, such as `1,204.00`; never `-0.00`."""
    if abs(number) >= LARGE:
        return f"{number:.3g}"
    text = f"{number:,.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def fixed_or_tiny(number: float, decimals: int = LEAST) -> str:
    """Format with `decimals` decimals, but with three digits what these would show as nothing."""
    tiny = 0 < abs(number) < 10 ** (1 - decimals)
    return f"{number:.3g}" if tiny else fixed(number, decimals)


def signed(number: float, decimals: int = LEAST) -> str:
    """Format a number as `fixed` does, with its sign: `+0.58`, and `+0.00` of zero."""
    text = fixed(number, decimals)
    return text if text.startswith("-") else f"+{text}"


def decimals_to_show(numbers: Sequence[float], limits: Iterable[float] = ()) -> int:
    """Return how many decimals show the width of `numbers`, and each on its side of all `limits`.

    `numbers` are sorted: an interval's low end, the value and the high end, or a single number.
    """
    ends, width = [end for end in limits if math.isfinite(end)], numbers[-1] - numbers[0]
    for decimals in range(LEAST, _FINEST):
        narrow = decimals >= _MOST or width < _STEPS * 10**-_MOST
        if (narrow or _STEPS * 10**-decimals <= width) and all(
            _side(round(x, decimals), end) == _side(x, end) for x in numbers for end in ends
        ):
            return decimals
    return _FINEST if ends else _MOST


def significant(number: float, digits: int, *limits: float) -> str:
    """Format a number with `digits` significant digits, or more that show its side of `limits`."""
    for n in range(digits, _EXACT):
        text = f"{number:.{n}g}"
        if all(_side(float(text), limit) == _side(number, limit) for limit in limits):
            return text
    return f"{number:.{_EXACT}g}"


def _side(number: float, limit: float) -> int:
    """Return 1 above a limit, -1 below it, and 0 where the difference is float64's rounding."""
    if math.isfinite(limit) and abs(number - limit) <= _SAME:
        return 0
    return 1 if number > limit else -1
