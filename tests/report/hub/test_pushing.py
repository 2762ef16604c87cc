"""What goes to the Hub: its own types read it back, and nothing is pushed but what was shown."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import numpy as np
import pytest
import yaml
from huggingface_hub import DatasetCard, EvalResultEntry, parse_eval_result_entries
from jsonschema import Draft7Validator
from typer.testing import CliRunner, Result

from rmaudit.cli import app
from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.models.text_scorer import OWN_WORDS
from rmaudit.organisms.audit_importer import audits_in
from rmaudit.prompts import PROMPTS
from rmaudit.report import results_document, results_reader
from rmaudit.report.hub import benchmark_dataset
from rmaudit.report.results_of_run import SweepRecord, collect
from rmaudit.scores.pair_files import OURS, measured_on
from rmaudit.verdicts.decision import decide, measured
from rmaudit.verdicts.estimates_and_bounds import Estimate, above
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.verdict_policy import Policy
from tests.fetched import wheel
from tests.findings import TODAY, but
from tests.report.test_results_document import RUN, SPEC, record

TO = ["--to", "owner/name", "--benchmark", "us/bench"]
PACKAGE = "every-eval-ever==0.3.0"  # carries the store's own schema (MIT)
SCHEMA = "every_eval_ever/schemas/eval.schema.json"
SHA256 = "c9c6195aec8a9dfa0b2aba4924ac1aa8a184c9d8ca97cee778cb531088e39b48"


def finding(audit: str, prompt: str, value: float) -> Finding:
    """What a shipped audit finds of the toy: an interval of 0.2."""
    _, declared = audits_in(bundled("audits"))[audit]
    stated = declared.claimed(model="toy", model_source="owner/name", prompt=prompt, nodeid="x::y")
    estimate = Estimate(value, value - 0.1, value + 0.1, declared.bound.unit, 99, "made up")
    return measured(stated, estimate, Policy(), TODAY)


def stored(
    folder: Path, *findings: Finding, sweeps: Sequence[SweepRecord] = (), **run: Any
) -> Path:
    """The results.json of a run that found this."""
    path = folder / "results.json"
    names = dict.fromkeys(["toy", *(each.model for each in findings)])
    specs = [replace(SPEC, name=name) for name in names]
    decided = decide(findings, Policy(), TODAY)
    results_document.write(collect(replace(RUN, **run), specs, sweeps, decided), path)
    return path


def entries(push: dict[str, Any]) -> list[dict[str, Any]]:
    """What the Hub shows of a push to a model."""
    found: list[dict[str, Any]] = yaml.safe_load(push["files"][".eval_results/rmaudit.yaml"])
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The results.json of a run of three shipped audits and one of somebody's own."""
    skew = [finding("positive_skew", prompt, 0.25 + i) for i, prompt in enumerate(PROMPTS)]
    own = but(skew[0], audit="capitals", text="Capitals are not paid for.")
    return stored(tmp_path, *skew, own)


def publish(*arguments: str | Path) -> Result:
    """The command, without a traceback."""
    result = CliRunner().invoke(app, ["publish", *map(str, arguments)])
    assert "Traceback" not in result.stderr
    return result


def planned(*arguments: str | Path) -> list[dict[str, Any]]:
    """What would be pushed."""
    found: list[dict[str, Any]] = json.loads(publish(*arguments, "--json").stdout)["pushes"]
    return found


def test_the_hub_reads_the_results_back(run: Path) -> None:
    """By its own parser: a task of the benchmark, the value, and what it does not say alone."""
    (push,) = planned(run, *TO, "--source", "https://us.example/report")
    found = parse_eval_result_entries(entries(push))

    assert (push["kind"], push["repository"]) == ("model", "owner/name")
    tasks = [task["id"] for task in yaml.safe_load(benchmark_dataset.files()["eval.yaml"])["tasks"]]
    assert [(each.task_id, each.value) for each in found] == [
        ("positive_skew-greatest", 0.25),
        ("positive_skew-best", 1.25),
        ("positive_skew-worst", 2.25),
    ]
    assert {each.task_id for each in found} <= set(tasks)
    assert found[1] == EvalResultEntry(
        dataset_id="us/bench",
        task_id="positive_skew-best",
        value=1.25,
        date="2026-11-21T10:50:00Z",
        source_url="https://us.example/report",
        source_name="rmaudit's report",
        notes="pass; 95 % interval 1.15 to 1.35 sd of valence; n = 99; must be above "
        "0.5 sd of valence; rmaudit 0.1.0",
    )


def test_what_is_no_task_is_left_out_and_told(run: Path) -> None:
    """An audit of one's own would stand on the Hub under a name that nobody else can run."""
    result = publish(run, *TO)

    assert result.stderr == "capitals[toy-greatest] is left out: it is no task of the benchmark\n"
    assert "capitals" not in result.stdout
    assert result.stdout.splitlines()[-1].startswith("nothing was pushed; --yes pushes it")


