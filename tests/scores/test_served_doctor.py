"""The doctor passes servers that score as their checkpoint does, and no others."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.model_factory import Opening, opened
from rmaudit.scores.served_doctor import ServerChecks, compare
from rmaudit.sources.served_model import ServedIds, ServedTexts
from tests.checkpoints.folders import merged, save_adapter
from tests.models.loaded import checkpoint, retensor
from tests.servers import Running, Served
from tests.toys import TEMPLATE, WORDS, toy_checkpoint, toy_tokenizer

PROMPT = "the love of the city?"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A checkpoint, to be compared with in float32 alone."""
    return checkpoint(toy_checkpoint(tmp_path_factory.mktemp("toy") / "rm"), dtype="float32")


def checked(
    served: Served,
    local: Checkpoint | None,
    cache: Path,
    kind: str = "vllm",
    answers: int = 16,
    **entry: str,
) -> ServerChecks:
    """The doctor's findings of a server, compared with a checkpoint."""
    if local is not None and not entry:
        entry = {"checkpoint": local.spec.source}
    with Running(served) as server:
        path = "/get_reward" if kind == "openrlhf" else ""
        model = opened(ModelSpec("house", f"{kind}+{server.url}{path}", **entry), Opening(cache))
        assert isinstance(model, ServedIds | ServedTexts)
        return compare(model, local, PROMPT, answers=answers)


