"""A registry entry becomes a folder, and a folder that cannot be scored is refused with the reason.

The folders are written by hand: two tensors and a config.json are all that these checks read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
import transformers
from huggingface_hub.errors import LocalEntryNotFoundError
from huggingface_hub.utils import filter_repo_objects
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM

from rmaudit.checkpoints import embedded, shards, source
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from tests.hub import COMMIT, Hub, serving
from tests.toys import SIZES

HIDDEN = 8
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForSequenceClassification"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "pad_token_id": 0,
}
TENSORS = {"model.norm.weight": (HIDDEN,), "score.weight": (1, HIDDEN)}


def write(
    folder: Path,
    *,
    tensors: dict[str, tuple[int, ...]] | None = None,
    name: str = "model.safetensors",
    **config: Any,
) -> Path:
    """A folder with the given tensors of ones and CONFIG, changed as told."""
    folder.mkdir(exist_ok=True)
    shapes = TENSORS if tensors is None else tensors
    save_file({key: np.ones(shape, np.float32) for key, shape in shapes.items()}, folder / name)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    return folder


def index(folder: Path, *numbers: int, of: int | None = None) -> None:
    """The index that names these shards, one tensor each."""
    names = {f"{n}": f"model-{n}-of-{of or len(numbers)}.safetensors" for n in numbers}
    (folder / shards.INDEX).write_text(json.dumps({"weight_map": names}))


def refusal(folder: Path) -> str:
    """The text with which the folder is refused, FOLDER in place of its path."""
    with pytest.raises(ModelError) as caught:
        source.check(folder, model="toy")
    return str(caught.value).replace(str(folder), "FOLDER")


# What passes


@pytest.mark.parametrize("kind", ["llama", "gemma3_text", "doge", "bert", None])
def test_a_plain_classifier_passes(tmp_path: Path, kind: str | None) -> None:
    """One label is all it takes here, whatever the trunk; the config is handed on."""
    folder = write(tmp_path, model_type=kind)

    assert source.check(folder, model="toy") == CONFIG | {"model_type": kind}


@pytest.mark.parametrize("name", ["hidden_size", "n_embd", "d_model", "word_embed_proj_dim"])
def test_the_hidden_size_goes_by_several_names(tmp_path: Path, name: str) -> None:
    """GPT-2's and MPT's classes call it otherwise; OPT's head sits behind a projection."""
    folder = write(tmp_path, tensors={"score.weight": (1, 24)}, hidden_size=24)
    config = json.loads((folder / "config.json").read_text())
    del config["hidden_size"]
    (folder / "config.json").write_text(json.dumps(config | {name: 24}))

    assert source.check(folder, model="toy")[name] == 24


def test_a_projections_width_comes_before_the_hidden_size(tmp_path: Path) -> None:
    """OPT's head takes what the projection gives."""
    write(tmp_path, hidden_size=24, word_embed_proj_dim=HIDDEN)

    assert source.check(tmp_path, model="toy")["hidden_size"] == 24


def test_a_model_of_several_parts_has_the_texts_hidden_size(tmp_path: Path) -> None:
    """Models that also see images keep it in `text_config`."""
    write(tmp_path, hidden_size=24, text_config={"hidden_size": HIDDEN})

    assert source.check(tmp_path, model="toy")["hidden_size"] == 24


@pytest.mark.parametrize("place", ["model-1-of-3", "model-2-of-3", "model-3-of-3"])
def test_the_head_may_be_in_any_shard(tmp_path: Path, place: str) -> None:
    """The headers of all shards are looked through."""
    for number in (1, 2, 3):
        write(tmp_path, tensors={f"model.{number}": (2,)}, name=f"model-{number}-of-3.safetensors")
    write(tmp_path, tensors={"score.weight": (1, HIDDEN)}, name=f"{place}.safetensors")
    index(tmp_path, 1, 2, 3)

    assert source.check(tmp_path, model="toy")["model_type"] == "llama"


