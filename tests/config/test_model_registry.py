"""What `--model` means, which models.yaml is read, and what rmaudit's own says."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.config import paths_and_atomic_writes
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import (
    ModelSpec,
    Registry,
    checkpoint_of,
    default_path,
    known_models,
    load_registry,
)
from rmaudit.errors import SpecError

ROOT = Path(__file__).parents[2]
REGISTRY = (
    "models: {N-Lla: {source: a/b, default: true}, N-Gem: {source: a/c}, S-Gem: {source: a/d}}"
)


# What --model means


def registry(folder: Path, text: str) -> Registry:
    """The registry of a folder whose models.yaml has this text."""
    (folder / "models.yaml").write_text(text, encoding="utf-8")
    return load_registry(folder / "models.yaml")


@pytest.fixture
def three(tmp_path: Path) -> Registry:
    """A registry of three models."""
    return registry(tmp_path, REGISTRY)


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, empty but for the registry."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("N-Gem", [("N-Gem", "a/c")]),  # though there is a folder of this name
        ("N-*", [("N-Lla", "a/b"), ("N-Gem", "a/c")]),
        ("?-Gem", [("N-Gem", "a/c"), ("S-Gem", "a/d")]),
        ("[S]-Gem", [("S-Gem", "a/d")]),
        ("a/d", [("S-Gem", "a/d")]),  # the hub id of an entry means the entry
        ("some-one/RM-8B_v0.2", [("some-one/RM-8B_v0.2", "some-one/RM-8B_v0.2")]),
    ],
)
def test_names_globs_and_hub_ids_find_models(
    three: Registry, inside: Path, pattern: str, found: list[tuple[str, str]]
) -> None:
    """A name finds its model; a glob finds all that it matches, in the order of the file."""
    checkpoint(inside / "N-Gem")

    assert [(spec.name, spec.source) for spec in resolve(three, pattern)] == found


def checkpoint(folder: Path, marker: str = "config.json") -> Path:
    """A folder that passes for a checkpoint."""
    folder.mkdir(parents=True)
    (folder / marker).touch()
    return folder


@pytest.mark.parametrize("marker", ["config.json", "adapter_config.json"])
@pytest.mark.parametrize(
    ("folder", "pattern", "name"),
    [
        ("run", "run", "run"),
        ("run", "./run", "run"),
        ("run", "run/", "run"),
        ("run", "run/../run", "run"),
        ("owner/name", "owner/name", "name"),  # no hub id where it is a folder
        ("run[lr=1e-5]", "run[lr=1e-5]", "run[lr=1e-5]"),  # no glob where it is a folder
        ("N-*", "N-*", "N-*"),
        ("run/checkpoint-500", "run/checkpoint-500", "run-checkpoint-500"),
        ("run/checkpoint-500", "run/checkpoint-500/", "run-checkpoint-500"),
        ("run/checkpoint-best", "run/checkpoint-best", "checkpoint-best"),
        ("run/my-checkpoint-5", "run/my-checkpoint-5", "my-checkpoint-5"),
    ],
)
def test_a_checkpoint_folder_is_a_model(  # noqa: PLR0917
    three: Registry, inside: Path, folder: str, pattern: str, name: str, marker: str
) -> None:
    """It is loaded as it is, by the folder's name, with the run's where that alone says nothing."""
    path = checkpoint(inside / folder, marker)

    assert resolve(three, pattern) == [ModelSpec(name, str(path))]


def test_an_objective_is_a_model_of_its_own(three: Registry, inside: Path) -> None:
    """After a #, of a name, a glob, a folder or a hub id; it keeps all else of the entry."""
    (inside / "rm#1").mkdir()
    (inside / "rm#1" / "config.json").touch()
    for pattern, found in {
        "N-Lla#honesty": [("N-Lla#honesty", "a/b", "honesty")],
        "N-*#0": [("N-Lla#0", "a/b", "0"), ("N-Gem#0", "a/c", "0")],
        "x/y#is_safe": [("x/y#is_safe", "x/y", "is_safe")],
        "rm#1": [("rm#1", str(inside / "rm#1"), None)],
        "./rm#1#2": [("rm#1#2", str(inside / "rm#1"), "2")],
    }.items():
        specs = resolve(three, pattern)
        assert [(spec.name, spec.source, spec.objective) for spec in specs] == found
    (one,) = resolve(three, "N-Lla#0")
    assert checkpoint_of(one) == checkpoint_of(resolve(three, "N-Lla#1")[0])
    assert not one.default
    for wrong in ("N-Lla#", "N-Lla#a,b", "N-Lla#0#1", "#honesty"):
        with pytest.raises(SpecError, match=r"objective|unknown model"):
            resolve(three, wrong)


