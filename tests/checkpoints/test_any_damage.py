"""No damage to a published checkpoint gives a number: any key, in every family, in many ways.

Any tensor of a family's toy (`test_families`), of its head or its backbone, is deleted, renamed,
moved or copied under a prefix, or reshaped on disk. It must be refused when it is opened or at the
first score; and the load refuses what `models check` refuses by headers alone, and nothing else.
Tensors that a family says it does not read are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from rmaudit.checkpoints import head_detection, heads
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models import transformers_loader
from rmaudit.models.checkpoint_rows import CheckpointRows
from tests.checkpoints.folders import save_adapter
from tests.models.test_families import FAMILIES, HIDDEN, PROMPT, Toy, opened, pattern, published
from tests.toys import pair_tokenizer, toy_checkpoint, toy_language_model

__all__ = ["pattern"]  # a fixture, used by all tests here

Tensors = dict[str, Tensor]
Whole = tuple[Path, Tensors, Any]
PLAIN = Toy(
    "llama",
    {},
    {"score.weight": (1, HIDDEN)},
    lambda tensors, states, _: (tensors["score.weight"] @ states[-1])[0],
)
PAIR = Toy(  # its own classifier, as `save_pretrained` writes it
    "deberta-v2",
    {},
    {
        "pooler.dense.weight": (HIDDEN, HIDDEN),
        "pooler.dense.bias": (HIDDEN,),
        "classifier.weight": (1, HIDDEN),
        "classifier.bias": (1,),
    },
    lambda *_: 0.0,  # `test_pairs` has it
)
ALL = {"plain": PLAIN, "experts": replace(PLAIN, kind="qwen3_moe"), "pair": PAIR, **FAMILIES}
PREFIXES = ("model.", "module.", "base_model.model.", "score.", "gating.", "v_head.", "_")
IGNORED = {key for family in heads.FAMILIES for key in family.IGNORED}


def misspelt(key: str, at: int) -> str:
    """The key with another letter at one place."""
    return key[:at] + ("y" if key[at] == "x" else "x") + key[at + 1 :]


def other_shape(tensor: Tensor, way: int) -> Tensor:
    """Another shape: a row more or less, an axis more or less, or turned."""
    if not tensor.dim():
        return tensor.expand(2)
    ways = [
        tensor[:-1],
        tensor[[*range(len(tensor)), 0]],
        tensor[None],
        tensor[..., None],
        tensor[..., :-1],
        tensor.flatten() if tensor.dim() > 1 else tensor.expand(2, -1),
        tensor.T if tensor.dim() > 1 and tensor.shape[0] != tensor.shape[1] else tensor[:0],
    ]
    return ways[way % len(ways)]


def renamed(tensors: Tensors, key: str, name: str) -> Tensors:
    """Under another name, in its place."""
    return {(name if other == key else other): tensor for other, tensor in tensors.items()}


DAMAGE: dict[str, Callable[[Tensors, str, int], Tensors]] = {
    "deleted": lambda whole, key, _: {k: t for k, t in whole.items() if k != key},
    "renamed": lambda whole, key, way: renamed(whole, key, misspelt(key, way % len(key))),
    "moved": lambda whole, key, way: renamed(whole, key, PREFIXES[way % len(PREFIXES)] + key),
    "wrapped": lambda whole, _, way: {
        PREFIXES[way % len(PREFIXES)] + key: tensor for key, tensor in whole.items()
    },
    "cut": lambda whole, key, _: renamed(whole, key, key.partition(".")[2] or f"{key}."),
    "copied": lambda whole, key, way: {
        **whole,
        PREFIXES[way % len(PREFIXES)] + key: whole[key].clone(),
    },
    "reshaped": lambda whole, key, way: {**whole, key: other_shape(whole[key], way)},
}


def made_pair(folder: Path) -> Path:
    """An encoder with its tokenizer."""
    return toy_checkpoint(folder, kind=PAIR.kind, tokenizer=pair_tokenizer(PAIR.kind))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    """A family's folder, its whole tensors and their score, made when first asked for."""
    home, made = tmp_path_factory.mktemp("damaged"), dict[str, Whole]()

    def folder(name: str) -> Whole:
        if name not in made:
            path = made_pair(home / name) if name == "pair" else published(home / name, ALL[name])
            whole = load_file(path / "model.safetensors")
            score = opened(path, ALL[name]).score(PROMPT, ["love"])
            made[name] = path, {key: tensor.clone() for key, tensor in whole.items()}, score
        return made[name]

    return folder


