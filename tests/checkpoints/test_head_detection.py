"""A folder that cannot be scored is refused with the reason, before any weights are read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from rmaudit.checkpoints.head_detection import find_head
from rmaudit.checkpoints.weights_headers import Header
from rmaudit.errors import ModelError
from tests.checkpoints.folders import CONFIG, HIDDEN, TENSORS, check, index, refusal, write


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
        write(tmp_path, tensors={f"model.{number}": (2,)}, name=f"model-{number}-of-3.safetensors")
    name = f"model-{place}-of-3.safetensors"
    write(tmp_path, tensors={"score.weight": (1, HIDDEN)}, name=name)
    index(tmp_path, 1, 2, 3)
    assert check(tmp_path).head.keys == {"score.weight"}

    (tmp_path / f"model-{place % 3 + 1}-of-3.safetensors").write_bytes(b"")

    assert f"FOLDER/model-{place % 3 + 1}-of-3.safetensors is damaged: " in refusal(tmp_path)


BACKBONE = {
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
@pytest.mark.parametrize("added", [None, {}], ids=["checkpoint", "adapter"])
def test_an_unknown_head_is_named(
    tmp_path: Path, head: dict[str, tuple[int, ...]], added: dict[str, tuple[int, ...]] | None
) -> None:
    """With its shape and two ways out; of the backbone nothing looks like a head."""
    headers = {key: Header(shape, "F32") for key, shape in (BACKBONE | head).items()}
    with pytest.raises(ModelError) as caught:
        find_head(CONFIG, headers, tmp_path, model="toy", adapter_tensors=added)
    text = str(caught.value)

    assert "random" in text
    assert all(f"{key!r} {shape}" in text for key, shape in head.items())
    assert not any(key in text for key in BACKBONE)
    assert ("which rmaudit never runs" in text) is bool(head)
    assert ("Do not rename them" in text) is bool(head)
    assert "named 'score.weight'" not in text


def test_of_many_tensors_that_may_be_a_head_four_are_named(tmp_path: Path) -> None:
    """And the number of the others."""
    heads = {f"reward_head.{n}.weight": (8, HIDDEN) for n in range(9)}
    text = refusal(write(tmp_path, tensors=BACKBONE | heads))

    assert text.count("'reward_head.") == 4
    assert "and 5 more" in text


@pytest.mark.parametrize(
    ("shape", "step"),
    [
        *(((labels, HIDDEN), "num_labels=1") for labels in (2, 5)),
        *(((labels, HIDDEN + 1), "reads something else than a state") for labels in (1, 2)),
        *((shape, "one and the same checkpoint") for shape in [(HIDDEN,), (1, HIDDEN, 1), ()]),
    ],
)
def test_a_head_of_a_wrong_shape_is_refused(
    tmp_path: Path, shape: tuple[int, ...], step: str
) -> None:
    """Of several labels, or of another configuration."""
    text = refusal(write(tmp_path, tensors=TENSORS | {"score.weight": shape}))

    assert text.startswith(f"toy: 'score.weight' has shape {shape}")
    assert step in text


def test_two_names_for_one_tensor_are_refused(tmp_path: Path) -> None:
    """Transformers would load one of them, and say nothing of the other."""
    text = refusal(write(tmp_path, tensors=TENSORS | {"model.model.norm.weight": (HIDDEN,)}))

    assert text.startswith("toy: both 'model.model.norm.weight' and 'model.norm.weight' are in ")


def test_a_config_without_a_hidden_size_is_refused(tmp_path: Path) -> None:
    """The message says that none is named."""
    (write(tmp_path) / "config.json").write_text("{}")

    assert "hidden size (none named)" in refusal(tmp_path)


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
    """Whatever the method, which is named; old releases wrote none."""
    given = {"quant_method": method} if method else {"bits": 4}
    text = refusal(write(tmp_path, quantization_config=given))

    assert text.startswith(f"toy: its weights are quantized ({method or 'unnamed'}; ")
    assert "`quantized: true`" in text
    assert check(tmp_path, quantized=True).config["quantization_config"] == given


def test_asking_for_quantized_weights_quantizes_nothing(tmp_path: Path) -> None:
    """A full checkpoint with `quantized: true` is a mistake in models.yaml."""
    text = refusal(write(tmp_path), quantized=True)

    assert "models.yaml has `quantized: true`, and FOLDER/config.json no quant" in text


@pytest.mark.parametrize("key", list(TENSORS))
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
    """From the headers; a conversion would make another model of them, without a word."""
    write(tmp_path)
    shapes = {name: np.ones(shape, np.float32) for name, shape in TENSORS.items()}
    save_file(shapes | {key: shapes[key].astype(dtype)}, tmp_path / "model.safetensors")
    if not said:
        assert check(tmp_path).head.keys == {"score.weight"}
        return

    text = refusal(tmp_path)

    assert f"{key!r} in FOLDER is of {said}, allowed: F64, F32, F16, BF16." in text


def test_what_is_no_weight_may_be_of_integers(tmp_path: Path) -> None:
    """Buffers such as positions and masks are."""
    write(tmp_path)
    tensors = {name: np.ones(shape, np.float32) for name, shape in TENSORS.items()}
    buffer = {"model.position_ids": np.arange(3)}
    save_file(tensors | buffer, tmp_path / "model.safetensors")

    assert check(tmp_path).headers["model.position_ids"].dtype == "I64"


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