def test_an_entry_names_an_output_of_a_head_or_an_id(tmp_path: Path) -> None:
    """Not both: the reward is in one place."""
    text = "models: {{A: {{source: a/b, default: true, objective: safety{}}}}}"

    assert registry(tmp_path, text.format("")).default.objective == "safety"
    with pytest.raises(SpecError, match=r"A: objective: .*`logit` says where the reward is"):
        registry(tmp_path, text.format(", logit: 3"))


def test_the_current_folder_has_its_own_name(
    three: Registry, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--model .` names the model after the folder, not after the dot."""
    monkeypatch.chdir(checkpoint(inside / "run"))

    assert resolve(three, ".") == [ModelSpec("run", str(inside / "run"))]


def test_a_hub_id_of_two_entries_is_refused(inside: Path) -> None:
    """Both are named: which of their waivers should hold is not known. By name each is found."""
    entries = "A: {source: owner/name, default: true}, B: {source: owner/name, dtype: float32}"
    two = registry(inside, f"models: {{{entries}, C: {{source: o/c}}}}")

    with pytest.raises(SpecError) as caught:
        resolve(two, "owner/name")

    said = ("models.yaml", "owner/name", "2 models, 'A', 'B'", "give a name of these")
    assert all(part in str(caught.value) for part in said), caught.value
    assert [spec.name for spec in resolve(two, "B")] == ["B"]
    assert [spec.name for spec in resolve(two, "o/c")] == ["C"]


def test_the_own_entry_of_a_hub_id_goes_before_the_one_that_rmaudit_brings(inside: Path) -> None:
    """As it does for names and globs."""
    shipped = next(
        spec
        for spec in load_registry(paths_and_atomic_writes.bundled("models.yaml")).models.values()
        if "/" in spec.source
    )
    registry(inside, f"models: {{A: {{source: {shipped.source}, default: true}}}}")

    (found,) = resolve(known_models(inside / "models.yaml"), shipped.source)

    assert found.name == "A"


@pytest.mark.parametrize("steps", [(500,), (1000, 500), (99, 1000, 500)])
def test_an_output_folder_names_its_newest_checkpoint(
    three: Registry, inside: Path, steps: tuple[int, ...]
) -> None:
    """By number, not by spelling; what holds no checkpoint is no candidate."""
    for step in steps:
        (inside / "run" / f"checkpoint-{step}").mkdir(parents=True)
        (inside / "run" / f"checkpoint-{step}" / "adapter_config.json").touch()
    for other in ("checkpoint-9999", "checkpoint-last", "old-checkpoint-5000"):
        (inside / "run" / other).mkdir()
    (inside / "run" / "checkpoint-last" / "config.json").touch()

    with pytest.raises(SpecError, match=f"'run' .* the newest: run/checkpoint-{max(steps)}$"):
        resolve(three, "run")


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("gpt", "unknown model 'gpt'; known: N-Lla, N-Gem, S-Gem; |'owner/name'"),
        ("", "unknown model ''"),
        ("a/b/c", "'a/b/c': there is no such folder"),
        ("x" * 5000, "unknown model 'xxx|(5,000 characters)"),
        ("a/" + "x" * 5000, "unknown model 'a/xxx"),
        ("a\0b", r"unknown model 'a\x00b'"),
        ("n-*", "no model matches 'n-*'"),
        ("models.yaml", "'models.yaml'|no config.json"),
    ],
)
def test_what_names_nothing_is_one_line(
    three: Registry, inside: Path, pattern: str, named: str
) -> None:
    """A pattern that means no model is told with what there is."""
    with pytest.raises(SpecError) as caught:
        resolve(three, pattern)

    said = str(caught.value)
    assert [part for part in named.split("|") if part not in said] == []
    assert "\n" not in said


def test_a_missing_folder_is_told_as_one(three: Registry, inside: Path) -> None:
    """With the one that was meant, and without a list of models."""
    checkpoint(inside / "runs" / "checkpoint-1200")

    for given in ("./missing", "../missing", "/missing", "~/missing", "runs/a/b"):
        with pytest.raises(SpecError, match=f"'{given}': there is no such folder") as caught:
            resolve(three, given)
        assert "N-Gem" not in str(caught.value)
    with pytest.raises(SpecError, match=r"did you mean 'checkpoint-1200'\?"):
        resolve(three, "./runs/checkpoint-120")


def test_a_folder_beside_the_file_is_found(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it looks like a hub id; with a revision it is one."""
    for name in ("runs/checkpoint-1200", "base", "owner/name"):
        (inside / name).mkdir(parents=True)
    monkeypatch.chdir("/")  # what is relative is so to the file

    models = registry(
        inside,
        "models:\n  A: {source: runs/checkpoint-1200, base: base, default: true}\n"
        f"  B: {{source: owner/name, revision: {'f' * 40}}}\n  C: {{source: owner/other}}\n",
    ).models

    assert models["A"].source == str(inside / "runs" / "checkpoint-1200")
    assert models["A"].base == str(inside / "base")
    assert (models["B"].source, models["C"].source) == ("owner/name", "owner/other")


# The bundled models stay known


def test_rmaudits_models_are_known_beside_those_of_a_file(inside: Path) -> None:
    """The file's own come first and go before one of the same name; its default is the default."""
    registry(inside, "models:\n  Mine: {source: a/b, default: true}\n  N-Lla-8B: {source: a/c}\n")
    bundled = load_registry(ROOT / "models.yaml")

    known = known_models()

    assert [*known.models][:2] == [*known.own] == ["Mine", "N-Lla-8B"]
    assert known.models.keys() == {"Mine"} | bundled.models.keys()
    assert (known.default.name, known.models["N-Lla-8B"].source) == ("Mine", "a/c")
    assert [spec.name for spec in known.models.values() if spec.default] == ["Mine"]
    assert resolve(known, "R-Lla-3B") == [bundled.models["R-Lla-3B"]]
    # What their file says of them is known too; of another model of the name it says nothing.
    assert known.policy.models == {"R-Smol-135M": bundled.policy.models["R-Smol-135M"]}
    assert (known.file_of("Mine"), known.file_of("R-Lla-3B")) == (
        "models.yaml",
        "rmaudit's own models.yaml",
    )


def test_a_glob_means_the_files_own_models(inside: Path) -> None:
    """`--model '*'` audits no 27 models that a team never named; a name finds each of these."""
    registry(inside, REGISTRY)
    known = known_models()

    assert [spec.name for spec in resolve(known, "*")] == ["N-Lla", "N-Gem", "S-Gem"]
    assert {spec.name for spec in resolve(known, "R-*")} == {
        name for name in load_registry(ROOT / "models.yaml").models if name.startswith("R-")
    }
    with pytest.raises(SpecError, match="known: N-Lla, N-Gem, S-Gem and 32 more"):
        resolve(known, "gpt")


# Which file is read


@pytest.mark.parametrize("place", ["pkg/models.yaml", "models.yaml"])
def test_which_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The current directory's; else that of the package (a wheel) or a folder up (a checkout)."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / place).touch()
    module = tmp_path / "pkg" / "config" / "paths_and_atomic_writes.py"
    monkeypatch.setattr(paths_and_atomic_writes, "__file__", str(module))
    monkeypatch.chdir(tmp_path / "work")

    assert default_path() == tmp_path / place
    Path("models.yaml").touch()
    assert default_path() == Path("models.yaml")


# The bundled file
