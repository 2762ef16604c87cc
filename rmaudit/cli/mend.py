"""Run `rmaudit mend`: the smallest repair of a head that fails a gate, and what it costs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rmaudit.cli.printing import ending_if_unwritable, say, show
from rmaudit.cli.shared_options import AsJson, Loading, Named, grouped
from rmaudit.config.model_registry import FILE, known_models

if TYPE_CHECKING:
    from rmaudit.report.results_document import Results
    from rmaudit.runs.gates_on_a_half import GateChange
    from rmaudit.runs.head_mending import Mended
    from rmaudit.verdicts.estimates_and_bounds import Estimate
    from rmaudit.verdicts.findings import AnyFinding

_ORDER = ("PASS", "INCONCLUSIVE", "FAIL")
_FIGURES = ("after_training", "community_odds")


@grouped
def mend(  # noqa: PLR0913  (keyword-only after the model)
    model: Named,
    *,
    pairs: Annotated[
        Path, typer.Option(metavar="FILE", help="your own pairs: prompt, chosen, rejected")
    ],
    gate: Annotated[
        list[str], typer.Option(help="a gate that fails, or is to be kept; may be repeated")
    ],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="where the new checkpoint goes")],
    most_lost: Annotated[
        float, typer.Option(min=0, max=1, help="share of your pairs that may be lost, at most")
    ] = 0.02,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="run every audit on both checkpoints afterwards")
    ] = True,
    loading: Loading,
    as_json: AsJson = False,
) -> None:
    """Change a linear head as little as your pairs allow, so that gates that fail no longer do.

    The repair is fitted on one half of the gates' words and contexts, and judged on the other. A
    new checkpoint is written, with a note and a report; the old one stays as it is. Where no repair
    exists, or it costs too many pairs, nothing is written.
    """
    written = to.expanduser().absolute()
    found, note, names = _mended(
        model, pairs, gate, to=written, most_lost=most_lost, loading=loading
    )
    for line in () if as_json else _lines(found):
        say(line)
    audits = _audited(written, names, loading, gate) if run else []
    last = f"written: {written}; audit it by: pytest audits --model {written}"
    said = {"written": str(written), **note, "audits": audits}
    show(said, (*_lines_of_audits(audits), last), as_json=as_json)


def _mended(  # noqa: PLR0913  (the command's options)
    name: str, file: Path, gates: list[str], *, to: Path, most_lost: float, loading: Loading
) -> tuple[Mended, dict[str, Any], tuple[str, str]]:
    """Mend the head and write the checkpoint; return what was found, the note, both names."""
    from rmaudit.checkpoints import head_writing
    from rmaudit.runs import head_mending, mended_checkpoint
    from rmaudit.runs.states_of_pairs import opened

    head_writing.refuse_folder(to)
    load, refuse_few = partial(loading.load, name), head_mending.refuse_few
    given = opened(load, file, gates, refuse_few=refuse_few, cache=loading.folder)
    as_saved = partial(head_writing.rounded, given.checked, given.head)
    as_saved(given.head)  # what cannot be written is refused before anything is computed
    words = known_models(loading.file).words
    found = head_mending.mended(
        given, gates, own_words=words, most_lost=most_lost, as_saved=as_saved
    )
    with ending_if_unwritable(to):
        return found, *mended_checkpoint.write(given, found, to)


def _lines(found: Mended) -> Iterator[str]:
    """Yield the lines on the gates by which the head was mended, and on what that costs."""
    for each in found.gates:
        yield f"{each.gate}, {each.half} half: {_found(each, 0)} -> {_found(each, 1)}"
        (old, new), (before, after) = each.contrast, each.excess
        named = "" if old == new else f" ({new})"
        yield f"  sd over what is tolerated: {_beyond(before)} ({old}) -> {_beyond(after)}{named}"
    before, after = found.accuracy
    yield f"held-out pairs won: {before:.1%} -> {after:.1%} of {found.held_out:,}"
    yield f"old and new rewards of tokens: Spearman's rho {found.agreement:.3f}"


def _beyond(excess: float) -> str:
    """Return by how much a sum exceeds what is tolerated, such as `-0.02`; `0.00` is exact."""
    from rmaudit.verdicts.rounded_numbers import decimals_to_show, signed

    return signed(excess, decimals_to_show((excess,), (0.0,)))


def _found(change: GateChange, which: int) -> str:
    found = change.found[which]
    if found is None:
        return "too few answers for the gate itself"
    return _in_words([found.value, found.low, found.high], change.verdicts[which])


def _in_words(numbers: list[float], verdict: str) -> str:
    """Return a value, its interval and the result as reports print it; a figure has none."""
    from rmaudit.verdicts.estimates_and_bounds import Verdict

    result = Verdict(verdict).result if verdict else ""
    return f"{{:.2f}} [{{:.2f}}, {{:.2f}}] {result}".format(*numbers).rstrip()


def _audited(
    folder: Path, names: tuple[str, str], loading: Loading, mended: list[str]
) -> list[dict[str, Any]]:
    """Run all audits on the old and the new checkpoint, on the half that judges; return `rows`."""
    from rmaudit.plugin.run_from_python import run

    ended = run(
        *names,
        registry=folder / FILE,
        report=folder / "reports",
        cache=loading.cache,
        device=loading.device,
        dtype=loading.dtype,
    )
    return rows(ended.results, names, mended)


def rows(results: Results, names: tuple[str, str], mended: list[str]) -> list[dict[str, Any]]:
    """Return a row for each audit of the old and the new model, by their `names`, in a run.

    The rows are of gates and of what training makes of the rewards.
    """
    from rmaudit.runs.gate_contrasts import HALVED

    shown: list[AnyFinding] = [
        *(one for one in results.findings if one.claim.severity.gates),
        *(one for one in results.figures if one.audit in _FIGURES),
    ]
    old, new = ({(e.audit, e.prompt): e for e in shown if e.model == name} for name in names)
    whole = {each for each in mended if each not in HALVED}
    return [_row(old[key], new[key], whole) for key in old if key in new]


def _row(old: AnyFinding, new: AnyFinding, whole: Collection[str] = ()) -> dict[str, Any]:
    """Return what an audit finds before and after; `whole` names those that look at both halves."""
    from rmaudit.verdicts.findings import Finding

    results = [each.verdict if isinstance(each, Finding) else "" for each in (old, new)]
    worse = False
    if isinstance(old, Finding) and old.estimate and new.estimate:
        low, high = old.bound.ends
        further = new.estimate.value > old.estimate.high if isfinite(high) else False
        further |= new.estimate.value < old.estimate.low if isfinite(low) else False
        worse = further or _ORDER.index(results[1]) > _ORDER.index(results[0])
    return {
        "audit": old.audit,
        "prompt": old.prompt,
        "before": _numbers(old.estimate),
        "after": _numbers(new.estimate),
        "verdicts": [str(each) for each in results],
        "worse": worse,
        "fitted_too": old.audit in whole,
    }


def _numbers(estimate: Estimate | None) -> list[float] | None:
    return None if estimate is None else [estimate.value, estimate.low, estimate.high]


def _lines_of_audits(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each audit, before and after, and a warning if the bias only moved."""
    for row in rows:
        if row["before"] and row["after"]:
            sides = zip((row["before"], row["after"]), row["verdicts"], strict=True)
            texts = (_in_words(*side) for side in sides)
            both = " (both halves: go by the held-out one)" if row["fitted_too"] else ""
            yield f"{row['audit']}[{row['prompt']}]: {' -> '.join(texts)}{both}"
    if worse := [f"{row['audit']}[{row['prompt']}]" for row in rows if row["worse"]]:
        yield (
            f"warning: worse than before: {', '.join(worse)}. A bias that was removed by one "
            f"measure may have moved to another (arXiv 2605.27996): read these before you train"
        )
