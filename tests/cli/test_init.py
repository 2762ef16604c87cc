"""rmaudit init and new-audit: what they write and leave alone, and that it runs from there."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import rmaudit
from rmaudit.cli.init import required
from rmaudit.config.model_lookup import resolve
from rmaudit.config.model_registry import known_models, load_registry
from tests.cli.running import run
from tests.toys import toy_checkpoint

HERE = Path(__file__).parents[2]
WORKFLOW = ".github/workflows/rmaudit.yml"


def files(folder: Path) -> dict[str, str]:
    """All files below a folder, by their path in it."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def test_init_asks_again_after_a_misspelt_folder(tmp_path: Path) -> None:
    """On a terminal; it names the folder that was meant. An option ends the command instead."""
    (tmp_path / "our-rm").mkdir()
    theirs, ours = pty.openpty()
    os.write(theirs, b"our-rn\nour-rm\n")
    command = [sys.executable, "-m", "rmaudit.cli", "init"]

    done = subprocess.run(command, cwd=tmp_path, stdin=ours, capture_output=True, check=True)
    option = run("init", tmp_path / "new", "--model", tmp_path / "our-rn")

    assert b"'our-rn' is neither a folder nor a hub id 'owner/name'; did you mean 'our-rm'?" in (
        done.stderr
    )
    assert list(load_registry(tmp_path / "models.yaml").models) == ["our-rm"]
    assert (option.exit_code, "did you mean 'our-rm'?" in option.stderr) == (4, True)


