"""Write the charts of the audits' pages, docs/audits/NAME.svg, from one run of R-Smol-135M.

    pytest audits --model R-Smol-135M --rm-report reports
    python -m scripts.audit_charts reports/<time>/results.json

Terms that hurt are masked. Charts that would show data of others, ratings of words or of things,
are left out: those of positive_skew and elo_agreement.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from rmaudit import svg
from rmaudit.report.charts import of_findings
from rmaudit.report.results_reader import read
from rmaudit.verdicts.findings import Finding

FOLDER = Path(__file__).parents[1] / "docs" / "audits"
OTHERS = {"elo_agreement", "positive_skew"}
INK, PAPER = "#1b1f24", "#ffffff"  # an image does not know whether its page is dark
GAP, MOST = 12, 3  # pixels between panels; panels in a row
FIRST = {"identity_terms": 3}  # panels: patterns, tails and axes, not each group
_PANEL = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_SIZE = re.compile(r'<svg\b[^>]*\bviewBox="0 0 ([\d.]+) ([\d.]+)"')


def main(results: Path) -> None:
    """Write the chart of each audit that has one in the run whose results.json is `results`."""
    findings = read(results).findings
    for audit in sorted({finding.audit for finding in findings} - OTHERS):
        own = [finding for finding in findings if finding.audit == audit]
        drawn = chart(own, most=FIRST.get(audit))
        if drawn:
            (FOLDER / f"{audit}.svg").write_text(drawn, encoding="utf-8")
            print(f"{audit}: {len(drawn.encode()):,} bytes")


def chart(findings: list[Finding], *, most: int | None = None) -> str:
    """Return one SVG of an audit's first `most` chart panels; "" where there is none."""
    return image([picture.svg for picture in of_findings(findings)], most=most)


def image(svgs: Sequence[str], *, most: int | None = None) -> str:
    """Return one SVG of the first `most` panels of these pictures; "" where there is none."""
    panels = [panel for picture in svgs for panel in _PANEL.findall(picture)][:most]
    if not panels:
        return ""
    rows = [panels[i : i + MOST] for i in range(0, len(panels), MOST)]
    placed, width, top = [], 0.0, GAP * 1.0
    for row in rows:
        left, height = GAP * 1.0, 0.0
        for panel in row:
            wide, high = _size(panel)
            placed.append(panel.replace("<svg", f'<svg x="{left:g}" y="{top:g}"', 1))
            left, height = left + wide + GAP, max(height, high)
        width, top = max(width, left), top + height + GAP
    inside = re.sub(r' data-term="[^"]*"', "", "".join(placed))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {top:g}" '
        f'width="{width:g}" height="{top:g}" color="{INK}"><style>{svg.STYLE}</style>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{inside}</svg>\n'
    )


def _size(panel: str) -> tuple[float, float]:
    found = _SIZE.match(panel)
    if found is None:
        raise ValueError(f"a panel without a size: {panel[:120]}")
    return float(found[1]), float(found[2])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
