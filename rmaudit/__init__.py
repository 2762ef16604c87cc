"""rmaudit: audits of reward models, as pytest tests.

Names are loaded on first use, so that importing rmaudit (or its pytest plugin) loads no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmaudit.config.scorer_functions import scorer
    from rmaudit.measures.clustered_estimates import difference, mean, rank_correlation
    from rmaudit.models.model_factory import load
    from rmaudit.models.model_interfaces import RewardModel
    from rmaudit.plugin.audit_run import AuditRun
    from rmaudit.plugin.run_from_python import run
    from rmaudit.prompts import Prompt
    from rmaudit.references import References
    from rmaudit.scores.answer_files import Samples
    from rmaudit.scores.changed_answers import Probes
    from rmaudit.scores.first_token_logprobs import base_logprobs
    from rmaudit.scores.pair_files import Pairs
    from rmaudit.scores.sweep import sweep
    from rmaudit.scores.sweep_result import Sweep
    from rmaudit.scores.text_rewards import Rewards
    from rmaudit.search.cached_search import Searches
    from rmaudit.verdicts.audit_declaration import audit
    from rmaudit.verdicts.estimates_and_bounds import (
        Bound,
        Estimate,
        Verdict,
        above,
        below,
        between,
    )
    from rmaudit.verdicts.findings import Finding
    from rmaudit.word_stems import stem_codes

__version__ = "0.2.0"

_HOMES = {
    "AuditRun": "rmaudit.plugin.audit_run",
    "Bound": "rmaudit.verdicts.estimates_and_bounds",
    "Estimate": "rmaudit.verdicts.estimates_and_bounds",
    "Finding": "rmaudit.verdicts.findings",
    "Pairs": "rmaudit.scores.pair_files",
    "Probes": "rmaudit.scores.changed_answers",
    "Prompt": "rmaudit.prompts",
    "References": "rmaudit.references",
    "RewardModel": "rmaudit.models.model_interfaces",
    "Rewards": "rmaudit.scores.text_rewards",
    "Samples": "rmaudit.scores.answer_files",
    "Searches": "rmaudit.search.cached_search",
    "Sweep": "rmaudit.scores.sweep_result",
    "Verdict": "rmaudit.verdicts.estimates_and_bounds",
    "above": "rmaudit.verdicts.estimates_and_bounds",
    "audit": "rmaudit.verdicts.audit_declaration",
    "base_logprobs": "rmaudit.scores.first_token_logprobs",
    "below": "rmaudit.verdicts.estimates_and_bounds",
    "between": "rmaudit.verdicts.estimates_and_bounds",
    "difference": "rmaudit.measures.clustered_estimates",
    "load": "rmaudit.models.model_factory",
    "mean": "rmaudit.measures.clustered_estimates",
    "rank_correlation": "rmaudit.measures.clustered_estimates",
    "run": "rmaudit.plugin.run_from_python",
    "scorer": "rmaudit.config.scorer_functions",
    "stem_codes": "rmaudit.word_stems",
    "sweep": "rmaudit.scores.sweep",
}

__all__ = [
    "AuditRun",
    "Bound",
    "Estimate",
    "Finding",
    "Pairs",
    "Probes",
    "Prompt",
    "References",
    "RewardModel",
    "Rewards",
    "Samples",
    "Searches",
    "Sweep",
    "Verdict",
    "above",
    "audit",
    "base_logprobs",
    "below",
    "between",
    "difference",
    "load",
    "mean",
    "rank_correlation",
    "run",
    "scorer",
    "stem_codes",
    "sweep",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  (the type is the name's own, see above)
    """Return the public object of rmaudit called `name`, imported on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rmaudit' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, for tab completion."""
    return [*__all__, "__version__"]
