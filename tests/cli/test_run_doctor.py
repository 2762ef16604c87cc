"""rmaudit doctor, and models and models check of a model behind a server: what is told."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models import forward_parity_check
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.scoring.row_runners import SharedPrefix
from tests.cli.running import run
from tests.servers import Running, Served
from tests.toys import toy_checkpoint


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint."""
    return toy_checkpoint(tmp_path_factory.mktemp("models") / "toy")


@pytest.fixture
def served(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server of the toy's rewards, as the default of the models.yaml of the current folder."""
    local, lock = Checkpoint(ModelSpec("toy", str(toy)), cache=tmp_path), threading.Lock()

    def reward(row: tuple[int, ...]) -> float:
        with lock:
            return float(local.own_rewards([row])[0])

    has = Served(reward=reward)
    monkeypatch.chdir(tmp_path)
    with Running(has) as server:
        entry = f"source: vllm+{server.url}, checkpoint: {toy}, default: true"
        Path("models.yaml").write_text(f"models: {{house: {{{entry}}}}}\n", encoding="utf-8")
        yield has


@pytest.mark.slow
def test_doctor_compares_a_server_with_its_checkpoint(served: Served, toy: Path) -> None:
    """Exit 0 with the largest difference and the rank correlation; 1 once rewards are others."""
    command = ["doctor", "house", "--answers", "8", "--cache", "cache"]
    fine = run(*command, "--checkpoint", str(toy))
    own_entry = run(*command, "--json")
    own, served.reward = served.reward, lambda row: -own(row)
    wrong = run(*command, "--checkpoint", str(toy))

    assert fine.exit_code == 0
    assert "the server against float32 here" in fine.stdout
    assert "rank correlation with the checkpoint: 1.0000, allowed 0.99 and more  ok" in fine.stdout
    assert own_entry.exit_code == 0
    told = json.loads(own_entry.stdout)
    assert told["rank_correlation"] == pytest.approx(1)
    assert told["ok"]
    assert wrong.exit_code == 1
    assert "TOO FAR" in wrong.stdout
    assert "TOO LOW" in wrong.stdout


@pytest.mark.slow
def test_models_says_what_a_server_is(served: Served) -> None:
    """Listed without asking it; `check` asks, and says why it is refused."""
    listed = run("models").stdout
    asked = served.requests
    fine = run("models", "check", "house")
    served.knows = "nothing"
    wrong = run("models", "check", "house")

    assert any("house" in line and line.endswith("served") for line in listed.splitlines())
    assert asked == 0
    assert fine.exit_code == 0
    assert "vLLM, which has 'house/rm'" in fine.stdout
    assert "logits, by token ids" in fine.stdout
    assert "pytest audits --model house" in fine.stdout
    assert wrong.exit_code == 1
    assert "gives no logits" in wrong.stdout


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written to the user's cache."""
    monkeypatch.setattr("rmaudit.models.checkpoint_model.default_cache", lambda: tmp_path / "cache")


NUMBER = r"\d\.\de[+-]\d\d"


@pytest.mark.slow
def test_doctor_says_that_a_model_is_scored_as_it_scores_itself(toy: Path) -> None:
    """What was run and where, four checks with what they allow, and the noise; exit 0."""
    result = run("doctor", str(toy), "--answers", "16")
    told = json.loads(run("doctor", str(toy), "--answers", "16", "--json").stdout)

    lines = result.stdout.splitlines()
    titles = ("answers", "largest", "rms", "allowed")
    ends = [lines[2].index(title) + len(title) for title in titles]
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.isascii()
    assert lines[0].startswith("toy: float32 on cpu, path 'shared prefix', ")
    assert len(lines) == 9
    for line, check in zip(lines[3:7], told["checks"], strict=True):
        assert line.startswith(f"  {check['name']} ")
        assert line.endswith(f" {check['allowed']:.1e}  ok")
        assert re.search(rf" 16 +{NUMBER} +{NUMBER} ", line)
        assert all(line[end - 1] != " " and line[end] == " " for end in ends)
        assert (check["ok"], check["answers"]) == (True, 16)
    assert [check["allowed"] for check in told["checks"]] == [1e-4] * 3 + [0.0]
    assert re.fullmatch(rf"numeric noise: {NUMBER} sd, [0-9.e-]+ in rewards", lines[8])
    assert lines[7].endswith(
        " gives the ids of tokenizer.json to 70 texts of 18 kinds, from digits to prose"
    )
    assert told["noise_sd"] == max(check["rms"] for check in told["checks"])
    place = (told["model"], told["dtype"], told["device"], told["exact"])
    assert place == ("toy", "float32", "cpu", True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "gpt_oss", "doge"])