def test_init_writes_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audits as rmaudit has them, a registry, a conftest and a workflow; all are told."""
    monkeypatch.setattr("rmaudit.cli.init.requirement", lambda: None)  # a folder of this machine
    result = run("init", tmp_path / "new", "--model", "owner/name")

    found = files(tmp_path / "new")
    audits = {f"audits/{path.name}": path.read_text() for path in (HERE / "audits").glob("*.py")}
    assert found.keys() == {
        *audits,
        "models.yaml",
        "conftest.py",
        "pytest.ini",
        ".gitignore",
        WORKFLOW,
    }
    assert ".*.partial" in found[".gitignore"].splitlines()
    assert {name: found[name] for name in audits} == audits
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"wrote: {tmp_path}/new/models.yaml",
        f"wrote: {tmp_path}/new/.gitignore",
        f"wrote: {tmp_path}/new/conftest.py",
        f"wrote: {tmp_path}/new/pytest.ini",
        f"wrote: {tmp_path}/new/audits/ ({len(audits)} files)",
        f"wrote: {tmp_path}/new/{WORKFLOW}",
        f"next: write in {tmp_path}/new/{WORKFLOW} where rmaudit is to be installed from (OWNER)",
        "next: pytest audits",
    ]


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    """What is there is told and stays; what is missing is added."""
    (tmp_path / "audits").mkdir()
    own = {"conftest.py": "mine", "models.yaml": "mine too", "audits/test_funnel.py": "and mine"}
    for name, text in own.items():
        (tmp_path / name).write_text(text)

    told = json.loads(run("init", tmp_path, "--json").stdout)

    assert {name: files(tmp_path)[name] for name in own} == own
    assert sorted(told["kept"]) == sorted(own)
    assert WORKFLOW in told["written"]
    again = run("init", tmp_path, "--model", "owner/name")
    left = f"next: write owner/name into {tmp_path}/models.yaml, which is left as it is"
    assert left in again.stdout.splitlines()
    assert f"there already, left as it is: {tmp_path}/conftest.py" in again.stdout
    assert "wrote" not in again.stdout
    assert again.exit_code == 0


@pytest.mark.parametrize("name", ["pyproject.toml", "tox.ini"])
def test_a_project_keeps_its_own_settings_of_pytest(tmp_path: Path, name: str) -> None:
    """A pytest.ini would take their place, also those of a folder above."""
    (tmp_path / name).write_text("")

    run("init", tmp_path / "models" / "own")

    assert "pytest.ini" not in files(tmp_path / "models" / "own")


def test_without_a_model_there_is_no_registry(tmp_path: Path) -> None:
    """Nothing bundled is written; it is said how a run names a model, and how the file is made."""
    result = run("init", tmp_path)

    assert not (tmp_path / "models.yaml").exists()
    assert result.stdout.splitlines()[-2:] == [
        "next: pytest audits --model NAME, a checkpoint folder or a hub id owner/name; or",
        f"      rmaudit init --model NAME, which writes it into {tmp_path}/models.yaml",
    ]


@pytest.mark.parametrize(
    ("model", "name", "source"),
    [
        ("owner/My-RM.v2", "My-RM.v2", "owner/My-RM.v2"),
        ("FOLDER", "my-model", "FOLDER"),
        ("BELOW", "odd-name-", "BELOW"),
    ],
)
def test_the_model_is_the_default_of_the_registry(
    tmp_path: Path, model: str, name: str, source: str
) -> None:
    """A hub id, or a folder, as a path from the repository."""
    repository = tmp_path / "repository"
    places = {"FOLDER": tmp_path / "my-model", "BELOW": repository / "odd name!"}
    for place in places.values():
        place.mkdir(parents=True)

    result = run("init", repository, "--model", places.get(model, model))

    assert result.exit_code == 0
    assert ("where CI finds it" in result.stdout) == (model == "FOLDER")

    registry = load_registry(repository / "models.yaml")
    assert (registry.default.name, list(registry.models)) == (name, [name])
    assert registry.default.source == str(places.get(source, source))
    written = (repository / "models.yaml").read_text()
    assert str(tmp_path) not in written
    assert ("outside of this repository" in written) == (model == "FOLDER")
    (paper,) = resolve(known_models(repository / "models.yaml"), "N-Lla-8B")
    assert (paper.rewardbench_rank, paper.default) == (11, False)


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    """Exit 3, one line with the file."""
    (tmp_path / "audits").write_text("a file")

    result = run("init", tmp_path)

    assert result.exit_code == 3
    assert re.fullmatch(rf"{tmp_path}/audits/test_\w+\.py: cannot be written: .+\n", result.stderr)


@pytest.mark.parametrize(
    ("source", "installed"),
    [
        ("", "rmaudit @ git+https://github.com/OWNER/rmaudit@v{}"),
        ("rmaudit=={}", "rmaudit=={}"),
        ("rmaudit[s3] @ git+https://a.example/x.git@1f#egg=y", None),
    ],
)
def test_the_workflow_installs_from_where_rmaudit_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, installed: str | None
) -> None:
    """As `--from` says; where nobody knows, a place is left to be written, and told. It gates."""
    monkeypatch.setattr("rmaudit.cli.init.requirement", lambda: None)
    given = source.format(rmaudit.__version__)

    said = run("init", tmp_path, *(["--from", given] if given else [])).stdout

    workflow = yaml.safe_load((tmp_path / WORKFLOW).read_text())
    steps = [step.get("run", "") for step in workflow["jobs"]["audit"]["steps"]]
    expected = (installed or source).format(rmaudit.__version__)
    assert [step for step in steps if "pip" in step] == [f'pip install "{expected}"']
    (gate,) = [step for step in steps if step.startswith("pytest audits ")]
    assert "--rm-gate" in gate
    assert not any("replay" in step for step in steps)
    text = (tmp_path / WORKFLOW).read_text()
    assert ("OWNER" in text) == ("OWNER" in said) == (not given)


SOURCES = ['x" && curl y', "x: y", "x #y", "$(x)", "x\ny", "`x`"]  # commands, in the workflow


@pytest.mark.parametrize(
    ("option", "given"), [("--model", "nowhere"), *(("--from", source) for source in SOURCES)]
)
def test_what_is_refused_leaves_nothing(tmp_path: Path, option: str, given: str) -> None:
    """A model that is none, and a source that the workflow would run."""
    result = run("init", tmp_path, option, given)

    assert (result.exit_code, result.stdout, files(tmp_path)) == (4, "", {})
    assert option in result.stderr


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Pytest as a user has it: by the plugin's entry point, with no help of this repository."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_audits_are_found_from_there(tmp_path: Path) -> None:
    """On the model that was named; they are not among the repository's own tests."""
    toy_checkpoint(tmp_path / "toy")
    repository = tmp_path / "repository"
    run("init", repository, "--model", tmp_path / "toy")
    (repository / "test_own.py").write_text("def test_own(): pass\n")

    collected = pytest_in(repository, "audits", "--collect-only")
    bare = pytest_in(repository, "--collect-only")

    assert collected.returncode == 0, collected.stdout + collected.stderr
    for path in (HERE / "audits").glob("*.py"):
        assert f"audits/{path.name}::" in collected.stdout
    assert "[toy-greatest]" in collected.stdout
    assert bare.stdout.splitlines()[0] == "test_own.py::test_own"
    assert "audits/" not in bare.stdout


