"""On Ray: the bytes of one process, whatever dies; a run after it finds what it needs."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.distributed import ray_pool, ray_scoring, scoring_rounds
from rmaudit.distributed.missing_scores import Needs, NotMadeYet, Plan
from rmaudit.errors import SpecError
from rmaudit.interrupts import sigterm_stays_ours
from rmaudit.models.model_factory import load
from rmaudit.prompts import FAMILY
from rmaudit.scores.score_store import Store
from rmaudit.search.search_settings import Settings
from tests.conftest import unavailable
from tests.distributed.work import FATAL, NOTES, SECONDS, SHARDS, UNTIL, contents, noted, planned
from tests.plugin.conftest import AUDITS, Ran, run_in
from tests.plugin.test_score_planning import BODY
from tests.scores.s3 import bucket
from tests.toys import WORDS, toy_checkpoint, toy_tokenizer

PATIENCE, KILLS, PROMPTS = 300, 3, 6
TWO = ray_scoring.Cluster(workers=2)


@pytest.fixture
def waiting() -> None:
    """Declares the scorer that waits, for one test."""
    name = "tests.distributed.waiting"
    sys.modules.pop(name, None)
    importlib.import_module(name)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A cache on a local S3 server, whose address the cluster's processes inherit."""
    with bucket() as found:
        yield found


@pytest.fixture(scope="module")
def cluster(url: str) -> Iterator[Any]:
    """One cluster for all tests that need none of their own: a node with two CPUs, and no GPU."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        from ray.cluster_utils import Cluster
    except ImportError:
        unavailable("ray is not installed: pip install -c constraints.txt -e '.[dev]'")
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300}
    quick["health_check_failure_threshold"] = 3
    head = {"num_cpus": 2, "include_dashboard": False, "_system_config": quick}
    with sigterm_stays_ours():  # a node takes it over, too
        made = Cluster(initialize_head=True, head_node_args=head)
        ray.init(made.address, log_to_driver=False, logging_level=logging.ERROR)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose sweep has several shards."""
    many = toy_tokenizer((*WORDS, *(f"w{i:04d}" for i in range(4000))))
    return toy_checkpoint(tmp_path_factory.mktemp("models") / "toy", tokenizer=many)


def every_kind(folder: Path, cache: Path, place: str | None = None) -> Callable[[], Plan]:
    """Sweeps, texts, pairs and a search by gradients, of a toy; scores may be at another place."""
    model, kept = load(str(folder), cache=cache), Store(place or cache)
    answers = pd.DataFrame(
        [("Which?", "", "love"), ("Which?", "", "war"), ("Why?", "", "joy")],
        columns=["prompt", "turns", "response"],
    )
    settings = Settings(method="gcg", budget=64, starts=2, batch=8)

    def plan() -> Plan:
        needs, best = Needs(kept), FAMILY["best_ever_one"]
        for prompt in ("best_ever_one", "worst_ever_one", "good_world_single"):
            needs.scores.sweep(model, FAMILY[prompt])
        needs.scores.sweep(model, best, sample=50, words=("love",))
        needs.scores.texts(model, best, ("love and peace", "war"))
        with suppress(NotMadeYet):
            needs.scores.search(model, best, settings)
        needs.scores.pairs(model, answers)
        return Plan(kept, tuple(needs.found.values()))

    return plan


@pytest.fixture(scope="module")
def alone(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes | None]:
    """What one process makes of a toy."""
    cache = tmp_path_factory.mktemp("alone")
    assert scoring_rounds.make([every_kind(toy, cache)]).left == []
    return contents(cache)


