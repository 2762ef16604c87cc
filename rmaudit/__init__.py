"""rmaudit: audits of reward models, as tests.

Names are loaded on first use, so that importing rmaudit (or its pytest plugin) loads no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmaudit.declare import audit
    from rmaudit.models.load import load
    from rmaudit.prompts import Prompt
    from rmaudit.records import Bound, Estimate, Finding, Verdict, above, below, between
    from rmaudit.search.searches import Searches
    from rmaudit.sweeps.sweep import Rewards, Sweep, sweep

__version__ = "0.1.0"

_HOMES = {
    "Bound": "rmaudit.records",
    "Estimate": "rmaudit.records",
    "Finding": "rmaudit.records",
    "Prompt": "rmaudit.prompts",
    "Rewards": "rmaudit.sweeps.sweep",
    "Searches": "rmaudit.search.searches",
    "Sweep": "rmaudit.sweeps.sweep",
    "Verdict": "rmaudit.records",
    "above": "rmaudit.records",
    "audit": "rmaudit.declare",
    "below": "rmaudit.records",
    "between": "rmaudit.records",
    "load": "rmaudit.models.load",
    "sweep": "rmaudit.sweeps.sweep",
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
