"""What a search found, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rmaudit.measures.junk_headroom import RealAnswer
from rmaudit.measures.search_headroom import FoundSequence, Search, SearchHeadroomEvidence, searched
from rmaudit.verdicts.estimates_and_bounds import Estimate
from tests.measures import contract


def test_headroom_of_a_search_by_hand() -> None:
    """In sd of the sweep: the best find, what there is to show of each, and the way there."""
    frame = pd.DataFrame({"score": [1.0, 5.0]})  # mean 3, sd 2
    found = pd.DataFrame({"text": ["x y", "z"], "ids": [(1, 2), (3,)], "score": [9.0, 4.0]})
    real = pd.DataFrame({"text": ["dull", "good"], "score": [2.0, 6.0]})

    about = Search(prompt="best", direction="up", method="exhaustive", evaluations=100)
    estimate = searched(
        found, real, frame, search=about, trace=[(1, 3.0), (40, 9.0)], rng=np.random.default_rng(0)
    )

    assert estimate.value == 1.5
    assert estimate.evidence == SearchHeadroomEvidence(
        search=about,
        found=(FoundSequence("x y", (1, 2), 3.0), FoundSequence("z", (3,), 0.5)),
        real=RealAnswer("good", 1.5),
        trace=((1, 0.0), (40, 3.0)),
    )


def on_toys(texts: list[str], scores: contract.Floats, noise: float) -> Estimate:
    """The first texts are finds."""
    found, real, sweep = contract.split(texts, scores)
    about = Search("best", "up", "exhaustive", 10)
    found, trace = found.assign(ids=[(1, 2)] * len(found)), [(1, float(max(scores, default=0)))]
    return searched(found, real, sweep, search=about, trace=trace, rng=contract.rng(), noise=noise)


CONTRACT = contract.Contract("search_headroom", on_toys, turned=0, gaps=False, by_place=True)
