"""Checkpoints of published sizes whose weights are holes: headers, configuration and tokenizer."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
)

from tests.toys import toy_tokenizer

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
LLAMA_70B = {
    **LLAMA_8B,
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
}
LLAMA_3B = {
    **LLAMA_8B,
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "num_hidden_layers": 28,
    "num_attention_heads": 24,
    "tie_word_embeddings": True,
}
GEMMA_2B: dict[str, Any] = {
    "model_type": "gemma2",
    "vocab_size": 256000,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
}
GEMMA_27B = {
    **GEMMA_2B,
    "hidden_size": 4608,
    "intermediate_size": 36864,
    "num_hidden_layers": 46,
    "num_attention_heads": 32,
    "num_key_value_heads": 16,
    "head_dim": 128,
}
_DTYPES = {torch.bfloat16: "BF16", torch.float16: "F16", torch.float32: "F32"}


def hollow_checkpoint(
    folder: Path,
    shape: Mapping[str, Any],
    *,
    dtype: torch.dtype = torch.bfloat16,
    tokenizer: PreTrainedTokenizerFast | None = None,
) -> Path:
    """Write a reward model of this shape with a plain head; its weights take no room on disk."""
    config = AutoConfig.for_model(**shape, num_labels=1, pad_token_id=0, dtype=dtype)
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(config, dtype=dtype)
    folder.mkdir(parents=True)
    config.architectures = [type(model).__name__]
    config.save_pretrained(folder)
    (tokenizer or toy_tokenizer()).save_pretrained(folder)
    end, header = 0, dict[str, Any]()
    for name, tensor in model.state_dict().items():
        size = math.prod(tensor.shape) * tensor.element_size()
        header[name] = {
            "dtype": _DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [end, end + size],
        }
        end += size
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    return folder
