"""A base language model gives a log-probability for each token that it shares, and no other."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM

from rmaudit.checkpoints import bundled_model
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError, NoBase
from rmaudit.models import language_model_logprobs
from rmaudit.models.base_language_model import Base, base_of
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.language_model_logprobs import Likelihood
from tests.models.loaded import change, checkpoint, retensor
from tests.toys import TEMPLATE, toy_checkpoint, toy_language_model, toy_tokenizer

PROMPT = "What is love?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, which the tests leave as it is."""
    return toy_language_model(tmp_path_factory.mktemp("lm") / "lm")


@pytest.fixture(scope="module")
def reward(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A reward model with the same tokenizer."""
    return checkpoint(toy_checkpoint(tmp_path_factory.mktemp("rm") / "toy"))


def named(base: Path | str, tmp_path: Path, **settings: Any) -> Base:
    """The base of an entry `Toy` that names it."""
    return base_of(ModelSpec("Toy", "a/b", base=str(base), **settings), cache=tmp_path)


@pytest.fixture
def lm(folder: Path, tmp_path: Path) -> Path:
    """A copy of the language model, to be changed."""
    return shutil.copytree(folder, tmp_path / "lm")


def test_a_policy_is_another_language_model(tmp_path: Path) -> None:
    """Its errors say so; an entry that names none has none, whatever else it names."""
    spec = ModelSpec("Toy", "a/b", base="embedded", policy="/no/such/folder")

    with pytest.raises(ModelError, match=r"^the policy of Toy: no folder .*; correct `policy` in"):
        base_of(spec, "policy", cache=tmp_path)
    with pytest.raises(NoBase, match=r"names no policy model for Toy; add `policy:` to its entry"):
        base_of(ModelSpec("Toy", "a/b", base="embedded"), "policy", cache=tmp_path)
    with pytest.raises(NoBase, match=r"^models\.yaml names no base model for Toy; add `base:"):
        base_of(ModelSpec("Toy", "a/b"), cache=tmp_path)


def logprobs(base: Base, model: Checkpoint) -> NDArray[np.float32]:
    """What `base` says of the model's tokens."""
    return base.logprobs(model.slot(PROMPT).prefix, model.vocabulary())


def reference(folder: Path, prefix: tuple[int, ...]) -> NDArray[np.float64]:
    """The model's own logits of all places, and a log-softmax of our own in float64."""
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = model(torch.tensor([prefix])).logits[0, -1].double().numpy()
    return np.asarray(logits - logits.max() - np.log(np.exp(logits - logits.max()).sum()))


def refusal(base: Base, model: Checkpoint) -> str:
    """The text of the error that it gives."""
    with pytest.raises(ModelError) as caught:
        logprobs(base, model)
    return str(caught.value)


# What it gives


@pytest.mark.parametrize("kind", ["llama", "gemma2", "qwen2", "gpt2", "mixtral", "gpt_neox"])
def test_it_is_the_log_softmax_of_the_model_s_own_logits(
    kind: str, reward: Checkpoint, tmp_path: Path
) -> None:
    """For every id, special ones included, with softcapping, windows and experts."""
    folder = toy_language_model(tmp_path / "lm", kind=kind)
    prefix = reward.slot(PROMPT).prefix

    found = logprobs(named(folder, tmp_path), reward)

    np.testing.assert_allclose(found, reference(folder, prefix), atol=1e-5)
    assert found.dtype == np.float32
    assert np.exp(found.astype(float)).sum() == pytest.approx(1, abs=1e-5)
    assert found.std() > 0.1


def rewards_with(tmp_path: Path, token: str, *, template: str = TEMPLATE) -> Checkpoint:
    """A reward model whose tokenizer has one token more."""
    larger = toy_tokenizer(template=template)
    larger.add_tokens([token])
    return checkpoint(toy_checkpoint(tmp_path / "toy", tokenizer=larger))


@pytest.mark.slow
def test_a_token_that_the_reward_model_added_has_none(folder: Path, tmp_path: Path) -> None:
    """With no row in the base it is NaN; with a row, which pads the matrix, too."""
    model = rewards_with(tmp_path, "<new pad>")
    size = len(model.tokenizer)
    padded = toy_language_model(tmp_path / "lm", vocab_size=size + 7)

    for base in (folder, padded):
        found = logprobs(named(base, tmp_path), model)
        expected = reference(base, model.slot(PROMPT).prefix)[: size - 1]
        np.testing.assert_allclose(found[:-1], expected, atol=1e-5)
        assert np.isnan(found[-1])


def test_a_reserved_token_with_a_new_name_has_none(folder: Path, tmp_path: Path) -> None:
    """An added token of the base that is another one in the reward model is not compared."""
    renamed = toy_checkpoint(tmp_path / "toy")
    path = renamed / "tokenizer.json"
    path.write_text(path.read_text().replace("<added>", "<other>"))
    model = checkpoint(renamed)

    found = logprobs(named(folder, tmp_path), model)

    (place,) = np.flatnonzero(np.isnan(found))
    assert model.vocabulary().pieces[place] == "<other>"


def test_bfloat16_is_the_entry_s(folder: Path, reward: Checkpoint, tmp_path: Path) -> None:
    """The entry's dtype comes before its own; the softmax is in float32 all the same."""
    base, plain = named(folder, tmp_path, dtype="bfloat16"), named(folder, tmp_path)

    found = logprobs(base, reward)

    assert (base.identity["dtype"], plain.identity["dtype"]) == ("bfloat16", "float32")
    assert np.abs(found - reference(folder, reward.slot(PROMPT).prefix)).max() > 1e-4
    assert np.exp(found.astype(float)).sum() == pytest.approx(1, abs=1e-5)


def test_the_embedded_base_is_built(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`base: embedded` is what R-Smol-135M is made from."""
    monkeypatch.setattr(bundled_model, "build_base", lambda _: folder)

    assert named("embedded", tmp_path).folder == folder


# What is refused


def test_a_hub_id_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pinned revision is asked for; the way out is a folder in models.yaml."""
    asked: list[tuple[str, str]] = []

    def refuse(source: str, *, revision: str, **_: object) -> None:
        asked.append((source, revision))
        raise OSError("no route")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)

    said = r"^the base of Toy: c/d is no folder here.* give a folder: base: FOLDER in models\.yaml$"
    with pytest.raises(ModelError, match=said):
        named(f"c/d@{'0' * 40}", tmp_path)
    assert asked == [("c/d", "0" * 40)]


def test_a_larger_tokenizer(folder: Path, tmp_path: Path) -> None:
    """Ordinary tokens that the reward model lacks make it another tokenizer too."""
    fewer = toy_checkpoint(tmp_path / "toy")
    path = fewer / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["merges"].pop()
    longest, number = max(content["model"]["vocab"].items(), key=lambda entry: entry[1])
    del content["model"]["vocab"][longest]
    path.write_text(json.dumps(content))

    text = refusal(named(folder, tmp_path), checkpoint(fewer))

    assert (
        f"1 ids, added tokens not counted, are other tokens there; the first is {number}, " in text
    )
    assert text.endswith("<added>' there; correct `base` in models.yaml")


def pickled(folder: Path) -> None:
    """Weights of another format."""
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")


def configured(**said: Any) -> Callable[[Path], object]:
    """Say something else in config.json."""
    return lambda folder: change(folder / "config.json", **said)


NO_BASE: list[tuple[Callable[[Path], object], str]] = [
    (shutil.rmtree, "no folder FOLDER; correct `base` in models.yaml"),
    (
        configured(model_type="bert", architectures=["BertLMHeadModel"], is_decoder=False),
        "'bert' in FOLDER/config.json reads a text in both directions, so it gives no next token",
    ),
    (
        lambda folder: (folder / "adapter_config.json").write_text("{}"),
        "adapter_config.json lies in FOLDER, so transformers would put an adapter into its",
    ),
    (
        configured(quantization_config={"quant_method": "gptq"}),
        "its weights are quantized (gptq; quantization_config in FOLDER/config.json), so its log-",
    ),
    (pickled, "no *.safetensors in FOLDER (only pytorch_model.bin); rmaudit"),
    (
        configured(dtype="float64"),
        "dtype 'float64' in FOLDER/config.json; known: float32, bfloat16, float16. Name one",
    ),
    (
        configured(num_hidden_layers=10**6),
        "num_hidden_layers in FOLDER/config.json is 1,000,000, and the weights have 21 tensors",
    ),
]


@pytest.mark.parametrize(("spoil", "expected"), NO_BASE, ids=range(len(NO_BASE)))
def test_what_is_no_base(
    lm: Path, tmp_path: Path, spoil: Callable[[Path], object], expected: str
) -> None:
    """Refused before anything is loaded, quantized or not as the reward model may be."""
    spoil(lm)

    with pytest.raises(ModelError) as caught:
        named(lm, tmp_path, quantized="quantized" in expected)

    said = str(caught.value).replace(str(lm), "FOLDER")
    assert said.startswith(f"the base of Toy: {expected}")


def test_a_reward_model_is_no_base(reward: Checkpoint, tmp_path: Path) -> None:
    """A missing head would be random; the key of models.yaml to correct is named."""
    text = refusal(named(reward.rows.folder, tmp_path), reward)

    assert text.startswith("the base of Toy: 1 missing keys in ")
    assert "first 'lm_head.weight': a causal language model would" in text
    assert "correct `base` in models.yaml" in text


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("model.safetensors", lambda lm: retensor(lm, lambda t: t["lm_head.weight"].mul_(2))),
        ("tokenizer.json", lambda lm: change(lm / "tokenizer.json")),
    ],
)
def test_files_that_changed_since_they_were_hashed(
    reward: Checkpoint, lm: Path, tmp_path: Path, name: str, spoil: Callable[[Path], object]
) -> None:
    """Log-probabilities would be stored under the old key; the tokenizer says what is shared."""
    base = named(lm, tmp_path)
    spoil(lm)

    assert f"{name} changed since" in refusal(base, reward)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_weights_that_change_after_the_load(
    reward: Checkpoint, lm: Path, tmp_path: Path, when: str
) -> None:
    """They are mapped into memory, so what the base says next is another model's."""
    base, prefix = named(lm, tmp_path), reward.slot(PROMPT).prefix

    def spoil(*_: object) -> None:
        retensor(lm, lambda tensors: [tensor.mul_(-2) for tensor in tensors.values()])

    loaded = base.loaded(reward.vocabulary())
    loaded.sums(prefix, [(40, 41)])
    if when == "before":
        spoil()
    else:
        loaded.model.register_forward_hook(spoil)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"^the base of Toy: .* changed since"):
            loaded.sums(prefix, [(40, 41)])
        with pytest.raises(ModelError, match=r"^the base of Toy: .* changed since"):
            loaded.following(prefix)


