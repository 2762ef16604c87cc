"""A prompt becomes a slot: one BOS, a pinned date, and a hole that any answer fits."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trl
from tokenizers.processors import TemplateProcessing

from rmaudit.errors import ModelError
from rmaudit.layout.chat_rendering import render
from rmaudit.layout.chat_template import TODAY
from rmaudit.prompts import Prompt
from tests.checkpoints.folders import refused
from tests.toys import SPECIAL, TEMPLATE, WORDS, toy_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PROMPT = "the love of the city?"
BOS, EOS = SPECIAL.index("<s>"), SPECIAL.index("</s>")
GIVEN = "messages[1]['content']"  # the answer
ANSWER = "{{- " + GIVEN + " -}}"
# As Llama-3.2's: a date is printed, today's unless one is given.
DATED = (
    "{%- if date_string is not defined -%}"
    "{%- set date_string = strftime_now('%d %b %Y') -%}"
    "{%- endif -%}"
    "{{- 'Today: ' + date_string + '. ' -}}" + ANSWER
)


def tokenizer_with(
    *, template: str | None = TEMPLATE, single: str = "<s> $A"
) -> PreTrainedTokenizerFast:
    """A toy tokenizer that puts a BOS before any text, as Llama's does, or what `single` says."""
    tokenizer = toy_tokenizer(template=template)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=single, special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    return tokenizer


def refusal(template: Any, asked: Any = PROMPT) -> str:
    """The one line with which a template is refused."""
    return refused(render, toy_tokenizer(template=template), asked, model="toy")


# The slot


def test_the_slot_of_the_toy_template() -> None:
    """What the template prints before and after the answer, as text and as ids."""
    tokenizer = toy_tokenizer()

    slot = render(tokenizer, PROMPT, model="toy")

    assert slot.prompt == PROMPT
    assert slot.prefix_text == f"<|start|>user\n{PROMPT}<|end|>\n<|start|>assistant\n"
    assert slot.suffix_text == "<|end|>"
    assert tokenizer.decode(slot.prefix) == slot.prefix_text
    assert slot.suffix == (SPECIAL.index("<|end|>"),)


TURNS = Prompt.conversation(
    "advice",
    [
        {"role": "system", "content": "the city of peace"},
        {"role": "user", "content": "love or war?"},
        {"role": "assistant", "content": "love"},
        {"role": "user", "content": PROMPT},
    ],
    +1,
).asked


@pytest.mark.parametrize("single", ["$A", "<s> $A"])
@pytest.mark.parametrize("asked", [(("user", PROMPT),), TURNS], ids=["text", "conversation"])
def test_prefix_answer_suffix_is_the_whole_text(asked: Any, single: str) -> None:
    """For real words, the row is what the tokenizer makes of the conversation as a whole."""
    tokenizer = tokenizer_with(single=single)
    slot = render(tokenizer, asked, model="toy")
    for word in (*WORDS, *(f" {word}" for word in WORDS), "peace and joy", ""):
        turns = [{"role": role, "content": text} for role, text in (*asked, ("assistant", word))]
        whole = tokenizer(str(tokenizer.apply_chat_template(turns, tokenize=False)))

        answer = tokenizer(word, add_special_tokens=False).input_ids

        assert [*slot.prefix, *answer, *slot.suffix] == whole.input_ids


def test_digests_tell_slots_apart() -> None:
    """Equal ids have equal digests; another prompt, or another place of the hole, has another."""
    longer = toy_tokenizer(template=TEMPLATE + "{{- '\n' -}}")
    digest = render(toy_tokenizer(), PROMPT, model="toy").digest

    assert render(toy_tokenizer(), PROMPT, model="another name").digest == digest
    assert render(toy_tokenizer(), PROMPT + "?", model="toy").digest != digest
    assert render(toy_tokenizer(), TURNS, model="toy").digest != digest
    assert render(longer, PROMPT, model="toy").digest != digest


