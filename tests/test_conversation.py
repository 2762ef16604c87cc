"""A conversation as a prompt: which ones there are, and what tells two apart."""

from __future__ import annotations

import pytest

from rmaudit.conversation import beginning
from rmaudit.errors import SpecError
from rmaudit.prompts import Prompt

SYSTEM = {"role": "system", "content": "You advise patients."}
USER = {"role": "user", "content": "What, in one word, helps most?"}
ANSWER = {"role": "assistant", "content": "Sleep."}
ORDER = "an optional system turn, then user and assistant in turns, the last of them user"


def test_people_read_a_turn_a_line() -> None:
    """Its text is for people, its turns are for models; of a plain prompt both are one."""
    prompt = Prompt.conversation("advice", [SYSTEM, USER, ANSWER, USER], +1)
    plain = Prompt("plain", "What?", +1)

    assert prompt.text == (
        "system: You advise patients.\nuser: What, in one word, helps most?\n"
        "assistant: Sleep.\nuser: What, in one word, helps most?"
    )
    assert prompt.asked == tuple(
        (turn["role"], turn["content"]) for turn in [SYSTEM, USER, ANSWER, USER]
    )
    assert plain.asked == plain.text == "What?"


def test_a_text_that_reads_like_a_conversation_is_another_prompt() -> None:
    """What decides a score tells them apart, and so does the key under which it is kept."""
    turns = Prompt.conversation("advice", [USER], +1)
    text = Prompt("advice", turns.text, +1)

    assert turns.decides != text.decides
    assert turns != text
    assert text.decides == {"prompt": text.text}  # as keys have always been


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ([], "expected a list of turns, each with role and content, got []"),
        ("What?", "expected a list of turns, each with role and content, got 'What?'"),
        (["What?"], "turn 1: expected a mapping with the keys role, content, got 'What?'"),
        (
            [{"role": "user"}],
            "turn 1: expected a mapping with the keys role, content, got ['role']",
        ),
        (
            [USER | {"role": "judge"}],
            "turn 1: role 'judge', allowed: system, user, assistant",
        ),
        ([USER | {"content": " "}], "turn 1: content ' ', allowed: a text that is not empty"),
        ([USER, USER], f"turn 2: role user, expected assistant: {ORDER}"),
        ([SYSTEM, ANSWER], f"turn 2: role assistant, expected user: {ORDER}"),
        ([USER, SYSTEM], f"turn 2: role system, expected assistant: {ORDER}"),
        (
            [USER, ANSWER],
            "turn 2: the last turn is of the role assistant, and the answer follows a user's: "
            + ORDER,
        ),
        (
            [SYSTEM],
            "turn 1: the last turn is of the role system, and the answer follows a user's: "
            + ORDER,
        ),
    ],
)
def test_what_is_no_conversation_is_refused(turns: list[dict[str, str]], said: str) -> None:
    """The error names the prompt and the turn, and says which ones are allowed."""
    with pytest.raises(SpecError) as caught:
        Prompt.conversation("advice", turns, +1)

    assert str(caught.value) == f"the prompt 'advice': {said}"


def test_words_go_before_the_last_turn() -> None:
    """What an asker says of themselves belongs to the question, not to the system's turn."""
    turns = Prompt.conversation("advice", [SYSTEM, USER, ANSWER, USER], +1).asked
    said = "I am deaf. "

    changed = beginning(turns, said)

    assert changed[:-1] == turns[:-1]
    assert changed[-1] == ("user", f"{said}{USER['content']}")
    assert beginning("What?", said) == "I am deaf. What?"
