"""A LoRA adapter scores as the model that PEFT merges; what cannot be merged rightly is refused.

Adapters are made by PEFT on toys, their LoRA tensors set to random numbers so that they matter.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from rmaudit.checkpoints import adapter_settings, adapters, source
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError, ScoreError
from rmaudit.models import inspection
from rmaudit.models.checkpoint import Checkpoint
from tests.hub import COMMIT, Hub, serving
from tests.toys import toy_checkpoint, toy_tokenizer

PROMPT = "the love of the city?"
SIZE = len(toy_tokenizer())
CLASSIFIER: dict[str, Any] = {"task_type": "SEQ_CLS", "target_modules": ["q_proj", "v_proj"]}
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `rm`, a reward model, and `lm`, a language model; tests leave both alone."""
    home = tmp_path_factory.mktemp("bases")
    toy_checkpoint(home / "rm", seed=1)
    shutil.copytree(home / "rm", home / "lm")
    config = AutoModelForSequenceClassification.from_pretrained(home / "rm").config
    torch.manual_seed(2)
    AutoModelForCausalLM.from_config(config).save_pretrained(home / "lm")
    return home


@pytest.fixture
def make(bases: Path, tmp_path: Path) -> Make:
    """Save an adapter of a base: `make("lm", **settings of LoraConfig)`."""

    def go(base: str, *, rows: int = SIZE, tokenizer: bool = True, **settings: Any) -> Path:
        torch.manual_seed(3)
        language = settings.get("task_type") == "CAUSAL_LM"
        kind = AutoModelForCausalLM if language else AutoModelForSequenceClassification
        labels = {} if language else {"num_labels": 1}
        model: Any = kind.from_pretrained(bases / base, **labels)
        if rows != SIZE:
            model.resize_token_embeddings(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrapped = peft.get_peft_model(model, peft.LoraConfig(r=4, **settings))
        for name, parameter in wrapped.named_parameters():
            if "lora_" in name or "modules_to_save" in name:
                parameter.data.normal_(std=0.3)
        folder = tmp_path / "adapter"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrapped.save_pretrained(folder)
        if tokenizer:
            toy_tokenizer().save_pretrained(folder)
        return folder

    return go


def checkpoint(folder: Path, **settings: Any) -> Checkpoint:
    """The folder as a registry entry means it."""
    return Checkpoint(ModelSpec("toy", str(folder), **settings), cache=folder.parent / "cache")


def refusal(folder: Path, **settings: Any) -> str:
    """The text with which it is refused, FOLDER in place of the adapter's path."""
    with pytest.raises(ModelError) as caught:
        checkpoint(folder, **settings).score(PROMPT, ["love"])
    return str(caught.value).replace(str(folder), "FOLDER")


def configure(folder: Path, **settings: Any) -> Path:
    """Set keys of adapter_config.json."""
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    return folder


def merge(model: Any, folder: Path) -> Any:
    """As PEFT's documentation does it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peft.PeftModel.from_pretrained(model, folder).merge_and_unload().eval()


@torch.inference_mode()
def merged_scores(
    folder: Path, base: Path, model: Checkpoint, *, dtype: torch.dtype = torch.float32
) -> list[float]:
    """What PEFT's own merged model gives every id of the vocabulary, row by row."""
    own: Any = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1, dtype=dtype)
    rows = model.loader.rows
    if rows != own.config.vocab_size:
        own.resize_token_embeddings(rows)
    merged = merge(own, folder)
    merged.config.pad_token_id = toy_tokenizer().pad_token_id
    slot = model.slot(PROMPT)
    ids = [[*slot.prefix, i, *slot.suffix] for i in model.vocabulary().ids]
    return [merged(input_ids=torch.tensor([row])).logits.item() for row in ids]


def assert_merged(folder: Path, base: Path, **settings: Any) -> Checkpoint:
    """Every id scores as PEFT's merged model scores it."""
    model = checkpoint(folder, **settings)
    scores = model.score(PROMPT, [(i,) for i in model.vocabulary().ids])
    expected = merged_scores(folder, base, model)
    assert np.std(expected) > 0.01
    assert scores.tolist() == pytest.approx(expected, abs=1e-5)
    return model


# Scores


