"""Blessed releases: what their file keeps, how it is found, and what is worse than they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import SpecError
from rmaudit.measures.token_kinds import TokenKindsEvidence
from rmaudit.report import json_codec
from rmaudit.report.page.html_page import render
from rmaudit.report.releases.blessed_release import (
    Blessing,
    bless,
    blessed_path,
    find_blessed,
    question_digest,
    read,
    write,
)
from rmaudit.report.releases.release_regressions import (
    REGRESSION_SHARE,
    blessed_comparisons,
    with_blessed,
)
from rmaudit.report.releases.run_comparison import compare
from rmaudit.report.results_document import Results
from rmaudit.report.results_reader import contradiction
from rmaudit.verdicts.decision import decide, measured
from rmaudit.verdicts.estimates_and_bounds import Estimate, Severity
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.run_verdict import Outcome
from rmaudit.verdicts.verdict_policy import Policy
from tests.findings import TODAY, but, claim, waived, with_evidence
from tests.report.runs import SPEC, record, results

WORDS = np.random.default_rng(7).normal(size=64) / 64  # what each group of words brings
GATES = 12
OTHER = "other prompts, words, sample or wanted kinds than then: gate_0[best]"


def gate(
    number: int, value: float = 1.0, own: float = 0.1, severity: Severity = Severity.GATE
) -> Finding:
    """A gate that must be above 0; `own` is how far its groups are not those of all releases."""
    noise = np.random.default_rng([number, int(own * 1000)]).normal(size=64) / 64
    parts = tuple(float(part) for part in WORDS + own * noise)
    estimate = Estimate(value, value - 0.3, value + 0.3, "sd", 99, "made up", parts=parts)
    stated = claim(
        audit=f"gate_{number}", model=SPEC.name, model_source=SPEC.source, severity=severity
    )
    return measured(stated, estimate, Policy(), TODAY)


def run_of(*findings: Finding, spec: ModelSpec = SPEC) -> Results:
    """A run that found this."""
    return results(decide(findings, Policy(), TODAY), specs=[spec])


def blessed(run: Results, family: str = "") -> Blessing:
    """The blessed release of a run's one model."""
    return bless(run, run.models[0], family, by="Ana", on=TODAY)


def since(kept: Blessing, *findings: Finding) -> Results:
    """A run that found this, compared with the blessed release of its model."""
    return with_blessed(run_of(*findings), {SPEC.name: kept})


def test_what_is_kept_compares_as_the_whole_run_does(tmp_path: Path) -> None:
    """The differences are those of `rmaudit compare`, to the digits that are kept."""
    old = run_of(*(gate(i) for i in range(GATES)))
    new = run_of(*(gate(i, 1.0 - 0.02 * i, own=0.2) for i in range(GATES)))
    write(blessed(old), tmp_path / "x" / "kept.json")
    kept = read(tmp_path / "x" / "kept.json")
    assert (tmp_path / "x" / "kept.json").stat().st_size < 1200 * GATES

    (found,) = with_blessed(new, {SPEC.name: kept}).blessed
    by_audit = {each.audit: each for each in compare(old, new).models[0].findings}
    assert len(found.findings) == GATES
    for each in found.findings:
        whole = by_audit[each.audit].difference
        assert each.difference is not None
        assert whole is not None
        assert each.difference.value == whole.value
        assert each.difference.low == pytest.approx(whole.low, abs=1e-4)


def test_many_gates_are_one_family() -> None:
    """A difference that counts alone may be chance among twelve; a clearer one is none."""
    first, *others = (gate(i) for i in range(GATES))
    kept, se = blessed(run_of(first, *others)), gate_error(first, gate(0, own=1.2))
    assert 2.2 * se > REGRESSION_SHARE  # beyond the margin, so that chance alone excuses it
    lost, clearly = (gate(0, 1 - many * se, own=1.2) for many in (2.2, 5))
    slight, clear = (since(kept, each, *others) for each in (lost, clearly))
    assert slight.verdict.outcome is Outcome.PASSES
    (told,) = blessed_comparisons(slight)
    assert "1 worse" in told.counts
    assert "none regressed" in told.says[1]
    assert since(blessed(run_of(first)), lost).verdict.outcome is Outcome.FAILS  # alone
    assert clear.verdict.outcome is Outcome.FAILS
    assert [f.audit for f in clear.findings if f.blocks] == ["gate_0"]


