"""The options: what each does, and what is said when it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmaudit.models.native import Native
from tests.plugin.conftest import Run

Results = Callable[[], dict[str, Any]]
PASSING = "@declare(0.0)\ndef test_high(rng): return estimate(1.0)"
SWEEPING = "@declare(0.0)\ndef test_high(sweep): return estimate(float(len(sweep.frame)))"


def test_model_folder_sweeps(run: Run, pytester: pytest.Pytester) -> None:
    """`--model FOLDER` sweeps a checkpoint saved by save_pretrained, and reports its tokens."""
    result = run(SWEEPING)

    result.assert_outcomes(passed=2)
    (page,) = pytester.path.glob("reports/*/index.html")
    assert "Content warning" in page.read_text(encoding="utf-8")


def test_model_unknown(run: Run) -> None:
    """An unknown name is one line with the nearest name, and exit code 4."""
    result = run(PASSING, model="R-Smol-135")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *'R-Smol-135'*R-Smol-135M*"])


def test_model_repeated_and_glob(run: Run) -> None:
    """`--model` may be repeated, and a glob names several models of the registry."""
    result = run(PASSING, "--model", "S-Gem-27B*", "--collect-only", "-q", model="R-Lla-3B")

    result.stdout.fnmatch_lines(
        [
            "*test_high[[]R-Lla-3B-greatest[]]",
            "*test_high[[]R-Lla-3B-worst[]]",
            "*test_high[[]S-Gem-27B-v0.2-greatest[]]",
            "*test_high[[]S-Gem-27B-v0.2-worst[]]",
            "*test_high[[]S-Gem-27B-greatest[]]",
            "*test_high[[]S-Gem-27B-worst[]]",
        ]
    )


def test_two_models_of_one_name(run: Run, toy: Path, pytester: pytest.Pytester) -> None:
    """Two folders of one name are refused: their findings could not be told apart."""
    other = pytester.mkdir("elsewhere") / "toy"
    other.mkdir()
    (other / "config.json").write_text("{}", encoding="utf-8")
    result = run(PASSING, "--model", str(other))

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: two models are called 'toy': {toy} and {other}*"])


def test_rm_model_where_another_owns_model(run: Run, toy: Path, pytester: pytest.Pytester) -> None:
    """A suite that has a `--model` of its own keeps it; `--rm-model` does the same for us."""
    pytester.makeconftest(
        "def pytest_addoption(parser): parser.addoption('--model', default='theirs')\n"
        "def pytest_report_header(config): return 'model is ' + config.getoption('--model')\n"
    )
    result = run(PASSING, "--rm-model", str(toy), model=None)

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["model is theirs"])


def test_models_wrong_file(run: Run, pytester: pytest.Pytester) -> None:
    """A mistake in the registry is one line with its place, and exit code 4."""
    path = pytester.path / "other.yaml"
    path.write_text("models:\n  A:\n    sorce: embedded\n", encoding="utf-8")
    result = run(PASSING, "--rm-models", str(path), model=None)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *other.yaml:3: A: unknown key 'sorce'*'source'*"])


def test_default_registry_with_a_mistake(run: Run, pytester: pytest.Pytester) -> None:
    """The same holds for the models.yaml of the current folder, once there is an audit."""
    pytester.path.joinpath("models.yaml").write_text("models: 3\n", encoding="utf-8")
    result = run(PASSING, model=None)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *models.yaml:1: *"])


def test_cache_is_read_by_the_second_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run finds the sweeps in the cache and loads no weights."""
    run(SWEEPING).assert_outcomes(passed=2)

    def refuse(*_: object) -> None:
        message = "the weights were loaded"
        raise AssertionError(message)

    monkeypatch.setattr(Native, "load", refuse)

    run(SWEEPING).assert_outcomes(passed=2)


@pytest.mark.parametrize(("mode", "outcome"), [("skip", "skipped"), ("fail", "errors")])
def test_missing(
    mode: str, outcome: str, run: Run, monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester
) -> None:
    """Reference data that cannot be had skip the audit visibly, or fail it where so asked."""
    monkeypatch.setattr("pooch.retrieve", _refuse_download)
    monkeypatch.setenv("RMAUDIT_DATA", str(pytester.path))
    body = "@declare(0.0)\ndef test_high(references): return estimate(len(references.elo()))"
    result = run(body, "--rm-missing", mode)

    result.assert_outcomes(**{outcome: 2})
    word = {"skip": "SKIPPED", "fail": "ERROR"}[mode]
    result.stdout.fnmatch_lines([f"{word}: high*: elo: *; get it with: rmaudit data elo"])


def _refuse_download(*_: object, **__: object) -> None:
    message = "no network"
    raise OSError(message)


def test_seed(run: Run) -> None:
    """The same seed gives the same draws, another seed gives others."""
    body = "@declare(-1.0)\ndef test_high(rng): return estimate(rng.random())"

    def numbers(*args: str) -> list[str]:
        return [line for line in run(body, *args).outlines if line.startswith("PASS")]

    assert numbers("--rm-seed", "1") == numbers("--rm-seed", "1")
    assert numbers("--rm-seed", "1") != numbers("--rm-seed", "2")


