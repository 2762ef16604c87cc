"""A LoRA adapter scores as the model that PEFT merges; what cannot be merged rightly is refused.

Adapters are made by PEFT on toys, their LoRA tensors set to random numbers so that they matter.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from rmaudit.checkpoints import adapter_files, adapter_settings, checkpoint_source
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models import scoring_description
from rmaudit.models.checkpoint_model import Checkpoint
from tests.checkpoints.folders import merged, save_adapter
from tests.hub import COMMIT, Hub, serving
from tests.models.loaded import change, checkpoint
from tests.toys import toy_checkpoint, toy_tokenizer

Patch = pytest.MonkeyPatch

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
    """An adapter of a base, to be changed: `make("lm", **settings of LoraConfig)`."""

    def go(base: str, *, rows: int = SIZE, tokenizer: bool = True, **settings: Any) -> Path:
        name = hashlib.sha256(repr((base, rows, settings)).encode()).hexdigest()
        if not (bases / name).exists():
            save_adapter(model_of(base, rows, settings), bases / name, **settings)
        without = None if tokenizer else shutil.ignore_patterns("tokenizer*", "*.jinja")
        return shutil.copytree(bases / name, tmp_path / "adapter", ignore=without)

    def model_of(base: str, rows: int, settings: dict[str, Any]) -> Any:
        torch.manual_seed(3)
        language = settings.get("task_type") == "CAUSAL_LM"
        kind = AutoModelForCausalLM if language else AutoModelForSequenceClassification
        labels = {} if language else {"num_labels": 1}
        model: Any = kind.from_pretrained(bases / base, **labels)
        if rows != SIZE:
            model.resize_token_embeddings(rows)
        return model

    return go


def refusal(folder: Path, **settings: Any) -> str:
    """The text with which it is refused, FOLDER in place of the adapter's path."""
    with pytest.raises(ModelError) as caught:
        checkpoint(folder, **settings).score(PROMPT, ["love"])
    return str(caught.value).replace(str(folder), "FOLDER")


def configure(folder: Path, **settings: Any) -> Path:
    """Set keys of adapter_config.json."""
    change(folder / "adapter_config.json", **settings)
    return folder


@torch.inference_mode()
def merged_scores(folder: Path, base: Path, model: Checkpoint) -> list[float]:
    """What PEFT's own merged model gives every id of the vocabulary, row by row."""
    own: Any = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1)
    rows = model.rows.size
    if rows != own.config.vocab_size:
        own.resize_token_embeddings(rows)
    model_of_peft = merged(own, folder)
    model_of_peft.config.pad_token_id = toy_tokenizer().pad_token_id
    slot = model.slot(PROMPT)
    ids = [[*slot.prefix, i, *slot.suffix] for i in model.vocabulary().ids]
    return [model_of_peft(input_ids=torch.tensor([row])).logits.item() for row in ids]


def assert_merged(folder: Path, base: Path, **settings: Any) -> Checkpoint:
    """Every id scores as PEFT's merged model scores it."""
    model = checkpoint(folder, **settings)
    scores = model.score(PROMPT, [(i,) for i in model.vocabulary().ids])
    expected = merged_scores(folder, base, model)
    assert np.std(expected) > 0.01
    if base.name == "rm":  # a language model has no scores of its own
        assert np.abs(checkpoint(base).score(PROMPT, [(5,), (6,)]) - scores[5:7]).max() > 1e-3
    assert scores.tolist() == pytest.approx(expected, abs=1e-5)
    return model


def rewrite(path: Path, spoil: Callable[[Any], Any]) -> None:
    """Change the tensors of a file."""
    tensors = load_file(path)
    spoil(tensors)
    save_file(tensors, path, {"format": "pt"})


def double(tensors: Any) -> None:
    """Change every number."""
    for tensor in tensors.values():
        tensor.mul_(2)


