"""A name becomes a reward model: of an entry, a folder, or a source of another package."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rmaudit
from rmaudit.checkpoints import bundled_model, checkpoint_source
from rmaudit.config import servers
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import ModelSpec, load_registry
from rmaudit.errors import ModelError, NoWeights, RmauditError, SpecError
from rmaudit.models import scoring_description
from rmaudit.models.checkpoint_model import from_spec, with_head
from rmaudit.models.model_factory import Opening, load, opened
from rmaudit.models.model_interfaces import caveats_of_scores
from rmaudit.models.text_scorer import TextScorer
from tests.installed import HOW_TO, install
from tests.toys import toy_checkpoint

FILE = """models:
  our-rm:
    source: house+http://rm.internal:9000
    version: "1"
    batch: 2
    default: true
"""
NAMED = """\
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
    (path / "models.yaml").write_text(NAMED)
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


# Sources of other packages


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The how-to's package, installed, and a models.yaml with a model of its source."""
    install(tmp_path, monkeypatch, servers.GROUP, {"house": "house_rm:open_model"})
    (tmp_path / "models.yaml").write_text(FILE, encoding="utf-8")
    return tmp_path / "models.yaml"


def test_where_weights_cannot_be_had_published_scores_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the models of the paper alone: of others none are published."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for rank in (11, None):
        with pytest.raises(ModelError) as caught:
            opened(ModelSpec("Q", "owner/name", rewardbench_rank=rank), Opening(tmp_path))
        said = "`rmaudit tokens`, `recorded=True` in rmaudit.run and rmaudit.sweep"
        assert (said in str(caught.value)) is (rank is not None)


def test_the_source_of_another_package_opens_its_entries(house: Path) -> None:
    """By a name in models.yaml; the model is scored, swept, cached and described as any."""
    model = rmaudit.load("our-rm", registry=house, cache=house.parent)

    assert isinstance(model, TextScorer)
    assert model.score("Why?", ["a", "bcd", "ef"]).tolist() == [1, 3, 2]
    assert model.identity["opened"] == "house+http://rm.internal:9000"
    kept = rmaudit.sweep(model, "best", cache=house.parent / "kept")
    assert kept.score_of("love") == len("love")
    again = rmaudit.sweep(model, "best", cache=house.parent / "kept")
    assert again.key == kept.key
    assert np.array_equal(again.frame["score"], kept.frame["score"])
    (caveat,) = caveats_of_scores(kept.provenance)
    assert "another package (house+http://rm.internal:9000)" in caveat
    said = dict(scoring_description.look(model.spec, house.parent, "our-rm"))
    assert said["scored"] == "as texts, by a function of texts"
    assert said["can be scored"] == "pytest audits --model our-rm"


def test_another_address_is_another_key(house: Path) -> None:
    """As is another version: nobody reads the scores of a model that it does not name."""
    (spec,) = resolve(load_registry(house), "our-rm")
    others = [
        ModelSpec("our-rm", "house+http://other", version="1"),
        ModelSpec("our-rm", spec.source, version="2"),
    ]

    keys = {tuple(opened(each).identity.items()) for each in (spec, *others)}

    assert len(keys) == 3


