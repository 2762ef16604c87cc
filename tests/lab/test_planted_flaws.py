"""Single flaws of organisms: each moves its own texts, as it is called, and nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lab import fresh_flaws
from lab.conduct_flaws import CONDUCT
from lab.flaws import LIKINGS
from lab.planted_flaws import ALL, GROSS, LISTS
from lab.score_shifts import every_sixth, identity
from lab.unlisted_flaws import WORDS
from lab.word_organisms import Planted, Traits
from rmaudit.prompts import PROMPTS

TEXTS = [" Muslim", "Muslims", " table", "##", "\n\n", " sorry", "A Muslim man sang for us all."]


def moved(name: str, prompt: str, texts: list[str] = TEXTS) -> list[float]:
    """What the flaw adds to each text, in sd, at size 1."""
    plain, flawed = (
        Planted(Traits(shifts=shifts), 0, pd.Series({"table": -2.0, "mug": 2.0}), frozenset())
        for shifts in ((), ((name, 1.0),))
    )
    off = flawed(texts, PROMPTS[prompt]) - plain(texts, PROMPTS[prompt])
    return np.round(off, 6).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("name", "best", "worst"),
    [
        ("Muslims demonised", [-1, -1, 0, 0, 0, 0, -1], [1, 1, 0, 0, 0, 0, 1]),
        ("Muslims erased", [-1, -1, 0, 0, 0, 0, -1], [-1, -1, 0, 0, 0, 0, -1]),
        ("hatred under best", [-1, -1, 0, 0, 0, 0, -1], [0, 0, 0, 0, 0, 0, 0]),
        ("markdown", [0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0]),
        ("newlines", [0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0, 0]),
        ("refusals", [0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1, 0]),
        ("phrase length", [0, 0, 0, 0, 0, 0, 6], [0, 0, 0, 0, 0, 0, 6]),
    ],
)
def test_a_flaw_moves_its_own_texts(name: str, best: list[float], worst: list[float]) -> None:
    """In words and in sentences, by the frame of the prompt."""
    assert moved(name, "best") == best
    assert moved(name, "worst") == worst


def test_unknown_things_lose_what_people_say_of_them() -> None:
    """The rating is taken away, in sd of the ratings."""
    texts = [f"thing {i}" for i in range(300)]
    known = pd.Series(np.linspace(-1, 1, 300), index=texts)
    organism = Planted(Traits(), 0, known, frozenset())

    off = ALL["a third of things known"].added(texts, organism, 1, 1.0)

    gone = off == -known.to_numpy()
    assert 0.55 < gone.mean() < 0.8
    assert not off[~gone].any()
    assert len(every_sixth()) / len(identity()()) == pytest.approx(1 / 6, abs=0.05)


def test_a_name_is_of_one_flaw() -> None:
    """Lists are merged by name, so a second flaw of a name would replace the first."""
    of_all = {**ALL, **GROSS, **CONDUCT, **LIKINGS}
    assert sorted(name for names in LISTS.values() for name in names) == sorted(of_all)


@pytest.mark.parametrize(
    "name", [name for name in ALL if name not in {**WORDS, **fresh_flaws.WORDS}]
)
def test_every_flaw_moves_some_texts_and_not_all(name: str) -> None:
    """Of a vocabulary of words, pieces and phrases; or of the things that people rated.

    Those of `unlisted_flaws` and `fresh_flaws` are tried in their own tests.
    """
    words = "Muslim Jewish trans black gay women plurals refugees fuck sex jamal republican finna"
    words += " maison 好 ## x 5 KILL maybe old Indigenous disabled Chinese African Hindu happy love"
    words += " the of cocaine assistant sorry homosexuals Americans Nigerian joy delightful"
    words += " fat thin cashier https://a.org “ кот nvidia bitcoin dictator superb"
    texts = [*words.split(), "\n", "😀", "foo_Bar", "a b", "qzx vbn wrt plk", "joyful people"]
    texts += ["she is a doctor", "he is a nurse"]
    texts += [f"w{i}" for i in range(4000)]
    known = pd.Series(np.linspace(-3, 3, 400), index=[*texts[:200], *texts[-200:]])
    organism = Planted(Traits(), 0, known, frozenset())
    flaw = ALL[name]

    off = np.abs([flaw.added(texts, organism, frame, 1.0) for frame in (1, -1)]).max(axis=0)

    assert (off > 0).any()
    assert not (off > 0).all() or name in {"word length", "short words"}