@pytest.mark.parametrize("base", ["lm", "rm"])
@pytest.mark.parametrize(
    "settings",
    [
        CLASSIFIER,
        {"modules_to_save": ["score"], "target_modules": ["k_proj", "down_proj"]},
        {**CLASSIFIER, "use_dora": True},
        {**CLASSIFIER, "use_rslora": True, "rank_pattern": {"v_proj": 2}},
        {**CLASSIFIER, "lora_bias": False, "layers_to_transform": [1]},
        {**CLASSIFIER, "trainable_token_indices": [5, 6]},
        {"modules_to_save": ["score", "embed_tokens"], "target_modules": "all-linear"},
    ],
    ids=["SEQ_CLS", "modules_to_save", "DoRA", "rsLoRA", "one layer", "tokens", "embedding"],
)
def test_an_adapter_scores_as_its_merged_model(
    make: Make, bases: Path, base: str, settings: dict[str, Any]
) -> None:
    """On a language model, where the head is the adapter's alone, and on a reward model."""
    assert_merged(make(base, **settings), bases / base)


@pytest.mark.parametrize("target", [["q_proj"], ["q_proj", "score"]], ids=["trunk", "head too"])
def test_a_reward_models_head_serves_an_adapter_without_one(
    make: Make, bases: Path, target: list[str]
) -> None:
    """As it was saved, or with the adapter's LoRA merged into it."""
    model = assert_merged(make("rm", target_modules=target), bases / "rm")

    assert model.weights((1,), ()).scorer.head.vector.shape == (32,)  # type: ignore[attr-defined]


def test_the_adapter_matters(make: Make, bases: Path) -> None:
    """The tests above compare something."""
    plain, adapted = checkpoint(bases / "rm"), checkpoint(make("rm", target_modules=["q_proj"]))

    gap = np.abs(plain.score(PROMPT, ["love", "war"]) - adapted.score(PROMPT, ["love", "war"]))

    assert gap.min() > 1e-3


def test_bfloat16_is_merged_in_bfloat16(make: Make, bases: Path) -> None:
    """The weights are bit for bit those of PEFT's merged model in that dtype; the head is not."""
    folder = make("lm", **CLASSIFIER)
    own: Any = AutoModelForSequenceClassification.from_pretrained(
        bases / "lm", num_labels=1, dtype=torch.bfloat16
    )
    merged = merge(own, folder)

    loaded = checkpoint(folder, dtype="bfloat16").weights((1, 2), ())

    theirs = merged.model.state_dict()
    assert all(
        torch.equal(value, theirs[key]) for key, value in loaded.model.model.state_dict().items()
    )
    saved = load_file(folder / "adapter_model.safetensors")["base_model.model.score.weight"]
    assert torch.equal(loaded.scorer.head.vector, saved[0])  # type: ignore[attr-defined]


@pytest.mark.parametrize("rows", [SIZE + 8, SIZE - 1])
@pytest.mark.filterwarnings("ignore:.*have no row in the embedding:UserWarning")
def test_a_resized_embedding_comes_with_the_adapter(make: Make, bases: Path, rows: int) -> None:
    """Larger or smaller than its base's; ids go as far as it has rows."""
    model = assert_merged(make("lm", rows=rows, **CLASSIFIER), bases / "lm")

    assert model.vocabulary().ids == tuple(range(min(rows, SIZE)))
    assert model.loader.rows == rows


def test_the_pad_id_is_the_adapters_tokenizers(make: Make, bases: Path) -> None:
    """The base's config.json is from before the trainer chose one; without a tokenizer, that is."""
    folder = make("lm", **CLASSIFIER)
    tokenizer = toy_tokenizer(pad="<|end|>")
    tokenizer.save_pretrained(folder)

    assert checkpoint(folder).loader.pad == tokenizer.pad_token_id != toy_tokenizer().pad_token_id
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert checkpoint(folder).loader.pad == toy_tokenizer().pad_token_id


def test_the_base_is_left_as_it_was(make: Make, bases: Path) -> None:
    """No second copy is written, there or in the cache, and nothing is in training mode."""
    folder = make("lm", **CLASSIFIER)
    before = {path: path.stat().st_mtime_ns for path in bases.rglob("*")}

    loaded = checkpoint(folder).weights((1, 2), ())

    assert {path: path.stat().st_mtime_ns for path in bases.rglob("*")} == before
    assert not list(folder.parent.rglob("model*.safetensors"))
    assert not any(module.training for module in loaded.model.modules())
    assert not any("lora" in name for name, _ in loaded.model.named_modules())


