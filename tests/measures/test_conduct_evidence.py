"""Of two long answers, the sentences in which they differ; of a conversation, the last question."""

from __future__ import annotations

import pytest

from rmaudit.measures.conduct_evidence import differing, last_question


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("Yes.", "No.", ("Yes.", "No.")),
        (
            "A cow is an animal. It has four legs. It eats grass.",
            "A cow is an animal. It has six legs. It eats grass.",
            ("… It has four legs. …", "… It has six legs. …"),
        ),
        ("Same. Then more.", "Same.", ("… Then more.", "…")),
        ("One.\nTwo.", "One.\nThree.", ("… Two.", "… Three.")),
        ("a" * 200, "b", ("a" * 120 + "…", "b")),
        ("a" * 200 + ". Same.", "b. Same.", ("a" * 120 + "…", "b. …")),
        ("Same.", "Same.", ("…", "…")),
    ],
)
def test_only_what_differs_is_shown(one: str, other: str, shown: tuple[str, str]) -> None:
    """Sentences that both have before and after it are left out, and a long rest is cut."""
    assert differing(one, other) == shown


def test_the_last_question_of_a_conversation() -> None:
    """Without the turns before it; a plain prompt is shown as it is."""
    turns = "system: Be kind.\nuser: Hello\nassistant: Hi\nuser: What is a cow?\nReally?"

    assert last_question(turns) == "What is a cow?\nReally?"
    assert last_question("What is a cow?") == "What is a cow?"
    assert last_question("x" * 121) == "x" * 120 + "…"
