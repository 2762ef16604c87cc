"""Models that are read at a token of their own: InternLM2's and Athene, against their formulas.

`tests/internlm2.py` and `tests/published_layout.py` write small checkpoints with the published
names; rows are laid out here as the makers' code does, with the token at their ends.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

from rmaudit.config.model_registry import load_registry
from rmaudit.errors import ModelError, ScoreError
from rmaudit.layout import sentencepiece_model
from rmaudit.models.checkpoint_doctor import examine
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.scores.sweep import PROTOCOLS, sweep
from rmaudit.scoring import ScoringPath
from tests import internlm2, published_layout
from tests.models.loaded import change, checkpoint
from tests.published_formulas import exact_rows, gap, paper_rows

PROMPT = PROMPTS["greatest"]
ATHENE = published_layout.Layout(
    {
        **published_layout.LLAMA,
        "architectures": ["CustomAutoModelForSequenceClassification"],
        "vocab_size": 128257,
        "eos_token_id": 128009,
        "pad_token_id": None,
    },
    {"v_head.weight": (1, published_layout.HIDDEN)},
)
KINDS: dict[str, dict[str, Any]] = {
    "biases": {"bias": True},
    "one key head": {"num_key_value_heads": 1},
    "as many key heads as queries": {"num_key_value_heads": 4},
    "dynamic rotation within its length": {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
}


opened = partial(checkpoint, dtype="float32")


def measured(
    model: Checkpoint, tokenizer: Any, protocol: str
) -> tuple[NDArray[np.float64], list[list[int]]]:
    """The rewards of every id as an answer, and the rows without the token at their ends."""
    ids = model.vocabulary().ids
    if protocol == "exact":
        scores = model.score(PROMPT.text, [(i,) for i in ids])
        return scores.astype(float), exact_rows(tokenizer, PROMPT.text, ids)
    swept = sweep(model, PROMPT, protocol=protocol, cache=model.cache)
    return swept.frame["score"].to_numpy(float), paper_rows(tokenizer, PROMPT.text, ids)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_internlm2_scores_as_its_formula_says(tmp_path: Path, protocol: str) -> None:
    """Every id, in both protocols to 1e-5 sd, with its attention split and its names Llama's."""
    folder = internlm2.write(tmp_path / "toy")
    model, tokenizer = opened(folder), sentencepiece_model.read(folder)

    ours, rows = measured(model, tokenizer, protocol)

    assert len(ours) > 400
    assert (
        gap(ours, internlm2.rewards(folder, [[*row, internlm2.REWARD_ID] for row in rows])) < 1e-5
    )


@pytest.mark.parametrize("kind", KINDS)
def test_other_sizes_score_as_the_formula_says(tmp_path: Path, kind: str) -> None:
    """Heads in groups of another size, biases, and a rotation that scales beyond its length."""
    folder = internlm2.write(tmp_path / "toy", **KINDS[kind])
    model = opened(folder)
    slot, answers = model.slot(PROMPT.text), [(i,) for i in range(20, 500, 12)]

    ours = model.score(PROMPT.text, answers).astype(float)

    rows = [(*slot.prefix, *answer, *slot.suffix) for answer in answers]
    assert gap(ours, internlm2.rewards(folder, rows)) < 1e-5
    fast = ScoringPath.FULL_ROWS if "dynamic" in kind else ScoringPath.SHARED_PREFIX
    assert model.provenance["path"] == str(fast)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_athene_scores_as_its_formula_says(tmp_path: Path, protocol: str) -> None:
    """W · h at the id 128003, which its pipeline puts after what the template prints."""
    folder = published_layout.write(tmp_path / "toy", ATHENE, 0)
    model, tokenizer = opened(folder), AutoTokenizer.from_pretrained(folder)
    backbone = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    shards = [load_file(path) for path in sorted(folder.glob("*.safetensors"))]
    vector = next(s["v_head.weight"][0].float() for s in shards if "v_head.weight" in s)

    ours, rows = measured(model, tokenizer, protocol)

    with torch.inference_mode():
        states = [backbone(torch.tensor([[*row, 128003]])).last_hidden_state[0, -1] for row in rows]
    assert gap(ours, np.array([float(vector @ state) for state in states])) < 1e-5


def test_the_answer_may_be_the_token_itself(tmp_path: Path) -> None:
    """It is read at the last place of the token, where the row ends."""
    folder = internlm2.write(tmp_path / "toy")
    model, token = opened(folder), internlm2.REWARD_ID
    slot = model.slot(PROMPT.text)

    scores = model.score(PROMPT.text, [(token,), (9, token, 9)])

    rows = [(*slot.prefix, *answer, *slot.suffix) for answer in [(token,), (9, token, 9)]]
    np.testing.assert_allclose(scores, internlm2.rewards(folder, rows), rtol=1e-4)
    np.testing.assert_allclose(model.own_rewards(rows), scores, rtol=1e-4)


def test_a_row_without_the_token_is_refused(tmp_path: Path) -> None:
    """A row of ids that somebody gives is never read at another place."""
    model = opened(internlm2.write(tmp_path / "toy"))

    for rewards in (model.score_rows, model.own_rewards):
        with pytest.raises(ScoreError, match=f"no token {internlm2.REWARD_ID}"):
            rewards([(1, 20, 30, 40), (1, 20, 31)])


def test_the_key_names_conversion_token_and_bytes(tmp_path: Path) -> None:
    """Another id, or another reading of the packed tensors, is another model."""
    first = opened(internlm2.write(tmp_path / "toy")).identity

    second = opened(internlm2.write(tmp_path / "other", reward_token_id=7)).identity

    assert first["conversion"] == "internlm2 as llama, 1"
    assert (first["pool"], second["pool"]) == ("rightmost id 8", "rightmost id 7")
    assert first["weights"] != second["weights"]


@pytest.mark.slow
def test_doctor_finds_nothing(tmp_path: Path) -> None:
    """Its checks hold of the split weights too, in half precision as published."""
    model = opened(internlm2.write(tmp_path / "toy"), dtype="auto")

    assert examine(model, PROMPT.text, answers=64).ok


def test_pool_is_not_to_be_chosen(tmp_path: Path) -> None:
    """The token decides where the reward is read."""
    folder = internlm2.write(tmp_path / "toy")

    with pytest.raises(ModelError, match="read at the token 8"):
        opened(folder, pool="last")


def test_a_tokenizer_with_another_token_of_the_same_kind_is_refused(tmp_path: Path) -> None:
    """As one of the trainer that made Athene, which reads at its tokenizer's cls_token."""
    folder = published_layout.write(tmp_path / "toy", ATHENE, 0)
    change(folder / "tokenizer_config.json", cls_token="<|eot_id|>")

    with pytest.raises(ModelError, match=r"cls_token is '<\|eot_id\|>', 128009"):
        opened(folder).slot("x")


def test_published_entries_are_of_these_kinds() -> None:
    """models.yaml has both makers' models by name."""
    entries = load_registry(Path(__file__).parents[2] / "models.yaml").models
    sources = {spec.source for spec in entries.values()}

    assert {f"internlm/internlm2-{size}-reward" for size in ("1_8b", "7b", "20b")} <= sources
    assert {f"Nexusflow/Athene-RM-{size}" for size in ("8B", "70B")} <= sources
