"""Time the whole gate of a random model of a published size, cold and then from its cache.

python -m benchmarks.gate TOKENIZER [--shape llama-3.1-8b] [--folder FOLDER]

TOKENIZER is a folder with a tokenizer and a chat template, whose vocabulary the model has. Its
weights, random and in bfloat16, are made on the GPU if there is one, and written to FOLDER
(default: a temporary one), which is removed afterwards. Prints the seconds of
`pytest audits --model FOLDER`, twice, as lines of JSON; a failed gate is no error, for random
rewards fail it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import torch
from transformers import AutoTokenizer

from benchmarks.gpu import SHAPES, random_model
from benchmarks.harness import arguments, say, timed


def main() -> None:
    """Write the checkpoint, gate it twice, and remove it."""
    parser = arguments(__doc__)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--shape", choices=SHAPES, default="llama-3.1-8b")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = asked.folder or Path(home, "random")
        _write(asked.shape, folder, asked.tokenizer)
        size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
        try:
            for run in ("cold", "cached"):
                made = timed(partial(_gate, folder, Path(home)))
                figures = {"gb": size / 1e9, "seconds": made.clock, "code": made.found}
                say("gate", shape=asked.shape, run=run, **figures)
        finally:
            shutil.rmtree(folder)


def _gate(model: Path, home: Path) -> int:
    """Gate the model, with the cache and the report in `home`; return the exit code."""
    run = [sys.executable, "-m", "pytest", "audits", "--model", str(model)]
    own = ["--rm-cache", f"{home}/cache", "--rm-report", f"{home}/report"]
    return subprocess.run([*run, *own], check=False).returncode  # noqa: S603  (its own command)


def _write(shape: str, folder: Path, tokenizer: Path) -> None:
    """Write a checkpoint with random weights and this tokenizer."""
    tokens = AutoTokenizer.from_pretrained(tokenizer)
    own = {**SHAPES[shape], "vocab_size": len(tokens), "pad_token_id": tokens.pad_token_id}
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    random_model(own, device).save_pretrained(folder, max_shard_size="4GB")
    tokens.save_pretrained(folder)


if __name__ == "__main__":
    main()
