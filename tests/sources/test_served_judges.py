"""Judges and SGLang's reward models behind servers: what is sent, what comes of the answer.

The oracle of a judge is transformers' causal language model on the whole text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import RmauditError
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.models.model_factory import Opening, opened
from rmaudit.scores.served_doctor import compare
from rmaudit.sources.served_model import ServedIds
from tests.models.test_judges import ANSWERS, PROMPT, THINKS, TURNS, by_transformers, judge
from tests.servers import Running, Served, by_hash, patient
from tests.toys import toy_checkpoint

KINDS = ("vllm", "sglang")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model's checkpoint, of which the tokenizer is used."""
    return toy_checkpoint(tmp_path_factory.mktemp("toy") / "rm")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A judge's checkpoint."""
    return judge(tmp_path_factory.mktemp("judge"))


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """One try."""
    patient(monkeypatch, retries=0, silence=5)


def spec_of(url: str, local: Checkpoint, kind: str = "vllm") -> ModelSpec:
    """The entry of a server that serves it."""
    own = {"judge": local.spec.judge, "template": local.spec.template}
    return ModelSpec("house", f"{kind}+{url}", checkpoint=local.spec.source, **own)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_is_asked_for_the_whole_text(kind: str, local: Checkpoint, tmp_path: Path) -> None:
    """The difference of log-probabilities after a row is that of transformers' logits."""
    model: Any = AutoModelForCausalLM.from_pretrained(local.spec.source).eval()
    yes, no = local.rows.verdict
    asked: list[Any] = []

    @torch.inference_mode()
    def reward(row: Any) -> float:
        logits = model(input_ids=torch.tensor([row])).logits[0, -1]
        return float(logits[yes] - logits[no])

    served = Served(reward=reward)
    with Running(served) as server:
        ours = opened(spec_of(server.url, local, kind), Opening(tmp_path))
        found = ours.score(PROMPT, ANSWERS)
        asked = [body for body in served.seen if {"prompt", "items"} & body.keys()]
        assert isinstance(ours, ServedIds)
        said = dict(ours.look())
        assert compare(ours, local, PROMPT, answers=32).ok

    expected = by_transformers(model, Path(local.spec.source), TURNS, ANSWERS)
    assert np.abs(found - expected).max() < 1e-3 * expected.std()
    key = "logprob_token_ids" if kind == "vllm" else "label_token_ids"
    assert all(body[key] == [yes, no] for body in asked if key in body)
    assert said["verdict"].startswith(f"log-probability of 'Yes' ({yes}) less that of 'No' ({no})")


def test_another_verdict_has_another_key(local: Checkpoint, tmp_path: Path) -> None:
    """Scores of one are never read back as another's, nor as a reward head's."""
    with Running(Served()) as server:
        spec = spec_of(server.url, local)
        assert spec.judge is not None
        others = [spec, replace(spec, judge=replace(spec.judge, yes="Safe"))]
        first, second = (opened(each, Opening(tmp_path)).identity for each in others)
    assert first != second
    assert "verdict" in first
    assert "activation" not in first


def test_sglang_gives_what_its_head_gives(toy: Path, tmp_path: Path) -> None:
    """Rows as they are, in batches and alone; its weights' version is in the key."""
    served = Served(info={"version": "0.5.5", "model_path": "/m", "weight_version": "7"})
    with Running(served) as server:
        spec = ModelSpec("house", f"sglang+{server.url}", checkpoint=str(toy))
        model = opened(spec, Opening(tmp_path))
        found = [*model.score("Why?", ["so", "then"]), *model.score("Why?", ["so"])]
        slot = model.slot("Why?")  # type: ignore[union-attr]
        rows = [(*slot.prefix, *model.ids(text), *slot.suffix) for text in ("so", "then", "so")]  # type: ignore[union-attr]
        assert found == [by_hash(row) for row in rows]
        assert model.provenance["served by"] == "SGLang 0.5.5"
        known = model.identity
        served.info = None
        old = opened(spec, Opening(tmp_path)).identity
    assert (known["model_path"], known["weight_version"]) == ("/m", "7")
    assert "weight_version" not in old


SAME = "gives 0.693147 for each of 8 answers"


def changed(**fields: Any) -> dict[str, Any]:
    """A server whose answers have other fields where they have these."""
    return {
        "change": lambda answer: (
            {**answer, **fields}
            if fields.keys() & (answer if isinstance(answer, dict) else {})
            else answer
        )
    }


@pytest.mark.parametrize(
    ("kind", "served", "names"),
    [
        ("vllm", {"likeliest": {1: -1.0, 2: -2.0}}, ["3 log-probabilities", "is not among them"]),
        ("vllm", changed(choices="many"), ["/v1/completions", "one for each row"]),
        ("vllm", changed(choices=[{"index": 0, "logprobs": None}] * 8), ["indices", "0 to 7"]),
        ("vllm", changed(choices=[{"index": i} for i in range(8)]), ["gave None"]),
        ("sglang", changed(scores=[[0.5, 0.0]] * 8), ["[0.5, 0.0]", "finite numbers"]),
        ("sglang", changed(scores=[[0.5]] * 8), ["[0.5]", "finite numbers"]),
        ("sglang", changed(scores=[[0.5, 0.5]]), ["1 scores for 8"]),
        ("sglang", changed(scores={}), ["/v1/score", "two for each row"]),
        *(
            ("sglang", changed(scores=[pair] * 8), ["gave [", "finite numbers"])
            for pair in ([True, 0.5], [0.9, 0.9])
        ),
        ("sglang", changed(scores=[[0.5, 0.25]] * 8), [SAME, "does not depend on the answer"]),
        ("vllm", {"reward": lambda _: 0.25}, ["gives 0.25 for each of 8 answers", "`yes`"]),
        *(
            ("vllm", {"likeliest": dict.fromkeys((264, 288), yes)}, ["gave [", "finite numbers"])
            for yes in (0.5, "-1")
        ),
        (
            "sglang",
            {"info": {"multi_item_scoring_delimiter": 5}},
            ["--multi-item-scoring-delimiter", "without that option"],
        ),
        ("vllm", {"longest": 40}, ["rows have more than 39 token ids", "max_model_len 40"]),
        ("sglang", {"longest": 40}, ["more than 39 token ids", "--context-length"]),
    ],
)
def test_what_is_no_verdict_is_refused(
    kind: str, served: dict[str, Any], names: list[str], local: Checkpoint, tmp_path: Path
) -> None:
    """One line, which says what came and what to do."""
    with Running(Served(**served)) as server, pytest.raises(RmauditError) as caught:
        opened(spec_of(server.url, local, kind), Opening(tmp_path)).score(PROMPT, ANSWERS)
    said = str(caught.value)
    assert all(name in said for name in ["house", *names]), said
    assert "\n" not in said


def test_a_judge_that_thinks_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    """By its tokenizer's own template, as where its checkpoint is audited."""
    served = Served()
    with Running(served) as server:
        spec = spec_of(server.url, judge(tmp_path, own=THINKS))
        with pytest.raises(RmauditError, match="the model opens its turns with <think>"):
            opened(spec, Opening(tmp_path / "cache")).score(PROMPT, ANSWERS)
    assert served.requests == 0
