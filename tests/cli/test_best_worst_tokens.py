"""rmaudit tokens: the best and worst tokens of each prompt, masked and escaped, and the moments."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file
from typer.testing import Result

import rmaudit
from rmaudit.prompts import PROMPTS
from tests.cli.running import run
from tests.toys import toy_checkpoint, toy_tokenizer

HOSTILE = ("kike", "\u202eab\x1b[2J", '=HYPERLINK("x")', "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字")

REGISTRY = "models: {A: {source: embedded, default: true}, Published: {source: owner/name}}"
PUBLISHED = """token_id,token_name,token_decoded,greatest,best,worst
0,a,a,1.5,0.25,-1
1,b,b,,4,2.5
2,c,c,-1,4,2.5
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy whose vocabulary has a slur, control characters, a formula and wide signs."""
    tokenizer = toy_tokenizer()
    tokenizer.add_tokens(list(HOSTILE))
    return toy_checkpoint(tmp_path_factory.mktemp("models") / "toy", tokenizer=tokenizer)


def tokens(toy: Path, *options: str) -> Result:
    """What the command gives."""
    return run("tokens", toy, "--cache", toy.parent / "cache", *options)


def told(toy: Path, *options: str) -> list[dict[str, Any]]:
    """What `--json` says, which is the whole of stdout."""
    result = tokens(toy, *options, "--json")
    assert result.exit_code == 0, result.stderr
    said: list[dict[str, Any]] = json.loads(result.stdout)
    return said


@pytest.mark.slow
def test_the_best_and_worst_are_those_of_the_sweep(toy: Path) -> None:
    """For each of the three prompts, in the order of their rewards, with the moments of all."""
    said = told(toy, "--top", "4")

    assert [each["prompt"] for each in said] == [prompt.text for prompt in PROMPTS.values()]
    for each, name in zip(said, PROMPTS, strict=True):
        frame = rmaudit.sweep(str(toy), name, cache=toy.parent / "cache").frame
        ranked = frame.sort_values("score", kind="stable")
        assert [row["token_id"] for row in each["worst"]] == list(ranked["token_id"][:4])
        assert [row["reward"] for row in each["best"]] == sorted(frame["score"])[:-5:-1]
        assert each["tokens"] == len(frame)
        assert each["moments"]["mean"] == pytest.approx(frame["score"].mean())
        assert each["moments"]["variance"] == pytest.approx(np.var(frame["score"].to_numpy(float)))


@pytest.mark.slow
def test_nothing_hurts_or_steers_the_terminal(toy: Path) -> None:
    """Of the whole vocabulary: the slur is masked, what does not show is spelled out, all fits."""
    size = str(told(toy, "--prompt", "best")[0]["tokens"])
    result = tokens(toy, "--prompt", "best", "--top", size)

    assert result.exit_code == 0, result.stderr
    assert "kike" not in result.stdout
    assert "k•••" in result.stdout
    assert r"'\u202eab\x1b[2J'" in result.stdout
    assert not {"\u202e", "\x1b"} & set(result.stdout)
    assert max(map(len, result.stdout.splitlines())) <= 100
    texts = {row["text"] for row in told(toy, "--prompt", "best", "--top", size)[0]["best"]}
    assert set(HOSTILE) <= texts, "--json has the tokens as they are"


def test_small_rewards_are_shown_as_they_are(toy: Path, tmp_path: Path) -> None:
    """Show a head whose weights are tiny: neither its variance nor a reward is 0.000."""
    folder = shutil.copytree(toy, tmp_path / "tiny")
    tensors = load_file(folder / "model.safetensors")
    tensors["score.weight"] *= 1e-5
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    result = tokens(folder, "--prompt", "best", "--top", "3")

    assert result.exit_code == 0, result.stderr
    assert re.search(r"variance \d(\.\d+)?e-\d+, skewness", result.stdout)
    assert len(re.findall(r"[+-]\d(?:\.\d+)?e-\d+", result.stdout)) >= 6
    assert "0.000  '" not in result.stdout


@pytest.mark.slow
def test_the_file_is_a_table(toy: Path, tmp_path: Path) -> None:
    """A row for each end, place and prompt; masked, and no cell begins a formula."""
    path = tmp_path / "tokens.csv"
    size = told(toy, "--prompt", "best")[0]["tokens"]
    result = tokens(toy, "--prompt", "best", "--top", str(size), "--csv", str(path))

    assert result.stdout.splitlines()[-1] == f"written: {path}"
    rows = pd.read_csv(path)
    assert len(rows) == 2 * size
    assert list(rows["place"][:2]) == [1, 2]
    assert rows[rows["end"] == "best"]["reward"].is_monotonic_decreasing
    assert "kike" not in set(rows["token"])
    assert not rows["token"].str.startswith(("=", "+", "-", "@")).any()


@pytest.mark.slow
def test_any_text_and_the_papers_protocol(toy: Path) -> None:
    """The two protocols are two sweeps: ids that do not come back from text differ."""
    exact, paper = (
        told(toy, "--prompt", "What do you like?", "--protocol", how)[0]
        for how in ("exact", "paper")
    )

    assert (exact["prompt"], exact["protocol"]) == ("What do you like?", "exact")
    assert paper["protocol"] == "paper"
    assert exact["best"] != paper["best"]


def test_published_scores_need_no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was imported of a recorded model is shown; a token without a score is in no place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("models.yaml").write_text(REGISTRY)
    Path("data/reward_model_scores").mkdir(parents=True)
    Path("data/reward_model_scores/owner--name.csv").write_text(PUBLISHED)
    imported = run("data", "import", "data")
    assert imported.exit_code == 0, imported.output

    arguments = ["tokens", "Published", "--recorded", "--prompt", "greatest", "--json"]
    (said,) = json.loads(run(*arguments).stdout)

    assert [row["text"] for row in said["best"]] == ["a", "c"]
    assert [row["reward"] for row in said["worst"]] == [-1.0, 1.5]
    assert said["protocol"] == "paper"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--prompt greatets", 4, "greatest"),
        ("--protocol papr", 4, "unknown protocol 'papr'; known: exact, paper"),
        ("--top 0", 4, "--top"),
        ("--csv /none/tokens.csv", 3, "/none/tokens.csv"),
    ],
)
def test_what_is_wrong_is_said_at_once(toy: Path, options: str, code: int, said: str) -> None:
    """By an exit code and a line on stderr; a wrong option has nothing on stdout."""
    result = tokens(toy, *options.split())

    assert result.exit_code == code
    assert said in result.stderr
    assert code == 3 or result.stdout == ""
