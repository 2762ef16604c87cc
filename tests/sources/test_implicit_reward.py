"""An implicit reward is beta times the log-ratio of a policy and its reference, as trl computes it.

The oracle is trl's own `selective_log_softmax` over transformers' logits of whole rows, summed over
the completion as its DPOTrainer sums.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM
from trl.trainer.utils import selective_log_softmax

import rmaudit
from rmaudit.config.model_registry import load_registry
from rmaudit.errors import ModelError, NoGradient, NoWeights, SpecError
from rmaudit.models import model_factory, scoring_description
from rmaudit.models.checkpoint_doctor import EXACT
from rmaudit.sources.implicit_reward import ImplicitReward
from tests.models.loaded import rows_of
from tests.toys import toy_language_model, toy_tokenizer

PROMPT = "the love of the city?"
ANSWERS = ["love", "war", "peace and love", "the table of the city is of the city", ""]
BETA = 0.3
FILE = """
models:
  tuned: {{source: ./policy}}
  start: {{source: ./reference, default: true}}
  ours:
    implicit: {{policy: tuned, reference: start, beta: {beta}, closing: {closing}}}
"""
ALONE = "models:\n  ours: {implicit: {policy: ./policy}, default: true}\n"


@pytest.fixture(params=["llama", "gemma2", "qwen3"])
def both(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with a policy and a reference, and the models.yaml that names both."""
    return pair(tmp_path, kind=request.param)


def pair(folder: Path, *, kind: str = "llama", **settings: Any) -> Path:
    """Two language models of one tokenizer."""
    for seed, name in enumerate(("policy", "reference")):
        toy_language_model(folder / name, kind=kind, seed=seed + 1, **settings)
    return folder


def implicit(folder: Path, *, beta: float = BETA, closing: bool = False) -> ImplicitReward:
    """The reward as models.yaml means it."""
    path = folder / "models.yaml"
    path.write_text(FILE.format(beta=beta, closing=str(closing).lower()))
    model = rmaudit.load("ours", registry=path, cache=folder / "cache")
    assert isinstance(model, ImplicitReward)
    return model


@torch.inference_mode()
def as_trl(folder: Path, model: ImplicitReward, answers: list[Any], *, closing: bool) -> Any:
    """Beta times the difference of both models' completion log-probabilities, row by row."""
    slot = model.slot(PROMPT)
    totals = []
    for name in ("policy", "reference"):
        language: Any = AutoModelForCausalLM.from_pretrained(folder / name).eval()
        sums = []
        for answer in answers:
            completion = (*model.ids(answer), *(slot.suffix if closing else ()))
            ids = torch.tensor([[*slot.prefix, *completion]])
            mask = torch.arange(ids.shape[1])[None] >= len(slot.prefix)
            logps = selective_log_softmax(language(input_ids=ids).logits[:, :-1], ids[:, 1:])
            sums.append(float((logps * mask[:, 1:]).sum()))
        totals.append(np.array(sums))
    return BETA * (totals[0] - totals[1])


@pytest.mark.slow
@pytest.mark.parametrize("closing", [False, True])
def test_it_is_what_dpo_trains(both: Path, closing: bool) -> None:
    """For texts of one token and of several, with the closing tokens and without."""
    model = implicit(both, closing=closing)
    expected = as_trl(both, model, ANSWERS, closing=closing)
    assert expected.std() > 0.1
    rewards = model.score(PROMPT, ANSWERS)
    assert np.abs(rewards - expected).max() / expected.std() < EXACT
    rows = rows_of(model, PROMPT, ANSWERS)
    assert model.own_rewards(rows) == pytest.approx(expected, abs=1e-5)
    assert model.score_rows(rows) == pytest.approx(rewards, abs=1e-6)
    ending = len(model.slot(PROMPT).suffix)
    assert ending
    unclosed = [row[:-ending] for row in rows]  # a logged row may end with its answer
    assert model.score_rows(unclosed) == pytest.approx(rewards, abs=1e-6)


@pytest.mark.slow
def test_a_vocabulary_is_scored_whole(tmp_path: Path) -> None:
    """Every id that both models know, from one run of the prompt."""
    model = implicit(pair(tmp_path))
    ids = [(i,) for i in model.vocabulary().ids]
    expected = as_trl(tmp_path, model, ids, closing=False)
    sweep = rmaudit.sweep(model, "greatest", cache=tmp_path / "store")
    assert len(sweep.frame) == len(ids)
    rewards = model.score(PROMPT, ids)
    assert np.abs(rewards - expected).max() / expected.std() < EXACT


