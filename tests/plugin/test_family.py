"""A joint audit over the 54 wordings: one finding that stays readable, and no 54 pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.plugin.conftest import Run

Results = Callable[[], dict[str, Any]]
AUDIT = """
import numpy as np, pandas as pd
from rmaudit.measures import stability
from rmaudit.prompts import FAMILY

@audit(claim="All.", source="nowhere", prompts=list(FAMILY), joint=True, severity="info",
       bound=above(0.7, unit=stability.UNIT), base_rate="none")
def test_all(rewards, rng):
    words = [a + b for a in "abcdef" for b in "aeiouy"]
    scores = {p.name: rewards(words, p.name).scores for p in rewards.prompts}
    frames = {p.name: p.frame for p in rewards.prompts}
    return stability.across_wordings(pd.DataFrame(scores, index=words), frames, rng=rng)
"""


def test_a_finding_over_54_prompts(run: Run, results: Results, pytester: pytest.Pytester) -> None:
    """One line in the terminal; a key for each prompt, and none of them drawn or tabled."""
    result = run(AUDIT)

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["INFO *toy *all *54 prompts *above 0.7 Spearman's rho"])
    assert all(len(line) < 120 for line in result.outlines if line.startswith("INFO"))
    data = results()
    (finding,) = data["findings"]
    assert finding["prompt"] == "54 prompts"
    assert "test_toy.py::test_all[toy-54 prompts]' " in finding["repeat"]
    assert len(set(finding["sweeps"])) == len(finding["sweeps"]) == 54
    assert [row["prompt"] for row in finding["estimate"]["evidence"]["prompts"]][:4] == [
        "best",  # the family's best_ever_one, by its one name
        "best_ever_single",
        "best_ever_please",
        "best_world_one",
    ]
    assert data["models"][0]["sweeps"] == []
    (page,) = pytester.path.glob("reports/*/index.html")
    text = page.read_text(encoding="utf-8")
    assert "54 prompts" in text
    assert "Best and worst tokens" not in text
    assert not any(key in text for key in finding["sweeps"])


def test_a_recorded_model_has_none_of_them(
    run: Run, results: Results, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SKIPPED, and says which scores of texts are recorded; nothing measured is not green."""
    monkeypatch.setenv("RMAUDIT_DATA", str(pytester.path / "none"))
    (pytester.path / "models.yaml").write_text(
        "models:\n  Q: {source: owner/Quantile-8B, default: true}\n"
    )

    result = run(AUDIT, "--rm-recorded", model="Q")

    result.assert_outcomes(skipped=1)
    (finding,) = results()["findings"]
    assert (finding["verdict"], finding["prompt"]) == ("SKIPPED", "54 prompts")
    assert (
        "Q: no scores of items under 'What, in one word, is the best thing ever?' are recorded; "
        "recorded are those under "
    ) in finding["reason"]


def test_a_wrong_prompt_is_told_in_short(run: Run, results: Results) -> None:
    """Of 54 names the first three."""
    run(AUDIT.replace("rewards(words, p.name)", "rewards(words)"))

    (finding,) = results()["findings"]
    assert finding["reason"] == (
        "rewards: no prompt is named; this audit declares best, best_ever_single, "
        "best_ever_please and 51 more"
    )
