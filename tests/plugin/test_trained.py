"""Reward models as TRL's trainer leaves them are audited by `pytest audits --model PATH`.

They are trained here, for three steps on a CPU: whole, and as LoRA adapters of a language model.
"""

from __future__ import annotations

import json
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from trl import RewardConfig, RewardTrainer

import rmaudit
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS
from tests.plugin.conftest import Run
from tests.toys import SIZES, toy_checkpoint, toy_tokenizer

SHIPPED = str(Path(__file__).parents[2] / "audits" / "test_numerics.py")
SIZE = len(toy_tokenizer())
LORA: dict[str, dict[str, Any] | None] = {"full": None, "SEQ_CLS": {"task_type": "SEQ_CLS"}}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a language model, `base`."""
    home = tmp_path_factory.mktemp("runs")
    torch.manual_seed(0)
    config = AutoConfig.for_model("llama", vocab_size=SIZE, bos_token_id=1, eos_token_id=2, **SIZES)
    AutoModelForCausalLM.from_config(config).save_pretrained(home / "base")
    toy_tokenizer().save_pretrained(home / "base")
    return home


def train(output: Path, base: Path, lora: dict[str, Any] | None) -> Any:
    """Train three steps; return the trainer's model, a PeftModel where an adapter was trained."""
    pairs = [("love", "war"), ("peace", "pain"), ("joy", "hate"), ("city", "table")]
    rows = [{"chosen": _turns(good), "rejected": _turns(bad)} for good, bad in pairs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = RewardConfig(
            output_dir=str(output),
            max_steps=3,
            save_steps=2,
            learning_rate=0.03,
            report_to=[],
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
        )
        trainer = RewardTrainer(
            model=str(base),
            args=settings,
            train_dataset=Dataset.from_list(rows),
            processing_class=AutoTokenizer.from_pretrained(base),
            peft_config=None if lora is None else LoraConfig(r=4, **lora),
        )
        trainer.train()
        trainer.save_model()
    return trainer.model.eval()


def _turns(answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "the city?"}, {"role": "assistant", "content": answer}]


@torch.inference_mode()
def own_scores(model: Any, folder: Path) -> list[float]:
    """What the trainer's model gives every id, in the row that TRL makes of a conversation."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    conversation = [
        {"role": "user", "content": PROMPTS["best"].text},
        {"role": "assistant", "content": "<added>"},
    ]
    ids = tokenizer.apply_chat_template(conversation, tokenize=True, return_dict=False)
    at = ids.index(tokenizer.convert_tokens_to_ids("<added>"))
    rows = [[*ids[:at], i, *ids[at + 1 :]] for i in range(SIZE)]
    return [model(input_ids=torch.tensor([row])).logits.item() for row in rows]


def scores(folder: Path) -> list[float]:
    """The score of every id, of the model that the folder's path names."""
    model = rmaudit.load(folder, cache=folder.parent / "cache")
    frame = rmaudit.sweep(model, "best", cache=folder.parent / "cache").frame
    assert frame["token_id"].to_list() == list(range(SIZE))
    return list(map(float, frame["score"]))


@pytest.mark.parametrize("name", LORA)
def test_an_output_folder_is_audited(home: Path, run: Run, name: str) -> None:
    """Every score is the trainer's own model's; an adapter is merged, its head the trained one."""
    folder = home / name
    model = train(folder, home / "base", LORA[name])
    expected = own_scores(model if name == "full" else model.merge_and_unload(), folder)

    assert np.std(expected) > 1e-3
    assert scores(folder) == pytest.approx(expected, abs=1e-5)
    assert scores(folder / "checkpoint-3") == pytest.approx(expected, abs=1e-5)
    earlier = scores(folder / "checkpoint-2")  # of the model of step 2, where step 3 went on
    assert np.abs(np.subtract(earlier, expected)).max() > 1e-4
    figures = run(None, SHIPPED, model=str(folder / "checkpoint-2")).figures  # a shipped one
    assert {f["model"] for f in figures} == {f"{name}-checkpoint-2"}
    assert [f["prompt"] for f in figures] == ["greatest", "best", "worst"]
    assert all(f["estimate"]["n"] > 0 for f in figures)


@pytest.mark.skipif(find_spec("bitsandbytes") is not None, reason="bitsandbytes is installed")
def test_quantized_weights_whose_package_is_missing_are_told(tmp_path: Path) -> None:
    """With `quantized: true` transformers says what it lacks; one line, and what to do."""
    folder = toy_checkpoint(tmp_path / "toy")
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    (folder / "config.json").write_text(json.dumps(config))
    spec = ModelSpec("toy", str(folder), default=True, quantized=True)

    with pytest.raises(ModelError, match="its bitsandbytes weights could not be loaded") as caught:
        Checkpoint(spec, cache=tmp_path).score("the city?", ["love"])

    assert "install what that names" in str(caught.value)
    assert "\n" not in str(caught.value)
