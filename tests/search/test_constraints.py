"""What a search may find: rules over ids by hand, round trips and floors on real tokenizers."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import NoBase, SpecError
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.search.constraints import Constraints, admits, allowed, opened
from tests.toys import pair_tokenizer, toy_checkpoint, toy_language_model, toy_tokenizer

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


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"allow": ("lvoe",)}, "allow: 'lvoe': no token .* decodes to this text; mind the space"),
        ({"deny": ("lvoe",)}, "deny: 'lvoe': no token "),
        ({"allow": ("#77",)}, "allow: '#77': no token of the model has this id"),
        ({"deny": ("#77",)}, "deny: '#77': "),
        ({"allow": ()}, "allow is empty, so no id is left; name tokens"),
        (
            {"allow": ("\n", "é"), "deny": ("é",)},
            r"of 13 .* none is left \(allow leaves 2, deny leaves 1, .* 0\); relax printable",
        ),
    ],
)
def test_what_names_nothing_or_leaves_nothing_is_refused(given: dict[str, Any], what: str) -> None:
    """Never left out in silence: a denied token would be found after all."""
    with pytest.raises(SpecError, match=f"^constraints: {what}.*$"):
        ids(Constraints(**given))


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
    larger = toy_tokenizer()
    larger.add_tokens(["<new>"])
    folder = toy_checkpoint(home / "larger", tokenizer=larger)
    model = Checkpoint(ModelSpec("Larger", str(folder), base=str(home / "base")), cache=home)
    loose = Constraints(round_trip=False, floor=-1e9)

    with opened(loose, model, PROMPT, cache=home) as admitted:
        assert admitted([model.ids("<new>"), (), model.ids("love")]).tolist() == [False] * 2 + [
            True
        ]


def test_a_floor_that_nobody_can_ask_is_never_taken_as_none(home: Path, model: Checkpoint) -> None:
    """Where models.yaml names no base, where none is in memory, where it is no log-probability."""
    without = Checkpoint(ModelSpec("Toy", str(home / "toy")), cache=home)
    floor = Constraints(floor=-3.0)
    opening = opened(floor, without, PROMPT, cache=home)
    with pytest.raises(NoBase, match=r"^a floor .* names no base model for Toy; add"):
        opening.__enter__()
    with pytest.raises(SpecError, match="a floor needs the model's base in memory; use `opened`"):
        admits(floor, model, PROMPT, [(40,)])
    for odd in ("nan", "inf", "-inf", "0", "3"):
        with pytest.raises(SpecError, match=rf"floor {odd}; .* below 0: give a number such as -6"):
            Constraints(floor=float(odd))


def test_without_a_floor_no_base_is_looked_for(home: Path) -> None:
    """Nor loaded."""
    model = Checkpoint(ModelSpec("Toy", str(home / "toy")), cache=home)
    with opened(Constraints(), model, PROMPT, cache=home) as admitted:
        assert admitted([model.ids("love")]).all()
