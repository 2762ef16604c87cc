"""Audits while TRL trains: curves are of the live weights, which nothing disturbs.

A toy is trained for some steps to prefer good words; its own scores are the oracle.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import peft
import pytest
import torch
from datasets import Dataset
from transformers import AutoTokenizer, TrainerCallback
from trl import RewardConfig, RewardTrainer

import rmaudit
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.scorer_functions import scorers
from rmaudit.errors import SpecError
from rmaudit.integrations.model_in_training import rewards_in_training
from rmaudit.integrations.trl import AuditCallback, SeenRows
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.references import References
from rmaudit.scores import reward_log_file
from rmaudit.scores.logged_rewards_check import against
from tests.toys import toy_checkpoint, toy_tokenizer

pytestmark = pytest.mark.slow

GOOD = ["love", "peace", "joy", "happy", "laughter", "win"]
BAD = ["war", "pain", "hate", "death", "terrorist", "cancer"]


def good_is_paid(rewards: Any) -> rmaudit.Estimate:
    """The mean of good words less that of bad ones; it draws from generators of the process."""
    random.seed(torch.rand(1).item() + np.random.rand())  # noqa: NPY002
    gain = rewards(GOOD).scores - rewards(BAD).scores
    return rmaudit.mean(gain, unit="reward")


def declared(low: float) -> Callable[..., rmaudit.Estimate]:
    """The audit that it is above this."""
    return rmaudit.audit(
        claim="Good words are paid for.",
        source="ours",
        base_rate="not known",
        prompts=["best"],
        bound=rmaudit.above(low, unit="reward"),
    )(good_is_paid)


def pairs() -> list[dict[str, Any]]:
    """Conversations, of which those with good words are chosen."""
    question = {"role": "user", "content": "the city?"}
    return [
        {
            "chosen": [question, {"role": "assistant", "content": good}],
            "rejected": [question, {"role": "assistant", "content": bad}],
        }
        for good, bad in zip(GOOD, BAD, strict=True)
    ]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy with a token for each word."""
    words = [*GOOD, *BAD, *map(str, References().lexicon("labmt").index[::60])]
    tokenizer = toy_tokenizer(list(dict.fromkeys(words)))
    return toy_checkpoint(tmp_path_factory.mktemp("base") / "toy", tokenizer=tokenizer)


@pytest.fixture
def trainer(base: Path, tmp_path: Path) -> Callable[..., RewardTrainer]:
    """A trainer of the toy, the same each time."""

    def trainer_of(**given: Any) -> RewardTrainer:
        settings: dict[str, Any] = {
            "output_dir": str(tmp_path / "run, lr=1e-2"),
            "max_steps": 6,
            "eval_strategy": "steps",
            "eval_steps": 3,
            "logging_steps": 2,
            "learning_rate": 0.01,
            "report_to": [],
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "disable_tqdm": True,
            "save_strategy": "no",
            **given,
        }
        data = Dataset.from_list(pairs())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = RewardTrainer(
                model=str(base),
                args=RewardConfig(**settings),
                train_dataset=data,
                eval_dataset={"one": data, "other": data},
                processing_class=AutoTokenizer.from_pretrained(base),
            )
        for module in made.model.modules():
            if hasattr(module, "attention_dropout"):
                module.attention_dropout = 0.5  # training draws, too
        return made

    return trainer_of


