"""An adapter is what lies in its folder and its base; what is damaged is refused by its name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from rmaudit.checkpoints import adapter_files, checkpoint_source
from tests.checkpoints.adapters import (
    CLASSIFIER,
    HEAD,
    PROMPT,
    Make,
    configure,
    refusal,
    rewrite,
    said,
)
from tests.models.loaded import change, checkpoint
from tests.toys import toy_checkpoint

Patch = pytest.MonkeyPatch


def double(tensors: Any) -> None:
    """Change every number."""
    for tensor in tensors.values():
        tensor.mul_(2)


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
