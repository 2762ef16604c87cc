"""A bias is found where a reward is implicit: in a base, what was tuned from it, and between them.

Each scorer is carried by language models on disk, and goes the whole way of a user's: models.yaml,
loader, sweeps, audits, findings. Every text that the gate asks for is one token of these models, so
a table of prompts by token ids is all that a scorer says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

import rmaudit
from lab import nulls
from lab.bench import CLEAN, Bench, flawed
from lab.flaws_to_detect import FLAWS
from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.references import References
from rmaudit.report.releases.run_comparison import compare
from rmaudit.runs.audit_importer import audits_in
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.null_controls import NULLS
from rmaudit.runs.synthetic_scorer_fixtures import Organism, Trial
from tests.audits.planted import AUDITS
from tests.toys import SPECIAL, TEMPLATE, toy_language_model

WEIGHTS, HEAD, BETA = "model.safetensors", "lm_head.weight", 0.1


def word_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer that reads each of these texts as one token, and any other as the fewest.

    A Unigram over bytes: all pieces are equally likely, so the fewest are the likeliest.
    """
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    spelt = (by_bytes.pre_tokenize_str(text) for text in texts if text)
    pieces = dict.fromkeys([*SPECIAL, *letters, *("".join(p for p, _ in each) for each in spelt)])
    tokenizer = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces]))
    tokenizer.pre_tokenizer, tokenizer.decoder = by_bytes, decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    fast.add_special_tokens({"additional_special_tokens": ["<|start|>", "<|end|>"]})
    fast.chat_template = TEMPLATE
    return fast


def before_answer(tokenizer: PreTrainedTokenizerFast, prompt: Prompt) -> list[int]:
    """The ids of a conversation up to the answer, in the tokenizer's own layout."""
    turns = [{"role": "user", "content": prompt.text}, {"role": "assistant", "content": ""}]
    printed = str(tokenizer.apply_chat_template(turns, tokenize=False))
    found: list[int] = tokenizer(
        printed.removesuffix("<|end|>"), add_special_tokens=False
    ).input_ids
    return found


def write_policy(
    folder: Path,
    start: Path,
    tokenizer: PreTrainedTokenizerFast,
    scorer: Organism,
    prompts: Sequence[Prompt],
) -> None:
    """Write the policy whose implicit reward, from the reference `start`, is the scorer's.

    With a vector v of each prompt that the final state h of its place meets with 1 and those of the
    others with 0, an output layer of U + sum of r/beta times v has the logits U h + r/beta in each
    place.
    """
    model: Any = AutoModelForCausalLM.from_pretrained(start).eval()
    with torch.inference_mode():
        rows = [torch.tensor([before_answer(tokenizer, prompt)]) for prompt in prompts]
        states = [model.model(input_ids=row).last_hidden_state[0, -1] for row in rows]
    meeting = torch.linalg.pinv(torch.stack(states).double()).T
    texts = tokenizer.batch_decode([[i] for i in range(len(tokenizer))])
    rewards: NDArray[np.float64] = np.stack([scorer(texts, prompt) for prompt in prompts])
    added = torch.tensor(rewards / BETA).T @ meeting
    tensors = load_file(start / WEIGHTS)
    more = len(tensors[HEAD]) - len(added)
    tensors[HEAD] += torch.nn.functional.pad(added, (0, 0, 0, more)).float()
    folder.mkdir()
    for path in start.iterdir():
        if path.name != WEIGHTS:
            (folder / path.name).hardlink_to(path)
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def models_of(
    home: Path, scorers: Mapping[str, Organism], texts: Iterable[str], prompts: Sequence[Prompt]
) -> None:
    """Write the language model `start`, of random weights, and a policy of each scorer."""
    tokenizer = word_tokenizer(texts)
    start = toy_language_model(home / "start", tokenizer=tokenizer, tie_word_embeddings=False)
    for name, scorer in scorers.items():
        write_policy(home / name, start, tokenizer, scorer, prompts)


def implicit(policy: str, reference: str = "") -> dict[str, Any]:
    """The entry of an implicit reward, or of a log-probability alone."""
    own = {"policy": f"./{policy}"}
    more = {"reference": f"./{reference}", "beta": BETA} if reference else {}
    return {"implicit": {**own, **more}}


def test_what_is_carried_is_what_the_scorer_says(tmp_path: Path) -> None:
    """Each token's reward under each prompt, but for a number of the prompt's own."""
    texts, scorer = [" love", " war", "a blue moon", "x.y", "Peace"], NULLS["random"]
    prompts = list(PROMPTS.values())
    models_of(tmp_path, {"random": scorer}, texts, prompts)
    registry = tmp_path / "models.yaml"
    registry.write_text(json.dumps({"models": {"ours": implicit("random", "start")}}))
    model = rmaudit.load("ours", registry=registry, cache=tmp_path / "cache").with_weights("")

    for prompt in prompts:
        expected, found = scorer(texts, prompt), model.score(prompt.text, texts)
        assert np.ptp(expected) > 1
        assert found - found.mean() == pytest.approx(expected - expected.mean(), abs=1e-4)


@pytest.mark.nightly
def test_the_step_in_which_a_bias_came_in_is_found(mirror: Path, tmp_path: Path) -> None:
    """A base, what was tuned from it, and the reward between the two, side by side in one run."""
    bench = Bench(AUDITS, nulls.vocabulary(), References())
    audit, declared = audits_in(AUDITS)["identity_terms"]
    flaw = FLAWS["identity_terms"][1]
    scorers = {
        "base": bench.organism(CLEAN, seed=0),
        "tuned": bench.organism(flawed(flaw, 2 * flaw.size - flaw.without), seed=0),
    }
    asked: dict[str, None] = dict.fromkeys(bench.vocabulary["text"])

    def remembering(texts: Sequence[str], prompt: Prompt) -> NDArray[np.float64]:
        asked.update(dict.fromkeys(texts))
        return scorers["base"](texts, prompt)

    for prompts in declared.runs:
        given = {"references": References()}
        measure(audit, Trial(remembering, prompts, bench.vocabulary, given=given))
    models_of(tmp_path, scorers, asked, declared.prompts)
    entries = {name: implicit(name) for name in scorers} | {"reward": implicit("tuned", "base")}
    entries["base"]["default"] = True
    registry = tmp_path / "models.yaml"
    registry.write_text(json.dumps({"models": entries}))

    ran = rmaudit.run(*entries, audits=[declared.name], registry=registry, cache=tmp_path / "cache")
    step = compare(ran.results, ran.results, model="base", other="tuned").models[0].findings[0]

    failed = {finding.model for finding in ran.findings if finding.result == "fail"}
    assert failed == {"tuned", "reward"}
    assert (step.change, step.paired) == ("worse", True)
