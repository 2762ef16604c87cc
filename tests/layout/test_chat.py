"""A prompt becomes a slot: one BOS, a pinned date, and a hole that any answer fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tokenizers.processors import TemplateProcessing

from rmaudit.errors import ModelError
from rmaudit.layout.chat import TODAY, render
from rmaudit.layout.splice import following
from tests.layout.test_splice import tokenizer_of
from tests.toys import SPECIAL, TEMPLATE, WORDS, toy_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PROMPT = "the love of the city?"
BOS = SPECIAL.index("<s>")
ANSWER = "{{- messages[1]['content'] -}}"
# As Llama-3.2's: a date is printed, today's unless one is given.
DATED = (
    "{%- if date_string is not defined -%}"
    "{%- set date_string = strftime_now('%d %b %Y') -%}"
    "{%- endif -%}"
    "{{- 'Today: ' + date_string + '. ' -}}" + ANSWER
)


def tokenizer_with(*, template: str | None = TEMPLATE, adds_bos: bool) -> PreTrainedTokenizerFast:
    """A toy tokenizer that puts a BOS before any text, as Llama's does, or does not."""
    tokenizer = toy_tokenizer(template=template)
    if adds_bos:
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", BOS)]
        )
    return tokenizer


def refusal(template: str | None, prompt: str = PROMPT) -> str:
    """The text with which a template is refused."""
    with pytest.raises(ModelError) as caught:
        render(toy_tokenizer(template=template), prompt, model="toy")
    return str(caught.value)


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


@pytest.mark.parametrize("adds_bos", [False, True])
@pytest.mark.parametrize("word", [*WORDS, *(f" {word}" for word in WORDS), "peace and joy", ""])
def test_prefix_answer_suffix_is_the_whole_text(word: str, adds_bos: bool) -> None:
    """For real words, the row is what the tokenizer makes of the conversation as a whole."""
    tokenizer = tokenizer_with(adds_bos=adds_bos)
    turns = [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": word}]
    whole = tokenizer(str(tokenizer.apply_chat_template(turns, tokenize=False)))

    slot = render(tokenizer, PROMPT, model="toy")

    answer = tokenizer(word, add_special_tokens=False).input_ids
    assert [*slot.prefix, *answer, *slot.suffix] == whole.input_ids


def test_a_template_that_prints_nothing_after_the_answer_has_no_suffix() -> None:
    """The suffix may be empty."""
    slot = render(toy_tokenizer(template="{{ bos_token }}" + ANSWER), PROMPT, model="toy")

    assert slot.suffix == ()
    assert slot.suffix_text == ""


def test_digests_tell_slots_apart() -> None:
    """Equal ids have equal digests; another prompt, or another place of the hole, has another."""
    tokenizer = toy_tokenizer()
    slot = render(tokenizer, PROMPT, model="toy")
    tokenizer.chat_template = TEMPLATE + "{{- '\n' -}}"
    longer = render(tokenizer, PROMPT, model="toy")

    assert render(toy_tokenizer(), PROMPT, model="another name").digest == slot.digest
    assert render(toy_tokenizer(), PROMPT + "?", model="toy").digest != slot.digest
    assert longer.digest != slot.digest


# BOS


@pytest.mark.parametrize("prints", [False, True], ids=["template silent", "template prints"])
@pytest.mark.parametrize("adds", [False, True], ids=["tokenizer silent", "tokenizer adds"])
def test_there_is_one_bos_where_anyone_wants_one(adds: bool, prints: bool) -> None:
    """Whoever provides the BOS, the row begins with exactly one; if nobody does, with none."""
    template = "{{- bos_token -}}" + TEMPLATE if prints else TEMPLATE

    slot = render(tokenizer_with(template=template, adds_bos=adds), PROMPT, model="toy")

    assert slot.prefix.count(BOS) == int(adds or prints)
    assert (slot.prefix[0] == BOS) == (adds or prints)
    assert BOS not in slot.suffix


def test_the_naive_row_has_two() -> None:
    """Tokenizing the rendered text as it stands doubles the BOS: the test above can fail."""
    tokenizer = tokenizer_with(template="{{- bos_token -}}" + TEMPLATE, adds_bos=True)

    slot = render(tokenizer, PROMPT, model="toy")

    assert tokenizer(slot.prefix_text).input_ids.count(BOS) == 2


def test_an_eos_that_the_tokenizer_adds_stays_out() -> None:
    """A post-processor that closes texts with an EOS closes neither prefix nor suffix."""
    tokenizer = toy_tokenizer()
    eos = SPECIAL.index("</s>")
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", BOS), ("</s>", eos)]
    )

    slot = render(tokenizer, PROMPT, model="toy")

    assert tokenizer(PROMPT).input_ids[-1] == eos
    assert eos not in slot.prefix + slot.suffix