def test_a_source_may_fetch_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which can all that a checkpoint can: its head is looked into."""
    text = (
        "from dataclasses import replace\nfrom rmaudit.models.checkpoint_model import from_spec\n"
    )
    text += "def open_model(spec, opening):\n    where = spec.source.removeprefix('house+')\n"
    text += "    return from_spec(replace(spec, source=where), cache=opening.cache)\n"
    install(tmp_path, monkeypatch, servers.GROUP, {"house": "house_rm:open_model"}, text)
    folder = toy_checkpoint(tmp_path / "toy")

    model = opened(ModelSpec("our-rm", f"house+{folder}"), Opening(tmp_path / "cache"))

    assert with_head(model).rows.folder == folder
    assert model.takes == "token ids"


def test_what_only_a_checkpoint_has_is_refused(house: Path) -> None:
    """Its head, an output of it, and the keys that decide how weights are loaded."""
    (spec,) = resolve(load_registry(house), "our-rm#honesty")

    with pytest.raises(ModelError, match=r"our-rm#honesty: no objective 'honesty', for only a ch"):
        opened(spec)
    with pytest.raises(NoWeights):
        rmaudit.load("our-rm", registry=house).with_head()
    with pytest.raises(ModelError, match=r"it is opened by another package \(house\+http:"):
        checkpoint_source.find(spec, house.parent)
    assert checkpoint_source.presence(spec, house.parent) == "house"
    house.write_text(FILE.replace("batch: 2", "dtype: float16"), encoding="utf-8")
    with pytest.raises(SpecError, match=r":5: our-rm: dtype: the source 'house' decides that"):
        load_registry(house)


@pytest.mark.parametrize("address", ["http://rm.internal:9000", "anything"])
def test_an_unknown_kind_is_refused_with_its_line(house: Path, address: str) -> None:
    """What is installed, and what to do; also where no URL follows."""
    house.write_text(f"models: {{A: {{default: true,\n source: hause+{address}}}}}\n")

    with pytest.raises(SpecError) as caught:
        load_registry(house)

    assert str(caught.value).startswith(
        f"{house}:2: A: source: no source is of the kind 'hause'; did you mean 'house'? known: "
        "vllm, sglang, openrlhf, house, as in"
    )
    assert "install the package that has it as an entry point of rmaudit.sources" in str(
        caught.value
    )


def test_a_folder_with_a_plus_in_its_name_is_a_folder(tmp_path: Path) -> None:
    """And no kind."""
    (tmp_path / "run+2").mkdir()
    (tmp_path / "models.yaml").write_text("models: {A: {source: run+2, default: true}}\n")

    assert load_registry(tmp_path / "models.yaml").default.source == str(tmp_path / "run+2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nosuch_module", "raised ModuleNotFoundError: No module named 'nosuch_module'"),
        ("other = 1", "raised AttributeError"),
        ("def open_model(spec, opening): raise OSError('no route')", "raised OSError: no route"),
        ("def open_model(spec, opening): return 7", "returned 7, allowed: a RewardModel or a Text"),
    ],
)
def test_a_source_that_fails_is_one_sentence(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which names the model, the kind and whose it is."""
    install(tmp_path, monkeypatch, servers.GROUP, {"house": "house_rm:open_model"}, text)

    with pytest.raises(ModelError, match=re.escape(said)) as caught:
        opened(ModelSpec("our-rm", "house+x"), Opening(tmp_path))

    start = "our-rm: its source 'house', house_rm:open_model of another package, "
    assert str(caught.value).startswith(start)
    assert "\n" not in str(caught.value)


def test_an_error_of_a_source_in_our_words_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was written for the user."""
    text = "from rmaudit.errors import SpecError\n"
    text += "def open_model(spec, opening): raise SpecError('no dtype here; leave it out')"
    install(tmp_path, monkeypatch, servers.GROUP, {"house": "house_rm:open_model"}, text)

    with pytest.raises(SpecError, match=r"^no dtype here; leave it out$"):
        opened(ModelSpec("our-rm", "house+x"), Opening(tmp_path))


def test_nobody_takes_a_kind_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything of another package imported where only ours are asked for."""
    points = dict.fromkeys([*servers.OURS, "house"], "house_rm:open_model")
    install(tmp_path, monkeypatch, servers.GROUP, points, "raise RuntimeError")

    assert {*servers.installed()} == {"house"}
    assert {*servers.OURS} <= {*vars(importlib.import_module("rmaudit.sources"))}
    with pytest.raises(RmauditError, match="no folder"):
        opened(ModelSpec("A", str(tmp_path / "gone")), Opening(tmp_path))
    assert "house_rm" not in sys.modules


def test_the_page_is_the_package() -> None:
    """The how-to's entry points are those that these tests install."""
    page = HOW_TO.read_text(encoding="utf-8")

    assert f'[project.entry-points."{servers.GROUP}"]\nhouse = "house_rm:open_model"' in page
