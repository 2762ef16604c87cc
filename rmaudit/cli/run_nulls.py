"""rmaudit nulls: run audits on null controls (scorers that know nothing), without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmaudit.cli.shared_options import FAILED, AsJson, echo_json, ending_on_failure, fail, say
from rmaudit.verdicts.estimates_and_bounds import Severity, Verdict

if TYPE_CHECKING:
    from rmaudit.organisms.null_control_trials import Tried
    from rmaudit.verdicts.findings import Control

FILE = "nulls.md"
_WORST = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.ERROR)  # of several prompts
_TOP = """\
# Null controls

This page shows the result of every audit for every [null control](audits.md#null-controls), a
trivial scorer that ignores meaning. No model is needed: the scorers score common English words,
identity terms and pieces of words. The base model is simulated and finds frequent words likely, and
the baseline is a simulated model without a flaw. `rmaudit nulls --out docs` writes this page.

**Bold** results are those of controls that the audit must stop: a bold **pass** would be a gap in
the audit. The other controls need not be stopped: random scores, for example, have no bias, and
rightly pass the audits of bias. If an audit has several prompts, the first tables have the result
that is nearest to a pass. "no flaw" is a simulated model without a flaw: a gate that stops it too
would be useless.
"""


def nulls(
    audits: Annotated[Path, typer.Argument(help="the folder of the audits")] = Path("audits"),
    audit: Annotated[list[str] | None, typer.Option(help="only this audit; repeatable")] = None,
    out: Annotated[Path | None, typer.Option(help=f"a folder for {FILE}, of all audits")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Run audits on scorers that know nothing (null controls), and name those that wrongly pass.

    Exit code 0 if every audit stops what it declares to stop, 1 if one does not.
    """
    from rmaudit.organisms.null_control_trials import try_audits

    if out is not None and audit:
        fail("--out writes a page of all audits, and --audit tries some: give one of the two")
    found = []
    with ending_on_failure():
        for one in try_audits(audits, tuple(audit or ())):
            found.append(one)
            if not as_json:
                say(_line(one))
    if out is not None:
        from rmaudit.report.results_document import write_text

        out.mkdir(parents=True, exist_ok=True)
        write_text(out / FILE, page(found))
    if as_json:
        echo_json([_plain(one) for one in found])
    if any(one.slips for one in found):
        raise typer.Exit(FAILED)


def page(found: Sequence[Tried]) -> str:
    """Return a Markdown page: how each null control fares in each audit, and all numbers."""
    by_audit: dict[str, list[Tried]] = {}
    for one in found:
        by_audit.setdefault(one.declaration.name, []).append(one)
    gates = {name: own for name, own in by_audit.items() if _is_gate(own)}
    others = {name: own for name, own in by_audit.items() if not _is_gate(own)}
    parts = [_TOP]
    for title, group in (("Gates", gates), ("Informational audits", others)):
        if group:
            parts.append(f"## {title}\n\n{_overview(group)}")
    parts += [f"## {name}\n\n{_numbers_of_audit(own)}" for name, own in by_audit.items()]
    return "\n".join(parts)


def _is_gate(own: Sequence[Tried]) -> bool:
    return own[0].declaration.severity is Severity.GATE


def _overview(group: dict[str, list[Tried]]) -> str:
    names = list(next(iter(group.values()))[0].controls)
    rows = [
        [name, *(_marked(_nearest(one.controls[name] for one in own)) for own in group.values())]
        for name in names
    ]
    return _table(["null control", *group], rows)


def _nearest(controls: Iterable[Control]) -> Control:
    order = [*_WORST, *(verdict for verdict in Verdict if verdict not in _WORST)]
    return min(controls, key=lambda control: order.index(control.verdict))


def _marked(control: Control) -> str:
    said = str(control.result) if control.value is not None else str(control)
    return f"**{said}**" if control.stops else said


def _numbers_of_audit(own: Sequence[Tried]) -> str:
    unit = own[0].declaration.bound
    rows = [[name, *(_shown(one.controls[name]) for one in own)] for name in own[0].controls]
    return f"Passes {unit}.\n\n" + _table(["null control", *(one.prompt for one in own)], rows)


def _shown(control: Control) -> str:
    if control.value is None or control.low is None or control.high is None:
        return _marked(control)
    return f"{control.value:.2f} [{control.low:.2f}, {control.high:.2f}] {_marked(control)}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _line(one: Tried) -> str:
    """Return a line on the null controls an audit stopped: `elo[best]: 8 of 9 stopped; ...`."""
    stops = [control for control in one.controls.values() if control.stops]
    through = [f"{name!r} {one.controls[name]}" for name in one.slips]
    said = f"{len(stops) - len(through)} of {len(stops)} stopped" if stops else "declares no stops"
    return "; ".join([f"{one.declaration.name}[{one.prompt}]: {said}", *through])


def _plain(one: Tried) -> dict[str, object]:
    controls = {name: asdict(control) for name, control in one.controls.items()}
    return {"audit": one.declaration.name, "prompt": one.prompt, "controls": controls}