# What is refused


@pytest.mark.parametrize(
    "tensors",
    [
        {"model.norm.weight": (HIDDEN,)},
        {"model.norm.weight": (HIDDEN,), "v_head.weight": (1, HIDDEN)},
        {"model.norm.weight": (HIDDEN,), "model.score.weight": (1, HIDDEN)},
        {},
    ],
    ids=["no head", "value head", "misplaced", "no tensors"],
)
def test_a_missing_or_renamed_head_is_refused(
    tmp_path: Path, tensors: dict[str, tuple[int, ...]]
) -> None:
    """Where no family has a head, transformers would make one up."""
    folder = write(tmp_path, tensors=tensors)

    assert refusal(folder) == (
        "toy: no 'score.weight' in FOLDER (LlamaForSequenceClassification); transformers would "
        "give it a random head. Train one and save it with it (TRL's RewardTrainer does), give the "
        "folder where its head is, or, if one of a language model's logits is the reward, name its "
        "id as `logit` in models.yaml"
    )


def test_a_causal_language_model_is_refused(tmp_path: Path) -> None:
    """A real ForCausalLM folder has no reward head; the message names its architecture."""
    config = AutoConfig.for_model("llama", vocab_size=8, **SIZES)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)

    assert refusal(tmp_path).startswith("toy: no 'score.weight' in FOLDER (LlamaForCausalLM); ")


def test_a_config_without_architectures_is_refused_like_any(tmp_path: Path) -> None:
    """The message does not need the key."""
    folder = write(tmp_path, tensors={}, architectures=None)

    assert refusal(folder).startswith("toy: no 'score.weight' in FOLDER ((none)); ")


@pytest.mark.parametrize("labels", [2, 5])
def test_a_head_of_several_labels_is_refused(tmp_path: Path, labels: int) -> None:
    """Which of them is the reward is not known; two ways on."""
    folder = write(tmp_path, tensors=TENSORS | {"score.weight": (labels, HIDDEN)})

    assert refusal(folder) == (
        f"toy: 'score.weight' has shape ({labels}, 8): {labels} labels, and which of them is the "
        f"reward is not known. Train with num_labels=1; or, if one of them is the reward, save a "
        f"copy whose score.weight is that label's row alone, with num_labels 1"
    )


@pytest.mark.parametrize("shape", [(1, HIDDEN + 1), (HIDDEN,), (1, HIDDEN, 1), (2, HIDDEN + 1), ()])
def test_a_head_of_another_shape_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """It belongs to another configuration."""
    folder = write(tmp_path, tensors=TENSORS | {"score.weight": shape})

    assert refusal(folder) == (
        f"toy: 'score.weight' has shape {shape}, a reward model of hidden size 8 needs (1, 8): "
        f"take config.json and *.safetensors from one and the same checkpoint"
    )


def test_two_names_for_one_tensor_are_refused(tmp_path: Path) -> None:
    """Transformers would load one of them, and say nothing of the other."""
    folder = write(tmp_path, tensors=TENSORS | {"model.model.norm.weight": (HIDDEN,)})

    assert refusal(folder) == (
        "toy: both 'model.model.norm.weight' and 'model.norm.weight' are in FOLDER, which may be "
        "read as one and the same tensor: remove the one that is not the model's, or save it again"
    )


