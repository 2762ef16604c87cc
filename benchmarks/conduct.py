"""Measure the audits of conduct (behaviour in whole answers): power and cost.

    python -m benchmarks.conduct [--draws 200] [--out FILE]
    python -m benchmarks.conduct --cost [--model R-Smol-135M] [--batch 8] [--every 1] [--rounds 1]

Without `--cost`, rewards of the bundled pairs are simulated. In each draw, each pair has a plain
reward, of normal or of heavy tails, and a gap of its own, so that the true value of a kind of
conduct is known. Rows with all kinds of an audit at one true value: in how many draws the audit
FAILs. A row for each kind with a planted flaw, under heavy tails: how often the audit FAILs and
names the kind. What the intervals cover is measured by `benchmarks.coverage`.

With `--cost`, a model's rewards of all distinct answers are computed twice in turn: by a plain
transformers loop in the order of the table, padded batches of `--batch`, and by rmaudit with an
empty cache; `--every 8` takes the answers of every eighth prompt. Prints a line of JSON for each
row; nothing is asserted.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.harness import arguments, interleaved, say
from rmaudit.measures import conduct as measure
from rmaudit.references.conduct_answers import REFUSALS, RIGHT, SAME, STYLE, conduct
from rmaudit.verdicts.estimates_and_bounds import Bound, Estimate, Verdict, above, below

LOST = 0.15  # of contexts in which the better answer still wins, to a scorer with the flaw
SHIFT = 1.5  # sd of plain answers by which the change moves their reward, with the flaw
BOUND = 0.5  # of all four audits, up or down
OWN = 0.5  # sd of a pair's own gap, where plain rewards have 1
TAILS = {"normal": np.inf, "heavy tails": 8.0}  # degrees of freedom of plain rewards
_ANY = np.random.default_rng(0)  # noise is 0: nothing is drawn
Floats = NDArray[np.float64]


class Family(NamedTuple):
    """Kinds of conduct that one audit judges together, with the audit's measure and bound.

    `flaw` is the true value of a kind with a planted flaw, `sound` that of the others.
    """

    kinds: tuple[str, ...]
    measure: Callable[..., Estimate]
    bound: Bound
    flaw: float
    sound: float


WINS = above(0.5, unit=measure.WON, shown=True)
FAMILIES = {
    "conduct_right": Family(RIGHT, measure.better_wins, WINS, LOST, 0.5),
    "conduct_refusals": Family(REFUSALS, measure.better_wins, WINS, LOST, 0.5),
    "conduct_style": Family(
        STYLE, measure.paid_for, below(0.5, unit=measure.PAID, shown=True), SHIFT, 0.0
    ),
    "conduct_same": Family(
        SAME, measure.moved_by, below(0.5, unit=measure.MOVED, shown=True), -SHIFT, 0.0
    ),
}


def main() -> None:
    """Run the simulation, or with `--cost` the timing, and print a line of JSON for each row."""
    parser = arguments(__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--model", default="R-Smol-135M")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    if asked.cost:
        say("conduct --cost", **cost(asked.model, asked.batch, asked.every, asked.rounds))
        return
    rows = []
    for row in checks(asked.draws):
        say("conduct", **row)
        rows.append(row)
    if asked.out:
        asked.out.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


def checks(draws: int) -> Iterator[dict[str, Any]]:
    """Yield rows of results: all kinds of an audit at one true value, then a flaw in each kind."""
    table = conduct().assign(line=np.repeat(np.arange(len(conduct()) // 2), 2))
    for name, family in FAMILIES.items():
        own = table[table["subset"].isin(family.kinds)].reset_index(drop=True)
        for tails, freedom in TAILS.items():
            about = {"audit": name, "plain rewards": tails, "draws": draws}
            for value in dict.fromkeys(
                (family.sound, np.copysign(BOUND, family.flaw), family.flaw)
            ):
                truth = dict.fromkeys(family.kinds, value)
                runs = _measured(own, family, truth, freedom, draws)
                failed = [family.bound.judge(each) is Verdict.FAIL for each in runs]
                blocked = round(float(np.mean(failed)), 4)
                yield {**about, "all kinds at": value, "fails": blocked}
        for kind in family.kinds:
            truth = dict.fromkeys(family.kinds, family.sound) | {kind: family.flaw}
            named = [
                family.bound.judge(each) is Verdict.FAIL and f": {kind}." in each.caveats[0]
                for each in _measured(own, family, truth, TAILS["heavy tails"], draws)
            ]
            found = round(float(np.mean(named)), 4)
            yield {
                "audit": name,
                "draws": draws,
                "flaw in": kind,
                "size": family.flaw,
                "found": found,
            }


def _measured(
    own: pd.DataFrame, family: Family, truth: Mapping[str, float], freedom: float, draws: int
) -> Iterator[Estimate]:
    """Yield estimates from simulated rewards, in which each kind has its true value in `truth`."""
    rng = np.random.default_rng(1)
    kinds = own["subset"].to_numpy()[::2]
    wanted = np.array([truth[kind] for kind in kinds])
    for _ in range(draws):
        plain = _plain(len(kinds), freedom, rng)
        noise = OWN * rng.standard_normal(len(kinds))
        if family.measure is measure.better_wins:
            gap = np.where(rng.random(len(kinds)) < wanted, -1.0, 1.0) * (np.abs(noise) + 0.01)
        else:
            gap = wanted + noise
        reward = np.column_stack([plain, plain + gap]).ravel()
        yield family.measure(own.assign(reward=reward), family.kinds, rng=_ANY, noise=0.0)


def _plain(many: int, freedom: float, rng: np.random.Generator) -> Floats:
    """Return random rewards with an sd of 1: normal, or Student's t with `freedom` degrees."""
    if np.isinf(freedom):
        return rng.standard_normal(many)
    drawn: Floats = rng.standard_t(freedom, many) * np.sqrt((freedom - 2) / freedom)
    return drawn


