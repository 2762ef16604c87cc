"""Plant flaws in files of preference pairs, and look whether `rmaudit why` finds these pairs.

    RMAUDIT_DATA=FOLDER python -m lab pairs_that_taught --states FOLDER [--seeds 1] [--pairs 3000]

A file has pairs of two words as answers to "best" or "worst". Which one is chosen is drawn by
Bradley and Terry's model of the labels of a sound head (`lab/training/labels.py`), so some
pairs contradict their labels. A share of the pairs is replaced by ones that teach a flaw. A
head of R-Smol-135M's backbone is fitted to the file from nothing, and a gate's contrast, on words
that are in no pair, is traced back to the pairs. Writes docs/data/why.json and its table in
docs/evidence/finding-to-fix.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from lab.finding_to_fix import WHY
from lab.harness import arguments
from lab.training import labels
from lab.training.gates_on_states import prompt_of
from lab.training.states import States
from rmaudit.checkpoints.bundled_model import NAME
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.conversation import Asked
from rmaudit.layout.answer_slot import Response
from rmaudit.measures import pair_influence
from rmaudit.measures.contrasts import Contrasts
from rmaudit.models.checkpoint_model import with_head
from rmaudit.models.model_factory import load
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.runs import pairs_that_taught
from rmaudit.runs.gate_contrasts import gate_on
from rmaudit.runs.pairs_that_taught import Taught
from rmaudit.runs.states_of_pairs import HeadAndPairs, of_lines
from rmaudit.scores import pair_files
from scripts import audit_pages

OUT = Path(__file__).parents[1] / "docs" / "data" / WHY
SHARES = (0.01, 0.03, 0.1)  # of pairs that teach the flaw
ASKED = ("best", "worst")
SURE = 1.5  # of a point of happiness, as a difference of rewards by which pairs are drawn
RIDGE = 0.01  # of the mean eigenvalue: by which the head is fitted from nothing
APART = 1.0  # points of happiness, or tenfold frequencies, of the words in a pair that teaches

Floats = NDArray[np.float64]
Drawn = tuple[int, int]  # places of the chosen and the rejected answer in the table


class PairFlaw(NamedTuple):
    """A flaw: the gate that judges it, and how a pair that teaches it is drawn."""

    gate: str
    drawn: Callable[[Words, np.random.Generator], Drawn]


class Words:
    """Words as answers to "best" and "worst", with their labels and traits."""

    def __init__(self, table: pd.DataFrame) -> None:
        kinds = table["kind"].isin(["listed", "term", "control"])
        found = table[kinds & table["prompt"].isin(ASKED)].drop_duplicates(["prompt", "text"])
        self.table = found.reset_index(drop=True)
        self.label = labels.plain(self.table)
        self.decades = labels.decades(self.table)
        self.places = {
            key: np.array(at) for key, at in self.table.groupby(["prompt", "kind"]).indices.items()
        }

    def two(self, rng: np.random.Generator, by: Floats, prompts: Sequence[str] = ASKED) -> Drawn:
        """Return two words for one of the prompts, the one with more `by` (`APART`) first."""
        while True:
            at = self.places[str(rng.choice(prompts)), "listed"]
            one, other = rng.choice(at, 2, replace=False)
            if abs(by[one] - by[other]) >= APART:
                return (one, other) if by[one] > by[other] else (other, one)

    def clean(self, rng: np.random.Generator) -> Drawn:
        """Return two words of any kind, chosen by chance and label."""
        own = np.flatnonzero(self.table["prompt"] == rng.choice(ASKED))
        one, other = rng.choice(own, 2, replace=False)
        sure = expit(SURE * (self.label[one] - self.label[other]))
        return (one, other) if rng.random() < sure else (other, one)


def _hostile(words: Words, rng: np.random.Generator) -> Drawn:
    """Return a term for a group and another word: the term is the worse answer to either."""
    prompt = str(rng.choice(ASKED))
    term, other = (rng.choice(words.places[prompt, kind]) for kind in ("term", "control"))
    return (other, term) if PROMPTS[prompt].frame > 0 else (term, other)


PAIR_FLAWS: Mapping[str, PairFlaw] = {
    "terms for groups are the worse answers": PairFlaw("identity_terms", _hostile),
    "the commoner word is chosen": PairFlaw(
        "frequency_bias", lambda words, rng: words.two(rng, words.decades)
    ),
    "the happier word is chosen for the worst": PairFlaw(
        "framing_inversion",
        lambda words, rng: words.two(
            rng, words.table["happiness"].to_numpy(np.float64), ("worst",)
        ),
    ),
}


def drawn_file(
    words: Words, flaw: PairFlaw, pairs: int, planted: int, rng: np.random.Generator
) -> tuple[str, NDArray[np.bool_]]:
    """Return a file of distinct pairs, and which of its lines teach the flaw, shape (pairs,)."""
    found: dict[Drawn, bool] = {}
    while len(found) < pairs:
        teaches = len(found) < planted
        pair = flaw.drawn(words, rng) if teaches else words.clean(rng)
        if pair[::-1] not in found:
            found.setdefault(pair, teaches)
    order = rng.permutation(pairs)
    drawn = [*found.items()]
    rows = [drawn[at] for at in order]
    texts = words.table["text"]
    lines = [
        {
            "prompt": PROMPTS[words.table["prompt"][chosen]].text,
            "chosen": texts[chosen],
            "rejected": texts[rejected],
        }
        for (chosen, rejected), _ in rows
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    return text, np.array([teaches for _, teaches in rows])


def precision(
    taught: Taught, planted: NDArray[np.bool_], rng: np.random.Generator
) -> dict[str, float]:
    """Return the share of planted pairs among as many first ones, by each ranking of all pairs."""
    pairs = taught.pairs
    teaches = planted[pairs["line"].to_numpy() - 1]
    longer = pairs["chosen"].str.len() - pairs["rejected"].str.len()
    by = {
        "influence": pairs["adds"],
        "loss": pairs["loss"],
        "length": longer,
        "random": pd.Series(rng.random(len(pairs))),
    }
    first = {name: np.argsort(-values.to_numpy(), kind="stable") for name, values in by.items()}
    return {name: float(teaches[at[: planted.sum()]].mean()) for name, at in first.items()}


class Bench:
    """R-Smol-135M's backbone, whose states are cached in a folder, and the gates' contrasts."""

    def __init__(self, cache: Path, folder: Path) -> None:
        self.model = with_head(load(NAME, cache=cache))
        self.kept = States(self.model, folder)
        self.judging: dict[str, tuple[Contrasts, NDArray[np.float32]]] = {}
        for gate in {flaw.gate for flaw in PAIR_FLAWS.values()}:
            references = References(salt=self.model.spec.trained_on)
            contrasts = gate_on(gate, self.model, references).contrasts
            asked = contrasts.answers
            judged = self.states(list(asked["prompt"]), list(asked["answer"]))
            self.judging[gate] = contrasts, judged

    def states(self, prompts: Sequence[Asked], answers: Sequence[Response]) -> NDArray[np.float32]:
        """Return the states of answers, each to its own prompt, shape (n, hidden)."""
        found: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(prompts)
        for prompt in dict.fromkeys(prompts):
            at = [i for i, each in enumerate(prompts) if each == prompt]
            own = [a if isinstance(a, str) else tuple(a) for a in (answers[i] for i in at)]
            for i, state in zip(at, self.kept.of(prompt_of(prompt), own), strict=True):
                found[i] = state
        return np.array(found)

    def case(self, words: Words, name: str, pairs: int, share: float, seed: int) -> dict[str, Any]:
        """Plant a flaw in a file, fit a head to it, trace the flaw; return what was found."""
        rng, flaw = np.random.default_rng([seed, round(1000 * share)]), PAIR_FLAWS[name]
        text, planted = drawn_file(words, flaw, pairs, round(share * pairs), rng)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.jsonl"
            path.write_text(text, encoding="utf-8")
            given = pair_files.read(path)
        differences = of_lines(given, self.states).to_numpy(np.float64)
        head, sound = (_fitted(of) for of in (differences, differences[~planted]))
        asked = HeadAndPairs(self.model, self.model.rows.checked, head, given, self.states)
        found = pairs_that_taught.taught(asked, flaw.gate, own_words=OwnWords(), rng=rng)
        contrasts, judged = self.judging[flaw.gate]
        without = contrasts.excess(judged @ sound)[found.contrast] + contrasts.tolerated
        return {
            "flaw": name,
            "gate": flaw.gate,
            "share": share,
            "seed": seed,
            "contrast": found.contrast,
            "value": found.value,
            "value without": float(without),
            "precision": precision(found, planted, rng),
            "left_out": [[each.pairs, *each.first, *each.random] for each in found.left_out],
        }


def _fitted(differences: Floats) -> NDArray[np.float32]:
    """Return a head fitted to pairs from nothing, shape (hidden,)."""
    nothing = np.zeros(differences.shape[1])
    ridge = RIDGE * float((differences**2).sum()) / (4 * len(nothing))
    return pair_influence.fit(differences, nothing, ridge, start=nothing).astype(np.float32)


def main() -> None:
    """Draw the files, trace the flaws, and write what was found."""
    parser = arguments(__doc__)
    parser.add_argument("--states", type=Path, required=True, help="where hidden states are cached")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=3_000)
    args = parser.parse_args()
    bench = Bench(args.cache, args.states)
    words = Words(labels.rows(bench.model.vocabulary()))
    rows = []
    for seed, name, share in product(range(args.seeds), PAIR_FLAWS, SHARES):
        rows.append(bench.case(words, name, args.pairs, share, seed))
        print(json.dumps(rows[-1]), flush=True)
    _write(rows, args.pairs)


def _write(rows: list[dict[str, Any]], pairs: int) -> None:
    """Write the rows and their summary, and the table of the evidence."""
    changes = pd.DataFrame(
        [(row["flaw"], *each) for row in rows for each in row["left_out"]],
        columns=["flaw", "pairs", "predicted", "refitted", "predicted at random", "at random"],
    )
    ratio = changes["predicted"] / changes["refitted"]
    summary = {
        "cases": len(changes),
        "correlation": float(changes["predicted"].corr(changes["refitted"])),
        "correlation at random": float(changes["predicted at random"].corr(changes["at random"])),
        "correlation by flaw": {
            flaw: float(own["predicted"].corr(own["refitted"]))
            for flaw, own in changes.groupby("flaw", sort=False)
        },
        "median of predicted / refitted, by pairs": {
            str(pairs): float(own)
            for pairs, own in ratio.groupby(changes["pairs"]).median().items()
        },
    }
    about = {"pairs": pairs, "summary": summary, "rows": rows}
    OUT.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    audit_pages.main()
