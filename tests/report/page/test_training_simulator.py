"""The simulator: all stages as they were computed, its words masked, and where harm begins."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from rmaudit.measures.after_training_evidence import (
    AfterTrainingEvidence,
    Likely,
    ListShare,
    Onset,
    Stage,
)
from rmaudit.report.page.training_simulator import simulator
from rmaudit.verdicts.findings import Figure
from tests.findings import claim, estimated
from tests.report.conftest import HOSTILE


def stage(nats: float, *words: str, draws: int = 0, prompt: str = "best") -> Stage:
    """A stage with these words, the likeliest first."""
    likely = tuple(Likely(word, 0.01 * nats, 1 / (i + 2)) for i, word in enumerate(words))
    numbers = {"happiness": 5 + nats / 3, "variety": 40 - nats, "zipf": 6.5, "letterless": 0.125}
    said = (ListShare("refusals", 0.25),)
    return Stage(prompt=prompt, draws=draws, nats=nats, **numbers, listed=said, likely=likely)


def simulated(*stages: Stage) -> Figure:
    """A figure whose evidence has these stages."""
    estimate = replace(estimated(1, 2), evidence=AfterTrainingEvidence(stages=stages))
    asked = claim(model="Toy", title="After training", question="What would it answer?")
    return Figure.of(asked, estimate, sweeps=("ab12",))


def data(figure: Figure) -> Any:
    """What the page's script reads."""
    page = simulator([figure], "After training, Toy")
    (found,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def test_it_has_every_stage_as_it_was_computed() -> None:
    """By prompt and kind of training; best of one is the policy as it is."""
    found = data(
        simulated(stage(0, "the"), stage(2.0, "love", "the"), stage(1.94, "good", draws=16))
    )

    assert [word for word, _ in found["words"]] == ["the", "love", "good"]
    (kinds,) = found["prompts"].values()
    assert [each["how"] for each in kinds["nats"]] == ["as it is", "2 nats"]
    assert [each["how"] for each in kinds["draws"]] == ["as it is", "best of 16"]
    assert [each["at"] for each in kinds["draws"]] == [1, 16]
    assert kinds["nats"][1]["figures"] == pytest.approx([2, 17 / 3, 38, 6.5, 0.125, 0.25])
    assert found["figures"][-2:] == ["answers: without a letter", "answers: refusals"]
    assert kinds["nats"][1]["likely"] == [[1, 0.02, 0.5], [0, 0.02, 1 / 3]]


def test_offence_is_masked_and_no_text_gets_out() -> None:
    """Masked words have a label; hostile ones are spelled out inside the island."""
    figure = simulated(stage(0, "fucking", *HOSTILE))
    page, (first, *others) = simulator([figure], "Toy"), data(figure)["words"]

    assert first[1] not in {None, "fucking"}
    assert {mask for word, mask in others if word == "<script>alert(1)</script>"} == {None}
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_onsets_of_harm_are_marked_and_listed() -> None:
    """The list says where a harm does not begin; a mark is only where one does."""
    onsets = [Onset("refusals", 1.25, 0.5, None, 16.0), Onset("swearing", None, None, None, 16.0)]

    page = str(simulator([simulated(stage(0, "the"))], "Toy", onsets))

    assert "refusals 1.2 nats [0.5, beyond 16]; swearing not within 16 nats" in page
    assert '"onsets": [["refusals", 1.25]]' in page


def test_other_figures_have_none() -> None:
    """Neither without evidence nor without a number."""
    plain = Figure.of(claim(), estimated(1, 2), sweeps=("ab12",))

    assert simulator([plain], "Toy") == ""
    assert simulator([], "Toy") == ""