def test_reports_are_never_overwritten(run: Run, pytester: pytest.Pytester) -> None:
    """Two runs, be they in the same second, leave two reports where `--rm-report` says."""
    for _ in range(2):
        run(PASSING, "--rm-report", "here/there")

    assert len(list(pytester.path.glob("here/there/*/results.json"))) == 2


# Where and in what models run


NOTED = """
@declare(0.0)
def test_high(reward_model, sweep):
    print("noted", reward_model.device, reward_model.loader.dtype, sweep.provenance["dtype"])
    return estimate(1.0)
"""


@pytest.mark.parametrize(
    ("args", "device", "dtype"),
    [
        ((), "auto", "float32"),
        (("--rm-device", "cpu"), "cpu", "float32"),
        (("--rm-dtype", "bfloat16"), "auto", "bfloat16"),
        (("--rm-device=spread", "--rm-dtype=float16"), "spread", "float16"),
    ],
)
def test_device_and_dtype(
    run: Run, results: Results, args: tuple[str, ...], device: str, dtype: str
) -> None:
    """Both reach the model, and the command that repeats a finding."""
    result = run(NOTED, "-rP", "-k", "greatest", *args)

    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines([f"noted {device} {dtype} {dtype}"])
    (finding,) = results()["findings"]
    repeat = finding["repeat"].split(" --rm-seed 0")[1]
    assert repeat == "".join(f" {arg}" for arg in " ".join(args).replace("=", " ").split())


def test_dtype_overrides_the_registry(run: Run, toy: Path, pytester: pytest.Pytester) -> None:
    """For every model of the run; and the registry that was given is part of the repetition."""
    entry = f"source: {toy}\n    dtype: float16\n"
    registry = f"models:\n  A:\n    default: true\n    {entry}  B:\n    {entry}"
    pytester.path.joinpath("mine.yaml").write_text(registry, encoding="utf-8")
    args = ("-rP", "-k", "greatest", "--rm-models", "mine.yaml", "--model", "A")
    own = run(NOTED, *args, model="B")
    overridden = run(NOTED, *args, "--rm-dtype", "bfloat16", model="B")
    failing = run(NOTED.replace("0.0", "90.0"), *args, "--rm-dtype", "bfloat16", model="B")

    assert own.outlines.count("noted auto float16 float16") == 2
    assert overridden.outlines.count("noted auto bfloat16 bfloat16") == 2
    failing.stdout.fnmatch_lines(
        ["*repeat * --rm-model B --rm-seed 0 --rm-models mine.yaml --rm-dtype bfloat16"]
    )


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        (
            "--rm-device",
            "gpu",
            (
                "unknown device 'gpu'; known: auto, spread, cpu, mps, cuda, cuda:0 and the like; "
                "xpu, hpu and npu likewise"
            ),
        ),
        ("--rm-device", "cuda:", "unknown device 'cuda:'; known: *"),
        ("--rm-device", "cpu:1", "unknown device 'cpu:1'; known: *"),
        ("--rm-device", "", "unknown device ''; known: *"),
        ("--rm-dtype", "int8", "unknown dtype 'int8'; known: float32, bfloat16, float16"),
        ("--rm-dtype", "auto", "unknown dtype 'auto'; known: float32, bfloat16, float16"),
    ],
)
def test_wrong_device_or_dtype(run: Run, option: str, given: str, message: str) -> None:
    """One line that says what is known, and exit code 4."""
    result = run(PASSING, f"{option}={given}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in result.errlines if line)
    result.stderr.fnmatch_lines([f"ERROR: {option}: {message}"])
    assert line.startswith("ERROR: ")


@pytest.mark.parametrize("given", ["auto", "cuda", "cuda:1", "mps", "xpu:0"])
def test_devices_that_are_not_here_are_asked_for_later(run: Run, given: str) -> None:
    """The plugin loads no torch to know them: only a model that has to score does."""
    run(PASSING, f"--rm-device={given}").assert_outcomes(passed=2)


def test_a_device_that_is_not_here(run: Run, results: Results) -> None:
    """An ERROR of the audit, which says which there are."""
    run(SWEEPING, "--rm-device=cuda:99", "-k", "greatest").assert_outcomes(errors=1, deselected=1)

    (finding,) = results()["findings"]
    assert finding["verdict"] == "ERROR"
    assert finding["reason"].startswith("toy: no device 'cuda:99' here; known: auto, cpu, spread")


def test_rewards_carry_their_noise(run: Run) -> None:
    """The fixture gives scores and noise, in the model's units."""
    body = """
@declare(-1.0)
def test_high(rewards):
    scored = rewards(["love", "peace and war"])
    assert scored.scores.shape == (2,)
    assert 0 <= scored.noise < 1e-3
    return estimate(float(scored.noise))
"""
    run(body).assert_outcomes(passed=2)