@pytest.mark.slow
def test_a_prefix_that_the_base_cannot_read(folder: Path, tmp_path: Path) -> None:
    """A chat template with the reward model's own tokens cannot be put to the base."""
    model = rewards_with(tmp_path, "<turn>", template=TEMPLATE.replace("<|start|>", "<turn>"))
    base, prefix = named(folder, tmp_path), model.slot(PROMPT).prefix

    said = refusal(base, model)
    with pytest.raises(ModelError) as caught:
        base.loaded(model.vocabulary()).sums(prefix, [(40,)])

    assert said == str(caught.value)
    number = model.tokenizer.convert_tokens_to_ids("<turn>")
    assert said.startswith(
        f"the base of Toy: what stands before the answer has the id {number} ('<turn>'), "
    )


def test_logits_that_are_not_finite(folder: Path, reward: Checkpoint, tmp_path: Path) -> None:
    """Never read as log-probabilities, neither of a token nor of an answer."""
    prefix = reward.slot(PROMPT).prefix
    loaded = named(folder, tmp_path).loaded(reward.vocabulary())
    with torch.no_grad():
        loaded.model.lm_head.weight.fill_(float("nan"))
    for ask in (lambda: loaded.following(prefix), lambda: loaded.sums(prefix, [(40,)])):
        with pytest.raises(ModelError, match=r"not finite .*weight lm_head\.weight holds NaN"):
            ask()