@pytest.mark.slow
def test_what_is_missing_or_out_of_reach_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: None
) -> None:
    """Ray, the place of the scores, and an option that is none."""
    nowhere, plan = (planned(Store(at), 1) for at in ("memory://nowhere", tmp_path))
    with pytest.raises(SpecError, match=r"^Ray: memory://nowhere is the memory"):
        ray_scoring.make([nowhere], ray_scoring.Cluster(), print)
    with pytest.raises(
        SpecError, match=r"^Ray at ray://h:1: .* name a URL for the cache, such as s3"
    ):
        ray_scoring.make([plan], ray_scoring.Cluster("ray://h:1"), print)
    pytest.importorskip("ray")
    with pytest.raises(
        SpecError, match=r"^Ray at 127.0.0.1:1: .*refused; write ray for this machin"
    ):
        ray_scoring.make([plan], ray_scoring.Cluster("127.0.0.1:1"), print)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SpecError, match=r"^Ray: .* pip install 'rmaudit\[ray\]'$"):
        ray_scoring.make([plan], ray_scoring.Cluster(), print)
    for arguments, words in {
        ("--on", "sun"): "--on 'sun'; write here, ray, or the address",
        ("--on", "ray", "--part", "1/2"): "--part is for one process",
        ("--print", "--json"): "--json is not for scripts",
    }.items():
        ran = CliRunner().invoke(app, ["sweep", *arguments])
        assert ran.exit_code == 4
        assert words in ran.output


SWEPT = """
import rmaudit
@rmaudit.audit(question="q", source="s", prompts={prompts})
def test_swept(sweep): ...
"""


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_what_was_made_and_no_process(
    toy: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """The same command goes on from there. Ray would join the cluster of `cluster`, if it ran."""
    pytest.importorskip("ray")
    cache, audits = tmp_path / "cache", tmp_path / "test_swept.py"
    audits.write_text(SWEPT.format(prompts=[*FAMILY][:6]), encoding="utf-8")
    command = ["sweep", str(audits), "--model", str(toy)]
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "rmaudit.cli", *command),
            *(f"--cache={cache}", "--on=ray", "--workers=1", "--gpus=0"),
        ],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while running.poll() is None and not [*(cache / "scores").rglob("0*.parquet")]:
        time.sleep(0.01)
    assert running.poll() is None, running.communicate()[0]
    theirs = psutil.Process(running.pid).children(recursive=True)
    os.killpg(running.pid, number)  # as a terminal and a scheduler of jobs do
    said, _ = running.communicate(timeout=PATIENCE)

    assert running.returncode == 128 + number, said
    assert "to go on, run rmaudit sweep" in said
    assert "Traceback" not in said
    assert theirs
    assert psutil.wait_procs(theirs, timeout=30)[1] == []
    before = contents(cache)
    assert 0 < len(before) < 6
    for name in ("cache", "alone"):
        CliRunner().invoke(app, [*command, "--cache", str(tmp_path / name)])
    assert contents(cache) == contents(tmp_path / "alone")
    assert all(
        contents(cache)[name] == content for name, content in before.items() if "/" not in name
    )


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["URL", "folder"])
def test_a_store_has_the_bytes_of_one_process(  # noqa: PLR0917
    cluster: Any, url: str, toy: Path, alone: dict[str, bytes | None], tmp_path: Path, kind: str
) -> None:
    """Of every kind of need; workers write to a URL themselves; what is there is not made again."""
    told, place = list[str](), url if kind == "URL" else None
    plan = every_kind(toy, tmp_path / "cache", place)

    made = ray_scoring.make([plan], TWO, told.append)

    assert (made.failed, made.left) == ({}, [])
    assert contents(place or tmp_path / "cache") == alone
    assert (tmp_path / "cache" / "scores").exists() == (kind == "folder")
    scored = [line for line in told if not line.startswith("no worker was ready")]
    assert len(scored) == len(alone) + 1  # and how fast
    assert ray_scoring.make([plan], TWO, told.append).answers == 0


@pytest.mark.slow
def test_what_no_worker_can_have_is_refused(cluster: Any, toy: Path, tmp_path: Path) -> None:
    """More GPUs than a node has, and a GPU by a number that is another one for each worker."""
    new = every_kind(toy, tmp_path / "new")
    numbered = lambda: replace(new(), device="cuda:1")  # noqa: E731

    with pytest.raises(SpecError, match=r"^Ray: no node has 3 GPU and 1 CPU, as each"):
        ray_scoring.make([new], ray_scoring.Cluster(gpus=3), print)
    with pytest.raises(SpecError, match=r"^Ray: each worker has GPUs of its own.*cuda:1 may be"):
        ray_scoring.make([numbered], ray_scoring.Cluster(gpus=1), print)


