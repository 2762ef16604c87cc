"""Hold what `rmaudit.run` returns: findings and verdict, which a notebook shows as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.report.safe_text import line
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import AnyFinding, Figure, Finding
from rmaudit.verdicts.rounded_numbers import fixed
from rmaudit.verdicts.verdict_wording import doubt, incompetent, reasons

if TYPE_CHECKING:
    import pandas as pd

    from rmaudit.report.results_document import Results
    from rmaudit.verdicts.run_verdict import RunVerdict


@dataclass(frozen=True, repr=False)
class AuditRun:
    """The findings and the verdict of a run of audits, and where its report is.

    `report` is the folder of all reports, `page` the report of this run with its charts; both are
    None where no folder was asked for.
    """

    results: Results
    report: Path | None
    page: Path | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return one finding for each audit, model and prompt, as pytest records them."""
        return self.results.findings

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Return what audits without a bound measured, in the same way."""
        return self.results.figures

    @property
    def verdict(self) -> RunVerdict:
        """Return the verdict on the whole run, with its reasons."""
        return self.results.verdict

    def frame(self) -> pd.DataFrame:
        """Return the findings as a table, a row for each, and then the figures.

        The columns are model, audit, prompt, value, low, high, bound, result, effect and reason:
        why nothing was measured, why the result is no pass, or what is to be said of a pass; ""
        where there is nothing to explain. Of a figure, bound, result and effect are "".
        """
        import pandas as pd

        failed = incompetent(self.findings)
        rows = [
            {**_row_of_finding(each), "reason": _reason(each, failed)} for each in self.findings
        ]
        return pd.DataFrame([*rows, *map(_row_of_finding, self.figures)])

    @property
    def _faults(self) -> list[str]:
        """Return a line for each fault that kept audits from being measured, naming the audits."""
        names: dict[str, list[str]] = {}
        for finding in self.findings:
            if finding.verdict is Verdict.ERROR:
                names.setdefault(line(finding.reason), []).append(finding.name)
        return [f"{', '.join(of)} could not be measured: {why}" for why, of in names.items()]

    @property
    def _shown(self) -> pd.DataFrame:
        """Return the table to be shown: numbers as texts, as reports have them, and no reasons."""
        table = self.frame().drop(columns="reason", errors="ignore")
        rows: tuple[AnyFinding, ...] = (*self.findings, *self.figures)
        for name in table.columns.intersection(["value", "low", "high"]):
            numbers = zip(table[name], rows, strict=True)
            table[name] = ["" if math.isnan(x) else fixed(x, row.decimals) for x, row in numbers]
        return table

    @property
    def _summary(self) -> list[str]:
        """Return the lines of pytest's summary (verdict, reasons, gaps), and one on the charts."""
        from rmaudit.report.summary import summarize
        from rmaudit.report.writers import terminal

        lines = terminal.summary(summarize(self.results))
        where = self.page or 'not drawn; rmaudit.run(..., report="reports") draws them'
        return [*(each.text for each in lines), f"charts: {where}"]

    def __repr__(self) -> str:
        return "\n".join([*self._faults, *self._summary, self._shown.to_string()])

    def _repr_html_(self) -> str:
        table = self._shown.to_html(index=False)  # escapes
        faults = "".join(f"<p>{escape(fault)}</p>" for fault in self._faults)
        verdict, *more = map(escape, self._summary)
        reasons = "\n".join(more)
        return f"{faults}<p><b>{verdict}</b></p><pre>{reasons}</pre>{table}"


def _reason(finding: Finding, failed: Mapping[str, tuple[str, ...]]) -> str:
    said = "; ".join(filter(None, (doubt(finding, failed), *reasons(finding))))
    return said or ("outside its bound" if finding.verdict is Verdict.FAIL else "")


def _row_of_finding(finding: AnyFinding) -> dict[str, Any]:
    """Return a finding as a row of a table; numbers are None where nothing was measured."""
    estimate = finding.estimate
    judged = finding if isinstance(finding, Finding) else None
    return {
        "model": finding.model,
        "audit": finding.audit,
        "prompt": finding.prompt,
        "value": estimate.value if estimate else None,
        "low": estimate.low if estimate else None,
        "high": estimate.high if estimate else None,
        "bound": str(judged.bound) if judged else "",
        "result": str(judged.result) if judged else "",
        "effect": str(judged.effect) if judged else "",
        "reason": finding.reason,
    }