def test_a_config_without_a_hidden_size_is_refused(tmp_path: Path) -> None:
    """The message says that none is named."""
    write(tmp_path)
    (tmp_path / "config.json").write_text("{}")

    assert refusal(tmp_path) == (
        "toy: 'score.weight' has shape (1, 8), a reward model of hidden size (none named) needs "
        "(1, (none named)): take config.json and *.safetensors from one and the same checkpoint"
    )


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], "no weights"),
        (["pytorch_model.bin"], "only pytorch_model.bin"),
        (["b.pt", "a.pth", "c.bin"], "only a.pth, b.pt, c.bin"),
    ],
)
def test_weights_that_are_no_safetensors_are_refused(
    tmp_path: Path, names: list[str], found: str
) -> None:
    """No pickle is opened; what is there instead is named."""
    folder = write(tmp_path)
    (folder / "model.safetensors").unlink()
    for name in names:
        (folder / name).write_bytes(b"never read")

    assert refusal(folder) == (
        f"toy: no *.safetensors in FOLDER ({found}); rmaudit reads no pickles, which can run code. "
        f"Load the model with transformers and torch>=2.6 where you trust it, and save it again: "
        f"model.save_pretrained(FOLDER) writes safetensors"
    )


def test_a_folder_without_a_config_is_refused(tmp_path: Path) -> None:
    """A folder that is no checkpoint is told as such."""
    assert refusal(tmp_path) == "toy: no config.json in FOLDER; is it a checkpoint folder?"


def test_an_output_folder_without_a_config_names_its_newest_checkpoint(tmp_path: Path) -> None:
    """As models.yaml may name one."""
    write(tmp_path / "checkpoint-20")
    write(tmp_path / "checkpoint-100")

    assert refusal(tmp_path) == (
        "toy: no config.json in FOLDER; is it a checkpoint folder? Give one of its checkpoints, "
        "such as FOLDER/checkpoint-100"
    )


# Quantized weights

BNB = {"quant_method": "bitsandbytes", "load_in_4bit": True}


@pytest.mark.parametrize("method", ["bitsandbytes", "gptq", "awq", "fp8", "compressed-tensors"])
def test_quantized_weights_are_refused(tmp_path: Path, method: str) -> None:
    """Whatever the method; it is named, with two ways on."""
    folder = write(tmp_path, quantization_config={"quant_method": method})

    assert refusal(folder) == (
        f"toy: its weights are quantized ({method}; quantization_config in FOLDER/config.json), so "
        f"its rewards are not those of the model that was trained. Audit the checkpoint from "
        f"before it was quantized; or, if these weights are what you use, say so with `quantized: "
        f"true` in its entry in models.yaml"
    )


@pytest.mark.parametrize("given", [{"bits": 4}, "4bit"])
def test_quantized_weights_without_a_method_are_refused_too(tmp_path: Path, given: object) -> None:
    """Old releases wrote none."""
    assert refusal(write(tmp_path, quantization_config=given)).startswith(
        "toy: its weights are quantized (unnamed; "
    )


def test_quantized_weights_pass_where_they_are_asked_for(tmp_path: Path) -> None:
    """The configuration is handed on as it is."""
    folder = write(tmp_path, quantization_config=BNB)

    assert source.check(folder, model="toy", quantized=True)["quantization_config"] == BNB


def test_asking_for_quantized_weights_quantizes_nothing(tmp_path: Path) -> None:
    """A full checkpoint with `quantized: true` is a mistake in models.yaml."""
    with pytest.raises(ModelError) as caught:
        source.check(write(tmp_path), model="toy", quantized=True)

    assert str(caught.value).replace(str(tmp_path), "FOLDER") == (
        "toy: models.yaml has `quantized: true`, and FOLDER/config.json no quantization_config; "
        "rmaudit never quantizes weights itself. Remove the line, or give the folder of the "
        "quantized checkpoint"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not JSON: Expecting property name"),
        (b"", "is not JSON: Expecting value"),
        (b"\xff\xfe", "is not JSON: 'utf-8' codec can't decode"),
        (b"[1, 2]", "holds no mapping"),
        (b"null", "holds no mapping"),
    ],
)
def test_a_config_that_is_no_mapping_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    """The file and what is wrong with it are named."""
    (write(tmp_path) / "config.json").write_bytes(content)

    assert refusal(tmp_path).startswith(f"toy: FOLDER/config.json {said}")


