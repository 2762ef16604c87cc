"""Accidents of trainers, planted in rewards of transformers: each is named, and no other.

Rewards are those of transformers' own classifier on padded batches, as trainers run it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.trainer_reward_positions import fits
from rmaudit.scores import reward_log_file
from rmaudit.scores.logged_rewards_check import against
from tests.models.loaded import retensor
from tests.scores.lines import written
from tests.toys import TEMPLATE, WORDS, toy_checkpoint, toy_tokenizer

ROWS, BATCH = 12, 4
Rewards = np.ndarray[Any, Any]


class Trainer:
    """A reward model with its tokenizer, pairs of many lengths, and transformers' rewards of them.

    The tokenizer adds a BOS, and the template prints one.
    """

    def __init__(self, home: Path) -> None:
        tokenizer = toy_tokenizer(template="{{- bos_token -}}" + TEMPLATE)
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", tokenizer.bos_token_id)]
        )
        self.folder = toy_checkpoint(home / "rm", tokenizer=tokenizer)
        retensor(self.folder, lambda tensors: tensors["model.norm.weight"].uniform_(0.2, 2))
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        rng = np.random.default_rng(0)

        def words(most: int) -> str:
            return " ".join(rng.choice(WORDS, size=int(rng.integers(1, most))))

        self.pairs = [(f"{words(6)}?", words(12)) for _ in range(ROWS)]
        turns = [
            [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
            for prompt, answer in self.pairs
        ]
        self.texts = [self.tokenizer.apply_chat_template(each, tokenize=False) for each in turns]
        self.start = self.tokenizer.convert_tokens_to_ids("<|start|>")
        self.clean = self.rewards()

    def ids(self, texts: Sequence[str] = (), *, special: bool = False) -> list[list[int]]:
        """The rows that a trainer makes of texts, by default of the pairs in the chat template."""
        given = texts or self.texts
        return [self.tokenizer(text, add_special_tokens=special).input_ids for text in given]

    @torch.inference_mode()
    def rewards(
        self,
        rows: list[list[int]] | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        pad: int = 0,
        read: Callable[[Any, Any], Any] | None = None,
        left: bool = False,
    ) -> Rewards:
        """Rewards in padded batches; `read` takes them from logits of all places."""
        rows = rows or self.ids()
        model = _model(self.folder, dtype)
        model.config.pad_token_id = pad
        rewards = []
        for k in range(0, len(rows), BATCH):
            batch = rows[k : k + BATCH]
            longest = max(map(len, batch))
            fill = [[pad] * (longest - len(row)) for row in batch]
            ids = [f + r if left else r + f for f, r in zip(fill, batch, strict=True)]
            ones = [[1] * len(row) for row in batch]
            zeros = [[0] * len(f) for f in fill]
            mask = [z + o if left else o + z for z, o in zip(zeros, ones, strict=True)]
            given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
            if read is None:
                rewards += model(**given).logits[:, 0].float().tolist()
            else:
                every = model.score(model.base_model(**given).last_hidden_state)[..., 0].float()
                rewards += read(every, given["attention_mask"]).tolist()
        return np.array(rewards)

    @torch.inference_mode()
    def of_states(self, read: Callable[[Any, Any], Any]) -> Rewards:
        """What is read off the states at the rows' ends and the head's weights."""
        model = _model(self.folder, torch.float32)
        states = [model.model(torch.tensor([row])).last_hidden_state[0, -1] for row in self.ids()]
        return np.array(read(torch.stack(states), model.score.weight[0]).tolist())

    def until_the_answer(self) -> list[list[int]]:
        """The rows as far as the template prints before an answer."""
        start, size = self.start, len(self.ids(["<|start|>assistant\n"])[0])
        return [row[: len(row) - 1 - row[::-1].index(start) + size] for row in self.ids()]

    def of_pairs(self, rewards: Rewards) -> list[dict[str, Any]]:
        """The pairs as they are logged."""
        rows = zip(self.pairs, rewards.tolist(), strict=True)
        return [{"prompt": q, "response": a, "reward": r} for (q, a), r in rows]


@lru_cache
def _model(folder: Path, dtype: torch.dtype) -> Any:
    return AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype).eval()


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    """The same for all tests."""
    return Trainer(tmp_path_factory.mktemp("rm"))


def rows_of(key: str, values: Sequence[Any], rewards: Rewards) -> list[dict[str, Any]]:
    """Rows as they are logged."""
    return [{key: v, "reward": r} for v, r in zip(values, rewards.tolist(), strict=True)]


def causes(trainer: Trainer, path: Path, rows: Sequence[dict[str, Any]]) -> list[str]:
    """The names of what the doctor says of these rows."""
    model = Checkpoint(ModelSpec("toy", str(trainer.folder)), cache=trainer.folder.parent / "cache")
    found = against(model, reward_log_file.read(written(path, *rows)))
    assert found.ok == (not found.causes)
    return [cause.name for cause in found.causes]


@pytest.mark.slow
def test_clean_rows_are_named_clean(trainer: Trainer, tmp_path: Path) -> None:
    """Ids, with padding and without; texts; prompts with answers; rewards of two digits."""
    rows, rewards = trainer.ids(), trainer.clean
    longest = max(map(len, rows))
    pads = [[0] * (longest - len(row)) for row in rows]
    for log in [
        rows_of("ids", rows, rewards),
        rows_of("ids", [row + pad for row, pad in zip(rows, pads, strict=True)], rewards),
        rows_of("ids", [pad + row for row, pad in zip(rows, pads, strict=True)], rewards),
        rows_of("text", trainer.texts, rewards),
        rows_of("ids", rows, rewards.round(2)),
        trainer.of_pairs(rewards),
    ]:
        assert causes(trainer, tmp_path / "rows.jsonl", log) == []


def at_mask_sum(every: Any, mask: Any) -> Any:
    """As trainers read that pad on the right."""
    return every.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]


def random_rewards(every: Any, mask: Any) -> Any:
    """Rewards that no head of this model gives."""
    return torch.randn(len(mask), generator=torch.Generator().manual_seed(int(mask.sum())))


PLANTED: dict[str, Callable[[Trainer], Rewards]] = {  # rewards that are logged beside the texts
    "second BOS": lambda t: t.rewards(t.ids(special=True)),
    "no BOS": lambda t: t.rewards([row[1:] for row in t.ids()]),
    "eos": lambda t: t.rewards([[*row, t.tokenizer.eos_token_id] for row in t.ids()]),
    "left padding": lambda t: t.rewards(left=True, read=at_mask_sum),
    "pad is eos": lambda t: t.rewards(pad=t.tokenizer.convert_tokens_to_ids("<|end|>")),
    "head": lambda t: t.rewards(read=random_rewards),
    "bfloat16": lambda t: t.rewards(dtype=torch.bfloat16),
    "unit state": lambda t: t.of_states(lambda states, head: (states @ head) / states.norm(dim=1)),
    "last number": lambda t: t.of_states(lambda states, _: states[:, -1]),
    "unit last number": lambda t: t.of_states(lambda states, _: states[:, -1] / states.norm(dim=1)),
    "prompt's end": lambda t: t.rewards(t.until_the_answer()),
    "sign": lambda t: -t.clean,
    "scale": lambda t: (t.clean - 0.3) / 2.5,
    "offset": lambda t: t.clean - 0.7,
    "sigmoid": lambda t: 1 / (1 + np.exp(-t.clean)),
    "swapped pairs": lambda t: t.clean[np.arange(ROWS) ^ 1],
    "swapped rows": lambda t: t.clean[np.random.default_rng(3).permutation(ROWS)],
    "second BOS, sign": lambda t: -t.rewards(t.ids(special=True)),
}


@pytest.mark.slow
@pytest.mark.parametrize("accidents", PLANTED)
def test_a_planted_accident_is_named(trainer: Trainer, tmp_path: Path, accidents: str) -> None:
    """It, and nothing besides; two at once are both named."""
    rows = rows_of("text", trainer.texts, PLANTED[accidents](trainer))

    assert causes(trainer, tmp_path / "rows.jsonl", rows) == accidents.split(", ")


@pytest.mark.slow
def test_an_accident_is_named_whatever_was_logged(trainer: Trainer, tmp_path: Path) -> None:
    """Ids that ran, or pairs that somebody laid out."""
    two_bos = trainer.ids(special=True)
    plain = trainer.ids([f"{q}\n{a}" for q, a in trainer.pairs], special=True)
    for rows, name in [
        (rows_of("ids", two_bos, trainer.rewards(two_bos)), "second BOS"),
        (trainer.of_pairs(trainer.rewards(plain)), "no template"),
    ]:
        assert causes(trainer, tmp_path / "rows.jsonl", rows) == [name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda text: text.replace("user\n", "user\nYou are kind. ", 1), []),  # a prompt's own
        (lambda text: text.replace("<s>", "<s><|start|>system\nBe kind.<|end|>\n"), []),
        (lambda text: text.replace("user\n", "human\n"), ["template"]),
        (lambda text: text.replace("assistant\n", "model\n"), ["template"]),
    ],
)
def test_rows_in_another_template_are_told_though_rewards_are_equal(
    trainer: Trainer, tmp_path: Path, change: Callable[[str], str], named: list[str]
) -> None:
    """The rows are those that were scored; an audit lays out its own by the model's template."""
    rows = trainer.ids([change(text) for text in trainer.texts])
    log = rows_of("ids", rows, trainer.rewards(rows))

    assert causes(trainer, tmp_path / "rows.jsonl", log) == named


