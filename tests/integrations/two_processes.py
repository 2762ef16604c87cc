"""What each of two processes comes to: `python -m torch.distributed.run` runs this file.

    two_processes.py TOY FOLDER

It trains until an audit stops it, with its curves in Trackio's store on this machine, and then anew
with an audit that cannot be run.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from datasets import Dataset
from transformers import AutoTokenizer
from trl import RewardConfig, RewardTrainer

from rmaudit.errors import RmauditError
from rmaudit.integrations.trl import AuditCallback
from tests.integrations.test_trl import BAD, GOOD, declared, pairs


def trainer(toy: str, folder: Path, report_to: str) -> RewardTrainer:
    """Of the toy, on this process's half of each batch."""
    data = Dataset.from_list(pairs())
    settings = {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2, "report_to": report_to}
    settings |= {"project": "rm", "run_name": "toy"}
    speed = {"use_cpu": True, "bf16": False, "disable_tqdm": True, "save_strategy": "no"}
    return RewardTrainer(
        model=toy,
        args=RewardConfig(str(folder / "run"), per_device_train_batch_size=2, **settings, **speed),
        train_dataset=data,
        eval_dataset=data,
        processing_class=AutoTokenizer.from_pretrained(toy),
    )


def main() -> None:
    """Write what came into RANK.json."""
    toy, folder = sys.argv[1], Path(sys.argv[2])
    stopped, broken = trainer(toy, folder, "trackio"), trainer(toy, folder, "none")
    words, audits = GOOD + BAD, [declared(1000.0)]
    names = ["good_is_paid"], ["good-is-paid"]
    for made, stop_on in zip((stopped, broken), names, strict=True):
        made.add_callback(AuditCallback(made, audits=audits, words=words, stop_on=stop_on))
    stopped.train()
    said = ""
    try:
        broken.train()
    except RmauditError as error:
        said = str(error)
    steps = [stopped.state.global_step, broken.state.global_step]
    found = json.dumps({"steps": steps, "said": said, "log": stopped.state.log_history})
    (folder / f"{os.environ['RANK']}.json").write_text(found, encoding="utf-8")


if __name__ == "__main__":
    main()
