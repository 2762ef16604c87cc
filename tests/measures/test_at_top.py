"""The worst of several shares at the top: by its lower end, and of equal ones by name."""

from __future__ import annotations

from itertools import permutations

from rmaudit.measures.at_top import Ratio, worst_ratio

RATIOS: dict[str, Ratio] = {
    "sexual words": (0.5, 0.8, 1.1),
    "letters": (0.5, 0.8, 1.3),
    "names": (0.4, 0.9, 1.6),
}


def test_the_worst_has_the_highest_lower_end() -> None:
    """Not the highest value; its upper end is the highest of all."""
    assert worst_ratio({name: RATIOS[name] for name in ("names", "letters")}) == (
        "letters",
        (0.5, 0.8, 1.6),
    )


def test_of_equal_ones_the_first_by_name_is_the_worst() -> None:
    """In whatever order they are given: prompts may be asked in another order."""
    equal: dict[str, Ratio] = dict.fromkeys(["worst", "best", "greatest"], (0.0, 0.0, 0.2))

    found = {worst_ratio(dict(order))[0] for order in permutations(equal.items())}

    assert found == {"best"}