SYSTEM_FIRST = "put what the system says at the start of the first user turn"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            "{%- if messages[0]['role'] == 'system' -%}"
            "{{- raise_exception('System role not supported') -}}{%- endif -%}" + TEMPLATE,
            "failed on a system and a user and an assistant turn: System role not supported",
        ),
        (
            "{%- if messages[0]['role'] == 'system' -%}"
            "{%- set messages = messages[1:] -%}{%- endif -%}" + TEMPLATE,
            "leaves out the system turn of the prompt, 'the city of peace'",
        ),
        (
            "{{- messages[-2]['content'] + '|' + messages[-1]['content'] -}}",
            "leaves out the system turn of the prompt, 'the city of peace'",
        ),
    ],
    ids=["refuses", "drops", "prints one turn"],
)
def test_a_turn_that_a_template_does_not_print_is_refused(template: str, said: str) -> None:
    """One line, with the way out; no model is asked a part of a conversation."""
    assert refusal(template, TURNS) == f"toy: its chat template {said}; {SYSTEM_FIRST}"


# BOS


@pytest.mark.parametrize("prints", ["", "{{- bos_token -}}", "{{- '\n' + bos_token -}}"])
@pytest.mark.parametrize("adds", [False, True], ids=["tokenizer silent", "tokenizer adds"])
def test_there_is_one_bos_where_anyone_wants_one(adds: bool, prints: str) -> None:
    """Whoever provides the BOS, the row has exactly one; if nobody does, none.

    The text as it stands would have two of a tokenizer that adds one.
    """
    tokenizer = tokenizer_with(template=prints + TEMPLATE, single="<s> $A" if adds else "$A")

    slot = render(tokenizer, PROMPT, model="toy")

    assert slot.prefix.count(BOS) == int(adds or bool(prints))
    assert tokenizer(slot.prefix_text).input_ids.count(BOS) == adds + bool(prints)
    assert BOS not in slot.suffix
    own = render(tokenizer, PROMPT, model="toy", add_missing_bos=False)
    assert own.prefix.count(BOS) == int(bool(prints))  # the template's own ids, as they are


def test_no_bos_is_made_up_and_no_eos_let_in() -> None:
    """Of a tokenizer that has no BOS, and of one that closes texts with an EOS."""
    without, closes = toy_tokenizer(), tokenizer_with(single="<s> $A </s>")
    without.bos_token = None
    slot = render(closes, PROMPT, model="toy")

    assert BOS not in render(without, PROMPT, model="toy").prefix
    assert closes(PROMPT).input_ids[-1] == EOS
    assert EOS not in slot.prefix + slot.suffix


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        (DATED, f"Today: {TODAY:%d %b %Y}. "),
        ("{{- strftime_now('%Y-%m-%d') + ': ' -}}" + ANSWER, "2024-07-26: "),
    ],
)
def test_a_printed_date_is_pinned(template: str, printed: str) -> None:
    """Today's, asked for in either way (Llama-3.2; Mistral Small, SmolLM3, gpt-oss), is ours."""
    slot = render(toy_tokenizer(template=template), PROMPT, model="toy")

    assert (slot.prefix_text, slot.suffix_text, slot.suffix) == (printed, "", ())


# What is refused


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("", "chat_template.jinja in the checkpoint folder, or add `template: FILE.jinja`"),
        ({"rag": TEMPLATE}, "no chat template that can be used (it has those named rag)"),
        (TEMPLATE + "\ud800", "no chat template that can be used (UnicodeEncodeError: "),
        ("{{ '\\ud800' }}" + TEMPLATE, "surrogates"),
        ("{{ messages[0]['content'] }}", "prints the assistant's answer 0 times"),
        (f"{{{{ {GIVEN} | upper }}}}", "prints the assistant's answer 0 times"),
        (f"{{{{ {GIVEN} + {GIVEN} }}}}", "prints the assistant's answer 2 times"),
        (TEMPLATE + TEMPLATE, "prints the assistant's answer 2 times"),
        ("{{ raise_exception('one turn,\\nplease') }}", "a user and an assistant turn: one turn,"),
        ("{{ messages[2]['content'] }}", "turn: list object has no element 2"),
        ("{% if %}", "turn: Expected an expression, got 'end of statement block'"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "maximum recursion depth exceeded"),
        ("{{ (7**(10**7)) | string }}", "it does not come to an end within 3 s of computing"),
    ],
)
def test_a_template_without_a_slot_is_refused(template: Any, said: str) -> None:
    """In one line that says what it does; what is endless is ended, also within one step of C."""
    text = refusal(template)

    assert text.startswith("toy: its ")
    assert said in text