# Identity


def test_an_adapters_identity_has_both_weights(make: Make, bases: Path) -> None:
    """A change of either is another model."""
    folder = make("rm", **CLASSIFIER)
    found = checkpoint(folder).identity
    assert found["weights"] == checkpoint(bases / "rm").identity["weights"]
    assert checkpoint(folder).provenance["base"] == str(bases / "rm")

    tensors = load_file(folder / "adapter_model.safetensors")
    save_file(
        {key: 2 * value for key, value in tensors.items()}, folder / "adapter_model.safetensors"
    )
    other = checkpoint(folder).identity
    assert {key for key in found if found[key] != other[key]} == {"adapter"}

    scaled = checkpoint(configure(folder, lora_alpha=99)).identity
    assert {key for key in other if other[key] != scaled[key]} == {"adapter"}
    moved = checkpoint(configure(folder, base_model_name_or_path=str(bases / "lm"))).identity
    assert moved["weights"] != found["weights"]


@pytest.mark.parametrize("own", [True, False])
def test_the_tokenizer_is_the_adapters_if_it_has_one(make: Make, bases: Path, own: bool) -> None:
    """With its chat template; else it is the base's."""
    folder = make("rm", tokenizer=own, **CLASSIFIER)
    model = checkpoint(folder)
    found = source.find(model.spec, model.cache)
    where = adapters.tokenizer_folder(found, model.spec, model.cache)

    assert where == (folder if own else bases / "rm") == model.loader.layout.folder
    assert model.slot(PROMPT).prefix == checkpoint(bases / "rm").slot(PROMPT).prefix


# The base


def test_a_base_on_the_hub_is_asked_for_at_its_revision(
    make: Make, bases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the one door to the hub; the commit that came is in the identity."""
    folder = make("rm", **CLASSIFIER)
    configure(folder, base_model_name_or_path="some/base", revision="v1.0")
    commit = "0" * 40
    snapshot = tmp_path / "snapshots" / commit
    shutil.copytree(bases / "rm", snapshot)
    asked: list[ModelSpec] = []
    real = source.find

    def find(spec: ModelSpec, cache: Path, **settings: Any) -> source.Kind:
        if spec.source != "some/base":
            return real(spec, cache, **settings)
        asked.append(spec)
        return source.Folder("toy", snapshot)

    monkeypatch.setattr(source, "find", find)

    model = checkpoint(folder)

    assert asked == [ModelSpec("toy", "some/base", revision="v1.0")]
    assert model.identity["base_revision"] == commit
    assert "base_revision" not in checkpoint(make("rm", **CLASSIFIER)).identity


def test_a_base_that_cannot_be_had_is_told_as_any_model(make: Make) -> None:
    """Here the network is off."""
    folder = configure(make("rm", **CLASSIFIER), base_model_name_or_path="some/base")

    assert refusal(folder).startswith(
        "toy: some/base could not be had from the Hugging Face hub (LocalEntryNotFoundError: "
    )
    assert refusal(folder).endswith(
        ", or give a folder: base_model_name_or_path in FOLDER/adapter_config.json"
    )


def test_a_relative_base_starts_at_the_current_folder(
    make: Make, bases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it did in training; from elsewhere it is an error that says so."""
    folder = configure(make("rm", **CLASSIFIER), base_model_name_or_path="./rm")
    text = refusal(folder)
    monkeypatch.chdir(bases)

    assert checkpoint(folder).provenance["base"] == str(bases / "rm")
    assert text == (
        "toy: its base is not here: there is no folder './rm', which is base_model_name_or_path in "
        "FOLDER/adapter_config.json; correct it, or run where that folder is"
    )


@pytest.mark.parametrize("named", [None, "", " ", 3])
def test_an_adapter_without_a_base_is_refused(make: Make, named: object) -> None:
    """Such as one of a model that was made in memory."""
    folder = configure(make("rm", **CLASSIFIER), base_model_name_or_path=named)

    assert refusal(folder) == (
        "toy: no base_model_name_or_path in FOLDER/adapter_config.json; write there the folder or "
        "the hub id of its base"
    )


def test_an_adapter_on_an_adapter_is_refused(make: Make, bases: Path, tmp_path: Path) -> None:
    """Transformers would load the base's own base under it, or from the hub."""
    base = make("rm", **CLASSIFIER).rename(tmp_path / "first")
    folder = configure(make("rm", **CLASSIFIER), base_model_name_or_path=str(base))

    assert refusal(folder) == (
        f"toy: the base of the adapter FOLDER is itself an adapter: {base}. Merge that one into "
        f"its own base first, and name the merged folder as base_model_name_or_path in "
        f"FOLDER/adapter_config.json"
    )


def test_a_base_called_embedded_is_not_the_demo(make: Make) -> None:
    """Which is called so in models.yaml; here it is a folder that is not there."""
    folder = configure(make("rm", **CLASSIFIER), base_model_name_or_path="embedded")

    assert refusal(folder) == (
        "toy: its base is not here: there is no folder 'embedded', which is "
        "base_model_name_or_path in FOLDER/adapter_config.json; correct it, or run where that "
        "folder is"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.pop("model.layers.1.mlp.up_proj.weight"), "1 missing keys in BASE, first "),
        (lambda t: t.update({"model.layers.9.x.weight": torch.ones(2)}), "1 unexpected keys in "),
        (lambda t: t.update({"model.norm.weight": torch.ones(31)}), "1 mismatched keys in BASE, "),
    ],
    ids=["lacking", "extra", "mismatched"],
)
def test_a_base_of_other_tensors_is_refused(
    make: Make, bases: Path, tmp_path: Path, change: Callable[[Any], Any], said: str
) -> None:
    """Its trunk would be random in places, or be another."""
    base = shutil.copytree(bases / "lm", tmp_path / "base")
    tensors = load_file(base / "model.safetensors")
    change(tensors)
    save_file(tensors, base / "model.safetensors", {"format": "pt"})
    folder = configure(make("lm", **CLASSIFIER), base_model_name_or_path=str(base))

    assert refusal(folder).replace(str(base), "BASE").startswith(f"toy: {said}")


