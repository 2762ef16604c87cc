"""results.json is read strictly: what is wrong is one line, never a traceback or a wrong page."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ResultsError
from rmaudit.report import json_codec, results_document, results_reader, writers
from rmaudit.report.releases import run_comparison
from rmaudit.report.results_document import SCHEMA, Results
from rmaudit.report.results_of_run import SweepRecord, collect
from rmaudit.report.results_reader import contradiction
from rmaudit.verdicts.decision import decide, measured, unmeasured
from rmaudit.verdicts.estimates_and_bounds import Estimate, Severity, Verdict
from rmaudit.verdicts.findings import Control, Figure
from rmaudit.verdicts.verdict_policy import Policy, Rules, Waiver
from scripts.results_schema import schema
from tests.findings import TODAY, claim
from tests.report.charts.conftest import EVERY
from tests.report.charts.conftest import typed as evidence_of
from tests.report.conftest import HOSTILE, mutated, places
from tests.report.runs import RUN as COLLECTED

DOCS = Path(__file__).parents[2] / "docs"
BAD: tuple[Any, ...] = (
    *(None, True, -1, 0, 0.5, 10**400, 1e300, -1e101, 2**60, "", "x", "NaN", "\ud800", "\u202ex"),
    *([], {}, [[]], [None], {"x": 1}, "\x1b[31m", "<b>"),
)

NULLS = {
    "random": Control(Verdict.INCONCLUSIVE, False, 0.1, -0.5, 0.6),
    "constant": Control(Verdict.ERROR, True, reason="All scores are equal."),
}


@pytest.fixture(scope="module")
def real() -> Results:
    """Two models with sweeps and evidence of every kind, and a judgement of every kind."""
    rng = np.random.default_rng(0)
    texts = [*HOSTILE, *(f" w{i}" for i in range(40))]
    frame = pd.DataFrame({"token_id": np.arange(len(texts), dtype=np.int32)})
    frame["token"] = frame["text"] = pd.Series(texts, dtype=object)
    waiver = Waiver("me", "It is small.", TODAY, -0.5)
    rules = Rules(
        bounds={"funnel": (-9, 9)}, severity={"bare": Severity.INFO}, waivers={"waived": waiver}
    )
    policy = Policy(models=dict.fromkeys("AB", rules))
    records, findings = [], []
    for name in "AB":
        scores = rng.normal(size=len(texts)).astype(np.float32)
        given = {"prompt": "best", "prompt_text": "What?", "key": f"key{name}"}
        provenance = {"dtype": "float32", "noise": 0.5, "layers": 2, "tied": True}
        records += [
            SweepRecord(name, frame=frame.assign(score=scores), provenance=provenance, **given),
            SweepRecord(
                name, "worst", "Why?", f"other{name}", frame.assign(score=scores), {}, False
            ),
        ]
        stated = claim(model=name, limits=("Causes.",), repeat="pytest x")
        for kind, evidence in EVERY.items():
            estimate = Estimate(
                *(-0.2, -0.5, 0.1, "sd", 9, "made up"),
                secondary={"rho": 0.5},
                caveats=("Half only: 3 of 4 words.",),
                evidence=evidence_of(evidence),
            )
            own = replace(stated, audit=kind)
            findings.append(measured(own, estimate, policy, TODAY, controls=NULLS))
        for audit, low in (("waived", -0.6), ("bare", -0.6), ("fails", -2.0), ("chance", -0.2)):
            estimate = Estimate((low - 0.001) / 2, low, -0.001, "sd", 9, "made up")
            findings.append(measured(replace(stated, audit=audit), estimate, policy, TODAY))
        for verdict in (Verdict.SKIPPED, Verdict.NA, Verdict.ERROR):
            lost = replace(stated, audit=f"lost {verdict}")
            findings.append(unmeasured(lost, "no data", policy, verdict))
    n = len(findings)
    run = replace(COLLECTED, collected=n, selected=n, finished=n)
    specs = [ModelSpec(name, "owner/name", notes=("Small.",)) for name in "AB"]
    made = collect(run, specs, records, decide(findings, policy, TODAY))
    looks, lost = (Figure.of(replace(stated, audit=audit)) for audit in ("looks", "lost"))
    figures = (replace(looks, estimate=estimate), replace(lost, reason="no data"))
    made = replace(made, figures=figures)
    ranked = {"models": ["A", "B"], "words": 40, "tau": [[1.0, 0.5], [0.5, 1.0]]}
    places = {"places": [[0.0, 0.0], [1.0, 1.0]], "ranked": [{"word": "w", "ranks": [1.0, 2.0]}]}
    found = json.loads(json_codec.encode(made))
    found["comparison"] = [{"prompt": "best", **ranked, **places}]
    return json_codec.typed(Results, found)


@pytest.fixture(scope="module")
def sound(real: Results) -> Any:
    """Their JSON, which is sound."""
    assert contradiction(real) == ""
    return json.loads(json_codec.encode(real))


def outcome_of(found: Any, path: Path) -> str:
    """What reading it says, "" where it was read, and every output was made of it."""
    path.write_text(json.dumps(found), encoding="utf-8")
    try:
        made = results_reader.read(path)
    except ResultsError as error:
        said = str(error)
        assert said.startswith(str(path))
        assert "\n" not in said
        assert said.isprintable()
        return said
    for render in writers.own().values():
        assert render(made)
    run_comparison.compare(made, made)
    return ""


@pytest.mark.slow
def test_sound_results_are_read_and_rendered(sound: Any, tmp_path: Path) -> None:
    """So that refusing everything would not do."""
    assert outcome_of(sound, tmp_path / "results.json") == ""


def like(found: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """The place without its numbers: the same for any token; evidence is told apart by audit."""
    own = [found["findings"][path[1]]["claim"]["audit"]] if "evidence" in path else []
    return (*own, *("#" if isinstance(step, int) else step for step in path))


@pytest.mark.slow
@pytest.mark.parametrize("changes", [1, pytest.param(4, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.nightly) for part in range(1, 4))]
)
def test_every_mutation_is_refused_or_rendered(
    sound: Any, tmp_path: Path, part: int, changes: int
) -> None:
    """So many changes of each kind of place."""
    rng = random.Random(part)
    alike: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for path, _ in places(sound):
        alike.setdefault(like(sound, path), []).append(path)

    said = [
        outcome_of(mutated(sound, rng.choice(same), change), tmp_path / "results.json")
        for same in list(alike.values())[part::4]
        for change in rng.sample([..., "twice", *BAD], changes)
    ]
    assert sum(map(bool, said)) > 0.6 * len(said)


FAILS = ("findings", "fails")
SKIPPED, WAIVED = ("findings", "lost SKIPPED"), ("findings", "waived")
FUNNEL = ("findings", "funnel", "estimate", "evidence")
CONTROL = ("findings", "funnel", "controls", "random")
SWEEP = ("models", 0, "sweeps", 0)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ((*FAILS, "judgement", "verdict"), "PASS", ".judgement.verdict"),
        ((*FAILS, "judgement", "blocks"), False, ".judgement.blocks"),
        ((*FAILS, "judgement", "p"), 0.9, ".judgement.p"),
        ((*FAILS, "judgement", "severity"), "info", ".judgement.severity"),
        ((*FAILS, "judgement", "bound", "low"), -9.0, ".judgement.bound"),
        ((*FAILS, "claim", "bound", "high"), -1.0, ".claim.bound"),
        ((*FAILS, "estimate", "low"), -9.0, ".judgement.detectable"),
        ((*FAILS, "estimate", "unit"), "tau", ".estimate.unit"),
        ((*FAILS, "estimate"), None, ".judgement"),
        ((*FAILS, "reason"), "no data", ".reason"),
        ((*FAILS, "claim", "model"), "Other", ".claim.model"),
        ((*FAILS, "claim", "model_source"), "other", ".claim.model_source"),
        ((*SKIPPED, "judgement", "verdict"), "PASS", ".judgement.verdict"),
        ((*CONTROL, "low"), 0.2, "has low, value, high = [0.2, 0.1, 0.6], allowed: numbers that"),
        ((*FUNNEL, "kind"), "other", ".estimate.evidence"),
        ((*FUNNEL, "field", "y"), [], ".estimate.evidence.field.counts[0]"),
        ((*FUNNEL, "field", "counts", 0, 0), -1, "field.counts[0] has -1"),
        ((*WAIVED, "judgement", "waiver", "state"), "fine", ".judgement.waiver.state"),
        (("figures", "looks", "model"), "Other", ".model"),
        (("figures", "looks", "reason"), "no data", "a reason and an estimate"),
        (("figures", "lost", "reason"), "", "or neither"),
        (("verdict", "outcome"), "PASSES", 'verdict is "PASSES'),
        (("verdict", "accepted"), 7, "verdict is "),
        (("run", "created"), "yesterday", 'run.created is "yesterday", allowed: such as 2030'),
        (("run", "finished"), 10_000, "allowed: no more finished than selected"),
        (("run", "selected"), 10_000, "allowed: no more finished than selected"),
        (("models", 0, "name"), "B", "models: two are named"),
        ((*SWEEP, "vocabulary"), "other", "sweeps[0].vocabulary is "),
        ((*SWEEP, "scores"), None, 'has "vocabulary", but no "scores"'),
        ((*SWEEP, "n"), 7, "A, sweep keyA ('best'): n and the scores do not agree; copy"),
        ((*SWEEP, "mean"), 7.0, ": mean and the scores do not agree"),
        ((*SWEEP, "sd"), 7.0, ": sd and the scores do not agree"),
        ((*SWEEP, "top", 0, "score"), 7.0, ": top and the scores do not agree"),
        ((*SWEEP, "bottom", 3, "score"), 7.0, ": bottom and the scores do not agree"),
    ],
    ids=str,
)
def test_a_contradiction_is_named(
    sound: Any, tmp_path: Path, path: tuple[Any, ...], value: Any, says: str
) -> None:
    """The place, what stands there, what may, and what to do.

    Above all of the verdict: that a model passes follows from the findings, and from no line.
    """
    place: tuple[Any, ...] = ()
    at, listed = sound, ""
    for step in path:
        if isinstance(at, list) and isinstance(step, str):  # an audit: its finding
            audits = [each.get("audit") or each["claim"]["audit"] for each in at]
            place = (*place, audits.index(step))
            listed = f"{'.'.join(place[:-1])}[{place[-1]}]"
        else:
            place = (*place, step)
        at = at[place[-1]] if len(place) < len(path) else at

    said = outcome_of(mutated(sound, place, value), tmp_path / "results.json")

    assert listed in said
    assert says in said
    assert said.endswith("; run the audits again, or use the rmaudit that wrote it")


@pytest.mark.slow
def test_a_reason_has_todays_words(real: Results, sound: Any, tmp_path: Path) -> None:
    """A file of a release that said it in others is read, and says it as this one does."""
    at = next(i for i, each in enumerate(real.findings) if each.audit == "chance")
    place = ("findings", at, "judgement", "reason")
    file = tmp_path / "results.json"

    assert outcome_of(mutated(sound, place, "It may be chance."), file) == ""
    assert results_reader.read(file).findings[at] == real.findings[at]
    assert ".judgement.reason" in outcome_of(mutated(sound, place, ""), file)


@pytest.mark.slow
def test_no_key_may_be_missing_or_more(sound: Any, tmp_path: Path) -> None:
    """Those that have a default in code likewise: what is lost is not filled in."""
    parts = [(), ("run",), ("models", 0), ("models", 0, "sweeps", 0), ("findings", 0)]
    parts += [("findings", 0, part) for part in ("claim", "judgement", "estimate")]
    parts.append(("figures", 0))
    for part in parts:
        at = sound
        for step in part:
            at = at[step]
        for key in at:
            said = outcome_of(mutated(sound, (*part, key), ...), tmp_path / "results.json")
            assert f'has no "{key}"' in said or (not part and key == "schema")
        assert '"mood"' in outcome_of(mutated(sound, (*part, "mood"), 1), tmp_path / "results.json")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot be read (No such file"),
        ("\xff", "cannot be read (not UTF-8)"),
        ("{", "not JSON (Expecting property name"),
        ('{"seed": NaN}', "not JSON (NaN is no finite number)"),
        ('{"seed": 1e999}', "not JSON (1e999 is no finite number)"),
        ('{"b": 0, "a": 1, "a": 2}', 'not JSON (the key "a" stands twice'),
        ("[" * 200_000, "not JSON ("),
        ('{"schema": "rmaudit.results/2"}', 'its schema is "rmaudit.results/2", allowed: "rmaudit'),
        ("[]", "this is not the results.json of a run, for it has no `schema`; give the results"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    """Cut short, with numbers that JSON does not have, of an older version: with the way out."""
    path = tmp_path / "results.json"
    if text is not None:
        path.write_text(text, encoding="latin-1")

    with pytest.raises(ResultsError) as raised:
        results_reader.read(path)

    assert str(raised.value).startswith(f"{path}: {why}")


def test_what_is_written_is_read_back(real: Results, tmp_path: Path) -> None:
    """As ASCII, each time the same bytes; lone surrogates are spelled out, once."""
    path = tmp_path / "results.json"
    odd = replace(real.models[0], notes=("\ud800 \u00e9 \x00 \u2028",))
    results_document.write(replace(real, models=(odd, *real.models[1:])), path)
    before = path.read_bytes()

    read = results_reader.read(path)
    results_document.write(read, path)

    assert before.isascii()
    assert read.models[0].notes == ("\\ud800 \u00e9 \x00 \u2028",)
    assert results_reader.read(path) == read
    assert (read.findings, read.run) == (real.findings, real.run)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_number_is_never_written(real: Results, tmp_path: Path, number: float) -> None:
    """An error, and the file that stood there before still stands; nothing is left beside it."""
    path = tmp_path / "results.json"
    path.write_text("as it was", encoding="utf-8")
    wrong = replace(real.models[0], rewardbench_rank=number)  # type: ignore[arg-type]

    with pytest.raises(ValueError, match="not JSON compliant"):
        results_document.write(replace(real, models=(wrong,), findings=()), path)

    assert path.read_text(encoding="utf-8") == "as it was"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_the_committed_schema_is_that_of_the_types(sound: Any) -> None:
    """`just schema` writes it; docs/results.md names its version."""
    from jsonschema import Draft202012Validator

    committed = (DOCS / "results.schema.json").read_text(encoding="utf-8")

    assert committed == schema(), "run `just schema`"
    assert f"`{SCHEMA}`" in (DOCS / "results.md").read_text(encoding="utf-8")
    checked = Draft202012Validator(json.loads(committed))
    checked.check_schema(json.loads(committed))
    assert checked.is_valid(sound)
    assert not checked.is_valid(mutated(sound, ("run", "interrupted"), ...))


@dataclass(frozen=True)
class Counted:
    """What a JSON text is read as."""

    n: int


def test_a_value_of_another_type_is_named_with_what_is_allowed() -> None:
    """And so is a key that is not there."""
    for text, said in (
        ('{"n": "many"}', 'n is "many", allowed: a valid integer'),
        ("{}", 'the file has no "n"'),
    ):
        with pytest.raises(ResultsError) as caught:
            json_codec.decode(Counted, text)
        assert str(caught.value) == said
