"""The weights of a checkpoint in transformers' class, with the head that rmaudit builds for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rmaudit.checkpoints import configuration, merge, shards
from rmaudit.checkpoints.checked import Checked
from rmaudit.checkpoints.heads import CLASSIFIERS, linear
from rmaudit.errors import ModelError
from rmaudit.models import loading
from rmaudit.models.loading import Asked
from rmaudit.models.native import Native
from rmaudit.models.weights import Ids, Weights
from rmaudit.scoring.engine import Scorer
from rmaudit.scoring.paths import FullRows, device_of, forget_lengths


def load(native: Native, device: str) -> Weights:
    """Load the weights onto a device ("auto", "spread", or torch's name of one).

    An adapter is merged into its base.

    Raises:
        ModelError: they cannot be read, are not those of this backbone and head, or the device is
            not there.
    """
    checked = native.checked
    family, folder, config = checked.head.family, checked.base.path, checked.config
    classifier = family.NAME in CLASSIFIERS
    kind = str(config.get("model_type"))
    if classifier:
        configuration.refuse_unclassified(folder, kind, model=checked.name)
    asked = Asked(
        name=checked.name,
        folder=folder,
        kind="AutoModelForSequenceClassification" if classifier else "AutoModel",
        dtype=native.dtype,
        device=device,
        backbone=f"a backbone of model_type {kind!r}",
        head=f"its {family.NAME} head",
        ours=_ours(checked, classifier=classifier),
        quantized=configuration.quantization(config),
    )
    model = loading.load(
        asked,
        attn_implementation=None,  # transformers' choice, whatever config.json says
        **({"num_labels": 1} if classifier else {}),  # as the head's shape says
    )
    model, saved = _with_head(model, checked, asked)
    _refuse_quantized_head(saved, folder, checked.name)
    model = model.eval().requires_grad_(requires_grad=False)
    built = family.build(saved, config)
    if classifier and isinstance(built, linear.Linear):
        head_of = built  # transformers' own forward gets the same head, in float32 as ours
        model.score.register_forward_hook(lambda _, seen, __: head_of(seen[0].float())[..., None])
    backbone = getattr(model.base_model, "language_model", model.base_model)
    scorer = Scorer(backbone, built, native.pad, first=family.POOL == "first")
    weights = held(model, scorer, classifier=classifier, name=checked.name)
    weights.go(native.path)
    return weights


def held(model: Any, scorer: Scorer, *, classifier: bool, name: str) -> Weights:  # noqa: ANN401
    """A model of transformers and its scorer; a `classifier` has a forward that gives rewards."""
    own = _by_class(model, scorer) if classifier else _by_head(scorer)
    return Weights(name, model, scorer, own, model.config._attn_implementation)  # noqa: SLF001  (its only name)


def _ours(checked: Checked, *, classifier: bool) -> frozenset[str]:
    """Tensors that transformers' class has no place for, or has and does not find: the head's."""
    head = checked.head
    ours = frozenset() if classifier else head.keys | head.family.IGNORED
    if checked.adapter is not None:  # on a language model, whose own head is not used
        ours |= checked.adapter.added.keys() | {"lm_head.weight"}
    return ours


def _with_head(model: Any, checked: Checked, asked: Asked) -> tuple[Any, dict[str, Tensor]]:  # noqa: ANN401
    """The model, an adapter merged into it, and the head's tensors as they were saved."""
    if checked.adapter is None:
        return model, shards.tensors(checked.base.path, checked.head.keys)
    try:
        merged = merge.merge(model, checked.adapter)
    except (RuntimeError, MemoryError) as error:  # all else is told by a ModelError
        raise loading.too_big(asked) from error
    return merged, checked.adapter.head(merged, checked.head.keys)


def _refuse_quantized_head(saved: Mapping[str, Tensor], folder: Path, name: str) -> None:
    """Where weights are quantized, the head must not be."""
    for key, tensor in sorted(saved.items()):
        if tensor.dtype.itemsize == 1:
            message = (
                f"{name}: {key!r} in {folder} is of {str(tensor.dtype).removeprefix('torch.')}: "
                f"the head is quantized too, and rmaudit reads heads of float16, bfloat16 or "
                f"float32 only. Quantize again and leave it out, as with "
                f'llm_int8_skip_modules=["score"] or modules_to_not_convert=["score"]'
            )
            raise ModelError(message)


def _by_class(model: Any, scorer: Scorer) -> Callable[[Ids], float]:  # noqa: ANN401
    """Backbone, attention and pooling are transformers'; a plain head is in float32.

    Of an encoder all is transformers', its head in the run's dtype too.
    """

    def reward(row: Ids) -> float:
        forget_lengths(scorer.backbone)
        ids = torch.tensor([row], device=device_of(scorer.backbone))
        with _pooled_as(model, scorer.pad):
            return float(model(input_ids=ids, use_cache=False).logits[0, 0])

    return reward


@contextmanager
def _pooled_as(model: Any, pad: int | None) -> Iterator[None]:  # noqa: ANN401
    """For transformers to pool where the scorer does: with no pad id, at the last id."""
    config = model.config.get_text_config()
    before, config.pad_token_id = config.pad_token_id, pad
    try:
        yield
    finally:
        config.pad_token_id = before


def _by_head(scorer: Scorer) -> Callable[[Ids], float]:
    """Transformers has no class for this head: it reads the states of the whole row."""

    def reward(row: Ids) -> float:
        states = FullRows(scorer.backbone, row).prefix_states().float()
        at = max((place for place, i in enumerate(row) if i != scorer.pad), default=0)
        return float(scorer.head.after(row, states)(states[at : at + 1])[0])

    return reward