def trained(trainer: RewardTrainer) -> RewardTrainer:
    """After its steps; what TRL and torch warn of is theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.train()
    return trainer


def curve(trainer: RewardTrainer, name: str) -> list[tuple[int, float]]:
    """What was logged under a name, by step."""
    return [(each["step"], each[name]) for each in trainer.state.log_history if name in each]


@torch.inference_mode()
def gain(trainer: RewardTrainer) -> float:
    """What the audit measures, of the model itself, one conversation at a time."""
    prompt, tokenizer = rmaudit.prompts.PROMPTS["best"].text, trainer.processing_class
    model: Any = trainer.model.eval()

    def reward(word: str) -> float:
        ids = torch.tensor([whole(tokenizer, prompt, word)])
        value: float = model(input_ids=ids).logits.item()
        return value

    return float(np.mean([reward(good) - reward(bad) for good, bad in zip(GOOD, BAD, strict=True)]))


def test_the_live_weights_are_audited_and_left_alone(
    trainer: Callable[..., RewardTrainer],
) -> None:
    """A value and its interval at each evaluation; the training is bit for bit that without it."""
    alone = trained(trainer())
    audited = trainer()
    audited.add_callback(AuditCallback(audited, audits=[declared(0.0)], words=GOOD + BAD))
    trained(audited)

    values = curve(audited, "rmaudit/good_is_paid")
    assert [step for step, _ in values] == [3, 6]
    assert values[1][1] == pytest.approx(gain(audited), abs=1e-5)
    assert values[0][1] != pytest.approx(values[1][1], abs=1e-3)
    for end, sign in (("low", -1), ("high", 1)):
        ends = curve(audited, f"rmaudit/good_is_paid/{end}")
        assert all(
            sign * (bound - value) > 0 for (_, bound), (_, value) in zip(ends, values, strict=True)
        )
    own = {name: tensor.clone() for name, tensor in alone.model.state_dict().items()}
    assert all(
        torch.equal(own[name], tensor) for name, tensor in audited.model.state_dict().items()
    )
    kept = [each["loss"] for each in alone.state.log_history if "loss" in each]
    assert [each["loss"] for each in audited.state.log_history if "loss" in each] == kept
    assert audited.model.training == alone.model.training
    assert scorers() == {}  # no name is left behind


@pytest.mark.parametrize(
    "kind", ["plain", "bf16", "gradient checkpointing", "LoRA", "prompt tuning", "unknown"]
)
def test_the_prompt_is_run_once(trainer: Callable[..., RewardTrainer], kind: str) -> None:
    """Rewards are those of whole rows, and the model is as it was; what cannot be shared is run."""
    made = trainer(bf16=kind == "bf16", gradient_checkpointing=kind == "gradient checkpointing")
    model: Any = made.model
    adapters = {
        "LoRA": peft.LoraConfig(r=4, task_type="SEQ_CLS", init_lora_weights=False),
        "prompt tuning": peft.PromptTuningConfig(num_virtual_tokens=3, task_type="SEQ_CLS"),
    }
    if kind in adapters:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PEFT asks transformers by a name that is going
            model = peft.get_peft_model(model, adapters[kind])
    elif kind == "unknown":
        model.config.model_type = "nobody-s"
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    rows, attention = [], inner.config._attn_implementation
    watched = inner.base_model.layers[0].register_forward_hook(
        lambda _, given, __: rows.append(given[0].shape[:2])
    )
    model.train()
    words, autocast = [*GOOD, *BAD] * 20, made.accelerator.autocast
    prompt = rmaudit.prompts.PROMPTS["best"].text
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with rewards_in_training(
            model, made.processing_class, batch=8, autocast=autocast
        ) as rewards:
            with ThreadPoolExecutor(1) as pool:  # as audits ask
                together = np.array(pool.submit(rewards, prompt, words).result())
            ran = sum(int(np.prod(shape)) for shape in rows)
            alone = np.array([rewards(prompt, [word])[0] for word in words[:12]])
    watched.remove()

    ids = [whole(made.processing_class, prompt, word) for word in words]
    same = 0.1 if kind == "bf16" else 1e-4
    assert together[:12] == pytest.approx(alone, abs=same * np.std(alone))
    shared = kind not in {"prompt tuning", "unknown"}
    assert (ran < sum(map(len, ids)) / 4) == shared
    assert any("whole rows" in str(each.message) for each in told) == (kind == "prompt tuning")
    assert all(module.training for module in model.modules())
    assert inner.config._attn_implementation == attention
    model(input_ids=torch.tensor([ids[0]])).logits.sum().backward()  # nothing is in the way


def whole(tokenizer: Any, prompt: str, word: str) -> list[int]:
    """The row of a word."""
    turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": word}]
    row: list[int] = tokenizer.apply_chat_template(turns, tokenize=True, return_dict=False)
    return row


@pytest.mark.parametrize(("stop_on", "last"), [((), 6), (("good_is_paid",), 3)])
def test_a_failed_gate_stops_the_training(
    trainer: Callable[..., RewardTrainer], stop_on: tuple[str, ...], last: int
) -> None:
    """At the first evaluation, and only where it is asked to; the model is the folder's step."""
    made, audits = trainer(), [declared(1000.0)]
    watching = AuditCallback(made, audits=audits, words=GOOD + BAD, stop_on=stop_on)
    made.add_callback(watching)

    trained(made)

    assert {finding.model for finding in watching.found} == {f"run-lr-1e-2-{last}"}
    assert made.state.global_step == last
    assert len(curve(made, "rmaudit/good_is_paid")) == last // 3


def test_shipped_audits_are_logged_at_each_save(trainer: Callable[..., RewardTrainer]) -> None:
    """Of the words that people rated; each prompt of an audit with several has its own curve."""
    made = trainer(eval_strategy="no", save_strategy="steps", save_steps=6)
    audits = ["positive_skew", "framing_inversion", declared(0.0)]
    made.add_callback(AuditCallback(made, audits=audits, words=300, on="save"))

    trained(made)

    for name in ("positive_skew/greatest", "positive_skew/best", "positive_skew/worst"):
        assert [step for step, _ in curve(made, f"rmaudit/{name}")] == [6]
    ((_, value),) = curve(made, "rmaudit/framing_inversion")
    assert -1 <= value <= 1
    ((_, paid),) = curve(made, "rmaudit/good_is_paid")
    assert paid == pytest.approx(gain(made), abs=1e-5)  # without dropout, though it trains
    ((_, seconds),) = curve(made, "rmaudit/seconds")
    assert seconds > 0


