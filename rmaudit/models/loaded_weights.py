"""Load the weights of a folder into transformers' class, onto a device.

Weights that are incomplete, left over or of another shape are refused, in one line.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rmaudit.checkpoints import config_json, weights_headers
from rmaudit.checkpoints.heads.linear import Shapes
from rmaudit.checkpoints.third_party_errors import brief, unreadable
from rmaudit.errors import ModelError, RmauditError
from rmaudit.models import device_placement
from rmaudit.scoring import memory_sized_batches

if TYPE_CHECKING:
    from transformers import PretrainedConfig

# A process that ends looks for garbage among all of torch's objects, which takes seconds.
atexit.register(gc.freeze)


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """A request to load weights: folder, class, dtype, device, and words for error messages.

    Attributes:
        name: the model's, with which errors begin.
        folder: config.json and the weights.
        kind: transformers' auto class.
        dtype: of the weights in memory.
        device: "auto", "spread", or torch's name of one.
        backbone: what the class is, in words.
        head: what its head is, in words.
        ours: names of tensors that may be missing in the class or in the files.
        correct: for errors: what may be wrong if other tensors are missing or left over.
        quantized: how the weights are quantized, None if they are not.
        besides: what else is in memory, None if nothing is.
        converted: reads configuration and tensors, by the class's names, where the files have
            others; None where transformers can read the folder.
    """

    name: str
    folder: Path
    kind: str
    dtype: str
    device: str
    backbone: str
    head: str = "its head"
    ours: frozenset[str] = frozenset()
    correct: str = "model_type in config.json"
    quantized: str | None = None
    besides: str | None = None
    converted: Callable[[], tuple[PretrainedConfig, Mapping[str, Tensor]]] | None = None


def load(request: LoadRequest, **options: Any) -> Any:  # noqa: ANN401  (transformers' classes and options)
    """Load and return the transformers model that `request` describes, in eval mode.

    Its weights require no gradients. `options` are passed to transformers' `from_pretrained`.

    Raises:
        ModelError: the weights cannot be read, are not exactly those of the class, do not fit, or
            the device is not there.
    """
    import transformers

    if renamed := weights_headers.key_mapping(request.folder, model=request.name):
        options["key_mapping"] = renamed
    try:
        with quiet(), device_placement.one_loads_at_a_time(request.device):
            source: Path | None = request.folder
            if request.converted is not None:
                config, tensors = request.converted()
                source, options = None, {**options, "config": config, "state_dict": tensors}
            model, loaded = getattr(transformers, request.kind).from_pretrained(
                source,
                dtype=getattr(torch, request.dtype),
                device_map=device_placement.device_map(
                    request.device, request.folder, request.dtype, name=request.name
                ),
                use_safetensors=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # so that they are told to us, and refused below
                trust_remote_code=False,
                **options,
            )
    except RmauditError:
        raise
    except Exception as error:
        if memory_sized_batches.is_out_of_memory(error):
            raise too_big(request) from error
        raise _unreadable(request, error) from error
    _refuse_odd_keys(loaded, request)
    places = getattr(model, "hf_device_map", None) or {}
    device_placement.refuse_offloaded(request.device, places.values(), name=request.name)
    return model.eval().requires_grad_(requires_grad=False)


def on_meta(request: LoadRequest, shapes: Shapes, **options: Any) -> Any:  # noqa: ANN401  (as `load`)
    """Return the model that `load` would return, on the meta device: with shapes, without numbers.

    `shapes` are those of all tensors of the checkpoint, by name. `options` go into transformers'
    configuration. Transformers' own conversions of names and shapes are applied.

    Raises:
        ModelError: the class cannot be built, or the tensors are not exactly those of the class.
    """
    import transformers
    from transformers.models.auto.auto_factory import _get_model_class

    classes = getattr(transformers, request.kind)._model_mapping  # noqa: SLF001  (as it chooses itself)
    try:
        with quiet():
            config = transformers.AutoConfig.from_pretrained(
                request.folder, trust_remote_code=False, **options
            )
            model, loaded = _get_model_class(config, classes).from_pretrained(
                None,
                config=config,
                state_dict=meta_tensors(shapes),
                dtype=getattr(torch, request.dtype),
                device_map={"": "meta"},
                attn_implementation=None,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
            )
    except Exception as error:
        raise _unreadable(request, error) from error
    _refuse_odd_keys(loaded, request)
    return model


def meta_tensors(shapes: Shapes) -> dict[str, Tensor]:
    """Return tensors of these shapes on the meta device, which take no memory."""
    return {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}


def first_non_finite(files: Sequence[Path], *, name: str) -> str:
    """Return the name of the first tensor in `files` with NaN or infinity; "" if there is none.

    It returns "" too if a file cannot be read: its result only completes the message of an error
    that is raised anyway.
    """
    try:
        weights = [path for path in files if path.suffix == ".safetensors"]
        return weights_headers.find_non_finite(weights, model=name)
    except ModelError:
        return ""


def too_big(request: LoadRequest) -> ModelError:
    """Return the error for weights that do not fit on their device."""
    if request.besides is not None:
        what, too = f"it does not fit on {request.device!r} together with {request.besides}", "both"
    else:
        what, too = f"its weights do not fit on {request.device!r}", "them"
    message = (
        f"{request.name}: {what}; spread {too} over all devices with --rm-device spread, or choose "
        f"a smaller type with --rm-dtype bfloat16"
    )
    return ModelError(message)


def _unreadable(request: LoadRequest, error: Exception) -> ModelError:
    if request.quantized is not None:
        message = (
            f"{request.name}: its {request.quantized} weights could not be loaded from "
            f"{request.folder} ({brief(error)}); install what that names, or audit the checkpoint "
            f"from before it was quantized"
        )
        return ModelError(message)
    config = config_json.read(request.folder, model=request.name)
    text = config.get("text_config") or config
    pad, rows = text.get("pad_token_id"), text.get("vocab_size")
    if isinstance(pad, int) and isinstance(rows, int) and pad >= rows:
        message = (
            f"{request.name}: pad_token_id in {request.folder / config_json.NAME} is {pad}, and "
            f"the vocabulary has {rows} ids (vocab_size), so its class cannot be built. Take "
            f"config.json and the weights from one and the same checkpoint, or correct it there: "
            f"its trainer may have added a pad token to the tokenizer only"
        )
        return ModelError(message)
    return unreadable(request.name, "its weights", request.folder, error)


_ODD_KEYS = {
    "missing_keys": "{backbone} would fill them with random numbers",
    "unexpected_keys": "neither {backbone} nor {head} has a place for them",
    "mismatched_keys": "they are of another shape than {backbone} has with this config.json",
}


def _refuse_odd_keys(loaded: Mapping[str, Any], request: LoadRequest) -> None:
    """Raise if tensors are missing, unexpected or misshapen, unless named in `request.ours`."""
    for odd, why in _ODD_KEYS.items():
        # A mismatched key comes with both shapes.
        keys = {key if isinstance(key, str) else key[0] for key in loaded[odd]} - request.ours
        if keys:
            reason = why.format(backbone=request.backbone, head=request.head)
            message = (
                f"{request.name}: {len(keys)} {odd.replace('_', ' ')} in {request.folder}, first "
                f"{min(keys)!r}: {reason}. Copy the checkpoint again, config.json and all "
                f"*.safetensors; if they are as they were saved, correct {request.correct}, or it "
                f"is a model that rmaudit does not know"
            )
            raise ModelError(message)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' warnings and progress bars inside a `with` block.

    What is wrong with the tensors is said in one line of ours, instead of its tables.
    """
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
