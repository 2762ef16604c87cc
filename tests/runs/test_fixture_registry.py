"""What an audit of a model is given: draws and sweeps of its own, and only what it never saw."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import NotAsked
from rmaudit.models.model_interfaces import Scored
from rmaudit.models.recorded_model import Recorded
from rmaudit.prompts import PROMPTS
from rmaudit.runs.audit_case import Case, Memory, RunSettings, opened
from rmaudit.runs.fixture_registry import (
    FIXTURES,
    base_logprobs,
    ledger,
    policies,
    references,
    rng,
    searches,
    sweep,
    wanted,
)
from rmaudit.runs.run_options import RunOptions
from rmaudit.runs.synthetic_scorer_fixtures import Trial
from rmaudit.search.exploit_strings import append
from tests.scores.letters import Letters
from tests.search.finds import found
from tests.toys import toy_checkpoint, toy_language_model

BEST, WORST = PROMPTS["best"], PROMPTS["worst"]


def case_of(model: Scored, options: RunSettings, *, audit: str = "test_a") -> Case:
    """An audit of this model under one prompt."""
    return Case(audit, model, (BEST,), joint=False, words=(), options=options, memory=Memory())


def case(
    *, audit: str = "test_a", name: str = "M", seed: int = 0, trained_on: str | None = None
) -> Case:
    """An audit of recorded scores."""
    model = Recorded(ModelSpec(name, "owner/name", trained_on=trained_on))
    return case_of(model, RunSettings(Path("unused"), RunOptions(seed=seed)), audit=audit)


def test_null_controls_want_nothing() -> None:
    """What its makers want is the model's alone; what is shared by models does not depend on it."""
    model = Recorded(ModelSpec("M", "owner/name", wanted=(("wine", "So."),)))

    assert wanted(case_of(model, RunSettings(Path("unused")))) == {"wine": "So."}
    assert wanted(case()) == {}
    assert FIXTURES["wanted"].for_scorer(Trial(lambda texts, _: np.zeros(len(texts)), ())) == {}


def test_draws_are_of_audit_model_prompts_and_seed() -> None:
    """Each of them has its own; the same have the same, in whatever order they come."""
    joint = replace(case(), prompts=(BEST, WORST))
    cases = [case(), case(audit="test_b"), case(name="N"), case(seed=1)]
    cases += [replace(case(), prompts=(WORST,)), joint]

    draws = [rng(each).random() for each in cases]

    assert len(set(draws)) == len(cases)
    assert [rng(each).random() for each in reversed(cases)] == draws[::-1]


def test_device_and_dtype_of_the_run_go_before_the_entrys(tmp_path: Path) -> None:
    """Both reach the model."""
    spec = ModelSpec("Toy", str(toy_checkpoint(tmp_path / "rm")), dtype="float16")
    for asked, device, dtype in (
        (RunOptions(), "auto", "float16"),
        (RunOptions(device="spread", dtype="bfloat16"), "spread", "bfloat16"),
    ):
        model: Any = opened(spec, RunSettings(tmp_path, asked))
        assert (model.device, model.rows.dtype) == (device, dtype)


def test_references_are_without_what_the_model_was_trained_on() -> None:
    """Half of them, by the salt that models.yaml has; all for a model trained elsewhere."""
    half, other = (
        set(references(case(trained_on=salt)).lexicon("afinn").index) for salt in ("a", "b")
    )

    assert half != other
    assert half | other < set(references(case()).lexicon("afinn").index)


def test_a_sample_is_scored_once_for_all_audits(tmp_path: Path) -> None:
    """With what any of them names; each is given what was drawn and what it names itself."""
    plain_case = case_of(Letters(), RunSettings(tmp_path, RunOptions(sample=2), words=("a", "b")))
    cases = [
        replace(plain_case, prompts=(prompt,), words=words, keys=[], caveats=[])
        for prompt, words in ((BEST, ()), (BEST, ("a",)), (WORST, ("a",)), (BEST, ("b",)))
    ]

    plain, named, other, again = (sweep(each) for each in cases)

    assert len(plain_case.memory.sweeps) == 2
    drawn = set(plain.frame["text"])
    assert len(plain.frame) == 2
    assert set(named.frame["text"]) == drawn | {"a"}
    assert set(again.frame["text"]) == drawn | {"b", " b"}
    assert named.keys == again.keys
    assert len({plain.keys, named.keys, other.keys}) == 3
    assert [tuple(each.keys) for each in cases] == [
        each.keys for each in (plain, named, other, again)
    ]
    assert ["words" in " ".join(each.caveats) for each in cases] == [False, True, True, True]


