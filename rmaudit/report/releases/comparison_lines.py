"""Format a comparison of two runs for the terminal: findings (worst first), sweeps, counts."""

from __future__ import annotations

from collections.abc import Iterator

from rmaudit.references.offensive_text_masks import mask, masked
from rmaudit.report.number_format import effect_in_numbers
from rmaudit.report.releases.finding_comparison import Change
from rmaudit.report.releases.run_comparison import FindingChange, Origin, Releases, SweepChange
from rmaudit.report.safe_text import line, log, visible
from rmaudit.report.writers.terminal import aligned
from rmaudit.verdicts.findings import in_words

_SHOWN = 5  # tokens at either end
_PLACES = {change: place for place, change in enumerate(Change)}


def lines(said: Releases) -> list[str]:
    """Return the comparison of two runs as lines: a row for each finding to list, verdicts last.

    worse  positive_skew  best  +0.58 [+0.55, +0.61]  +0.21 [+0.18, +0.24]  -0.37 [-0.41, -0.33]
    """
    return [log(text) for text in (*_model_lines(said), *_total_lines(said))]


def _model_lines(said: Releases) -> Iterator[str]:
    for pair in said.models:
        yield f"{_run_in_words(pair.old, said.old)} -> {_run_in_words(pair.new, said.new)}"
        findings = sorted(
            filter(_is_listed, pair.findings), key=lambda found: _PLACES[found.change]
        )
        header = ("", "audit", "prompt", "old", "new", "new - old", "result")
        rows = [header, *map(_row, findings)] if findings else []
        yield from (f"  {row}" for row in aligned(rows))
        for finding in findings:
            if _has_note(finding):
                yield "  " + line(f"{finding.audit}[{finding.prompt}]: {finding.note}")
        for sweep in pair.sweeps:
            yield from _sweep_lines(sweep)


def _is_listed(finding: FindingChange) -> bool:
    """Return whether a finding gets a row: value, result or effect changed, or it has a note."""
    words = {(side.result, side.effect) for side in (finding.old, finding.new) if side}
    same = finding.change in (Change.UNCHANGED, Change.NEVER) and len(words) == 1
    return not same or _has_note(finding)


def _has_note(finding: FindingChange) -> bool:
    both = finding.old is not None and finding.new is not None
    return bool(finding.note) and both and finding.change is not Change.NEVER


def _run_in_words(model: str, run: Origin) -> str:
    return line(f"{model} ({run.created}, rmaudit {run.rmaudit})")


def _total_lines(said: Releases) -> Iterator[str]:
    for side, run in (("old", said.old), ("new", said.new)):
        if run.incomplete:
            yield f"the {side} run is incomplete: {run.incomplete}"
    for side, names in said.unpaired.items():
        if names:
            yield line(f"only in the {side} file, not compared: {', '.join(names)}")
    counts = ", ".join(f"{n} {change}" for change, n in said.counts.items())
    margin = "" if said.margin is None else f", margin {said.margin:g}"
    yield f"{counts or 'no findings'}{margin}; gating audits: {said.outcome}"
    yield said.assumes
    why = f" ({said.new.why})" if said.new.why else ""
    yield line(f"verdicts: old {said.old.verdict}, new {said.new.verdict}{why}")


def _row(finding: FindingChange) -> tuple[str, ...]:
    sides = (finding.old, finding.new)
    said = [in_words(side.result, side.effect) if side else "none" for side in sides]
    return (
        str(finding.change),
        finding.audit,
        finding.prompt,
        *(effect_in_numbers(side.estimate if side else None) for side in sides),
        effect_in_numbers(finding.difference),
        said[0] if said[0] == said[1] else " -> ".join(said),
    )


def _sweep_lines(sweep: SweepChange) -> Iterator[str]:
    how = f"  sweep {line(sweep.prompt)}: {sweep.tokens:,} tokens paired by {sweep.paired_by}"
    old, new = sweep.of["old"], sweep.of["new"]
    if not sweep.tokens == old == new:
        how += f" (of {old:,} and {new:,})"
    if sweep.tau is None:
        yield f"{how}; {line(sweep.reason)}"
        return
    tau = effect_in_numbers(sweep.tau)
    yield f"{how}, Kendall's tau-b {tau}, Spearman {sweep.spearman or 0:+.2f}"
    for way, moved in (("rose", sweep.rose), ("fell", sweep.fell)):
        shown = [
            f"{_token(token.text)} {token.old:,.0f} -> {token.new:,.0f}" for token in moved[:_SHOWN]
        ]
        yield f"    {way} most in rank: {'; '.join(shown) or 'none'}"


def _token(text: str) -> str:
    return mask(text) if masked(text) else visible(text)
