"""Contrasts: a planted shift moves them by just that, and larger is worse, as the gate has it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from rmaudit.measures import contrasts
from rmaudit.measures._stats import robust_spread
from rmaudit.measures.conduct import better_wins
from rmaudit.measures.contrasts import RANKS, Contrasts
from rmaudit.measures.edits import shift
from rmaudit.measures.framing_inversion import inversion
from rmaudit.measures.identity_communities import worst_community
from rmaudit.measures.identity_gaps import TermScores
from rmaudit.measures.rank_gaps import Compared
from rmaudit.measures.scores_by_prompt import Answers
from rmaudit.measures.sentences import worst_group
from rmaudit.prompts import PROMPTS
from rmaudit.references import counterfactual_sentences
from tests.measures.contract import rng
from tests.measures.test_conduct import KINDS, pairs
from tests.measures.test_identity_gaps import of, small

ASKED = tuple(PROMPTS.values())
Floats = NDArray[np.float64]


@lru_cache
def asked(per_group: int = 2) -> Compared:
    """A few made-up words of communities, each with a control of its own."""
    terms, controls = small(per_group=per_group)
    return of((terms.assign(community=terms["group"]), controls))


def gaps(per_group: int = 2) -> Contrasts:
    """The gaps of each of these communities, under the three prompts."""
    return contrasts.of_terms(asked(per_group), ASKED, communities=True, tolerated=0.1)


def test_a_communitys_shift_moves_its_own_contrast_by_just_that() -> None:
    """And no other community's, nor its own of the other pattern."""
    made, who = gaps(), asked().terms["group"].iloc[0]
    frame = np.repeat([prompt.frame for prompt in ASKED], len(asked().texts))
    named = [*(asked().terms["group"] == who)] + [False] * len(asked().controls)
    rewards = rng().normal(size=len(made.answers))

    moved = made.values(rewards - 2.0 * np.tile(named, len(ASKED)) * frame) - made.values(rewards)

    for name, by in zip(made.coefficients, moved, strict=True):
        if not name.startswith("all of "):
            assert by == pytest.approx(2.0 if name == f"{who}, demonised" else 0.0)
    assert made.tolerated == RANKS * 0.1


def test_terms_rank_as_their_gate_does() -> None:
    """The rank gap grows with the contrast, about as its unit says."""
    made, who = gaps(4), f"{asked(4).terms['group'].iloc[0]}, erased"
    hit = made.coefficients[who].to_numpy() < 0
    found = []
    for size in (0.0, 0.5, 1.0, 2.0):
        rewards = rng().normal(size=len(hit)) - size * hit
        rows = rewards.reshape(len(ASKED), -1)
        answers = {
            p.name: TermScores(own, p.frame, 0.0) for p, own in zip(ASKED, rows, strict=True)
        }
        gate = worst_community(asked(4), answers, rng=rng())
        by_gate = {f"{row.community}, {row.pattern}": row.gap for row in gate.evidence.rows}
        found.append((made.excess(rewards)[who] + made.tolerated, by_gate[who]))
    mine, its = np.array(found).T

    assert (np.diff(mine) > 0).all()
    assert (np.diff(its) > 0).all()
    assert mine / RANKS == pytest.approx(its, abs=0.12)


def test_sentences_have_the_gates_own_shift() -> None:
    """In its own unit: the sd of contexts' reference sentences."""
    table = counterfactual_sentences.communities()
    prompts = (PROMPTS["best"], PROMPTS["worst"])
    made = contrasts.of_sentences(table, prompts, tolerated=0.5)
    rewards = rng().normal(size=len(table)) - (table["group"] == "Jews") * table["frame"]
    gate = worst_group(table.assign(reward=rewards), rng=rng(), noise=0.0, most=0.5)

    excess = made.excess(rewards.to_numpy())

    assert excess.index[0] == "Jews, demonised"
    for row in gate.evidence.rows:
        mine = excess[f"{row.group}, {row.pattern}"] + made.tolerated
        assert mine == pytest.approx(row.shift)


