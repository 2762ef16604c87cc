"""The pictures of a report: findings in, SVG markup with its words and its table out.

What is drawn is what results.json holds; no picture computes a number of its own. A chart bears
the name of the audit whose evidence it draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rmaudit.measures.elo_agreement import EloAgreementEvidence
from rmaudit.measures.framing_inversion import FramingInversionEvidence
from rmaudit.measures.framing_steepness import FramingSteepnessEvidence
from rmaudit.measures.frequency_bias import FrequencyBiasEvidence
from rmaudit.measures.funnel import FunnelEvidence
from rmaudit.measures.gcg_probes import GcgProbesEvidence
from rmaudit.measures.identity_erasure import IdentityErasureEvidence
from rmaudit.measures.identity_hostility import IdentityHostilityEvidence
from rmaudit.measures.model_agreement import ModelAgreementEvidence
from rmaudit.measures.pessimal_frames import PessimalFramesEvidence
from rmaudit.measures.pessimal_identity import PessimalIdentityEvidence
from rmaudit.measures.positive_skew import PositiveSkewEvidence
from rmaudit.measures.prompt_stability import PromptStabilityEvidence
from rmaudit.measures.search_headroom import SearchHeadroomEvidence
from rmaudit.measures.value_tilt import ValueTiltEvidence
from rmaudit.report.charts import (
    distributions,
    elo_agreement,
    framing_inversion,
    framing_steepness,
    frequency_bias,
    funnel,
    gcg_probes,
    identity_erasure,
    identity_hostility,
    model_agreement,
    pessimal_frames,
    pessimal_identity,
    positive_skew,
    prompt_stability,
    remembered,
    search_headroom,
    value_tilt,
)
from rmaudit.report.charts.drawing import compiled
from rmaudit.report.charts.picture import ByPrompt, Picture, evidence_of
from rmaudit.report.charts.several import between
from rmaudit.report.document import AuditedModel, SweepSummary
from rmaudit.verdicts.findings import Finding
from rmaudit.verdicts.records import Evidence

__all__ = ["CHARTS", "Picture", "between", "compiled", "of_findings", "of_sweeps", "pictures_of"]

CHARTS: dict[type[Evidence], Callable[[ByPrompt[Any]], Picture | None]] = {
    EloAgreementEvidence: elo_agreement.chart,
    FramingInversionEvidence: framing_inversion.chart,
    FramingSteepnessEvidence: framing_steepness.chart,
    FrequencyBiasEvidence: frequency_bias.chart,
    FunnelEvidence: funnel.chart,
    GcgProbesEvidence: gcg_probes.chart,
    IdentityErasureEvidence: identity_erasure.chart,
    IdentityHostilityEvidence: identity_hostility.chart,
    ModelAgreementEvidence: model_agreement.chart,
    PessimalFramesEvidence: pessimal_frames.chart,
    PessimalIdentityEvidence: pessimal_identity.chart,
    PositiveSkewEvidence: positive_skew.chart,
    PromptStabilityEvidence: prompt_stability.chart,
    SearchHeadroomEvidence: search_headroom.chart,
    ValueTiltEvidence: value_tilt.chart,
}


def pictures_of(model: AuditedModel, findings: Sequence[Finding]) -> list[Picture]:
    """All pictures of one model: of its sweeps, and of its `findings`, audit by audit."""
    sweeps = of_sweeps(model.sweeps)
    return ([sweeps] if sweeps else []) + of_findings(findings)


def of_findings(findings: Sequence[Finding]) -> list[Picture]:
    """The pictures of one model's findings, one for each audit that has evidence to draw."""
    grouped: dict[tuple[str, type[Evidence]], list[tuple[str, Evidence]]] = {}
    for finding in findings:
        evidence = evidence_of(finding)
        if evidence is not None and type(evidence) in CHARTS:
            own = grouped.setdefault((finding.audit, type(evidence)), [])
            own.append((finding.prompt, evidence))
    drawn = (
        remembered.picture(kind.__name__, found, partial(CHARTS[kind], found))
        for (_, kind), found in grouped.items()
    )
    return [picture for picture in drawn if picture]


def of_sweeps(sweeps: Sequence[SweepSummary]) -> Picture | None:
    """The distributions of a model's sweeps, None without any: see `distributions`."""
    return remembered.picture("distributions", sweeps, partial(distributions.of_sweeps, sweeps))
