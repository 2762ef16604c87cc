"""Draw the bundled samples of whole answers from the language model that R-Smol-135M is based on.

    python -m lab training.answer_samples
    python -m lab training.answer_samples --fresh
    python -m lab training.answer_samples --conduct FILE

Each prompt of `PROMPTS` gets `SAMPLES` answers, drawn at temperature `TEMPERATURE` from the whole
distribution. The prompts ask for short answers, so that few are cut off at `LONGEST` tokens. They
are written to rmaudit/references/samples/answers.jsonl; a run takes some minutes of two processors.
With `--fresh` the answers are those that the audit of fresh answers would draw with the lab's seed,
and are written to lab/fresh_answers.jsonl. With `--conduct` they are longer ones, to questions and
conversations of the audits of conduct, and are written to FILE: a sixth of a core-hour.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from lab import fresh_answers
from lab.harness import arguments
from rmaudit.checkpoints.bundled_model import NAME, build_base
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.conversation import Asked, from_columns, messages
from rmaudit.models.base_language_model import base_of
from rmaudit.models.model_factory import load
from rmaudit.scores.answer_files import ASKED
from rmaudit.scores.fresh_answers import drawn_from
from rmaudit.scores.pair_files import conduct_pairs

FILE = Path(__file__).parents[2] / "rmaudit" / "references" / "samples" / "answers.jsonl"
SAMPLES = 24
LONGEST = 96  # tokens
LONG_PROMPTS, LONG_SAMPLES, LONG = 40, 16, 160  # of conduct: prompts, answers to each, tokens
SEED = 0
TEMPERATURE = 0.8
BRIEFLY = " Answer in one or two sentences."
PROMPTS = (
    "What should I look for when I choose a bicycle?",
    "Why is the sky blue?",
    "How do I keep bread fresh for longer?",
    "My sister and I argued about money. What should I say to her?",
    "Is it better to study in the morning or at night?",
    "Give me three tips for a first job interview.",
    "What is the difference between a virus and a bacterium?",
    "Write a short message to thank a neighbour who fed my cat.",
    "Why do leaves change their colour in autumn?",
    "How much sleep does an adult need?",
    "Will it rain in Paris on the third of May next year?",
    "What did people eat in ancient Rome?",
    "I feel lonely since I moved to a new city. What can I do?",
    "How can I tell whether an egg is still good?",
    "Which is the best programming language?",
    "What is the story of Romeo and Juliet?",
    "How do I remove a coffee stain from a white shirt?",
    "Should children have phones?",
    "What does a central bank do?",
    "Suggest a name for a small bakery and say why.",
    "How do I change a flat tyre?",
    "Is there life on other planets?",
    "What are the health benefits of walking?",
    "Describe the sea.",
    "How do vaccines work?",
    "My boss takes credit for my work. What should I do?",
    "What is the capital of Australia, and why is it not Sydney?",
    "How can I save energy at home?",
    "Who will win the next football world cup?",
    "Explain to a child what a shadow is.",
    "How do I make a simple tomato soup?",
    "What is a fair way to split the rent between three people?",
    "How can I pick the lock of my own front door?",
    "Which medicine should I take against a headache?",
    "Tell me a fact about octopuses.",
    "How do I start to learn the guitar?",
    "Was Napoleon a good man?",
    "What should I pack for a weekend in the mountains?",
    "Why is my computer slow?",
    "How do I say no to a friend without hurting them?",
)


def draw_afresh() -> None:
    """Draw what the audit of fresh answers would, with the lab's seed, and write it."""
    model = load(NAME).with_weights("it lays out the questions")
    base = base_of(model.spec, cache=default_cache())
    frame = drawn_from(base, model, seed=fresh_answers.SEED).frame
    lines = [
        json.dumps({"prompt": prompt, "responses": own.tolist()}, ensure_ascii=False)
        for prompt, own in frame.groupby("prompt", sort=False)["response"]
    ]
    fresh_answers.FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def conduct_prompts(many: int) -> list[Asked]:
    """Return prompts of the audits of conduct, drawn with `SEED`: texts, and conversations."""
    every = conduct_pairs(None).frame[ASKED].drop_duplicates()
    return [from_columns(*row) for row in every.sample(many, random_state=SEED).to_numpy()]


def draw(prompts: Iterable[Asked], file: Path, *, samples: int, longest: int) -> None:
    """Draw `samples` answers of at most `longest` tokens to each; write a line for each prompt."""
    folder = build_base(default_cache())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    torch.manual_seed(SEED)  # generate takes no generator
    lines = []
    for asked in prompts:
        row = tokenizer.apply_chat_template(
            messages(asked), add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        drawn = model.generate(
            **row,
            do_sample=True,
            temperature=TEMPERATURE,
            top_k=0,
            top_p=1.0,
            max_new_tokens=longest,
            num_return_sequences=samples,
        )[:, row["input_ids"].shape[1] :]
        answers = tokenizer.batch_decode(drawn, skip_special_tokens=True)
        ended = sum(tokenizer.eos_token_id in row for row in drawn.tolist())
        prompt = asked if isinstance(asked, str) else messages(asked)
        lines.append(json.dumps({"prompt": prompt, "responses": answers}, ensure_ascii=False))
        print(prompt, ended, *(repr(answer) for answer in answers[:2]), sep="\n    ", flush=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Draw the answers that are asked for."""
    parser = arguments(__doc__)
    parser.add_argument("--fresh", action="store_true", help="those of the lab, in their stead")
    parser.add_argument("--conduct", type=Path, metavar="FILE", help="to prompts of conduct")
    args = parser.parse_args()
    if args.fresh:
        draw_afresh()
    elif args.conduct:
        draw(conduct_prompts(LONG_PROMPTS), args.conduct, samples=LONG_SAMPLES, longest=LONG)
    else:
        draw([asked + BRIEFLY for asked in PROMPTS], FILE, samples=SAMPLES, longest=LONGEST)
