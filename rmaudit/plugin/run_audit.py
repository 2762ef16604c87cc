"""Run an audit and judge its estimate; `report_of_audit` puts the finding into the test report.

A finding names where its audit stands and the command that runs it again, from the same folder.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Generator, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from rmaudit.errors import (
    AuditFailed,
    MeasureError,
    NoDirection,
    NotAsked,
)
from rmaudit.plugin.collection import audited, rate
from rmaudit.plugin.pytest_fixtures import case_of, settings_of, skip_if_missing
from rmaudit.plugin.run_plan import plan_of
from rmaudit.plugin.run_state import MEMORY, OUTCOME, loads_base
from rmaudit.prompts import listed
from rmaudit.references import References
from rmaudit.references.published_model_values import band
from rmaudit.runs.audit_case import Audited
from rmaudit.verdicts.decision import measured, unmeasured
from rmaudit.verdicts.estimates_and_bounds import Effect, Estimate, Verdict
from rmaudit.verdicts.evidence import recorded
from rmaudit.verdicts.findings import AnyFinding, Band, Claim, Figure, Finding
from rmaudit.verdicts.verdict_wording import OUTDATED, excuse, explain
from rmaudit.word_stems import stemming

if TYPE_CHECKING:
    from rmaudit.models.model_interfaces import Scored

FINDING = pytest.StashKey[AnyFinding]()
_MAKE_ONE = "make one with rmaudit.mean(values, unit=...), which adds the 95 % interval"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is an audit; judge its estimate, and fail the test if the finding blocks."""
    __tracebackhide__ = True
    if (planner := plan_of(pyfuncitem.config).planner) is not None:
        planner.note(pyfuncitem)
        return True
    audit = audited(pyfuncitem)
    if audit is None:
        return None
    names = inspect.signature(pyfuncitem.obj).parameters  # of a method, without `self`
    given = {name: pyfuncitem.funcargs[name] for name in names}
    estimate = _measure(pyfuncitem, audit, given)
    finding = pyfuncitem.stash[FINDING] = _finding(pyfuncitem, audit, estimate, given)
    if isinstance(finding, Finding):
        _raise_outcome(finding)
    return True


def _measure(item: pytest.Function, audit: Audited, given: Mapping[str, Any]) -> Estimate:
    """Run the audit's function; return its estimate, with the caveats of its scores."""
    __tracebackhide__ = True
    case, plan = case_of(item), plan_of(item.config)
    with skip_if_missing():
        try:
            estimate = item.obj(**given)
        except NoDirection as error:
            if plan.own_words.asked:
                raise NotAsked(str(error)) from None  # of another run, it asks other prompts
            raise
        except MeasureError as error:
            if case and case.of_words:  # what these are too few for is missing, and no fault
                if plan.options.recorded:
                    case.model.with_weights(f"its published words do not allow this ({error})")
                pytest.skip(f"the texts that its scorer names do not allow this ({error})")
            if size := plan.options.sample:
                how = f"give a larger one than --rm-sample {size}, or none"
                pytest.skip(f"the sample does not allow this ({error}); {how}")
            raise
    if not isinstance(estimate, Estimate):
        which = f" {estimate}" if isinstance(estimate, Real) else ""
        found = f"{type(estimate).__name__}{which}"
        raise MeasureError(f"{item.name} must return an Estimate, got {found}; {_MAKE_ONE}")
    caveats = list(dict.fromkeys(case.caveats)) if case else []
    if plan.options.recorded:
        from rmaudit.models.recorded_model import CAVEAT

        caveats.append(CAVEAT)
    references = given.get("references")
    if isinstance(references, References):
        caveats += references.caveats
    caveats += _asked_instead(audit, plan.own_words.source)
    evidence = recorded(estimate.evidence, audit.prompt)
    return replace(estimate, evidence=evidence, caveats=(*estimate.caveats, *caveats))


def _asked_instead(audit: Audited, source: str) -> list[str]:
    """Return a caveat (in a list) that quotes the run's prompts, of `source`; [] for its own."""
    if audit.as_declared:
        return []
    texts = "; ".join(f"{each.name} (frame {each.frame}): {each.text}" for each in audit.prompts)
    own = listed(prompt.name for prompt in audit.declaration.prompts)
    return [f"Asked other prompts than its own ({own}), of {source or 'rmaudit'}: {texts}"]


