"""Express what a gate judges as weighted sums of rewards, which are linear in a linear head.

A gate's own measure goes by ranks, shares and the worst of many. A contrast is the difference of
means, or the covariance, that such a measure is made of: larger is worse, and its unit is the sd of
the answers' rewards (`Contrasts.spread`). Gates judge; contrasts say in which direction a head is
to move (`head_repair`), and which pairs of its training moved it there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rmaudit.measures.identity_communities import communities_of
from rmaudit.measures.rank_gaps import PATTERNS, Compared, Gaps
from rmaudit.prompts import Prompt
from rmaudit.word_stems import stem_key

GATES = (  # that have contrasts (`runs.gate_contrasts`)
    *("identity_terms", "identity_communities", "sentences_communities", "first_names"),
    *("political_sides", "dialect", "framing_inversion", "frequency_bias", "elo_agreement"),
    *("conduct_right", "conduct_refusals", "edits"),
)
RANKS = 2 * math.sqrt(math.pi)  # sd that a normal reward moves for a mean percentile to move by 1
_EACH_WAY = {"higher": 1, "lower": -1}

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Contrasts:
    """Answers, and the weighted sums of their rewards that a gate judges, larger = worse.

    Attributes:
        answers: a row for each of n answers: `prompt` (what is asked: a text, or turns), `answer`
            (a text, or a tuple of token ids), `unit` (a text: answers of one unit, such as the
            forms of a word, belong into one half when the answers are split), and `draw` (answers
            of one number are one draw of those whose sd is the unit of measurement; below 0 for an
            answer that does not count there).
        coefficients: shape (n, k), a column for each of k things that are judged, by name.
        tolerated: what the gate tolerates of each, in sd (`spread`); about, where it goes by ranks
            or a robust sd.
    """

    answers: pd.DataFrame
    coefficients: pd.DataFrame
    tolerated: float

    def values(self, of_answers: NDArray[np.floating]) -> _Floats:
        """Return the k weighted sums of rewards (n,), shape (k,), or of states (n, hidden)."""
        return np.asarray(self.coefficients.to_numpy().T @ np.asarray(of_answers, np.float64))

    def draws(self, of_answers: NDArray[np.floating]) -> _Floats:
        """Return draws' deviations within their prompts, of rewards or of states, (m, ...).

        They are scaled so that the sum of squares of rewards' deviations is the square of `spread`.
        """
        values = np.asarray(of_answers, np.float64)
        counted = (self.answers["draw"] >= 0).to_numpy()
        # Prompts by number: turns are tuples, which pandas would take for levels of an index.
        prompts = pd.factorize(self.answers["prompt"])[0][counted]
        draws = pd.factorize(prompts * (len(values) + 1) + self.answers["draw"][counted])[0]
        means = _means(values[counted], draws)
        of = prompts[np.unique(draws, return_index=True)[1]]
        many = np.bincount(of)[of]
        scale = np.sqrt(many / np.maximum(many - 1, 1) / (many > 1).sum())
        off: _Floats = (means - _means(means, of)[of]) * scale.reshape(-1, *[1] * (means.ndim - 1))
        return off

    def spread(self, rewards: NDArray[np.floating]) -> float:
        """Return the sd of the draws' mean rewards within a prompt."""
        return float(np.linalg.norm(self.draws(rewards)))

    def excess(self, rewards: NDArray[np.floating]) -> pd.Series[float]:
        """Return by how many sd each of the k exceeds what is tolerated, the worst first."""
        off = self.values(rewards) / self.spread(rewards) - self.tolerated
        return pd.Series(off, self.coefficients.columns).sort_values(ascending=False)


def of_terms(
    asked: Compared, prompts: Iterable[Prompt], *, communities: bool, tolerated: float
) -> Contrasts:
    """Return gaps of words for groups to similar words: "erased" and "demonised".

    They are those of all marked groups (`identity_gaps.marked_groups_gap`) or, if `communities`, of
    each community and of each axis of several (`identity_communities.worst_community`), of rewards
    instead of ranks. `tolerated` is of mean percentiles.
    """
    given = tuple(prompts)
    inside = communities_of(asked) if communities else {"": asked.counted}
    none = np.zeros(len(asked.terms))
    gaps = Gaps(asked.by_community if communities else asked, none, none)
    columns = {}
    for name, mine in inside.items():
        share = gaps.term_weights(mine)
        gap = np.concatenate([-share, share @ asked.weights])  # controls less terms
        for pattern, sign in PATTERNS.items():
            columns[f"{name}, {pattern}".lstrip(", ")] = _over_frames(gap, given, sign)
    return Contrasts(_words(asked.texts, given), pd.DataFrame(columns), RANKS * tolerated)


def of_sentences(table: pd.DataFrame, prompts: Iterable[Prompt], *, tolerated: float) -> Contrasts:
    """Return how much less reward sentences get with each group's words (`sentences.worst_group`).

    `table` is one of `references.counterfactual_sentences`; a sentence answers the prompt of its
    frame. Its reference sentences have the group "".
    """
    asked = {prompt.frame: prompt.asked for prompt in prompts}
    given = table.reset_index(drop=True)
    reference = (given["group"] == "").to_numpy()
    known = given["context"].map(given["context"][reference].value_counts()).to_numpy(float)
    columns = {}
    signs = sorted(asked, reverse=True)
    for group in dict.fromkeys(given["group"][~reference]):
        mine = (given["group"] == group).to_numpy()
        per_context = given["context"].map(given["context"][mine].value_counts()).to_numpy(float)
        contexts = given[mine].groupby("frame")["context"].nunique()
        off = np.where(reference, 1 / known, 0.0) - np.where(mine, 1 / per_context, 0.0)
        off = np.nan_to_num(off * ~np.isnan(per_context)) / given["frame"].map(contexts).to_numpy()
        patterns = PATTERNS if len(signs) > 1 else {"paid less": 1}
        for pattern, sign in patterns.items():
            half = np.where(given["frame"] > 0, 1, sign) / len(signs)
            columns[f"{group}, {pattern}"] = off * half
    answers = pd.DataFrame(
        {
            "prompt": given["frame"].map(asked),
            "answer": given["text"],
            "unit": block_names(given),
            "draw": np.where(reference, given["context"], -1),
        }
    )
    return Contrasts(answers, pd.DataFrame(columns), tolerated)


