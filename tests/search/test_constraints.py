"""What a search may find: rules over ids by hand, round trips and floors on real tokenizers."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import NoBase, SpecError
from rmaudit.layout.slot import Vocabulary
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.search.constraints import Constraints, admits, allowed, opened
from tests.toys import pair_tokenizer, toy_checkpoint, toy_language_model

PROMPT = "What is love?"
TEXTS = (
    "</s>",
    "love",
    " love",
    "\n",
    " ",
    "",
    "a1",
    "\ufffd",
    "é",
    "\u00a0",
    "  two",
    "\u200b",
    "x",
)
SMALL = Vocabulary(tuple(range(13)), TEXTS, TEXTS)
LOOSE = Constraints(printable=False, special=True, round_trip=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model and a base with one tokenizer."""
    home = tmp_path_factory.mktemp("models")
    toy_checkpoint(home / "toy")
    toy_language_model(home / "base")
    return home


@pytest.fixture(scope="module")
def model(home: Path) -> Checkpoint:
    """The reward model, which names its base."""
    return Checkpoint(ModelSpec("Toy", str(home / "toy"), base=str(home / "base")), cache=home)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """An encoder, whose tokenizer marks the starts of words."""
    home = tmp_path_factory.mktemp("encoder")
    folder = toy_checkpoint(home / "toy", kind="deberta-v2", tokenizer=pair_tokenizer())
    return Checkpoint(ModelSpec("Pair", str(folder)), cache=home)


def ids(constraints: Constraints, special: set[int] = frozenset({0})) -> list[int]:  # type: ignore[assignment]
    """What is allowed of the small vocabulary."""
    return allowed(constraints, SMALL, special).tolist()


def refusal(constraints: Constraints) -> str:
    """The text of the error."""
    with pytest.raises(SpecError) as caught:
        ids(constraints)
    text = str(caught.value)
    assert "\n" not in text
    return text


# Which ids


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        (LOOSE, list(range(13))),
        (Constraints(), [1, 2, 6, 8, 10, 12]),
        (Constraints(special=True), [0, 1, 2, 6, 8, 10, 12]),
        (Constraints(ascii=True), [1, 2, 6, 10, 12]),
        (Constraints(words=True), [1, 2, 8, 12]),
        (Constraints(allow=("love", "#12", "\n")), [1, 12]),
        (Constraints(deny=("love", "#12")), [2, 6, 8, 10]),
        (Constraints(allow=("love", "x"), deny=("love",)), [12]),
        (Constraints(printable=False, words=True), [1, 2, 8, 12]),
    ],
)
def test_rules_by_hand(constraints: Constraints, expected: list[int]) -> None:
    """A newline, a lone space, half a character and what has no width cannot be seen."""
    assert ids(constraints) == expected


def test_a_text_means_every_id_that_decodes_to_it() -> None:
    """Of an allow and of a deny list."""
    twice = Vocabulary((3, 5, 9), ("a", "b", "c"), ("same", "same", "other"))

    assert allowed(Constraints(allow=("same",)), twice, ()).tolist() == [3, 5]
    assert allowed(Constraints(deny=("same",)), twice, ()).tolist() == [9]


@pytest.mark.parametrize("name", ["allow", "deny"])
@pytest.mark.parametrize(
    ("entry", "what"), [("lvoe", "decodes to this text"), ("#77", "has this id")]
)
def test_an_unknown_entry(name: str, entry: str, what: str) -> None:
    """Never left out in silence: a denied token would be found after all."""
    assert refusal(Constraints(**{name: (entry,)})) == (  # type: ignore[arg-type]
        f"constraints: {name}: {entry!r}: no token of the model {what}; mind the space in front "
        f'of words, or give the id ("#123")'
    )


def test_nothing_is_left() -> None:
    """It says which rule took the last."""
    assert refusal(Constraints(allow=("\n", "é"), deny=("é",))) == (
        "constraints: of 13 token ids none is left (allow leaves 2, deny leaves 1, special=False "
        "leaves 1, printable leaves 0); relax printable"
    )