def _finding(
    item: pytest.Function, audit: Audited, estimate: Estimate, given: Mapping[str, Any]
) -> AnyFinding:
    """Judge the estimate; return the finding with null controls and published models' values.

    Of an audit without a bound it is a figure, which is not judged.
    """
    from rmaudit.models.model_factory import weights_hash
    from rmaudit.runs.null_control_trials import controls

    model = cast("Scored | None", item.funcargs.get("reward_model"))
    case, claim = case_of(item), _claim(item, audit, weights_hash(model) if model else "")
    sweeps = tuple(dict.fromkeys(case.keys)) if case else ()
    if audit.declaration.figure:
        return Figure.of(claim, estimate, sweeps=sweeps)
    plan = plan_of(item.config)
    same = _comparable(item, audit)
    published = band(claim.audit, claim.prompt, unit=estimate.unit) if same else None
    return measured(
        claim,
        estimate,
        plan.policy,
        plan.today,
        sweeps=sweeps,
        controls=controls(
            item.obj,
            audit,
            given,
            case=case,
            settings=settings_of(item.config),
            memory=item.config.stash[MEMORY],
            load_base=loads_base(item),
        ),
        band=Band(published.models, published.on) if published else None,
    )


def _claim(item: pytest.Item, audit: Audited, weights: str = "") -> Claim:
    """Return what the audit claims of the model: the statement to test, its bound and base rate."""
    said = rate(audit.declaration, audit.prompt)
    if not _comparable(item, audit):
        said = "not known: of other models it is known under the audit's own prompts and words"
    stated = replace(audit.declaration, base_rate=said)
    return stated.claimed(
        model=audit.spec.name,
        model_source=audit.spec.source,
        prompt=audit.prompt,
        nodeid=_test_id_in_run_folder(item),
        repeat=_repeating_command(item, audit),
        weights=weights,
    )


def _comparable(item: pytest.Item, audit: Audited) -> bool:
    """Return whether published models' findings rest on the same prompts and words as this run."""
    return audit.as_declared and not plan_of(item.config).own_words.others


def _test_id_in_run_folder(item: pytest.Item) -> str:
    """Return the test's id for a pytest command in the run's folder; absolute if outside.

    pytest's own node id starts at its rootdir, which may be any folder above, and xdist adds to it.
    """
    here: Path = item.config.invocation_params.dir
    path = item.path.relative_to(here) if item.path.is_relative_to(here) else item.path
    inside = [
        node.name for node in item.listchain() if isinstance(node, (pytest.Class, pytest.Item))
    ]
    return "::".join([path.as_posix(), *inside])


def _repeating_command(item: pytest.Item, audit: Audited) -> str:
    """Return the command that runs one audit again with the same numbers and verdict.

    It is "" for a function that `rmaudit.run` was given: no file has it.
    """
    plan = plan_of(item.config)
    if plan.caller and item.path in plan.caller.functions:
        return ""
    models = (plan.registry.option_value(audit.spec),)
    options = replace(plan.options.deciding("scores", "findings"), models=models)
    words = options.words(lambda option: option.pytest)
    return shlex.join(["pytest", _test_id_in_run_folder(item), *words])


def _raise_outcome(finding: Finding) -> None:
    """Raise the test's outcome: xfail for an accepted finding, a failure for one that blocks.

    Raises:
        AuditFailed: the finding blocks the run.
    """
    __tracebackhide__ = True
    if finding.effect is Effect.ACCEPTED:
        pytest.xfail(excuse(finding))  # nothing with --runxfail
    elif not finding.blocks:
        return
    if finding.verdict is Verdict.PASS:
        pytest.fail(f"{finding.name}: {OUTDATED}", pytrace=False)
    raise AuditFailed(explain(finding))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Run a test with the stemmer of the run's language; Ctrl-C in an audit prints no traceback."""
    plan = plan_of(item.config)
    try:
        with stemming(plan.own_words.language):
            return (yield)
    except KeyboardInterrupt as error:
        item.config.stash[OUTCOME].stopping(error)
        if audited(item) is None or plan.planner or item.config.getoption("fulltrace"):
            raise
        raise pytest.exit.Exception("interrupted", pytest.ExitCode.INTERRUPTED) from None


def unmeasured_finding(
    item: pytest.Item, audit: Audited, why: str = "", verdict: Verdict = Verdict.ERROR
) -> AnyFinding:
    """Return the finding of an audit that was not measured, with the reason `why`."""
    claim = _claim(item, audit)
    if audit.declaration.figure:
        return Figure.of(claim, reason=why)
    return unmeasured(claim, why, plan_of(item.config).policy, verdict)