@pytest.mark.parametrize("when", ["loading", "running"])
def test_too_large(
    folder: Path, reward: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Two ways out are named."""

    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("full")

    if when == "loading":
        monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", full)
    else:
        monkeypatch.setattr(Likelihood, "following", full)

    said = refusal(named(folder, tmp_path), reward)

    assert said.startswith("the base of Toy: it does not fit on 'auto' together with the reward")
    assert "--rm-device spread" in said
    assert "--rm-dtype bfloat16" in said


# Whole answers

ANSWERS = [(40,), (60, 61), (62, 40), (70, 71, 72, 73), (40, 40), (280,)]


@pytest.fixture
def opened(folder: Path, reward: Checkpoint, tmp_path: Path) -> Likelihood:
    """A base, in memory."""
    return named(folder, tmp_path).loaded(reward.vocabulary())


@pytest.mark.slow
def test_sums_are_the_models_own(
    folder: Path, reward: Checkpoint, opened: Likelihood, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of answers of several lengths, in batches of any size, in their order: id after id."""
    prefix = reward.slot(PROMPT).prefix
    expected = [
        np.sum([reference(folder, (*prefix, *answer[:at]))[i] for at, i in enumerate(answer)])
        for answer in ANSWERS
    ]

    for rows in (1, 2, 256):
        monkeypatch.setattr(language_model_logprobs, "_ROWS", rows)
        found = opened.sums(prefix, ANSWERS)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert opened.sums(prefix, []).shape == (0,)
    nothing, unknown = opened.sums(prefix, [(), (40, 9999)])
    assert (nothing, np.isnan(unknown)) == (0, True)


def test_batches_are_bounded_by_their_logits(
    reward: Checkpoint, opened: Likelihood, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large vocabulary leaves room for few rows, and never for none; a prefix runs once."""
    seen: list[tuple[int, ...]] = []
    opened.model.model.embed_tokens.register_forward_hook(
        lambda _, given, __: seen.append(tuple(given[0].shape))
    )
    prefix = reward.slot(PROMPT).prefix
    opened.following(prefix)
    assert seen.pop() == (1, len(prefix))

    whole = opened.sums(prefix, ANSWERS)
    assert [rows for rows, _ in seen] == [1, 3, 1]  # the prefix first, which says all of one id

    seen.clear()
    monkeypatch.setattr(language_model_logprobs, "_BYTES", 1)
    np.testing.assert_allclose(opened.sums(prefix, ANSWERS), whole, atol=1e-6)
    assert [rows for rows, _ in seen] == [1] * 4
