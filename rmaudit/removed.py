"""What 0.2 removed, and what to use instead: commands, options and keys of models.yaml.

Each sentence completes "was removed in 0.2: ".
"""

from __future__ import annotations

COMMANDS: dict[str, str] = {
    "report": "use `rmaudit replay RESULTS`, which writes the page too",
    "import": "use `rmaudit data import`",
    "score": "use `rmaudit.load(NAME).score(prompt, answers)` in Python",
    "nulls": "each run tries the null controls; `python -m lab nulls` in a clone tries all of them",
    "selftest": "use `python -m lab selftest` in a clone of rmaudit",
    "organism": "use `python -m lab organism NAME` in a clone of rmaudit",
    "round-trip": "use `python -m lab round_trip NAME` in a clone of rmaudit",
    "survival": "use `python -m lab round_trip NAME` in a clone of rmaudit",
}
OPTIONS: dict[str, str] = {}  # of pytest, with their dashes
KEYS: dict[str, str] = {}  # of models.yaml, of an entry or the file
AUDITS: dict[str, str] = {
    "identity_devaluation": "name identity_erasure and identity_hostility, each with its own value",
}


def sentence(name: str, removed: dict[str, str]) -> str:
    """Return what to use instead of a removed command, option, key or audit."""
    return f"{name} was removed in 0.2: {removed[name]}"