# Scores


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "settings"),
    [
        ("lm", CLASSIFIER),
        ("rm", CLASSIFIER),
        ("lm", {"modules_to_save": ["score"], "target_modules": ["k_proj", "down_proj"]}),
        ("lm", {**CLASSIFIER, "use_dora": True}),
        ("lm", {**CLASSIFIER, "use_rslora": True, "rank_pattern": {"v_proj": 2}}),
        ("rm", {**CLASSIFIER, "lora_bias": False, "layers_to_transform": [1]}),
        ("rm", {**CLASSIFIER, "trainable_token_indices": [5, 6]}),
        ("rm", {"modules_to_save": ["score", "embed_tokens"], "target_modules": "all-linear"}),
        ("rm", {"target_modules": ["q_proj"]}),  # the base's head serves it
        ("rm", {"target_modules": ["q_proj", "score"]}),  # or with a LoRA merged into it
    ],
    ids=range(10),
)
def test_it_scores_as_its_merged_model(
    make: Make, bases: Path, base: str, settings: dict[str, Any]
) -> None:
    """On a language model, where the head is the adapter's alone, and on a reward model."""
    assert_merged(make(base, **settings), bases / base)


@pytest.mark.slow
def test_bfloat16_is_merged_in_bfloat16(make: Make, bases: Path) -> None:
    """The weights are bit for bit those of PEFT's merged model in that dtype; the head is not."""
    folder = make("lm", **CLASSIFIER)
    own: Any = AutoModelForSequenceClassification.from_pretrained(
        bases / "lm", num_labels=1, dtype=torch.bfloat16
    )
    theirs = merged(own, folder).model.state_dict()

    loaded = checkpoint(folder, dtype="bfloat16").weights((1, 2), ())

    ours = loaded.model.model.state_dict()
    assert all(torch.equal(value, theirs[key]) for key, value in ours.items())
    saved = load_file(folder / "adapter_model.safetensors")["base_model.model.score.weight"]
    assert torch.equal(loaded.scorer.head.vector, saved[0])  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [SIZE + 8, SIZE - 1])
@pytest.mark.filterwarnings("ignore:.*have no row in the embedding:UserWarning")
def test_a_resized_embedding_comes_with_the_adapter(make: Make, bases: Path, rows: int) -> None:
    """Larger or smaller than its base's; ids go as far as it has rows."""
    model = assert_merged(make("lm", rows=rows, **CLASSIFIER), bases / "lm")

    assert model.vocabulary().ids == tuple(range(min(rows, SIZE)))
    assert model.rows.size == rows


def test_the_pad_id_is_the_adapters_tokenizers(make: Make, bases: Path) -> None:
    """The base's config.json is from before the trainer chose one; without a tokenizer, that is."""
    folder = make("lm", **CLASSIFIER)
    tokenizer = toy_tokenizer(pad="<|end|>")
    tokenizer.save_pretrained(folder)

    assert checkpoint(folder).rows.pad == tokenizer.pad_token_id != toy_tokenizer().pad_token_id
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert checkpoint(folder).rows.pad == toy_tokenizer().pad_token_id


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
    assert "base_revision" not in found
    assert found["weights"] == checkpoint(bases / "rm").identity["weights"]
    assert checkpoint(folder).provenance["base"] == str(bases / "rm")

    rewrite(folder / "adapter_model.safetensors", double)
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
    found = checkpoint_source.find(model.spec, model.cache)
    where = adapter_files.tokenizer_folder(found, model.spec, model.cache)

    assert where == (folder if own else bases / "rm") == model.rows.layout.folder
    assert model.slot(PROMPT).prefix == checkpoint(bases / "rm").slot(PROMPT).prefix


# The base


