"""Checkpoints of every head family, as published: loaded whole, scored as their formula says.

Each toy has the exact tensor names of the published ones, at toy size with unequal axes. The
expected rewards are written here from the formulas, on transformers' own states of the full row.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModel

from rmaudit.checkpoints import head_detection, heads
from rmaudit.checkpoints.heads import encoder, gated, linear, verdict_logits
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.scoring import ScoringPath
from tests import published_layout
from tests.float64 import all_in_float64, assert_slopes
from tests.models.loaded import change, checkpoint, rows_of
from tests.published_formulas import reward
from tests.published_layout import bare_gate, normed_gate
from tests.toys import SIZES, toy_checkpoint, toy_tokenizer

PROMPT = "the love of the city"
TOKENIZER = toy_tokenizer()
PATTERN = tuple(TOKENIZER("<|end|>\n<|start|>", add_special_tokens=False).input_ids)
HIDDEN: int = SIZES["hidden_size"]
WIDTH = 7
Tensors, Shapes = dict[str, Tensor], dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Toy:
    """What is next to the backbone, what config.json says, and the reward of one row.

    `reward` has the tensors, the row's states (L, hidden) and the place of the gate's pattern.
    """

    kind: str
    config: dict[str, Any]
    shapes: Shapes
    reward: Callable[[Tensors, Tensor, int], Tensor]
    logit: int | None = None


def layer(name: str, after: int, before: int) -> Shapes:
    """A linear layer with a bias."""
    return {f"{name}.weight": (after, before), f"{name}.bias": (after,)}


def described(config: dict[str, Any], shapes: Shapes, kind: str = "llama") -> Toy:
    """A toy whose reward is written in `tests/published_formulas.py`."""
    return Toy(
        kind,
        config,
        shapes,
        lambda tensors, states, at: reward(tensors, states[-1], states[at], config),
    )


def two_layers(first: str, second: str) -> Callable[[Tensors, Tensor, int], Tensor]:
    """W₂ ReLU(W₁ x + b₁) + b₂."""

    def reward(tensors: Tensors, states: Tensor, _: int) -> Tensor:
        inner = tensors[f"{first}.weight"] @ states[-1] + tensors[f"{first}.bias"]
        return (tensors[f"{second}.weight"] @ inner.clamp(min=0) + tensors[f"{second}.bias"])[0]

    return reward


def one_layer(name: str) -> Callable[[Tensors, Tensor, int], Tensor]:
    """W x + b."""
    return lambda tensors, states, _: (
        tensors[f"{name}.weight"] @ states[-1] + tensors[f"{name}.bias"]
    )[0]


def gating(architecture: str, objectives: int, **more: Any) -> dict[str, Any]:
    """What config.json says of a head with a gate."""
    return {
        "architectures": [architecture],
        "num_objectives": objectives,
        "gating_temperature": 2.5,
        "gating_hidden_dim": published_layout.WIDTH,
        **more,
    }


GATED, QUANTILE = "LlamaForRewardModelWithGating", "Gemma2ForQuantileSequenceClassification"
LAYERS = {**layer("score.0", HIDDEN, HIDDEN), **layer("score.2", 1, HIDDEN)}
FAMILIES = {
    "ArmoRM": described(
        gating(GATED, 5),
        {
            "regression_layer.weight": (5, HIDDEN),
            "reward_transform_matrix": (5, 5),
            **bare_gate(5),
        },
    ),
    "QRM-Llama": described(
        gating(GATED, 4, num_quantiles=3),
        {
            "regression_layer.weight": (12, HIDDEN),
            "reward_transform_matrix": (4, 4),
            **normed_gate(4, 3),
        },
    ),
    "QRM-Gemma": described(
        gating(QUANTILE, 5, num_quantiles=3, gating_temperature=1),
        {"regression_layer.weight": (15, HIDDEN), **normed_gate(5, 4)},
        "gemma2",
    ),
    "URM": described(
        {"architectures": ["LlamaForSequenceClassificationWithNormal_Weights"]},
        {
            "score.weight": (6, HIDDEN),
            **layer("weights.fc.0", HIDDEN, HIDDEN),
            **layer("weights.fc.2", HIDDEN, HIDDEN),
            **layer("weights.fc.4", 3, HIDDEN),
        },
    ),
    "GRM": Toy(
        "llama",
        {"architectures": ["LlamaForCausalLM"]},
        {
            "lm_head.weight": (len(TOKENIZER), HIDDEN),
            **layer("v_head.summary.0", WIDTH, HIDDEN),
            **layer("v_head.summary.2", 1, WIDTH),
        },
        two_layers("v_head.summary.0", "v_head.summary.2"),
    ),
    "OpenRLHF": Toy(
        "llama",
        {"value_head_prefix": "value_head", "normalize_reward": True, "mean": 0.5, "std": 2.0},
        {"value_head.weight": (1, HIDDEN)},
        lambda tensors, states, _: ((tensors["value_head.weight"] @ states[-1])[0] - 0.5) / 2,
    ),
    "Athene": Toy(
        "llama",
        {"architectures": ["CustomAutoModelForSequenceClassification"], "vocab_size": 128256},
        {"model.embed_tokens.weight": (128256, HIDDEN), "v_head.weight": (1, HIDDEN)},
        lambda tensors, states, _: (tensors["v_head.weight"] @ states[-1])[0],
    ),
    "LLaMA-Factory v1": Toy(
        "llama",
        {"architectures": ["LlamaForTokenClassification"]},
        layer("score", 1, HIDDEN),
        one_layer("score"),
    ),
    "verl's critic of GPT-2": Toy(
        "gpt2",
        {"architectures": ["GPT2ForTokenClassification"]},
        layer("classifier", 1, HIDDEN),
        one_layer("classifier"),
    ),
    "INF-ORM": Toy(
        "llama",
        {"architectures": ["INFORMForSequenceClassification"]},
        LAYERS,
        two_layers("score.0", "score.2"),
    ),
    "Qwen2.5-RM": Toy(
        "qwen2",
        {"architectures": ["Qwen2ForRewardModel"]},
        LAYERS,
        two_layers("score.0", "score.2"),
    ),
    "Nemotron": Toy(
        "llama",
        {"architectures": ["LlamaForCausalLM"]},
        {"lm_head.weight": (len(TOKENIZER), HIDDEN)},
        lambda tensors, states, _: tensors["lm_head.weight"][2] @ states[-1],
        logit=2,
    ),
}


@pytest.fixture(autouse=True)
def pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends the user's turn with the toys' tokenizer."""
    for kind in ("llama", "gemma2"):
        monkeypatch.setitem(gated.PATTERNS, kind, PATTERN)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of each family, made when first asked for, which the tests leave as it is."""
    home = tmp_path_factory.mktemp("families")
    return lambda name: (
        home / name if (home / name).exists() else published(home / name, FAMILIES[name])
    )


def published(folder: Path, toy: Toy) -> Path:
    """The toy as a folder: a backbone, its head's tensors with it, its own config.json."""
    toy_checkpoint(folder, kind=toy.kind)
    tensors = load_file(folder / "model.safetensors")
    del tensors["score.weight"]
    draw = torch.Generator().manual_seed(1)
    for key, shape in toy.shapes.items():
        random = torch.randn(shape, generator=draw)
        tensors[key] = random.abs() + 0.5 if key.endswith(("running_var", "scale")) else random
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    change(folder / "config.json", **toy.config)
    return folder