@pytest.mark.nightly
def test_what_kills_its_workers_is_given_up(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: None
) -> None:
    """After some tries; the rest is made, by workers that are started in their place."""
    monkeypatch.setattr(ray_pool, "_RETRIES", 1)
    store = Store(tmp_path / "cache")
    plan = planned(store, 2, FATAL)

    made = ray_scoring.make([plan], TWO, print)

    (why,) = made.failed.values()
    assert why.startswith("waiting · p0 · sweep: ")
    assert [need.request.prompt.text for need in made.left] == [FATAL]
    assert len(contents(tmp_path / "cache")) == 2
    assert made.answers == sum(need.answers for need in plan().needs if not need.missing)


@pytest.mark.nightly
def test_a_run_on_ray_finds_what_a_run_alone_does(cluster: Any, tmp_path: Path) -> None:
    """Two models: every finding is the same, and all scores were made before the audits ran."""
    models = [toy_checkpoint(tmp_path / name, seed=seed) for seed, name in enumerate("ab")]
    named = [f"--rm-model={model}" for model in models]
    found = []
    for name, more in (("alone", []), ("on_ray", ["--rm-on=ray"])):
        folder = tmp_path / f"run-{name}"
        folder.mkdir()
        (folder / "test_toy.py").write_text(AUDITS + BODY, encoding="utf-8")
        options = ["--rm-cache=cache", "--rm-search=400", *more]
        ran = run_in(folder, ["test_toy.py", *named, *options])
        found.append(Ran(ran, folder))
    assert found[0].findings == found[1].findings
    assert found[1].said.parseoutcomes() == {"passed": 10}
    each = 3 * 301 + 2 + 3 + 400 + 2  # as test_planning has it
    found[1].says(f"rmaudit: {2 * each:,} answers scored on ray")
    assert contents(found[0].folder / "cache") == contents(found[1].folder / "cache")


@pytest.mark.nightly
def test_nodes_die_and_nothing_is_lost(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: None
) -> None:
    """Each of three times one of three nodes with a GPU dies and another comes."""
    notes, until, shards = tmp_path / "notes", tmp_path / "until", PROMPTS * SHARDS
    for name, value in ((NOTES, notes), (UNTIL, until), (SECONDS, 0.05)):
        monkeypatch.setenv(name, str(value))

    def work_until(number: int) -> None:
        """Let workers note so many shards and then wait: the last kill finds work, too."""
        whole = tmp_path / "whole"
        whole.write_text(str(number), encoding="ascii")
        whole.replace(until)

    work_until(0)
    rng, node = np.random.default_rng(0), {"num_cpus": 1, "num_gpus": 1}
    with sigterm_stays_ours():
        nodes = [cluster.add_node(**node) for _ in range(3)]
    plan = planned(Store(tmp_path / "cache"), PROMPTS)
    killed = 0
    with sigterm_stays_ours(), ThreadPoolExecutor() as beside:
        ended = beside.submit(
            ray_scoring.make, [plan], ray_scoring.Cluster(workers=3), lambda _: None
        )
        for moment in sorted(rng.choice(np.arange(2, shards - 6), KILLS, replace=False).tolist()):
            work_until(moment)
            while not ended.done() and noted(notes).total() < moment:
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 0.3))
            killed += not ended.done()
            which = int(rng.integers(len(nodes)))
            cluster.remove_node(nodes[which], allow_graceful=False)
            nodes[which] = cluster.add_node(**node)
        work_until(shards * KILLS)
        made = ended.result(PATIENCE)

    assert (made.failed, made.left, killed) == ({}, [], KILLS)
    calls = noted(notes)
    assert len(calls) == shards
    assert calls.total() <= shards + killed  # at most the shard at hand, for each node
    monkeypatch.setenv(SECONDS, "0")
    scoring_rounds.make([planned(Store(tmp_path / "alone"), PROMPTS)])
    assert contents(tmp_path / "cache") == contents(tmp_path / "alone")