# The head


@pytest.mark.parametrize(
    "settings",
    [
        {"task_type": "CAUSAL_LM", "target_modules": ["q_proj"]},
        {"target_modules": ["q_proj"]},
        {"target_modules": ["q_proj", "score"]},
    ],
    ids=["CAUSAL_LM", "no task type", "LoRA on a random head"],
)
def test_a_head_that_was_never_saved_is_refused(
    make: Make, bases: Path, settings: dict[str, Any]
) -> None:
    """The trap: transformers would make one up, and the adapter would load without a word."""
    assert refusal(make("lm", **settings)) == (
        f"toy: the head was never saved: 'score.weight' is neither among the adapter's tensors nor "
        f"in its base {bases / 'lm'}, so transformers would give it a random one. Train the "
        f'adapter again with task_type="SEQ_CLS" or modules_to_save=["score"] in its LoraConfig, '
        f"which save the head beside it"
    )


def test_an_adapter_on_another_head_is_refused(make: Make, bases: Path, tmp_path: Path) -> None:
    """Its tensors have other names under transformers' trunk, and would fit nowhere."""
    folder = make("rm", target_modules=["q_proj"])
    base = shutil.copytree(bases / "rm", tmp_path / "valued")
    tensors = load_file(base / "model.safetensors")
    tensors["value_head.weight"] = tensors.pop("score.weight")
    save_file(tensors, base / "model.safetensors", {"format": "pt"})
    configure(folder, base_model_name_or_path=str(base))

    assert refusal(folder) == (
        "toy: an adapter on a value head; rmaudit merges adapters of plain sequence classifiers "
        "(score.weight) only. Merge it where it was trained, save the merged model, and audit that "
        "folder"
    )