def test_an_empty_allow_list() -> None:
    """Is no list."""
    assert refusal(Constraints(allow=())) == (
        "constraints: allow is empty, so no id is left; name tokens by their text or id "
        '("#123"), or leave allow out'
    )


def test_real_vocabularies(model: Checkpoint, encoder: Checkpoint) -> None:
    """Nothing special, broken or invisible is left of them, and all words are."""
    for each in (model, encoder):
        vocabulary = each.vocabulary()
        text_of = dict(zip(vocabulary.ids, vocabulary.texts, strict=True))
        kept = allowed(Constraints(), vocabulary, each.special_ids).tolist()
        left = [text_of[i] for i in kept]

        assert not each.special_ids & set(kept)
        assert {"love", "peace"} <= {text.strip() for text in left}
        assert not [t for t in left if "\ufffd" in t or any(map(_control, t)) or not t.strip()]
        assert not {"<added>", "[MASK]", "<|end|>"} & set(left)


def _control(character: str) -> bool:
    return unicodedata.category(character)[0] == "C"


@given(
    flags=st.fixed_dictionaries(
        {name: st.booleans() for name in ("printable", "ascii", "special", "words")}
    ),
    deny=st.lists(st.sampled_from([f"#{i}" for i in SMALL.ids]), max_size=4),
)
def test_stricter_is_smaller(flags: dict[str, bool], deny: list[str]) -> None:
    """Rules hold all at once: adding one never adds an id, and nothing denied is left."""
    for name in flags:
        loose = flags | {name: name == "special"}
        strict = flags | {name: name != "special"}
        few = set(_or_none(Constraints(**strict, deny=tuple(deny))))

        assert few <= set(_or_none(Constraints(**loose, deny=tuple(deny))))
        assert not few & {int(entry[1:]) for entry in deny}


def _or_none(constraints: Constraints) -> list[int]:
    try:
        return ids(constraints)
    except SpecError:
        return []


# Which answers


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text("lovepacT ▁the.é\n", max_size=12))
@pytest.mark.parametrize("kind", ["model", "encoder"])
def test_what_a_tokenizer_makes_of_a_text_is_admitted(
    kind: str, text: str, request: pytest.FixtureRequest
) -> None:
    """The ids of any text, where that text comes back: they are the ids of what they read."""
    model: Checkpoint = request.getfixturevalue(kind)
    made = model.ids(text)
    if model.texts([made]) == [text]:
        assert admits(Constraints(), model, PROMPT, [made]).all()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.parametrize("kind", ["model", "encoder"])
def test_an_admitted_answer_can_be_sent_as_text(
    kind: str, data: st.DataObject, request: pytest.FixtureRequest
) -> None:
    """For any ids: the answer's text, one by one and not as a batch, has the same ids."""
    model: Checkpoint = request.getfixturevalue(kind)
    one = st.lists(st.sampled_from(model.vocabulary().ids), max_size=5).map(tuple)
    answers = data.draw(st.lists(one, max_size=8))

    found = admits(Constraints(), model, PROMPT, answers)

    assert found.shape == (len(answers),)
    for answer, fits in zip(answers, found.tolist(), strict=True):
        (text,) = model.texts([answer])
        assert fits == (model.ids(text) == answer)


def test_ids_that_no_text_has_are_not_admitted(model: Checkpoint) -> None:
    """The letters of a word that is a token; half a character. Without the rule they are."""
    love = model.ids("love")
    letters = tuple(model.ids(letter)[0] for letter in "love")
    half = model.ids("é")[:1]
    assert (len(love), len(letters), len(half)) == (1, 4, 1)

    answers = [love, letters, half]

    assert admits(Constraints(), model, PROMPT, answers).tolist() == [True, False, False]
    assert admits(Constraints(round_trip=False), model, PROMPT, answers).all()


def test_a_space_in_front_is_of_the_answer(model: Checkpoint) -> None:
    """Where answers stand, a word with a space in front reads with it."""
    spaced, bare = model.ids(" love"), model.ids("love")

    assert spaced != bare
    assert model.texts([spaced, bare]) == [" love", "love"]
    assert admits(Constraints(), model, PROMPT, [spaced, bare]).all()