def test_properties_are_covariances_that_turn_with_the_frame() -> None:
    """Worse is larger where happy words get less for good things, or more for bad ones."""
    happy = rng().normal(size=300)
    words = pd.DataFrame({"text": [f"w{i}" for i in range(300)]})
    words["answer"] = [(i,) for i in range(300)]
    valence = (happy - happy.mean()) / happy.std()
    made = contrasts.of_properties(words, ASKED, {"valence": valence}, tolerated=-0.3)
    slopes = np.array([prompt.frame for prompt in ASKED]) * (1.0, 0.1, -1.0)
    rewards = slopes[:, None] * happy + rng().normal(size=(3, 300))

    excess = made.excess(rewards.ravel())

    assert [*excess.index] == [f"valence under {name}" for name in ("worst", "best", "greatest")]
    lexicon = pd.Series(happy, words["text"])
    gate = inversion(
        {
            prompt.name: Answers(words[["text"]].assign(score=own), prompt.frame, 0.0)
            for prompt, own in zip(ASKED, rewards, strict=True)
        },
        lexicon,
        rng=rng(),
    )
    assert np.sign(gate.value) == -np.sign(excess.iloc[0] + made.tolerated)


def test_spellings_share_a_words_weight_and_either_way_judges_both_signs() -> None:
    """A word of two tokens counts as much as one of one."""
    words = pd.DataFrame({"text": ["a", "a", "b"], "answer": [(0,), (1,), (2,)]})
    made = contrasts.of_properties(
        words, ASKED[:1], {"zipf": np.array([1.0, 1.0, -1.0])}, tolerated=0.1, either_way=True
    )

    assert made.coefficients["zipf under greatest, higher"].tolist() == [0.25, 0.25, -0.5]
    assert made.coefficients["zipf under greatest, lower"].tolist() == [-0.25, -0.25, 0.5]
    assert made.answers["draw"].tolist() == [0, 0, 1]


def test_pairs_are_mean_differences_of_contexts() -> None:
    """The worse answer's reward less the better one's, larger where the gate's share is lower."""
    values = []
    for gain in (-1.0, 0.0, 2.0):
        table = pairs(0, {KINDS[0]: gain})
        made = contrasts.of_pairs(table.assign(asked=table["prompt"]), KINDS)
        rewards = table["reward"].to_numpy()
        mine = dict(zip(made.coefficients, made.values(rewards), strict=True))
        wide = table.pivot_table(index=["subset", "line"], columns="chosen", values="reward")
        by_hand = (wide[False] - wide[True]).groupby("subset").mean()
        assert mine == pytest.approx(by_hand.to_dict())
        gate = better_wins(table, KINDS, rng=rng(), noise=0.0)
        values.append((mine[KINDS[0]], gate.value))
    by_contrast, by_gate = np.array(values).T
    assert (np.diff(by_contrast) > 0).all()
    assert (np.diff(by_gate) <= 0).all()


def test_changes_have_the_gates_own_shift() -> None:
    """Mean gain by the change, in sd of the answers to a prompt, estimated robustly."""
    n, names = 40, ["as it is", "one", "two"]
    answers = pd.DataFrame({"prompt": [f"p{i // 2}" for i in range(n)], "turns": ""})
    answers = answers.assign(asked=answers["prompt"], group=answers["prompt"])
    changed = pd.DataFrame({name: [f"{name} {i}" for i in range(n)] for name in names})
    made = contrasts.of_changes(answers, changed, tolerated=0.5)
    rewards = rng().normal(size=(3, n)) + np.array([0.0, 0.0, 1.5])[:, None]

    gate = shift(
        answers, pd.DataFrame(dict(zip(names, rewards, strict=True))), rng=rng(), noise=0.0
    )

    excess = made.excess(rewards.ravel())
    assert excess.index[0] == "two"
    scores = rewards[0].reshape(-1, 2)
    robust, _ = robust_spread(np.ravel((scores - scores.mean(axis=1, keepdims=True)) * 2**0.5))
    own = made.spread(rewards.ravel()) / robust
    assert ((excess + 0.5) * own).to_dict() == pytest.approx(dict(gate.secondary), rel=1e-6)
    assert own == pytest.approx(1, abs=0.15)


def test_states_give_what_rewards_give() -> None:
    """The contrast of states, times the head, is that of rewards; the draws' deviations too."""
    made, head = gaps(), rng().normal(size=5)
    states = rng().normal(size=(len(made.answers), 5))

    assert made.values(states) @ head == pytest.approx(made.values(states @ head))
    assert made.draws(states) @ head == pytest.approx(made.draws(states @ head))
    assert made.coefficients.sum().to_numpy() == pytest.approx(0.0)
