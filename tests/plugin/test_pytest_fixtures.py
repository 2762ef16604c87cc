"""What audits are given, in runs on a toy: each fixture, its caveats, and the null controls."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.models import loaded_weights
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.runs.audit_case import Case
from rmaudit.runs.fixture_registry import FIXTURES, Fixture
from rmaudit.runs.null_controls import random
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.runs.synthetic_scorer_trials import measure
from rmaudit.scores.first_token_logprobs import base_logprobs
from rmaudit.search import exploit_strings
from tests.plugin.conftest import HIGH, Run
from tests.toys import toy_checkpoint, toy_language_model, toy_tokenizer

SIZE = len(toy_tokenizer())
SWEEP = "@declare(-99)\ndef test_sweep(sweep): return estimate(float(len(sweep.frame)))\n"
JOINT = "@declare(0.0, prompts=['best', 'worst'], joint=True)\ndef test_both({}\n"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another checkpoint, in a folder of the same name."""
    return toy_checkpoint(tmp_path_factory.mktemp("older") / "toy", seed=1)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numeric noise is not at issue."""
    monkeypatch.setattr("rmaudit.scores.scoring_protocols.ANSWERS", 0)


# One registry


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
def test_a_sample_is_shared_and_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever another audit names; with its seed, in every finding; read again from the cache."""
    scored: list[int] = []
    real = Checkpoint.begin

    def begin(self: Checkpoint, prompt: str, responses: Any, **settings: Any) -> Any:
        scored.append(len(responses))
        return real(self, prompt, responses, **settings)

    monkeypatch.setattr(Checkpoint, "begin", begin)
    args = (SWEEP + NAMING, "-k", "greatest", "--rm-sample")
    ended = run(*args, "30", cache=tmp_path / "own")
    plain, naming = ended.findings
    told = f"Rests on a sample of 30 of {SIZE} token ids (seed 0)"

    ended.says("rmaudit: toy (*); a sample of 30 token ids; cache *")
    assert plain["estimate"]["caveats"] == [f"{told}."]
    assert naming["estimate"]["caveats"] == [
        f"{told}, and on all 6 ids of the words that the audit names."
    ]
    assert plain["estimate"]["value"] == 30
    assert plain["sweeps"] == naming["sweeps"][:1]
    (drawn,) = ended.results["models"][0]["sweeps"]  # ids that are named are no sweep of their own
    assert drawn["n"] == 30

    scored.clear()
    assert run(*args, "30", cache=tmp_path / "own").findings == ended.findings
    assert scored == []
    run(*args, "30", "--rm-seed", "1", cache=tmp_path / "own")
    assert [n for n in scored if n > 1] == [30]  # what is named is not scored again

    third = NAMING.replace("test_naming", "test_other").replace("xyzzy", "pain")
    scored.clear()
    more = run(args[0] + third, *args[1:], "30", "--rm-seed", "2", cache=tmp_path / "own")
    (each,) = (line for line in more.said.outlines if line.startswith("rmaudit: sample: "))
    answers = sum(n for n in scored if n > 1)  # single ones are for the noise
    share = f"{answers / SIZE:.0%}".replace("%", " %")
    assert each == f"rmaudit: sample: 1 prompt x {answers} answers, {share} of the whole"
    said = [finding["estimate"]["caveats"][0] for finding in more.findings]
    named = [re.findall(r"all (\d) ids of the words", each) for each in said]
    assert named == [[], ["6"], ["8"]]

    census, whole = run(*args, str(SIZE)).findings, run(SWEEP, "-k", "greatest").only
    assert [f["estimate"]["caveats"] for f in census] == [[], []]
    assert census[0]["sweeps"] == census[1]["sweeps"] == whole["sweeps"]


# What may be missing


def _refuse(*_: object, **__: object) -> NoReturn:
    raise OSError("no network")


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
def test_a_baseline_is_compared_and_named(run: Run, toy: Path, other: Path) -> None:
    """A model is its own; one of the same name in another folder is told apart; none is a skip."""
    same = run(BOTH, "--rm-baseline", str(toy), "-k", "worst").only
    told = f"Compared with toy: {toy}, scores {same['sweeps'][0][:12]}."
    assert (same["estimate"]["value"], same["estimate"]["caveats"]) == (0, [told])

    ended = run(BOTH, "--rm-baseline", str(other), "--rm-sample", "40", "-k", "worst")
    assert ended.only["estimate"]["value"] > 0.1
    assert len(ended.only["sweeps"]) == len(ended.results["models"][0]["sweeps"]) == 1
    *_, compared = ended.only["estimate"]["caveats"]
    assert compared.startswith(f"Compared with toy: {other}, scores ")
    assert ended.only["sweeps"][0][:12] not in compared

    alone = run(BOTH)
    assert alone.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert {(f["verdict"], f["why"]) for f in alone.findings} == {
        ("N/A", "no model to compare with; name one with --rm-baseline NAME")
    }


# Searches and the ledger


SEARCH = """
@declare(-99)
def test_search(searches):
    found = searches("down")
    assert found.direction == "down" and found.evaluations <= found.settings.budget
    assert len(searches.random(30)) == 30
    return estimate(float(found.frame["score"].iloc[0]))
"""
LEDGER = """
@declare(-99)
def test_ledger(ledger):
    assert set(ledger["prompt"]) == {"greatest"}
    return estimate(len(ledger))
"""
BUNDLED = int((exploit_strings.bundled_strings()["prompt"] == "greatest").sum())
SHORT = ("--rm-search", "480", "-k", "greatest")


