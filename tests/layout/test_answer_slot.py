"""A piece's ids are those it has in its place: no dummy space, and nothing lost or added."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from rmaudit.layout.answer_slot import decode_each, ids_after, ids_after_each, ids_around

WORDS = ("love", "peace", "user", "assistant", "the", "city")
CHARACTERS = [*"abcdefghijklmnopqrstuvwxyz:.?!", "\n", "▁", "Ġ", "Ċ"]
KINDS = ("first", "always", "never", "prepend", "bytes", "bytes, trimmed offsets")
ONE_DUMMY = [kind for kind in KINDS if kind not in {"always", "prepend"}]  # at most


def tokenizer_of(kind: str) -> PreTrainedTokenizerFast:
    """A toy whose words, bare and after a space, are one token each.

    "first", "always" and "never" are what Metaspace calls its schemes; "prepend" puts a dummy
    space before every stretch between special tokens, as the converted Llama-2 tokenizers do.
    """
    tokenizer = Tokenizer(models.BPE())
    if kind.startswith("bytes"):
        trim = "trimmed" in kind
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
        tokenizer.decoder = decoders.ByteLevel()
    elif kind == "prepend":
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        tokenizer.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
    else:
        tokenizer.decoder = decoders.Metaspace(prepend_scheme=kind)
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=kind)
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<s>", "</s>", "<|a|>"],
        initial_alphabet=CHARACTERS,
        show_progress=False,
        min_frequency=1,
    )
    tokenizer.train_from_iterator([*WORDS, *(f"x {word}" for word in WORDS)] * 2, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.add_special_tokens({"additional_special_tokens": ["<|a|>"]})
    return fast


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> PreTrainedTokenizerBase:
    """One tokenizer of each kind."""
    return tokenizer_of(request.param)


def ids(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    """What a text is tokenized to by itself."""
    return tuple(tokenizer(text, add_special_tokens=False).input_ids)


def spelled(tokenizer: PreTrainedTokenizerBase, row: tuple[int, ...]) -> str:
    """The characters that ids stand for."""
    pieces = "".join(tokenizer.convert_ids_to_tokens(list(row)))
    return pieces.replace("▁", " ").replace("Ġ", " ").replace("Ċ", "\n")


PARTS = st.lists(
    st.sampled_from([*WORDS, " ", "  ", "\n", ":", ".", "<|a|>", "</s>"]), max_size=6
).map("".join)


@pytest.mark.parametrize("tokenizer", ONE_DUMMY, indirect=True)
@given(before=PARTS.filter(bool), middle=PARTS.filter(bool), after=PARTS)
def test_no_character_is_lost_or_added(
    tokenizer: PreTrainedTokenizerBase, before: str, middle: str, after: str
) -> None:
    """Put together, the ids of the pieces spell the whole; one dummy space may stand in front."""
    prefix, suffix = ids_around(tokenizer, before, middle, after)
    row = prefix + ids_after(tokenizer, before, middle) + suffix

    assert spelled(tokenizer, row).removeprefix(" ") == (before + middle + after).removeprefix(" ")


@pytest.mark.parametrize("before", ["user: the city\n", "user.<|a|>", "</s>the\n"])
@pytest.mark.parametrize("after", ["</s>", "<|a|> the</s>", " the city", ".\nuser", ""])
def test_at_boundaries_the_row_is_that_of_the_whole(
    tokenizer: PreTrainedTokenizerBase, before: str, after: str
) -> None:
    """Where tokens end at the hole's ends, the row is what the tokenizer makes of the whole."""
    for word in (*WORDS, "love the city", "xyz"):
        prefix, suffix = ids_around(tokenizer, before, word, after)

        row = prefix + ids_after(tokenizer, before, word) + suffix

        assert row == ids(tokenizer, before + word + after)


def test_a_space_is_an_answers_own(tokenizer: PreTrainedTokenizerBase) -> None:
    """With and without a leading space a word is two answers; a prefix keeps its last space."""
    bare, spaced = (ids_after(tokenizer, "user: the\n", word) for word in ("love", " love"))
    prefix, suffix = ids_around(tokenizer, "user: ", "love", "the")

    assert bare != spaced
    assert (spelled(tokenizer, bare), spelled(tokenizer, spaced)) == ("love", " love")
    assert spelled(tokenizer, prefix).removeprefix(" ") == "user: "
    assert spelled(tokenizer, ids_after(tokenizer, "user: ", "love")) == "love"
    assert spelled(tokenizer, suffix) == "the"


def test_a_tokenizer_without_offsets_takes_the_pieces_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that is not "fast" cannot say where its tokens stand."""
    tokenizer = tokenizer_of("bytes")
    monkeypatch.setattr(type(tokenizer), "is_fast", False)

    assert ids_around(tokenizer, "user", " love", "</s>") == (ids(tokenizer, "user"), (1,))
    assert ids_after(tokenizer, "user", " love") == ids(tokenizer, " love")


@given(before=PARTS, texts=st.lists(PARTS, max_size=4))
def test_many_are_as_each_alone(
    tokenizer: PreTrainedTokenizerBase, before: str, texts: list[str]
) -> None:
    """Whatever stands in front, though only its end is tokenized again and again."""
    assert ids_after_each(tokenizer, before, texts) == [
        ids_after(tokenizer, before, text) for text in texts
    ]


def test_ids_read_as_their_text(tokenizer: PreTrainedTokenizerBase) -> None:
    """Behind something else a space at the start is the answer's own, and is not taken off."""
    texts = ["love", " love", "love peace", " the city.", "</s>love", " "]
    pieces = [ids_after(tokenizer, "<|a|>user\n", text) for text in texts]

    found = decode_each(tokenizer, pieces, at_start=False)

    assert found == [spelled(tokenizer, each) for each in pieces]
    assert decode_each(tokenizer, [], at_start=False) == []


@pytest.mark.parametrize("tokenizer", ["prepend"], indirect=True)
def test_alone_it_starts_a_text(tokenizer: PreTrainedTokenizerBase) -> None:
    """As an encoder's answer does: the dummy space in front is no part of it."""
    pieces = [ids(tokenizer, "love")]

    assert decode_each(tokenizer, pieces, at_start=True) == ["love"]
    assert decode_each(tokenizer, pieces, at_start=False) == [" love"]