def test_a_quarter_of_the_room_is_the_releases_own() -> None:
    """Two trainings that are alike differ a little, however clearly that is measured."""
    before = blessed(run_of(gate(0)))  # 1 above its bound
    less, more = (since(before, gate(0, 1 - lost, own=0.0)) for lost in (0.24, 0.26))
    assert (less.verdict.outcome, more.verdict.outcome) == (Outcome.PASSES, Outcome.FAILS)


def gate_error(old: Finding, new: Finding) -> float:
    """The standard error of two gates' difference, by numpy."""
    assert old.estimate is not None
    assert new.estimate is not None
    apart = np.subtract(new.estimate.parts, old.estimate.parts)
    return float(np.sqrt((apart**2).sum() * 64 / 63))


def test_a_gate_that_is_turned_off_is_named() -> None:
    """Who makes a gate informational would else be rid of its baseline unsaid."""
    kept = blessed(run_of(gate(0), gate(1)))
    off = since(kept, gate(0, 0.1, severity=Severity.INFO), gate(1))
    assert off.blessed[0].apart == ("it gates no more: gate_0[best]",)
    assert off.verdict.outcome is Outcome.PASSES


@pytest.mark.parametrize(
    ("state", "blocks"),
    [("waived", False), ("expiring", False), ("expired", True), ("unneeded", True)],
)
def test_only_a_waiver_that_holds_accepts_a_regression(state: str, *, blocks: bool) -> None:
    """One that has expired accepts nothing, though it still stands in models.yaml."""
    kept = blessed(run_of(gate(0)))
    worse = but(gate(0, 0.4), waiver=waived(state))
    assert not worse.blocks

    (finding,) = with_blessed(results([worse], specs=[SPEC]), {SPEC.name: kept}).findings

    assert finding.judgement.regressed.startswith("regressed against the blessed release")
    assert finding.blocks is blocks


@pytest.mark.parametrize(("days", "warns"), [(55, True), (56, False)])
def test_a_release_is_old_from_its_last_day_on(days: int, *, warns: bool) -> None:
    """The warning names the age; it blocks nothing."""
    run = run_of(gate(0))
    later = replace(run, run=replace(run.run, created="2027-01-15T10:50:00Z"))  # 55 days later
    old = replace(blessed(run), days=days)

    (told,) = blessed_comparisons(with_blessed(later, {SPEC.name: old}))

    assert ("is 55 days old (a warning from 55 on)" in told.old) is warns
    assert bool(told.old) is warns


def test_other_words_are_not_compared_as_if_they_were_the_same() -> None:
    """Of published words, a part, a sample, or less what is wanted, a finding is of other words.

    Whatever its values are.
    """
    runs = [
        results(
            [replace(gate(0), sweeps=("key",))],
            [record(np.arange(5.0), prompt="best", model=SPEC.name, provenance=provenance)],
        )
        for provenance in ({}, {"answers": "published words"}, {"part": "a sample"})
    ]
    runs += [replace(runs[0], run=replace(runs[0].run, sample=n)) for n in (2000, 4000)]

    spared = TokenKindsEvidence(rows=(), wanted=("wine",))
    runs.append(replace(runs[0], findings=(with_evidence(runs[0].findings[0], spared),)))

    digests = [question_digest(run, run.findings[0]) for run in runs]

    assert len(set(digests)) == len(runs)
    assert digests[0] == "60a9f0b50517c3d1"  # as files have it that teams committed
    (whole,) = blessed(runs[0]).gates
    for run, digest in zip(runs, digests, strict=True):
        for then in digests:
            of = replace(blessed(runs[0]), gates=(replace(whole, asked=then),))
            (found,) = with_blessed(run, {SPEC.name: of}).blessed
            same = (("gate_0",), ()) if then == digest else ((), (OTHER,))
            assert (tuple(each.audit for each in found.findings), found.apart) == same