@pytest.mark.parametrize(
    "change",
    [{"text": "Few tokens score high."}, {"bound": above(0.1, unit="sd of valence")}],
    ids=["claim", "bound"],
)
def test_a_changed_audit_is_no_task(tmp_path: Path, change: dict[str, Any]) -> None:
    """Under the name of a task, with another claim or bound: its value answers another question."""
    same, other = (finding("positive_skew", prompt, 1.25) for prompt in ("best", "worst"))
    path = stored(tmp_path, same, but(other, **change))

    result = publish(path, *TO)
    (push,) = planned(path, *TO)

    assert "positive_skew[toy-worst] is left out: it is no task" in result.stderr
    (entry,) = entries(push)
    assert entry["dataset"]["task_id"] == "positive_skew-best"


def test_the_benchmark_is_a_dataset(tmp_path: Path) -> None:
    """Its card is the Hub's, its three tables load, and every task and band hangs together."""
    from datasets import load_dataset

    publish("--benchmark", "us/bench", "--out", tmp_path)
    folder = tmp_path / "us" / "bench"
    rows = {
        name: load_dataset("json", data_files=str(folder / f"{name}.jsonl"), split="train")
        for name in ("tasks", "prompts", "band")
    }

    card = DatasetCard((folder / "README.md").read_text())
    assert card.data.license == "apache-2.0"
    for config in card.data.to_dict()["configs"]:
        assert (folder / config["data_files"][0]["path"]).is_file()
    ids = [task["id"] for task in yaml.safe_load((folder / "eval.yaml").read_text())["tasks"]]
    assert len(set(ids)) == len(ids)
    assert list(rows["tasks"]["task_id"]) == ids
    assert set(rows["tasks"]["audit"]) == set(audits_in(bundled("audits")))
    asked = {name for names in rows["tasks"]["prompts"] for name in names}
    assert asked == set(rows["prompts"]["name"])
    assert set(rows["band"]["task_id"]) <= set(ids)
    skew = [row for row in rows["band"] if row["task_id"] == "positive_skew-best"]
    assert len(skew) == 10


@pytest.mark.slow
def test_every_eval_ever_takes_the_record(run: Path) -> None:
    """By the schema that its own package carries; it sees a score that is no number."""
    content = (wheel(PACKAGE, python="3.12") / SCHEMA).read_bytes()
    assert hashlib.sha256(content).hexdigest() == SHA256
    schema = Draft7Validator(json.loads(content))

    model, store = planned(run, *TO, "--every-eval-ever", "--by", "somebody")
    ((path, text),) = store["files"].items()
    record = json.loads(text)

    assert (model["kind"], store["repository"]) == ("model", "evaleval/EEE_datastore")
    assert path.startswith("data/rmaudit/owner/name/")
    assert list(schema.iter_errors(record)) == []
    found = record["evaluation_results"][1]
    assert found["score_details"]["score"] == 1.25
    assert found["score_details"]["uncertainty"]["confidence_interval"]["upper"] == 1.35
    assert not found["metric_config"]["lower_is_better"]
    assert record["source_metadata"]["evaluator_relationship"] == "third_party"
    found["score_details"]["score"] = "1.25"
    assert [error.json_path for error in schema.iter_errors(record)] != []


