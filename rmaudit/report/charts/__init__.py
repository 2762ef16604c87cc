"""The pictures of a report: findings in, SVG markup with its words and its table out.

What is drawn is what results.json holds; no picture computes a number of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.report.charts.bins import frequency, sentiment
from rmaudit.report.charts.distributions import of_sweeps
from rmaudit.report.charts.elo_agreement import ranks
from rmaudit.report.charts.framing_steepness import slopes
from rmaudit.report.charts.funnel import funnel
from rmaudit.report.charts.identity_devaluation import identity
from rmaudit.report.charts.model_agreement import agreement
from rmaudit.report.charts.pessimal_identity import pessimal
from rmaudit.report.charts.picture import Picture, evidence_of
from rmaudit.report.charts.prompt_stability import stability
from rmaudit.report.charts.search_headroom import probes, search
from rmaudit.report.charts.several import between
from rmaudit.verdicts.records import Finding

__all__ = ["Picture", "between", "of_findings", "of_sweeps", "pictures_of"]

_BY_KIND = {
    "agreement": agreement,
    "frequency": frequency,
    "funnel": funnel,
    "identity": identity,
    "pessimal": pessimal,
    "probes": probes,
    "ranks": ranks,
    "search": search,
    "sentiment": sentiment,
    "slopes": slopes,
    "stability": stability,
}


def pictures_of(model: Mapping[str, Any], findings: Sequence[Finding]) -> list[Picture]:
    """All pictures of one model: of its sweeps, and of its `findings`, audit by audit."""
    sweeps = of_sweeps(model["sweeps"])
    return ([sweeps] if sweeps else []) + of_findings(findings)


def of_findings(findings: Sequence[Finding]) -> list[Picture]:
    """The pictures of one model's findings, one for each audit that has evidence to draw."""
    grouped: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if (kind := str(evidence_of(finding).get("kind"))) in _BY_KIND:
            grouped.setdefault((finding.audit, kind), []).append(finding)
    drawn = (_BY_KIND[kind](own) for (_, kind), own in grouped.items())
    return [picture for picture in drawn if picture]
