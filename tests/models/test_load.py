"""A name becomes a reward model, whether the registry, a folder or nobody knows it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rmaudit.checkpoints import bundled_model
from rmaudit.config.model_registry import ModelSpec, load_registry
from rmaudit.errors import ModelError, SpecError
from rmaudit.models.checkpoint_model import Checkpoint, from_spec, with_head
from rmaudit.models.model_factory import load
from tests.toys import toy_checkpoint

Load = Callable[[str | Path | None], Checkpoint]
REGISTRY = """\
models:
  toy-a:
    source: ./a
    default: true
  toy-b:
    source: ./b
    dtype: bfloat16
  other:
    source: ./gone
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a registry and the checkpoints that it names."""
    path = tmp_path_factory.mktemp("home")
    toy_checkpoint(path / "a")
    shutil.copytree(path / "a", path / "b")
    (path / "models.yaml").write_text(REGISTRY)
    return path


@pytest.fixture
def loaded(home: Path, tmp_path: Path) -> Load:
    """`load` with that registry, and a cache of its own."""

    def call(name: str | Path | None) -> Checkpoint:
        return with_head(load(name, registry=home / "models.yaml", cache=tmp_path / "cache"))

    return call


@pytest.mark.parametrize(
    ("name", "entry", "dtype"),
    [
        ("toy-b", "toy-b", "bfloat16"),
        ("*-b", "toy-b", "bfloat16"),
        (None, "toy-a", "float32"),
        (str, "a", "float32"),
        (Path, "a", "float32"),
    ],
    ids=["name", "glob of one", "default", "folder", "path"],
)
def test_a_name_is_its_entry_and_a_folder_needs_none(
    home: Path, loaded: Load, name: Any, entry: str, dtype: str
) -> None:
    """The entry's folder, relative to the registry, and its settings; or the folder's name."""
    model = loaded(name(home / "a") if isinstance(name, type) else name)

    assert (model.name, model.rows.folder) == (entry, home / entry[-1])
    assert model.rows.dtype == dtype


def test_dtype_and_device_may_be_given(home: Path, tmp_path: Path) -> None:
    """The dtype replaces the registry's; nothing but the dtype and the place is changed."""
    file = home / "models.yaml"

    model = with_head(
        load("toy-b", registry=file, cache=tmp_path, dtype="float16", device="spread")
    )

    assert model.device == "spread"
    assert model.identity["dtype"] == "float16"
    assert model.spec == replace(load_registry(file).models["toy-b"], dtype="float16")


def test_what_is_no_model_is_refused_before_anything_is_loaded(
    home: Path, tmp_path: Path, loaded: Load
) -> None:
    """Globs over several (an audit run takes them), an unknown dtype, a folder without weights."""
    (tmp_path / "config.json").write_text("{}")
    odd: Any = "bf16"

    with pytest.raises(SpecError, match=r"^'toy-\*' means 2 models; load one at a time$"):
        loaded("toy-*")
    with pytest.raises(SpecError, match=r"^unknown dtype 'bf16'; known: auto, float32, "):
        load("toy-a", registry=home / "models.yaml", dtype=odd)
    with pytest.raises(ModelError, match=r"holds no weights \(no \*\.safetensors\)"):
        loaded(str(tmp_path))


def test_the_cache_is_the_users_unless_another_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`from_spec` takes the cache that it is given, and else the user's."""
    asked: list[Path] = []

    def build(cache: Path) -> Path:
        asked.append(cache)
        return home / "a"

    monkeypatch.setattr(bundled_model, "build", build)
    monkeypatch.setattr("rmaudit.models.checkpoint_model.default_cache", lambda: tmp_path / "users")
    spec = ModelSpec("demo", "embedded")

    from_spec(spec)
    from_spec(spec, cache=tmp_path / "named")

    assert asked == [tmp_path / "users", tmp_path / "named"]
