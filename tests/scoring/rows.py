"""What the tests of this folder score: rows with every kind of id, pads, and loaded toys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from rmaudit.checkpoints.heads.linear import Linear
from rmaudit.scoring import ATTENTION, ScoringPath, path_of
from rmaudit.scoring.row_runners import Ids
from rmaudit.scoring.scorer import Scorer
from tests.toys import SPECIAL, toy_tokenizer

TOLERANCE = 1e-4  # in sd of the scores
TOKENIZER = toy_tokenizer()
PAD, BOS, EOS, START, END = (int(TOKENIZER.convert_tokens_to_ids(token)) for token in SPECIAL)
ADDED = len(TOKENIZER) - 1


def ids_of(text: str) -> Ids:
    """The toy tokenizer's ids of a text as it stands."""
    return tuple(TOKENIZER(text, add_special_tokens=False).input_ids)


LOVE, WAR, NEWLINE = ids_of("love") + ids_of(" war") + ids_of("\n")
PREFIX = ids_of("<|start|>user\nthe love of the city<|end|>\n<|start|>assistant\n")  # 24 ids
SUFFIXES = {"turn's end": (END,), "turn's end, newline": (END, NEWLINE), "no suffix": ()}
ANSWERS: list[Ids] = [
    *((i,) for i in (LOVE, WAR, BOS, START, END, PAD, EOS, NEWLINE, ADDED)),
    (),
    *((LOVE, after) for after in (WAR, END, PAD)),
    *((END, LOVE), (PAD, LOVE), (PAD, PAD)),
    (END, NEWLINE, PAD),
    (LOVE, ADDED, EOS),
    ids_of("the pain of war and the joy of peace"),
]


@dataclass(frozen=True)
class Everywhere:
    """A head that is the same after every prompt."""

    reads_prefix: ClassVar[bool] = False
    head: Callable[[torch.Tensor], torch.Tensor]

    def after(self, *_: object) -> Callable[[torch.Tensor], torch.Tensor]:
        """The head."""
        return self.head


def plain(weight: torch.Tensor) -> Linear:
    """The head of `score.weight`."""
    return Linear(weight.detach().float()[0])


@dataclass(frozen=True)
class Toy:
    """One checkpoint, loaded twice: as transformers runs it, and for the engine."""

    own: Any
    shared: Any
    path: ScoringPath = ScoringPath.SHARED_PREFIX

    def scorer(self, pad: int | None = PAD, *, ids_per_batch: int | None = None) -> Scorer:
        """What the engine gets."""
        head = plain(self.own.score.weight)
        return Scorer(self.shared.base_model, head, pad, self.path, ids_per_batch)

    @torch.inference_mode()
    def expected(
        self, prefix: Ids, answers: Sequence[Ids], suffix: Ids, pad: int | None
    ) -> NDArray[np.float32]:
        """The checkpoint's own scores, one unpadded row at a time, each as if it were the first."""
        self.own.config.pad_token_id = pad
        scores = []
        for answer in answers:
            fresh_rotation(self.own)
            row = torch.tensor([[*prefix, *answer, *suffix]])
            scores.append(self.own(input_ids=row, use_cache=False).logits.item())
        return np.array(scores, dtype=np.float32)


def fresh_rotation(model: nn.Module) -> None:
    """Take back what a dynamic rotary embedding made of longer rows, to what a loaded one has."""
    for module in model.modules():
        if getattr(module, "rope_type", None) == "dynamic":
            module.inv_freq = module.original_inv_freq.clone()
            module.max_seq_len_cached = module.original_max_seq_len


def load(folder: Path, path: ScoringPath | None = None, *, own: str | None = "eager") -> Toy:
    """The checkpoint of a folder; the path that its configuration tells if none is given.

    `own` is the attention that it is held against; None is what transformers runs by default.
    """
    path = path or path_of(AutoConfig.from_pretrained(folder))

    def model(attention: str | None) -> Any:
        how = {} if attention is None else {"attn_implementation": attention}
        return AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=torch.float32, **how
        ).eval()

    shared = ATTENTION if path is ScoringPath.SHARED_PREFIX else None
    return Toy(model(own), model(shared), path)


def assert_same(
    scores: NDArray[np.float32], expected: NDArray[np.float32], *, sd: float | None = None
) -> None:
    """The scores agree within the tolerance, a small part of their sd."""
    sd = float(expected.std()) if sd is None else sd
    assert sd > 0.03  # or else nothing could tell them apart
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCE * sd)


@contextmanager
def recorded(backbone: nn.Module) -> Iterator[list[list[Ids]]]:
    """The batches of rows that a backbone is given meanwhile, the prefix's among them."""
    batches: list[list[Ids]] = []

    def note(_: object, __: object, kwargs: dict[str, Any]) -> None:
        batches.append([tuple(row) for row in kwargs["input_ids"].tolist()])

    hook = backbone.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield batches
    finally:
        hook.remove()