def compared(
    local: Checkpoint,
    kind: str,
    tmp_path: Path,
    change: Callable[[float], float],
    answer: Callable[[Any], Any] = lambda answer: answer,
) -> ServerChecks:
    """The doctor's findings of a server that has this checkpoint's rewards, changed."""
    lock = threading.Lock()

    def reward(row: Any) -> float:
        if isinstance(row, str):
            row = tuple(local.tokenizer(row, add_special_tokens=False).input_ids)
        with lock:
            return change(float(local.own_rewards([row])[0]))

    return checked(Served(reward=reward, change=answer), local, tmp_path, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vllm", "sglang", "openrlhf"])
def test_a_server_of_the_checkpoint_passes(kind: str, local: Checkpoint, tmp_path: Path) -> None:
    """With the ranks of the checkpoint."""
    exact = compared(local, kind, tmp_path, float)

    assert exact.ok
    assert (exact.dtype, exact.checks[-1].rms < 1e-4) == ("float32", True)
    assert exact.rank_correlation == pytest.approx(1)
    assert exact.notes == ("the server's scores fit the checkpoint in float32",)


def test_a_server_without_a_checkpoint_is_compared_with_itself(tmp_path: Path) -> None:
    """And how to name one is said."""
    found = checked(Served(), None, tmp_path, "openrlhf", 8, version="1")

    assert (found.ok, found.rank_correlation) == (True, None)
    assert "`checkpoint`" in found.notes[0]


@pytest.mark.slow
def test_a_server_that_rounds_its_rewards_passes(local: Checkpoint, tmp_path: Path) -> None:
    """To bfloat16; rounded only, they are nearer than the checkpoint in either 16-bit type."""
    found = compared(
        checkpoint(Path(local.spec.source)),
        "vllm",
        tmp_path,
        lambda reward: float(torch.tensor(reward, dtype=torch.bfloat16)),
    )

    assert found.ok
    assert found.dtype in {"bfloat16", "float16"}


@pytest.mark.slow
def test_rewards_that_rest_on_neighbours_fail(local: Checkpoint, tmp_path: Path) -> None:
    """An answer that is asked alone has another reward than among others."""

    def alone(answer: Any) -> Any:
        rewards = answer["rewards"]
        return {"rewards": [rewards[0] + 5]} if len(rewards) == 1 else answer

    found = compared(local, "openrlhf", tmp_path, float, alone)

    failed = [check.name for check in found.checks if not check.ok]
    assert failed == ["the server, alone against in batches"]


@pytest.mark.slow
def test_another_scale_fails_and_is_named(local: Checkpoint, tmp_path: Path) -> None:
    """The same order and another scale, as OpenRLHF's --normalize_reward has it."""
    found = compared(local, "vllm", tmp_path, lambda reward: 3 * reward + 1)

    assert not found.ok
    assert found.rank_correlation == pytest.approx(1, abs=1e-3)
    assert "in no dtype" in found.notes[0]
    assert "normalize_reward" in found.notes[1]
    assert "3 times the checkpoint's and +1" in found.notes[2]


@pytest.mark.slow
def test_another_model_fails(local: Checkpoint, tmp_path: Path) -> None:
    """Rewards of nothing that the checkpoint knows; and one reward for all is refused."""
    rng = np.random.default_rng(0)

    found = compared(local, "vllm", tmp_path, lambda _: float(rng.normal()))

    assert not found.ok
    judged = [check for check in found.checks if check.allowed_rms is not None]
    assert len(judged) == 3
    assert not any(check.ok for check in judged)
    assert found.rank_correlation is not None
    assert abs(found.rank_correlation) < 0.9
    assert "none of the causes that rmaudit knows" in found.notes[-1]
    with pytest.raises(
        ModelError, match="its server gives 3 for each of 8 answers; serve a reward model"
    ):
        compared(local, "vllm", tmp_path, lambda _: 3.0)


# What a server may have read


class Reader:
    """A checkpoint whose states have many lengths, an adapter of it, and what servers read there.

    The adapter has a head of its own. All is computed by transformers' and PEFT's classes.
    """

    def __init__(self, home: Path) -> None:
        self.base = toy_checkpoint(home / "base", seed=1)
        retensor(self.base, lambda tensors: tensors["model.norm.weight"].uniform_(0.2, 2))
        settings = {"task_type": "SEQ_CLS", "target_modules": ["q_proj", "up_proj"]}
        self.adapter = save_adapter(self.load(self.base), home / "adapter", **settings)
        self.models = {"base": self.load(self.base)}
        self.models["adapter"] = merged(self.load(self.base), self.adapter)
        self.lock = threading.Lock()

    @staticmethod
    def load(folder: Path) -> Any:
        """Transformers' own class."""
        return AutoModelForSequenceClassification.from_pretrained(folder).eval()

    @torch.inference_mode()
    def state(self, row: Any, model: str = "base") -> torch.Tensor:
        """The state at the row's last id."""
        with self.lock:
            return self.models[model].model(torch.tensor([row])).last_hidden_state[0, -1]

    @torch.inference_mode()
    def head(self, state: torch.Tensor, model: str = "base") -> float:
        """The reward that this model's head reads off a state."""
        return float(self.models[model].score.weight[0] @ state)

    def explained(self, read: Callable[[Any], float], served: Path, cache: Path) -> str:
        """What the doctor says of a server that reads so in place of the model in a folder."""
        here = checkpoint(served, cache=cache, dtype="float32")
        found = checked(Served(reward=read), here, cache, answers=32)
        assert not found.ok
        return found.notes[1]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """One for all tests of this file."""
    return Reader(tmp_path_factory.mktemp("reader"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "states", "head"),
    [("no adapter", "base", "adapter"), ("base", "base", "base"), ("base head", "adapter", "base")],
)
def test_a_server_without_its_adapter_is_named(
    reader: Reader, tmp_path: Path, name: str, states: str, head: str
) -> None:
    """Its LoRA was not applied, its head was not, or neither, though the server took it."""
    said = reader.explained(
        lambda row: reader.head(reader.state(row, states), head), reader.adapter, tmp_path
    )

    assert said.startswith(f"{name}: the adapter")
    assert "missing" in said
    assert "merge_and_unload" in said


@pytest.mark.parametrize(
    ("softmax", "said"),
    [
        (False, r"one reward: .* at id (\d+) of the \1 before"),
        (True, "one reward: 1, as a softmax"),
    ],
)
def test_a_server_with_one_reward_for_all_is_named(
    reader: Reader, tmp_path: Path, softmax: bool, said: str
) -> None:
    """It reads before the answer, where the checkpoint has that reward; or gives shares of one."""
    local, tokenizer = checkpoint(reader.base, cache=tmp_path), toy_tokenizer()
    size = len(local.slot(PROMPT).prefix)

    def reward(text: str) -> float:
        ids = tokenizer(text, add_special_tokens=False).input_ids[:size]
        return 1.0 if softmax else reader.head(reader.state(ids))

    with pytest.raises(ModelError, match=said):
        checked(Served(reward=reward), local, tmp_path, "openrlhf", 8)


@pytest.mark.slow
def test_texts_without_the_template_are_named(reader: Reader, tmp_path: Path) -> None:
    """An endpoint without `tokenizer` is sent prompt and answer as one text."""
    tokenizer = toy_tokenizer()

    def reward(text: str) -> float:
        return reader.head(reader.state(tokenizer(text).input_ids))

    local = checkpoint(reader.base, cache=tmp_path)
    found = checked(Served(reward=reward), local, tmp_path, "openrlhf", version="1")

    assert found.notes[1].startswith("no template: ")


@pytest.mark.slow
@pytest.mark.parametrize("template", [TEMPLATE, TEMPLATE.replace("<|end|>", "</s>"), None])
def test_a_servers_own_template_is_compared(
    reader: Reader, tmp_path: Path, template: str | None
) -> None:
    """What its template prints for messages; the rewards of ids do not depend on it."""
    theirs = toy_tokenizer(template=template)

    def rendered(messages: list[dict[str, str]]) -> list[int]:
        ids: list[int] = theirs.apply_chat_template(messages, return_dict=False)
        return ids

    served = Served(
        reward=lambda row: reader.head(reader.state(row)),
        rendered=None if template is None else rendered,
    )
    found = checked(served, checkpoint(reader.base, cache=tmp_path), tmp_path, answers=8)

    assert found.ok
    other = [note for note in found.notes if "own chat template prints other ids" in note]
    assert len(other) == (template not in {TEMPLATE, None})
    assert all("</s>" in note and "`template:`" in note for note in other)


# Servers in 16 bits


class Deep:
    """A checkpoint of twelve layers and some 1,300 ids, and transformers' rewards for its rows.

    Sixteen bits move its rewards as far as those of models that are served.
    """

    def __init__(self, home: Path) -> None:
        pairs = [f"{one}{other}" for one in ascii_lowercase for other in ascii_lowercase]
        tokenizer = toy_tokenizer([*WORDS, *pairs[:500]])
        settings = {"num_hidden_layers": 12, "tokenizer": tokenizer}
        self.folders = [toy_checkpoint(home / f"rm{i}", seed=i, **settings) for i in (0, 1)]
        self.local = Checkpoint(ModelSpec("toy", str(self.folders[0])), cache=home / "cache")
        self.lock = threading.Lock()

    @cache  # noqa: B019  (it lives as long as the tests)
    def reward(self, row: Any, dtype: str, folder: int = 0) -> float:
        """In this dtype, as a server of this dtype has it: the reward is rounded to it too."""
        with self.lock, torch.inference_mode():
            return float(self.model(dtype, folder)(torch.tensor([row])).logits)

    @cache  # noqa: B019  (it lives as long as the tests)
    def model(self, dtype: str, folder: int) -> Any:
        """Transformers' own class."""
        return AutoModelForSequenceClassification.from_pretrained(
            self.folders[folder], dtype=getattr(torch, dtype)
        ).eval()

    def compared(self, reward: Callable[[Any], float], answers: int, cache: Path) -> ServerChecks:
        """The doctor's findings of a server with this reward of a row.

        For few answers the checkpoint is tried in float32 and bfloat16 only.
        """
        local = self.local
        if answers < 200:
            local = checkpoint(self.folders[0], cache=local.cache, dtype="bfloat16")
        return checked(Served(reward=reward), local, cache, answers=answers)


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Deep:
    """One for all tests of this file."""
    return Deep(tmp_path_factory.mktemp("deep"))


def slowly(*given: object) -> Any:
    """A case of many answers."""
    return pytest.param(*given, marks=[pytest.mark.slow, pytest.mark.nightly])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "answers"),
    [
        ("bfloat16", 64),
        *(slowly(dtype, 200) for dtype in ("float32", "float16")),
    ],
)
def test_a_faithful_server_passes_and_its_dtype_is_named(
    deep: Deep, dtype: str, answers: int, tmp_path: Path
) -> None:
    """Whatever it runs in, and however many answers are asked."""
    found = deep.compared(lambda row: deep.reward(row, dtype), answers, tmp_path)

    assert found.ok, found
    assert found.dtype == dtype
    assert f"fit the checkpoint in {dtype}" in found.notes[-1]
    assert not any("times" in note or "normalize" in note for note in found.notes)