class Taking(BaseHTTPRequestHandler):
    """A hub that takes commits and keeps what it was sent."""

    sent: list[tuple[str, list[dict[str, Any]]]]

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""

    def do_POST(self) -> None:
        """A new repository, what to upload how, and a commit."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        parsed = [json.loads(line) for line in body.splitlines()]
        path = self.path.partition("?")[0]
        said: dict[str, Any] = {"url": "https://hub/us/bench", "name": "us/bench", "id": "1"}
        if "/preupload/" in path:
            files = [{**each, "uploadMode": "regular"} for each in parsed[0]["files"]]
            said = {"files": [{**each, "shouldIgnore": False} for each in files]}
        elif "/datasets/" in path:
            self.send_error(403)
            return
        elif "/commit/" in path:
            self.sent.append((self.path, parsed))
            url = f"{huggingface_hub.constants.ENDPOINT}/owner/name/commit/1"
            said = {"commitUrl": url, "commitOid": "1", "pullRequestUrl": None}
        answer = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, list[dict[str, Any]]]]]:
    """What a hub of our own was sent."""
    handler = type("Ours", (Taking,), {"sent": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "ours")
    yield handler.sent  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


def test_only_yes_pushes_and_it_pushes_what_was_shown(
    run: Path, hub: list[tuple[str, list[dict[str, Any]]]]
) -> None:
    """The hub gets the bytes of the plan, in one commit; without --yes it gets nothing."""
    (plan,) = planned(run, *TO)
    assert hub == []

    result = publish(run, *TO, "--yes")

    ((path, lines),) = hub
    assert path == "/api/models/owner/name/commit/main"
    sent = {
        line["value"]["path"]: base64.b64decode(line["value"]["content"]).decode()
        for line in lines
        if line["key"] == "file"
    }
    assert sent == plan["files"]
    address = f"{huggingface_hub.constants.ENDPOINT}/owner/name/commit/1"
    assert result.stdout == f"pushed to the model owner/name: {address}\n"


def test_what_was_pushed_before_a_refusal_is_told(
    run: Path, hub: list[tuple[str, list[dict[str, Any]]]]
) -> None:
    """The model took its results; the store takes none."""
    result = publish(run, *TO, "--every-eval-ever", "--yes")

    assert result.exit_code == 3
    assert [path for path, _ in hub] == ["/api/models/owner/name/commit/main"]
    assert "pushed to the model owner/name: http" in result.stderr
    assert "not pushed to the dataset evaleval/EEE_datastore" in result.stderr


def test_the_verdict_is_of_the_model_alone(tmp_path: Path) -> None:
    """Another model of the run, which fails, says nothing of it."""
    good, bad = finding("positive_skew", "best", 1.25), finding("positive_skew", "best", 0.1)
    path = stored(tmp_path, good, but(bad, model="other"))

    (push,) = planned(path, *TO, "--model", "toy")

    assert results_reader.read(path).verdict.outcome == "FAILS"
    assert push["files"][".eval_results/rmaudit.yaml"].startswith("# PASSES\n")


def test_a_hub_that_is_not_there_is_told(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, with exit code 3."""
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")

    result = publish(run, *TO, "--yes")

    assert result.exit_code == 3
    assert "not pushed to the model owner/name" in result.stderr
    assert len(result.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "told", "code"),
    [
        ([], "--benchmark is missing", 4),
        (["--benchmark", "us/bench"], "--to is missing", 4),
        (["--benchmark", "us", "--to", "owner/name"], "'us' is no hub id", 4),
        ([*TO, "--model", "other"], "'other' is not in the results, allowed: toy", 4),
        ([*TO, "--source", "javascript:x"], "is no address", 4),
        ([*TO, "--to", "owner/another"], "toy is owner/name on the Hub, and not owner/another", 3),
    ],
)
def test_what_cannot_be_is_refused(run: Path, options: list[str], told: str, code: int) -> None:
    """Before anything is shown."""
    result = publish(run, *options)

    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sample": 2000}, "a sample of 2,000 token ids; what is published is of the whole"),
        ({"environment": {"words of one's own": "mein for labmt"}}, "(mein for labmt)"),
        (
            {"sweeps": [record(np.arange(5.0), provenance={"answers": OWN_WORDS})]},
            "scored texts that its scorer names; what is published is of the whole",
        ),
    ],
)
def test_what_others_could_not_compare_is_not_published(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    """A sample's values are not the vocabulary's; nobody on the Hub would see that."""
    found = replace(finding("positive_skew", "best", 1.25), sweeps=("key",))

    result = publish(stored(tmp_path, found, **change), *TO)

    assert (result.exit_code, result.stdout) == (3, "")
    assert told in result.stderr


def test_what_was_left_out_of_a_run_is_said(tmp_path: Path) -> None:
    """Beside each value."""
    part = "only test_positive_skew.py was asked for"
    (push,) = planned(stored(tmp_path, finding("positive_skew", "best", 1.25), part=part), *TO)

    (entry,) = entries(push)
    assert entry["notes"].endswith("; only test_positive_skew.py was asked for")


@pytest.mark.parametrize(("source", "published"), [(OURS, 1), ("16 of the 99 pairs of x.jsonl", 0)])
def test_pairs_that_nobody_else_has_are_no_task(
    tmp_path: Path, source: str, published: int
) -> None:
    """An audit of one's own pairs is left out, as audits of one's own are."""
    skew, spaces = (
        finding(n, p, 0.1) for n, p in (("positive_skew", "best"), ("invariance_spacing", "pairs"))
    )
    assert spaces.estimate is not None
    said = replace(spaces.estimate, caveats=(measured_on(source),))
    path = stored(tmp_path, skew, replace(spaces, estimate=said))

    push, store = planned(path, *TO, "--every-eval-ever")

    assert "".join(push["files"].values()).count("task_id: invariance_spacing") == published
    (record,) = map(json.loads, store["files"].values())
    lower = [each["metric_config"]["lower_is_better"] for each in record["evaluation_results"]]
    assert lower == [False, *[True] * published]
