"""rmaudit: audits of reward models, as tests.

Names are loaded on first use, so that importing rmaudit (or its pytest plugin) loads no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmaudit.models.checkpoint import load
    from rmaudit.prompts import Prompt
    from rmaudit.scores.sweep import Rewards, Sweep, sweep
    from rmaudit.search.for_audits import Searches
    from rmaudit.verdicts.declare import audit
    from rmaudit.verdicts.findings import Finding
    from rmaudit.verdicts.records import Bound, Estimate, Verdict, above, below, between

__version__ = "0.1.0"

_HOMES = {
    "Bound": "rmaudit.verdicts.records",
    "Estimate": "rmaudit.verdicts.records",
    "Finding": "rmaudit.verdicts.findings",
    "Prompt": "rmaudit.prompts",
    "Rewards": "rmaudit.scores.sweep",
    "Searches": "rmaudit.search.for_audits",
    "Sweep": "rmaudit.scores.sweep",
    "Verdict": "rmaudit.verdicts.records",
    "above": "rmaudit.verdicts.records",
    "audit": "rmaudit.verdicts.declare",
    "below": "rmaudit.verdicts.records",
    "between": "rmaudit.verdicts.records",
    "load": "rmaudit.models.checkpoint",
    "sweep": "rmaudit.scores.sweep",
}

__all__ = [
    "Bound",
    "Estimate",
    "Finding",
    "Prompt",
    "Rewards",
    "Searches",
    "Sweep",
    "Verdict",
    "above",
    "audit",
    "below",
    "between",
    "load",
    "sweep",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  (the type is the name's own, see above)
    """Load a public name from its home on first use (PEP 562)."""
    if name not in _HOMES:
        message = f"module 'rmaudit' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