def write(folder: Path, tensors: Tensors) -> None:
    """The folder with other tensors."""
    own = {key: tensor.contiguous().clone() for key, tensor in tensors.items()}
    save_file(own, folder / "model.safetensors", {"format": "pt"})


def accepted(folder: Path, toy: Toy) -> CheckpointRows | None:
    """Return what can be loaded, if `models check` finds all in place by the headers, else None."""
    spec = ModelSpec("toy", str(folder), dtype="float32", logit=toy.logit)
    try:
        cache = folder.parent / "cache"
        rows = CheckpointRows(head_detection.find(spec, cache), cache)
    except ModelError:
        return None
    try:
        transformers_loader.refuse_misfits(rows)
    except ModelError:
        with pytest.raises(ModelError):
            transformers_loader.load(rows, "cpu")
        return None
    return rows


def is_loaded(folder: Path, toy: Toy) -> bool:
    """Return whether `models check` finds all in place by the headers; the load keeps its word."""
    if (rows := accepted(folder, toy)) is None:
        return False
    transformers_loader.load(rows, "cpu")
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@settings(
    max_examples=4,  # of each of fifteen heads
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # a smaller example says no more, and costs a minute
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(at=st.integers(0, 10**6), damage=st.sampled_from(sorted(DAMAGE)), way=st.integers(0, 10**4))
@example(at=0, damage="deleted", way=0)
@example(at=0, damage="cut", way=0)
@example(at=0, damage="moved", way=0)
@example(at=0, damage="copied", way=0)
@example(at=0, damage="wrapped", way=1)
@example(at=980, damage="moved", way=0)  # of `experts`, one of a layer's
@example(at=0, damage="copied", way=6)  # of GPT-2, a name that its class ignores
def test_no_damage_gives_another_number(
    folders: Callable[[str], Whole], name: str, at: int, damage: str, way: int
) -> None:
    """Half of the draws are of the head, half of the backbone.

    Some renaming is none: transformers knows the backbone's tensors with one `model.` less or more
    before them, or its dot mistyped, and rmaudit knows wrappers' names before all of them; then the
    number is that of the whole. So it is where a class ignores what else there is: GPT-2's all
    names with `attn.bias`.
    """
    folder, whole, own = folders(name)
    named = {key for key in ALL[name].shapes if key != "model.embed_tokens.weight"}
    head = sorted(named - IGNORED or named)
    backbone = sorted(set(whole) - named)
    keys = head if at % 2 else backbone
    key = keys[at // 2 % len(keys)]
    write(folder, DAMAGE[damage](whole, key, way))
    loaded_right = {"cut", "moved", "renamed"} | ({"copied"} if "attn.bias" in key else set())

    if (rows := accepted(folder, ALL[name])) is None:
        return
    if damage != "wrapped" and (keys is head or damage not in loaded_right):
        transformers_loader.load(rows, "cpu")
        with pytest.raises(ModelError):
            opened(folder, ALL[name]).score(PROMPT, ["love"])
        return
    score = opened(folder, ALL[name]).score(PROMPT, ["love"])
    np.testing.assert_allclose(score, own, rtol=1e-5)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tensors]:
    """A LoRA adapter on a language model with the head that was trained, and its whole tensors."""
    home = tmp_path_factory.mktemp("adapter")
    base: Any = AutoModelForSequenceClassification.from_pretrained(
        toy_language_model(home / "lm"), num_labels=1
    )
    wanted = {"r": 2, "task_type": "SEQ_CLS", "target_modules": ["q_proj"]}
    folder = save_adapter(base, home / "adapter", **wanted)
    whole = load_file(folder / "adapter_model.safetensors")
    return folder, {key: tensor.clone() for key, tensor in whole.items()}


@pytest.mark.slow
@pytest.mark.parametrize("part", ["lora_A", "lora_B", "score"])
def test_no_damage_to_an_adapter_gives_a_number(adapter: tuple[Path, Tensors], part: str) -> None:
    """Of a LoRA tensor, or of the head that was saved with it; whole it is loaded."""
    folder, whole = adapter
    save_file(whole, folder / "adapter_model.safetensors")
    assert is_loaded(folder, PLAIN)
    key = min(key for key in whole if part in key)
    for damage, change in DAMAGE.items():
        if damage == "wrapped" and part != "lora_A":
            continue  # it is of all tensors: once is enough
        for way in range(1 if damage in {"deleted", "cut"} else len(PREFIXES)):
            own = {k: t.contiguous() for k, t in change(whole, key, way).items()}
            save_file(own, folder / "adapter_model.safetensors")
            understood = damage == "wrapped" and PREFIXES[way] in {"module.", "base_model.model."}
            assert is_loaded(folder, PLAIN) is understood
