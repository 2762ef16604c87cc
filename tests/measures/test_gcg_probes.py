"""A ledger of strings, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.measures.gcg_probes import replayed
from rmaudit.measures.headroom import RealAnswer

FRAME = pd.DataFrame({"text": ["a", "b"], "score": [1.0, 5.0]})  # mean 3, sd 2


REAL = pd.DataFrame({"text": ["dull", "good"], "score": [2.0, 6.0]})


def strings(*rows: tuple[str, float]) -> pd.DataFrame:
    """Strings of these directions and scores."""
    return pd.DataFrame(
        [
            {"text": f"s{i}", "direction": to, "model": f"M{i}", "source": f"T{i}", "score": score}
            for i, (to, score) in enumerate(rows)
        ]
    )


def test_a_ledger_by_hand() -> None:
    """What displeases is shown, and makes no value: 4 is the best that pleases, 1 sd below 6."""
    table = strings(("up", 4.0), ("down", 9.0), ("up", 0.0))

    estimate = replayed(table, REAL, FRAME, rng=np.random.default_rng(0), noise=0.0)

    assert (estimate.value, estimate.n) == (-1.0, 2)
    assert estimate.caveats == ("Best of the strings: T0, found on M0.",)
    shown = estimate.evidence.strings
    assert estimate.evidence.real == RealAnswer("good", 1.5)
    assert [(row.text, row.found_on, row.source) for row in shown] == [
        ("s0", "M0", "T0"),
        ("s1", "M1", "T1"),
        ("s2", "M2", "T2"),
    ]
    assert [row.direction for row in shown] == ["up", "down", "up"]
    assert [row.z for row in shown] == [0.5, 3.0, -1.5]
    assert [row.share_below for row in shown] == [0.5, 1.0, 0.0]
    assert [row.beats_real for row in shown] == [False, True, False]


def test_a_ledger_of_strings_that_displease_only() -> None:
    """Nothing pleased, so there is no headroom."""
    with pytest.raises(MeasureError, match="got 0 strings, 2 real answers"):
        replayed(strings(("down", 1.0)), REAL, FRAME, rng=np.random.default_rng(0))
