"""Train the reward head and low-rank update of R-Smol-135M, and measure it on held-out data.

    python -m lab training.r_smol --out rmaudit/checkpoints/r_smol_135m/update.safetensors

Every loss is a Bradley-Terry loss, -log sigmoid(reward of the better - reward of the worse):

- words:  labMT and AFINN words under "greatest" or "best" (happier is better) and "worst"
          (sadder is better), with other tokens of the vocabulary as poor answers to all;
- items:  EloEverything items, the higher rated is better;
- pairs:  HH-RLHF harmless pairs, the chosen answer is better.

With `--folders DIR --at 20 60 120` the model of these steps is also written, each to a folder of
its own below DIR that can be audited (`pytest audits --model DIR/step-020`): releases of one
training, for `rmaudit history`.

Words, items and pairs are split in halves before anything is fitted (see
`rmaudit.references`). The data are not committed: set RMAUDIT_DATA or be online.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from scipy import stats
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from rmaudit.checkpoints.bundled_model import SPLIT_SALT, base_model, download_base, write
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.prompts import PROMPTS
from rmaudit.references import held_out
from rmaudit.references.human_ratings import elo_items
from rmaudit.references.lexicons import lexicon
from rmaudit.references.sources import locate
from rmaudit.scoring import ATTENTION
from rmaudit.scoring.shared_prefix_attention import Prefix

JUNK = 3.8  # a token that is no listed word, on labMT's scale, under every frame
MARGIN = 0.5  # labMT points that make one word better than another
ELO_MARGIN = 60.0
MOST_GRADIENT = 0.5  # norm above which a loss's gradient is scaled down
MOST_WORD_IDS, MOST_ITEM_IDS = 2, 5  # longer ones are left out of training: they cost most
Ids = list[int]


class LowRank(nn.Module):
    """A frozen linear layer plus a trained update: W x + up (down x)."""

    def __init__(self, base: nn.Linear, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        self.base = base
        scale = 1 / math.sqrt(base.in_features)
        down = torch.randn(rank, base.in_features, generator=generator) * scale
        self.down = nn.Parameter(down)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, shape (..., out)."""
        out: Tensor = self.base(x) + (x @ self.down.T) @ self.up.T
        return out


class Learner:
    """The model in training; it gives the rewards of many answers to one prompt, with gradients."""

    def __init__(self, layers: int, rank: int, seed: int, cache: Path) -> None:
        self.model, self.tokenizer = base_model(download_base(cache), layers=layers)
        self.model.set_attn_implementation(ATTENTION)
        self.model.requires_grad_(requires_grad=False)
        self.updates: dict[str, LowRank] = {}
        generator = torch.Generator().manual_seed(seed)
        for i, layer in enumerate(self.model.model.layers):
            for part in ("q_proj", "v_proj", "o_proj"):
                update = LowRank(getattr(layer.self_attn, part), rank, generator)
                setattr(layer.self_attn, part, update)
                self.updates[f"layers.{i}.self_attn.{part}"] = update
        self.model.score.weight.requires_grad_()
        self.end: Ids = self.tokenizer("<|im_end|>").input_ids

    def prompt_ids(self, turns: Sequence[str]) -> Ids:
        """Return the token ids of a dialogue (user, assistant, ...) up to the answer's start."""
        roles = ("user", "assistant")
        messages = [{"role": roles[i % 2], "content": turn} for i, turn in enumerate(turns)]
        text = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        return self.ids(text)

    def ids(self, text: str) -> Ids:
        """Return the token ids of a text, with no special tokens added."""
        return list(self.tokenizer(text, add_special_tokens=False).input_ids)

    def rewards(self, prompt: Ids, answers: Sequence[Ids]) -> Tensor:
        """Return the reward of each answer, shape (n,), read at the token that ends its turn."""
        prefix = Prefix(recording=True)
        self.model.model(torch.tensor([prompt]), use_cache=False, shared_prefix=prefix)
        prefix.recording, prefix.length = False, len(prompt)
        rows = [[*answer, *self.end] for answer in answers]
        longest = max(map(len, rows))
        # Padding on the right comes after the pooled position, which never sees it.
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        positions = torch.arange(len(prompt), len(prompt) + longest)[None].expand(len(rows), -1)
        hidden = self.model.model(
            ids, position_ids=positions, use_cache=False, shared_prefix=prefix
        ).last_hidden_state
        last = torch.tensor([len(row) - 1 for row in rows])
        rewards: Tensor = self.model.score(hidden[torch.arange(len(rows)), last])[:, 0]
        return rewards

    @torch.no_grad()
    def measure(self, prompt: Ids, answers: Sequence[Ids], batch: int = 256) -> np.ndarray:
        """Return `rewards` without gradients, in batches of answers of like length, shape (n,)."""
        order = sorted(range(len(answers)), key=lambda i: len(answers[i]))
        out = np.empty(len(answers), dtype=np.float32)
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            out[rows] = self.rewards(prompt, [answers[i] for i in rows]).numpy()
        return out