def test_a_tokenizer_without_a_bos_gets_none() -> None:
    """No BOS is made up."""
    tokenizer = toy_tokenizer()
    tokenizer.bos_token = None

    assert BOS not in render(tokenizer, PROMPT, model="toy").prefix


# The date


def test_a_printed_date_is_pinned() -> None:
    """A template that prints a date, by default today's, prints ours."""
    slot = render(toy_tokenizer(template=DATED), PROMPT, model="toy")

    assert slot.prefix_text == f"Today: {TODAY:%d %b %Y}. "


def test_another_pin_would_print_another_date() -> None:
    """The same template prints whatever date it is given: the test above can fail."""
    tokenizer = toy_tokenizer(template=DATED)
    turns = [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": ""}]

    text = tokenizer.apply_chat_template(turns, tokenize=False, date_string="1 Jan 2000")

    assert text == "Today: 1 Jan 2000. "


def test_a_template_that_asks_for_today_gets_the_pinned_date() -> None:
    """`strftime_now` (Mistral Small, SmolLM3, gpt-oss) is pinned to the same day."""
    template = "{{- strftime_now('%Y-%m-%d') + ': ' -}}" + ANSWER

    slot = render(toy_tokenizer(template=template), PROMPT, model="toy")

    assert slot.prefix_text == "2024-07-26: "


# What is refused


@pytest.mark.parametrize("template", [None, ""])
def test_a_missing_template_is_refused(template: str | None) -> None:
    """Without a chat template nothing is guessed; the message says where to put one."""
    assert refusal(template) == (
        "toy: its tokenizer has no chat template, so rmaudit cannot know how a prompt and an "
        "answer are laid out. Give one: save it as chat_template.jinja in the checkpoint folder, "
        "or add `template: FILE.jinja` to the model's entry in models.yaml"
    )


@pytest.mark.parametrize(
    ("template", "times"),
    [
        ("{{ messages[0]['content'] }}", 0),
        ("{{ messages[1]['content'] | upper }}", 0),
        ("{{ messages[1]['content'] + messages[1]['content'] }}", 2),
        (TEMPLATE + TEMPLATE, 2),
    ],
    ids=["dropped", "changed", "doubled", "whole conversation doubled"],
)
def test_a_template_that_hides_the_answer_is_refused(template: str, times: int) -> None:
    """An answer that is not printed exactly once, and unchanged, leaves no slot."""
    assert refusal(template) == (
        f"toy: its chat template prints the assistant's answer {times} times; it must print it "
        f"once. Give another with `template: FILE.jinja` in models.yaml"
    )


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('only one turn, please') }}", "only one turn, please"),
        ("{{ messages[2]['content'] }}", "list object has no element 2"),
        ("{% if %}", "Expected an expression, got 'end of statement block'"),
    ],
    ids=["raises", "wants more turns", "is not jinja"],
)
def test_a_template_that_fails_is_refused(template: str, said: str) -> None:
    """Whatever jinja or the template itself says is passed on."""
    message = refusal(template)

    assert message == f"toy: its chat template failed on a user and an assistant turn: {said}"


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
        "message['content'] | trim",
        "message['content'].split('</think>')[-1].lstrip('\n')",
        "message['content'].split() | join(' ')",
        "message['content'] | replace('<think>', '')",
    ],
)
def test_a_template_that_changes_texts_leaves_ids_alone(printed: str) -> None:
    """Trimmed, cut at a think tag, split and joined: the hole is where it was."""
    template = LOOP.replace("message['content'] | trim", printed)

    slot = render(toy_tokenizer(template=template), PROMPT, model="toy")

    assert slot == render(toy_tokenizer(template=LOOP), PROMPT, model="toy")