BEFORE, AFTER = "{{- 'answer: ' -}}", "{{- eos_token -}}"


@pytest.mark.parametrize(
    "template",
    [
        f"{{{{- 'Be brief. ' if {GIVEN} | length > 5 -}}}}" + BEFORE + ANSWER + AFTER,
        BEFORE + ANSWER + f"{{{{- '!' if {GIVEN} | length < 3 -}}}}",
        f"{{{{- 'Words. ' if ' ' in {GIVEN} -}}}}" + BEFORE + ANSWER + AFTER,
        BEFORE + ANSWER + f"{{{{- '?' if {GIVEN}[0] == 'r' -}}}}" + AFTER,
        f"{{{{- 'Loud. ' if {GIVEN}[0] | upper == {GIVEN}[0] -}}}}" + ANSWER,
        ANSWER + f"{{{{- '#' if {GIVEN}[0] in '0123456789' -}}}}" + AFTER,
        f"{{{{- 'So: ' if {GIVEN} | length < 5 -}}}}" + ANSWER + AFTER,
    ],
    ids=["length", "length, after", "words", "first letter", "capitals", "digits", "length, near"],
)
def test_a_template_that_looks_at_the_answer_is_refused(template: str) -> None:
    """It would lay out each answer in another way; what it prints differently is shown."""
    text = refusal("{{- messages[0]['content'] -}}" + template)

    assert text.startswith("toy: its chat template looks at the answer or at chance: ")
    assert "`template: FILE.jinja`" in text


@pytest.mark.parametrize(
    "chance",
    [
        "['a', 'b'] | random",
        "(['a'] * 9999 + ['b']) |\n random",
        "lipsum(1)",
        "[['a', 'b'], ['c', 'd']] | map('random') | join",
    ],
)
def test_a_template_that_draws_at_random_is_refused(chance: str) -> None:
    """Also where what it draws is the same nearly always."""
    text = refusal(f"{{{{- {chance} -}}}}" + TEMPLATE)

    assert "its chat template draws at random" in text or "at the answer or at chance" in text


def test_a_text_that_names_chance_is_no_chance() -> None:
    """Only the filter and the function are meant."""
    template = "{{- 'random | random lipsum' -}}random | random{%- set random = 1 -%}" + TEMPLATE

    assert render(toy_tokenizer(template=template), PROMPT, model="toy").prefix


def test_a_prompt_that_holds_the_stand_in_is_rendered() -> None:
    """No text of a prompt is mistaken for the hole."""
    slot = render(toy_tokenizer(), "What is an rmauditanswer?", model="toy")

    assert slot.prefix_text.endswith("<|start|>assistant\n")


# What templates do beside printing the turns

TURN = "{{- '<|start|>' + message['role'] + '\n' + message['content'] | trim + '<|end|>\n' -}}"
LOOP = "{%- for message in messages -%}" + TURN + "{%- endfor -%}"
OPENS = "{{- '<|start|>assistant\n' -}}"
THOUGHT = "{{- '<|start|>assistant\n<think>\n\n</think>\n\n' + message['content'] + '<|end|>\n' -}}"
THINKS = (
    "{%- for message in messages -%}"
    "{%- if message['role'] == 'user' -%}" + TURN + "{%- else -%}" + THOUGHT + "{%- endif -%}"
    "{%- endfor -%}"
)


