"""The GitHub Action: its shell steps, run in order as a runner would, with a GitHub of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.toys import toy_checkpoint

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[1]
Done = dict[str, "subprocess.CompletedProcess[str]"]
STEPS = ("Audit", "Comment on the pull request")
FEW = "-k\nnumerics"
PAGE = "https://github.example/comment"
OURS = {"login": "github-actions[bot]", "type": "Bot"}


@dataclass
class GitHub:
    """The comments of pull request 7, and what its token may do."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    refuses: int = 0
    answers: Any = None  # in place of what was asked for
    page: str = PAGE  # of a comment
    address: str = ""


class Handler(BaseHTTPRequestHandler):
    """Answers as GitHub's API does, a comment a page."""

    github: GitHub

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    def do_GET(self) -> None:
        """A page of comments."""
        path, _, query = self.path.partition("?")
        page = int(dict(each.split("=") for each in query.split("&")).get("page", "1"))
        after = f"<{self.github.address}{path}?page={page + 1}>; rel=next"
        more = page < len(self.github.comments)
        self.say(self.github.comments[page - 1 : page], {"Link": after} if more else {})

    def do_POST(self) -> None:
        """Whose token it is, or a new comment."""
        if self.path == "/graphql":
            assert "viewer" in self.body()["query"]
            self.say({"data": {"viewer": {"login": OURS["login"]}}})
            return
        assert self.path == "/repos/owner/name/issues/7/comments"
        number = len(self.github.comments)
        self.github.comments.append({"id": number, "user": OURS, **self.body()})
        self.say({"html_url": self.github.page})

    def do_PATCH(self) -> None:
        """Another body."""
        number = int(self.path.rpartition("/")[2])
        self.github.comments[number].update(self.body())
        self.say({"html_url": self.github.page})

    def body(self) -> dict[str, Any]:
        """What was sent."""
        assert self.headers["Authorization"] == "Bearer ours"
        sent: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return sent

    def say(self, value: object, said: Mapping[str, str] | None = None) -> None:
        """An answer, or a refusal."""
        content = json.dumps(self.github.answers or value).encode()
        self.send_response(self.github.refuses or 200)
        for key, one in {**(said or {}), "Content-Length": str(len(content))}.items():
            self.send_header(key, one)
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def commented() -> Iterator[GitHub]:
    """A GitHub where people and another bot have commented in our words; one account is gone."""
    mark = "<!-- rmaudit: rmaudit -->"
    gone = {"id": 0, "body": mark, "user": None}
    other = {"login": "other[bot]", "type": "Bot"}
    github = GitHub(
        [
            gone,
            {"id": 1, "body": mark, "user": {"login": "somebody", "type": "User"}},
            {"id": 2, "body": mark, "user": other},
            {"id": 3, "body": None, "user": OURS},
        ]
    )
    server = HTTPServer(("127.0.0.1", 0), type("Ours", (Handler,), {"github": github}))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    github.address = f"http://127.0.0.1:{server.server_port}"
    yield github
    server.shutdown()
    server.server_close()