@pytest.mark.parametrize("any_order", [True, False])
def test_rewards_that_are_all_equal_explain_nothing(*, any_order: bool) -> None:
    """As where a place is read that is the same in every row."""
    logged = np.linspace(0.9, 1.0, 12)
    assert not list(fits(np.full(12, 7.6), logged, 1e-3, any_order=any_order))
    assert list(fits(logged[::-1].copy(), logged, 1e-3, any_order=any_order))


@pytest.mark.slow
def test_the_command_says_how_to_mend_it(trainer: Trainer, tmp_path: Path) -> None:
    """With exit code 1, or 0 for rewards that are equal."""
    path = tmp_path / "rows.jsonl"
    asked = ["doctor", str(trainer.folder), "--against", str(path)]
    asked += ["--cache", str(tmp_path / "cache")]
    written(path, *rows_of("text", trainer.texts, -trainer.clean))
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 1
    assert "  sign: the rewards have the opposite sign\n    to mend it: look for a" in said.stdout
    written(path, *rows_of("text", trainer.texts, trainer.clean))
    clean = CliRunner().invoke(app, [*asked, "--json"])
    assert clean.exit_code == 0
    assert json.loads(clean.stdout)["causes"] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"ids": [1, "a"], "reward": 1}', ":1: ids is [1, 'a'], allowed: a list of token ids"),
        ('{"text": "a", "reward": "high"}', ":1: reward is 'high', allowed: a finite number"),
        ('{"text": "a", "reward": 1%s}' % ("0" * 400), ":1: reward is 1000"),
        ('{"text": "a", "reward": NaN}', ":1: reward is nan, allowed: a finite number"),
        ('{"text": "a", "reward": true}', ":1: reward is True, allowed: a finite number"),
        ('{"text": "a", "reward": 1.5}\n' * 8, ": 8 rows have one reward, 1.5, and no two"),
        ('{"text": "a", "reward": 1}\n{"ids": [1], "reward": 1}', ":2: rows before it have other"),
    ],
)
def test_odd_rows_are_refused(tmp_path: Path, line: str, said: str) -> None:
    """With file and line."""
    path = tmp_path / "rows.jsonl"
    path.write_text(line)
    with pytest.raises(SpecError) as caught:
        reward_log_file.read(path)
    assert str(caught.value).startswith(str(path) + said)