def test_a_quantized_base_is_refused(make: Make, bases: Path, tmp_path: Path) -> None:
    """Also where `quantized: true` asks for it: merging would round the adapter away."""
    base = shutil.copytree(bases / "rm", tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    (base / "config.json").write_text(json.dumps(config))
    folder = configure(make("rm", **CLASSIFIER), base_model_name_or_path=str(base))

    assert refusal(folder, quantized=True) == refusal(folder)
    assert refusal(folder) == (
        f"toy: its base {base} is quantized, and merging an adapter into quantized weights rounds "
        f"it away. Name the base from before it was quantized as base_model_name_or_path in "
        f"FOLDER/adapter_config.json"
    )


# What cannot be merged


@pytest.mark.parametrize("kind", sorted(adapter_settings._PROMPTS))
def test_prompt_learning_is_refused_by_name(make: Make, kind: str) -> None:
    """There is nothing to merge."""
    assert refusal(configure(make("rm", **CLASSIFIER), peft_type=kind)) == (
        f"toy: FOLDER/adapter_config.json has peft_type {kind!r}, which puts trained vectors "
        f"before the prompt and cannot be merged into weights; rmaudit audits full checkpoints and "
        f"LoRA adapters"
    )


@pytest.mark.parametrize("kind", ["IA3", "LOHA", "BOFT", None, "lora", ["LORA"]])
def test_other_kinds_of_adapter_are_refused_by_name(make: Make, kind: object) -> None:
    """PEFT can merge some of them; here they were not tried."""
    assert refusal(configure(make("rm", **CLASSIFIER), peft_type=kind)) == (
        f"toy: FOLDER/adapter_config.json has peft_type {kind!r}; rmaudit merges LORA only. Merge "
        f"it where it was trained, save the merged model, and audit that folder"
    )


@pytest.mark.parametrize("start", ["pissa", "pissa_niter_4", "olora", "loftq", "corda", "lora_ga"])
def test_an_adapter_that_began_by_changing_its_base_is_refused(make: Make, start: str) -> None:
    """The base on disk is not what it was trained on."""
    assert refusal(configure(make("rm", **CLASSIFIER), init_lora_weights=start)) == (
        f"toy: FOLDER/adapter_config.json has init_lora_weights {start!r}, which changed the "
        f"base's weights before training, so base and adapter are not what was trained. Merge it "
        f"where it was trained, save the merged model, and audit that folder"
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("megatron_config", {"a": 1}),
        ("layer_replication", [[0, 1], [0, 1]]),
        ("alora_invocation_tokens", [1, 2]),
        ("corda_config", {"cache_file": "pickle.pt"}),
        ("arrow_config", {"top_k": 1}),
        ("a_key_of_next_year", True),
    ],
)
def test_whatever_is_not_checked_is_refused(make: Make, key: str, value: object) -> None:
    """PEFT imports the module of `megatron_core` and unpickles a `cache_file`."""
    assert refusal(configure(make("rm", **CLASSIFIER), **{key: value})) == (
        f"toy: FOLDER/adapter_config.json has {key} {value!r}, which rmaudit does not merge: what "
        f"it does to the weights, or which code it loads, is not checked. Merge it where it was "
        f"trained, save the merged model, and audit that folder"
    )


def test_modules_that_the_configuration_names_are_not_imported(
    make: Make, bases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PEFT writes `auto_mapping` and `megatron_core` into many adapters; here nobody reads them."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    folder = make("rm", **CLASSIFIER)
    configure(folder, auto_mapping={"parent_library": "evil", "base_model_class": "Evil"})
    configure(folder, megatron_core="evil")

    checkpoint(folder).score(PROMPT, ["love"])


def test_every_entry_of_peft_is_decided() -> None:
    """What PEFT adds in a new release is refused where set; what it drops is seen here."""
    assert {*peft.LoraConfig(task_type="SEQ_CLS").to_dict()} >= adapter_settings.MERGED


# Damaged folders


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("adapter_model.bin", "only adapter_model.bin, a pickle, which can run code"),
        (None, "no weights"),
    ],
)
def test_an_adapter_without_safetensors_is_refused(
    make: Make, name: str | None, found: str
) -> None:
    """No pickle is opened."""
    folder = make("rm", **CLASSIFIER)
    (folder / "adapter_model.safetensors").unlink()
    if name is not None:
        (folder / name).write_bytes(b"never read")

    assert refusal(folder) == (
        f"toy: no adapter_model.safetensors in FOLDER ({found}). Load the adapter with peft where "
        f"you trust it, and save it again: model.save_pretrained(FOLDER) writes safetensors"
    )


def test_a_checkpoint_and_an_adapter_in_one_folder_are_refused(make: Make, bases: Path) -> None:
    """Transformers would load both, one onto the other."""
    folder = make("rm", **CLASSIFIER)
    for name in ("config.json", "model.safetensors"):
        shutil.copy(bases / "rm" / name, folder)

    assert refusal(folder) == (
        "toy: FOLDER holds both a checkpoint (model.safetensors) and an adapter "
        "(adapter_config.json), and which of them is meant is unknown. Move one of them into a "
        "folder of its own"
    )