@pytest.mark.slow
def test_a_search_is_noted_kept_and_replayed_on_others(  # noqa: PLR0917
    run: Run, quick: None, toy: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not on the model itself, nor in the run that found it; a file of the team is replayed too."""
    own = tmp_path / "own"
    registry = f"models:\n  A: {{source: {toy}, default: true}}\n  B: {{source: {other}}}\n"
    (tmp_path / "models.yaml").write_text(registry, encoding="utf-8")
    both = run(SEARCH + LEDGER, *SHORT, model="*", cache=own)
    found = {(f["audit"], f["model"]): f for f in both.findings}
    assert [found["ledger", m]["estimate"]["value"] for m in "AB"] == [BUNDLED] * 2
    first = found["search", "A"]
    assert len(first["sweeps"]) == 1
    (caveat,) = first["estimate"]["caveats"]
    assert caveat == (
        "A search finds a lower bound on what can be found (down, under 'greatest'): exhaustive, "
        "480 of at most 480 evaluations, 8 starts, 3 token ids, among the 10 ids that "
        "score best alone."
    )

    monkeypatch.setattr(loaded_weights, "load", None)
    again = run(SEARCH + LEDGER, *SHORT, model="A", cache=own)
    ended = {f["audit"]: f["estimate"] for f in again.findings}
    assert ended["search"] == first["estimate"]
    assert BUNDLED < ended["ledger"]["value"] <= BUNDLED + exploit_strings.BEST  # of B alone
    assert run(SEARCH, *SHORT, "--rm-seed", "1", model="A", cache=own).only["verdict"] == "ERROR"

    line = {"prompt": "greatest", "direction": "up", "model": "elsewhere", "source": "a search"}
    line |= {"text": "\u202e x", "weights": "0a"}
    (tmp_path / "empty" / "ledger").mkdir(parents=True)
    (tmp_path / "empty" / "ledger" / "team.jsonl").write_text(json.dumps(line) + "\n")
    team = run(LEDGER, "-k", "greatest", cache=tmp_path / "empty").only
    assert team["estimate"]["value"] == BUNDLED + 1


def test_searches_are_off(run: Run) -> None:
    """A visible skip with the way to run them."""
    ended = run(SEARCH, "--rm-search", "0")

    assert ended.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert {(f["verdict"], f["why"]) for f in ended.findings} == {
        ("N/A", "searches are off (--rm-search 0); run them with --rm-search 2000")
    }


# The base of a reward model


LEAKAGE = (Path(__file__).parents[2] / "audits" / "test_base_leakage.py").read_text("utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model whose tokens are words of labMT, its base, another base, and a registry."""
    folder = tmp_path_factory.mktemp("home")
    tokenizer = toy_tokenizer(list(References().lexicon("labmt").index[::25]))
    toy_checkpoint(folder / "toy", tokenizer=tokenizer)
    toy_language_model(folder / "lm", tokenizer=tokenizer)
    toy_language_model(folder / "other")
    (folder / "models.yaml").write_text(
        "models:\n  Toy: {source: ./toy, base: ./lm, default: true}\n  Bare: {source: ./toy}\n"
        "  Wrong: {source: ./toy, base: ./other}\n"
    )
    return folder


def leak(share: float, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the toy rewards that are its base's log-probability by so much, and noise."""
    noise = np.random.default_rng(0).normal(size=100_000)

    def begin(
        self: Checkpoint, prompt: str, answers: Sequence[tuple[int, ...]], **_: object
    ) -> NDArray[np.float32]:
        asked = next(known for known in PROMPTS.values() if known.text == prompt)
        known = base_logprobs(self, asked, cache=cache).by_id
        z = (known - known.mean()) / known.std()
        ids = [i for (i,) in answers]
        return (share * z.loc[ids] + (1 - share**2) ** 0.5 * noise[ids]).to_numpy(np.float32)

    monkeypatch.setattr(Checkpoint, "begin", begin)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, -0.8])
def test_a_planted_leak_is_found(  # noqa: PLR0917
    share: float,
    run: Run,
    quick: None,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By its size, whatever its sign; the finding rests on both stored vectors."""
    leak(share, tmp_path / "base", monkeypatch)
    registry = ("--rm-models", str(home / "models.yaml"), "-k", "best")

    ended = run(LEAKAGE, *registry, model="Toy", cache=tmp_path / "own")

    (found,) = ended.figures
    assert found["estimate"]["value"] == pytest.approx(share, abs=0.15)
    assert found["estimate"]["n"] > 300
    assert len(found["sweeps"]) == 2
    assert len(ended.results["models"][0]["sweeps"]) == 1  # that of rewards


@pytest.mark.parametrize(
    ("model", "outcome", "says"),
    [
        ("Bare", "skipped", "models.yaml names no base model for Bare; add "),
        ("Wrong", "errors", "the base of Wrong: its tokenizer is not the reward model's: "),
    ],
)
def test_without_its_base(model: str, outcome: str, says: str, run: Run, home: Path) -> None:
    """Skipped with the reason; another tokenizer is a mistake to mend."""
    registry = ("--rm-models", str(home / "models.yaml"))
    ended = run(LEAKAGE, *registry, model=model)

    assert ended.said.parseoutcomes() == {outcome: 3}
    assert all(says in figure["reason"] for figure in ended.figures)
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
    body = """
@audit(claim="c", source="", prompts=["greatest", "worst"], bound=above(0, unit="points"))
def test_high(rng): return estimate(1.0)
"""
    known = run(body).findings
    unknown = run(body.replace("test_high", "test_other"))

    said = "two models, 9 words: 0.25 to 0.75, median 0.50; 1 passes, 1 fails"
    assert [finding["base_rate"] for finding in known] == [said, said]
    assert known[0]["band"]["models"] == {"A": 0.25, "B": 0.75}
    unknown.says("*test_other states no base rate: *base_rate=*other[greatest] in points*")
