"""Samples of a policy in a run: those of --rm-samples, and what is wrong with the file told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.conftest import Run
from tests.plugin.test_pairs import BOUND, CONFTEST

GIVEN = f"""
@audit({BOUND})
def test_drawn(samples):
    return estimate(float(samples.frame["reward"].mean()), 0.0)
"""


def test_the_samples_of_the_option_are_scored_and_named(run: Run, tmp_path: Path) -> None:
    """Check that their rewards reach the audit, and that the finding names the file."""
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"prompt": "p", "responses": ["a", "aaa"]}), encoding="utf-8")

    ran = run(GIVEN, f"--rm-samples={file}", model="house-rm", conftest=CONFTEST)

    assert ran.only["estimate"]["value"] == 2.0
    assert "2 answers to 1 prompt of mine.jsonl" in str(ran.only)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no answers"),
        ('{"prompt": "p"}', "mine.jsonl:1: has 'prompt'"),
        ('{"prompt": "p", "responses": [3]}', "mine.jsonl:1: response"),
        (None, "mine.jsonl"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_measured(
    run: Run, tmp_path: Path, text: str | None, says: str
) -> None:
    """With the option, the file and the line."""
    file = tmp_path / "mine.jsonl"
    if text is not None:
        file.write_text(text, encoding="utf-8")

    ran = run(GIVEN, f"--rm-samples={file}")

    ran.refuses("--rm-samples: ", says)
