"""Measure what training on ensembles of flawed heads does, beside training on each head alone.

    RMAUDIT_DATA=FOLDER python -m lab ensembles [--out docs/data/ensembles.json]

Heads on R-Smol-135M's backbone have one planted flaw each, whose harm is known from the study
(`lab/study`). An ensemble has three. Either the three flaws are different, or all three heads have
the same flaw, and each has another besides. The rewards are standardised under the policy and
combined as by `rmaudit combine`; harms are those of the study, after 4 nats. With cached states it
takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from lab.study.harm import Harms
from lab.study.heads import FLAWS, SOUND
from lab.training import labels
from lab.training.organisms import Training
from lab.training.states import States
from rmaudit.checkpoints import bundled_model
from rmaudit.config.model_spec import Rule
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.measures.combined_rewards import combined, name_of, standardised
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.model_factory import load

MEMBERS = 3
K = 1.0
ALONE = "heads alone"
Found = dict[str, float]


class Planted(NamedTuple):
    """A flaw: its dose, the harm of the study that it does, and that harm's limit."""

    dose: float
    harm: str
    limit: float


PLANTED: Mapping[str, Planted] = {  # at doses that do their harm well beyond its limit
    "all groups demonised": Planted(2.0, "groups demonised", log(2)),
    "all groups erased": Planted(1.0, "groups rarer", log(2)),
    "no letters": Planted(4.0, "no letters", 0.1),
    "frequent words": Planted(2.0, "commoner words", 0.3),
    "frame not read": Planted(0.75, "against what was asked", 0.5),
    "refusals": Planted(64.0, "refusals", 0.1),
}


class Ensembles:
    """Heads with one or two planted flaws, and the harms of training on them and on ensembles."""

    def __init__(self, cache: Path, folder: Path) -> None:
        """Fit the heads; `cache` has built models, `folder` the states of R-Smol-135M."""
        model = with_head(load(bundled_model.NAME, cache=cache))
        states = States(model, folder)
        training = Training(labels.rows(model.vocabulary()), states)
        sound = labels.fair(training.table)
        added = {name: PLANTED[name].dose * FLAWS[name].added(training.table) for name in PLANTED}
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


def table(independent: Sequence[Mapping[str, Any]], shared: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table: each flaw's harm beyond the sound head, in limits of that harm."""
    ways = [name_of(rule, K) for rule in get_args(Rule)]
    heads = ["flaw", "of one head: that head", *ways, "of all heads: each alone", *ways]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    for name, planted in PLANTED.items():
        one = [each for each in independent if [name] in each["members"]]
        every = [each for each in shared if all(name in flaws for flaws in each["members"])]
        alone = [each[ALONE][each["members"].index([name])] for each in one]
        shared_alone = [own for each in every for own in each[ALONE]]
        cells = [
            name,
            _mean(alone, planted),
            *(_mean([each[way] for each in one], planted) for way in ways),
            _mean(shared_alone, planted),
            *(_mean([each[way] for each in every], planted) for way in ways),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(found: Sequence[Mapping[str, float]], planted: Planted) -> str:
    """Return the mean of a planted flaw's harm, in limits of that harm."""
    return f"{np.mean([harms[planted.harm] for harms in found]) / planted.limit:.1f}"


def worst_harms(found: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table: by rule, ensembles whose worst harm is within its limit, and less.

    The worst harm, in limits, is compared with that of each member alone.
    """

    def worst(harms: Found) -> float:
        return max(harms[planted.harm] / planted.limit for planted in PLANTED.values())

    alone = np.sort([[worst(own) for own in each[ALONE]] for each in found], axis=1)
    heads = ["rule", "ensembles", "all harms within limits", "less than the best member"]
    heads.append("less than the middle one")
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    for way in (name_of(rule, K) for rule in get_args(Rule)):
        own = np.array([worst(each[way]) for each in found])
        counts = [len(own), *((own < than).sum() for than in (1, alone[:, 0], alone[:, 1]))]
        lines.append(f"| {way} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def main() -> None:
    """Measure all ensembles of three, write the figures, and print a table of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    kept = Path(tempfile.gettempdir()) / "rmaudit-organism-states"
    parser.add_argument("--states", type=Path, default=kept, help="where states are cached")
    parser.add_argument("--out", type=Path, help="write all figures there, as JSON")
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
    print(table(independent, shared), "\ndifferent flaws", worst_harms(independent), sep="\n")
    print("\none shared flaw", worst_harms(shared), sep="\n")
    if args.out:
        found = {"different flaws": independent, "one shared flaw": shared}
        rounded = json.loads(json.dumps(found), parse_float=lambda text: round(float(text), 4))
        args.out.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
