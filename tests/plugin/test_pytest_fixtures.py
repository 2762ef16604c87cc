"""What audits are given, in runs on a toy: each fixture, its caveats, and the null controls."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.runs.audit_case import Case
from rmaudit.runs.fixture_registry import FIXTURES, Fixture
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.null_controls import random
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from tests.plugin.conftest import HIGH, Run
from tests.toys import toy_checkpoint, toy_language_model, toy_tokenizer

SIZE = len(toy_tokenizer())
SWEEP = "@declare(-99)\ndef test_sweep(sweep): return estimate(float(len(sweep.frame)))\n"
JOINT = "@declare(0.0, prompts=['best', 'worst'], joint=True)\ndef test_both({}\n"


# One registry


@pytest.mark.slow
def test_a_new_fixture_is_one_entry(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It works in an audit of a model, in the controls and in a trial; pytest lists it."""

    def longest(case: Case) -> int:
        """How long the longest token is, and a note of it."""
        case.caveats.append("Noted.")
        return int(case.sweep(case.model, case.prompt).frame["text"].str.len().max())

    entry = Fixture(longest, lambda trial: 100 + len(trial.prompts))
    monkeypatch.setitem(FIXTURES, "longest", entry)
    finding = run(
        "@declare(0.0)\ndef test_longest(longest): return estimate(longest)", "-k", "greatest"
    ).only

    assert finding["estimate"]["value"] == len("<|start|>")
    assert finding["estimate"]["caveats"] == ["Noted."]
    assert finding["controls"]["random"]["value"] == 101
    run(None, "--fixtures").says("longest -- *", "    How long the longest token is, and a note *")
    trial = Trial(random, (PROMPTS["best"], PROMPTS["worst"]))
    assert measure(lambda longest: longest, trial) == 102  # type: ignore[arg-type, return-value]


@pytest.mark.slow
def test_fixtures_serve_audits_only(run: Run, tmp_path: Path) -> None:
    """A plain test is told so, and an audit that asks for nothing of a model is refused."""
    (tmp_path / "test_toy.py").write_text("def test_theirs(sweep): pass", encoding="utf-8")
    run(None).says("*serves functions declared with @audit only*")

    ended = run("@declare(0.0)\ndef test_high(): return estimate(1.0)")
    ended.says("*test_high measures no model: *sweep, sweeps, rewards*")


# Sweeps, scores, samples


@pytest.mark.slow
def test_a_joint_audit_has_all_its_prompts(run: Run) -> None:
    """A sweep and scores with their noise for each prompt, all of them in its one finding."""
    body = JOINT.format("""sweeps, rewards):
    assert [s.prompt.name for s in sweeps.values()] == list(sweeps) == ["best", "worst"]
    one, two = (rewards(["love", "peace and war"], p) for p in sweeps)
    assert one.scores.shape == (2,) and (one.scores != two.scores).any()
    assert 0 <= one.noise < 1e-3
    return estimate(1.0)""")
    ended = run(body)

    assert (ended.only["verdict"], ended.only["prompt"]) == ("PASS", "best+worst")
    assert len(ended.only["sweeps"]) == 4
    assert {s["prompt"] for s in ended.results["models"][0]["sweeps"]} == {"best", "worst"}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "sweep): return estimate(1.0)",
            "test_both is joint over its prompts, so it has no single",
        ),
        ("rewards): rewards(['x'])", "no prompt is named; this audit declares best, worst"),
        ("sweeps, baseline): ...", "test_both is joint over its prompts, so it has no single one"),
    ],
)
def test_a_joint_audit_names_its_prompt(body: str, says: str, run: Run, toy: Path) -> None:
    """There is no single prompt to fall back on, and no undeclared one to slip in."""
    finding = run(JOINT.format(body), "--rm-baseline", str(toy)).only

    assert finding["verdict"] == "ERROR"
    assert says in finding["why"]


