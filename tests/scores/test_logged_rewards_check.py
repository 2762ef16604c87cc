"""Accidents of trainers, planted in rewards of transformers: each is named, and no other.

Rewards are those of transformers' own classifier on padded batches, as trainers run it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import SpecError
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.models.reward_positions import fits
from rmaudit.scores import logged_rows
from rmaudit.scores.logged_rewards_check import Diagnosis, against
from tests.toys import TEMPLATE, WORDS, toy_checkpoint, toy_tokenizer

ROWS, BATCH = 48, 4
Rewards = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model whose tokenizer adds a BOS, and whose template prints one."""
    tokenizer = toy_tokenizer(template="{{- bos_token -}}" + TEMPLATE)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.bos_token_id)]
    )
    return toy_checkpoint(tmp_path_factory.mktemp("rm") / "rm", tokenizer=tokenizer)


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    """The model's tokenizer, as a trainer reads it."""
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """Prompts and answers of many lengths."""
    rng = np.random.default_rng(0)

    def words(most: int) -> str:
        return " ".join(rng.choice(WORDS, size=int(rng.integers(1, most))))

    return [(f"{words(6)}?", words(12)) for _ in range(ROWS)]


def turns(pair: tuple[str, str]) -> list[dict[str, str]]:
    """A prompt and an answer as a conversation."""
    prompt, answer = pair
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]


@pytest.fixture(scope="module")
def texts(tokenizer: Any, pairs: list[tuple[str, str]]) -> list[str]:
    """The pairs in the chat template."""
    return [tokenizer.apply_chat_template(turns(pair), tokenize=False) for pair in pairs]


def ids_of(tokenizer: Any, texts: Sequence[str], *, special: bool = False) -> list[list[int]]:
    """The rows that a trainer makes of texts."""
    return [tokenizer(text, add_special_tokens=special).input_ids for text in texts]


@torch.inference_mode()
def trained(
    folder: Path,
    rows: list[list[int]],
    *,
    dtype: torch.dtype = torch.float32,
    pad: int = 0,
    read: Callable[[Any, Any], Any] | None = None,
    left: bool = False,
) -> Rewards:
    """Transformers' rewards in padded batches; `read` takes them from logits of all places."""
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype).eval()
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


def diagnosed(folder: Path, path: Path, rows: Sequence[dict[str, Any]]) -> Diagnosis:
    """What the doctor says of these rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = Checkpoint(ModelSpec("toy", str(folder)), cache=folder.parent / "cache")
    return against(model, logged_rows.read(path))


def names(found: Diagnosis) -> list[str]:
    """The causes' names."""
    return [cause.name for cause in found.causes]


def rows_of(key: str, values: Sequence[Any], rewards: Rewards) -> list[dict[str, Any]]:
    """Rows as they are logged."""
    return [{key: v, "reward": r} for v, r in zip(values, rewards.tolist(), strict=True)]


def test_clean_rows_are_named_clean(
    folder: Path, tmp_path: Path, tokenizer: Any, texts: list[str], pairs: list[tuple[str, str]]
) -> None:
    """Ids, with padding and without; texts; prompts with answers; rewards of two digits."""
    rows = ids_of(tokenizer, texts)
    rewards = trained(folder, rows)
    longest = max(map(len, rows))
    logs = [
        rows_of("ids", rows, rewards),
        rows_of("ids", [row + [0] * (longest - len(row)) for row in rows], rewards),
        rows_of("ids", [[0] * (longest - len(row)) + row for row in rows], rewards),
        rows_of("text", texts, rewards),
        rows_of("ids", rows, rewards.round(2)),
        [
            {"prompt": prompt, "response": answer, "reward": float(reward)}
            for (prompt, answer), reward in zip(pairs, rewards, strict=True)
        ],
    ]
    for log in logs:
        found = diagnosed(folder, tmp_path / "rows.jsonl", log)
        assert names(found) == []
        assert found.ok


def at_mask_sum(every: Any, mask: Any) -> Any:
    """As trainers read that pad on the right."""
    return every.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]


def random_rewards(every: Any, mask: Any) -> Any:
    """Rewards that no head of this model gives."""
    return torch.randn(len(mask), generator=torch.Generator().manual_seed(int(mask.sum())))