def opened(folder: Path, toy: Toy) -> Checkpoint:
    """The folder as a reward model."""
    return checkpoint(folder, dtype="float32", logit=toy.logit)


def pattern_in(prefix: tuple[int, ...]) -> int:
    """Where the last pattern of the gate begins."""
    return max(i for i in range(len(prefix)) if prefix[i : i + len(PATTERN)] == PATTERN)


@torch.inference_mode()
def expected(folder: Path, toy: Toy, model: Checkpoint, answers: list[tuple[int, ...]]) -> Any:
    """The formula, on transformers' states of each full row."""
    backbone = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tensors = load_file(folder / "model.safetensors")
    at, rows = pattern_in(model.slot(PROMPT).prefix), rows_of(model, PROMPT, answers)
    states = [backbone(input_ids=torch.tensor([row])).last_hidden_state[0] for row in rows]
    return np.array([float(toy.reward(tensors, each, at)) for each in states])


def test_every_family_of_heads_is_published() -> None:
    """But for plain heads, pairs and judges, which other tests of models score."""
    found = set()
    for toy in FAMILIES.values():
        config = {"hidden_size": HIDDEN, "model_type": toy.kind, "vocab_size": len(TOKENIZER)}
        logit = {} if toy.logit is None else {"rmaudit_reward_logit": toy.logit}
        head = heads.find(config | toy.config | logit, toy.shapes)
        assert head is not None
        found.add(head.family)

    assert found == {*heads.FAMILIES} - {linear, encoder, verdict_logits}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore:.*position_ids:FutureWarning")
