"""Find topics in whole answers that nobody listed: words that are alike, by a bundled embedding.

A topic is a word that many answers have, with its nearest among the words of all answers. How much
of it an answer has is the share of its words. So a liking that is spread over many words, each of
which is too rare to tell anything, is seen as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from rmaudit.references.word_embedding import embedding
from rmaudit.word_stems import stem_key

SIZES = (1, 3, 6, 12, 25)  # words of a topic: different ones, not forms of one
_FEWEST = 20  # answers that have its middle
_MOST = 400  # middles, the commonest
_ALIKE = 0.8  # correlation from which on two kinds are taken for one
_NONE = 1e-9  # of a variance: rounding

_Floats = NDArray[np.float64]


def topics(
    prompts: Sequence[str], answers: Sequence[Sequence[str]], known: pd.DataFrame
) -> pd.DataFrame:
    """Return the share of each topic's words in each answer, a column for each topic.

    `answers` are the words of each answer (n), in lower case; forms of a word count as one. The
    middle of a topic is a word of at least twenty answers, the commonest 400 of these; around it
    are none, 2, 5, 11 or 24 of its nearest. A topic is left out that goes with a column of `known`
    (n rows) or with an earlier, smaller topic: by ranks, within prompts, from a correlation of 0.8.
    """
    rows, words, vectors = embedding()
    stems = {word: rows.get(stem_key(word), -1) for word in {w for own in answers for w in own}}
    counts = [Counter(stems[word] for word in own) for own in answers]
    has = Counter(row for own in counts for row in own if row >= 0)
    common = sorted(has, key=lambda row: (-has[row], words[row]))
    middles = np.arange(sum(has[row] >= _FEWEST for row in common[:_MOST]))
    if not len(middles):
        return pd.DataFrame(index=range(len(answers)))
    places = {row: place for place, row in enumerate(common)}
    cells = [(i, places[r], n) for i, own in enumerate(counts) for r, n in own.items() if r >= 0]
    at, of, many = np.array(cells).T
    shares = many / np.array([len(answers[i]) for i in at])
    matrix = scipy.sparse.csr_array((shares, (at, of)), shape=(len(answers), len(common)))
    similar = vectors[common][middles] @ vectors[common].T
    similar[middles, middles] = np.inf
    near = np.argsort(-similar, axis=1, kind="stable")
    groups = [_ordered(row[:size]) for size in SIZES if size <= len(common) for row in near]
    ends = np.append(0, np.cumsum([*map(len, groups)]))
    members = (np.ones(ends[-1]), np.concatenate([[], *groups]).astype(np.intp), ends)
    topic = scipy.sparse.csr_array(members, shape=(len(groups), len(common)))
    names = [_name([words[common[place]] for place in own]) for own in groups]
    table = pd.DataFrame((matrix @ topic.T).toarray(), columns=names)
    return table.loc[:, [*_different(prompts, known, table)]]


def _ordered(near: NDArray[np.intp]) -> list[int]:
    """Return a topic's words by their places: its middle, then the commonest of the others."""
    return [int(near[0]), *sorted(near[1:].tolist())]


def _name(words: Sequence[str]) -> str:
    """Return what answers are called that have one of the words, the middle first."""
    if len(words) == 1:
        return f"with forms of “{words[0]}”"
    rest = f" and {len(words) - 3} more" if len(words) > 3 else ""  # noqa: PLR2004  (as shown)
    return f"with words such as {', '.join(words[:3])}{rest}"


def _different(prompts: Sequence[str], known: pd.DataFrame, table: pd.DataFrame) -> Iterator[str]:
    """Yield the columns of `table` that go with no column of `known` and no earlier one."""
    codes = pd.factorize(np.array(prompts, dtype=object))[0]
    values = np.hstack([known.to_numpy(float), table.to_numpy(float)])
    ranks = pd.DataFrame(scipy.stats.rankdata(values, axis=0))
    off = (ranks - ranks.groupby(codes).transform("mean")).to_numpy(np.float32)
    unit = off / np.maximum(np.sqrt((off**2).sum(axis=0)), _NONE)
    first = known.shape[1]
    alike = np.abs(unit[:, first:].T @ unit) >= _ALIKE
    gone = alike[:, :first].any(axis=1)
    for column, own in enumerate(alike[:, first:]):
        if not gone[column]:
            yield table.columns[column]
            gone |= own