PLANTED: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "second BOS": lambda f, t, x, p: rows_of(
        "text", x, trained(f, ids_of(t, x, special=True))
    ),
    "second BOS, ids": lambda f, t, x, p: rows_of(
        "ids", ids_of(t, x, special=True), trained(f, ids_of(t, x, special=True))
    ),
    "no BOS": lambda f, t, x, p: rows_of(
        "text", x, trained(f, [row[1:] for row in ids_of(t, x)])
    ),
    "no template": lambda f, t, x, p: [
        {"prompt": q, "response": a, "reward": r}
        for (q, a), r in zip(
            p, trained(f, ids_of(t, [f"{q}\n{a}" for q, a in p], special=True)).tolist(),
            strict=True,
        )
    ],
    "eos": lambda f, t, x, p: rows_of(
        "text", x, trained(f, [[*row, t.eos_token_id] for row in ids_of(t, x)])
    ),
    "left padding": lambda f, t, x, p: rows_of(
        "text", x, trained(f, ids_of(t, x), left=True, read=at_mask_sum)
    ),
    "pad is eos": lambda f, t, x, p: rows_of(
        "text", x, trained(f, ids_of(t, x), pad=t.convert_tokens_to_ids("<|end|>"))
    ),
    "head": lambda f, t, x, p: rows_of(
        "text", x, trained(f, ids_of(t, x), read=random_rewards)
    ),
    "bfloat16": lambda f, t, x, p: rows_of(
        "text", x, trained(f, ids_of(t, x), dtype=torch.bfloat16)
    ),
    "sign": lambda f, t, x, p: rows_of("text", x, -trained(f, ids_of(t, x))),
    "scale": lambda f, t, x, p: rows_of("text", x, (trained(f, ids_of(t, x)) - 0.3) / 2.5),
    "offset": lambda f, t, x, p: rows_of("text", x, trained(f, ids_of(t, x)) - 0.7),
    "sigmoid": lambda f, t, x, p: rows_of(
        "text", x, 1 / (1 + np.exp(-trained(f, ids_of(t, x))))
    ),
    "swapped pairs": lambda f, t, x, p: rows_of(
        "text", x, trained(f, ids_of(t, x))[np.arange(ROWS) ^ 1]
    ),
    "swapped rows": lambda f, t, x, p: rows_of(
        "text", x, trained(f, ids_of(t, x))[np.random.default_rng(3).permutation(ROWS)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("accident", PLANTED)
def test_a_planted_accident_is_named(
    folder: Path, tmp_path: Path, tokenizer: Any, texts: list[str], pairs: list[tuple[str, str]],
    *, accident: str,
) -> None:  # fmt: skip
    """It, and nothing besides."""
    rows = PLANTED[accident](folder, tokenizer, texts, pairs)
    found = diagnosed(folder, tmp_path / "rows.jsonl", rows)
    assert names(found) == [accident.partition(",")[0]]
    assert not found.ok


def test_two_accidents_at_once_are_both_named(
    folder: Path, tmp_path: Path, tokenizer: Any, texts: list[str]
) -> None:
    """A second BOS, and the opposite sign."""
    rewards = -trained(folder, ids_of(tokenizer, texts, special=True))
    found = diagnosed(folder, tmp_path / "rows.jsonl", rows_of("text", texts, rewards))
    assert names(found) == ["second BOS", "sign"]


@pytest.mark.parametrize("any_order", [True, False])
def test_rewards_that_are_all_equal_explain_nothing(*, any_order: bool) -> None:
    """As where a place is read that is the same in every row."""
    logged = np.linspace(0.9, 1.0, 12)
    assert not list(fits(np.full(12, 7.6), logged, 1e-3, any_order=any_order))
    assert list(fits(logged[::-1].copy(), logged, 1e-3, any_order=any_order))


def test_the_command_says_how_to_mend_it(
    folder: Path, tmp_path: Path, tokenizer: Any, texts: list[str]
) -> None:
    """With exit code 1, or 0 for rewards that are equal."""
    rewards = trained(folder, ids_of(tokenizer, texts))
    path = tmp_path / "rows.jsonl"
    asked = ["doctor", str(folder), "--against", str(path), "--cache", str(tmp_path / "cache")]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows_of("text", texts, -rewards)))
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 1
    assert "  sign: the rewards have the opposite sign\n    to mend it: look for a" in said.stdout
    path.write_text("".join(json.dumps(r) + "\n" for r in rows_of("text", texts, rewards)))
    clean = CliRunner().invoke(app, [*asked, "--json"])
    assert clean.exit_code == 0
    assert json.loads(clean.stdout)["causes"] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"ids": [1]}', ":1: it has ids; expected an object with `reward`, and `ids`"),
        ('{"ids": [1, "a"], "reward": 1}', ":1: ids is [1, 'a'], allowed: a list of token ids"),
        ('{"text": "a", "reward": "high"}', ":1: reward is 'high', allowed: a finite number"),
        ('{"text": "a", "reward": 1.5}', ": 1 rows, needed: at least 8"),
        ('{"text": "a", "reward": 1}\n{"ids": [1], "reward": 1}', ":2: rows before it have other"),
    ],
)
def test_odd_rows_are_refused(tmp_path: Path, line: str, said: str) -> None:
    """With file and line."""
    path = tmp_path / "rows.jsonl"
    path.write_text(line)
    with pytest.raises(SpecError) as caught:
        logged_rows.read(path)
    assert str(caught.value).startswith(str(path) + said)