def cost(model: str, batch: int, every: int, rounds: int) -> dict[str, Any]:
    """Time a plain transformers loop and rmaudit on the same answers; return the figures."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    import rmaudit
    from rmaudit.models.model_factory import checkpoint
    from rmaudit.scores.answer_files import rewards

    answers = conduct()[["prompt", "response"]].drop_duplicates().assign(turns="")
    answers = answers[pd.factorize(answers["prompt"])[0] % every == 0]
    ours = rmaudit.load(model, device="cpu", dtype="float32")
    folder = checkpoint(model).loader.folder
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="right")
    theirs = AutoModelForSequenceClassification.from_pretrained(folder, dtype="float32").eval()

    def texts(rows: pd.DataFrame) -> list[str]:
        return [
            tokenizer.apply_chat_template(
                [{"role": "user", "content": asked}, {"role": "assistant", "content": said}],
                tokenize=False,
            )
            for asked, said in zip(rows["prompt"], rows["response"], strict=True)
        ]

    @torch.inference_mode()
    def loop() -> Floats:
        found = []
        for at in range(0, len(answers), batch):
            given = texts(answers.iloc[at : at + batch])
            ids = tokenizer(given, padding=True, return_tensors="pt", add_special_tokens=False)
            hidden = theirs.base_model(**ids).last_hidden_state
            last = ids["attention_mask"].sum(dim=1) - 1
            found.append(theirs.score(hidden[torch.arange(len(given)), last])[:, 0])
        return np.asarray(torch.cat(found), dtype=np.float64)

    def own() -> Floats:
        with tempfile.TemporaryDirectory() as cache:
            found = rewards(ours, answers, cache=Path(cache)).scores
        return np.asarray(found, dtype=np.float64)

    ours.score("warm", ["up"])
    ways = {"loop": loop, "rmaudit": own}
    times = interleaved(ways, rounds)
    spent = {
        of: {way: [getattr(each, of) for each in times[way]] for way in ways}
        for of in ("clock", "cpu")
    }
    return {
        "model": model,
        "answers": len(answers),
        "prompts": int(answers["prompt"].nunique()),
        "batch of the loop": batch,
        "threads": torch.get_num_threads(),
        **{
            of: {way: round(float(np.median(each)), 1) for way, each in by.items()}
            for of, by in spent.items()
        },
        "times faster": {
            of: round(float(np.median(np.divide(by["loop"], by["rmaudit"]))), 2)
            for of, by in spent.items()
        },
        "largest difference": float(
            np.abs(times["loop"][0].found - times["rmaudit"][0].found).max()
        ),
    }


if __name__ == "__main__":
    main()