@pytest.mark.parametrize(
    ("named", "said"),
    [
        *((named, "no base_model_name_or_path in ") for named in (None, "", " ", 3)),
        ("some/base", "some/base is no folder here, and the Hugging Face hub did not give it (Loc"),
        ("./rm", "its base is not here: there is no folder './rm' in FOLDER, "),
        ("embedded", "its base is not here: there is no folder 'embedded' in FOLDER, "),  # no demo
        ("a" * 5000, "... (5,000 characters)' in FOLDER, "),
        ("a\0b", "its base is not here: there is no folder 'a\\x00b' in FOLDER, "),
        ("/nowhere/rm", "its base is not here: there is no folder '/nowhere/rm'; it is base_model"),
        ("~nobody-of-this-name/base", "its base is not here: "),
    ],
    ids=range(11),
)
def test_a_base_that_is_not_there_is_told(make: Make, named: object, said: str) -> None:
    """With the file that names it; the network is off here."""
    text = refusal(configure(make("rm", **CLASSIFIER), base_model_name_or_path=named))

    assert said in text
    assert "FOLDER/adapter_config.json" in text
    assert len(text) < 700


@pytest.mark.parametrize("named", ["./rm", "rm", "some/rm"])
def test_a_relative_base_is_looked_for_beside_the_adapter(
    make: Make, bases: Path, tmp_path: Path, monkeypatch: Patch, named: str
) -> None:
    """In its folder first, then in the one around it, then in the current one, as in training."""
    folder = configure(make("rm", **CLASSIFIER), base_model_name_or_path=named)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)

    assert f"no folder {named!r} in FOLDER, {tmp_path}, {here}" in refusal(folder)
    for place in (here, tmp_path, folder):  # the last is the first that is looked into
        shutil.copytree(bases / "rm", place / named)

        assert checkpoint(folder).provenance["base"] == str(place / named)


def test_an_adapter_is_no_base_of_its_own(make: Make, bases: Path, monkeypatch: Patch) -> None:
    """Where its folder bears its base's name, the base is looked for further on."""
    folder = configure(make("rm", **CLASSIFIER), base_model_name_or_path="rm")
    folder = folder.rename(folder.parent / "rm")
    monkeypatch.chdir(bases)

    assert checkpoint(folder).provenance["base"] == str(bases / "rm")


def quantize(base: Path) -> None:
    """Say so in its config.json."""
    method = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    change(base / "config.json", quantization_config=method)


Change = Callable[[Any], Any]
LACKS: Change = lambda t: t.pop("model.layers.1.mlp.up_proj.weight")  # noqa: E731
ADDS: Change = lambda t: t.update({"model.layers.9.x.weight": torch.ones(2)})  # noqa: E731
RESHAPES: Change = lambda t: t.update({"model.norm.weight": torch.ones(31)})  # noqa: E731
VALUE: Change = lambda t: t.update({"value_head.weight": t.pop("score.weight")})  # noqa: E731


@pytest.mark.parametrize(
    ("on", "spoil", "said"),
    [
        ("lm", LACKS, "1 missing keys in BASE"),
        ("lm", ADDS, "1 unexpected keys in BASE"),
        ("lm", RESHAPES, "1 mismatched keys in BASE"),
        ("rm", VALUE, "an adapter on a value head; "),
        ("rm", quantize, "its base BASE is quantized, and merging an adapter into"),
        ("rm", None, "the base of the adapter FOLDER is itself an adapter: BASE. "),
    ],
    ids=["lacking", "extra", "mismatched", "value head", "quantized", "adapter"],
)
def test_another_base_is_refused(
    make: Make, bases: Path, on: str, spoil: Change | None, said: str
) -> None:
    """Its backbone would be random in places, or be another; merging would round the update away.

    `quantized: true` is no way out.
    """
    folder = make(on, **(CLASSIFIER if on == "lm" else {"target_modules": ["q_proj"]}))
    base = shutil.copytree(bases / on, folder.parent / "base")
    configure(folder, base_model_name_or_path=str(base))
    checkpoint(folder)
    if spoil is None:
        (base / "adapter_config.json").write_text("{}")
    elif spoil is quantize:
        quantize(base)
        assert said in refusal(folder, quantized=True).replace(str(base), "BASE")
    else:
        rewrite(base / "model.safetensors", spoil)

    assert said in refusal(folder).replace(str(base), "BASE")