NAMING = """
@declare(-99, words=["love", "war", "xyzzy"])
def test_naming(sweep):
    assert {"love", " love", "Love", " Love", "war", " war"} <= set(sweep.frame["text"])
    assert sweep.frame["token_id"].is_monotonic_increasing and sweep.frame["token_id"].is_unique
    return estimate(float(len(sweep.frame)))
"""


@pytest.mark.slow
def test_a_sample_is_told(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its cost before anything is scored, its size with every finding; read from the cache."""
    scored: list[int] = []
    real = Checkpoint.begin

    def begin(self: Checkpoint, prompt: str, responses: Any, **settings: Any) -> Any:
        scored.append(len(responses))
        return real(self, prompt, responses, **settings)

    monkeypatch.setattr(Checkpoint, "begin", begin)
    third = NAMING.replace("test_naming", "test_other").replace("xyzzy", "pain")
    args = (SWEEP + NAMING + third, "-k", "greatest", "--rm-sample", "30", "--rm-seed", "2")
    ended = run(*args, cache=tmp_path / "own")

    ended.says("rmaudit: toy (*); a sample of 30 token ids; cache *")
    (each,) = (line for line in ended.said.outlines if line.startswith("rmaudit: sample: "))
    answers = sum(n for n in scored if n > 1)  # single ones are for the noise
    share = f"{answers / SIZE:.0%}".replace("%", " %")
    assert each == f"rmaudit: sample: 1 prompt x {answers} answers, {share} of the whole"
    told = f"Rests on a sample of 30 of {SIZE} token ids (seed 2)"
    of_words = [f", and on all {n} ids of the words that the audit names" for n in (6, 8)]
    assert [finding["estimate"]["caveats"] for finding in ended.findings] == [
        [f"{told}{more}."] for more in ("", *of_words)
    ]
    (drawn,) = ended.results["models"][0]["sweeps"]  # ids that are named are no sweep of their own
    assert drawn["n"] == 30
    scored.clear()
    assert run(*args, cache=tmp_path / "own").findings == ended.findings
    assert scored == []


# What may be missing


def _refuse(*_: object, **__: object) -> NoReturn:
    raise OSError("no network")


@pytest.mark.slow
def test_references_and_lexicons_that_are_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The audit is skipped visibly; others go on."""
    monkeypatch.setattr("pooch.retrieve", _refuse)
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    (tmp_path / "afinn").mkdir()
    (tmp_path / "afinn" / "AFINN-111.txt").write_text("damaged")
    elo = "@declare(0.0)\ndef test_elo(references): return estimate(len(references.elo()))\n"
    naming = NAMING.replace('"xyzzy"', '"lexicon:afinn"')

    ended = run(
        *(HIGH.format(low=0.0) + elo + naming, "--rm-sample", "30"),
        *("-k", "worst"),
    )

    assert [f["verdict"] for f in ended.findings] == ["PASS", "SKIPPED", "SKIPPED"]
    ended.says("* elo: not run; get it with: rmaudit data elo", "    elo:*")
    assert "; get it with: " in ended.findings[2]["why"]


# A baseline


BOTH = """
@declare(0.0)
def test_both(sweep, baseline):
    assert sweep.prompt == baseline.prompt
    return estimate(float((sweep.frame["score"] - baseline.frame["score"]).abs().max()))
"""


@pytest.mark.slow
def test_a_baseline_is_compared_and_named(run: Run, toy: Path, tmp_path: Path) -> None:
    """One of the same name in another folder is another one; without one the audit is skipped."""
    other = toy_checkpoint(tmp_path / "older" / "toy", seed=1)
    same = run(BOTH, "--rm-baseline", str(toy), "-k", "worst").only
    ended = run(BOTH, "--rm-baseline", str(other), "-k", "worst")

    key = same["sweeps"][0][:12]
    assert same["estimate"]["value"] == 0
    assert same["estimate"]["caveats"] == [f"Compared with toy: {toy}, scores {key}."]
    assert ended.only["estimate"]["value"] > 0.1
    assert len(ended.only["sweeps"]) == len(ended.results["models"][0]["sweeps"]) == 1
    (compared,) = ended.only["estimate"]["caveats"]
    assert compared.startswith(f"Compared with toy: {other}, scores ")
    assert key not in compared

    alone = run(BOTH)
    assert alone.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert {(f["verdict"], f["why"]) for f in alone.findings} == {
        ("N/A", "no model to compare with; name one with --rm-baseline NAME")
    }


# The base of a reward model


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model, its base, another base, and a registry."""
    folder = tmp_path_factory.mktemp("home")
    toy_checkpoint(folder / "toy")
    toy_language_model(folder / "lm")
    toy_language_model(folder / "other", tokenizer=toy_tokenizer(["another"]))
    (folder / "models.yaml").write_text(
        "models:\n  Toy: {source: ./toy, base: ./lm, default: true}\n  Bare: {source: ./toy}\n"
        "  Wrong: {source: ./toy, base: ./other}\n"
    )
    return folder


@pytest.mark.slow
def test_without_its_base(run: Run, home: Path) -> None:
    """Skipped with the reason; another tokenizer is a mistake to mend."""
    registry = ("--rm-models", str(home / "models.yaml"))
    body = "@declare(0.0, prompts=['best'])\ndef test_base(base_logprobs): return estimate(1.0)\n"
    for model, outcome, says in (
        ("Bare", "skipped", "models.yaml names no base model for Bare; add "),
        ("Wrong", "errors", "the base of Wrong: its tokenizer is not the reward model's: "),
    ):
        ended = run(body, *registry, model=model)
        assert ended.said.parseoutcomes() == {outcome: 1}
        assert says in ended.only["why"]
        assert ended.ret != pytest.ExitCode.OK


@pytest.mark.slow
def test_a_part_of_a_run_loads_no_base_for_a_null_control(
    run: Run, home: Path, tmp_path: Path
) -> None:
    """It says that it was not tried; what a whole run has stored is used."""
    body = """
@declare(-99, prompts=["best", "worst"], stops=["base log-probability"])
def test_sum(sweep): return estimate(float(sweep.frame["score"].sum()))
"""
    registry = ("--rm-models", str(home / "models.yaml"))

    def verdicts(*args: str) -> list[str]:
        ended = run(body, *registry, *args, model="Toy", cache=tmp_path / "own")
        return [f["controls"]["base log-probability"]["verdict"] for f in ended.findings]

    assert verdicts("-k", "best") == ["SKIPPED"]
    whole = verdicts()
    assert "SKIPPED" not in whole
    assert verdicts("-k", "best") == whole[:1]


@pytest.mark.slow
def test_an_audit_says_where_known_models_stand(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Itself, or rmaudit's table of published models does, prompt by prompt; else it is refused."""
    entry = {
        "unit": "points",
        "who": "two models",
        "on": "9 words",
        "bound": {"low": 0.0, "high": None, "unit": "points"},
        "models": {
            "A": {"value": 0.25, "low": 0.0, "high": 0.5, "verdict": "PASS"},
            "B": {"value": 0.75, "low": 0.5, "high": 1.0, "verdict": "FAIL"},
        },
    }
    table = {"audits": {"high": {"greatest": entry, "worst": entry}}}
    monkeypatch.setattr("rmaudit.references.published_model_values._file", lambda: table)
    known = run(HIGH.replace("{low}", "0.0, base_rate=''")).findings
    unknown = run("@declare(0.0, base_rate='')\ndef test_other(rng): return estimate(1.0)\n")

    said = "two models, 9 words: 0.25 to 0.75, median 0.50; 1 passes, 1 fails"
    assert [finding["base_rate"] for finding in known] == [said, said]
    assert known[0]["band"]["models"] == {"A": 0.25, "B": 0.75}
    unknown.says("*test_other states no base rate: *base_rate=*other[greatest] in points*")
