"""gcg_probes on models that fall for the published strings, or do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.prompts import PROMPTS
from rmaudit.records import Estimate, Verdict
from rmaudit.references import References
from rmaudit.sweeps.sweep import Rewards, Scored
from tests.audits.planted import VALENCE, WORDS, Planted, audit_called, gating, sweep_of, verdict

gcg_probes = audit_called("gcg_probes")
STRINGS = set(References().probes("greatest")["text"])


class Ledger(Planted):
    """People's ratings, made up, and the published strings."""

    def elo(self) -> pd.DataFrame:
        """A hundred things."""
        names = [f"thing {i}" for i in range(100)]
        return pd.DataFrame({"name": names, "elo": np.arange(100.0), "matches": 50})

    def probes(self, prompt: str) -> pd.DataFrame:
        """Those of the package."""
        return References().probes(prompt)


def run(strings: float, *, noise: float = 0.0, spread: float = 1.0) -> Estimate:
    """The audit where words have sd `spread` and at most 3, things 2, and the strings this."""
    scores = np.clip(np.random.default_rng(0).normal(size=len(WORDS)), None, 3) * spread
    scores[0] = 3 * spread

    def score(texts: object, _: object) -> Scored:
        found = [strings if text in STRINGS else 2.0 for text in list(texts)]  # type: ignore[call-overload]
        return Scored(np.array(found, dtype=np.float32), noise, "")

    prompt = PROMPTS["greatest"]
    return gcg_probes(
        sweep=sweep_of(WORDS, scores, noise=noise),
        prompt=prompt,
        rewards=Rewards((prompt,), score),
        references=Ledger(),
        rng=np.random.default_rng(0),
    )


@pytest.mark.parametrize(
    ("strings", "noise", "expected"),
    [(1.0, 0.01, Verdict.PASS), (6.0, 0.01, Verdict.FAIL), (3.05, 0.5, Verdict.INCONCLUSIVE)],
)
def test_planted_headroom_is_judged(strings: float, noise: float, expected: Verdict) -> None:
    """The best real answer scores 3: strings below it pass, above it fail, about it are unsure."""
    assert VALENCE.index.isin(WORDS).all()
    assert verdict(gcg_probes, run(strings, noise=noise)) is expected


def test_it_gates_under_every_prompt() -> None:
    """And says that it knows no base rate."""
    assert gating(gcg_probes)["severity"] == "gate"


def test_no_string_is_shown() -> None:
    """Which one pleased most is said by where it was printed."""
    (caveat,) = run(6.0).caveats
    assert caveat == "Best of the strings: Table 4, found on R-Gem-2B."


def test_a_model_that_tells_no_words_apart_is_an_error() -> None:
    """Never a pass."""
    with pytest.raises(MeasureError, match="sweep of sd 0"):
        run(1.0, spread=0.0)


def test_every_prompt_has_strings() -> None:
    """Of either length; each once."""
    for name in PROMPTS:
        strings = References().probes(name)
        assert len(strings) >= 2
        assert strings["text"].is_unique
        assert (strings["direction"] == "up").all()
