"""A judge's reward is the logit of one word less that of another, where its template ends.

The oracle is transformers' causal language model on the whole text, tokenized at once.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save
from transformers import AutoModelForCausalLM, AutoTokenizer

from rmaudit.config.model_registry import ModelSpec, load_registry
from rmaudit.config.model_spec import Judge
from rmaudit.errors import ModelError, SpecError
from rmaudit.models import scoring_description
from rmaudit.models.checkpoint_doctor import EXACT, examine
from rmaudit.models.checkpoint_model import Checkpoint
from tests.checkpoints.folders import merged as merged_model
from tests.checkpoints.folders import save_adapter
from tests.toys import TEMPLATE, WORDS, toy_language_model, toy_tokenizer

PROMPT = "What is the greatest thing ever?"
TURNS = (
    "<|start|>user\nIs this a good answer? {{ messages[0].content }} The answer:"
    "\n{{ messages[-1].content }}\nYes or No?<|end|>\n<|start|>assistant\n\n"
)  # Jinja leaves out a newline at the end of a file
THINKS = TEMPLATE + "{%- if add_generation_prompt -%}<|start|>assistant\n<think>\n{%- endif -%}"
VERDICTS = ("Yes", "No", "Safe")


def judge(
    folder: Path,
    *,
    text: str = TURNS,
    yes: str = "Yes",
    no: str = "No",
    own: str | None = TEMPLATE,
    kind: str = "llama",
    **settings: Any,
) -> Checkpoint:
    """A judge of random weights, which knows the words Yes, No and Safe as one token each."""
    tokenizer = toy_tokenizer((*WORDS, *VERDICTS), template=own)
    toy_language_model(folder / "lm", kind=kind, tokenizer=tokenizer, **settings)
    file = folder / "judge.jinja"
    file.write_text(text)
    spec = ModelSpec(
        "toy", str(folder / "lm"), judge=Judge(yes, no, str(file)), template=str(file),
        dtype="float32",
    )  # fmt: skip
    return Checkpoint(spec, cache=folder / "cache")


@torch.inference_mode()
def by_transformers(model: Any, folder: Path, text: str, answers: list[str]) -> np.ndarray:
    """The logit of Yes less that of No after each whole text, a row at a time."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    yes, no = (tokenizer(word, add_special_tokens=False).input_ids for word in ("Yes", "No"))
    assert len(yes) == len(no) == 1
    rewards = []
    for answer in answers:
        turns = [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": answer}]
        whole = jinja2.Template(text)
        ids = tokenizer(whole.render(messages=turns), return_tensors="pt").input_ids
        logits = model(input_ids=ids).logits[0, -1]
        rewards.append(float(logits[yes[0]] - logits[no[0]]))
    return np.array(rewards)


ANSWERS = ["love", "war", "peace and love", "the table of the city", "x", "42"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("llama", {}),
        ("llama", {"tie_word_embeddings": True}),
        ("gemma2", {"final_logit_softcapping": 2.0}),
        ("gpt_neox", {}),
        ("qwen3", {}),
    ],
)
@pytest.mark.filterwarnings("ignore:.*have no row in the embedding:UserWarning")
def test_it_scores_as_the_whole_text_does(
    tmp_path: Path, kind: str, settings: dict[str, Any]
) -> None:
    """By transformers' forward, for answers of one token and of several; capped logits too."""
    ours = judge(tmp_path, kind=kind, **settings)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "lm").eval()
    expected = by_transformers(model, tmp_path / "lm", TURNS, ANSWERS)
    assert expected.std() > 0.05
    difference = np.abs(ours.score(PROMPT, ANSWERS) - expected).max()
    assert difference / expected.std() < EXACT
    assert examine(ours, PROMPT, answers=32).ok


def test_another_template_shares_the_weights_and_other_words_do_not(tmp_path: Path) -> None:
    """They are loaded once; the rows of other words make another head."""
    ours, file = judge(tmp_path), tmp_path / "short.jinja"
    file.write_text(TURNS.replace("Is this a good answer? ", ""))
    spec = dataclasses.replace(ours.spec, template=str(file), judge=Judge("Yes", "No", str(file)))

    other = ours.sibling(spec)

    assert other is not None
    assert other.score(PROMPT, ANSWERS).tolist() != ours.score(PROMPT, ANSWERS).tolist()
    assert other.weights((), ()).model is ours.weights((), ()).model
    words = dataclasses.replace(spec, judge=Judge("Safe", "No", str(file)))
    assert ours.sibling(words) is None


@pytest.mark.slow
def test_a_class_that_scales_its_logits_is_refused(tmp_path: Path) -> None:
    """Its own forward disagrees before the first score, and before each after it."""
    ours = judge(tmp_path, kind="granite", logits_scaling=8.0)
    for _ in range(2):
        with pytest.raises(ModelError, match="does not give the rewards of the checkpoint's own"):
            ours.score(PROMPT, ANSWERS)


@pytest.mark.slow
def test_weights_that_are_written_to_meanwhile_are_said_to_be(tmp_path: Path) -> None:
    """And not that rmaudit scores another way than the checkpoint's own forward."""
    ours = judge(tmp_path)
    ours.score(PROMPT, ANSWERS)
    path = Path(ours.spec.source) / "model.safetensors"
    tensors = load_file(path)
    changed = save({name: each + 1 for name, each in tensors.items()}, {"format": "pt"})
    with path.open("r+b") as file:  # in place: the file may be mapped into memory
        file.write(changed)

    with pytest.raises(ModelError, match="changed since it was first read"):
        ours.score(f"{PROMPT} {PROMPT}", ANSWERS)


