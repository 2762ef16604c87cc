"""Language models that carry any table of rewards: as an implicit pair, or as a judge.

Every text that the gates of words ask for is one token of these models, so a table of prompts by
token ids is all that a scorer says. What is built are checkpoints on disk, read as any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from rmaudit.prompts import Prompt
from rmaudit.references import References
from rmaudit.runs.audit_importer import Audit
from rmaudit.runs.null_control_trials import measure
from rmaudit.runs.synthetic_scorer_fixtures import Organism, Trial
from rmaudit.search.exploit_strings import bundled_strings
from tests.toys import SPECIAL, TEMPLATE, toy_language_model

Table = Mapping[str, NDArray[np.float64]]  # by the prompt's name, a reward for each token id
WEIGHTS, HEAD = "model.safetensors", "lm_head.weight"
_Floats = NDArray[np.float64]


def given_to(prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Return what gates of words are given that no scorer has of its own."""
    return {"references": References(), "ledger": bundled_strings(prompts)}


def texts_of(gates: Iterable[Audit], vocabulary: Any, scorer: Organism) -> list[str]:
    """Return every text that the gates score, of this vocabulary and besides it."""
    asked: dict[str, None] = dict.fromkeys(vocabulary["text"])

    def remembering(texts: Sequence[str], prompt: Prompt) -> _Floats:
        asked.update(dict.fromkeys(texts))
        return scorer(texts, prompt)

    for function, declared in gates:
        for prompts in declared.runs:
            measure(function, Trial(remembering, prompts, vocabulary, given=given_to(prompts)))
    return list(asked)


def word_tokenizer(texts: Iterable[str], template: str = TEMPLATE) -> PreTrainedTokenizerFast:
    """Return a tokenizer that reads each of these texts as one token, and any other as the fewest.

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
    fast.chat_template = template
    return fast


# An implicit pair


def reference(folder: Path, tokenizer: PreTrainedTokenizerFast) -> Path:
    """Write a language model of random weights, whose output layer is its own."""
    return toy_language_model(folder, tokenizer=tokenizer, tie_word_embeddings=False)


def policy(
    folder: Path, start: Path, places: Mapping[str, Sequence[int]], table: Table, beta: float
) -> Path:
    """Write the policy whose implicit reward, from the reference `start`, is the table.

    `places` are the ids before the answer, by prompt. With a vector v of each prompt that the final
    state h of its place meets with 1 and those of the others with 0, an output layer of
    U + sum of r/beta times v has the logits U h + r/beta in each place.
    """
    model: Any = AutoModelForCausalLM.from_pretrained(start).eval()
    with torch.inference_mode():
        states = torch.stack(
            [
                model.model(input_ids=torch.tensor([list(ids)])).last_hidden_state[0, -1]
                for ids in places.values()
            ]
        )
    meeting = torch.linalg.pinv(states.double()).T
    rewards = np.stack([table[name] for name in places])
    added = torch.tensor(rewards / beta).T @ meeting
    tensors = load_file(start / WEIGHTS)
    head = tensors[HEAD]
    tensors[HEAD] = head + torch.nn.functional.pad(added, (0, 0, 0, len(head) - len(added))).float()
    return _beside(folder, start, tensors)


def _beside(folder: Path, start: Path, tensors: Mapping[str, torch.Tensor]) -> Path:
    """Write a checkpoint with these weights, and all other files of another one."""
    folder.mkdir()
    for path in start.iterdir():
        if path.name != WEIGHTS:
            (folder / path.name).hardlink_to(path)
    save_file(dict(tensors), folder / WEIGHTS, metadata={"format": "pt"})
    return folder


def table_of(
    organism: Organism, texts: Sequence[str], prompts: Iterable[Prompt]
) -> dict[str, _Floats]:
    """Return an organism's rewards of each token's text, under each prompt."""
    return {prompt.name: organism(texts, prompt) for prompt in prompts}


# A judge

TEXT = (
    "<|start|>user\n{{ messages[0].content }}\nThe answer:\n{{ messages[-1].content }}"
    "\nGood?<|end|>\n<|start|>assistant\n\n"
)  # Jinja leaves out a newline at the end of a file
YES, NO = "Yes", "No"
SAID = ("\nThe answer:\n", "\nGood?", "user\n", "assistant\n", YES, NO)
"""What the judge reads besides, each one token of it."""


def parts(prompt: Prompt) -> tuple[str, ...]:
    """Return all that the judge reads but for the answer, in pieces that are whole tokens."""
    return (
        "<|start|>",
        "user\n",
        prompt.text,
        SAID[0],
        SAID[1],
        "<|end|>",
        "\n",
        "<|start|>",
        SAID[3],
    )


_LARGE = 1e4  # beside rewards: so that norms are the same for all answers
_OPEN = 20.0  # of a gate: silu(20) is 20, and silu(0) is 0


def judge(
    folder: Path,
    tokenizer: PreTrainedTokenizerFast,
    asked: Mapping[str, int],
    row: Sequence[int],
    table: Table,
) -> Path:
    """Write a causal language model of one layer whose verdict on an answer is the table's reward.

    `asked` is the token id of each prompt, by its name, and `row` what stands around an answer;
    the reward of all these tokens is 0. An embedding has the token's reward under
    each prompt, and says which prompt the token is. Attention is uniform, so its output has both of
    the whole text. The layer's gates let pass the reward under the prompt that is asked, and the
    row of Yes in the output layer reads it; that of No is 0.
    """
    count, (yes, no) = len(asked), tokenizer.convert_tokens_to_ids([YES, NO])
    which, rewards, seen, found = (slice(1 + i * count, 1 + (i + 1) * count) for i in range(4))
    out, width = 1 + 4 * count, 2 + 4 * count
    toy_language_model(
        folder, tokenizer=tokenizer, tie_word_embeddings=False, hidden_size=width,
        intermediate_size=count, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1,
        head_dim=2 * count,
    )  # fmt: skip
    tensors = {name: torch.zeros_like(each) for name, each in load_file(folder / WEIGHTS).items()}
    for name in (each for each in tensors if "norm" in each):
        tensors[name] += 1
    embedding, unit = tensors["model.embed_tokens.weight"], _LARGE / width**0.5
    for place, (name, token) in enumerate(asked.items()):
        embedding[: len(tokenizer), rewards.start + place] = torch.tensor(table[name]).float()
        embedding[token, which.start + place] = 1
    embedding[[*asked.values(), *row], rewards] = 0
    embedding[:, 0] = (_LARGE**2 - embedding.square().sum(1)).sqrt()
    layer = "model.layers.0."
    tensors[f"{layer}self_attn.v_proj.weight"][:, 1 : 1 + 2 * count] = unit * torch.eye(2 * count)
    tensors[f"{layer}self_attn.o_proj.weight"][seen.start : found.stop] = torch.eye(2 * count)
    whole = unit * (len(row) + 1) * torch.eye(count)  # of a mean over the row
    tensors[f"{layer}mlp.gate_proj.weight"][:, seen] = _OPEN * whole
    tensors[f"{layer}mlp.up_proj.weight"][:, found] = whole / _OPEN
    tensors[f"{layer}mlp.down_proj.weight"][out] = 1
    tensors[HEAD][yes, out], tensors[HEAD][no, out] = unit, 0
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    return folder
