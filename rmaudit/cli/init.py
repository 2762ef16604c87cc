"""Run `rmaudit init` and `new-audit`: write the files that a repository needs for audits.

`init` writes a whole suite, `new-audit` one audit to be edited, with its page and its test.
"""

from __future__ import annotations

import importlib.metadata
import json
import keyword
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer

import rmaudit
from rmaudit.cli.printing import ending_if_unwritable, fail, say, show
from rmaudit.cli.shared_options import AsJson, output_of_git
from rmaudit.config.model_registry import FILE, is_hub_id, load_registry
from rmaudit.config.paths_and_atomic_writes import bundled, in_place_of
from rmaudit.errors import nearest

_STARTER = Path(__file__).parent / "starter"
_WORKFLOW = ".github/workflows/rmaudit.yml"
_IGNORED, _PARTIAL = ".gitignore", ".*.partial"
_PYTEST = "pytest.ini"
# Files by which pytest knows a project's folder; a pytest.ini beside them would take their place.
_PROJECTS = ("pyproject.toml", "pytest.toml", ".pytest.toml", ".pytest.ini", "tox.ini", "setup.cfg")
_BRIEF = 6  # files of a folder that are named one by one
_HEAD = """# The models that `pytest audits` knows, and what this repository says of their audits.
# `rmaudit models --keys` explains every key: bounds, severities and waivers, among others.
"""
_TEXTS = {
    "audits/test_{}.py": "new_audit.txt",
    "docs/audits/{}.md": "new_audit_page.txt",
    "tests/test_{}_audit.py": "new_audit_test.txt",
}