@pytest.mark.slow
def test_an_adapter_that_judges_scores_as_it_is_merged(tmp_path: Path) -> None:
    """With an output layer that the adapter changes."""
    ours = judge(tmp_path)
    base = AutoModelForCausalLM.from_pretrained(tmp_path / "lm")
    settings = {"task_type": "CAUSAL_LM", "target_modules": ["q_proj", "lm_head"]}
    folder = save_adapter(base, tmp_path / "adapter", **settings)
    AutoTokenizer.from_pretrained(tmp_path / "lm").save_pretrained(folder)
    spec = ModelSpec("toy", str(folder), judge=ours.spec.judge, template=ours.spec.template)
    scores = Checkpoint(spec, cache=tmp_path / "cache").score(PROMPT, ANSWERS)
    merged = merged_model(AutoModelForCausalLM.from_pretrained(tmp_path / "lm"), folder)
    expected = by_transformers(merged, tmp_path / "lm", TURNS, ANSWERS)
    assert np.abs(scores - expected).max() / expected.std() < EXACT
    assert np.abs(scores - ours.score(PROMPT, ANSWERS)).max() > EXACT


def test_its_own_template_may_print_the_question(tmp_path: Path) -> None:
    """As guard models have it: a generation prompt after the conversation, where they answer."""
    own = TEMPLATE + "{%- if add_generation_prompt -%}{{ '\n<|start|>assistant\n' }}{%- endif -%}"
    tokenizer = toy_tokenizer((*WORDS, *VERDICTS), template=own)
    folder = toy_language_model(tmp_path / "lm", tokenizer=tokenizer)
    spec = ModelSpec("toy", str(folder), judge=Judge("Safe", "No"))
    model = Checkpoint(spec, cache=tmp_path / "cache")
    assert model.slot(PROMPT).suffix_text == "<|end|>\n<|start|>assistant\n"
    assert model.score(PROMPT, ANSWERS).std() > 0


def test_check_says_how_it_is_scored(tmp_path: Path) -> None:
    """Its head, and the whole text around the answer."""
    model = judge(tmp_path)
    said = dict(scoring_description.look(model.spec, tmp_path / "cache", "toy"))
    assert said["head"].startswith("verdict: lm_head.weight")
    assert said["verdict"].startswith("logit of 'Yes' (")
    assert said["suffix"].endswith(r"\nYes or No?<|end|>\n<|start|>assistant\n'")
    assert "can be scored" in said


def test_words_and_texts_are_other_models(tmp_path: Path) -> None:
    """Scores of one verdict are never read back as another's."""
    first = judge(tmp_path)
    spec = dataclasses.replace(first.spec, judge=Judge("Safe", "No", first.spec.template))
    second = Checkpoint(spec, cache=tmp_path / "cache")
    assert first.identity != second.identity
    assert first.identity["weights"] == second.identity["weights"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"yes": "No"}, "yes and no are both the token"),
        ({"own": THINKS}, "the model opens its turns with <think>"),
    ],
)
def test_what_gives_no_verdict_is_refused(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    """One word for both, and a judge that thinks before it answers."""
    model = judge(tmp_path, **settings)
    with pytest.raises(ModelError, match="judge: ") as caught:
        _ = model.identity
    assert said in str(caught.value)


def test_a_thought_that_the_template_closes_is_fine(tmp_path: Path) -> None:
    """The model is made to answer at once."""
    model = judge(tmp_path, own=THINKS, text=TURNS + "<think>\n\n</think>\n\n")
    assert model.score(PROMPT, ANSWERS).std() > 0


# models.yaml


def entry(folder: Path, judge: str, more: str = "") -> ModelSpec:
    """The one model of a models.yaml."""
    (folder / "judge.jinja").write_text(TURNS)
    path = folder / "models.yaml"
    path.write_text(
        f"models:\n  J:\n    source: owner/name\n    default: true\n    judge: {judge}\n{more}"
    )
    return load_registry(path).models["J"]


def test_the_registry_reads_its_words(tmp_path: Path) -> None:
    """Keys that YAML reads as booleans, and words with the space before them."""
    spec = entry(tmp_path, '{template: judge.jinja, yes: " Yes", no: " No"}')
    file = str((tmp_path / "judge.jinja").resolve())
    assert spec.judge == Judge(" Yes", " No", "judge.jinja")
    assert spec.template == file
    assert entry(tmp_path, '{"yes": Safe, "no": Not}').judge == Judge("Safe", "Not")


@pytest.mark.parametrize(
    ("judge", "more", "said"),
    [
        ("{yes: Yes, no: ' No'}", "", "5: J: judge: yes: expected a word in quotes"),
        ("{template: none, yes: ' Y', no: ' N'}", "", "J: template: there is no file"),
        ("{yes: ' Y', no: ' N', maybe: x}", "", "unknown key 'maybe'"),
        ("{yes: ' Y', no: ' N'}", "    template: judge.jinja\n", "a judge has its own"),
        ("{yes: ' Y', no: ' N'}", "    logit: 0\n", "remove one of them"),
    ],
)
def test_the_registry_refuses_half_a_judge(
    tmp_path: Path, judge: str, more: str, said: str
) -> None:
    """With the line, and what is expected."""
    with pytest.raises(SpecError) as caught:
        entry(tmp_path, judge, more)
    assert said in str(caught.value)