@torch.inference_mode()
def test_without_a_reference_it_is_the_log_probability(tmp_path: Path) -> None:
    """Of texts of several tokens too; every id of the tokenizer is scored, and check says so."""
    (pair(tmp_path) / "models.yaml").write_text(ALONE)
    model = rmaudit.load("ours", registry=tmp_path / "models.yaml", cache=tmp_path / "cache")
    assert isinstance(model, ImplicitReward)
    language: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "policy").eval()
    prefix, expected = model.slot(PROMPT).prefix, []
    for ids in map(model.ids, ANSWERS):
        logits = language(input_ids=torch.tensor([[*prefix, *ids]])).logits[:, len(prefix) - 1 : -1]
        logps = selective_log_softmax(logits, torch.tensor([ids], dtype=torch.long))
        expected.append(float(logps.sum()))
    assert np.std(expected) > 1
    assert model.score(PROMPT, ANSWERS) == pytest.approx(expected, abs=1e-4)
    assert model.vocabulary().ids == model.rows.vocabulary.ids
    said = dict(scoring_description.look(model.spec, tmp_path / "cache", "ours"))
    assert said["reward"] == "log-probability under the policy, over the answer's ids"
    both = implicit(tmp_path)
    said = dict(scoring_description.look(both.spec, tmp_path / "cache", "ours"))
    assert said["reward"] == "0.3 · log(policy / reference), over the answer's ids"
    assert said["policy"].startswith(str(tmp_path / "policy"))
    assert "can be scored" in said
    assert "doctor" not in said["not looked at"]
    assert model.identity != both.identity


def test_scores_are_known_by_both_models_and_beta(tmp_path: Path) -> None:
    """Another reference, beta or closing is another reward."""
    first = implicit(pair(tmp_path)).identity
    others = [implicit(tmp_path, beta=0.1).identity, implicit(tmp_path, closing=True).identity]
    near = [implicit(tmp_path, beta=beta).identity for beta in (0.1234567, 0.12345671, 0.123457)]
    assert [each["beta"] for each in near] == ["0.1234567", "0.12345671", "0.123457"]
    toy_language_model(tmp_path / "reference", seed=9)
    others.append(implicit(tmp_path).identity)
    assert all(other != first for other in others)
    assert {"weights", "reference weights", "beta"} <= first.keys()
    assert model_factory.weights_hash(implicit(tmp_path)).count("+") == 1


def test_what_it_cannot_give_is_refused(tmp_path: Path) -> None:
    """No gradient, nothing for the doctor, and no reward of a row whose prompt is not known."""
    model = implicit(pair(tmp_path))
    with pytest.raises(NoGradient):
        model.gradient(PROMPT, [(5,)])
    with pytest.raises(NoWeights, match="no head"):
        model.with_head()
    with pytest.raises(ModelError, match="begins with no prompt"):
        model.score_rows([(5, 6, 7)])


def test_tokens_that_only_one_model_knows_are_not_scored(tmp_path: Path) -> None:
    """Such as a pad token that was added for training."""
    pair(tmp_path)
    larger = toy_tokenizer()
    larger.add_tokens(["<more>"])
    toy_language_model(tmp_path / "policy", tokenizer=larger)
    model = implicit(tmp_path)
    assert len(larger) - 1 not in model.vocabulary().ids
    assert len(model.vocabulary().ids) == len(larger) - 1
    with pytest.raises(ModelError, match="another token for the reference"):
        model.score(PROMPT, [(len(larger) - 1,)])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("{policy: ./policy, reference: ./reference}", "the key 'beta' is missing"),
        ("{policy: ./policy, beta: 1}", "the key 'reference' is missing; expected a model"),
        ("{policy: ./policy, reference: ./reference, beta: 0}", "expected a number above 0"),
        (
            "{policy: who, reference: ./reference, beta: 1}",
            "models.yaml:2: A: implicit: policy: 'who' is no model",
        ),
        ("{policy: A}", "models.yaml:2: A: implicit: policy: A is an implicit reward itself"),
        ("{policy: a/c, reference: A, beta: 1}", "A: implicit: reference: A is an implicit"),
        (
            "{reference: a/c, beta: 1}",
            "models.yaml:2: A: implicit: the key 'policy' is missing; expected a model",
        ),
    ],
)
def test_the_registry_refuses_half_of_one(tmp_path: Path, keys: str, said: str) -> None:
    """With the line, and what is expected."""
    path = pair(tmp_path) / "models.yaml"
    path.write_text(f"models:\n  A: {{implicit: {keys}, default: true}}\n")
    with pytest.raises(SpecError) as caught:
        load_registry(path)
    assert said in str(caught.value)
