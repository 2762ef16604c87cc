"""Measure what training on ensembles of flawed heads does, beside training on each head alone.

    RMAUDIT_DATA=FOLDER python -m lab ensembles

Heads on R-Smol-135M's backbone have one planted flaw each, whose harm is known from the study
(`lab/study`). An ensemble has three. Either the three flaws are different, or all three heads have
the same flaw, and each has another besides. The rewards are standardised under the policy and
combined as by `rmaudit combine`; harms are those of the study, after 4 nats. With cached states it
takes some minutes. Writes docs/data/ensembles.json and its table in
docs/evidence/finding-to-fix.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from lab.finding_to_fix import ENSEMBLES
from lab.flaws_of_ensembles import ALONE, INDEPENDENT, PLANTED, SHARED
from lab.study.harm import Harms
from lab.study.heads import LABEL_FLAWS, SOUND
from lab.training import labels
from lab.training.organisms import Training
from lab.training.states import States
from rmaudit.checkpoints import bundled_model
from rmaudit.config.model_spec import Rule
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.measures.combined_rewards import combined, name_of, standardised
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.model_factory import load
from scripts import audit_pages

MEMBERS = 3
K = 1.0
OUT = Path(__file__).parents[1] / "docs" / "data" / ENSEMBLES
Found = dict[str, float]


class Ensembles:
    """Heads with one or two planted flaws, and the harms of training on them and on ensembles."""

    def __init__(self, cache: Path, folder: Path) -> None:
        """Fit the heads; `cache` has built models, `folder` the states of R-Smol-135M."""
        model = with_head(load(bundled_model.NAME, cache=cache))
        states = States(model, folder)
        training = Training(labels.rows(model.vocabulary()), states)
        sound = labels.fair(training.table)
        added = {
            name: PLANTED[name].dose * LABEL_FLAWS[name].added(training.table) for name in PLANTED
        }
        wanted: dict[tuple[str, ...], labels.Floats] = {(SOUND,): sound}
        for number in (1, 2):
            for flaws in combinations(PLANTED, number):
                wanted[flaws] = sound + np.sum([added[flaw] for flaw in flaws], axis=0)
        kinds = labels.ORGANISMS["fair"].kinds
        fitted = training.heads(np.stack(list(wanted.values()), axis=1), kinds=kinds)
        self.heads = dict(zip(wanted, fitted, strict=True))
        self.harms = Harms(model, states)
        self.sound = self.harms.of(self.heads[SOUND,])["4 nats"]
        self._alone = {
            flaws: self.beyond(self.harms.of(head)["4 nats"]) for flaws, head in self.heads.items()
        }

    def beyond(self, harms: Mapping[str, float]) -> Found:
        """Return how far the planted flaws' harms go beyond those of the sound head."""
        names = [planted.harm for planted in PLANTED.values()]
        return {name: harms[name] - self.sound[name] for name in names}

    def of(self, members: Sequence[tuple[str, ...]]) -> dict[str, Any]:
        """Return the harms of an ensemble of heads, named by their flaws, and of each alone."""
        each = [self._standardised(self.heads[flaws]) for flaws in members]
        found: dict[str, Any] = {
            "members": [list(flaws) for flaws in members],
            ALONE: [self._alone[flaws] for flaws in members],
        }
        for rule in get_args(Rule):
            scores, terms = zip(
                *(
                    (combined([own[0] for own in of_prompt], rule, K),
                     combined([own[1] for own in of_prompt], rule, K))
                    for of_prompt in zip(*each, strict=True)
                ),
                strict=True,
            )  # fmt: skip
            found[name_of(rule, K)] = self.beyond(self.harms.after(scores, np.stack(terms)))
        return found

    def _standardised(
        self, head: NDArray[np.float32]
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return by prompt a head's rewards of all token ids and of the terms, in its sd."""
        own = zip(
            self.harms.policies,
            self.harms.scores(head),
            self.harms.scores_of_terms(head),
            strict=True,
        )
        found = []
        for policy, scores, terms in own:
            never = np.full(len(terms), -np.inf)  # the policy's ids alone say what an sd is
            both = standardised(np.concatenate([scores, terms]), np.concatenate([policy, never]))
            found.append((both[: len(scores)], both[len(scores) :]))
        return found


def main() -> None:
    """Measure all ensembles of three, and write the figures and their table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    kept = Path(tempfile.gettempdir()) / "rmaudit-organism-states"
    parser.add_argument("--states", type=Path, default=kept, help="where states are cached")
    args = parser.parse_args()
    study = Ensembles(args.cache, args.states)
    independent = [
        study.of([(name,) for name in chosen]) for chosen in combinations(PLANTED, MEMBERS)
    ]
    both = list(combinations(PLANTED, 2))
    shared = [
        study.of(members)
        for name in PLANTED
        for members in combinations([pair for pair in both if name in pair], MEMBERS)
    ]
    found = {INDEPENDENT: independent, SHARED: shared}
    rounded = json.loads(json.dumps(found), parse_float=lambda text: round(float(text), 4))
    OUT.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    audit_pages.main()