@pytest.mark.parametrize(("now", "advice"), [(0.5, "Or bless"), (-0.5, "Or accept")])
def test_the_page_says_how_a_regression_is_accepted(now: float, advice: str) -> None:
    """Inside the bound by blessing the run, as no waiver holds there; beyond it by a waiver."""
    run = since(blessed(run_of(gate(0))), gate(0, now))
    assert run.findings[0].judgement.regressed

    page = render(run)

    assert {said for said in ("Or bless", "Or accept") if said in page} == {advice}
    assert (">regressed</span>" in page) == (now > 0)  # beyond its bound it fails


def test_a_reader_checks_what_regressed() -> None:
    """results.json cannot say that a gate regressed, or did not, against its own numbers."""
    kept = blessed(run_of(gate(0)))
    true = since(kept, gate(0, 0.5))
    assert contradiction(json_codec.decode(Results, json_codec.encode(true))) == ""
    (finding,) = true.findings
    for said, blocks in (("", False), ("it did", True)):
        judgement = replace(finding.judgement, regressed=said, blocks=blocks)
        wrong = replace(true, findings=(replace(finding, judgement=judgement),))
        assert "findings[0].judgement.regressed" in contradiction(wrong)


def test_no_two_families_have_one_file(tmp_path: Path) -> None:
    """Plain names are the file's; a model of each family finds its own."""
    names = ["a-b", "a_b.1", "a/b", "a b", "a%2Fb", "..", "模型", "訓練", "ж" * 80, "ж" * 79 + "з"]
    run = run_of(gate(0), spec=SPEC)
    for name in names:
        write(blessed(run, name), blessed_path(tmp_path, name))

    assert blessed_path(tmp_path, "a_b.1") == tmp_path / "blessed" / "a_b.1.json"
    assert len(list((tmp_path / "blessed").iterdir())) == len(names)
    for name in names:
        assert find_blessed([replace(SPEC, name=name)], tmp_path)[name].family == name


def test_a_release_is_found_by_family_name_or_lineage(tmp_path: Path) -> None:
    """`of:` before the name before the lineage; of several that fit, none is taken."""
    based = replace(SPEC, source="us/rm", base_model="Base")
    run = run_of(gate(0), spec=based)
    kept = blessed(run, "ours")
    write(kept, blessed_path(tmp_path, "ours"))

    def found(spec: ModelSpec) -> list[str]:
        return [each.family for each in find_blessed([spec], tmp_path).values()]

    other = replace(based, name="v9")
    assert found(replace(SPEC, name="v2", of="ours")) == ["ours"]
    assert found(replace(SPEC, name="ours")) == ["ours"]
    assert found(other) == ["ours"]
    assert found(replace(other, of="theirs")) == []
    assert found(replace(SPEC, name="v2")) == []
    assert found(replace(other, source="others/rm")) == []  # they trained it from the same base
    assert find_blessed([other, replace(other, name="v8")], tmp_path) == {}  # side by side
    blessed_path(tmp_path, "theirs").write_text(blessed_path(tmp_path, "ours").read_text())
    with pytest.raises(SpecError, match="is the blessed release of ours, and v2 is of theirs"):
        found(replace(SPEC, name="v2", of="theirs"))
    blessed_path(tmp_path, "theirs").unlink()
    write(replace(kept, family="more"), blessed_path(tmp_path, "more"))
    with pytest.raises(SpecError, match="could be a release of several families"):
        found(other)