@dataclass
class Job:
    """A checkout in which the action runs."""

    folder: Path
    temp: Path  # the runner's, outside of the checkout
    github: GitHub
    audited: dict[str, str] = field(default_factory=dict)  # outputs of the last step that audited

    def run(self, steps: Sequence[str] = STEPS, **inputs: str) -> tuple[dict[str, str], Done]:
        """The outputs of the action, and what each of these shell steps came to."""
        action = yaml.safe_load((ROOT / "action" / "action.yml").read_text(encoding="utf-8"))
        known = {
            "github.action_path": str(ROOT / "action"),
            "runner.temp": str(self.temp),
            "github.token": "ours",
            "github.event.pull_request.number": "7",
            "steps.upload.outputs.artifact-url": "https://github.example/artifact",
            **({} if steps[0] == STEPS[0] else self.audited),
        }
        for name, given in action["inputs"].items():
            known[f"inputs.{name}"] = inputs.pop(name, filled(given["default"], known))
        assert not inputs
        done = {}
        for step in action["runs"]["steps"]:
            if step["name"] in steps:
                done[step["name"]] = self.shell(step, known)
            if done and "steps.audit.outputs.report" not in known:
                break  # no report: `if` leaves out the rest
        self.audited = {key: known[key] for key in known if key.startswith("steps.audit.")}
        outputs = {name: each["value"] for name, each in action["outputs"].items()}
        told = {key: filled(value, known, missing="") for key, value in outputs.items()}
        return told, done

    def scores(self) -> dict[Path, int]:
        """When each file of scores was written."""
        kept = (self.temp / "rmaudit" / "rmaudit" / "cache" / "scores").rglob("*.parquet")
        return {path: path.stat().st_mtime_ns for path in kept}

    def shell(
        self, step: Mapping[str, Any], known: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a step; what it writes for later ones becomes known."""
        told = self.temp / "outputs"
        told.write_text("")
        env = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            **{key: filled(value, known) for key, value in step["env"].items()},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "GITHUB_OUTPUT": str(told),
            "GITHUB_API_URL": self.github.address,
            "GITHUB_GRAPHQL_URL": f"{self.github.address}/graphql",
            "GITHUB_REPOSITORY": "owner/name",
        }
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            shell, cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )
        for line in told.read_text().splitlines():
            key, _, value = line.partition("=")
            known[f"steps.{step['id']}.outputs.{key}"] = value
        return done


def filled(text: str, known: Mapping[str, str], missing: str | None = None) -> str:
    """The text with its expressions; one that is not known is an error, or `missing`."""

    def value(found: re.Match[str]) -> str:
        return known[found[1]] if missing is None else known.get(found[1], missing)

    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)


def started(folder: Path, temp: Path, github: GitHub) -> Job:
    """A repository with a toy and what `rmaudit init` writes of it."""
    toy_checkpoint(folder / "toy")
    done = subprocess.run(
        [sys.executable, "-m", "rmaudit.cli", "init", "--model", "./toy"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0
    return Job(folder, temp, github)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    """A repository whose toy was audited once."""
    with commented() as github:
        made = started(tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("temp"), github)
        made.run(STEPS[:1], options=FEW, gate="never")
        yield made


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Job]:
    """A repository in which nothing ran."""
    for name in ("work", "temp"):
        (tmp_path / name).mkdir()
    with commented() as github:
        yield started(tmp_path / "work", tmp_path / "temp", github)


def test_a_pull_request_is_told_what_changed(fresh: Job) -> None:
    """One comment, written over by the next run, with the verdict, what changed and the report."""
    job = fresh
    outputs, done = job.run(options=FEW, gate="failures")

    report = Path(outputs["report"])
    results = json.loads((report / "results.json").read_text())
    assert outputs["verdict"] == results["verdict"]["outcome"] == "INCOMPLETE"
    assert outputs["code"] == "0"
    assert {name: each.returncode for name, each in done.items()} == dict.fromkeys(STEPS, 0)
    (*_, first) = job.github.comments
    assert first["body"].startswith("<!-- rmaudit: rmaudit -->\n## rmaudit: INCOMPLETE")
    assert (report / "summary.md").read_text() in first["body"]
    assert first["body"].endswith("[The whole report](https://github.example/artifact)\n")
    scores = job.scores()

    outputs, done = job.run(options=FEW, gate="passes")

    assert len(job.github.comments) == 5
    assert (done["Audit"].returncode, outputs["code"]) == (1, "1")  # a part is no pass
    assert scores
    assert job.scores() == scores  # nothing is scored twice
    mark = "<!-- rmaudit: rmaudit -->"
    assert [each["body"] for each in job.github.comments[:4]] == [mark, mark, mark, None]


def test_nothing_is_taken_from_the_checkout(job: Job) -> None:
    """Neither scores nor reports: a pull request could commit its own, with valid checksums."""
    action = yaml.safe_load((ROOT / "action" / "action.yml").read_text(encoding="utf-8"))
    kept = [step["with"]["path"] for step in action["runs"]["steps"] if "cache/" in str(step)]

    assert kept == ["${{ runner.temp }}/rmaudit/${{ inputs.name }}"] * 2
    assert not (job.folder / ".rmaudit").exists()
    assert not (job.folder / "reports").exists()


NO = "::warning::no comment: GitHub"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"refuses": 403}, f"{NO} says 403 to the token\n"),  # that of a fork
        ({"refuses": 500}, f"{NO} says 500 to the token\n"),
        ({"address": "http://127.0.0.1:9"}, f"{NO} does not answer (Connect"),
        ({"answers": ["nothing of this kind"]}, f"{NO}'s answer cannot be read (TypeError)"),
        ({"page": "::error::\x1b[31m"}, "\\x3a:error::\\x1b[31m\n"),  # an address is no command
    ],
)
def test_what_github_answers_is_no_more_than_a_warning(
    job: Job, given: dict[str, Any], said: str
) -> None:
    """A token that may not write, a GitHub that is broken or away, an answer that is a command."""
    before = {name: getattr(job.github, name) for name in given}
    vars(job.github).update(given)
    _, done = job.run(STEPS[1:])
    vars(job.github).update(before)

    comment = done[STEPS[1]]
    assert comment.returncode == 0, comment.stderr
    assert comment.stdout.startswith(said)


def test_a_gate_of_another_name_is_red(job: Job) -> None:
    """A misspelling must not open it, and costs no minutes."""
    _, done = job.run(STEPS[:1], gate="pass")

    assert done["Audit"].returncode == 4
    assert "gate is 'pass', allowed: passes, failures or never" in done["Audit"].stdout


def test_no_report_is_red_at_once(job: Job) -> None:
    """A model that is not there leaves none: no comment, no gate that could be green."""
    outputs, done = job.run(model="nowhere", gate="never")

    assert outputs == {"verdict": "", "report": "", "code": ""}
    assert done["Audit"].returncode == 3
    assert "::error::the audits left no report; pytest ended with 4" in done["Audit"].stdout
    assert list(done) == ["Audit"]


SUITE = """
import rmaudit

@rmaudit.audit(claim="It scores.", source="ours", base_rate="all", prompts=["greatest"],
               bound=rmaudit.above(0.0, unit="points"))
def test_one(rng):
    return rmaudit.Estimate(1.0, 0.9, 1.1, unit="points", n=9, interval="made up")
"""
TEARDOWN = "import pytest\n@pytest.fixture\ndef leaky():\n    yield\n    raise OSError('open')\n"
BESIDE = {
    "clean": "def test_plain(): pass\n",
    "plain": "def test_plain(): assert False\n",
    "skipped": "import pytest\npytest.importorskip('nothing_of_this_name')\n"
    + SUITE.replace("test_one", "test_two"),
    "teardown": f"{TEARDOWN}def test_plain(leaky): pass\n",
}
GATES = {  # the verdict, and exit codes by gate
    "clean": ("PASSES", {"passes": 0}),
    "plain": ("INCOMPLETE", {"failures": 1, "never": 0}),
    "skipped": ("INCOMPLETE", {"passes": 1, "failures": 0}),
    "teardown": ("INCOMPLETE", {"failures": 1}),
}


@pytest.mark.parametrize("case", BESIDE)
def test_the_action_is_red_where_pytest_is(job: Job, case: str) -> None:
    """A plain test that fails, a skipped audit file, a teardown that fails: red; else green."""
    folder = job.folder / f"suite-{case}"
    folder.mkdir()
    (folder / "test_one.py").write_text(SUITE, encoding="utf-8")
    (folder / "test_beside.py").write_text(BESIDE[case], encoding="utf-8")
    outcome, codes = GATES[case]

    for gate, code in codes.items():
        outputs, done = job.run(STEPS[:1], audits=folder.name, gate=gate)
        assert (outputs["verdict"], done["Audit"].returncode) == (outcome, code), gate


def test_the_report_is_that_of_this_run(job: Job) -> None:
    """Though one in the cache has a later name; none is kept beside it."""
    reports = job.temp / "rmaudit" / "rmaudit" / "reports"
    (reports / "2097-01-01T00-00-00Z").mkdir(parents=True)
    folder = job.folder / "suite-later"
    folder.mkdir()
    (folder / "test_one.py").write_text(SUITE, encoding="utf-8")

    outputs, done = job.run(STEPS[:1], audits=folder.name)

    assert (outputs["verdict"], done["Audit"].returncode) == ("PASSES", 0)
    assert [*reports.iterdir()] == [Path(outputs["report"])]


def test_an_audit_that_ends_python_is_red(job: Job) -> None:
    """With exit code 0 and no report, whatever the gate is."""
    folder = job.folder / "suite-gone"
    folder.mkdir()
    body = SUITE.replace("    return", "    __import__('os')._exit(0)\n    return")
    (folder / "test_one.py").write_text(body, encoding="utf-8")
    _, done = job.run(STEPS[:1], audits=folder.name, gate="never")

    assert done["Audit"].returncode == 3
    assert "::error::the audits left no report; pytest ended with 0" in done["Audit"].stdout

    (folder / "test_one.py").write_text(SUITE.replace("above(0.0", "above(2.0"), encoding="utf-8")
    late = "import os\ndef pytest_unconfigure(): os._exit(0)\n"
    (folder / "conftest.py").write_text(late, encoding="utf-8")
    outputs, done = job.run(STEPS[:1], audits=folder.name)
    assert (outputs["verdict"], done["Audit"].returncode) == ("FAILS", 1)
