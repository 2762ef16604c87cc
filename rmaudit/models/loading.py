"""A checkpoint's weights in memory, where they belong, with the engine's view of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rmaudit.checkpoints import configuration, merge, shards, source
from rmaudit.checkpoints.adapters import Adapter
from rmaudit.checkpoints.heads import linear
from rmaudit.checkpoints.heads.dispatch import CLASSIFIERS, Found
from rmaudit.checkpoints.reading import brief, unreadable
from rmaudit.errors import ModelError
from rmaudit.scoring import ATTENTION, ScoringPath, memory
from rmaudit.scoring.engine import Scorer, too_small
from rmaudit.scoring.paths import FullRows, device_of, forget_lengths


@dataclass(slots=True)
class Weights:
    """The model as transformers runs it, and the scorer that runs its trunk.

    `attention` is the implementation that transformers chose for it.
    """

    model: Any
    scorer: Scorer
    attention: str

    @property
    def device(self) -> str:
        """Where it is, or over which devices it is spread."""
        places = getattr(self.model, "hf_device_map", None) or {"": self.model.device}
        named = (f"cuda:{place}" if isinstance(place, int) else place for place in places.values())
        return ", ".join(dict.fromkeys(map(str, named)))

    def go(self, path: ScoringPath) -> None:
        """Score on this path from now on."""
        self.scorer.path = path
        self.scorer.forget()
        shared = path is ScoringPath.SHARED_PREFIX
        self.model.set_attn_implementation(ATTENTION if shared else self.attention)

    @torch.inference_mode()
    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """The rewards of whole rows by the model's own forward, one unpadded row at a time.

        Trunk, attention and, for a plain head, pooling are transformers'; the head is in float32.
        Of an encoder all is transformers', its head in the run's dtype too.

        Raises:
            ScoreError: a row does not fit into memory.
        """
        classifier = any(hasattr(self.model, head) for head in ("score", "classifier"))
        reward = self._plain_reward if classifier else self._pooled_reward
        try:
            with self._own_attention(), self._own_pooling():
                return np.array([reward(row) for row in rows], dtype=np.float32)
        except (RuntimeError, MemoryError) as error:
            if not memory.is_out_of_memory(error):
                raise
        memory.release()  # outside of the handler, whose error would hold the tensors
        raise too_small(max(map(len, rows)))

    def _plain_reward(self, row: tuple[int, ...]) -> float:
        forget_lengths(self.scorer.trunk)
        ids = torch.tensor([row], device=device_of(self.scorer.trunk))
        return float(self.model(input_ids=ids, use_cache=False).logits[0, 0])

    def _pooled_reward(self, row: tuple[int, ...]) -> float:
        """Transformers has no class for this head: it reads the states of the whole row."""
        scorer = self.scorer
        states = FullRows(scorer.trunk, row).prefix_states().float()
        at = max((place for place, i in enumerate(row) if i != scorer.pad), default=0)
        return float(scorer.head.after(row, states)(states[at : at + 1])[0])

    @contextmanager
    def _own_attention(self) -> Iterator[None]:
        self.model.set_attn_implementation(self.attention)
        try:
            yield
        finally:
            self.go(self.scorer.path)

    @contextmanager
    def _own_pooling(self) -> Iterator[None]:
        """For transformers to pool where the scorer does: with no pad id, at the last id."""
        config = self.model.config.get_text_config()
        pad = config.pad_token_id
        config.pad_token_id = self.scorer.pad
        try:
            yield
        finally:
            config.pad_token_id = pad


def load(  # noqa: PLR0913  (keyword-only; what decides where and how they are loaded)
    folder: Path,
    *,
    name: str,
    head: Found,
    config: Mapping[str, Any],
    dtype: str,
    device: str,
    pad: int | None,
    path: ScoringPath,
    adapter: Adapter | None = None,
) -> Weights:
    """Load the weights of a folder onto a device ("auto", "spread", or torch's name of one).

    With an adapter, the folder is its base's, and the adapter is merged into it.

    Raises:
        ModelError: they cannot be read, are not those of this trunk and head, or the device is not
            there.
    """
    import transformers

    classifier = head.family.NAME in CLASSIFIERS
    if classifier:
        configuration.refuse_unclassified(folder, str(config.get("model_type")), model=name)
    kind = transformers.AutoModelForSequenceClassification if classifier else transformers.AutoModel
    place = device_map(device, folder, dtype, name=name)
    try:
        with quiet():
            model, loaded = kind.from_pretrained(
                folder,
                dtype=getattr(torch, dtype),
                device_map=place,
                attn_implementation=None,  # transformers' choice, whatever config.json says
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # so that they are told to us, and refused below
                **({"num_labels": 1} if classifier else {}),  # as the head's shape says
            )
    except Exception as error:
        if memory.is_out_of_memory(error):
            raise _too_big(name, device) from error
        if method := configuration.quantization(config):
            message = (
                f"{name}: its {method} weights could not be loaded from {folder} "
                f"({brief(error)}); install what that names, or audit the checkpoint from "
                f"before it was quantized"
            )
            raise ModelError(message) from error
        raise unreadable(name, "its weights", folder, error) from error
    ours = frozenset() if classifier else head.keys | head.family.IGNORED
    if adapter is not None:  # on a language model, whose own head is not used
        ours |= adapter.added.keys() | {"lm_head.weight"}
    refuse_odd_keys(
        loaded,
        ours,
        folder,
        name,
        trunk=f"a trunk of model_type {config.get('model_type')!r}",
        head=f"its {head.family.NAME} head",
    )
    if adapter is None:
        saved = shards.tensors(folder, head.keys)
    else:
        try:
            model = merge.merge(model, adapter)
        except (RuntimeError, MemoryError) as error:  # all else is told by a ModelError
            raise _too_big(name, device) from error
        saved = adapter.head(model, head.keys)
    _refuse_quantized_head(saved, folder, name)
    model = model.eval().requires_grad_(requires_grad=False)
    built = head.family.build(saved, config)
    if classifier and isinstance(built, linear.Linear):
        head_of = built  # transformers' own forward gets the same head, in float32 as ours
        model.score.register_forward_hook(lambda _, seen, __: head_of(seen[0].float())[..., None])
    trunk = getattr(model.base_model, "language_model", model.base_model)
    scorer = Scorer(trunk, built, pad, first=head.family.POOL == "first")
    weights = Weights(model, scorer, model.config._attn_implementation)  # noqa: SLF001  (its only name)
    weights.go(path)
    return weights


def _too_big(name: str, device: str) -> ModelError:
    message = (
        f"{name}: its weights do not fit on {device!r}; spread them over all devices with "
        f"--rm-device spread, or choose a smaller type with --rm-dtype bfloat16"
    )
    return ModelError(message)


_ODD = {
    "missing_keys": "{trunk} would fill them with random numbers",
    "unexpected_keys": "neither {trunk} nor {head} has a place for them",
    "mismatched_keys": "they are of another shape than {trunk} has with this config.json",
}


def refuse_odd_keys(  # noqa: PLR0913  (keyword-only)
    loaded: Mapping[str, Any],
    ours: frozenset[str],
    folder: Path,
    name: str,
    *,
    trunk: str,
    head: str,
    correct: str = "model_type in config.json",
) -> None:
    """Every tensor is the trunk's or the head's, and none of the trunk's is missing.

    Raises:
        ModelError: it is not so; `trunk` and `head` say what they are, `correct` what may be wrong.
    """
    for odd, why in _ODD.items():
        # A mismatched key comes with both shapes.
        keys = sorted({key if isinstance(key, str) else key[0] for key in loaded[odd]} - ours)
        if keys:
            reason = why.format(trunk=trunk, head=head)
            message = (
                f"{name}: {len(keys)} {odd.replace('_', ' ')} in {folder}, first {keys[0]!r}: "
                f"{reason}. Copy the checkpoint again, config.json and all *.safetensors; if they "
                f"are as they were saved, correct {correct}, or it is a model that "
                f"rmaudit does not know"
            )
            raise ModelError(message)


def _refuse_quantized_head(saved: Mapping[str, torch.Tensor], folder: Path, name: str) -> None:
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


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bar and no table of keys: what is wrong with them is said in one line."""
    from transformers.utils import logging

    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()


def device_map(device: str, folder: Path, dtype: str, *, name: str) -> str | dict[str, str]:
    """A `device_map` for transformers. "auto" is one GPU if the weights fit, all of them if not."""
    if device == "spread":
        return "auto"
    if device == "auto":
        if not torch.cuda.is_available():
            return {"": "cpu"}
        free = [memory.free_on(torch.device("cuda", i)) for i in range(torch.cuda.device_count())]
        fits = 1.2 * _bytes(folder, dtype) < max(free)
        return {"": f"cuda:{free.index(max(free))}"} if fits else "auto"
    try:
        usable = torch.empty(0, device=device).device.type != "meta"  # which holds no weights
    except (RuntimeError, AssertionError, NotImplementedError):
        usable = False
    if not usable:
        known = ["auto", "cpu", "spread", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        message = f"{name}: no device {device!r} here; known: {', '.join(known)}"
        raise ModelError(message)
    return {"": device}


def _bytes(folder: Path, dtype: str) -> int:
    """Size of the weights in a dtype, from the safetensors headers."""
    size = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    there = source.read(source.Folder(folder.name, folder)).values()
    return size * sum(math.prod(header.shape) for header in there)