def test_a_sweep_is_of_the_model_that_is_asked(tmp_path: Path) -> None:
    """Not of the one that is audited: a baseline under the same prompt has scores of its own."""
    mine, theirs = Letters(), Letters(off=1.0)
    theirs.spec, theirs.identity = ModelSpec("theirs", "./theirs"), {"weights": "0b"}
    asked = case_of(mine, RunSettings(tmp_path))

    first, other, again = (asked.sweep(model, BEST) for model in (mine, theirs, mine))

    assert first is again
    assert other.keys != first.keys
    assert len(theirs.scored) == len(mine.scored) > 0


@pytest.mark.slow
def test_the_ledger_is_without_what_was_found_on_the_model_itself(tmp_path: Path) -> None:
    """Nor in this run: what searches of others found before it, whatever these are called."""
    theirs = Letters()
    append(tmp_path / "ledger" / "exploits.jsonl", found(["ba"], [1.0]), theirs)
    run = RunSettings(tmp_path, RunOptions(search=40))
    mine = opened(ModelSpec("Toy", str(toy_checkpoint(tmp_path / "rm"))), run)
    asked = case_of(mine, run)

    search = searches(asked)("down")
    own = set(search.frame["text"])
    known = ledger(asked)
    now, later = ledger(replace(asked, model=theirs)), ledger(case_of(theirs, run))

    assert (search.direction, search.settings.budget) == ("down", 40)
    assert asked.keys == [search.key]
    (caveat,) = asked.caveats
    assert caveat.startswith(
        "A search finds a lower bound on what can be found (down, under 'best'"
    )
    assert "ba" in set(known["text"])
    assert set(known["prompt"]) == {"best"}
    assert len(asked.memory.made["ledger"]) > len(known)
    assert not own & {*known["text"], *now["text"]}
    assert own & set(later["text"])
    assert "ba" not in set(later["text"])
    assert len(searches(asked).random(3)) == 3
    with pytest.raises(NotAsked, match=r"searches are off \(--rm-search 0\); run them with"):
        searches(case_of(mine, RunSettings(tmp_path, RunOptions(search=0))))


@pytest.mark.slow
def test_the_policy_is_the_runs_or_the_entrys_or_the_base(tmp_path: Path) -> None:
    """Each in place of the next; what is not the base is named on the finding."""
    models = {name: toy_language_model(tmp_path / name, seed=i) for i, name in enumerate("bpr")}
    entry = ModelSpec("Toy", str(toy_checkpoint(tmp_path / "rm")), base=str(models["b"]))
    of_entry = replace(entry, policy=str(models["p"]))
    run = RunSettings(tmp_path / "cache")
    of_run = replace(run, asked=RunOptions(policy=str(models["r"])))
    cases = [
        case_of(opened(spec, how), how)
        for spec, how in ((entry, run), (of_entry, run), (of_entry, of_run))
    ]

    found = [policies(each)["best"] for each in cases]

    assert [each.caveats for each in cases] == [
        [],
        [f"The policy is {models['p']}."],
        [f"The policy is {models['r']}."],
    ]
    alone = [
        policies(replace(cases[0], model=opened(replace(entry, base=str(folder)), run)))["best"]
        for folder in models.values()
    ]
    assert all(one.equals(other) for one, other in zip(found, alone, strict=True))
    assert not found[0].equals(found[1])
    (key, *_) = keys = list(cases[0].keys)
    assert base_logprobs(cases[0]).equals(found[0])
    assert cases[0].keys == [*keys, key]


def test_a_policy_in_a_file_is_the_policy_that_wrote_it(tmp_path: Path) -> None:
    """Token by token, by the run's option, and named on the finding."""
    checkpoint = toy_checkpoint(tmp_path / "rm")
    entry = ModelSpec("Toy", str(checkpoint), base=str(toy_language_model(tmp_path / "b")))
    run, file = RunSettings(tmp_path / "cache"), tmp_path / "policy.jsonl"
    by_base = case_of(opened(entry, run), run)
    from_base = policies(by_base)["best"]
    pieces = by_base.model.with_weights("").vocabulary().pieces
    line = {"prompt": BEST.text, "tokens": list(pieces), "logprobs": from_base.tolist()}
    file.write_text(json.dumps(line), encoding="utf-8")
    of_run = replace(run, asked=RunOptions(policy=str(file)))

    by_file = replace(by_base, model=opened(entry, of_run), options=of_run, caveats=[])

    assert policies(by_file)["best"].equals(from_base)
    assert by_file.caveats == [f"The policy is {file}."]