def test_an_empty_think_block_is_part_of_the_prefix() -> None:
    """As in Qwen3: the answer comes after its thoughts, of which there are none."""
    tokenizer = toy_tokenizer(template=THINKS)

    slot = render(tokenizer, PROMPT, model="toy")

    assert slot.prefix_text.endswith("<|start|>assistant\n<think>\n\n</think>\n\n")
    assert tokenizer.decode(slot.prefix) == slot.prefix_text
    assert slot.suffix_text == "<|end|>\n"


@pytest.mark.parametrize(
    "printed",
    [
        "message['content'].split('</think>')[-1].lstrip('\n')",
        "message['content'].split() | join(' ')",
        "message['content'] | replace('<think>', '')",
        "message['content'] | lower",
    ],
)
def test_a_template_that_changes_texts_leaves_ids_alone(printed: str) -> None:
    """Trimmed, cut at a think tag, split and joined: the hole is where it was."""
    template = LOOP.replace("message['content'] | trim", printed)

    slot = render(toy_tokenizer(template=template), PROMPT, model="toy")

    assert slot == render(toy_tokenizer(template=LOOP), PROMPT, model="toy")


@pytest.mark.parametrize(
    "template",
    [
        LOOP + OPENS,
        THINKS + OPENS,
        "{{- bos_token -}}" + LOOP + OPENS,
        THINKS + OPENS + "{{- '<think>\n\n</think>\n\n' -}}",
    ],
    ids=["as Llama-3.1's first", "after a thought", "with a BOS", "with a thought"],
)
def test_a_template_that_opens_another_turn_is_refused(template: str) -> None:
    """One that ignores add_generation_prompt=False ends with an answer that is not there."""
    text = refusal(template)

    assert "opens another turn of the assistant, '<|end|>\\n<|start|>assistant\\n'" in text
    assert "`template: FILE.jinja`" in text


ANY = "{%- for message in messages -%}{{- message['content'] "
HASHES = "{{- messages[0]['content'] + '###' + messages[1]['content'] + '###' -}}"
ONE_TURN = "{%- if messages | length > 2 -%}{{- raise_exception('one turn') -}}{%- endif -%}"


@pytest.mark.parametrize(
    "template",
    [
        LOOP,
        LOOP + "{%- if add_generation_prompt -%}" + OPENS + "{%- endif -%}",
        ANY + "+ ' [SEP] ' -}}{%- endfor -%}",
        ANY + "+ '\n\n' -}}{%- endfor -%}",
        ANY + "+ ('\n' if not loop.last else eos_token) -}}{%- endfor -%}",
        ANY + "+ ('\n' if not loop.last else eos_token + '\n') -}}{%- endfor -%}",
        ANY + "+ eos_token -}}{%- endfor -%}{{- '\n' -}}",
        HASHES.replace("###", " [SEP] "),
        ONE_TURN + HASHES,
        "{%- if messages[2] -%}{{- 'Ask once!' -}}{%- else -%}" + HASHES + "{%- endif -%}",
        "{{- 'Human: ' + messages[0]['content'] + '\n\nAssistant: ' }}" + ANSWER + "\n\nHuman: ",
    ],
)
def test_a_template_that_ends_otherwise_is_not(template: str) -> None:
    """Separators and ends of turn that look alike on both sides of the answer are innocent."""
    assert render(toy_tokenizer(template=template), PROMPT, model="toy").prefix


@pytest.mark.nightly
def test_the_templates_that_trl_carries_keep_their_slots() -> None:
    """None of them looks at the answer: those with a slot are rendered."""
    found = {}
    for path in sorted((Path(trl.__file__).parent / "chat_templates").glob("*.jinja")):
        with suppress(ModelError):
            tokenizer = toy_tokenizer(template=path.read_text())
            found[path.stem] = render(tokenizer, PROMPT, model="toy")

    assert len(found) > 50
    assert {"llama3_1", "qwen3", "gemma4", "gptoss", "deepseekv3"} <= found.keys()