@pytest.mark.parametrize(
    "settings",
    [
        {"target_modules": ["q_proj"]},
        {"task_type": "CAUSAL_LM", "target_modules": ["q_proj"]},
        {"target_modules": ["q_proj", "score"]},
    ],
    ids=["none", "language model", "LoRA on a random one"],
)
def test_a_head_that_was_never_saved(make: Make, bases: Path, settings: dict[str, Any]) -> None:
    """The trap: transformers would make one up, and the adapter would load without a word."""
    text = refusal(make("lm", **settings))

    assert text.startswith("toy: the head was never saved: 'score.weight' is neither among ")
    assert str(bases / "lm") in text
    assert 'task_type="SEQ_CLS" or modules_to_save=["score"]' in text


# What cannot be merged


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("peft_type", kind) for kind in sorted(adapter_settings._PROMPTS)),
        *(("peft_type", kind) for kind in ("IA3", "LOHA", "BOFT", None, "lora", ["LORA"])),
        *(("init_lora_weights", way) for way in ("pissa", "pissa_niter_4", "olora", "lora_ga")),
        ("megatron_config", {"a": 1}),
        ("layer_replication", [[0, 1], [0, 1]]),
        ("alora_invocation_tokens", [1, 2]),
        ("corda_config", {"cache_file": "pickle.pt"}),  # which PEFT unpickles
        ("arrow_config", {"top_k": 1}),
        ("a_key_of_next_year", True),
    ],
)
def test_what_is_no_lora_or_not_checked_is_refused(make: Make, key: str, value: object) -> None:
    """With the entry and what it says. PEFT can merge some of them; here they were not tried."""
    text = refusal(configure(make("rm", **CLASSIFIER), **{key: value}))

    assert text.startswith(f"toy: FOLDER/adapter_config.json has {key} {value!r}")
    step = "full checkpoints and LoRA" if value in adapter_settings._PROMPTS else "Merge it where"
    assert step in text


def test_modules_that_are_named_are_not_imported(
    make: Make, tmp_path: Path, monkeypatch: Patch
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


BOMB = "(.*.*)*[^a-z.0-9_]"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target_modules", BOMB),
        ("exclude_modules", BOMB),
        ("layers_pattern", [BOMB]),
        ("rank_pattern", {BOMB: 2}),
        ("alpha_pattern", {BOMB: 2}),
        ("modules_to_save", [BOMB]),
    ],
)
def test_an_endless_pattern_is_refused(
    make: Make, monkeypatch: Patch, key: str, value: object
) -> None:
    """PEFT would match it for ages; an honest one is matched by it."""
    folder = make("rm", **CLASSIFIER)
    if key == "target_modules":
        configure(folder, target_modules=r"model\.layers\.[01]\..*\.(q|v)_proj")
        checkpoint(folder).score(PROMPT, ["love"])
    monkeypatch.setattr(adapter_settings, "_SECONDS", 0.3)

    text = refusal(configure(folder, **{key: value}))

    assert text.startswith(f"toy: {key} {BOMB!r} in FOLDER/adapter_config.json is a regular ")


# Damaged folders


@pytest.mark.parametrize(
    ("left", "found"),
    [
        ("adapter_model.bin", "no adapter_model.safetensors in FOLDER (only adapter_model.bin, a "),
        ("README.md", "no adapter_model.safetensors in FOLDER (no weights). "),
        ("adapter_model.safetensors", "FOLDER/adapter_model.safetensors is damaged: "),
    ],
)
def test_an_adapter_without_safetensors_is_refused(make: Make, left: str, found: str) -> None:
    """No pickle is opened, nor half a download; `models check` says the same."""
    folder = make("rm", **CLASSIFIER)
    whole = (folder / "adapter_model.safetensors").read_bytes()
    (folder / "adapter_model.safetensors").unlink()
    (folder / left).write_bytes(whole[:-9])

    text = refusal(folder)

    assert text.startswith(f"toy: {found}")
    assert f"toy: {said(folder)['refused']}".replace(str(folder), "FOLDER") == text