@pytest.mark.parametrize("cut", [0, 4, 20, -1], ids=["empty", "no header", "half a header", "tail"])
def test_damaged_safetensors_are_refused(tmp_path: Path, cut: int) -> None:
    """A download that broke off, wherever it did, is named as damaged."""
    path = write(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:cut])

    assert refusal(tmp_path).startswith("toy: FOLDER/model.safetensors is damaged: ")


def test_safetensors_of_garbage_are_refused(tmp_path: Path) -> None:
    """So is a file of something else, such as a page of HTML."""
    (write(tmp_path) / "model.safetensors").write_bytes(b"<!DOCTYPE html>" * 10)

    assert refusal(tmp_path).startswith("toy: FOLDER/model.safetensors is damaged: ")


def test_a_damaged_shard_behind_the_heads_is_refused(tmp_path: Path) -> None:
    """Every shard is opened, not only those up to the head."""
    write(tmp_path, name="model-1-of-2.safetensors")
    (tmp_path / "model-2-of-2.safetensors").write_bytes(b"")
    index(tmp_path, 1, 2)

    assert refusal(tmp_path).startswith("toy: FOLDER/model-2-of-2.safetensors is damaged: ")


# What transformers knows of it


def test_defaults_are_those_of_the_class(tmp_path: Path) -> None:
    """What config.json leaves out has the class's value."""
    write(tmp_path, model_type="gemma2")
    config = {"model_type": "gemma2", "hidden_size": HIDDEN}
    (tmp_path / "config.json").write_text(json.dumps(config))

    read = source.defaults(tmp_path, model="toy")

    assert (type(read).__name__, read.hidden_size, read.pad_token_id) == ("Gemma2Config", HIDDEN, 0)


@pytest.mark.parametrize("kind", ["Llama", "nonsense", "", None, 3, ["llama"], {"llama": 1}])
def test_an_unknown_model_type_is_refused(tmp_path: Path, kind: object) -> None:
    """Whatever stands there, it is told with its file, and what can be done."""
    write(tmp_path, model_type=kind)

    with pytest.raises(ModelError) as caught:
        source.defaults(tmp_path, model="toy")

    assert str(caught.value) == (
        f"toy: transformers {transformers.__version__} does not know the model_type {kind!r} in "
        f"{tmp_path / 'config.json'}; correct it, or install a release of transformers that can"
    )


@pytest.mark.parametrize("kind", ["mamba", "vit", "llama4"])
def test_a_model_type_without_a_classifier_is_refused(tmp_path: Path, kind: str) -> None:
    """Nothing in transformers could load it with a head."""
    write(tmp_path, model_type=kind)

    with pytest.raises(ModelError) as caught:
        source.refuse_unclassified(tmp_path, kind, model="toy")

    assert str(caught.value).startswith(
        f"toy: transformers {transformers.__version__} has no sequence-classification class for "
        f"the model_type {kind!r} in {tmp_path / 'config.json'}; "
    )


def test_a_setting_that_its_class_refuses_is_told(tmp_path: Path) -> None:
    """The first line of what transformers says."""
    write(tmp_path, num_attention_heads="four")

    with pytest.raises(ModelError) as caught:
        source.defaults(tmp_path, model="toy")

    assert str(caught.value).startswith(f"toy: config.json could not be read from {tmp_path} (")
    assert "\n" not in str(caught.value)


# Where the folder comes from


def test_a_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    """A source that is a folder needs no cache and no network."""
    assert source.locate(ModelSpec("toy", str(tmp_path)), tmp_path / "cache") == tmp_path
    assert not (tmp_path / "cache").exists()


