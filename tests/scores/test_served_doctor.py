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
from rmaudit.sources.openrlhf_endpoint import ServedTexts
from rmaudit.sources.served_model import ServedIds
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


def as_served(
    local: Checkpoint, changed: Callable[[float], float] = float, **settings: Any
) -> Served:
    """A server that has this checkpoint's rewards, changed."""
    lock = threading.Lock()

    def reward(row: Any) -> float:
        if isinstance(row, str):
            row = tuple(local.tokenizer(row, add_special_tokens=False).input_ids)
        with lock:
            return changed(float(local.own_rewards([row])[0]))

    return Served(reward=reward, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vllm", "sglang", "openrlhf"])
def test_a_server_of_the_checkpoint_passes(kind: str, local: Checkpoint, tmp_path: Path) -> None:
    """With the ranks of the checkpoint."""
    exact = checked(as_served(local), local, tmp_path, kind)

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
    wider = checkpoint(Path(local.spec.source))
    rounded = as_served(wider, lambda one: float(torch.tensor(one, dtype=torch.bfloat16)))

    found = checked(rounded, wider, tmp_path)

    assert found.ok
    assert found.dtype in {"bfloat16", "float16"}


@pytest.mark.slow
def test_rewards_that_rest_on_neighbours_fail(local: Checkpoint, tmp_path: Path) -> None:
    """An answer that is asked alone has another reward than among others."""

    def alone(answer: Any) -> Any:
        rewards = answer["rewards"]
        return {"rewards": [rewards[0] + 5]} if len(rewards) == 1 else answer

    found = checked(as_served(local, change=alone), local, tmp_path, "openrlhf")

    failed = [check.name for check in found.checks if not check.ok]
    assert failed == ["the server, alone against in batches"]


@pytest.mark.slow
def test_another_scale_fails_and_is_named(local: Checkpoint, tmp_path: Path) -> None:
    """The same order and another scale, as OpenRLHF's --normalize_reward has it."""
    found = checked(as_served(local, lambda reward: 3 * reward + 1), local, tmp_path)

    assert not found.ok
    assert found.rank_correlation == pytest.approx(1, abs=1e-3)
    assert "in no dtype" in found.notes[0]
    assert "normalize_reward" in found.notes[1]
    assert "3 times the checkpoint's and +1" in found.notes[2]


@pytest.mark.slow
def test_another_model_fails(local: Checkpoint, tmp_path: Path) -> None:
    """Rewards of nothing that the checkpoint knows; and one reward for all is refused."""
    rng = np.random.default_rng(0)

    found = checked(Served(reward=lambda _: float(rng.normal())), local, tmp_path)

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
        checked(Served(reward=lambda _: 3.0), local, tmp_path)


# What a server may have read


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The folder of an adapter with a head of its own; transformers' base, and PEFT's merged one.

    Its states have many lengths.
    """
    home = tmp_path_factory.mktemp("adapted")
    base = toy_checkpoint(home / "base", seed=1)
    retensor(base, lambda tensors: tensors["model.norm.weight"].uniform_(0.2, 2))
    own, tuned, whole = (
        AutoModelForSequenceClassification.from_pretrained(base).eval() for _ in range(3)
    )
    settings = {"task_type": "SEQ_CLS", "target_modules": ["q_proj", "up_proj"]}
    folder = save_adapter(tuned, home / "adapter", **settings)
    return {"folder": folder, "base": own, "adapter": merged(whole, folder)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "states", "head"),
    [("no adapter", "base", "adapter"), ("base", "base", "base"), ("base head", "adapter", "base")],
)
def test_a_server_without_its_adapter_is_named(
    adapted: dict[str, Any], tmp_path: Path, name: str, states: str, head: str
) -> None:
    """Its LoRA was not applied, its head was not, or neither, though the server took it."""
    lock = threading.Lock()

    def reward(row: Any) -> float:
        with lock, torch.inference_mode():
            state = adapted[states].model(torch.tensor([row])).last_hidden_state[0, -1]
            return float(adapted[head].score.weight[0] @ state)

    here = checkpoint(adapted["folder"], cache=tmp_path, dtype="float32")
    found = checked(Served(reward=reward), here, tmp_path, answers=32)

    assert not found.ok
    assert found.notes[1].startswith(f"{name}: the adapter")
    assert all(part in found.notes[1] for part in ("missing", "to mend it: ", "merge_and_unload"))


@pytest.mark.parametrize(
    ("softmax", "said"),
    [
        (False, r"one reward: .* at id (\d+) of the \1 before"),
        (True, "one reward: 1, as a softmax"),
    ],
)
def test_a_server_with_one_reward_for_all_is_named(
    local: Checkpoint, tmp_path: Path, softmax: bool, said: str
) -> None:
    """It reads before the answer, where the checkpoint has that reward; or gives shares of one."""
    before = 1.0 if softmax else float(local.own_rewards([local.slot(PROMPT).prefix])[0])
    served = Served(reward=lambda _: before)

    with pytest.raises(ModelError, match=said):
        checked(served, local, tmp_path, "openrlhf", 8)


@pytest.mark.slow
def test_texts_without_the_template_are_named(local: Checkpoint, tmp_path: Path) -> None:
    """An endpoint without `tokenizer` is sent prompt and answer as one text."""
    found = checked(as_served(local), local, tmp_path, "openrlhf", version="1")

    assert found.notes[1].startswith("no template: ")


@pytest.mark.slow
@pytest.mark.parametrize("template", [TEMPLATE, TEMPLATE.replace("<|end|>", "</s>"), None])
def test_a_servers_own_template_is_compared(
    local: Checkpoint, tmp_path: Path, template: str | None
) -> None:
    """What its template prints for messages; the rewards of ids do not depend on it."""
    theirs = toy_tokenizer(template=template)

    def rendered(messages: list[dict[str, str]]) -> list[int]:
        ids: list[int] = theirs.apply_chat_template(messages, return_dict=False)
        return ids

    served = as_served(local, rendered=None if template is None else rendered)
    found = checked(served, local, tmp_path, answers=8)

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
