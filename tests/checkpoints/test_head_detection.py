"""A folder that cannot be scored is refused with the reason, before any weights are read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.checkpoints.folders import CONFIG, HIDDEN, TENSORS, check, index, refusal, write

Shapes = dict[str, tuple[int, ...]]
FLOATS = "allowed: F64, F32, F16, BF16."


@pytest.mark.parametrize("kind", ["llama", "gemma3_text", "doge", "bert", None])
def test_a_plain_classifier_passes(tmp_path: Path, kind: str | None) -> None:
    """One label is all it takes, whatever the backbone; configuration and head are handed on."""
    found = check(write(tmp_path, model_type=kind))

    assert found.config == CONFIG | {"model_type": kind}
    assert found.head.family.NAME == "linear"
    assert found.head_shapes == {"score.weight": (1, HIDDEN)}
    assert {key: header.shape for key, header in found.headers.items()} == TENSORS


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_embd": HIDDEN},
        {"d_model": HIDDEN},
        {"hidden_size": 24, "word_embed_proj_dim": HIDDEN},  # OPT's projection comes first
        {"hidden_size": 24, "text_config": {"hidden_size": HIDDEN}},  # of models that see images
        {"hidden_size": HIDDEN, "text_config": None},
    ],
    ids=str,
)
def test_the_hidden_size_goes_by_several_names(tmp_path: Path, sizes: dict[str, object]) -> None:
    """Each is that of a class of transformers."""
    write(tmp_path)
    config = {key: value for key, value in CONFIG.items() if key != "hidden_size"}
    (tmp_path / "config.json").write_text(json.dumps(config | sizes))

    assert check(tmp_path).head_shapes == {"score.weight": (1, HIDDEN)}


@pytest.mark.parametrize("place", [1, 2, 3])
def test_the_head_may_be_in_any_shard(tmp_path: Path, place: int) -> None:
    """The headers of all shards are looked through, and all must be whole."""
    for number in (1, 2, 3):
        own: Shapes = {"score.weight": (1, HIDDEN)} if number == place else {f"m.{number}": (2,)}
        write(tmp_path, tensors=own, name=f"model-{number}-of-3.safetensors")
    index(tmp_path, 1, 2, 3)
    assert check(tmp_path).head.keys == {"score.weight"}

    (tmp_path / f"model-{place % 3 + 1}-of-3.safetensors").write_bytes(b"")

    assert f"FOLDER/model-{place % 3 + 1}-of-3.safetensors is damaged: " in refusal(tmp_path)


BACKBONE: Shapes = {
    "lm_head.weight": (99, HIDDEN),
    "model.embed_tokens.weight": (99, HIDDEN),
    "model.layers.0.self_attn.value.weight": (HIDDEN, HIDDEN),
    "model.layers.1.mlp.gate.weight": (1, HIDDEN),
    "model.norm.weight": (HIDDEN,),
}


@pytest.mark.parametrize(
    "head",
    [
        {"v_head.weight": (1, HIDDEN)},
        {"value_head.summary.bias": (1,), "value_head.summary.weight": (1, HIDDEN)},
        {"reward_head.0.weight": (8, HIDDEN), "reward_head.2.weight": (1, 8)},
        {"model.score.weight": (1, HIDDEN)},
        {"linear.weight": (1, HIDDEN)},
        {},
    ],
    ids=lambda head: ", ".join(head) or "none",
)
@pytest.mark.parametrize("adapted", [False, True], ids=["checkpoint", "adapter"])
def test_an_unknown_head_is_named(tmp_path: Path, head: Shapes, *, adapted: bool) -> None:
    """With its shape and two ways out; of the backbone nothing looks like a head."""
    folder = write(tmp_path / "base", tensors=BACKBONE | head)
    if adapted:
        said = {"peft_type": "LORA", "base_model_name_or_path": str(folder)}
        lora = "base_model.model.model.layers.1.mlp.gate.lora_A.weight"
        folder = write(tmp_path / "lora", tensors={lora: (2, 8)}, name="adapter_model.safetensors")
        (folder / "adapter_config.json").write_text(json.dumps(said))

    text = refusal(folder)

    assert "random" in text
    assert ("the head was never saved" in text) is adapted
    assert all(f"{key!r} {shape}" in text for key, shape in head.items())
    assert not any(key in text for key in BACKBONE)
    assert ("which rmaudit never runs" in text) is bool(head)
    assert ("Do not rename them" in text) is bool(head)


MANY = {f"reward_head.{n}.weight": (8, HIDDEN) for n in range(9)}
TWICE = {**TENSORS, "model.model.norm.weight": (HIDDEN,)}


@pytest.mark.parametrize(
    ("tensors", "config", "named"),
    [
        (BACKBONE | MANY, {}, ("'reward_head.3.weight' (8, 8) and 5 more",)),
        (TWICE, {}, ("toy: both 'model.model.norm.weight' and 'model.norm.weight' are in ",)),
        (TENSORS, {"hidden_size": ...}, ("hidden size (none named)",)),
        *(
            (TENSORS | {"score.weight": shape}, {}, (f"'score.weight' has shape {shape}", step))
            for shape, step in {
                (2, HIDDEN): "num_labels=1",
                (5, HIDDEN): "num_labels=1",
                (1, HIDDEN + 1): "reads something else than a state",
                (2, HIDDEN + 1): "reads something else than a state",
                (HIDDEN,): "one and the same checkpoint",
                (1, HIDDEN, 1): "one and the same checkpoint",
                (): "one and the same checkpoint",
            }.items()
        ),
    ],
    ids=range(10),
)
def test_tensors_that_are_no_head_are_refused(
    tmp_path: Path, tensors: Shapes, config: dict[str, Any], named: tuple[str, ...]
) -> None:
    """Of no family, twice there, of several labels, or of another configuration."""
    text = refusal(write(tmp_path, tensors=tensors, **config))

    assert [part for part in named if part not in text] == []


def test_weights_that_are_no_safetensors_are_refused(tmp_path: Path) -> None:
    """No pickle is opened; what is there instead is named."""
    (write(tmp_path) / "model.safetensors").unlink()
    assert refusal(tmp_path).startswith("toy: FOLDER holds no weights")
    for name in ("b.pt", "a.pth", "c.bin"):
        (tmp_path / name).write_bytes(b"never read")

    assert refusal(tmp_path).startswith("toy: no *.safetensors in FOLDER (only a.pth, b.pt, c.bin)")


@pytest.mark.parametrize("cut", [0, 4, 20, -1, None], ids=["empty", "no", "half", "tail", "page"])
def test_damaged_safetensors_are_refused(tmp_path: Path, cut: int | None) -> None:
    """A download that broke off, wherever it did, or a page of HTML, is named as damaged."""
    path = write(tmp_path) / "model.safetensors"
    path.write_bytes(b"<!DOCTYPE html>" * 10 if cut is None else path.read_bytes()[:cut])

    said = refusal(tmp_path)
    assert said.startswith("toy: FOLDER/model.safetensors is damaged: ")
    assert said.endswith(f" ({path.stat().st_size:,} bytes). Copy or download it again")


@pytest.mark.parametrize("method", ["bitsandbytes", "gptq", "fp8", "compressed-tensors", None])
def test_quantized_weights_pass_only_if_asked_for(tmp_path: Path, method: str | None) -> None:
    """Whatever the method, which is named; old releases wrote none. A full checkpoint does not."""
    given = {"quant_method": method} if method else {"bits": 4}
    text = refusal(write(tmp_path, quantization_config=given))

    assert text.startswith(f"toy: its weights are quantized ({method or 'unnamed'}; ")
    assert "`quantized: true`" in text
    assert check(tmp_path, quantized=True).config["quantization_config"] == given
    full = refusal(write(tmp_path), quantized=True)
    assert "models.yaml has `quantized: true`, and FOLDER/config.json no quant" in full


@pytest.mark.parametrize("key", [*TENSORS, "model.position_ids"])
@pytest.mark.parametrize(
    ("dtype", "said"),
    [
        (np.int64, "I64"),
        (np.complex64, "C64"),
        (np.uint8, "U8"),
        (np.bool_, "BOOL"),
        *((dtype, "") for dtype in (np.float16, np.float32, np.float64)),
    ],
)
def test_weights_are_floats(tmp_path: Path, key: str, dtype: type[np.generic], said: str) -> None:
    """From the headers; a conversion would make another model of them, without a word.

    What is no weight may be of integers: buffers such as positions and masks are.
    """
    write(tmp_path)
    ones = {name: np.ones(shape, np.float32) for name, shape in TENSORS.items()}
    odd = {key: np.ones(TENSORS.get(key, (3,)), dtype)}
    save_file(ones | odd, tmp_path / "model.safetensors")
    if not said or key not in TENSORS:
        assert check(tmp_path).head.keys == {"score.weight"}
    else:
        assert f"{key!r} in FOLDER is of {said}, {FLOATS}" in refusal(tmp_path)


def test_a_pickle_that_is_newer_than_the_weights_is_named(tmp_path: Path) -> None:
    """A later save may have written it; an older one is what these weights were made from."""
    write(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    os.utime(tmp_path / "model.safetensors", (1, 1))
    with pytest.warns(UserWarning, match=r"^toy: pytorch_model\.bin in .* was written after the "):
        found = check(tmp_path)
    assert len([*found.cautions()]) == 1

    os.utime(tmp_path / "pytorch_model.bin", (0, 0))

    assert not [*found.cautions()]