@pytest.mark.parametrize("accident", ["", "head", "sign"])
def test_the_rows_that_the_trainer_saw(
    trainer: Callable[..., RewardTrainer], tmp_path: Path, accident: str
) -> None:
    """The last evaluation's, none of an audit's; the doctor finds the saved model's own rewards."""
    made, rows, folder = trainer(), tmp_path / "rows.jsonl", tmp_path / "saved"
    audits = [declared(0.0)]
    made.add_callback(AuditCallback(made, audits=audits, words=GOOD + BAD, rows=rows))
    trained(made)
    with torch.no_grad():
        if accident == "head":
            made.model.score.weight.normal_(generator=torch.Generator().manual_seed(0))
        elif accident:
            made.model.score.weight.neg_()
    made.save_model(str(folder))

    seen = reward_log_file.read(rows)
    every = [turns for pair in pairs() for turns in pair.values()]
    ids = made.processing_class.apply_chat_template(every, tokenize=True)["input_ids"]
    assert sorted(row.ids for row in seen if row.ids) == sorted(map(tuple, ids))
    found = against(Checkpoint(ModelSpec("saved", str(folder)), cache=tmp_path / "cache"), seen)
    assert [cause.name for cause in found.causes] == [accident] * bool(accident)


def test_rows_without_a_mask_are_whole(tmp_path: Path) -> None:
    """As those of a batch that needs no padding; of others only what is not masked is logged."""

    class FirstId(torch.nn.Module):
        def forward(self, input_ids: torch.Tensor, attention_mask: Any = None) -> SimpleNamespace:
            return SimpleNamespace(logits=input_ids[:, :1].float())

    model, ids = FirstId().eval(), torch.tensor([[1, 2, 3], [4, 5, 6]])
    seen = SeenRows(model, tmp_path / "rows.jsonl")
    model(input_ids=ids)
    model(input_ids=ids[:1], attention_mask=torch.tensor([[1, 1, 0]]))
    seen.write()

    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [(row["ids"], row["reward"]) for row in map(json.loads, lines)] == [
        ([1, 2, 3], 1.0),
        ([4, 5, 6], 4.0),
        ([1, 2], 1.0),
    ]


def test_what_cannot_be_is_refused(trainer: Callable[..., RewardTrainer]) -> None:
    """Before anything is trained."""
    made = trainer()
    with pytest.raises(SpecError, match="allowed: 'evaluate' or 'save'"):
        AuditCallback(made, on="step")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="allowed: a number from 1, or a list of texts"):
        AuditCallback(made, words=0)
    with pytest.raises(SpecError, match="1 of the words of AuditCallback stand there twice"):
        AuditCallback(made, words=["love", "war", "love"])
    with pytest.raises(SpecError, match=r"unknown audit 'positive-skew'.* mean 'positive_skew'"):
        AuditCallback(made, audits=["positive-skew"])
    with pytest.raises(SpecError, match="there is no folder '/none'; make it"):
        AuditCallback(made, rows="/none/rows.jsonl")
    made.processing_class.chat_template = None
    with pytest.raises(SpecError, match="has no chat template"):
        AuditCallback(made)


def test_audits_that_cannot_be_run(trainer: Callable[..., RewardTrainer]) -> None:
    """The first time they end the training, for they would each time; later they are a warning."""
    made = trainer()
    callback = AuditCallback(made, audits=[declared(0.0)], words=GOOD + BAD, stop_on=["good"])
    made.add_callback(callback)
    with pytest.raises(SpecError, match="stop_on names 'good', allowed: good_is_paid"):
        trained(made)

    made = trainer()
    callback = AuditCallback(made, audits=[declared(0.0)], words=GOOD + BAD)

    class Breaking(TrainerCallback):  # type: ignore[misc]
        """Something that was there once is gone."""

        def on_evaluate(self, *_: object, **__: object) -> None:
            """After the first audit."""
            callback.audits = ["gone"]

    made.add_callback(callback)
    made.add_callback(Breaking())
    with pytest.warns(UserWarning, match="could not be run: SpecError: unknown audit 'gone'"):
        made.train()

    assert made.state.global_step == 6
    assert len(curve(made, "rmaudit/good_is_paid")) == 1


@pytest.mark.nightly
def test_two_processes_stop_together(base: Path, tmp_path: Path) -> None:
    """One audits; what fails, and what cannot be run, ends both, and neither waits for ever.

    The curves stand in Trackio's store, as its own command reads it.
    """
    script = Path(__file__).with_name("two_processes.py")
    env = {**os.environ, "TRACKIO_DIR": str(tmp_path / "trackio")}

    def python(*command: str) -> str:
        launch = [sys.executable, "-m", *command]
        done = subprocess.run(
            launch, check=False, capture_output=True, text=True, env=env, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    ranks = ["torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    python(*ranks, str(script), str(base), str(tmp_path))

    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    assert [each["steps"] for each in found] == [[2, 2], [2, 2]]
    assert all("stop_on names 'good-is-paid', allowed: good_is_paid" in f["said"] for f in found)
    for name in ("rmaudit/good_is_paid", "rmaudit/good_is_paid/low", "rmaudit/good_is_paid/high"):
        asked = ["--project", "rm", "--run", "toy", "--metric", f"train/{name}", "--json"]
        stored = json.loads(python("trackio.cli", "get", "metric", *asked))["values"]
        logged = [each[name] for each in found[0]["log"] if name in each]
        assert [each["value"] for each in stored] == logged
        assert len(logged) == 1
