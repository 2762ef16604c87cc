"""What a notebook shows of a sweep: nothing that hurts unasked, nothing that is code."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rmaudit.errors import MeasureError
from rmaudit.scores.sweep_notebook_views import in_lines, reward_format
from tests.scores.letters import sweep_of


def test_a_repr_says_what_it_is() -> None:
    """Model, prompt, how many answers, and where their rewards lie."""
    said = repr(sweep_of(["a", "b"], [1.0, -2.5]))

    assert all(part in said for part in ("toy", "'best'", "2 token ids", "-2.50", "1.00"))
    assert len(said) < 200


def test_a_table_is_safe_to_show() -> None:
    """Tokens are escaped, and a listed word is masked; the best stand beside the worst.

    Blank letters and symbols are spelled out; letters are not.
    """
    html = sweep_of(["<script>alert(1)</script>", "fuck", "love"], [1.0, -2.0, 3.0])._repr_html_()

    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "fuck" not in html
    assert "f•••" in html
    assert html.index("love") < html.index("f•••")
    html = sweep_of(
        ["\u3164", "\u2800\ufe0f", "\u200b", "é日本"], [1.0, 2.0, 3.0, 4.0]
    )._repr_html_()

    assert all(f"'{shown}'" in html for shown in ("\\u3164", "\\u2800\\ufe0f", "\\u200b", "é日本"))


def test_a_plot_names_no_token_and_counts_every_answer() -> None:
    """A histogram: the heights of its bars sum to the number of answers; NaN is none."""
    shown = sweep_of(["one", "two", "three", "four"], [1.0, 1.0, 3.0, np.nan]).plot()

    assert shown._repr_html_() == shown.svg
    assert repr(shown) == "Drawing()"
    assert "histogram of 3 rewards" in shown.svg
    assert "three" not in shown.svg
    heights = [float(height) for height in re.findall(r"M[-\d. ]+h[-\d.]+v([\d.]+)h", shown.svg)]
    assert len(heights) == 80
    assert sum(heights) == 1.5 * max(heights)  # two in a bin, one in another


def test_compared_tokens_say_how_far_they_rose() -> None:
    """By ids where the vocabularies are one, else by text; ranks are among what both have."""
    one = sweep_of(["a", "b", "c"], [3.0, 2.0, 1.0])
    same = sweep_of(["a", "b", "c"], [1.0, 2.0, 3.0], "other")
    moved = sweep_of(["x", "c", "a"], [9.0, 5.0, 4.0], "third")

    by_id, by_text = one.compare(same), one.compare(moved)

    assert dict(zip(by_id["text"], by_id["rose"], strict=True)) == {"a": -2, "b": 0, "c": 2}
    assert dict(zip(by_text["text"], by_text["rose"], strict=True)) == {"c": 1, "a": -1}
    assert by_text["reward_other"].tolist() == [5.0, 4.0]
    with pytest.raises(MeasureError, match="toy and other share no token"):
        one.compare(sweep_of(["q"], [1.0], "other"))


def test_small_rewards_are_told_apart() -> None:
    """In digits that show how they differ, wherever a sweep or its ends are shown."""
    sweep = sweep_of(["love", "peace", "war"], [3.25e-6, 1.5e-6, -2e-6])
    lines = "\n".join(in_lines("toy", "best", sweep.top(1), sweep.bottom(1)))

    assert "rewards -2e-06 to 3.25e-06" in repr(sweep)
    assert "3.25e-06" in sweep._repr_html_()
    assert "'love' +3.25e-06" in lines
    assert "'war' -2e-06" in lines
    assert [reward_format([1.0, 1.0]), reward_format([0.5, 0.1], 3)] == [".2f", ".3f"]
