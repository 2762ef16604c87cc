"""Tokens in two rankings: who is paired with whom, and who moved furthest."""

from __future__ import annotations

import math

import pandas as pd

from rmaudit.measures.movement import moved, paired


def frame(*rows: tuple[int, str, float]) -> pd.DataFrame:
    """A sweep of (id, text, score)."""
    return pd.DataFrame(rows, columns=["token_id", "text", "score"])


def test_of_one_vocabulary_ids_are_paired() -> None:
    """Also where texts are alike; what one side has not scored is left out."""
    old = frame((3, "a", 1.0), (4, "a", 2.0), (5, "b", math.nan), (6, "\ufffd", 4.0))
    new = frame((6, "\ufffd", 40.0), (4, "a", 20.0), (3, "a", 10.0), (5, "b", 30.0))

    both = paired(old, new, by_id=True)

    assert both.to_dict("list") == {
        "text": ["\ufffd", "a", "a"],
        "model": [40.0, 20.0, 10.0],
        "baseline": [4.0, 2.0, 1.0],
    }


def test_of_two_vocabularies_texts_are_paired_that_are_one_tokens_alone() -> None:
    """Neither doubles on either side, scored or not, nor parts of characters, nor other cases."""
    old = frame((1, "a", 1), (2, "b", 2), (3, "b", 3), (4, "c", 4), (5, "\ufffd", 5), (6, "D", 6))
    new = frame((9, "c", 40), (8, "c", math.nan), (7, "a", 10), (6, "b", 20), (5, "\ufffd", 50))

    both = paired(old, new, by_id=False)

    assert both.to_dict("list") == {"text": ["a"], "model": [10], "baseline": [1]}


def test_who_moved_furthest_by_hand() -> None:
    """Ranks from the highest score, the furthest first, nobody who stayed, ties in order."""
    both = pd.DataFrame(
        {"text": list("abcde"), "baseline": [5.0, 4, 3, 2, 1], "model": [2.0, 4, 5, 3, 1]}
    )

    rose, fell = moved(both, 2)
    all_rose, all_fell = moved(both, 9)

    assert rose.to_dict("list") == {"text": ["c", "d"], "old": [3, 4], "new": [1, 3]}
    assert fell.to_dict("list") == {"text": ["a"], "old": [1], "new": [4]}
    assert (len(all_rose), len(all_fell)) == (2, 1)


def test_ties_stand_at_their_average() -> None:
    """No order is read into equal scores."""
    both = pd.DataFrame({"text": list("abc"), "baseline": [1.0, 1, 1], "model": [1.0, 1, 2]})

    rose, fell = moved(both, 3)

    assert rose.to_dict("list") == {"text": ["c"], "old": [2], "new": [1]}
    assert fell["new"].tolist() == [2.5, 2.5]