def block_names(table: pd.DataFrame) -> pd.Series[str]:
    """Return a name of the block of each sentence, by which blocks are split."""
    return "block " + table["block"].astype(str)


def of_properties(
    words: pd.DataFrame,
    prompts: Iterable[Prompt],
    properties: Mapping[str, _Floats],
    *,
    tolerated: float,
    either_way: bool = False,
) -> Contrasts:
    """Return minus the covariance of rewards with properties that should be rewarded, by prompt.

    `words` has `answer` and `text` (the word or thing that it spells) in n rows, and each property
    n values. Words count equally, and so do the spellings of a word. Under a prompt that asks for
    bad things the sign turns. With `either_way` a property should not matter: both signs are
    judged.
    """
    given, columns = tuple(prompts), {}
    draws, counts = np.unique(words["text"], return_inverse=True, return_counts=True)[1:]
    share = 1 / counts[draws] / len(counts)
    for place, prompt in enumerate(given):
        for name, values in properties.items():
            off = np.zeros((len(given), len(words)))
            off[place] = share * (values - share @ values)
            ways = {"": -prompt.direction}
            if either_way:
                ways = {f", {way}": sign for way, sign in _EACH_WAY.items()}
            for way, sign in ways.items():
                columns[f"{name} under {prompt.name}{way}"] = sign * off.ravel()
    answers = _words(list(words["text"]), given, list(words["answer"]))
    answers["draw"] = [*draws] * len(given)
    return Contrasts(answers, pd.DataFrame(columns), tolerated)


def of_pairs(pairs: pd.DataFrame, kinds: Sequence[str]) -> Contrasts:
    """Return how much more the worse answers get than the better ones, for each kind of conduct.

    `pairs` are those of `conduct.better_wins`, with `asked` (what is asked) besides; a context's
    pairs count as much as another's. A kind is tolerated up to 0.
    """
    given = pairs[pairs["subset"].isin(kinds)].reset_index(drop=True)
    sides = given.groupby(["line", "chosen"])["line"].transform("size").to_numpy(float)
    lines = given.groupby(["subset", "group"])["line"].transform("nunique").to_numpy(float)
    contexts = given.groupby("subset")["group"].transform("nunique").to_numpy(float)
    off = np.where(given["chosen"], -1, 1) / (sides * lines * contexts)
    columns = {kind: np.where(given["subset"] == kind, off, 0.0) for kind in kinds}
    answers = pd.DataFrame(
        {
            "prompt": given["asked"],
            "answer": given["response"],
            "unit": given["group"],
            "draw": np.arange(len(given)),
        }
    )
    return Contrasts(answers, pd.DataFrame(columns), 0.0)


def of_changes(answers: pd.DataFrame, changed: pd.DataFrame, *, tolerated: float) -> Contrasts:
    """Return how much more answers get for each change of their text (`edits.shift`).

    `answers` (n rows) has `asked` and `group`; `changed`, shape (n, 1 + k), the answers as they
    are in its first column, and as they are after each change in others.
    """
    n, many = changed.shape
    columns = {}
    for place, name in enumerate(changed.columns[1:], 1):
        off = np.zeros((many, n))
        off[place], off[0] = 1 / n, -1 / n
        columns[str(name)] = off.ravel()
    rows = pd.DataFrame(
        {
            "prompt": list(answers["asked"]) * many,
            "answer": changed.to_numpy().T.ravel(),
            "unit": list(answers["group"]) * many,
            "draw": [*range(n), *[-1] * (n * (many - 1))],
        }
    )
    return Contrasts(rows, pd.DataFrame(columns), tolerated)


def _means(values: _Floats, groups: NDArray[np.intp]) -> _Floats:
    """Return the mean of the rows of each group, numbered from 0, shape (groups, ...)."""
    sums = np.zeros((int(groups.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(sums, groups, values)
    return sums / np.bincount(groups).reshape(-1, *[1] * (values.ndim - 1))


def _over_frames(of_texts: _Floats, prompts: Sequence[Prompt], sign: int) -> _Floats:
    """Return coefficients of texts (n,) under each prompt, flat: as `rank_gaps.over_frames`."""
    frames = [prompt.direction for prompt in prompts]
    shares = [(1 if frame > 0 else sign) / (2 * frames.count(frame)) for frame in frames]
    return np.concatenate([share * of_texts for share in shares])


def _words(
    texts: Sequence[str], prompts: Sequence[Prompt], answers: Sequence[object] | None = None
) -> pd.DataFrame:
    """Return the rows of words as answers to each prompt; a word's unit is its stem."""
    many, given = len(prompts), list(texts if answers is None else answers)
    return pd.DataFrame(
        {
            "prompt": pd.Series([p.asked for p in prompts for _ in given], dtype=object),
            "answer": pd.Series(given * many, dtype=object),
            "unit": [*map(stem_key, texts)] * many,
            "draw": [*range(len(given))] * many,
        }
    )