def test_a_folder_that_is_not_there_is_never_looked_for_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The missing folder is named; nothing is downloaded under its name."""
    asked: list[str] = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", asked.append)

    with pytest.raises(ModelError) as caught:
        source.locate(ModelSpec("toy", str(tmp_path / "gone")), tmp_path)

    assert str(caught.value) == (
        f"toy: no folder {tmp_path / 'gone'}; correct its `source` in models.yaml"
    )
    assert asked == []


def test_a_tilde_is_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~/run` is looked for in the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "run").mkdir()

    assert source.locate(ModelSpec("toy", "~/run"), tmp_path) == tmp_path / "run"


def test_embedded_is_built_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source `embedded` is what `demo.build` makes below the cache."""
    monkeypatch.setattr(embedded, "build", lambda cache: cache / "built")

    assert source.locate(ModelSpec("toy", "embedded"), tmp_path) == tmp_path / "built"


def test_a_hub_id_is_downloaded_at_its_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub is asked for exactly this commit, and for no pickles."""
    asked: dict[str, Any] = {}
    write(tmp_path)

    def download(
        repo: str, *, revision: str | None, allow_patterns: list[str], ignore_patterns: list[str]
    ) -> str:
        asked.update(repo=repo, revision=revision, patterns=allow_patterns, ignored=ignore_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)

    found = source.locate(ModelSpec("toy", "owner/name", revision="0" * 40), tmp_path)

    assert found == tmp_path
    assert asked["repo"] == "owner/name"
    assert asked["revision"] == "0" * 40
    assert {"*.json", "*.safetensors", "*.jinja"} <= set(asked["patterns"])
    assert not [pattern for pattern in asked["patterns"] if pattern.endswith((".bin", ".py"))]
    read = ["model.safetensors", "model-00001-of-00002.safetensors", "adapter_model.safetensors"]
    copies = [
        "consolidated.safetensors",
        "consolidated-1.safetensors",
        "onnx/model.safetensors",
    ]
    assert list(filter_repo_objects(read + copies, ignore_patterns=asked["ignored"])) == read


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LocalEntryNotFoundError("offline\nand more"), "LocalEntryNotFoundError: offline"),
        (OSError("disk full"), "OSError: disk full"),
        (ValueError("not a repo id"), "ValueError: not a repo id"),
    ],
)
def test_a_hub_that_fails_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    """The first line of what the hub said, and three ways on."""

    def download(*_: Any, **__: Any) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)

    with pytest.raises(ModelError) as caught:
        source.locate(ModelSpec("toy", "owner/name"), tmp_path)

    assert str(caught.value) == (
        f"toy: owner/name could not be had from the Hugging Face hub ({said}). Check the name, "
        f"your connection and your access (`hf auth login`), or give a folder: "
        f"pytest audits --model FOLDER"
    )


def test_a_hub_that_fails_without_a_word_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception with an empty text is named by its type."""

    def download(*_: Any, **__: Any) -> str:
        raise TimeoutError

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)

    with pytest.raises(ModelError, match=r"hub \(TimeoutError"):
        source.locate(ModelSpec("toy", "owner/name"), tmp_path)


