"""One rank of a backbone in tensor parallel: rewards by the checkpoint of each folder.

torchrun --nproc-per-node 2 -m tests.scoring.ranks OUT FOLDER...
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from transformers import AutoModelForSequenceClassification
from transformers.distributed import DistributedConfig

from rmaudit.scoring import ATTENTION, engine
from rmaudit.scoring.engine import Scorer
from tests.scoring.rows import ANSWERS, END, PAD, PREFIX, plain


def main() -> None:
    """Write the rewards of this rank, and how many of a layer's rows of weights it holds."""
    out, folders = Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    try:
        found: dict[str, Any] = {}
        for folder in folders:
            model = AutoModelForSequenceClassification.from_pretrained(
                folder,
                dtype=torch.float32,
                attn_implementation=ATTENTION,
                distributed_config=DistributedConfig(tp_plan="auto"),
            ).eval()
            scorer = Scorer(model.base_model, plain(model.score.weight), PAD)
            found[folder.name] = engine.score(scorer, PREFIX, ANSWERS, (END,))
            weight = model.base_model.layers[0].self_attn.q_proj.weight
            assert isinstance(weight, DTensor)
            found[f"{folder.name} rows"] = np.array([len(weight.to_local()), len(weight)])
        np.savez(out / f"{dist.get_rank()}.npz", **found)
        dist.barrier()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
