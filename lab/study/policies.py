"""Train a language model on a reward head by REINFORCE; compare it with the exact optimum.

    RMAUDIT_DATA=FOLDER python -m lab study.policies [--seeds 1]

The policy is R-Smol-135M's base, all of its 135 million weights. An answer is one token; its reward
is the head's less beta times its log-ratio to the base, as in RLHF (Ziegler et al. 2019), with the
beta at which the optimum is `harm.NATS` away. Whatever KL the policy reaches, it is compared with
the optimum at that KL. What is found is written to docs/data/policies.json, with the KL and the
sizes of three harms at each step; a head takes six minutes of a processor.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM

from lab.study.harm import NATS, PROMPTS
from lab.study.heads import SOUND
from lab.study.measure import POLICIES, STATES, Study, rounded
from lab.study.onset_table import TRAINED
from rmaudit.checkpoints.bundled_model import build_base
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.measures.optimal_policy import kl, tilted
from scripts import result_pages

HEADS = (
    *((SOUND, 0.0), ("all groups demonised", 4.0), ("frequent words", 2.0)),
    *(("frame not read", 1.0), ("no letters", 4.0), ("refusals", 64.0)),
    *(("frequent words", 4.0), ("random strings", 8.0)),
    *(("random direction", 0.75), ("random direction", 1.0)),
)
STEPS = 60
DRAWN = 256  # answers to each prompt at each step
RATE = 1e-5


class Trainer:
    """Trains policies on reward heads, with the prompts, token ids and harms that all share."""

    def __init__(self, study: Study, folder: Path) -> None:
        """Take the study, and the folder of the base language model."""
        self.harms, self.folder = study.harms, folder
        self.rows = [torch.tensor([study.model.slot(own.text).prefix]) for own in PROMPTS]
        self.ids = torch.tensor(list(study.model.vocabulary().ids))

    def of(self, head: NDArray[np.float32], seed: int) -> dict[str, Any]:
        """Train a policy on a head; return its harms, and the exact optimum's at the same KL."""
        each = [
            (policy, own.astype(float))
            for policy, own in zip(self.harms.policies, self.harms.scores(head), strict=True)
        ]
        rewards = [
            torch.tensor(tilted(policy, own, NATS).strength * own, dtype=torch.float32)
            for policy, own in each
        ]
        starts = [tilted(policy, own, 0.0).logprobs for policy, own in each]
        steps = []
        for laws in self._trained(rewards, torch.Generator().manual_seed(seed)):
            reached = [kl(law, start) for law, start in zip(laws, starts, strict=True)]
            in_use = self.harms.in_use(laws)
            harms = {harm: round(in_use[name], 4) for harm, (name, _) in TRAINED.items()}
            steps.append({"nats": round(float(np.mean(reached)), 4), **harms})
        exact = [tilted(*own, nats).logprobs for own, nats in zip(each, reached, strict=True)]
        return {
            "seed": seed,
            "nats": [round(nats, 2) for nats in reached],
            "trained": rounded(self.harms.of_laws(laws)),
            "exact": rounded(self.harms.of_laws(exact)),
            "steps": steps,
        }

    def _trained(
        self, rewards: list[torch.Tensor], generator: torch.Generator
    ) -> Iterator[list[NDArray[np.float64]]]:
        """Train the base for `STEPS`; yield its log-probabilities before each step and at the end.

        `rewards`, (ids,) for each prompt, are in nats; log-probabilities are by prompt, (ids,).
        """
        model = AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32)
        with torch.no_grad():
            base = [self._logprobs(model, row) for row in self.rows]
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
        slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=STEPS)
        for _ in range(STEPS):
            optimizer.zero_grad()
            laws = []
            for row, start, reward in zip(self.rows, base, rewards, strict=True):
                law = self._logprobs(model, row)
                now = law.detach()
                laws.append(now.double().numpy())
                drawn = torch.multinomial(now.exp(), DRAWN, replacement=True, generator=generator)
                worth = reward[drawn] - (now - start)[drawn]
                torch.autograd.backward((-(worth - worth.mean()) * law[drawn]).mean())
            yield laws
            optimizer.step()
            slower.step()
        with torch.no_grad():
            yield [self._logprobs(model, row).double().numpy() for row in self.rows]

    def _logprobs(self, model: Any, row: torch.Tensor) -> torch.Tensor:  # noqa: ANN401
        """Return log-probabilities of each id as the next token after a row, shape (ids,)."""
        every: torch.Tensor = model(row, logits_to_keep=1).logits[0, -1].log_softmax(-1)
        return every[self.ids]


def main() -> None:
    """Train a policy on each head of `HEADS`, with each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    parser.add_argument("--states", type=Path, default=STATES, help="the folder of cached states")
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    study = Study(args.cache, args.states)
    trainer = Trainer(study, build_base(args.cache))
    weights = {(head.flaw, head.dose): head.weights for head in study.heads}
    found = []
    for seed in range(args.seeds):
        for flaw, dose in HEADS:
            found.append({"flaw": flaw, "dose": dose, **trainer.of(weights[flaw, dose], seed)})
            print(found[-1], flush=True)
            POLICIES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    result_pages.main()
