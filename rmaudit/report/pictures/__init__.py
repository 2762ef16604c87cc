"""The pictures of a report: findings in, SVG markup with its words and its table out.

What is drawn is what results.json holds; no picture computes a number of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmaudit.records import Finding
from rmaudit.report.pictures.agreement import agreement
from rmaudit.report.pictures.bins import frequency, sentiment
from rmaudit.report.pictures.distribution import of_sweeps
from rmaudit.report.pictures.funnel import funnel
from rmaudit.report.pictures.identity import identity
from rmaudit.report.pictures.pessimal import pessimal
from rmaudit.report.pictures.picture import Picture, evidence_of
from rmaudit.report.pictures.ranks import ranks
from rmaudit.report.pictures.searches import probes, search
from rmaudit.report.pictures.several import between
from rmaudit.report.pictures.slopes import slopes
from rmaudit.report.pictures.stability import stability

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
