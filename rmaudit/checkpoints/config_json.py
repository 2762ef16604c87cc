"""Read a checkpoint's config.json: strictly as JSON, and as transformers' configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints.third_party_errors import as_model_error, short
from rmaudit.config.model_lookup import newest
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

NAME = "config.json"
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_COUNTS = (*_LAYERS, "vocab_size")
# More layers or rows than any model has: transformers makes a list of the layers.
_LARGEST_COUNT = 10**7
DTYPES = ("float32", "bfloat16", "float16")


def read(folder: Path, *, model: str, name: str = NAME) -> dict[str, Any]:
    """Return the mapping in a JSON file of a checkpoint's folder, config.json by default.

    Of config.json, what rmaudit reads is of the right kind: `architectures` a list of names,
    `text_config` a mapping, layers and vocabulary whole numbers above 0, where they are given.

    Raises:
        ModelError: the file is not there, cannot be read, is no mapping, or an entry is of a wrong
            kind.
    """
    path = folder / name
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        step = newest(folder)
        hint = f" Give one of its checkpoints, such as {step}" if step else ""
        message = f"{model}: no {name} in {folder}; is it a checkpoint folder?{hint}"
        raise ModelError(message) from error
    except OSError as error:
        message = f"{model}: {path} cannot be read ({error.strerror}); copy the checkpoint again"
        raise ModelError(message) from error
    except ValueError as error:
        raise ModelError(f"{model}: {path} is not JSON: {error}") from error
    except RecursionError as error:
        message = f"{model}: {path} is nested too deeply to be read; copy the checkpoint again"
        raise ModelError(message) from error
    if not isinstance(found, dict):
        raise ModelError(f"{model}: {path} holds no mapping")
    if name == NAME:
        _refuse_wrong_kinds(found, path, model)
    return found


def quantization(config: Mapping[str, Any]) -> str | None:
    """Return the quantization method of the weights, such as "gptq"; None if not quantized."""
    given = config.get("quantization_config")
    if not given:
        return None
    return str(given.get("quant_method") or "unnamed") if isinstance(given, dict) else "unnamed"


def refuse_quantized(config: Mapping[str, Any], folder: Path, model: str, *, wanted: bool) -> None:
    """Raise if weights are quantized but models.yaml does not say so (`wanted`), or the reverse.

    Raises:
        ModelError: they are quantized and not wanted so, or wanted so and not quantized.
    """
    method = quantization(config)
    if method is not None and not wanted:
        raise ModelError(
            f"{model}: its weights are quantized ({method}; quantization_config in "
            f"{folder / NAME}), so its rewards are not those of the model that was "
            f"trained. Audit the checkpoint from before it was quantized; or, if these weights are "
            f"what you use, say so with `quantized: true` in its entry in models.yaml"
        )
    if method is None and wanted:
        raise ModelError(
            f"{model}: models.yaml has `quantized: true`, and {folder / NAME} no "
            f"quantization_config; rmaudit never quantizes weights itself. Remove the line, or "
            f"give the folder of the quantized checkpoint"
        )


def defaults(folder: Path, *, model: str) -> PretrainedConfig:
    """Return transformers' configuration of a folder, with its class's defaults filled in.

    Raises:
        ModelError: transformers does not know the model_type, or cannot read the file.
    """
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    kind = read(folder, model=model).get("model_type")
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING_NAMES:
        raise _model_type_error(folder, kind, "does not know", model=model)
    with as_model_error(model, NAME, folder):
        found: PretrainedConfig = transformers.AutoConfig.from_pretrained(
            folder, trust_remote_code=False
        )
        text = found.get_text_config()
    if isinstance(text, dict):  # its class knows no such part
        raise _entry_error(
            folder / NAME, model, "text_config", text, f"left out of a {kind!r} model's"
        )
    return found


def refuse_unclassified(folder: Path, kind: str, *, model: str) -> None:
    """Raise if transformers has no sequence-classification class for the model_type `kind`.

    A plain head needs one. Imports torch, which takes seconds.

    Raises:
        ModelError: there is none for this model_type.
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as CLASSES,
    )

    if kind not in CLASSES:
        raise _model_type_error(
            folder, kind, "has no sequence-classification class for", model=model
        )


def _model_type_error(folder: Path, kind: object, what: str, *, model: str) -> ModelError:
    import transformers

    return ModelError(
        f"{model}: transformers {transformers.__version__} {what} the model_type {kind!r} in "
        f"{folder / NAME}; correct it, or install a release of transformers that can"
    )


def _refuse_wrong_kinds(config: Mapping[str, Any], path: Path, model: str) -> None:
    """Raise if architectures, text_config or a count in config.json has a wrong type or size."""
    named, text = config.get("architectures"), config.get("text_config")
    if named is not None and not (
        isinstance(named, list) and all(isinstance(name, str) for name in named)
    ):
        raise _entry_error(path, model, "architectures", named, "a list of class names")
    if text is not None and not isinstance(text, dict):
        raise _entry_error(path, model, "text_config", text, "a mapping")
    for part in (config, text or {}):
        for key in _COUNTS:
            count = part.get(key)
            if count is not None and (type(count) is not int or not 0 < count <= _LARGEST_COUNT):
                raise _entry_error(
                    path, model, key, count, f"a whole number from 1 to {_LARGEST_COUNT:,}"
                )


def _entry_error(path: Path, model: str, key: str, found: object, expected: str) -> ModelError:
    return ModelError(
        f"{model}: {key} in {path} is {short(repr(found))}, and should be {expected}; copy "
        f"{NAME} from the checkpoint's own"
    )


def dtype_of(
    spec: ModelSpec, own: object, folder: Path, *, name: str, entry: str = "in models.yaml"
) -> str:
    """Return models.yaml's dtype, else the checkpoint's `own`, else float32; raise if unsupported.

    `entry` says, for errors, where another dtype can be named.

    Raises:
        ModelError: it is none of `DTYPES`.
    """
    dtype = spec.dtype if spec.dtype != "auto" else str(own or "float32").removeprefix("torch.")
    if dtype not in DTYPES:
        raise ModelError(
            f"{name}: dtype {dtype!r} in {folder / 'config.json'}; known: {', '.join(DTYPES)}. "
            f"Name one of these as `dtype` {entry}"
        )
    return dtype


def refuse_too_many_layers(
    config: Mapping[str, Any], tensors: Iterable[str], folder: Path, *, name: str
) -> None:
    """Raise if config.json claims more layers than there are tensors: building them takes ages.

    Raises:
        ModelError: config.json has more layers than the weights have tensors.
    """
    there = len(list(tensors))
    text = config.get("text_config") or {}
    for part in (config, text):
        for key in _LAYERS:
            layers = part.get(key)
            if isinstance(layers, int) and layers > there:
                raise ModelError(
                    f"{name}: {key} in {folder / 'config.json'} is {layers:,}, and the weights "
                    f"have {there:,} tensors in all, fewer than one a layer; copy config.json from "
                    f"the checkpoint's own"
                )
