"""The summary that ends a pytest run: one line a finding, then the counts and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rmaudit.report.safe_text import line, log
from rmaudit.verdicts.findings import Finding, counts, nulls_in_words, reasons
from rmaudit.verdicts.outcome import of_run


def lines(findings: Sequence[Finding], report: Path | None, gaps: Sequence[str] = ()) -> list[str]:
    """The summary's lines, for example as follows; `gaps` say what was left out of the run.

    KNOWN  R-Smol-135M  positive_skew     worst     -0.21 [-0.25, -0.17]  above 0 skewness
    9 audited: 8 PASS, 1 KNOWN
    PASSES
    report: reports/2026-11-21T10-50-00Z/index.html
    """
    rows = [tuple(map(line, _row(finding))) for finding in findings]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    below = [line(text) for text in _why(findings)]
    total = ", ".join(f"{n} {name}" for name, n in counts(findings).items())
    where = [] if report is None else [line(f"report: {report}")]
    counted = f"{len(findings)} audited: {total}".rstrip(": ")
    nulls = [line(said)] if (said := nulls_in_words(findings)) else []
    comes_to = line(str(of_run(findings, gaps)))
    return [log(text) for text in (*table, *below, *nulls, counted, comes_to, *where)]


def _why(findings: Sequence[Finding]) -> Iterator[str]:
    """The reasons of each finding; why nothing was measured, in full once and then by reference."""
    told: dict[str, str] = {}
    for finding in findings:
        for reason in reasons(finding):
            first = told.setdefault(reason, finding.name) if finding.reason == reason else ""
            said = f"the same as {first}" if first not in ("", finding.name) else reason
            yield f"{finding.standing}: {finding.name}: {said}"


def _row(finding: Finding) -> tuple[str, ...]:
    estimate = finding.estimate
    shown = effect(estimate.value, estimate.low, estimate.high) if estimate else ("", "")
    return (
        str(finding.standing),
        finding.model,
        finding.audit,
        finding.prompt,
        *shown,
        str(finding.bound),
    )


def effect(value: float, low: float, high: float) -> tuple[str, str]:
    """A value and its interval, for example `+0.58` and `[+0.55, +0.61]`.

    To two decimals, or in as many digits as tell the ends apart, and a small effect from none.
    """
    for style in ("+.2f", "+.4f", "+.3g", "+.6g"):
        shown, *ends = (format(number, style) for number in (value, low, high))
        if (ends[0] != ends[1] or low == high) and (float(shown) or not value):
            break
    return shown, f"[{ends[0]}, {ends[1]}]"
