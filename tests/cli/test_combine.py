"""rmaudit combine: models alone and combined, at equal distances from the policy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

import rmaudit
from rmaudit.config.model_registry import load_registry
from rmaudit.scores.first_token_logprobs import base_logprobs
from tests.cli.running import run
from tests.servers import Running, Served, by_hash
from tests.toys import toy_checkpoint, toy_language_model, toy_tokenizer

WORDS = """love peace joy war hate pain table city friend mother child house water music night
winter summer garden bread money doctor teacher hunger fear anger hope trust death life birth
illness health school prison freedom truth lie thief honesty storm sun rain snow fire river"""
FILE = """models:
  a: {source: ./a, default: true, policy: ./sft}
  b: {source: ./b}
  c: {source: ./c}
  both: {ensemble: {members: [a, b], rule: minimum}}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three toys whose tokens are rated words, and a policy; `c` has few of them."""
    home = tmp_path_factory.mktemp("combine")
    tokenizer = toy_tokenizer(WORDS.split())
    for seed, name in enumerate("ab"):
        toy_checkpoint(home / name, seed=seed, tokenizer=tokenizer)
    toy_checkpoint(home / "c")
    toy_language_model(home / "sft", tokenizer=tokenizer)
    (home / "models.yaml").write_text(FILE)
    return home


def combine(home: Path, *options: str, file: str = "models.yaml") -> Result:
    """What the command gives, under one prompt."""
    where = ("--file", home / file, "--cache", home / "cache", "--prompt", "best")
    return run("combine", *options, *where)


@pytest.mark.slow
def test_a_model_alone_is_its_own_optimum(mirror: Path, home: Path) -> None:
    """At the same KL as `Sweep.tilt` says it; an ensemble of the file is a model like any other."""
    result = combine(home, "a", "b", "both", "--k", "2", "--json")
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert list(said["training"]) == ["a", "b", "both", "mean", "minimum", "mean - 2 sd"]
    assert said["prompts"][0]["share"] == pytest.approx(1)
    assert set(said["onsets"]) == set(said["training"])

    registry = load_registry(home / "models.yaml")
    model = rmaudit.load("b", registry=registry.path, cache=home / "cache")
    first = rmaudit.load("a", registry=registry.path, cache=home / "cache")
    policy = base_logprobs(first, "best", of="policy", cache=home / "cache").by_id
    frame = rmaudit.sweep(model, "best", cache=home / "cache").tilt(policy, nats=1.0)
    letterless = ~frame["text"].str.contains(r"[^\W\d_]")
    stage = at(said, "b", 1.0)
    assert stage["no letters"] == pytest.approx(frame["after"][letterless].sum(), abs=1e-4)
    assert at(said, "b", 0.0)["as asked"] == 0
    assert stage["words"] < at(said, "b", 0.0)["words"]


def at(said: Any, name: str, nats: float) -> Any:
    """What a model alone or a combination leads to, at a KL of so many nats."""
    (found,) = [each for each in said["training"][name] if round(each["nats"], 3) == nats]
    return found


@pytest.mark.slow
def test_the_table_has_every_way(mirror: Path, home: Path) -> None:
    """A row for each at each KL; what cannot be reached is said, and lines fit a terminal."""
    result = combine(home, "a", "b")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert "100.0% of what the policy answers" in lines[0]
    assert [line.split()[0] for line in lines if line.endswith("words")] == [
        *("0", "0.5", "1", "2", "4", "8")
    ]
    assert sum(line.startswith("mean - 1 sd") for line in lines) == 6
    assert any(line.split() == ["a", "too", "far"] for line in lines)
    assert "nats" in lines[-1].removeprefix("mean - 1 sd")
    assert max(map(len, lines)) <= 100


@pytest.mark.slow
def test_a_server_of_texts_is_one_of_the_models(mirror: Path, home: Path) -> None:
    """It is joined by the text of tokens, and cannot be the first, whose ids the policy has."""
    tokens = WORDS.split()
    policy = {
        "prompt": "best",
        "tokens": tokens,
        "logprobs": [-math.log(len(tokens))] * len(tokens),
    }
    (home / "words.jsonl").write_text(json.dumps(policy))

    with Running(Served(reward=by_hash)) as server:
        entry = f"  there: {{source: 'openrlhf+{server.url}/get_reward', version: '1'}}\n"
        (home / "served.yaml").write_text(f"{FILE}{entry}")
        how = ("--policy", str(home / "words.jsonl"))
        found = combine(home, "a", "there", "--json", *how, file="served.yaml")
        refused = combine(home, "there", "a", *how, file="served.yaml")

    assert found.exit_code == 0, found.stderr
    said = json.loads(found.stdout)
    assert list(said["training"])[:2] == ["a", "there"]
    assert said["prompts"][0]["share"] > 0.9
    assert refused.exit_code == 4
    assert "such as a checkpoint" in refused.stderr


@pytest.mark.slow
def test_what_cannot_be_combined_is_refused(mirror: Path, home: Path) -> None:
    """One model, a model twice, no policy, no number k, vocabularies with little in common."""
    assert "two or more" in combine(home, "a").stderr
    assert "each once" in combine(home, "a", "a").stderr
    assert "name one with --policy" in combine(home, "b", "a").stderr
    assert "a number from 0" in combine(home, "a", "b", "--k", "inf").stderr
    few = combine(home, "a", "c")
    assert few.exit_code == 3
    assert "of what the policy answers" in few.stderr
