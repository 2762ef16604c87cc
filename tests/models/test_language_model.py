"""A base language model gives a log-probability for each token that it shares, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from rmaudit.checkpoints import embedded
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError, NoBase
from rmaudit.models import language_model as bases
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.models.language_model import Base, base_of
from tests.toys import TEMPLATE, toy_checkpoint, toy_language_model, toy_tokenizer

PROMPT = "What is love?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, which the tests leave as it is."""
    return toy_language_model(tmp_path_factory.mktemp("lm") / "lm")


@pytest.fixture(scope="module")
def reward(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A reward model with the same tokenizer."""
    home = tmp_path_factory.mktemp("rm")
    return Checkpoint(ModelSpec("Toy", str(toy_checkpoint(home / "toy"))), cache=home)


def named(base: Path | str, tmp_path: Path, **settings: Any) -> Base:
    """The base of an entry `Toy` that names it."""
    return base_of(ModelSpec("Toy", "a/b", base=str(base), **settings), cache=tmp_path)


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


@pytest.mark.parametrize("kind", ["llama", "gemma2", "qwen2", "gpt2", "mixtral"])
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


def test_one_forward_of_one_row(
    folder: Path, reward: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prefix runs once, alone."""
    seen: list[tuple[int, ...]] = []
    load = bases._load

    def watched(*args: Any, **kwargs: Any) -> Any:
        model = load(*args, **kwargs)
        model.model.embed_tokens.register_forward_hook(
            lambda _, given, __: seen.append(tuple(given[0].shape))
        )
        return model

    monkeypatch.setattr(bases, "_load", watched)

    logprobs(named(folder, tmp_path), reward)

    assert seen == [(1, len(reward.slot(PROMPT).prefix))]


def test_a_token_that_the_reward_model_added_has_none(folder: Path, tmp_path: Path) -> None:
    """With no row in the base it is NaN; with a row, which pads the matrix, too."""
    larger = toy_tokenizer()
    larger.add_tokens(["<new pad>"])
    toy = toy_checkpoint(tmp_path / "toy", tokenizer=larger)
    model = Checkpoint(ModelSpec("Toy", str(toy)), cache=tmp_path)
    padded = toy_language_model(tmp_path / "lm", vocab_size=len(larger) + 7)

    for base in (folder, padded):
        found = logprobs(named(base, tmp_path), model)
        expected = reference(base, model.slot(PROMPT).prefix)[: len(larger) - 1]
        np.testing.assert_allclose(found[:-1], expected, atol=1e-5)
        assert np.isnan(found[-1])


def test_a_reserved_token_with_a_new_name_has_none(folder: Path, tmp_path: Path) -> None:
    """An added token of the base that is another one in the reward model is not compared."""
    renamed = tmp_path / "toy"
    toy_checkpoint(renamed)
    path = renamed / "tokenizer.json"
    path.write_text(path.read_text().replace("<added>", "<other>"))
    model = Checkpoint(ModelSpec("Toy", str(renamed)), cache=tmp_path)

    found = logprobs(named(folder, tmp_path), model)

    (place,) = np.flatnonzero(np.isnan(found))
    assert model.vocabulary().pieces[place] == "<other>"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, "float32"), ({"dtype": "bfloat16"}, "bfloat16")],
)
def test_it_runs_in_the_entry_s_dtype(
    folder: Path, reward: Checkpoint, tmp_path: Path, settings: dict[str, str], expected: str
) -> None:
    """Or else in its own; the softmax is in float32 all the same."""
    base = named(folder, tmp_path, **settings)

    found = logprobs(base, reward)

    off = np.abs(found - reference(folder, reward.slot(PROMPT).prefix)).max()
    assert base.identity["dtype"] == expected
    assert (off > 1e-4) == (expected == "bfloat16")
    assert np.exp(found.astype(float)).sum() == pytest.approx(1, abs=1e-5)