def init(
    folder: Annotated[Path, typer.Argument(file_okay=False, help="the repository")] = Path(),
    model: Annotated[
        str | None,
        typer.Option(
            help="the model to audit, a checkpoint folder or a hub id 'owner/name' (default: init "
            "asks for it)"
        ),
    ] = None,
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="REQUIREMENT",
            help="what the workflow gives to pip, such as rmaudit==0.2.0 or "
            "git+https://… (default: where this rmaudit was installed from)",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write audits, models.yaml with your model, and a CI workflow into a repository.

    That is audits/, models.yaml, conftest.py, .gitignore, a CI workflow and, where pytest has no
    settings yet, pytest.ini: plain files to edit. A file that exists is never overwritten.
    """
    if source is not None and not fits(source):
        fail(f"--from {source!r}: expected what pip takes, such as rmaudit==0.2.0, without quotes")
    written: list[str] = []
    kept: list[str] = []
    source = source or requirement()
    if not (folder / FILE).exists():
        model = model or _asked()
    for name, text in _files_to_write(folder, model, source):
        with ending_if_unwritable(folder / name):
            there = _write_or_exists(folder / name, text)
        (kept if there else written).append(name)
    lines = [
        f"{what}: {folder / line}"
        for what, names in (("wrote", written), ("there already, left as it is", kept))
        for line in _brief_names(names)
    ]
    lines += _next_steps(folder, model, source, written, kept)
    show({"folder": str(folder), "written": written, "kept": kept}, lines, as_json=as_json)


def _next_steps(
    folder: Path, model: str | None, source: str | None, written: list[str], kept: list[str]
) -> Iterator[str]:
    """Yield what is left to do, a line each; the last says how to begin."""
    if _WORKFLOW in written and source is None:
        yield f"next: write in {folder / _WORKFLOW} where rmaudit is to be installed from (OWNER)"
    if _IGNORED in kept and _PARTIAL not in (folder / _IGNORED).read_text("utf-8", "replace"):
        yield f"next: add the line {_PARTIAL} to {folder / _IGNORED}"
    if model and _is_outside(Path(model).expanduser(), folder):
        yield f"next: put {model} where CI finds it: it lies outside of {folder}"
    if FILE in kept and model:
        yield f"next: write {model} into {folder / FILE}, which is left as it is"
    if FILE in [*written, *kept]:
        yield "next: pytest audits"
    else:
        yield "next: pytest audits --model NAME, a checkpoint folder or a hub id owner/name; or"
        yield f"      rmaudit init --model NAME, which writes it into {folder / FILE}"


def _asked() -> str | None:
    """Ask on the terminal for the model to audit; return None without an answer."""
    if not sys.stdin.isatty():
        return None
    what = "the model to audit, a checkpoint folder or a hub id owner/name (empty: none yet)"
    answer: str = typer.prompt(what, default="", show_default=False)
    while answer and (wrong := _why_no_model(answer)):
        say(wrong, err=True)
        answer = typer.prompt(what, default="", show_default=False)
    return answer or None


def _why_no_model(model: str) -> str:
    """Return why a model can have no entry of its own, and what to do; "" if it can have one."""
    place = Path(model).expanduser()
    if (model and place.is_dir()) or is_hub_id(model):
        return ""
    if model in load_registry(bundled(FILE)).models:
        return f"{model} is bundled and needs no entry: pytest audits --model {model}"
    try:
        near = nearest(place.name, [each.name for each in place.parent.iterdir()])
    except OSError:  # no such folder, or one that may not be read
        near = ""
    return f"{model!r} is neither a folder nor a hub id 'owner/name';{near} give one of these"


def _is_outside(model: Path, folder: Path) -> bool:
    """Return whether a model's folder lies outside of the repository `folder`."""
    return model.is_dir() and not model.resolve().is_relative_to(folder.resolve())


def _write_or_exists(path: Path, text: str) -> bool:
    """Write a new file, or return True and leave the file that is already there."""
    if os.path.lexists(path):
        return True
    path.parent.mkdir(parents=True, exist_ok=True)
    with in_place_of(path) as own:  # the next `rmaudit init` would keep half a file
        own.write_text(text, encoding="utf-8")
    return False


def _files_to_write(
    folder: Path, model: str | None, source: str | None
) -> Iterator[tuple[str, str]]:
    """Yield the path below `folder` and the text of each file that `rmaudit init` writes."""
    if model is not None:
        yield FILE, f"{_HEAD}\nmodels:\n{_yaml_entry_of(folder, model)}"
    elif (folder / FILE).exists():
        yield FILE, ""  # which is left as it is
    for path in sorted(bundled("audits").glob("test_*.py")):
        yield f"audits/{path.name}", path.read_text(encoding="utf-8")
    yield _IGNORED, f"# left behind by an rmaudit that was killed as it wrote\n{_PARTIAL}\n"
    yield "conftest.py", (_STARTER / "conftest.py").read_text(encoding="utf-8")
    above = [folder.resolve(), *folder.resolve().parents]
    if not any((place / name).exists() for place in above for name in _PROJECTS):
        why = "# pytest begins in this folder, wherever the folder of the audited model is."
        yield _PYTEST, f"{why}\n[pytest]\n"
    workflow = (_STARTER / "rmaudit.yml").read_text(encoding="utf-8")
    yield _WORKFLOW, _workflow_installing(workflow, source)


def _workflow_installing(workflow: str, source: str | None) -> str:
    """Put the requirement `source` into a CI workflow; if None, the user must fill in OWNER."""
    if source is None:
        return workflow.replace("VERSION", rmaudit.__version__)
    known = f'      - run: pip install "{source}"\n'
    return re.sub(r"^ *# Write OWNER:.*\n.*\n", lambda _: known, workflow, flags=re.MULTILINE)


def _yaml_entry_of(folder: Path, model: str) -> str:
    place = Path(model).expanduser()
    if model and place.is_dir():
        name = place.resolve().name
        source = os.path.relpath(place.resolve(), folder.resolve())
        source = source if source.startswith(".") else f"./{source}"
    elif is_hub_id(model):
        name, source = model.partition("/")[2], model
    else:
        fail(f"--model: {_why_no_model(model)}")
    note = "    # revision: a full commit hash; without it the newest\n"
    if place.is_dir():
        outside = "    # outside of this repository: a run in CI does not find it\n"
        note = outside if _is_outside(place, folder) else ""
    return (
        f"  {re.sub(r'[^A-Za-z0-9._-]|^[.-]', '-', name).lstrip('-') or 'model'}:\n"
        f"    source: {json.dumps(source)}\n{note}"
        "    default: true\n"
        "    # base: the language model that it was trained from, for base_leakage\n"
    )


def _brief_names(names: list[str]) -> Iterator[str]:
    """Yield the names of files as they are printed: a folder with many files is one line."""
    for parent in dict.fromkeys(str(Path(name).parent) for name in names):
        own = [name for name in names if str(Path(name).parent) == parent]
        yield from [f"{parent}/ ({len(own)} files)"] if len(own) > _BRIEF else own


def new_audit(
    name: Annotated[str, typer.Argument(help="what findings call it, such as kind_words")],
    folder: Annotated[Path, typer.Argument(file_okay=False, help="the repository")] = Path(),
    *,
    as_json: AsJson = False,
) -> None:
    """Write an audit for you to edit, with its page and a test of a planted flaw.

    The test puts two functions to the audit: one with the flaw, which must fail, and one without.
    Nothing is overwritten.
    """
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        fail(f"{name!r} is no name of an audit; allowed: small letters, digits and _")
    texts = {
        folder / path.format(name): (_STARTER / text).read_text(encoding="utf-8")
        for path, text in _TEXTS.items()
    }
    if there := [path for path in texts if path.exists()]:
        fail(f"{there[0]} is there already; give the audit another name, or edit the file")
    for path, text in texts.items():
        with ending_if_unwritable(path):
            _write_or_exists(path, text.replace("NAME", name))
    audit, _, test = texts
    lines = [f"wrote: {path}" for path in texts]
    lines.append(f"next: pytest {test}; then pytest {audit} --model NAME")
    show({"wrote": [str(path) for path in texts]}, lines, as_json=as_json)


_SSH = re.compile(r"(?:ssh://)?git@([\w.-]+)[:/](.+)")  # how git writes an address with a key
_SAFE = re.compile(r"(?:[\w.+@/=<>!~,%&?\[\]-]|:(?! )|(?<! )#| (?!#))+", re.ASCII)


def requirement() -> str | None:
    """Return how pip requires this rmaudit: `rmaudit==1.0` or `rmaudit @ git+https://…`; or None.

    None if nobody else could install from that place, such as a folder of this machine. What was
    installed from a package index is required by its version: so the day on which rmaudit is
    published changes nothing here.
    """
    distribution = importlib.metadata.distribution("rmaudit")
    return required(distribution.read_text("direct_url.json"), distribution.version)


def required(direct_url: str | None, version: str) -> str | None:
    """Return rmaudit's requirement for pip, from direct_url.json (PEP 610) and version, or None.

    `direct_url` is None for an installation from a package index.
    """
    if direct_url is None:
        return f"rmaudit=={version}"
    told = json.loads(direct_url)
    address, commit = told["url"], told.get("vcs_info", {}).get("commit_id", "")
    if "dir_info" in told:
        folder = Path(unquote(urlsplit(address).path))
        own = (folder / ".git").exists()  # and not a repository that the folder lies in
        address = output_of_git(folder, "remote", "get-url", "origin") if own else ""
        commit = output_of_git(folder, "rev-parse", "HEAD")
    found = f"rmaudit @ git+{_public_address(address)}@{commit}"
    return found if _public_address(address) and commit and fits(found) else None


def fits(text: str) -> bool:
    """Return whether a requirement can stand between double quotes in a workflow's command."""
    return _SAFE.fullmatch(text) is not None


def _public_address(address: str) -> str:
    """Return the https address of a repository, without a name or password in it; "" if none."""
    if ssh := _SSH.fullmatch(address):
        return f"https://{ssh[1]}/{ssh[2]}"
    parts = urlsplit(address)
    return (
        f"https://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts.scheme == "https" else ""
    )
