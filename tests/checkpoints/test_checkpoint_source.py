"""A registry entry becomes a folder, or a commit on the hub that is looked at from afar."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from huggingface_hub.utils import filter_repo_objects
from safetensors.torch import save_file

from rmaudit.checkpoints import checkpoint_source, head_detection, hub_client
from rmaudit.checkpoints.weights_headers import Header
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from tests.checkpoints.folders import HIDDEN, TENSORS, refused, write
from tests.hub import COMMIT, Hub, serving

Patch = pytest.MonkeyPatch

PLAIN = ModelSpec("toy", "owner/plain")


def refusal(spec: ModelSpec, cache: Path) -> str:
    """The one line with which it is refused."""
    return refused(lambda: checkpoint_source.find(spec, cache).downloaded())


# A folder


def test_a_folder_is_taken_as_it_is(tmp_path: Path, monkeypatch: Patch) -> None:
    """It needs no cache and no network; `~` is the user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    found = checkpoint_source.find(
        ModelSpec("toy", str(tmp_path / "run")), write(tmp_path / "run") / "cache"
    )

    assert found == checkpoint_source.Folder("toy", tmp_path / "run") == found.downloaded()
    assert found == checkpoint_source.find(ModelSpec("toy", "~/run"), tmp_path)
    assert sorted(found.names()) == ["config.json", "model.safetensors"]
    assert not (tmp_path / "run" / "cache").exists()


@pytest.mark.parametrize("name", ["gone", "a\0b", "a" * 5000], ids=["gone", "NUL", "long"])
def test_a_missing_folder_is_no_hub_id(tmp_path: Path, monkeypatch: Patch, name: str) -> None:
    """The missing folder is named; nothing is downloaded under its name."""
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)

    text = refusal(ModelSpec("toy", f"{tmp_path}/{name}"), tmp_path)

    assert text.startswith(f"toy: no folder {tmp_path}/{repr(name[:50])[1:-1]}")
    assert text.endswith("; correct its `source` in models.yaml")
    assert len(text) < 700


KINDS = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "int64", "int8", "bool"]


@pytest.mark.parametrize("name", KINDS)
def test_a_header_says_shape_type_and_size(tmp_path: Path, name: str) -> None:
    """As safetensors names the type, and torch counts the bytes."""
    tensor = torch.zeros(3, 5, dtype=getattr(torch, name))
    save_file({"a": tensor, "b": tensor[0, 0].clone()}, tmp_path / "model.safetensors")

    found = checkpoint_source.read(checkpoint_source.Folder("toy", tmp_path))

    assert {key: header.shape for key, header in found.items()} == {"a": (3, 5), "b": ()}
    assert [one.bytes for one in found.values()] == [15 * tensor.itemsize, tensor.itemsize]


@pytest.mark.parametrize(
    ("dtype", "size"), [("F4", 4), ("F6_E2M3", 6), ("C64", 64), ("F8_E8M0", 8)]
)
def test_sizes_of_types_that_torch_may_lack(dtype: str, size: int) -> None:
    """In bits; the name's number, but for those of less than a byte."""
    assert Header((2, 4), dtype).bytes == size


# What the hub is asked for


def test_a_hub_id_is_asked_for_at_its_revision(tmp_path: Path, monkeypatch: Patch) -> None:
    """At exactly this commit, and for no pickles and no code."""
    asked: dict[str, Any] = {}
    write(tmp_path)

    def download(repo: str, **settings: Any) -> str:
        asked.update(repo=repo, **settings)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)

    found = checkpoint_source.find(ModelSpec("toy", "owner/name", revision="0" * 40), tmp_path)

    assert found.path == tmp_path
    assert (asked["repo"], asked["revision"]) == ("owner/name", "0" * 40)
    read = ["config.json", "chat_template.jinja", "model-00001-of-00002.safetensors"]
    read += ["model.safetensors", "adapter_model.safetensors"]
    others = ["consolidated-1.safetensors", "onnx/model.safetensors", "pytorch_model.bin", "own.py"]
    hub_client.snapshot("owner/name", None, weights=True)
    which = {key: asked[key] for key in ("allow_patterns", "ignore_patterns")}
    assert [*filter_repo_objects(read + others, **which)] == read


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LocalEntryNotFoundError("offline\nand more"), "LocalEntryNotFoundError: offline"),
        (OSError("disk full"), "OSError: disk full"),
        (ValueError("not a repo id"), "ValueError: not a repo id"),
        (TimeoutError(), "TimeoutError"),
        (ValueError("x" * 9000), "ValueError: " + "x" * 300 + "... (9,000 characters)"),
    ],
    ids=["offline", "full", "name", "no word", "long"],
)
def test_a_failing_hub_is_told(
    tmp_path: Path, monkeypatch: Patch, error: Exception, said: str
) -> None:
    """The first line of what the hub said, and three ways on."""

    def download(*_: Any, **__: Any) -> str:
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)

    assert refusal(ModelSpec("toy", "owner/name"), tmp_path) == (
        f"toy: owner/name is no folder here, and the Hugging Face hub did not give it "
        f"({said}). Check the name, your connection and your access (`hf auth login`), or give a "
        "checkpoint folder"
    )


