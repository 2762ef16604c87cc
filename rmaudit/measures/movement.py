"""Pairs of the same tokens in two rankings, and the tokens that moved furthest."""

from __future__ import annotations

import pandas as pd

from rmaudit.measures.model_agreement import REPLACED


def paired(old: pd.DataFrame, new: pd.DataFrame, *, by_id: bool) -> pd.DataFrame:
    """Return tokens that both sweeps scored: columns `text`, `model` (new), `baseline` (old).

    Frames have columns `token_id`, `text` and `score`. Paired by id where the vocabularies are
    one, else by decoded text, where that is one token's alone on either side and whole: of texts
    that several ids decode to, and of parts of characters, nobody can say which is which. In the
    order of the new frame.
    """
    key = "token_id" if by_id else "text"
    sides = []
    for frame in (new, old):
        # A text is one token's alone in the vocabulary, not only among what was scored.
        alone = frame if by_id else frame[_alone(frame["text"])]
        sides.append(alone[alone["score"].notna()].set_index(key))
    both = sides[0].join(sides[1]["score"].rename("baseline"), how="inner").reset_index()
    return both.rename(columns={"score": "model"})[["text", "model", "baseline"]]


def _alone(texts: pd.Series[str]) -> pd.Series[bool]:
    return ~(texts.duplicated(keep=False) | texts.str.contains(REPLACED, regex=False))


def moved(both: pd.DataFrame, n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the `n` tokens that rose most and the `n` that fell most, furthest first.

    `both` is that of `paired`. Columns: `text`, and the ranks `old` and `new` among the paired
    tokens, 1 being the highest score, ties at their average. Those that did not move are left out.
    """
    ranks = pd.DataFrame(
        {
            "text": both["text"],
            "old": both["baseline"].rank(ascending=False),
            "new": both["model"].rank(ascending=False),
        }
    )
    by = (ranks["old"] - ranks["new"]).sort_values(kind="stable", ascending=False)
    rose, fell = by[by > 0].index[:n], by[by < 0].index[::-1][:n]
    return ranks.loc[rose].reset_index(drop=True), ranks.loc[fell].reset_index(drop=True)
