"""Compare the speed of rmaudit and of a plain transformers loop on the same pairs of answers.

python -m benchmarks.pairs FILE.jsonl [--model R-Smol-135M] [--pairs 1000] [--threads 2] [--jobs 1]

The loop lays out each conversation with the chat template, and asks the checkpoint's own
AutoModelForSequenceClassification, a row at a time. Machines are shared: with one thread the
processor's seconds are the fair ones. Both accuracies count ties half. Prints one line of JSON.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import rmaudit
from benchmarks.harness import Timed, arguments, say, timed
from rmaudit.conversation import Asked, from_columns, messages
from rmaudit.measures.pair_accuracy import accuracy
from rmaudit.models.model_factory import checkpoint
from rmaudit.models.text_scorer import TextScorer
from rmaudit.scores.answer_files import ASKED, rewards
from rmaudit.scores.pair_files import read

WAYS = ("loop", "rmaudit")
Floats = NDArray[np.float32]


def main() -> None:
    """Score the pairs both ways, and print the times, accuracies and the largest difference."""
    parser = arguments(__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="R-Smol-135M")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with its own pairs")
    asked = parser.parse_args()
    frame = read(asked.file).frame
    lines = frame["line"].unique()[: asked.pairs]
    parts = [frame[frame["line"].isin(own)] for own in np.array_split(lines, asked.jobs)]
    with ProcessPoolExecutor(asked.jobs, multiprocessing.get_context("spawn")) as pool:
        done = list(pool.map(partial(measured, asked.model, asked.threads), parts))
    frame = pd.concat(parts)
    ways = {way: np.concatenate([one[way].found for one in done]) for way in WAYS}
    spent = {
        way: {
            "cpu": sum(one[way].cpu for one in done),
            "clock": sum(one[way].clock for one in done),
        }
        for way in WAYS
    }
    rng = np.random.default_rng(0)
    both = {
        way: accuracy(frame.assign(reward=scores), rng=rng, noise=0.0)
        for way, scores in ways.items()
    }
    loop, own = spent["loop"], spent["rmaudit"]
    said: dict[str, Any] = {
        "pairs": frame["line"].nunique(),
        "answers": len(frame),
        "ids": counted(asked.model, frame),
        **{way: {of: round(seconds, 1) for of, seconds in spent[way].items()} for way in WAYS},
        "times faster": {of: round(loop[of] / own[of], 2) for of in loop},
        **{f"{way} accuracy": estimate.value for way, estimate in both.items()},
        "interval": [round(both["rmaudit"].low, 4), round(both["rmaudit"].high, 4)],
        "subsets": {k: round(v, 4) for k, v in both["rmaudit"].secondary.items()},
        "largest difference": float(np.abs(ways["loop"] - ways["rmaudit"]).max()),
        "sd of rewards": float(ways["rmaudit"].std()),
        "threads": asked.threads,
    }
    say("pairs", **said)


def counted(model: str, frame: pd.DataFrame) -> dict[str, int]:
    """Return how many token ids each way runs: rmaudit runs a prompt once for all its answers."""
    ours, found, before = rmaudit.load(model, device="cpu"), dict.fromkeys(WAYS, 0), set[Asked]()
    if isinstance(ours, TextScorer):
        sys.exit(f"{model} scores texts, and its ids are not known; name a checkpoint")
    for prompt, turns, response in frame[[*ASKED, "response"]].to_numpy().tolist():
        asked = from_columns(prompt, turns)
        slot = ours.slot(asked)
        answer = len(ours.ids(response)) + len(slot.suffix)
        found["loop"] += len(slot.prefix) + answer
        found["rmaudit"] += answer + (0 if asked in before else len(slot.prefix))
        before.add(asked)
    return found


def measured(model: str, threads: int, frame: pd.DataFrame) -> dict[str, Timed[Floats]]:
    """Return the rewards of a table's answers and the seconds taken, by the loop and by rmaudit."""
    torch.set_num_threads(threads)
    ours = rmaudit.load(model, device="cpu", dtype="float32")
    plain = Plain(checkpoint(model).loader.folder)
    ours.score("warm", ["up"])
    plain("warm", "up")
    rows = frame[[*ASKED, "response"]].to_numpy().tolist()

    def loop() -> Floats:
        each = [plain(from_columns(prompt, turns), response) for prompt, turns, response in rows]
        return np.array(each, dtype=np.float32)

    with tempfile.TemporaryDirectory() as cache:
        own = timed(lambda: rewards(ours, frame, cache=Path(cache)).scores)
    return {"loop": timed(loop), "rmaudit": own}


class Plain:
    """A reward model that is called for one answer at a time, as in transformers' documentation."""

    def __init__(self, folder: Path) -> None:
        """Load the tokenizer and the classifier from a checkpoint's folder."""
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder, dtype="float32")
        self.model.eval()

    @torch.inference_mode()
    def __call__(self, prompt: Asked, response: str) -> float:
        """Return the reward of one answer to the prompt."""
        said = [*messages(prompt), {"role": "assistant", "content": response}]
        ids = self.tokenizer.apply_chat_template(said, return_tensors="pt", return_dict=True)
        return float(self.model(**ids).logits[0, 0])


if __name__ == "__main__":
    main()