@pytest.mark.parametrize(
    ("settings", "part", "kind"),
    [
        ({}, ".lora_A", "missing"),
        ({}, "layers.7", "unexpected"),
        ({"modules_to_save": ["score"]}, "score.weight", "missing"),
        ({"bias": "all"}, "bias", "missing"),
        ({"trainable_token_indices": [5, 6]}, "trainable_tokens", "missing"),
    ],
    ids=["LoRA", "a layer more", "head", "bias", "tokens"],
)
def test_no_part_is_left_out(
    make: Make, bases: Path, settings: dict[str, Any], part: str, kind: str
) -> None:
    """PEFT warns of missing LoRA tensors only; the base's own would be scored in their place."""
    toy_checkpoint(bases / "biased", kind="qwen2", seed=4)
    folder = make("biased", **CLASSIFIER, **settings)
    checkpoint(folder).score(PROMPT, ["love"])
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    lost = sorted(key for key in tensors if part in key and (".lora_" not in key or "lora" in part))
    if kind == "unexpected":
        first = min(tensors)
        lost = [first.replace("layers.0", part)]
        tensors[lost[0]] = tensors[first].clone()
    save_file({key: t for key, t in tensors.items() if kind != "missing" or key not in lost}, path)

    text = refusal(folder)

    assert f"{len(lost)} {kind} keys in FOLDER/adapter_model.safetensors, first {lost[0]!r}" in text
    assert f"for its base {bases / 'biased'}: " in text


def two_models(folder: Path) -> None:
    """A checkpoint in the same folder, which transformers would load, too."""
    save_file({"score.weight": torch.ones(1, 32)}, folder / "model.safetensors")


def of_another_base(folder: Path) -> None:
    """Whose base is wider."""
    other = toy_checkpoint(folder.parent / "other", hidden_size=64, head_dim=16)
    configure(folder, base_model_name_or_path=str(other), modules_to_save=None)
    rewrite(folder / "adapter_model.safetensors", lambda tensors: tensors.pop(HEAD))


def spoilt(spoil: Callable[[Any], Any]) -> Callable[[Path], None]:
    """With other tensors."""
    return lambda folder: rewrite(folder / "adapter_model.safetensors", spoil)


HEAD = "base_model.model.score.weight"


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (
            spoilt(lambda t: t.update(last=torch.ones(2).long())),
            ["'last' in FOLDER/adapter_model.safetensors is of I64, allowed: F64, F32, F16, B"],
        ),
        (two_models, ["FOLDER holds both a checkpoint (model.safetensors) and an adapter"]),
        (
            spoilt(lambda t: t.update({HEAD.replace("score", "classifier"): t.pop(HEAD)})),
            ["toy: 'classifier.weight' is among its tensors, and "],  # not as an encoder's
        ),
        (
            of_another_base,
            [
                "the adapter FOLDER could not be merged into its base ",
                "Correct base_model_name_or_path and revision in FOLDER/adapter_config.json",
            ],
        ),
    ],
    ids=["integers", "two models", "another head", "another base"],
)
def test_another_folder_is_refused(
    make: Make, spoil: Callable[[Path], None], named: list[str]
) -> None:
    """In one line, with what is wrong and where to correct it."""
    folder = make("rm", **CLASSIFIER)
    spoil(folder)

    text = refusal(folder)

    assert [part for part in named if part not in text] == []
    assert "\n" not in text


def test_an_adapter_of_zeros_is_named(make: Make) -> None:
    """Its rewards are the base's: a warning of the run and of `models check` (EditHF#4)."""
    folder = make("rm", **CLASSIFIER)
    zero = lambda tensors: [t.zero_() for k, t in tensors.items() if "lora_B" in k]  # noqa: E731
    assert "warning" not in said(folder)
    rewrite(folder / "adapter_model.safetensors", zero)

    with pytest.warns(
        UserWarning, match=r"changes nothing.* every lora_B in .*'base_model\.model\."
    ):
        checkpoint(folder)
    assert said(folder)["warning"].startswith("its LoRA changes nothing, for every lora_B in ")
    assert "can be scored" in said(folder)


