"""Reward models as TRL's trainer leaves them are audited by `pytest audits --model PATH`.

They are trained here, for three steps on a CPU: whole, and as LoRA adapters of a language model.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from trl import RewardConfig, RewardTrainer

from rmaudit.prompts import PROMPTS
from tests.plugin.conftest import Run
from tests.toys import SIZES, toy_checkpoint, toy_tokenizer

# Writes the sweep down, so that every score can be compared.
BODY = """
@declare(0.0)
def test_toy(sweep):
    if sweep.key:  # a null control's has none
        sweep.frame[["token_id", "score"]].to_csv(f"{sweep.prompt.name}.csv", index=False)
    return estimate(float(len(sweep.frame)))
"""
SHIPPED = str(Path(__file__).parents[2] / "audits" / "test_numerics.py")
SIZE = len(toy_tokenizer())
LORA: dict[str, dict[str, Any]] = {
    "SEQ_CLS": {"task_type": "SEQ_CLS"},
    "modules_to_save": {"modules_to_save": ["score"], "target_modules": ["q_proj", "down_proj"]},
    "headless": {"target_modules": ["q_proj"]},
}
pytestmark = pytest.mark.slow


@dataclass
class Trained:
    """An output folder, and the trainer's model: a PeftModel where an adapter was trained."""

    folder: Path
    model: Any


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a language model, `base`."""
    home = tmp_path_factory.mktemp("runs")
    torch.manual_seed(0)
    config = AutoConfig.for_model("llama", vocab_size=SIZE, bos_token_id=1, eos_token_id=2, **SIZES)
    AutoModelForCausalLM.from_config(config).save_pretrained(home / "base")
    toy_tokenizer().save_pretrained(home / "base")
    return home


@pytest.fixture(scope="module")
def train(home: Path) -> Callable[[str], Trained]:
    """The run of this name, trained once: `full`, or a key of LORA."""
    done: dict[str, Trained] = {}

    def go(name: str) -> Trained:
        if name not in done:
            done[name] = _train(home / name, home / "base", LORA.get(name))
        return done[name]

    return go


def _train(output: Path, base: Path, lora: dict[str, Any] | None) -> Trained:
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
    return Trained(output, trainer.model.eval())


def _turns(answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "the city?"}, {"role": "assistant", "content": answer}]


@torch.inference_mode()
def own_scores(model: Any, folder: Path, prompt: str) -> list[float]:
    """What the trainer's model gives every id, in the row that TRL makes of a conversation."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    conversation = [
        {"role": "user", "content": PROMPTS[prompt].text},
        {"role": "assistant", "content": "<added>"},
    ]
    ids = tokenizer.apply_chat_template(conversation, tokenize=True, return_dict=False)
    at = ids.index(tokenizer.convert_tokens_to_ids("<added>"))
    rows = [[*ids[:at], i, *ids[at + 1 :]] for i in range(SIZE)]
    return [model(input_ids=torch.tensor([row])).logits.item() for row in rows]


def audited(run: Run, folder: Path) -> dict[str, list[float]]:
    """The scores by prompt of an audit that ran on the folder."""
    ended = run(BODY, model=str(folder))
    ended.said.assert_outcomes(passed=2)
    frames = {name: pd.read_csv(ended.folder / f"{name}.csv") for name in ("greatest", "worst")}
    for frame in frames.values():
        assert frame["token_id"].to_list() == list(range(SIZE))
    return {name: frame["score"].to_list() for name, frame in frames.items()}


@pytest.mark.parametrize("name", ["full", "SEQ_CLS", "modules_to_save"])
def test_an_output_folder_is_audited(train: Callable[[str], Trained], run: Run, name: str) -> None:
    """Every score is the trainer's own model's; an adapter is merged, its head the trained one."""
    trained = train(name)

    scores = audited(run, trained.folder)

    model = trained.model if name == "full" else trained.model.merge_and_unload()
    for prompt, found in scores.items():
        expected = own_scores(model, trained.folder, prompt)
        assert np.std(expected) > 1e-3
        assert found == pytest.approx(expected, abs=1e-5)
    figures = run(None, SHIPPED, model=str(trained.folder)).results["figures"]  # a shipped one
    assert {f["model"] for f in figures} == {name}
    assert [f["prompt"] for f in figures] == ["greatest", "best", "worst"]
    assert all(f["estimate"]["n"] > 0 for f in figures)


@pytest.mark.parametrize("name", ["full", "SEQ_CLS"])
def test_a_checkpoint_of_a_run_is_audited(
    train: Callable[[str], Trained], run: Run, name: str
) -> None:
    """Under the run's name; it is the model of step 2, where step 3 went on."""
    folder = train(name).folder
    last = audited(run, folder)

    scores = audited(run, folder / "checkpoint-3")
    earlier = audited(run, folder / "checkpoint-2")

    assert scores == {prompt: pytest.approx(found, abs=1e-6) for prompt, found in last.items()}
    assert np.abs(np.subtract(earlier["greatest"], scores["greatest"])).max() > 1e-4
    ended = run(BODY, model=str(folder / "checkpoint-2"))
    assert {f["model"] for f in ended.findings} == {f"{name}-checkpoint-2"}


# What is refused, with the next step


def test_an_adapter_without_its_head_is_refused(
    train: Callable[[str], Trained], home: Path, run: Run
) -> None:
    """TRL trains it and saves no head, for nothing told PEFT that there is one."""
    ended = run(BODY, model=str(train("headless").folder))

    (reason,) = {finding["why"] for finding in ended.findings}
    assert {finding["verdict"] for finding in ended.findings} == {"ERROR"}
    assert "the head was never saved" in reason
    assert 'task_type="SEQ_CLS" or modules_to_save=["score"]' in reason


@pytest.mark.skipif(find_spec("bitsandbytes") is not None, reason="bitsandbytes is installed")
def test_quantized_weights_whose_package_is_missing_are_told(run: Run, tmp_path: Path) -> None:
    """With `quantized: true` transformers says what it lacks; one line, and what to do."""
    folder = toy_checkpoint(tmp_path / "toy")
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    (folder / "config.json").write_text(json.dumps(config))
    registry = tmp_path / "models.yaml"
    registry.write_text("models: {toy: {source: ./toy, default: true, quantized: true}}\n")

    ended = run(BODY, "--rm-models", str(registry), model=None)

    (reason,) = {finding["why"] for finding in ended.findings}
    assert "its bitsandbytes weights could not be loaded from" in reason
    assert "install what that names" in reason
    assert "\n" not in reason
