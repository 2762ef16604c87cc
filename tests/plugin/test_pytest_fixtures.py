"""What audits are given, in runs on a toy: each fixture, its caveats, and what may be missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.runs.audit_case import Case
from rmaudit.runs.fixture_registry import FIXTURES, Fixture
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.null_controls import random
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from tests.plugin.conftest import HIGH, Run, no_network
from tests.toys import toy_checkpoint, toy_language_model, toy_tokenizer

SIZE = len(toy_tokenizer())
JOINT = "@declare(0.0, prompts=['best', 'worst'], joint=True)\ndef test_{}\n"


@pytest.mark.slow
def test_a_new_fixture_is_one_entry(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It works in an audit of a model, in the controls and in a trial; pytest lists it."""

    def longest(case: Case) -> int:
        """How long the longest token is, and a note of it."""
        case.caveats.append("Noted.")
        return int(case.sweep(case.model, case.prompt).frame["text"].str.len().max())

    entry = Fixture(longest, lambda trial: 100 + len(trial.prompts))
    monkeypatch.setitem(FIXTURES, "longest", entry)
    body = "@declare(0.0, prompts=['best'])\ndef test_longest(longest): return estimate(longest)"
    finding = run(body).only

    assert finding["estimate"]["value"] == len("<|start|>")
    assert finding["estimate"]["caveats"] == ["Noted."]
    assert finding["controls"]["random"]["value"] == 101
    run(None, "--fixtures").says("longest -- *", "    How long the longest token is, and a note *")
    trial = Trial(random, (PROMPTS["best"], PROMPTS["worst"]))
    assert measure(lambda longest: longest, trial) == 102  # type: ignore[arg-type, return-value]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def test_it(sweep): pass", "serves functions declared with @audit only"),
        ("@declare(0.0)\ndef test_it(): ...", "test_it measures no model: *sweep, sweeps, rewards"),
        (
            "@declare(0.0, base_rate='')\ndef test_it(rng): ...",
            "test_it states no base rate: *base_rate=*it[greatest] in points",
        ),
        (
            "@declare(0.0, stops=['long word'])\ndef test_it(rng): ...",
            "test_it: `stops` names 'long word', which is no null control; did you mean 'long",
        ),
    ],
)
def test_what_is_no_audit_or_half_a_one_is_refused(run: Run, body: str, says: str) -> None:
    """A plain test that takes a fixture; an audit of no model, without a base rate, of no null."""
    ended = run(body)

    assert ended.ret != pytest.ExitCode.OK
    ended.says(f"*{says}*")


@pytest.mark.slow
def test_a_joint_audit_has_all_its_prompts(run: Run) -> None:
    """A sweep and scores with their noise for each prompt, all of them in its one finding."""
    body = JOINT.format("""both(sweeps, rewards):
    assert [s.prompt.name for s in sweeps.values()] == list(sweeps) == ["best", "worst"]
    one, two = (rewards(["love", "peace and war"], p) for p in sweeps)
    assert one.scores.shape == (2,) and (one.scores != two.scores).any()
    assert 0 <= one.noise < 1e-3
    return estimate(1.0)""")
    ended = run(body)

    assert (ended.only["verdict"], ended.only["prompt"]) == ("PASS", "best+worst")
    assert len(ended.only["sweeps"]) == 4
    assert {s["prompt"] for s in ended.results["models"][0]["sweeps"]} == {"best", "worst"}


def test_a_joint_audit_names_its_prompt(run: Run, toy: Path) -> None:
    """There is no single prompt to fall back on, and no undeclared one to slip in."""
    asking = ("one(sweep): ...", "two(rewards): rewards(['x'])", "three(sweeps, baseline): ...")
    says = (
        "test_one is joint over its prompts, so it has no single one",
        "no prompt is named; this audit declares best, worst",
        "test_three is joint over its prompts, so it has no single one",
    )
    found = run("".join(map(JOINT.format, asking)), "--rm-baseline", str(toy)).findings

    for each, why in zip(found, says, strict=True):
        assert each["verdict"] == "ERROR"
        assert why in each["why"]