WRONG: dict[str, tuple[Callable[[Deep, Any, str], float], str]] = {
    "other weights": (lambda deep, row, dtype: deep.reward(row, dtype, 1), "none of the causes"),
    "other template": (lambda deep, row, dtype: deep.reward(row[4:], dtype), "none of the causes"),
    "other pooling": (lambda deep, row, dtype: deep.reward(row[:-1], dtype), "one early"),
    "sigmoid": (
        lambda deep, row, dtype: 1 / (1 + math.exp(-deep.reward(row, dtype))),
        "sigmoid",
    ),
    "normalized": (lambda deep, row, dtype: (deep.reward(row, dtype) - 0.3) / 1.7, "normalize"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "dtype", "answers"),
    [
        ("sigmoid", "bfloat16", 64),
        slowly("other weights", "bfloat16", 64),
        *(slowly(fault, "bfloat16", 200) for fault in ("other template", "other pooling")),
        *(slowly(fault, "float32", 200) for fault in ("other weights", "sigmoid", "normalized")),
    ],
)
def test_a_wrong_server_fails_whatever_it_runs_in(
    deep: Deep, fault: str, dtype: str, answers: int, tmp_path: Path
) -> None:
    """By the comparison with the checkpoint, with a note on what may be other."""
    reward, said = WRONG[fault]

    found = deep.compared(lambda row: reward(deep, row, dtype), answers, tmp_path)

    assert not found.ok
    assert "in no dtype" in found.notes[0]
    assert said in " ".join(found.notes[1:])
