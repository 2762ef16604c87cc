"""What charts need of each audit: the union of all kinds of evidence, told apart by `kind`.

surface_form, base_leakage and numerics have none; multi_token_framing has that of
framing_inversion.
"""

from __future__ import annotations

from typing import get_args

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
from rmaudit.verdicts.records import Evidence

AnyEvidence = (
    EloAgreementEvidence
    | FramingInversionEvidence
    | FramingSteepnessEvidence
    | FrequencyBiasEvidence
    | FunnelEvidence
    | GcgProbesEvidence
    | IdentityErasureEvidence
    | IdentityHostilityEvidence
    | ModelAgreementEvidence
    | PessimalFramesEvidence
    | PessimalIdentityEvidence
    | PositiveSkewEvidence
    | PromptStabilityEvidence
    | SearchHeadroomEvidence
    | ValueTiltEvidence
)


def refuse_unlisted(evidence: Evidence | None) -> None:
    """Evidence that is of no kind listed here could be written and never be read back.

    Raises:
        TypeError: it is such; the message says what to add.
    """
    if evidence is None or type(evidence) in get_args(AnyEvidence):
        return
    name = type(evidence).__name__
    message = (
        f"evidence is a {name}, which rmaudit/measures/evidence.py does not list; add it to "
        f"AnyEvidence there, and its chart to CHARTS in rmaudit/report/charts/__init__.py"
    )
    raise TypeError(message)