# What the hub is asked for


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with a plain model, one with a head of no known family, and one of pickles."""
    small = {"num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 8}
    large = {"model.embed_tokens.weight": (100_000, HIDDEN)}
    write(tmp_path / "plain", tensors=large | TENSORS, **small)
    write(tmp_path / "odd", tensors=large | {"reward.weight": (1, HIDDEN)}, **small)
    write(tmp_path / "typed", tensors=large | TENSORS, model_type="nonsense")
    write(tmp_path / "pickled").joinpath("model.safetensors").unlink()
    (tmp_path / "pickled" / "pytorch_model.bin").write_bytes(b"never read")
    for name in ("plain", "odd"):
        (tmp_path / name / "modeling_own.py").write_text("raise SystemExit")
        (tmp_path / name / "pytorch_model.bin").write_bytes(b"never read")
    models = {f"owner/{name}": tmp_path / name for name in ("plain", "odd", "typed", "pickled")}
    with serving(Hub(models), tmp_path / "cache", monkeypatch) as found:
        yield found


def test_a_hub_id_is_downloaded_once_its_headers_were_looked_at(hub: Hub, tmp_path: Path) -> None:
    """Config, headers, weights; neither pickles nor code; the folder is the commit's."""
    folder = source.locate(ModelSpec("toy", "owner/plain"), tmp_path)

    assert (folder.name, folder.parent.name) == (COMMIT, "snapshots")
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert source.check(folder, model="toy")["model_type"] == "llama"
    assert hub.served["model.safetensors"] > (folder / "model.safetensors").stat().st_size


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("odd", "toy: no 'score.weight' in FOLDER (LlamaForSequenceClassification); transformers "),
        ("typed", "does not know the model_type 'nonsense' in FOLDER/config.json"),
        ("pickled", "toy: no *.safetensors in owner/pickled (only pytorch_model.bin); "),
    ],
)
def test_what_is_refused_is_not_downloaded(hub: Hub, tmp_path: Path, name: str, said: str) -> None:
    """Of 3 MB, config.json and the first 100 kB were asked for."""
    with pytest.raises(ModelError) as caught:
        source.locate(ModelSpec("toy", f"owner/{name}"), tmp_path)

    folder = tmp_path / "cache" / f"models--owner--{name}" / "snapshots" / COMMIT
    assert said in str(caught.value).replace(str(folder), "FOLDER")
    assert hub.served.keys() <= {"config.json", "model.safetensors"}
    assert hub.served.get("model.safetensors", 0) <= 100_001
    assert [path.name for path in folder.iterdir()] == ["config.json"]


def test_a_downloaded_model_needs_no_hub(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline the cache is enough, at a commit or at the newest."""
    spec = ModelSpec("toy", "owner/plain")
    folder = source.locate(spec, tmp_path)
    hub.served.clear()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)

    assert source.locate(spec, tmp_path) == folder
    assert source.locate(replace(spec, revision=COMMIT), tmp_path) == folder
    assert hub.served == {}
    with pytest.raises(ModelError, match="owner/odd could not be had from the Hugging Face hub"):
        source.locate(ModelSpec("toy", "owner/odd"), tmp_path)


def test_a_downloaded_model_is_not_looked_at_again(hub: Hub, tmp_path: Path) -> None:
    """What is here needs no headers of the hub."""
    source.locate(ModelSpec("toy", "owner/plain"), tmp_path)
    hub.served.clear()

    source.locate(ModelSpec("toy", "owner/plain"), tmp_path)

    assert hub.served == {}


@pytest.mark.parametrize("settings", [{}, {"headed": False}])
def test_half_a_download_is_told_offline(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    """The small files are here, such as after `models check`: that is no folder of pickles."""
    spec = ModelSpec("toy", "owner/plain")
    folder = source.locate(spec, tmp_path, weights=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    # As clients do that have kept no list of its files.
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(folder))

    with pytest.raises(ModelError) as caught:
        source.locate(spec, tmp_path, **settings)

    assert str(caught.value).startswith(
        "toy: its weights are not downloaded, and the hub cannot be asked for them ("
    )
    assert str(caught.value).endswith("); check your connection and your access (`hf auth login`)")


def test_a_language_model_of_pickles_is_told(hub: Hub, tmp_path: Path) -> None:
    """By what the hub has, not by what is here of it."""
    with pytest.raises(ModelError, match=r"in owner/pickled \(only pytorch_model\.bin\)"):
        source.locate(ModelSpec("toy", "owner/pickled"), tmp_path, headed=False)


def test_a_gated_model_is_told(hub: Hub, tmp_path: Path) -> None:
    """With what the hub says."""
    hub.gated.add("owner/plain")

    with pytest.raises(ModelError, match=r"owner/plain could not be had .* \(GatedRepoError: "):
        source.locate(ModelSpec("toy", "owner/plain"), tmp_path)