def test_the_embedded_base_is_built(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`base: embedded` is what R-Smol-135M is made from."""
    monkeypatch.setattr(embedded, "build_base", lambda _: folder)

    assert named("embedded", tmp_path).folder == folder


def test_other_weights_are_another_identity(folder: Path, tmp_path: Path) -> None:
    """Weights, tokenizer and dtype decide."""
    other = toy_language_model(tmp_path / "other", seed=2)
    mine, theirs = named(folder, tmp_path).identity, named(other, tmp_path).identity

    assert mine["base tokenizer"] == theirs["base tokenizer"]
    assert mine["base weights"] != theirs["base weights"]


# What is refused


def test_no_base(tmp_path: Path) -> None:
    """The reason names the model and the key."""
    with pytest.raises(NoBase) as caught:
        base_of(ModelSpec("Toy", "a/b"), cache=tmp_path)

    assert str(caught.value) == (
        "models.yaml gives no base: for Toy; name the language model that it was trained from "
        "there, as a hub id or a folder"
    )


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The key to correct is named."""
    with pytest.raises(ModelError) as caught:
        named(tmp_path / "none", tmp_path)

    assert str(caught.value) == (
        f"the base of Toy: no folder {tmp_path / 'none'}; correct `base` of Toy in models.yaml"
    )


def test_a_hub_id_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pinned revision is asked for; the way out is a folder in models.yaml."""
    asked: list[tuple[str, str]] = []

    def refuse(source: str, *, revision: str, **_: object) -> None:
        asked.append((source, revision))
        raise OSError("no route")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)

    with pytest.raises(ModelError) as caught:
        named("c/d", tmp_path, base_revision="0" * 40)

    assert asked == [("c/d", "0" * 40)]
    assert str(caught.value) == (
        "the base of Toy: c/d could not be had from the Hugging Face hub (OSError: no route). "
        "Check the name, your connection and your access (`hf auth login`), or give a folder: "
        "base: FOLDER in models.yaml"
    )


def test_another_tokenizer(reward: Checkpoint, tmp_path: Path) -> None:
    """The count and the first id that differs are told; nothing is loaded."""
    other = toy_tokenizer(("cat", "dog"))
    folder = toy_language_model(tmp_path / "lm", tokenizer=other)
    mine = dict(zip(reward.vocabulary().ids, reward.vocabulary().pieces, strict=True))
    theirs = {i: piece for piece, i in other.get_vocab().items()}
    # The last ids of the smaller tokenizer are its added token and, beyond, nothing of its own.
    differ = [i for i in theirs if theirs[i] != mine.get(i) and theirs[i] != "<added>"]

    text = refusal(named(folder, tmp_path), reward)

    assert text == (
        f"the base of Toy: its tokenizer is another one: {len(differ)} ids differ that are no "
        f"added tokens, first {min(differ)}, {theirs[min(differ)]!r} for the base and "
        f"{mine[min(differ)]!r} for the reward model; correct `base` in models.yaml"
    )


def test_a_larger_tokenizer(reward: Checkpoint, tmp_path: Path) -> None:
    """Ordinary tokens that the reward model lacks make it another tokenizer too."""
    larger = toy_tokenizer()
    fewer = toy_checkpoint(tmp_path / "toy")
    path = fewer / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["merges"].pop()
    longest = max(content["model"]["vocab"].items(), key=lambda entry: entry[1])[0]
    del content["model"]["vocab"][longest]
    path.write_text(json.dumps(content))
    folder = toy_language_model(tmp_path / "lm", tokenizer=larger)
    model = Checkpoint(ModelSpec("Toy", str(fewer)), cache=tmp_path)

    text = refusal(named(folder, tmp_path), model)

    assert f"1 ids differ that are no added tokens, first {larger.vocab[longest]}, " in text
    assert text.endswith("<added>' for the reward model; correct `base` in models.yaml")


def test_a_prefix_that_the_base_cannot_read(folder: Path, tmp_path: Path) -> None:
    """A chat template with the reward model's own tokens cannot be put to the base."""
    larger = toy_tokenizer(template=TEMPLATE.replace("<|start|>", "<turn>"))
    larger.add_tokens(["<turn>"])
    toy = toy_checkpoint(tmp_path / "toy", tokenizer=larger)
    model = Checkpoint(ModelSpec("Toy", str(toy)), cache=tmp_path)

    assert refusal(named(folder, tmp_path), model) == (
        f"the base of Toy: what stands before the answer has the id {len(larger) - 1} ('<turn>'), "
        f"which is another token for the base, or none; correct `base` in models.yaml"
    )


def test_a_reward_model_is_no_base(reward: Checkpoint, tmp_path: Path) -> None:
    """A missing language-model head would be random."""
    text = refusal(named(reward.folder, tmp_path), reward)

    assert text == (
        f"the base of Toy: 1 missing keys in {reward.folder}, first 'lm_head.weight': a causal "
        f"language model would fill them with random numbers. Copy the checkpoint again, "
        f"config.json and all *.safetensors; if they are as they were saved, correct `base` in "
        f"models.yaml, or it is a model that rmaudit does not know"
    )


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"model.layers.9.x.weight": (2, 2)}, "1 unexpected keys in FOLDER, first 'model.layers.9"),
        ({"model.norm.weight": (31,)}, "1 mismatched keys in FOLDER, first 'model.norm.weight': "),
    ],
    ids=["unexpected", "mismatched"],
)
def test_other_tensors_are_no_base(
    reward: Checkpoint, tmp_path: Path, odd: dict[str, tuple[int, ...]], said: str
) -> None:
    """One without a place, or of another shape."""
    lm = toy_language_model(tmp_path / "lm")
    tensors = load_file(lm / "model.safetensors")
    tensors |= {key: torch.ones(shape) for key, shape in odd.items()}
    save_file(tensors, lm / "model.safetensors", {"format": "pt"})

    text = refusal(named(lm, tmp_path), reward)

    assert text.replace(str(lm), "FOLDER").startswith(f"the base of Toy: {said}")


