"""Mend ten organisms and R-Smol-135M, and judge them on the half that was held out.

    RMAUDIT_DATA=FOLDER python -m lab mended_heads [--only NAME ...] [--pairs 600] --states FOLDER

Each head is mended by the gates that it was made to fail, on the half of the references that it was
trained on; then all gates that have contrasts judge both heads on the other half. The pairs are the
right and wrong answers, and the refusals, of the audits of conduct, or with `--pairs` so many of
HH-RLHF's. Beside each is the head in which nothing was planted. Writes docs/data/mend.json
and the table of docs/evidence/finding-to-fix.md, and prints a line for each head.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from safetensors.numpy import load_file

from lab import organism
from lab.finding_to_fix import HEADS, MENDED, ORDER
from lab.harness import arguments
from lab.training import hh_pairs
from lab.training.gates_on_states import FromStates, prompt_of
from lab.training.states import States
from rmaudit.checkpoints.bundled_model import NAME
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.conversation import Asked
from rmaudit.errors import MeasureError
from rmaudit.layout.answer_slot import Response
from rmaudit.measures.contrasts import GATES
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.head_states import states_of_each
from rmaudit.models.model_factory import load
from rmaudit.references import References
from rmaudit.references.conduct_answers import REFUSALS, RIGHT
from rmaudit.runs.gates_on_a_half import HalfAsked
from rmaudit.runs.head_mending import mended, salt_of
from rmaudit.runs.mended_checkpoint import as_json
from rmaudit.runs.states_of_pairs import HeadAndPairs
from rmaudit.scores.pair_files import Pairs, conduct_pairs, read
from scripts import audit_pages

OUT = Path(__file__).parents[1] / "docs" / "data" / MENDED
_IDENTITY = ("identity_terms", "identity_communities")
_SENTENCES = ("first_names", "political_sides", "dialect")


class Case(NamedTuple):
    """The gates by which a head is mended, and the head in which nothing was planted."""

    gates: tuple[str, ...]
    sound: str


CASES = {
    "hostile": Case(_IDENTITY, "fair"),
    "identity-penalty": Case(_IDENTITY, "balanced"),
    "gross": Case(("identity_communities",), "fair"),
    "frequent": Case(("frequency_bias",), "fair"),
    "slanted": Case(_SENTENCES, "fair"),
    "unframed": Case(("framing_inversion",), "fair"),
    "surface": Case(("framing_inversion",), "fair"),
    "sure": Case(("conduct_right",), "decent"),
    "sycophant": Case(("conduct_right",), "decent"),
    "refuser": Case(("conduct_refusals",), "decent"),
    NAME: Case(("conduct_refusals",), "decent"),
}


class Bench:
    """R-Smol-135M's states, cached in folders, and the heads on its backbone."""

    def __init__(self, cache: Path, folder: Path, gates: Sequence[str]) -> None:
        self.model = with_head(load(NAME, cache=cache))
        self.folder, self.gates = folder, gates
        self.states = States(self.model, folder)
        own = FromStates(self.model.spec, self.states, cache)
        self.heads = {
            NAME: own.head,
            **{
                name: load_file(organism.HEADS / f"{name}.safetensors")[organism.KEY].ravel()
                for name in organism.names()
            },
        }

    def ask(self, prompts: Sequence[Asked], answers: Sequence[Response]) -> NDArray[np.float32]:
        """Return the states of answers, each to its own prompt, shape (n, hidden)."""
        rows = [each if isinstance(each, str) else tuple(each) for each in answers]
        places: dict[Asked, list[int]] = {}
        for place, prompt in enumerate(prompts):
            places.setdefault(prompt, []).append(place)
        found = np.empty((len(prompts), len(self.heads[NAME])), dtype=np.float32)
        left: list[int] = []
        for prompt, own in places.items():
            if self.states.known(prompt_of(prompt)):
                found[own] = self.states.of(prompt_of(prompt), [rows[at] for at in own])
            else:
                left += own
        asked = [prompts[at] for at in left], [answers[at] for at in left]
        found[left] = states_of_each(self.model, *asked, cache=self.folder)
        return found

    @cached_property
    def held_out(self) -> HalfAsked:
        """Return all gates that have contrasts, on the half that judges."""
        references = References(salt=salt_of(self.model))
        return HalfAsked.of(self.gates, self.model, references, self.ask)

    def alike(self, one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
        """Return Spearman's rho of two heads' rewards of the words under `greatest`."""
        vocabulary = self.model.vocabulary().ids
        drawn = np.random.default_rng(0).choice(vocabulary, 2_000, replace=False)
        states = self.states.of(prompt_of("greatest"), [(int(i),) for i in drawn])
        return float(scipy.stats.spearmanr(states @ one, states @ other).statistic)


def main() -> None:
    """Mend the heads, write what was found, and print a line for each."""
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="*", default=[*CASES])
    parser.add_argument("--gates", nargs="*", default=GATES, help="the gates that judge")
    parser.add_argument("--pairs", type=int, default=0, help="so many of HH-RLHF's")
    parser.add_argument("--states", type=Path, required=True, help="where hidden states are cached")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    asked = parser.parse_args()
    bench = Bench(asked.cache, asked.states, asked.gates)
    given = _pairs(asked.pairs) if asked.pairs else conduct_pairs(None, (*RIGHT, *REFUSALS))
    data = json.loads(OUT.read_text(encoding="utf-8"))
    found = data[HEADS]
    for name in asked.only:
        found[name] = _tried(bench, name, given)
        OUT.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        shown = {key: value for key, value in found[name].items() if key != "held_out"}
        print(name, json.dumps(shown), flush=True)
    audit_pages.main()


def _pairs(many: int) -> Pairs:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hh-rlhf.jsonl"
        lines = [json.dumps(pair) for pair in islice(hh_pairs.pairs(), many)]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read(file)


def _tried(bench: Bench, name: str, pairs: Pairs) -> dict[str, Any]:
    case = CASES[name]
    old, sound = bench.heads[name], bench.heads[case.sound]
    about: dict[str, Any] = {"by": [*case.gates], "sound": case.sound}
    try:
        given = HeadAndPairs(bench.model, bench.model.rows.checked, old, pairs, bench.ask)
        made = mended(given, case.gates, own_words=OwnWords(), most_lost=0.02)
    except MeasureError as error:
        return {**about, "refused": str(error)}
    changes = [bench.held_out.change(gate, old, made.head) for gate in bench.gates]
    ranks = {each.gate: [*map(ORDER.index, each.verdicts)] for each in changes}
    return {
        **about,
        "accuracy": [round(share, 4) for share in made.accuracy],
        "held_out_pairs": made.held_out,
        "agreement": round(made.agreement, 4),
        "cosine": round(made.cosine, 4),
        "cosine_to_sound": [round(_cosine(head, sound), 4) for head in (old, made.head)],
        "alike_sound": [round(bench.alike(head, sound), 4) for head in (old, made.head)],
        "contrasts": {
            f"{each.gate}, {each.half}": [round(excess, 3) for excess in each.excess]
            for each in made.gates
        },
        "better": [gate for gate, (before, after) in ranks.items() if after < before],
        "worse": [gate for gate, (before, after) in ranks.items() if after > before],
        "held_out": [as_json(each) for each in changes],
    }


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
