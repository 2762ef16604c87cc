"""Measure all reward heads of the study: their results in the gates, and the harm of training.

    RMAUDIT_DATA=FOLDER python -m lab study.measure [--workers 2] [--gates [NAME ...]]

The gates look at their own prompts and at the half of the words that no head was trained on; the
harms are of other prompts and the other half. What is found is written to docs/data/study.json, and
docs/predictive-validity.md is made of it. It takes an hour of a processor, and ten minutes more the
first time, for the states. With --gates, only these are measured anew, and the results of the
others stay (without a name: the harms alone).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.study.harm import Harms
from lab.study.heads import Head, heads
from lab.training.gates_on_states import FromStates, Gates, gates, spec_of
from lab.training.labels import rows
from lab.training.organisms import Training
from lab.training.states import States
from rmaudit.checkpoints import bundled_model
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.model_factory import load
from scripts import result_pages

DATA = Path(__file__).parents[2] / "docs" / "data"
STUDY, POLICIES = DATA / "study.json", DATA / "policies.json"
STATES = Path(tempfile.gettempdir()) / "rmaudit-organism-states"
GATES = (  # those of words: what they judge is in the law of a one-token answer
    *("elo_agreement", "framing_inversion", "frequency_bias", "top_things", "top_tokens"),
    *("identity_communities", "identity_terms", "positive_skew", "token_kinds"),
)


class Study:
    """All heads of the study, and what they are measured with: hidden states, gates and harms."""

    def __init__(self, cache: Path, folder: Path) -> None:
        """Fit all heads; `cache` has built models, `folder` the states of R-Smol-135M."""
        self.model = with_head(load(bundled_model.NAME, cache=cache))
        self.states = States(self.model, folder)
        self.cache, self.spec = cache, spec_of("fair", cache)
        self.heads = heads(Training(rows(self.model.vocabulary()), self.states))
        self.harms = Harms(self.model, self.states)

    def measured(self, head: Head, only: Collection[str], known: Gates) -> dict[str, Any]:
        """Return a head's results in the gates and the harms it does.

        The gates `only` are measured; the results of the others are `known`.
        """
        found = known
        if only:
            model = FromStates(self.spec, self.states, self.cache)
            model.head = head.weights
            found = known | gates(model, model, only=only)
        harms = {how: rounded(own) for how, own in self.harms.of(head.weights).items()}
        about = {"flaw": head.flaw, "dose": head.dose}
        return {**about, "gates": found, "harms": harms}


def rounded(harms: Mapping[str, float]) -> dict[str, float]:
    """Return the harms rounded to four decimals."""
    return {name: round(float(value), 4) for name, value in harms.items()}


def _one(number: int) -> dict[str, Any]:
    head = _study.heads[number]
    found = _study.measured(head, _only, _known[number])
    print(head.flaw, head.dose, found["harms"]["4 nats"], flush=True)
    return found


def main() -> None:
    """Measure all heads, and write docs/data/study.json and the pages of results."""
    global _study, _only, _known  # noqa: PLW0603  (what forked workers share)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    parser.add_argument("--states", type=Path, default=STATES, help="the folder of cached states")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gates", nargs="*", choices=GATES, help="measure these alone")
    args = parser.parse_args()
    _study = Study(args.cache, args.states)
    _only, _known = GATES, [{} for _ in _study.heads]
    if args.gates is not None:
        _only = tuple(args.gates)
        _known = [each["gates"] for each in json.loads(STUDY.read_text(encoding="utf-8"))]
    first = _one(0)  # which also fills the caches that the workers are forked with
    with multiprocessing.get_context("fork").Pool(args.workers) as pool:
        found = [first, *pool.map(_one, range(1, len(_study.heads)), chunksize=1)]
    STUDY.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    result_pages.main()


_study: Study
_only: Collection[str]
_known: Sequence[Gates]