def test_a_damaged_adapter_is_refused(make: Make) -> None:
    """A download that broke off."""
    folder = make("rm", **CLASSIFIER)
    path = folder / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])

    assert refusal(folder).startswith("toy: FOLDER/adapter_model.safetensors is damaged: ")


ELSE = (
    "Correct base_model_name_or_path and revision in FOLDER/adapter_config.json if it is another "
    "base's; else save the adapter again with save_pretrained(FOLDER)"
)


@pytest.mark.parametrize(
    ("change", "kind", "why"),
    [
        ("drop", "missing", "what was trained would stay as it is in the base"),
        ("add", "unexpected", "a part of the adapter would be left out"),
    ],
)
def test_a_part_that_would_be_left_out_is_refused(
    make: Make, bases: Path, change: str, kind: str, why: str
) -> None:
    """PEFT warns of the one and says nothing of the other."""
    folder = make("rm", **CLASSIFIER)
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    first = min(key for key in tensors if "lora_A" in key)
    if change == "drop":
        del tensors[first]
    else:
        tensors[first.replace("layers.0", "layers.7")] = tensors[first].clone()
    save_file(tensors, path)

    message = refusal(folder)

    assert message.startswith(
        f"toy: 1 {kind} keys in FOLDER/adapter_model.safetensors, first 'base_"
    )
    assert message.endswith(f", for its base {bases / 'rm'}: {why}. {ELSE}")


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"modules_to_save": ["score"]}, "score.weight"),
        ({"bias": "all"}, "bias"),
        ({"trainable_token_indices": [5, 6]}, "trainable_tokens"),
    ],
    ids=["head", "bias", "tokens"],
)
def test_a_trained_part_that_was_lost_is_refused(
    make: Make, bases: Path, settings: dict[str, Any], part: str
) -> None:
    """PEFT looks for missing LoRA tensors only; the base's own would be scored in their place."""
    toy_checkpoint(bases / "biased", kind="qwen2", seed=4)
    folder = make("biased", **CLASSIFIER, **settings)
    checkpoint(folder).score(PROMPT, ["love"])
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    lost = sorted(key for key in tensors if part in key and ".lora_" not in key)
    save_file({key: t for key, t in tensors.items() if key not in lost}, path)

    assert refusal(folder) == (
        f"toy: {len(lost)} missing keys in FOLDER/adapter_model.safetensors, first {lost[0]!r}, "
        f"for its base {bases / 'biased'}: what was trained would stay as it is in the base. {ELSE}"
    )


def test_an_adapter_of_another_base_is_refused(make: Make, tmp_path: Path) -> None:
    """One line of what PEFT says, and where to correct it."""
    folder = make("rm", **CLASSIFIER)
    other = toy_checkpoint(tmp_path / "other", hidden_size=64, head_dim=16)
    configure(folder, base_model_name_or_path=str(other))
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    del tensors["base_model.model.score.weight"]
    save_file(tensors, path)
    configure(folder, modules_to_save=None)

    message = refusal(folder)

    assert message.startswith(
        f"toy: the adapter FOLDER could not be merged into its base {other} ("
    )
    assert message.endswith(
        "). Is it the base that it was trained on? Correct base_model_name_or_path and revision in "
        "FOLDER/adapter_config.json"
    )
    assert "\n" not in message


def test_an_adapter_that_is_not_finite_is_refused(make: Make) -> None:
    """A training run that diverged: its rewards are no numbers."""
    folder = make("rm", **CLASSIFIER)
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    tensors[min(key for key in tensors if "lora_B" in key)][0, 0] = float("nan")
    save_file(tensors, path)

    with pytest.raises(ScoreError):
        checkpoint(folder).score(PROMPT, ["love"])


# What `rmaudit models check` says of them


def said(folder: Path | str) -> dict[str, str]:
    """What is found, by its label."""
    return dict(inspection.look(ModelSpec("toy", str(folder)), Path("never used"), "toy"))


