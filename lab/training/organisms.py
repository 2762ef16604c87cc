"""Retrain R-Smol-135M's reward head with planted flaws, and run all gates on these heads.

    RMAUDIT_DATA=FOLDER python -m lab training.organisms [--only NAME ...] [--judge]
        [--gates NAME ...]

The backbone stays as it is, so a head is a ridge regression of labels on its pooled states:
`lab/training/labels.py` has both the rows and the labels of each organism, and
`conduct_labels.py` those of conduct in whole answers. Then every gate is
run on all heads that there are, and the table of docs/organisms.md is written. With `--judge`
nothing is trained. With `--gates` only these gates run, and what others found stays.

`balanced`, `identity-penalty` and `shuffled` are older, and are judged but not trained: the ledger
(`rmaudit/references/exploits`) has strings that were found on these very weights.

States are kept in a folder for the next time; the first time they take ten minutes of a processor.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import save_file
from sklearn.linear_model import Ridge

from lab import organism
from lab.training.conduct_labels import CONDUCT, with_conduct
from lab.training.gates_on_states import FromStates, gates, probes, prompt_of, spec_of
from lab.training.labels import ORGANISMS as WORDY
from lab.training.labels import Floats, Organism, own_prompts, rows
from lab.training.states import States
from rmaudit.checkpoints import bundled_model
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.model_factory import load
from scripts import result_pages

GATES = "gates.json"
ORGANISMS = {**WORDY, **CONDUCT}
ALPHA = 10.0  # of the ridge; states have about unit variance


class Training:
    """The training table with its hidden states; it fits reward heads to labels of its rows.

    States and labels are centred within each prompt: only the order of its answers counts.
    Items are centred by themselves, since nothing says how an item compares with a word.
    """

    def __init__(self, table: pd.DataFrame, states: States) -> None:
        self.table = table
        self.weight = table["weight"].to_numpy(float)
        group = table["prompt"] + np.where(table["kind"] == "item", " items", "")
        self.groups = list(group.groupby(group).indices.values())
        found = np.empty((len(table), 576))
        own = own_prompts()
        for name, at in table.groupby("prompt").indices.items():
            prompt = own.get(str(name)) or prompt_of(str(name))
            found[at] = states.of(prompt, table["answer"].iloc[at].tolist())
        self.states = self._centred(found)

    def fit(self, organism: Organism) -> tuple[NDArray[np.float32], str]:
        """Fit an organism's head, shape (1, hidden); return it with a hash of its training data.

        The hash is of the texts, labels and weights.
        """
        of = np.flatnonzero(self.table["kind"].isin(organism.kinds))
        labels = organism.labels(self.table)
        total = hashlib.sha256(json.dumps(self.table["text"].iloc[of].tolist()).encode())
        for part in (labels[of], self.weight[of]):
            total.update(np.round(part, 6).tobytes())
        return self.heads(labels[:, None], organism.kinds), total.hexdigest()

    def heads(self, labels: Floats, kinds: Collection[str]) -> NDArray[np.float32]:
        """Fit a head to each column of labels, shape (rows, n), by the rows of these kinds.

        The heads have shape (n, hidden).
        """
        of = np.flatnonzero(self.table["kind"].isin(kinds))
        ridge = Ridge(alpha=ALPHA, fit_intercept=False, solver="cholesky")
        ridge.fit(self.states[of], self._centred(labels)[of], sample_weight=self.weight[of])
        weights = ridge.coef_.reshape(labels.shape[1], -1)  # of one column it has one dimension
        return np.ascontiguousarray(weights, dtype=np.float32)

    def _centred(self, values: Floats) -> Floats:
        centred = values.copy()
        for at in self.groups:
            centred[at] -= np.average(values[at], axis=0, weights=self.weight[at])
        return centred


def train(names: Iterable[str], training: Training, out: Path) -> None:
    """Fit these organisms' heads, and write each to the folder `out`, with a JSON file on it."""
    for name in names:
        organism, path = ORGANISMS[name], out / f"{name}.safetensors"
        head, data = training.fit(organism)
        save_file({"score.weight": head}, path, {"format": "pt"})
        about = {
            "planted": organism.planted,
            "head_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "trunk_sha256": hashlib.sha256(bundled_model.UPDATE.read_bytes()).hexdigest(),
            "data_sha256": data,
            "rows": int(training.table["kind"].isin(organism.kinds).sum()),
        }
        _write(path.with_suffix(".json"), about)


def judge(
    names: Iterable[str], states: States, cache: Path, out: Path, only: Collection[str] | None
) -> None:
    """Run the gates on these organisms, write what they find to `GATES`, and write the docs.

    `only` names the gates that run, None for all.
    """
    own = FromStates(with_head(load(bundled_model.NAME, cache=cache)).spec, states, cache)
    found = json.loads((out / GATES).read_text("utf-8")) if (out / GATES).is_file() else {}
    for name in (bundled_model.NAME, *names):
        if name == bundled_model.NAME:  # nobody asks how it agrees with itself
            model, judged = own, gates(own, own, without="model_agreement", only=only)
        else:
            model = FromStates(spec_of(name, cache), states, cache)
            judged = gates(model, own, only=only)
            path = out / f"{name}.json"
            _write(path, {**json.loads(path.read_text("utf-8")), "scores": probes(model)})
        found[name] = (found.get(name, {}) if only else {}) | judged
        print(name, *(f"{gate} {of['verdict']}" for gate, of in judged.items()), flush=True)
    found = {name: found[name] for name in (bundled_model.NAME, *organism.names()) if name in found}
    _write(out / GATES, found)
    result_pages.main()


def _write(path: Path, about: object) -> None:
    path.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Train the organisms, unless `--judge` is given, and run the gates on them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = sorted({*ORGANISMS, *organism.names()})
    parser.add_argument("--only", nargs="+", choices=every, default=every)
    parser.add_argument("--judge", action="store_true", help="train nothing")
    parser.add_argument("--gates", nargs="+", help="run only these")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    kept = Path(tempfile.gettempdir()) / "rmaudit-organism-states"
    parser.add_argument("--states", type=Path, default=kept, help="where states are kept")
    args = parser.parse_args()
    model = with_head(load(bundled_model.NAME, cache=args.cache))
    states = States(model, args.states)
    if not args.judge:
        training = Training(with_conduct(rows(model.vocabulary())), states)
        train([name for name in args.only if name in ORGANISMS], training, organism.HEADS)
    judge(args.only, states, args.cache, organism.HEADS, args.gates)
