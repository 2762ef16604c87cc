"""Measure the cost of audits during training: TRL trains on pairs, and Trackio keeps the curves.

    python -m benchmarks.training FILE.jsonl [--model R-Smol-135M] [--steps 200] [--every 50]

FILE has pairs as `python -m scripts.training.hh_pairs` writes them. The model is trained with the
audits that `AuditCallback` has by default, on its words, and its head begins at zero. Prints one
line of JSON: seconds of a step and of an audit, their share of all, and the curves as Trackio's own
command reads them in its store on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import arguments, say, timed

PROJECT = "rmaudit-benchmark"


def main() -> None:
    """Train with audits; print the seconds of steps and audits, and the curves that were stored."""
    parser = arguments(__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="R-Smol-135M")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=50, help="steps between audits")
    parser.add_argument("--batch", type=int, default=4, help="pairs a step")
    parser.add_argument("--longest", type=int, default=128, help="ids; longer pairs are left out")
    parser.add_argument("--words", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["TRACKIO_DIR"] = f"{home}/trackio"  # before anything imports it
        log, spent = trained(asked, Path(home))
        names = sorted({name for each in log for name in each if name.startswith("rmaudit/")})
        curves = {name: stored(name) for name in names}
    audits = [each["rmaudit/seconds"] for each in log if "rmaudit/seconds" in each]
    said = {
        "steps": asked.steps,
        "seconds": round(spent, 1),
        "seconds of each audit": [round(each, 1) for each in audits],
        "seconds a step": round((spent - sum(audits)) / asked.steps, 2),
        "share of audits": round(sum(audits) / spent, 3),
        "Trackio": {k: v for k, v in curves.items() if not k.endswith(("low", "high", "seconds"))},
        "curves": len(curves),
        "threads": torch.get_num_threads(),
    }
    say("training", **said)


def trained(asked: argparse.Namespace, home: Path) -> tuple[list[dict[str, Any]], float]:
    """Train a model with audits; return what the trainer logged, and the seconds of all of it."""
    from datasets import Dataset
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from trl import RewardConfig, RewardTrainer

    from rmaudit.integrations.trl import AuditCallback
    from rmaudit.models.model_factory import checkpoint

    folder = checkpoint(asked.model).loader.folder
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype="float32")
    torch.nn.init.zeros_(model.score.weight)
    with asked.file.open(encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines]
    trainer = RewardTrainer(
        model=model,
        args=RewardConfig(
            output_dir=str(home / "run"),
            max_steps=asked.steps,
            per_device_train_batch_size=asked.batch,
            max_length=asked.longest,
            logging_steps=asked.every,
            save_strategy="steps",
            save_steps=asked.every,
            save_only_model=True,
            save_total_limit=1,
            report_to=["trackio"],
            project=PROJECT,
            run_name="run",
            use_cpu=not torch.cuda.is_available(),
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list([_conversations(pair) for pair in pairs]),
        processing_class=AutoTokenizer.from_pretrained(folder),
    )
    trainer.add_callback(AuditCallback(trainer, words=asked.words, on="save"))
    spent = timed(trainer.train).clock
    return trainer.state.log_history, spent


def _conversations(pair: dict[str, Any]) -> dict[str, Any]:
    """Return a pair as TRL expects it: a chosen and a rejected conversation."""
    return {
        which: [*pair["prompt"], {"role": "assistant", "content": pair[which]}]
        for which in ("chosen", "rejected")
    }


def stored(name: str) -> list[float]:
    """Return the values of one metric's curve, read from Trackio's store."""
    asked = ["--project", PROJECT, "--run", "run", "--metric", f"train/{name}", "--json"]
    command = [sys.executable, "-m", "trackio.cli", "get", "metric", *asked]
    told = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return [round(each["value"], 4) for each in json.loads(told.stdout)["values"]]


if __name__ == "__main__":
    main()