@pytest.mark.slow
def test_other_names_of_the_same_tensors_are_read(make: Make) -> None:
    """As PEFT reads them by its own (transformers#26160); `test_tensor_names` has more of them."""
    folder = make("lm", **CLASSIFIER)
    expected = checkpoint(folder).score(PROMPT, [(5,), (6,)])
    rewrite(folder / "adapter_model.safetensors", by_other_names)

    assert "can be scored" in said(folder)
    found = checkpoint(folder).score(PROMPT, [(5,), (6,)])
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def by_other_names(tensors: Any) -> None:
    """As a compiled model under DDP saves them, with the untrained head beside the trained one."""
    part = "score.{}.weight".format
    tensors["base_model.model." + part("original_module")] = torch.zeros(1, 32)
    tensors["base_model.model." + part("modules_to_save.default")] = tensors.pop(HEAD)
    tensors.update({f"module._orig_mod.{key}": tensors.pop(key) for key in list(tensors)})


# LoRA on experts


@pytest.fixture(scope="module")
def experts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model of experts, and an adapter with LoRA for each, as of transformers 4."""
    home = tmp_path_factory.mktemp("experts")
    base = load_file(toy_checkpoint(home / "base", kind="qwen3_moe") / "model.safetensors")
    saved: dict[str, torch.Tensor] = {}
    for name, tensor in base.items():
        if ".experts." in name:
            draw = torch.Generator().manual_seed(len(saved))
            parts = {"A": (2, tensor.shape[1]), "B": (tensor.shape[0], 2)}
            for part, shape in parts.items():
                key = f"base_model.model.{name.replace('.weight', f'.lora_{part}.weight')}"
                saved[key] = 0.3 * torch.randn(shape, generator=draw)
    (home / "adapter").mkdir()
    save_file(saved, home / "adapter" / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "peft_version": "0.17.0"}
    settings["target_modules"] = ["gate_proj", "up_proj", "down_proj"]
    settings["base_model_name_or_path"] = str(home / "base")
    (home / "adapter" / "adapter_config.json").write_text(json.dumps(settings))
    return home


@pytest.mark.slow
def test_lora_for_each_expert_is_merged(experts: Path, tmp_path: Path) -> None:
    """Into each expert's own weights, though transformers 5 has them fused (transformers#42491)."""
    merged = shutil.copytree(experts / "base", tmp_path / "merged")
    tensors = load_file(merged / "model.safetensors")
    saved = load_file(experts / "adapter" / "adapter_model.safetensors")
    for name in [name for name in tensors if ".experts." in name]:
        key = f"base_model.model.{name.removesuffix('.weight')}"
        tensors[name] += 3 * saved[f"{key}.lora_B.weight"] @ saved[f"{key}.lora_A.weight"]
    save_file(tensors, merged / "model.safetensors", {"format": "pt"})
    answers = [(5,), (6,), (7,)]

    found, expected, base = (
        checkpoint(folder, dtype="float32").score(PROMPT, answers)
        for folder in (experts / "adapter", merged, experts / "base")
    )

    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    assert np.abs(found - base).max() > 0.01
    assert "can be scored" in said(experts / "adapter")


@pytest.mark.parametrize(
    ("settings", "lost", "text"),
    [
        ({"use_rslora": True}, "", "has use_rslora, and LoRA for single experts, which "),
        ({"rank_pattern": {"down_proj": 2}}, "", "has rank_pattern, and LoRA for single experts, "),
        ({"target_modules": ["gate_proj", "down_proj"]}, "up_proj", "It has LoRA for single exper"),
        ({"target_modules": ["q_proj", "down_proj"]}, "", "It has LoRA for single experts ('base_"),
    ],
    ids=["rslora", "ranks", "half of what is fused", "others"],
)
def test_lora_for_experts_that_peft_does_not_fuse_is_refused(
    experts: Path, tmp_path: Path, settings: dict[str, Any], lost: str, text: str
) -> None:
    """In `models check`, and not as another base's."""
    folder = configure(shutil.copytree(experts / "adapter", tmp_path / "adapter"), **settings)
    if lost:
        drop = lambda tensors: [tensors.pop(key) for key in list(tensors) if lost in key]  # noqa: E731
        rewrite(folder / "adapter_model.safetensors", drop)

    refused = said(folder)["refused"]

    assert text in refused
    assert "Correct base_model_name_or_path" not in refused
    assert f"toy: {refused}".replace(str(folder), "FOLDER") == refusal(folder)


