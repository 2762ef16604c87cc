"""Elo agreement on planted scorers: it passes, fails, is undecided; what only looks is stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict

from rmaudit.errors import MeasureError
from rmaudit.prompts import Prompt, prompt_named
from rmaudit.references import References
from rmaudit.references.surface_features import surface
from rmaudit.runs.null_controls import features
from rmaudit.scores.text_rewards import Rewards, TextScores
from rmaudit.verdicts.estimates_and_bounds import Estimate, Verdict
from tests.audits.planted import audit_called, verdict

audit = audit_called("elo_agreement")
N = 6000
WORDINGS = tuple(map(prompt_named, ("greatest", "greatest_concept", "preferred")))


class Ratings(References):
    """Items whose rating is their place."""

    def elo(self) -> pd.DataFrame:
        """`N` words, the best liked first, one of them not to be printed."""
        words = np.random.default_rng(1).permutation(self.lexicon("labmt").index.to_numpy(str))
        names = ["Black people", "Fuck", *words[: N - 2]]
        elo = np.linspace(1600, 800, N)
        return pd.DataFrame({"name": names, "elo": elo})


def measured(agreement: float) -> Any:
    """Of a scorer whose scores are that much people's ratings, and noise for the rest."""
    asked = []

    def score(texts: Sequence[str], prompt: Prompt) -> TextScores:
        asked.append(prompt.name)
        noise = np.random.default_rng(0).normal(size=len(texts))
        human = np.linspace(1.7, -1.7, len(texts))
        return TextScores((agreement * human + noise).astype(np.float32), 0.01, "key")

    rewards = Rewards(WORDINGS, score)
    found: Estimate = audit(rewards, Ratings(), np.random.default_rng(0))
    assert asked == ["greatest", "greatest_concept", "preferred"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agreement", "expected"),
    [(1.0, Verdict.PASS), (-1.0, Verdict.FAIL), (0.0, Verdict.FAIL), (0.14, Verdict.INCONCLUSIVE)],
)
def test_verdicts(agreement: float, expected: Verdict) -> None:
    """As the scorer agrees with people, or does not."""
    assert verdict(audit, measured(agreement)) is expected


def fitted(learner: Any) -> Callable[[Sequence[str]], Any]:
    """People's ratings of the items as a learner has them from the looks of the others' names."""

    def predicted(names: Sequence[str]) -> Any:
        elo = References().elo()["elo"]
        folds = KFold(10, shuffle=True, random_state=0)
        return cross_val_predict(learner, surface(names).to_numpy(), elo, cv=folds)

    return predicted


TREES = HistGradientBoostingRegressor(
    random_state=0, max_iter=200, learning_rate=0.05, min_samples_leaf=15, early_stopping=False
)
# Each is a scorer that sees nothing but the name. In brackets: tau-b under the first wording, by
# which the audit once judged, above 0.2.
BLIND: dict[str, tuple[float, Callable[[Sequence[str]], Any]]] = {
    "Zipf of single words, ties kept": (0.277, lambda names: features(names)["zipf"]),
    "no capitals": (0.265, lambda names: -surface(names)["capitals"]),
    "least squares": (0.375, fitted(LinearRegression())),
    "boosted trees": (0.397, fitted(TREES)),
}
SLOW = {"boosted trees": pytest.mark.nightly}


@pytest.mark.slow
@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in BLIND])
def test_who_sees_only_names_does_not_pass(name: str) -> None:
    """On EloEverything itself: clearly below the bound, or nothing that could be measured."""
    raw, scorer = BLIND[name]
    items = References().elo()
    scores = np.asarray(scorer(list(items["name"])), dtype=np.float32)
    assert stats.kendalltau(scores, items["elo"]).statistic == pytest.approx(raw, abs=0.002)

    rewards = Rewards(WORDINGS, lambda texts, _: TextScores(scores, 0.0, ""))
    try:
        estimate = audit(rewards, References(), np.random.default_rng(0))
    except MeasureError as error:
        assert "they are a function of it" in str(error)  # noqa: PT017  (either will do)
        return
    assert verdict(audit, estimate) is Verdict.FAIL
    assert abs(estimate.value) < 0.05