def test_doctor_compares_half_precision_with_float32(tmp_path: Path, kind: str) -> None:
    """A line without a verdict; all within 100 columns, whatever the path is called."""
    folder = toy_checkpoint(tmp_path / "R-Toy-8B-v0.2", kind=kind)

    result = run("doctor", str(folder), "--answers", "16", "--dtype", "bfloat16")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("R-Toy-8B-v0.2: bfloat16 on cpu, path '")
    assert re.fullmatch(rf"  float32 against bfloat16 +16 +{NUMBER} +{NUMBER}", lines[7])
    assert max(map(len, lines)) <= 100


@pytest.mark.slow
def test_doctor_says_what_is_not_exact(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1: a program can ask; every check is printed, and stays within 100 columns."""
    real = SharedPrefix.states
    monkeypatch.setattr(SharedPrefix, "states", lambda *a: real(*a) * (1 + 1e-3 * len(a[1])))
    nothing = forward_parity_check.PathChecks(sd=1.0, every=True, loosely="")
    monkeypatch.setattr(forward_parity_check, "check", lambda *_, **__: nothing)

    result = run("doctor", str(toy), "--answers", "64")

    lines = result.stdout.splitlines()
    verdicts = [line[line.index("e", 65) + 3 :].strip() for line in lines[3:7]]
    assert [line.endswith("NOT EXACT") for line in lines[3:7]] == [True, True, True, False]
    assert verdicts[3].endswith("ok")
    assert result.exit_code == 1
    assert result.stderr == ""
    assert max(map(len, lines)) <= 100


@pytest.mark.slow
def test_doctor_takes_the_weights_from_the_cache(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--cache is where the embedded model is built."""
    asked: list[Path] = []

    def build(cache: Path) -> Path:
        asked.append(cache)
        return toy

    monkeypatch.setattr("rmaudit.checkpoints.bundled_model.build", build)
    monkeypatch.chdir(tmp_path)

    result = run("doctor", "R-Smol-135M", "--answers", "8", "--cache", str(tmp_path / "there"))

    assert result.exit_code == 0
    assert set(asked) == {tmp_path / "there"}


@pytest.mark.parametrize(
    ("model", "code", "said"),
    [
        ("*Lla*", 4, "'*Lla*' means "),
        ("./flat", 3, "flat: 8 answers have one reward: 0"),
        ("./headless", 3, "headless: no 'score.weight' in "),
    ],
)
def test_doctor_refuses_in_one_line(  # noqa: PLR0917
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, code: int, said: str
) -> None:
    """Exit 4 where the command is wrong, 3 where the model is; the reason on stderr."""
    monkeypatch.chdir(tmp_path)
    tensors = load_file(toy / "model.safetensors")
    flat = tensors | {"score.weight": tensors.pop("score.weight") * 0}
    for name, own in (("flat", flat), ("headless", tensors)):
        save_file(own, Path(shutil.copytree(toy, name)) / "model.safetensors", {"format": "pt"})

    result = run("doctor", model, "--answers", "8")

    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.exit_code) == ("", code)