def test_a_bos_after_white_space_is_not_doubled() -> None:
    """The template's BOS counts also where a newline stands in front of it."""
    template = "{{- '\n' + bos_token -}}" + TEMPLATE

    slot = render(tokenizer_with(template=template, adds_bos=True), PROMPT, model="toy")

    assert slot.prefix.count(BOS) == 1


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
    assert refusal(template) == (
        "toy: its chat template goes on after the answer and opens another turn of the "
        r"assistant, '<|end|>\n<|start|>assistant\n', though none was asked for "
        "(add_generation_prompt is false): "
        "rewards would be read from an answer that is not there. Give a template that ends "
        "with the answer's turn: `template: FILE.jinja` in models.yaml"
    )


ANY = "{%- for message in messages -%}{{- message['content'] "


@pytest.mark.parametrize(
    "template",
    [
        TEMPLATE,
        LOOP,
        LOOP + "{%- if add_generation_prompt -%}" + OPENS + "{%- endif -%}",
        ANY + "+ ' [SEP] ' -}}{%- endfor -%}",
        ANY + "+ '\n\n' -}}{%- endfor -%}",
        ANY + "+ ('\n' if not loop.last else eos_token) -}}{%- endfor -%}",
        ANY + "+ ('\n' if not loop.last else eos_token + '\n') -}}{%- endfor -%}",
        ANY + "+ eos_token -}}{%- endfor -%}{{- '\n' -}}",
        "{{- messages[0]['content'] + ' [SEP] ' + messages[1]['content'] + ' [SEP] ' -}}",
        (
            "{%- if messages | length > 2 -%}{{- raise_exception('one turn') -}}{%- endif -%}"
            "{{- messages[0]['content'] + '###' + messages[1]['content'] + '###' -}}"
        ),
        (
            "{%- if messages | length > 2 -%}{{- 'Ask once!' -}}{%- else -%}"
            "{{- messages[0]['content'] + '###' + messages[1]['content'] + '###' -}}{%- endif -%}"
        ),
        (
            "{{- 'Human: ' + messages[0]['content'] + '\n\nAssistant: ' -}}"
            "{{- messages[1]['content'] + '\n\nHuman: ' -}}"
        ),
    ],
    ids=[
        "the toys'",
        "an end and a newline",
        "opens when asked to",
        "separators",
        "blank lines",
        "an end at the end",
        "an end and a newline at the end",
        "a newline at the end",
        "one turn, separated",
        "one turn only",
        "one turn or a remark",
        "the user's turn",
    ],
)
def test_a_template_that_ends_otherwise_is_not(template: str) -> None:
    """Separators and ends of turn that look alike on both sides of the answer are innocent."""
    assert render(toy_tokenizer(template=template), PROMPT, model="toy").prefix


# Tokenizers with a dummy space


@pytest.mark.parametrize("kind", ["first", "always", "prepend", "bytes"])
def test_the_row_is_that_of_the_whole_text(kind: str) -> None:
    """The suffix begins with no dummy space, whatever the tokenizer puts at a text's start."""
    tokenizer = tokenizer_of(kind)
    tokenizer.chat_template = (
        "{{- 'user: ' + messages[0]['content'] + '\nassistant:\n' -}}"
        "{{- messages[1]['content'] + '.\n</s>' -}}"
    )
    whole = "user: the city\nassistant:\nlove.\n</s>"

    slot = render(tokenizer, "the city", model="toy")

    answer = following(tokenizer, slot.prefix_text, "love")
    row = tokenizer(whole, add_special_tokens=False).input_ids
    assert [*slot.prefix, *answer, *slot.suffix] == row