@pytest.mark.parametrize(
    ("kind", "release", "read"),
    [
        ("qwen3_moe", "0.19.1", True),
        ("qwen3_moe", "0.21.0", True),
        ("qwen3_moe", "0.19.1.dev0", False),
        ("qwen3_moe", "0.19.0", False),
        ("qwen3_moe", "0.18.1", False),
        ("qwen3_moe", None, False),
        ("gpt_oss", None, True),
        ("gpt_oss", "0.18.1", True),
        ("gpt_oss", "0.19.0", False),
    ],
)
def test_lora_of_fused_experts_is_read_in_the_order_of_its_release(
    bases: Path, make: Make, kind: str, release: str | None, read: bool
) -> None:
    """PEFT turned the two factors in 0.19.1 (peft#3112, #3165), where experts' outputs come first.

    Where inputs come first, as in gpt-oss, only 0.19.0 had them otherwise.
    """
    if not (bases / kind).exists():
        toy_checkpoint(bases / kind, kind=kind)
    folder = configure(make(kind, target_parameters=["experts.down_proj"]), peft_version=release)

    found = said(folder)

    assert ("can be scored" in found) is read
    if not read:
        assert "has target_parameters, LoRA on fused experts (" in found["refused"]
        assert "mlp.experts.down_proj), saved by " in found["refused"]
        assert f"toy: {found['refused']}".replace(str(folder), "FOLDER") == refusal(folder)


# What `rmaudit models check` says of them


def said(folder: Path | str) -> dict[str, str]:
    """Return what is found, by its label; nothing is cached beyond the call."""
    with tempfile.TemporaryDirectory() as cache:
        return dict(scoring_description.look(ModelSpec("toy", str(folder)), Path(cache), "toy"))


@pytest.fixture
def hub(bases: Path, tmp_path: Path, monkeypatch: Patch) -> Iterator[Hub]:
    """A hub with the language model, a quantized one and one of pickles."""
    quantized, pickled = (
        shutil.copytree(bases / "lm", tmp_path / "hub" / name) for name in ("quantized", "pickled")
    )
    change(quantized / "config.json", quantization_config={"quant_method": "gptq"})
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    models = {"lm": bases / "lm", "quantized": quantized, "pickled": pickled}
    served = Hub({f"owner/{name}": folder for name, folder in models.items()})
    with serving(served, tmp_path / "cache of the hub", monkeypatch) as found:
        yield found


GROUPED = "base_model.model.model.layers.0.mlp.experts.lora_"
SHAPES = {"gate_and_up_A": (4, 32, 2), "gate_and_up_B": (4, 2, 32), "down_A": (4, 16, 2)}


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("base", "settings", "grouped", "text"),
    [
        ("lm", {"target_modules": ["q_proj"]}, False, "the head was never saved: "),
        ("quantized", CLASSIFIER, False, "its base BASE is quantized, and merging an adapter "),
        ("pickled", CLASSIFIER, False, "its base owner/pickled: no *.safetensors in owner/pickled"),
        # NeMo Automodel saves the LoRA of all experts of a layer in one (its issue 1814).
        ("lm", CLASSIFIER, True, f"3 tensors of ADAPTER, such as '{GROUPED}down_A' (4, 16, 2), ar"),
    ],
)
def test_an_adapter_is_refused_before_its_base_is_downloaded(  # noqa: PLR0917 (cases)
    make: Make, tmp_path: Path, base: str, settings: Any, grouped: bool, text: str
) -> None:
    """In a run and in `models check`, with the same reason."""
    folder = configure(make("lm", **settings), base_model_name_or_path=f"owner/{base}")
    cache, path = tmp_path / "cache of the hub", folder / "adapter_model.safetensors"
    snapshot = cache / f"models--owner--{base}" / "snapshots" / COMMIT
    if grouped:
        more = {GROUPED + name: torch.ones(shape) for name, shape in SHAPES.items()}
        rewrite(path, lambda tensors: tensors.update(more))

    looked, ran = said(folder)["refused"], refusal(folder)

    assert f"toy: {looked}".replace(str(folder), "FOLDER") == ran
    assert looked.startswith(text.replace("BASE", str(snapshot)).replace("ADAPTER", str(path)))
    assert not list(cache.rglob("*.safetensors"))
    assert not list(cache.rglob("*.bin"))