NAMING = """
@declare(-99, prompts=["greatest"], words=["love", "war", "{more}"])
def test_{name}(sweep):
    assert {{"love", " love", "Love", " Love", "war", " war"}} <= set(sweep.frame["text"])
    assert sweep.frame["token_id"].is_monotonic_increasing and sweep.frame["token_id"].is_unique
    return estimate(float(len(sweep.frame)))
"""
SWEEP = "@declare(-99, prompts=['greatest'])\ndef test_sweep(sweep): return estimate(1.0)\n"


@pytest.mark.slow
def test_a_sample_is_told(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its size, before anything is scored and with every finding; read from the cache."""
    scored: list[int] = []
    real = Checkpoint.begin

    def begin(self: Checkpoint, prompt: str, responses: Any, **settings: Any) -> Any:
        scored.append(len(responses))
        return real(self, prompt, responses, **settings)

    monkeypatch.setattr(Checkpoint, "begin", begin)
    body = SWEEP + "".join(NAMING.format(name=more, more=more) for more in ("xyzzy", "pain"))
    args = (body, "--rm-sample", "30", "--rm-seed", "2")
    ended = run(*args, cache=tmp_path / "own")

    ended.says("rmaudit: toy (*); a sample of 30 token ids; cache *")
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


@pytest.mark.slow
def test_references_and_lexicons_that_are_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The audit is skipped visibly; others go on."""
    monkeypatch.setattr("pooch.retrieve", no_network)
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    (tmp_path / "afinn").mkdir()
    (tmp_path / "afinn" / "AFINN-111.txt").write_text("damaged")
    elo = "@declare(0.0)\ndef test_elo(references): return estimate(len(references.elo()))\n"
    naming = NAMING.format(name="afinn", more="lexicon:afinn").replace("greatest", "worst")

    ended = run(HIGH.format(low=0.0) + elo + naming, "--rm-sample", "30", "-k", "worst")

    assert [f["verdict"] for f in ended.findings] == ["PASS", "SKIPPED", "SKIPPED"]
    ended.says("* elo: not run; get it with: rmaudit data elo", "    elo:*")
    assert "; get it with: " in ended.findings[2]["why"]


BOTH = """
@declare(0.0, prompts=["worst"])
def test_both(sweep, baseline):
    assert sweep.prompt == baseline.prompt
    return estimate(float((sweep.frame["score"] - baseline.frame["score"]).abs().max()))
"""


@pytest.mark.slow
def test_a_baseline_is_compared_and_named(run: Run, toy: Path, tmp_path: Path) -> None:
    """One of the same name in another folder is another one; without one the audit is skipped."""
    other = toy_checkpoint(tmp_path / "older" / "toy", seed=1)
    same, ended = (run(BOTH, "--rm-baseline", str(folder)) for folder in (toy, other))

    key = same.only["sweeps"][0][:12]
    assert same.only["estimate"]["value"] == 0
    assert same.only["estimate"]["caveats"] == [f"Compared with toy: {toy}, scores {key}."]
    assert ended.only["estimate"]["value"] > 0.1
    assert len(ended.only["sweeps"]) == len(ended.results["models"][0]["sweeps"]) == 1
    (compared,) = ended.only["estimate"]["caveats"]
    assert compared.startswith(f"Compared with toy: {other}, scores ")
    assert key not in compared

    alone = run(BOTH)
    assert alone.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    why = "no model to compare with; name one with --rm-baseline NAME"
    assert (alone.only["verdict"], alone.only["why"]) == ("N/A", why)


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


def test_an_audit_says_where_known_models_stand(
    run: Run, toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Itself, or rmaudit's table of published models does, prompt by prompt; not of other words."""
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
    words = f"language: de\nmodels: {{T: {{source: {toy}, default: true}}}}\n"
    german = run(None, model="T", registry=words).findings

    said = "two models, 9 words: 0.25 to 0.75, median 0.50; 1 passes, 1 fails"
    assert [finding["base_rate"] for finding in known] == [said, said]
    assert known[0]["band"]["models"] == {"A": 0.25, "B": 0.75}
    assert all(each["base_rate"].startswith("not known") for each in german)
    assert german[0]["band"] is None