@pytest.fixture
def served(tmp_path: Path, monkeypatch: Patch) -> Iterator[Hub]:
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


def test_a_hub_id_is_downloaded_after_a_look_at_its_headers(served: Hub, tmp_path: Path) -> None:
    """What is looked at costs kilobytes, and is what the download holds; no pickles, no code."""
    looked = head_detection.find(PLAIN, tmp_path)
    folder = looked.base.path
    assert (folder.name, folder.parent.name) == (COMMIT, "snapshots")
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    assert served.served["model.safetensors"] <= 100_001

    here = looked.downloaded()

    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert isinstance(here.base, checkpoint_source.Folder)
    assert checkpoint_source.read(here.base) == looked.headers
    assert checkpoint_source.presence(PLAIN, tmp_path) == checkpoint_source.DOWNLOADED


def test_no_commit_is_loaded_but_the_one_that_was_looked_at(served: Hub, tmp_path: Path) -> None:
    """Where somebody pushes between the look and the download, nothing of theirs is taken."""
    looked = head_detection.find(PLAIN, tmp_path)
    served.commit = "f" * 40

    with pytest.raises(ModelError, match="did not give it"):
        looked.downloaded()
    assert not list((tmp_path / "cache").rglob("f" * 40))


def test_a_commit_is_that_of_a_snapshot_in_the_hubs_cache(tmp_path: Path) -> None:
    """A folder that is only called like one has none."""
    places = [f"snapshots/{COMMIT}", COMMIT, "snapshots/main", f"snapshots/{COMMIT[:12]}"]

    assert [checkpoint_source.commit_of(tmp_path / place) for place in places] == [
        COMMIT,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("odd", "no 'score.weight' in FOLDER "),
        ("typed", "does not know the model_type 'nonsense'"),
        ("pickled", "no *.safetensors in owner/pickled (only pytorch_model.bin)"),
    ],
)
def test_a_refusal_costs_no_download(served: Hub, tmp_path: Path, name: str, said: str) -> None:
    """The header of the weights is asked for at most."""
    spec = ModelSpec("toy", f"owner/{name}")
    folder = tmp_path / "cache" / f"models--owner--{name}" / "snapshots" / COMMIT

    assert said in refused(lambda: head_detection.find(spec, tmp_path).downloaded(), at=folder)
    assert served.served.keys() <= {"config.json", "model.safetensors"}
    assert served.served.get("model.safetensors", 0) <= 100_001
    assert [path.name for path in folder.iterdir()] == ["config.json"]


def test_a_downloaded_model_needs_no_hub(served: Hub, tmp_path: Path, monkeypatch: Patch) -> None:
    """Nothing is asked of it again; offline the cache is enough, at a commit or at the newest."""
    folder = checkpoint_source.find(PLAIN, tmp_path).downloaded()
    served.served.clear()
    assert checkpoint_source.find(PLAIN, tmp_path) == folder
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)

    assert checkpoint_source.find(PLAIN, tmp_path) == folder
    assert checkpoint_source.find(replace(PLAIN, revision=COMMIT), tmp_path) == folder
    assert served.served == {}
    assert "owner/odd is no folder here" in refusal(ModelSpec("toy", "owner/odd"), tmp_path)


@pytest.mark.parametrize("asked", ["headers", "weights"])
def test_half_a_download_offline(
    served: Hub, tmp_path: Path, monkeypatch: Patch, asked: str
) -> None:
    """The small files are here, such as after `models check`: that is no folder of pickles."""
    folder = checkpoint_source.find(PLAIN, tmp_path).path
    assert checkpoint_source.presence(PLAIN, tmp_path) == checkpoint_source.ELSEWHERE
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    # As clients do that have kept no list of its files.
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(folder))
    found = checkpoint_source.find(PLAIN, tmp_path)

    text = refused(
        lambda: checkpoint_source.read(found) if asked == "headers" else found.downloaded()
    )

    assert text.startswith("toy: its weights are not downloaded, and the hub cannot be asked for t")
    assert text.endswith("); check your connection and your access (`hf auth login`)")


NO_MODEL = ("null", "[]", "3", '{"sha": 3}', "{}", "{", "[" * 10**5)  # such as a proxy's page


@pytest.mark.parametrize("revision", [None, COMMIT])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"gated": {"owner/plain"}}, "GatedRepoError: "),
        *(({"says": text.encode()}, "") for text in NO_MODEL),
        *(({"closes": what}, "") for what in ("all", "files", "weights")),
    ],
    ids=range(11),
)
def test_a_hub_with_a_fault_is_asked_once(
    served: Hub, tmp_path: Path, monkeypatch: Patch, *, fault: Any, said: str, revision: str | None
) -> None:
    """And told; the hub's client would wait and try again for up to a minute and a half."""
    for name, value in fault.items():
        setattr(served, name, value)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits to try again"))

    text = refusal(replace(PLAIN, revision=revision), tmp_path)

    start = f"toy: owner/plain is no folder here, and the Hugging Face hub did not give it ({said}"
    assert text.startswith(start)