CARD = """---
base_model: {base}
---
The following `bitsandbytes` quantization config was used during training:
- load_in_8bit: {eight}
- load_in_4bit: {four}
- bnb_4bit_quant_type: {kind}
"""


@pytest.mark.parametrize(
    ("card", "told", "nf4"),
    [
        (CARD.format(base="a/b", eight=False, four=True, kind="nf4"), "load_in_4bit: True", True),
        (CARD.format(base="a/b", eight=False, four=True, kind="fp4"), "load_in_4bit: True", False),
        (CARD.format(base="a/b", eight=True, four=False, kind="fp4"), "load_in_8bit: True", False),
        ("---\nbase_model: a/b-bnb-4bit\n---\n", "base_model: a/b-bnb-4bit", True),
        (CARD.format(base="a/b", eight=False, four=False, kind="fp4"), "", False),
        (None, "", False),
    ],
    ids=["nf4", "fp4", "8 bits", "base", "neither", "no card"],
)
def test_a_base_that_was_quantized_in_training_is_told(
    make: Make, card: str | None, told: str, nf4: bool, recwarn: pytest.WarningsRecorder
) -> None:
    """As the adapter's card says; its rewards in training were others (unsloth-zoo PR 810)."""
    folder = make("lm", **CLASSIFIER)
    (folder / "README.md").unlink()
    if card is not None:
        (folder / "README.md").write_text(card)

    adapter = checkpoint(folder).adapter

    assert adapter is not None
    assert (adapter.base_in_training, adapter.base_was_nf4) == (told, nf4)
    warned = [str(each.message) for each in recwarn if "quantized base" in str(each.message)]
    assert len(warned) == bool(told)
    assert all(f"{told!r} in {folder / 'README.md'}" in text for text in warned)
    assert ("trained on" in said(folder)) == bool(told)


@pytest.mark.slow
@pytest.mark.parametrize("on_hub", [False, True], ids=["folder", "hub"])
def test_an_adapter_whose_base_is_not_here(
    make: Make, hub: Hub, tmp_path: Path, on_hub: bool
) -> None:
    """By the headers on the hub, at its revision; a run then downloads it; a pickle is told."""
    folder = configure(make("lm", **CLASSIFIER), base_model_name_or_path="owner/lm")
    hub.models["owner/adapter"] = folder
    where = "owner/adapter" if on_hub else str(folder)

    found = said(where)

    assert found["base"] == f"owner/lm at {COMMIT}"
    assert found["base weights"] == "not here yet; the first audit downloads them"
    assert found["head"] == "linear: score.weight (1, 32)"
    assert found["can be scored"] == "pytest audits --model toy"
    assert not list((tmp_path / "cache of the hub").rglob("*.safetensors"))
    if not on_hub:
        model = checkpoint(folder)
        assert np.isfinite(model.score(PROMPT, ["love"])).all()
        assert model.identity["base_revision"] == COMMIT
        assert "base weights" not in said(folder)
        assert "(RevisionNotFoundError: " in refusal(configure(folder, revision="v1.0"))
        return
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    text = said(where)["refused"]
    assert text.startswith("no adapter_model.safetensors in owner/adapter (only adapter_model.bin")
    assert text.endswith("model.save_pretrained(FOLDER) writes safetensors")