def test_a_model_of_both_directions_is_no_base(tmp_path: Path) -> None:
    """Transformers would make a language model of it, which sees nothing ahead and warns."""
    lm = toy_language_model(tmp_path / "lm", kind="bert", is_decoder=True)
    config = json.loads((lm / "config.json").read_text())
    (lm / "config.json").write_text(json.dumps(config | {"is_decoder": False}))

    with pytest.raises(ModelError) as caught:
        named(lm, tmp_path)

    assert str(caught.value) == (
        f"the base of Toy: 'bert' in {lm / 'config.json'} reads a text in both directions, so it "
        f"gives no next token; correct `base` of Toy in models.yaml"
    )


def test_an_adapter_is_no_base(tmp_path: Path) -> None:
    """Transformers would merge it unasked, and then name no weights that are missing."""
    folder = toy_language_model(tmp_path / "lm")
    (folder / "adapter_config.json").write_text("{}")

    with pytest.raises(ModelError) as caught:
        named(folder, tmp_path)

    assert str(caught.value) == (
        f"the base of Toy: adapter_config.json lies in {folder}, so transformers would put an "
        f"adapter into its weights; rmaudit merges adapters into plain reward models only. Remove "
        f"it from there, or merge it where it was trained and give the folder of the merged model"
    )


def test_a_quantized_base(tmp_path: Path) -> None:
    """Even where the reward model's own quantized weights are asked for."""
    folder = toy_language_model(tmp_path / "lm")
    path = folder / "config.json"
    given = json.loads(path.read_text()) | {"quantization_config": {"quant_method": "gptq"}}
    path.write_text(json.dumps(given))

    with pytest.raises(ModelError) as caught:
        named(folder, tmp_path, quantized=True)

    assert str(caught.value) == (
        f"the base of Toy: its weights are quantized (gptq; quantization_config in {path}), so its "
        f"log-probabilities are not those of the model that Toy was trained from. Name the base "
        f"from before it was quantized as `base` of Toy in models.yaml"
    )


def test_pickles_are_not_read(tmp_path: Path) -> None:
    """A folder with weights of another format is refused."""
    lm = toy_language_model(tmp_path / "lm")
    (lm / "model.safetensors").unlink()
    torch.save({}, lm / "pytorch_model.bin")

    with pytest.raises(ModelError, match=r"^the base of Toy: no \*\.safetensors in "):
        named(lm, tmp_path)


def test_a_dtype_that_is_not_known(reward: Checkpoint, tmp_path: Path) -> None:
    """Where it was found, and where another is named."""
    lm = toy_language_model(tmp_path / "lm")
    config = json.loads((lm / "config.json").read_text())
    (lm / "config.json").write_text(json.dumps(config | {"dtype": "float64"}))

    with pytest.raises(ModelError) as caught:
        named(lm, tmp_path)

    assert str(caught.value) == (
        f"the base of Toy: dtype 'float64' in {lm / 'config.json'}; known: float32, bfloat16, "
        f"float16. Name one of these as `dtype` of Toy in models.yaml"
    )


def test_logits_that_are_not_finite(
    folder: Path, reward: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never read as log-probabilities."""
    load = bases._load

    def broken(*args: Any, **kwargs: Any) -> Any:
        model = load(*args, **kwargs)
        model.lm_head.weight.data[0] = float("nan")
        return model

    monkeypatch.setattr(bases, "_load", broken)

    assert refusal(named(folder, tmp_path), reward) == (
        "the base of Toy: float32 gives logits that are not finite; try --rm-dtype float32"
    )


def test_too_large(
    folder: Path, reward: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two ways out are named."""

    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr(bases, "_load", full)

    assert refusal(named(folder, tmp_path), reward) == (
        "the base of Toy: it does not fit on 'auto' beside the reward model; spread both over all "
        "devices with --rm-device spread, or choose a smaller type with --rm-dtype bfloat16"
    )