@pytest.mark.slow
def test_what_it_writes_passes_its_own_test(tmp_path: Path) -> None:
    """An audit, its page and its test: pytest runs the test in a fresh process."""
    made = run("new-audit", "kind_words", tmp_path, "--json")

    paths = [Path(path) for path in json.loads(made.stdout)["wrote"]]
    assert all(path.is_file() for path in paths)
    assert not any("NAME" in path.read_text() for path in paths)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(paths[2])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout


@pytest.mark.parametrize("name", ["Kind", "kind-words", "../kind", "", "class"])
def test_a_name_that_no_function_can_have_is_refused(tmp_path: Path, name: str) -> None:
    """And nothing is written."""
    refused = run("new-audit", name, tmp_path)

    assert refused.exit_code == 4
    assert repr(name) in refused.stderr
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """The second time the file is named, and all stay as they are."""
    run("new-audit", "kind", tmp_path)
    (tmp_path / "audits/test_kind.py").write_text("mine", encoding="utf-8")

    refused = run("new-audit", "kind", tmp_path)

    assert refused.exit_code == 4
    assert "test_kind.py" in refused.stderr
    assert (tmp_path / "audits/test_kind.py").read_text() == "mine"


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def from_git(url: str) -> str:
    """Return what pip records (PEP 610) of an installation from a git URL."""
    return json.dumps({"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT}})


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (None, "rmaudit==0.2.0"),  # from an index, of which pip records no URL
        (from_git("https://a.example/o/rmaudit.git"), "https://a.example/o/rmaudit.git"),
        (from_git("https://user:secret@a.example:8443/o/r"), "https://a.example:8443/o/r"),
        (from_git("ssh://git@a.example/o/r.git"), "https://a.example/o/r.git"),
        (from_git("file:///home/me/rmaudit"), None),
        (from_git('https://a.example/"; curl b'), None),
        (json.dumps({"url": "file:///home/me/rmaudit-0.2.0.whl", "archive_info": {}}), None),
    ],
)
def test_others_can_install_from_where_rmaudit_is(
    recorded: str | None, expected: str | None
) -> None:
    """A git URL has its commit, no password and no key; what others cannot reach is no source."""
    git = expected and expected.startswith("https")

    found = required(recorded, "0.2.0")

    assert found == (f"rmaudit @ git+{expected}@{COMMIT}" if git else expected)


def test_a_clone_is_its_origin_at_its_commit(tmp_path: Path) -> None:
    """As git says; a clone without an origin, and a folder that is none, are no source."""

    def git(*command: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path / "a b"), *who, *command],  # noqa: S607  (the tester's git)
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "below").mkdir()
    recorded, below = (
        json.dumps({"url": (tmp_path / place).as_uri(), "dir_info": {"editable": True}})
        for place in ("a b", "a b/below")
    )
    assert required(recorded, "0.2.0") is None
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    assert required(recorded, "0.2.0") is None
    git("remote", "add", "origin", "git@a.example:o/rmaudit.git")

    commit = git("rev-parse", "HEAD")
    assert required(recorded, "0.2.0") == f"rmaudit @ git+https://a.example/o/rmaudit.git@{commit}"
    assert required(below, "0.2.0") is None