def test_many_texts_are_tokenized_as_each_alone(model: Checkpoint, encoder: Checkpoint) -> None:
    """Whatever stands in the same batch, and none gives none."""
    texts = ["love", " love", "", "\n\n x", "<|end|>", "peace\nof é", " "]
    for each in (model, encoder):
        assert each.tokenized(texts) == [each.ids(text) for text in texts]
        assert each.tokenized([]) == each.texts([]) == []


# The floor


def reference(home: Path, prefix: tuple[int, ...], answer: tuple[int, ...]) -> float:
    """The mean log-probability by the base's own logits, in float64, one id after another."""
    base = AutoModelForCausalLM.from_pretrained(home / "base").eval()
    row, total = list(prefix), 0.0
    for i in answer:
        with torch.inference_mode():
            logits = base(torch.tensor([row])).logits[0, -1].double()
        total += float(logits.log_softmax(-1)[i])
        row.append(i)
    return total / len(answer)


def test_the_floor_parts_answers_by_what_the_base_finds_likely(
    home: Path, model: Checkpoint
) -> None:
    """Answers of several lengths, each against the base's own forward."""
    answers = [model.ids(text) for text in ("love", "love peace", "war of the", "e", " hate")]
    prefix = model.slot(PROMPT).prefix
    expected = np.array([reference(home, prefix, answer) for answer in answers])
    floor = float(np.median(expected))

    with opened(Constraints(floor=floor - 1e-4), model, PROMPT, cache=home) as admitted:
        assert admitted(answers).tolist() == (expected >= floor).tolist()
        assert admitted([]).shape == (0,)
    with opened(Constraints(floor=-1e9), model, PROMPT, cache=home) as admitted:
        assert admitted(answers).all()


def test_an_answer_that_the_base_cannot_read_is_below_any_floor(home: Path) -> None:
    """Of a token that the reward model added, and of no token."""
    from tests.toys import toy_tokenizer

    larger = toy_tokenizer()
    larger.add_tokens(["<new>"])
    folder = toy_checkpoint(home / "larger", tokenizer=larger)
    model = Checkpoint(ModelSpec("Larger", str(folder), base=str(home / "base")), cache=home)
    loose = Constraints(round_trip=False, floor=-1e9)

    with opened(loose, model, PROMPT, cache=home) as admitted:
        assert admitted([model.ids("<new>"), (), model.ids("love")]).tolist() == [False] * 2 + [
            True
        ]


def test_a_floor_without_a_base(home: Path) -> None:
    """The way out is in models.yaml."""
    model = Checkpoint(ModelSpec("Toy", str(home / "toy")), cache=home)
    with (
        pytest.raises(
            NoBase, match=r"models\.yaml gives no base: for Toy; name the language model"
        ),
        opened(Constraints(floor=-3.0), model, PROMPT, cache=home),
    ):
        pass


def test_a_floor_that_nobody_can_ask(model: Checkpoint) -> None:
    """Never taken as no floor."""
    with pytest.raises(SpecError) as caught:
        admits(Constraints(floor=-3.0), model, PROMPT, [(40,)])
    assert str(caught.value) == (
        "constraints: a floor needs the model's base in memory; use `opened`, or leave floor out"
    )


@pytest.mark.parametrize("floor", ["nan", "inf", "-inf", "0", "3"])
def test_a_floor_that_is_no_log_probability(floor: str) -> None:
    """NaN would refuse everything after the budget is spent, and minus infinity nothing."""
    with pytest.raises(SpecError) as caught:
        Constraints(floor=float(floor))
    assert str(caught.value) == (
        f"constraints: floor {floor}; a mean log-probability is below 0: give a number such as -6, "
        f"or leave floor out"
    )


def test_without_a_floor_no_base_is_looked_for(home: Path) -> None:
    """Nor loaded."""
    model = Checkpoint(ModelSpec("Toy", str(home / "toy")), cache=home)
    with opened(Constraints(), model, PROMPT, cache=home) as admitted:
        assert admitted([model.ids("love")]).all()