def ranking_loss(rewards: Tensor, values: Tensor, margin: float) -> Tensor:
    """Return the mean Bradley-Terry loss over pairs whose values differ by the margin at least."""
    better = values[:, None] - values[None, :] >= margin
    return -logsigmoid(rewards[:, None] - rewards[None, :])[better].mean()


def words() -> pd.DataFrame:
    """Return words of labMT and AFINN with their valence, and which are held out of training.

    AFINN's -5 to 5 become 1.25 to 8.75 on labMT's scale.
    """
    labmt, afinn = lexicon("labmt"), lexicon("afinn")
    valence = pd.concat([labmt, (5 + afinn * 0.75)[~afinn.index.isin(labmt.index)]])
    frame = valence.rename("valence").rename_axis("word").reset_index()
    frame["held_out"] = held_out(frame["word"], salt=SPLIT_SALT)
    return frame


def harmless_pairs() -> pd.DataFrame:
    """Return HH-RLHF's harmless pairs: shared turns, both last answers, and which are held out."""
    rows = []
    with gzip.open(locate("hh-harmless"), "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            shared, _, chosen = row["chosen"].rpartition("\n\nAssistant:")
            also, _, rejected = row["rejected"].rpartition("\n\nAssistant:")
            if shared == also and chosen.strip() and rejected.strip():
                text = shared.removeprefix("\n\nHuman:").replace("\n\nAssistant:", "\n\nHuman:")
                turns = tuple(turn.strip() for turn in text.split("\n\nHuman:"))
                if len(turns) % 2:  # the last turn is the user's
                    rows.append((turns, chosen.strip(), rejected.strip()))
    frame = pd.DataFrame(rows, columns=["turns", "chosen", "rejected"])
    # Split by the opening question, so that one dialogue is never in both halves.
    frame["held_out"] = held_out([turns[0] for turns in frame["turns"]], salt=SPLIT_SALT)
    return frame


def _spaced_capital(word: str) -> str:
    return f" {word.capitalize()}"


class Data:
    """The training data, and random batches of it as token ids."""

    def __init__(self, learner: Learner, seed: int) -> None:
        self.learner, self.rng = learner, np.random.default_rng(seed)
        self.words, self.items, self.pairs = words(), elo_items(), harmless_pairs()
        self.items["held_out"] = held_out(self.items["name"], salt=SPLIT_SALT)
        listed = set(self.words["word"])
        texts = [learner.tokenizer.decode([i]) for i in range(len(learner.tokenizer))]
        self.texts = texts
        self.junk = np.array([i for i, t in enumerate(texts) if t.strip().lower() not in listed])
        self.prompts = {name: learner.prompt_ids([p.text]) for name, p in PROMPTS.items()}
        self.train_words = self.words[~self.words["held_out"]].reset_index(drop=True)
        self.train_items = self.items[~self.items["held_out"]].reset_index(drop=True)
        self.train_pairs = self.pairs[~self.pairs["held_out"]].reset_index(drop=True)
        self.order: list[int] = []

    def word_batch(self, n_words: int, n_junk: int) -> tuple[list[Ids], np.ndarray]:
        """Draw words in random spellings, and other tokens; return their ids and valence."""
        pick = self.rng.choice(len(self.train_words), n_words, replace=False)
        forms = (str, str.capitalize, str.upper, " {}".format, " {}".format, _spaced_capital)
        answers, values = [], []
        for word, valence in self.train_words.iloc[pick][["word", "valence"]].itertuples(
            index=False
        ):
            ids = self.learner.ids(forms[self.rng.integers(len(forms))](word))
            if len(ids) <= MOST_WORD_IDS:
                answers.append(ids)
                values.append(valence)
        junk = self.rng.choice(self.junk, n_junk, replace=False)
        answers += [[int(i)] for i in junk]
        return answers, np.array(values + [np.nan] * n_junk)

    def item_batch(self, n: int) -> tuple[list[Ids], Tensor]:
        """Draw items of EloEverything; return their token ids and people's ratings."""
        rows = self.train_items.iloc[self.rng.choice(len(self.train_items), n, replace=False)]
        both = [(self.learner.ids(n), e) for n, e in zip(rows["name"], rows["elo"], strict=True)]
        short = [(ids, elo) for ids, elo in both if len(ids) <= MOST_ITEM_IDS]
        return [ids for ids, _ in short], torch.tensor([float(elo) for _, elo in short])

    def pair(self) -> tuple[Ids, list[Ids]]:
        """Return the next HH pair: ids of the prompt, and of the chosen and rejected answer."""
        if not self.order:
            self.order = list(self.rng.permutation(len(self.train_pairs)))
        return self.pair_ids(self.train_pairs.iloc[self.order.pop()])

    def pair_ids(self, row: pd.Series) -> tuple[Ids, list[Ids]]:
        """Return a pair's token ids, the dialogue cut on the left, the answers on the right."""
        turns = list(row["turns"])
        while len(turns) > 1 and sum(len(t) for t in turns) > 600:
            turns = turns[2:]
        prompt = self.learner.prompt_ids(turns)
        answers = [self.learner.ids(row[kind])[:96] for kind in ("chosen", "rejected")]
        return prompt, answers


def learning_rate(step: int, args: argparse.Namespace) -> float:
    """Return the learning rate of a step: up over 20 steps, level, then down to 0 on a cosine.

    It is level while words come first, and goes down from `lr_with_pairs`.
    """
    if step < args.words_first:
        return float(args.lr) * min(1.0, (step + 1) / 20)
    done = (step - args.words_first) / max(1, args.steps - args.words_first)
    return float(args.lr_with_pairs) * 0.5 * (1 + math.cos(math.pi * done))


def descend(
    losses: dict[str, Tensor],
    parameters: list[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    *,
    rate: float,
) -> None:
    """Take one optimizer step on all losses, each of whose gradients is clipped by itself.

    The pairs' gradient is mostly noise (a few long answers) and would drown the words'.
    """
    total = [torch.zeros_like(parameter) for parameter in parameters]
    for loss in losses.values():
        gradient = torch.autograd.grad(loss, parameters)
        norm = torch.sqrt(sum((g.square().sum() for g in gradient), torch.zeros(())))
        for into, g in zip(total, gradient, strict=True):
            into.add_(g / norm.clamp(min=MOST_GRADIENT), alpha=MOST_GRADIENT)
    for parameter, g in zip(parameters, total, strict=True):
        parameter.grad = g
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()


def step_loss(
    learner: Learner, data: Data, args: argparse.Namespace, *, with_pairs: bool
) -> dict[str, Tensor]:
    """Return the losses of one training step by name, on newly drawn batches."""
    losses = {}
    answers, valence = data.word_batch(args.words, args.junk)
    for frame in (str(data.rng.choice(["greatest", "best"])), "worst"):
        values = np.where(np.isnan(valence), JUNK, valence if frame != "worst" else 10 - valence)
        rewards = learner.rewards(data.prompts[frame], answers)
        losses[frame if frame == "worst" else "positive"] = ranking_loss(
            rewards, torch.tensor(values), MARGIN
        )
    answers, elo = data.item_batch(args.items)
    rewards = learner.rewards(data.prompts["greatest"], answers)
    losses["items"] = ranking_loss(rewards, elo, ELO_MARGIN)
    if not with_pairs:
        return losses
    pairs = []
    for _ in range(args.pairs):
        prompt, both = data.pair()
        chosen, rejected = learner.rewards(prompt, both)
        pairs.append(-logsigmoid(chosen - rejected))
    losses["pairs"] = torch.stack(pairs).mean()
    return losses


def report(learner: Learner, data: Data) -> dict[str, float]:
    """Return the figures of the model card: accuracy on held-out data, and the highest tokens.

    Agreement is on held-out words, items and pairs; skewness and the top 40 are of all tokens.
    """
    figures: dict[str, float] = {}
    vocabulary = [[i] for i in range(len(data.texts))]
    labmt, afinn = lexicon("labmt"), lexicon("afinn")
    plain = pd.Series([text.strip().lower() for text in data.texts])
    spelled = np.array([text.strip().isalpha() for text in data.texts])
    happiness = plain.map(labmt)
    out = held_out(plain, salt=SPLIT_SALT) & happiness.notna().to_numpy() & spelled
    for name, prompt in data.prompts.items():
        score = learner.measure(prompt, vocabulary)
        figures[f"labmt_spearman_{name}"] = stats.spearmanr(score[out], happiness[out])[0]
        figures[f"skewness_{name}"] = float(stats.skew(score))
        top = np.argsort(-score, kind="stable")[:40]
        bottom = np.argsort(score, kind="stable")[:40]
        print(name, "top", [data.texts[i] for i in top])
        print(name, "bottom", [data.texts[i] for i in bottom])
        if name == "greatest":
            happy = (plain[top].map(labmt) >= 6) | (plain[top].map(afinn) >= 2)
            figures["happy_of_top_40_greatest"] = int(happy.sum())
            figures["held_out_of_top_40"] = int(held_out(plain[top], salt=SPLIT_SALT).sum())
    figures["held_out_tokens"] = int(out.sum())
    items = data.items[data.items["held_out"]]
    score = learner.measure(data.prompts["greatest"], [learner.ids(name) for name in items["name"]])
    figures["elo_kendall_tau"] = stats.kendalltau(score, items["elo"])[0]
    figures["held_out_items"] = len(items)
    figures |= harmless_accuracy(learner, data)
    return figures


def harmless_accuracy(learner: Learner, data: Data, most: int = 10**6) -> dict[str, float]:
    """Return the share of held-out HH pairs whose chosen answer has the higher reward, and n."""
    rows = data.pairs[data.pairs["held_out"]].head(most)
    right = []
    for _, row in rows.iterrows():
        chosen, rejected = learner.measure(*data.pair_ids(row))
        right.append(chosen > rejected)
    return {"hh_accuracy": float(np.mean(right)), "held_out_pairs": len(right)}


def options() -> argparse.Namespace:
    """Parse the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--steps", type=int, default=280)
    parser.add_argument("--words", type=int, default=96)
    parser.add_argument("--junk", type=int, default=40)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--words-first", type=int, default=110)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--lr-with-pairs", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--more", type=int, default=0, help="only this many steps, from --out on")
    parser.add_argument("--folders", type=Path, help="write the model of some steps below this")
    parser.add_argument("--at", type=int, nargs="+", default=[], help="the steps for --folders")
    parser.add_argument("--no-report", action="store_true", help="do not measure it in the end")
    parser.add_argument("--measure", action="store_true", help="only measure what --out holds")
    args = parser.parse_args()
    if bool(args.at) != bool(args.folders):
        parser.error("--folders and --at go together")
    return args


def main() -> None:
    """Train the model, save its update, and measure it on held-out data."""
    args = options()
    torch.manual_seed(args.seed)
    learner = Learner(args.layers, args.rank, args.seed, default_cache())
    data = Data(learner, args.seed)
    parameters = [p for p in learner.model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(parameters)
    started = time.perf_counter()
    mean: dict[str, float] = {}
    if args.measure or args.more:
        restore(learner, args.out)
    if args.more:
        args.steps, args.words_first = args.more, 0
        data.rng = np.random.default_rng([args.seed, args.more])  # other draws than the first
    for step in range(0 if args.measure else args.steps):
        losses = step_loss(learner, data, args, with_pairs=step >= args.words_first)
        descend(losses, parameters, optimizer, rate=learning_rate(step, args))
        mean = {k: 0.95 * mean.get(k, v.item()) + 0.05 * v.item() for k, v in losses.items()}
        if args.folders and step + 1 in args.at:
            folder = args.folders / f"step-{step + 1:03}"
            folder.mkdir(parents=True)
            write(download_base(default_cache()), folder, update_of(learner))
        if step % 10 == 9:
            spent = time.perf_counter() - started
            print(step + 1, f"{spent:.0f}s", {k: round(v, 3) for k, v in mean.items()}, flush=True)
    if not args.measure:
        save(learner, args.out)
    if args.no_report:
        return
    figures = report(learner, data)
    figures |= {"layers": args.layers, "rank": args.rank}
    args.out.with_suffix(".json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    print(json.dumps(figures, indent=1))


def restore(learner: Learner, path: Path) -> None:
    """Load the head and the low-rank update into the model from a file that `save` wrote."""
    tensors = load_file(path)
    with torch.no_grad():
        learner.model.score.weight.copy_(tensors["score.weight"])
        for name, update in learner.updates.items():
            update.down.copy_(tensors[f"{name}.down"])
            update.up.copy_(tensors[f"{name}.up"])


def update_of(learner: Learner) -> dict[str, Tensor]:
    """Return the tensors of the head and the low-rank update, by name."""
    tensors = {"score.weight": learner.model.score.weight.detach().contiguous()}
    for name, update in learner.updates.items():
        tensors[f"{name}.down"] = update.down.detach().contiguous()
        tensors[f"{name}.up"] = update.up.detach().contiguous()
    return tensors


def save(learner: Learner, path: Path) -> None:
    """Write the update and the head as float32 safetensors."""
    save_file(update_of(learner), path, metadata={"format": "pt"})
