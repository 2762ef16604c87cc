"""Print what `rmaudit models check --as` forecasts for models of published sizes.

python -m benchmarks.hardware_forecasts [H100 H100:2 H100:8]

It is computed, not measured. The checkpoints are headers, configurations and a vocabulary of the
published size; the weights are holes in files. Prints a line of JSON for each size and set of GPUs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from benchmarks.harness import arguments, say
from rmaudit.config.model_registry import ModelSpec
from rmaudit.distributed import hardware_forecast
from rmaudit.errors import ModelError
from tests.hollow import GEMMA_2B, GEMMA_27B, LLAMA_3B, LLAMA_8B, LLAMA_70B, hollow_checkpoint
from tests.toys import SPECIAL, TEMPLATE

SIZES = {  # and how many of the ten published models have it
    "Gemma-2-2B, float16 (1 of the ten)": (GEMMA_2B, torch.float16),
    "Llama-3.2-3B, float16 (1)": (LLAMA_3B, torch.float16),
    "Llama-3-8B, bfloat16 (6)": (LLAMA_8B, torch.bfloat16),
    "Gemma-2-27B, bfloat16 (2)": (GEMMA_27B, torch.bfloat16),
    "Llama-3.1-70B, bfloat16": (LLAMA_70B, torch.bfloat16),
}


def main() -> None:
    """Print the forecast for each model size on each set of GPUs."""
    parser = arguments(__doc__)
    parser.add_argument("gpus", nargs="*", default=["H100", "H100:2", "H100:8"])
    gpus = parser.parse_args().gpus
    for name, (shape, dtype) in SIZES.items():
        for named, said in rehearsed(shape, dtype, gpus):
            say("rehearsal", model=name, on=named, **said)


def rehearsed(
    shape: dict[str, Any], dtype: torch.dtype, gpus: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each of `gpus` (sets of GPUs) with a forecast for a model of this shape."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "model")
        hollow_checkpoint(folder, shape, dtype=dtype, tokenizer=_tokenizer(shape["vocab_size"]))
        spec = ModelSpec("model", str(folder))
        for named in gpus:
            try:
                yield (
                    named,
                    asdict(
                        hardware_forecast.forecast(
                            spec, Path(home), hardware_forecast.gpus_named(named)
                        )
                    ),
                )
            except ModelError as error:
                yield named, {"refused": str(error)}


def _tokenizer(size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer with a made-up vocabulary of `size` words."""
    words = [*SPECIAL, *(f"w{i}" for i in range(size - len(SPECIAL)))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "<s>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **dict(zip(("pad_token", "bos_token"), SPECIAL, strict=False))
    )
    made.chat_template = TEMPLATE
    return made


if __name__ == "__main__":
    main()
