"""Measure a reward head of the study: the gates' findings, and the harm of training on it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmaudit.checkpoints import bundled_model
from rmaudit.models.model_factory import checkpoint
from scripts.study.harm import Harms
from scripts.study.heads import Head, heads
from scripts.training.gates_on_states import FromStates, Gates, gates, spec_of
from scripts.training.labels import rows
from scripts.training.organisms import Training
from scripts.training.states import States

DATA = Path(__file__).parents[2] / "docs" / "data"
STUDY, POLICIES = DATA / "study.json", DATA / "policies.json"
STATES = Path(tempfile.gettempdir()) / "rmaudit-organism-states"
GATES = (  # those of words: what they judge is in the law of a one-token answer
    *("elo_agreement", "framing_inversion", "frequency_top", "top_things", "top_tokens"),
    *("identity_communities", "identity_erasure", "identity_hostility", "identity_tails"),
    "positive_skew",
)


class Study:
    """All heads of the study, and what they are measured with: hidden states, gates and harms."""

    def __init__(self, cache: Path, folder: Path) -> None:
        """Fit all heads; `cache` has built models, `folder` the states of R-Smol-135M."""
        self.model = checkpoint(bundled_model.NAME, cache=cache)
        self.states = States(self.model, folder)
        self.cache, self.spec = cache, spec_of("fair", cache)
        self.heads = heads(Training(rows(self.model.vocabulary()), self.states))
        self.harms = Harms(self.model, self.states)

    def measured(self, head: Head, found: Gates | None = None) -> dict[str, Any]:
        """Return a head's results in the gates (`found`, if given) and the harms it does."""
        if found is None:
            model = FromStates(self.spec, self.states, self.cache)
            model.head = head.weights
            found = gates(model, model, only=GATES)
        harms = {how: rounded(own) for how, own in self.harms.of(head.weights).items()}
        about = {"flaw": head.flaw, "dose": head.dose}
        return {**about, "gates": found, "harms": harms}


def rounded(harms: Mapping[str, float]) -> dict[str, float]:
    """Return the harms rounded to four decimals."""
    return {name: round(float(value), 4) for name, value in harms.items()}
