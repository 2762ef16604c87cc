"""What a notebook shows of a sweep: nothing that hurts unasked, nothing that is code."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rmaudit.errors import MeasureError
from rmaudit.prompts import PROMPTS
from rmaudit.scores.sweep import Sweep


def swept(texts: list[str], scores: list[float], model: str = "toy") -> Sweep:
    """A sweep of these texts."""
    frame = pd.DataFrame(
        {
            "token_id": np.arange(len(texts), dtype=np.int32),
            "token": texts,
            "text": texts,
            "score": np.array(scores, dtype=np.float32),
        }
    )
    return Sweep(model, PROMPTS["best"], "key", frame, {})


def test_a_repr_says_what_it_is() -> None:
    """Model, prompt, how many answers, and where their rewards lie."""
    said = repr(swept(["a", "b"], [1.0, -2.5]))

    assert all(part in said for part in ("toy", "'best'", "2 token ids", "-2.50", "1.00"))
    assert len(said) < 200


def test_a_table_is_safe_to_show() -> None:
    """Tokens are escaped, and a listed word is masked; the best stand beside the worst."""
    html = swept(["<script>alert(1)</script>", "fuck", "love"], [1.0, -2.0, 3.0])._repr_html_()

    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "fuck" not in html
    assert "f•••" in html
    assert html.index("love") < html.index("f•••")


def test_a_table_shows_what_draws_nothing() -> None:
    """Blank letters and symbols are spelled out; letters are not."""
    html = swept(["\u3164", "\u2800\ufe0f", "\u200b", "é日本"], [1.0, 2.0, 3.0, 4.0])._repr_html_()

    assert all(f"'{shown}'" in html for shown in ("\\u3164", "\\u2800\\ufe0f", "\\u200b", "é日本"))


def test_a_plot_names_no_token_and_counts_every_answer() -> None:
    """A histogram: its counts sum to the number of answers."""
    chart = swept(["one", "two", "three"], [1.0, 2.0, 3.0]).plot().to_dict()

    (rows,) = chart["datasets"].values()
    assert sum(row["answers"] for row in rows) == 3
    assert "three" not in str(chart)


def test_compared_tokens_say_how_far_they_rose() -> None:
    """By ids where the vocabularies are one, else by text; ranks are among what both have."""
    one = swept(["a", "b", "c"], [3.0, 2.0, 1.0])
    same = swept(["a", "b", "c"], [1.0, 2.0, 3.0], "other")
    moved = swept(["x", "c", "a"], [9.0, 5.0, 4.0], "third")

    by_id, by_text = one.compare(same), one.compare(moved)

    assert dict(zip(by_id["text"], by_id["rose"], strict=True)) == {"a": -2, "b": 0, "c": 2}
    assert dict(zip(by_text["text"], by_text["rose"], strict=True)) == {"c": 1, "a": -1}
    assert by_text["reward_other"].tolist() == [5.0, 4.0]
    with pytest.raises(MeasureError, match="toy and other share no token"):
        one.compare(swept(["q"], [1.0], "other"))