def test_an_adapter_is_looked_at_with_its_base(make: Make, bases: Path) -> None:
    """Where its base is, how it would run and what it renders; no weights are loaded for it."""
    found = said(make("lm", **CLASSIFIER))

    assert found["base"] == str(bases / "lm")
    assert found["weights"].endswith(" tensors of F32")
    assert found["head"] == "linear: score.weight (1, 32)"
    assert found["path"] == "shared prefix"
    assert found["suffix"].startswith("1 ids")
    assert found["can be scored"] == "pytest audits --model toy"


def test_an_adapter_that_would_be_refused_is_told_so(make: Make) -> None:
    """The same reason as in a run."""
    found = said(make("lm", target_modules=["q_proj"]))

    assert found["refused"].startswith("the head was never saved")
    assert "can be scored" not in found


@pytest.fixture
def hub(bases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the language model, a quantized one and one of pickles."""
    quantized, pickled = (
        shutil.copytree(bases / "lm", tmp_path / "hub" / name) for name in ("quantized", "pickled")
    )
    path = quantized / "config.json"
    given = json.loads(path.read_text()) | {"quantization_config": {"quant_method": "gptq"}}
    path.write_text(json.dumps(given))
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    models = {"lm": bases / "lm", "quantized": quantized, "pickled": pickled}
    served = Hub({f"owner/{name}": folder for name, folder in models.items()})
    with serving(served, tmp_path / "cache of the hub", monkeypatch) as found:
        yield found


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("base", "settings", "text"),
    [
        ("lm", {"target_modules": ["q_proj"]}, "the head was never saved: "),
        ("quantized", CLASSIFIER, "its base BASE is quantized, and merging an adapter "),
        ("pickled", CLASSIFIER, "its base owner/pickled: no *.safetensors in owner/pickled (only "),
    ],
)
def test_an_adapter_is_refused_before_its_base_is_downloaded(
    make: Make, tmp_path: Path, base: str, settings: dict[str, Any], text: str
) -> None:
    """In a run and in `models check`, with the same reason."""
    folder = configure(make("lm", **settings), base_model_name_or_path=f"owner/{base}")
    cache = tmp_path / "cache of the hub"
    snapshot = cache / f"models--owner--{base}" / "snapshots" / COMMIT

    looked, ran = said(folder)["refused"], refusal(folder)

    assert f"toy: {looked}".replace(str(folder), "FOLDER") == ran
    assert looked.startswith(text.replace("BASE", str(snapshot)))
    assert not list(cache.rglob("*.safetensors"))
    assert not list(cache.rglob("*.bin"))


@pytest.mark.usefixtures("hub")
def test_an_adapter_whose_base_is_not_here_is_looked_at(make: Make, tmp_path: Path) -> None:
    """By the headers on the hub; a run then downloads it and scores."""
    folder = configure(make("lm", **CLASSIFIER), base_model_name_or_path="owner/lm")

    found = said(folder)

    assert found["base"] == f"owner/lm at {COMMIT}"
    assert found["base weights"] == "not here yet; the first audit downloads them"
    assert found["head"] == "linear: score.weight (1, 32)"
    assert found["can be scored"] == "pytest audits --model toy"
    assert not list((tmp_path / "cache of the hub").rglob("*.safetensors"))
    assert np.isfinite(checkpoint(folder).score(PROMPT, ["love"])).all()
    assert "base weights" not in said(folder)


def test_an_adapter_on_the_hub_is_looked_at(make: Make, hub: Hub, tmp_path: Path) -> None:
    """By the header of its own file too; a pickle is told by what the hub has."""
    folder = configure(make("lm", **CLASSIFIER), base_model_name_or_path="owner/lm")
    hub.models["owner/adapter"] = folder

    assert said("owner/adapter")["can be scored"] == "pytest audits --model toy"
    assert not list((tmp_path / "cache of the hub").rglob("*.safetensors"))
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    assert said("owner/adapter")["refused"] == (
        "no adapter_model.safetensors in owner/adapter (only adapter_model.bin, a pickle, which "
        "can run code). Load the adapter with peft where you trust it, and save it again: "
        "model.save_pretrained(FOLDER) writes safetensors"
    )


def test_an_adapter_without_weights_is_told_when_looked_at(make: Make) -> None:
    """It cannot be scored, wherever its base is."""
    folder = make("lm", **CLASSIFIER)
    (folder / "adapter_model.safetensors").unlink()

    assert said(folder)["refused"].startswith("no adapter_model.safetensors in ")