def test_a_published_checkpoint_scores_as_its_formula_says(
    homes: Callable[[str], Path], name: str
) -> None:
    """0 missing and 0 unexpected tensors (anything else is refused), and the same rewards.

    Whole rows of several prompts with few answers are one call where the head allows it.
    """
    toy, folder = FAMILIES[name], homes(name)
    model = opened(folder, toy)
    answers = [(i,) for i in range(5, 40)] + [(7, 8), (9, 10, 11)]

    scores = model.score(PROMPT, answers)

    own = expected(folder, toy, model, answers)
    assert own.std() > 0.05
    np.testing.assert_allclose(scores, own, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(own).max()))
    asked = [PROMPT, "the love", "war of the worlds", "the love", "peace and love and war"]
    said = ["love", "of love", "war", "the city", "peace of love"]
    each = list(itertools.product(asked, said))[:-2]
    progress: list[int] = []

    found = model.score_each(
        [a for a, _ in each], [b for _, b in each], on_progress=progress.append
    )

    alone = [float(model.score(prompt, [text])[0]) for prompt, text in each]
    assert np.std(alone) > 0
    assert sum(progress) == len(each)
    np.testing.assert_allclose(found, alone, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(alone).max()))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_slopes_are_the_derivatives_of_its_formula(
    tmp_path: Path, homes: Callable[[str], Path], name: str
) -> None:
    """As central differences of the formula say, in float64; its rewards are those of `score`."""
    toy, folder = FAMILIES[name], homes(name)
    model = opened(folder, toy)
    slot, answers = model.slot(PROMPT), [(7, 8), (9, 0)]
    scores = model.score(PROMPT, answers)
    weights, narrow = model.weights(slot.prefix, slot.suffix), []
    for path in ScoringPath:
        weights.use_path(path)
        narrow.append(model.gradient(PROMPT, answers))
    tensors = {key: t.double() for key, t in load_file(folder / "model.safetensors").items()}
    backbone = AutoModel.from_pretrained(folder, dtype=torch.float32).eval().double()
    at = pattern_in(slot.prefix)

    def rewards(embeddings: Tensor) -> Tensor:
        states = backbone(inputs_embeds=embeddings, use_cache=False).last_hidden_state
        return torch.stack([toy.reward(tensors, each, at) for each in states])

    weights.model.double()
    with all_in_float64():
        checked = head_detection.find(model.spec, tmp_path)
        head = {key: tensors[key] for key in checked.head.keys}
        weights.scorer.head = checked.head.family.build(head, checked.config)
        wide = []
        for path in ScoringPath:
            weights.use_path(path)
            wide.append(model.gradient(PROMPT, answers).slopes)
        for answer, own in zip(answers, wide[0], strict=True):
            row, start = (*slot.prefix, *answer, *slot.suffix), len(slot.prefix)
            embedding = backbone.get_input_embeddings()
            assert_slopes(own, embedding, rewards, row, start=start, ids=(5, 9, 100, 300))

    largest = np.abs(wide[0]).max()
    for found, slopes in zip(narrow, wide, strict=True):
        np.testing.assert_allclose(slopes, wide[0], atol=1e-6 * largest)
        np.testing.assert_allclose(found.slopes, wide[0], atol=1e-4 * largest)
        np.testing.assert_allclose(found.rewards, scores, atol=1e-4 * max(1, np.abs(scores).max()))


def test_another_logit_is_another_key(homes: Callable[[str], Path]) -> None:
    """The id comes from models.yaml, so no hash of the folder has it."""
    toys = [dataclasses.replace(FAMILIES["Nemotron"], logit=logit) for logit in (2, 3)]
    first, second = (opened(homes("Nemotron"), toy).identity for toy in toys)

    assert (first.pop("logit"), second.pop("logit")) == ("2", "3")
    assert first == second
