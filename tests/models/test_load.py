"""A name becomes a reward model, whether the registry, a folder or nobody knows it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from rmaudit.checkpoints import bundled_model
from rmaudit.config.model_registry import ModelSpec, load_registry
from rmaudit.errors import ModelError, SpecError
from rmaudit.models.checkpoint_model import from_spec, with_head
from rmaudit.models.model_factory import load
from tests.toys import toy_checkpoint

REGISTRY = """\
models:
  toy-a: {source: ./a, default: true}
  toy-b: {source: ./b, dtype: bfloat16}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a registry and the checkpoints that it names."""
    path = tmp_path_factory.mktemp("home")
    toy_checkpoint(path / "a")
    shutil.copytree(path / "a", path / "b")
    (path / "models.yaml").write_text(REGISTRY)
    return path


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
    home: Path, tmp_path: Path, name: Any, entry: str, dtype: str
) -> None:
    """The entry's folder, relative to the registry, and its settings; or the folder's name."""
    asked = name(home / "a") if isinstance(name, type) else name
    model = with_head(load(asked, registry=home / "models.yaml", cache=tmp_path))

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
    assert model.spec == ModelSpec("toy-b", str(home / "b"), dtype="float16")
    assert load_registry(file).models["toy-b"].dtype == "bfloat16"


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("toy-*", {}, r"^'toy-\*' means 2 models; load one at a time$"),
        ("toy-a", {"dtype": "bf16"}, r"^unknown dtype 'bf16'; known: auto, float32, "),
        (".", {}, r"holds no weights \(no \*\.safetensors\)"),
    ],
)
def test_what_is_no_model_is_refused_before_anything_is_loaded(
    home: Path, tmp_path: Path, name: str, settings: Any, said: str
) -> None:
    """Globs over several (an audit run takes them), an unknown dtype, a folder without weights."""
    (tmp_path / "config.json").write_text("{}")

    with pytest.raises(SpecError if name.startswith("toy") else ModelError, match=said):
        load(str(tmp_path) if name == "." else name, registry=home / "models.yaml", **settings)


def test_the_cache_is_the_users_unless_another_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`from_spec` takes the cache that it is given, and else the user's."""
    asked: list[Path] = []
    monkeypatch.setattr(bundled_model, "build", lambda cache: asked.append(cache) or home / "a")
    monkeypatch.setattr("rmaudit.models.checkpoint_model.default_cache", lambda: tmp_path / "users")
    spec = ModelSpec("demo", "embedded")

    from_spec(spec)
    from_spec(spec, cache=tmp_path / "named")

    assert asked == [tmp_path / "users", tmp_path / "named"]
