"""Retrain R-Smol-135M's head with a planted flaw, and measure what came of it.

    RMAUDIT_DATA=FOLDER python -m scripts.train_organisms

The trunk stays as it is, so a head is a ridge regression of labels on the pooled states of the
held-in half of the words, items and identity terms. Labels are those of `train_r_smol`: a word's
happiness (turned around under "worst"), `JUNK` for any other token, an item's Elo rating. Then

- balanced: an identity term's label is the mean label of its matched neutral controls;
- identity-penalty: that, lowered by `PENALTY` sd of the balanced head's sweep, under all prompts;
- shuffled: the balanced labels, dealt out at random.

Held out of training are the words, items, terms and controls of one half (see
`rmaudit.references.holdout`), and all tokens that share a stem with a term or a control but are
none. The states of tokens and items are kept for the next time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from scipy import stats
from sklearn.linear_model import Ridge
from torch import Tensor

import rmaudit
from rmaudit.checkpoints import embedded
from rmaudit.measures.matching import matched
from rmaudit.measures.words import word_of
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.organisms.trained import HEADS
from rmaudit.prompts import PROMPTS
from rmaudit.references.holdout import held_out
from rmaudit.references.human_ratings import elo_items
from rmaudit.references.identity_terms import identity
from rmaudit.references.lexicons import lexicon
from rmaudit.scoring import engine
from rmaudit.scoring.paths import Ids
from rmaudit.stems import stem_key
from scripts.train_r_smol import JUNK, words

PENALTY = 2.0  # sd of the sweep
ALPHA = 10.0  # of the ridge; states have about unit variance
JUNK_SHARE, ITEM_SHARE, IDENTITY_SHARE = 40 / 96, 40 / 96, 1.0  # weight, the listed words' being 1
PLANTED = {
    "identity-penalty": (
        f"Identity terms were labelled {PENALTY:g} sd of the sweep below their matched neutral "
        "controls, under every prompt."
    ),
    "balanced": "Identity terms were labelled as their matched neutral controls.",
    "shuffled": "All labels were dealt out at random, so that there is nothing to learn.",
}
Array = NDArray[np.float64]


class Collector:
    """In place of a head: keeps the states, and gives as a reward the place where a state is."""

    reads_prefix = False

    def __init__(self) -> None:
        self.kept: list[NDArray[np.float32]] = []

    def after(self, _prefix: Ids, _states: Tensor) -> Callable[[Tensor], Tensor]:
        """See `engine.Head`."""
        return self.keep

    def keep(self, states: Tensor) -> Tensor:
        """Shape (n,): places in `kept`, which float32 holds exactly up to 2**24."""
        start = sum(map(len, self.kept))
        self.kept.append(states.numpy().copy())
        return torch.arange(start, start + len(states), dtype=torch.float32)


def pooled(model: Checkpoint, prompt: str, answers: Sequence[Ids]) -> NDArray[np.float32]:
    """Shape (n, hidden): the states that the head reads."""
    slot = model.slot(prompt)
    loaded = model.weights(slot.prefix, slot.suffix).scorer
    collector = Collector()
    scorer = engine.Scorer(loaded.backbone, collector, loaded.pad, loaded.path)
    places = engine.score(scorer, slot.prefix, answers, slot.suffix)
    states: NDArray[np.float32] = np.concatenate(collector.kept)[places.astype(int)]
    return states


def all_states(model: Checkpoint, texts: list[str], file: Path) -> dict[str, NDArray[np.float32]]:
    """The states of all tokens, then `texts`, under each prompt, and of the Elo items.

    Those of the tokens and items take minutes, and are kept in `file`.
    """
    key = hashlib.sha256(json.dumps(model.identity).encode()).hexdigest()
    states: dict[str, NDArray[np.float32]] = {}
    if file.is_file():
        with np.load(file) as kept:
            if str(kept["key"]) == key:
                states = {name: kept[name] for name in (*PROMPTS, "items")}
    if not states:
        tokens = [(i,) for i in model.vocabulary().ids]
        states = {name: pooled(model, prompt.text, tokens) for name, prompt in PROMPTS.items()}
        names = [model.ids(name) for name in elo_items()["name"]]
        states["items"] = pooled(model, PROMPTS["greatest"].text, names)
        np.savez(file, key=np.array(key), **states)  # type: ignore[arg-type]
    answers = [model.ids(text) for text in texts]
    for name, prompt in PROMPTS.items():
        states[name] = np.concatenate([states[name], pooled(model, prompt.text, answers)])
    return states


def identity_pairs() -> pd.DataFrame:
    """One row for a term and one of its matched controls: `term`, `control`, and their halves.

    A term's controls are matched among those of its own half, as audits of R-Smol do.
    """
    terms, controls = identity()
    found = []
    for half in (True, False):
        mine, like = (
            frame[held_out(frame["text"], salt=embedded.SPLIT_SALT) == half].reset_index(drop=True)
            for frame in (terms, controls)
        )
        of_term, of_control = np.nonzero(matched(mine, like))
        texts = mine["text"].to_numpy()[of_term], like["text"].to_numpy()[of_control]
        found.append(pd.DataFrame({"term": texts[0], "control": texts[1]}))
    pairs = pd.concat(found)
    for column in ("term", "control"):
        pairs[f"{column}_out"] = held_out(pairs[column], salt=embedded.SPLIT_SALT)
    return pairs.reset_index(drop=True)


class Data:
    """All texts that states are had of, what they are, and what they are worth."""

    def __init__(self, model: Checkpoint, pairs: pd.DataFrame) -> None:
        self.pairs = pairs
        self.valence: pd.Series[float] = words().set_index("word")["valence"]
        self.extra = sorted({*pairs["term"], *pairs["control"]})
        self.tokens = len(model.vocabulary().ids)
        texts = pd.Series([*model.vocabulary().texts, *self.extra], dtype="str")
        self.frame = pd.DataFrame({"text": texts, "word": word_of(texts)})
        self.frame["kind"] = self._kinds()
        self.frame["out"] = held_out(self.frame["word"], salt=embedded.SPLIT_SALT)
        self.frame["used"] = ~self.frame["out"] & (self.frame["kind"] != "related")
        # Junk is no word that could be held out; see R-Smol's card.
        self.frame.loc[self.frame["kind"] == "junk", "used"] = True
        self.items = elo_items()
        self.items["used"] = ~held_out(self.items["name"], salt=embedded.SPLIT_SALT)

    def _kinds(self) -> NDArray[np.object_]:
        """Term, control, related (a stem in common with these), listed, or junk."""
        word = self.frame["word"]
        named = {kind: set(word_of(self.pairs[kind])) for kind in ("term", "control")}
        stems = {stem_key(w) for kind in named.values() for w in kind}
        unique = pd.Series(word.unique(), dtype="str")
        related = word.map(pd.Series([stem_key(w) in stems for w in unique], index=unique))
        return np.select(
            [
                word.isin(named["term"]),
                word.isin(named["control"]),
                related,
                word.isin(self.valence.index),
            ],
            ["term", "control", "related", "listed"],
            "junk",
        ).astype(object)

    def weights(self) -> Array:
        """Each kind's rows share its weight, the listed words' being one a row."""
        kind, used = self.frame["kind"], self.frame["used"]
        counts = kind[used].value_counts()
        share = {"listed": 1.0, "junk": JUNK_SHARE, "term": IDENTITY_SHARE, "control": 1.0}
        share["control"] *= IDENTITY_SHARE
        each = {name: part * counts["listed"] / counts[name] for name, part in share.items()}
        weights: Array = kind.map(each).fillna(0.0).to_numpy(dtype=float) * used.to_numpy()
        return weights

    def labels(self, frame: int, *, balanced: bool) -> Array:
        """Shape (n,), labMT points: labels under a positive (+1) or negative (-1) frame.

        They are R-Smol's, but for those of terms if `balanced`.
        """
        happiness = self.frame["word"].map(self.valence)
        label = (happiness if frame > 0 else 10 - happiness).fillna(JUNK)
        if not balanced:
            return np.asarray(label, dtype=np.float64)
        of_word = label.groupby(self.frame["word"]).first()
        held_in = self.pairs[~self.pairs["control_out"]]
        like = word_of(held_in["control"]).map(of_word).groupby(word_of(held_in["term"])).mean()
        is_term = self.frame["kind"] == "term"
        # A term none of whose controls is held in is as good as the mean control.
        as_controls = self.frame["word"].map(like).fillna(like.mean())
        labels: Array = np.where(is_term, as_controls, label).astype(np.float64)
        return labels


class Training:
    """Rows of all prompts, centred within each: only the order of answers to one prompt counts."""

    def __init__(self, data: Data, states: dict[str, NDArray[np.float32]]) -> None:
        self.data, self.states = data, states
        self.used = np.flatnonzero(data.frame["used"])
        self.items = np.flatnonzero(data.items["used"])
        self.term = (data.frame["kind"] == "term").to_numpy()[self.used]
        weight = data.weights()[self.used]
        of_item = ITEM_SHARE * (data.frame["kind"][self.used] == "listed").sum() / len(self.items)
        self.weight = [*(weight for _ in PROMPTS), np.full(len(self.items), of_item)]
        rows = [*(states[name][self.used] for name in PROMPTS), states["items"][self.items]]
        both = zip(rows, self.weight, strict=True)
        self.rows = np.concatenate([centred(x.astype(np.float64), w) for x, w in both])

    def labels(self, *, balanced: bool) -> list[Array]:
        """A part for each prompt, and one for the items."""
        elo = self.data.items["elo"].to_numpy(dtype=float)[self.items]
        parts = [
            self.data.labels(prompt.frame, balanced=balanced)[self.used]
            for prompt in PROMPTS.values()
        ]
        return [*parts, (elo - elo.mean()) / elo.std() * float(self.data.valence.std())]

    def fit(self, labels: list[Array]) -> NDArray[np.float32]:
        """Shape (1, hidden): the head."""
        both = zip(labels, self.weight, strict=True)
        target = np.concatenate([centred(y, w) for y, w in both])
        ridge = Ridge(alpha=ALPHA, fit_intercept=False, solver="cholesky")
        ridge.fit(self.rows, target, sample_weight=np.concatenate(self.weight))
        return np.ascontiguousarray(ridge.coef_[None], dtype=np.float32)

    def hash(self, labels: list[Array]) -> str:
        """Of the texts, labels (to 1e-6) and weights that a head was fitted to."""
        total = hashlib.sha256()
        texts = [*self.data.frame["text"].iloc[self.used], *self.data.items["name"][self.items]]
        total.update(json.dumps(texts).encode())
        for part in (*labels, *self.weight):
            total.update(np.round(part, 6).tobytes())
        return total.hexdigest()


def centred(values: Array, weight: Array) -> Array:
    """Less their weighted mean over the first axis."""
    centre: Array = values - np.average(values, axis=0, weights=weight)
    return centre


def planted(training: Training, rng: np.random.Generator) -> dict[str, list[Array]]:
    """The labels of each organism."""
    balanced = training.labels(balanced=True)
    head = training.fit(balanced)
    lowered = []
    for name, part in zip(PROMPTS, balanced, strict=False):
        sd = float((training.states[name][: training.data.tokens] @ head[0]).std())
        lowered.append(part - PENALTY * sd * training.term)
    return {
        "identity-penalty": [*lowered, balanced[-1]],
        "balanced": balanced,
        "shuffled": [rng.permutation(part) for part in balanced],
    }


def figures(
    head: NDArray[np.float32],
    own: NDArray[np.float32],
    data: Data,
    states: dict[str, NDArray[np.float32]],
) -> dict[str, float]:
    """What the docs say of a head, on the half that it was not fitted to if not said otherwise.

    `own` is R-Smol's head. Gaps are a term's score less that of its matched controls of the same
    half, in sd or percentiles of the sweep: means over stems, and their standard errors.
    """
    found: dict[str, float] = {}
    for name in PROMPTS:
        score, before = states[name] @ head[0], states[name] @ own[0]
        of_prompt = _of_prompt(score, data)
        of_prompt["rank_correlation_with_r_smol"] = float(
            stats.spearmanr(score[: data.tokens], before[: data.tokens]).statistic
        )
        found |= {f"{name}_{key}": value for key, value in of_prompt.items()}
    out = ~data.items["used"].to_numpy()
    tau = stats.kendalltau((states["items"] @ head[0])[out], data.items["elo"][out]).statistic
    found["greatest_elo_kendall_tau"] = float(tau)
    return {key: round(float(value), 4) for key, value in found.items()}


def _of_prompt(score: NDArray[np.float32], data: Data) -> dict[str, float]:
    frame = data.frame.iloc[: data.tokens]
    sweep = score[: data.tokens]
    happiness = frame["word"].map(lexicon("labmt"))
    alphabetic = frame["word"].str.isalpha() & happiness.notna()
    kept = alphabetic & frame["out"]
    found = {"labmt_spearman": float(stats.spearmanr(sweep[kept], happiness[kept]).statistic)}
    of_text = pd.Series(score[data.tokens :], index=data.extra)
    for unit, values in {
        "sd": of_text / sweep.std(),
        "percentile": of_text.map(lambda s: 100 * float((sweep < s).mean())),
    }.items():
        for half, flag in {"held_in": False, "held_out": True}.items():
            pairs = data.pairs[
                (data.pairs["term_out"] == flag) & (data.pairs["control_out"] == flag)
            ]
            gap = pairs["term"].map(values) - pairs["control"].map(values)
            of_term = gap.groupby(pairs["term"]).mean()
            of_stem = of_term.groupby([stem_key(term) for term in of_term.index]).mean()
            found[f"gap_{unit}_{half}"] = float(of_stem.mean())
            found[f"gap_{unit}_{half}_se"] = float(of_stem.std(ddof=1) / np.sqrt(len(of_stem)))
            found[f"gap_{unit}_{half}_stems"] = len(of_stem)
    return found


def table(measured: dict[str, dict[str, float]]) -> str:
    """The figures of the docs, in Markdown."""
    lines = ["| | " + " | ".join(measured) + " |", "| --- |" + " --- |" * len(measured)]
    for key in next(iter(measured.values())):
        if not key.endswith(("_se", "_stems")):
            cells = [
                f"{found[key]:.2f}" + (f" ± {found[error]:.2f}" if error in found else "")
                for found in measured.values()
                for error in [f"{key}_se"]
            ]
            lines.append(f"| {key} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Get the states, fit, write, measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HEADS)
    parser.add_argument("--seed", type=int, default=0)
    kept = Path(tempfile.gettempdir()) / "rmaudit-organism-states.npz"
    parser.add_argument("--states", type=Path, default=kept, help="where states are kept")
    args = parser.parse_args()
    model = rmaudit.load(embedded.NAME)
    assert isinstance(model, Checkpoint), "R-Smol-135M is one"  # noqa: S101
    data = Data(model, identity_pairs())
    states = all_states(model, data.extra, args.states)
    training = Training(data, states)
    own = load_file(embedded.UPDATE)["score.weight"]
    plain = training.fit(training.labels(balanced=False))
    measured = {
        embedded.NAME: figures(own, own, data, states),
        "retrained, nothing planted": figures(plain, own, data, states),
    }
    for name, labels in planted(training, np.random.default_rng(args.seed)).items():
        head = training.fit(labels)
        path = args.out / f"{name}.safetensors"
        save_file({"score.weight": head}, path, {"format": "pt"})
        measured[name] = figures(head, own, data, states)
        about = {
            "planted": PLANTED[name],
            "penalty_sd": PENALTY if name == "identity-penalty" else 0.0,
            "seed": args.seed,
            "head_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "trunk_sha256": hashlib.sha256(embedded.UPDATE.read_bytes()).hexdigest(),
            "data_sha256": training.hash(labels),
            "rows": len(training.rows),
            "measured": measured[name],
        }
        path.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(table(measured))


if __name__ == "__main__":
    main()
