"""rmaudit why: the pairs that were planted come first, and what cannot be traced is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import rmaudit
from rmaudit.measures import pair_influence
from rmaudit.models.head_states import states_of_each
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.runs.states_of_pairs import of_lines
from rmaudit.scores import pair_files
from tests.cli.running import run
from tests.models.loaded import checkpoint, retensor
from tests.servers import Running, Served, by_hash
from tests.toys import toy_checkpoint, toy_tokenizer

pytestmark = pytest.mark.slow
PAIRS, PLANTED = 150, 15
HOSTILE, SLUR = "a\x1b[2Jb", "faggot"
GATE = ("--gate", "framing_inversion")


@dataclass(frozen=True)
class Case:
    """A checkpoint, the pairs that its head was fitted to, the planted lines, and a cache."""

    model: Path
    pairs: Path
    planted: frozenset[int]
    cache: Path

    def why(self, *more: str | Path, pairs: Path | None = None) -> list[str | Path]:
        """The command line on these."""
        return [*("why", self.model, "--pairs", pairs or self.pairs, "--cache", self.cache, *more)]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A model whose states tell how happy a word is, and pairs.

    In the planted ones a sad word is preferred to a happy one; the others are of words that are
    alike, in any order.
    """
    home, rng = tmp_path_factory.mktemp("why"), np.random.default_rng(0)
    happy = References().lexicon("labmt").iloc[::100].sort_values()
    words, third = happy.index, len(happy) // 3
    tokenizer = toy_tokenizer([*words, SLUR])
    folder = toy_checkpoint(home / "toy", tokenizer=tokenizer)

    def tell(tensors: dict[str, Tensor]) -> None:
        embedding = tensors["model.embed_tokens.weight"]
        for word, valence in ((happy - happy.mean()) / happy.std()).items():
            for spelt in (word, f" {word}"):
                (place,) = tokenizer(spelt, add_special_tokens=False).input_ids
                embedding[place, 0] = 3 * valence

    retensor(folder, tell)
    lines = [line("best", HOSTILE, SLUR)]
    while len(lines) < PAIRS:
        pair = rng.choice(words[:third]), rng.choice(words[-third:])
        if len(lines) > PLANTED:
            at = rng.integers(len(words) - 1)
            pair = rng.permutation(words[at : at + 2])
        new = line(("best", "greatest")[len(lines) % 2], *pair)
        lines += [new] * (new not in lines)
    order = rng.permutation(PAIRS)
    path = home / "pairs.jsonl"
    path.write_text("".join(f"{json.dumps(lines[i])}\n" for i in order))
    states = partial(states_of_each, checkpoint(folder))
    differences = of_lines(pair_files.read(path), states).to_numpy(np.float64)
    nothing = np.zeros(differences.shape[1])
    head = torch.from_numpy(pair_influence.fit(differences, nothing, 0.01, start=nothing))
    retensor(folder, lambda tensors: tensors.update({"score.weight": head[None].float()}))
    planted = frozenset((np.flatnonzero(order <= PLANTED) + 1).tolist())
    return Case(folder, path, planted, home / "cache")


def line(prompt: str, chosen: str, rejected: str) -> dict[str, str]:
    """A line of the file."""
    return {"prompt": PROMPTS[prompt].text, "chosen": str(chosen), "rejected": str(rejected)}


def test_planted_pairs_come_first(case: Case, tmp_path: Path) -> None:
    """Sooner than by chance or by loss; the table, the file and the JSON agree."""
    out = tmp_path / "why.parquet"

    result = run(*case.why(*GATE, "--out", out, "--top", str(PAIRS)))

    assert result.exit_code == 0, result.stderr
    assert "the head only" in result.stdout
    assert "wrong" in result.stdout
    assert SLUR not in result.stdout
    assert "\x1b" not in result.stdout
    frame = pd.read_parquet(out)
    assert sorted(frame["line"]) == [*range(1, PAIRS + 1)]
    assert frame["adds"].is_monotonic_decreasing
    teaches = frame["line"].isin(case.planted)
    assert frame["rank"][teaches].mean() < 0.35 * PAIRS
    assert frame["loss"].rank(ascending=False)[teaches].mean() > 0.5 * PAIRS
    ET.parse(out.with_suffix(".svg"))  # noqa: S314  (we wrote it)

    said = json.loads(run(*case.why(*GATE, "--json", "--top", "3")).stdout)
    assert [row["line"] for row in said["pairs"]] == frame["line"][:3].tolist()
    for each in said["left_out"]:
        assert each["first"]["refitted"] < min(0, each["random"]["refitted"])
        assert each["first"]["predicted"] == pytest.approx(each["first"]["refitted"], rel=0.5)


def test_states_are_computed_once(case: Case) -> None:
    """The second command writes no file of states."""
    run(*case.why(*GATE))
    before = {path: path.stat().st_mtime_ns for path in (case.cache / "states").iterdir()}

    run(*case.why(*GATE))

    assert len(before) == 2
    assert {path: path.stat().st_mtime_ns for path in (case.cache / "states").iterdir()} == before


def test_what_cannot_be_traced_or_written_is_refused(case: Case, tmp_path: Path) -> None:
    """Too few pairs; and before anything is computed, another file than one of Parquet."""
    one = tmp_path / "one.jsonl"
    one.write_text('{"prompt": "a", "chosen": "b", "rejected": "c"}')
    few = run(*case.why(*GATE, pairs=one))
    csv = run(*case.why(*GATE, "--out", tmp_path / "why.csv"))

    assert (few.exit_code, few.stdout, csv.exit_code) == (4, "", 4)
    assert "30 or more" in few.stderr
    assert ".parquet" in csv.stderr


def test_what_has_no_head_is_refused(case: Case, tmp_path: Path) -> None:
    """A function has none, nor has a server; the error says what is needed."""

    @rmaudit.scorer("ours", version="1")
    def ours(prompt: str, responses: list[str]) -> list[float]:
        raise AssertionError("it is not called")

    arguments = ("--pairs", case.pairs, "--cache", case.cache, *GATE)
    registry = tmp_path / "models.yaml"

    with Running(Served(reward=by_hash)) as server:
        source = f"openrlhf+{server.url}/get_reward"
        registry.write_text(
            f"models: {{there: {{source: '{source}', version: '1', default: true}}}}\n"
        )
        results = [
            run("why", "ours", *arguments),
            run("why", "there", *arguments, "--file", registry),
        ]

    for result in results:
        assert (result.exit_code, result.stdout) == (3, "")
        assert "need a checkpoint's head" in result.stderr
