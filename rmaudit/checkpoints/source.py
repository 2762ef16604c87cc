"""From a registry entry to a local folder, and the checks that need no weights in memory.

A checkpoint whose head is missing is the trap of this field: transformers would fill it with
random numbers and go on. So the safetensors headers and config.json are read first; a checkpoint
whose head is of no known family (`models.heads`), or not whole, is refused with the reason. Of a
hub id they are read on the hub, so that a refusal costs kilobytes and not a download.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import embedded, headers, hub, shards
from rmaudit.checkpoints.headers import Headers
from rmaudit.checkpoints.heads import Shapes, dispatch, encoder
from rmaudit.checkpoints.heads.linear import KEY as HEAD_KEY
from rmaudit.checkpoints.heads.logit import SETTING as LOGIT
from rmaudit.config.registry import ModelSpec, newest
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig
ADAPTER = "adapter_config.json"  # PEFT's


def locate(
    spec: ModelSpec,
    cache: Path,
    *,
    weights: bool = True,
    headed: bool = True,
    instead: str = "pytest audits --model FOLDER",
) -> Path:
    """The folder that holds the checkpoint, downloaded or built if need be.

    Without `weights`, only the small files are downloaded, the tokenizer's among them. Weights are
    downloaded once their head is known, unless it is not to be `headed`: a language model's.
    `instead` is how a folder is given in place of a hub id that cannot be had.

    Raises:
        ModelError: it is not here and cannot be had.
    """
    if spec.source == "embedded":
        return embedded.build(cache)
    folder = Path(spec.source).expanduser()
    if not folder.is_absolute():  # the registry makes every folder absolute
        return _from_hub(spec, weights=weights, headed=headed, instead=instead)
    if not folder.is_dir():
        message = f"{spec.name}: no folder {folder}; correct its `source` in models.yaml"
        raise ModelError(message)
    return folder


def _from_hub(spec: ModelSpec, *, weights: bool, headed: bool, instead: str) -> Path:
    """The snapshot of the hub id. Its weights come last, once their headers were looked at."""
    small = hub.SMALL + (hub.CODE if spec.trust_remote_code else [])
    folder = _snapshot(spec, spec.revision, small, instead)
    if not weights:
        return folder
    commit = hub.commit(folder) or spec.revision
    known = headed and not spec.trust_remote_code  # which brings a head of its own
    if known and commit and not hub.has_weights(folder) and not (folder / ADAPTER).is_file():
        try:
            there = headers.on_hub(spec.source, commit, folder, model=spec.name)
        except hub.failures():
            pass  # the download fails as well, and says why; what it brings is checked anyway
        else:
            check(
                folder,
                model=spec.name,
                logit=spec.logit,
                quantized=spec.quantized,
                there=there,
            )
            defaults(folder, model=spec.name)
    folder = _snapshot(spec, commit, small + hub.WEIGHTS, instead)
    if commit and not hub.has_weights(folder) and not (folder / ADAPTER).is_file():
        try:  # offline, a snapshot of the small files is given without a word
            headers.on_hub(spec.source, commit, folder, model=spec.name)
        except hub.failures() as error:
            raise unasked(spec.name, error) from error
    return folder


def _snapshot(spec: ModelSpec, revision: str | None, wanted: list[str], instead: str) -> Path:
    try:
        return hub.snapshot(spec.source, revision, wanted)
    except hub.failures() as error:
        message = (
            f"{spec.name}: {spec.source} could not be had from the Hugging Face hub "
            f"({brief(error)}). Check the name, your connection and your access "
            f"(`hf auth login`), or give a folder: {instead}"
        )
        raise ModelError(message) from error


def check(  # noqa: PLR0913  (keyword-only)
    folder: Path,
    *,
    model: str,
    logit: int | None = None,
    quantized: bool = False,
    added: Shapes | None = None,
    there: Headers | None = None,
) -> dict[str, Any]:
    """The checkpoint's config.json, if its head is one that rmaudit can score.

    `logit`, from models.yaml, is the vocabulary id whose logit is the reward; it becomes part of
    the configuration that the head is found and built with. `quantized`, from there too, says that
    quantized weights are what is wanted. `added` and `there` are as for `head`.

    Raises:
        ModelError: they are not; the message says why and what to do.
    """
    config = read_config(folder, model=model)
    if logit is not None:
        config[LOGIT] = logit
    refuse_quantized(config, folder, model, wanted=quantized)
    head(folder, config, model=model, added=added, there=there)
    if there is None and (left := shards.unread(folder, model=model)):
        warnings.warn(
            f"{model}: {', '.join(left)} in {folder} are not read, for transformers reads "
            f"{shards.SINGLE}, or else what {shards.INDEX} names: weights of an earlier save? "
            f"Remove them if they are",
            stacklevel=2,
        )
    return config


def quantization(config: Mapping[str, Any]) -> str | None:
    """How the weights are quantized, such as "gptq"; None if they are not."""
    given = config.get("quantization_config")
    if not given:
        return None
    return str(given.get("quant_method") or "unnamed") if isinstance(given, dict) else "unnamed"


def refuse_adapter(folder: Path, *, model: str) -> None:
    """Where no adapter is read: transformers would merge one unasked, and name no missing keys.

    Raises:
        ModelError: there is one in the folder.
    """
    if (folder / ADAPTER).is_file():
        message = (
            f"{model}: {ADAPTER} lies in {folder}, so transformers would put an adapter into its "
            f"weights; rmaudit merges adapters into plain reward models only. Remove it from "
            f"there, or merge it where it was trained and give the folder of the merged model"
        )
        raise ModelError(message)


def refuse_quantized(config: Mapping[str, Any], folder: Path, model: str, *, wanted: bool) -> None:
    """Quantized weights are scored only where models.yaml says so (`wanted`).

    Raises:
        ModelError: they are quantized and not wanted so, or wanted so and not quantized.
    """
    method = quantization(config)
    if method is not None and not wanted:
        message = (
            f"{model}: its weights are quantized ({method}; quantization_config in "
            f"{folder / 'config.json'}), so its rewards are not those of the model that was "
            f"trained. Audit the checkpoint from before it was quantized; or, if these weights are "
            f"what you use, say so with `quantized: true` in its entry in models.yaml"
        )
        raise ModelError(message)
    if method is None and wanted:
        message = (
            f"{model}: models.yaml has `quantized: true`, and {folder / 'config.json'} no "
            f"quantization_config; rmaudit never quantizes weights itself. Remove the line, or "
            f"give the folder of the quantized checkpoint"
        )
        raise ModelError(message)


def head(
    folder: Path,
    config: Mapping[str, Any],
    *,
    model: str,
    added: Shapes | None = None,
    there: Headers | None = None,
) -> dispatch.Found:
    """The family and the tensors of the checkpoint's head, from the safetensors headers.

    `added` are the whole tensors that an adapter has for its base, which `folder` then is, by the
    names that the base has for them; None without an adapter.

    Raises:
        ModelError: there is none, or none that rmaudit knows.
    """
    seen = headers.in_folder(folder, model=model) if there is None else there
    _refuse_doubles(seen, folder, model)
    shapes = {**{key: header.shape for key, header in seen.items()}, **(added or {})}
    try:
        found = dispatch.find(config, shapes)
    except ModelError as error:
        raise ModelError(f"{model}: {error}") from error
    if found is None and added is not None:
        message = (
            f"{model}: the head was never saved: {HEAD_KEY!r} is neither among the adapter's "
            f"tensors nor in its base {folder}, so transformers would give it a random one. Train "
            f'the adapter again with task_type="SEQ_CLS" or modules_to_save=["score"] in its '
            f"LoraConfig, which save the head beside it"
        )
        raise ModelError(message)
    if found is None:
        architectures = config.get("architectures") or ["(none)"]
        message = (
            f"{model}: no {HEAD_KEY!r} in {folder} ({architectures[0]}); transformers would give "
            f"it a random head. Train one and save it with it (TRL's RewardTrainer does), give the "
            f"folder where its head is, or, if one of a language model's logits is the reward, "
            f"name its id as `logit` in models.yaml"
        )
        raise ModelError(message)
    return found


def reads_pairs(folder: Path, *, model: str) -> bool:
    """Whether a folder's config.json, if it has one, is of an encoder that reads pairs of texts.

    Raises:
        ModelError: config.json is no JSON mapping.
    """
    return (folder / "config.json").is_file() and encoder.wanted(read_config(folder, model=model))


def _refuse_doubles(there: Headers, folder: Path, model: str) -> None:
    """Transformers takes `model.x` for `model.model.x`: of two such tensors it would pick one."""
    doubles = ((key, key.partition(".")[2]) for key in sorted(there))
    for longer, shorter in doubles:
        if shorter in there:
            message = (
                f"{model}: both {longer!r} and {shorter!r} are in {folder}, which may be read as "
                f"one and the same tensor: remove the one that is not the model's, or save it again"
            )
            raise ModelError(message)


def tensors(folder: Path, keys: frozenset[str]) -> dict[str, Tensor]:
    """Tensors as they were saved, not rounded to the run's dtype."""
    from safetensors import safe_open

    found: dict[str, Tensor] = {}
    for shard in shards.of(folder, model=folder.name):
        with safe_open(shard, framework="pt") as opened:
            found |= {key: opened.get_tensor(key) for key in keys & set(opened.keys())}
    return found


def defaults(folder: Path, *, model: str) -> PretrainedConfig:
    """The checkpoint's configuration with the defaults of its class, such as Gemma's pad id.

    Raises:
        ModelError: transformers does not know it.
    """
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    kind = read_config(folder, model=model).get("model_type")
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING_NAMES:
        raise _unknown(folder, kind, "does not know", model=model)
    try:
        return transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:
        raise unreadable(model, "config.json", folder, error) from error


def refuse_unclassified(folder: Path, kind: str, *, model: str) -> None:
    """A plain head needs a sequence classifier of transformers. Imports torch, which takes seconds.

    Raises:
        ModelError: there is none for this model_type.
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as CLASSES,
    )

    if kind not in CLASSES:
        raise _unknown(folder, kind, "has no sequence-classification class for", model=model)


def _unknown(folder: Path, kind: object, what: str, *, model: str) -> ModelError:
    import transformers

    message = (
        f"{model}: transformers {transformers.__version__} {what} the model_type {kind!r} in "
        f"{folder / 'config.json'}; correct it, or install a release of transformers that can"
    )
    return ModelError(message)


def unreadable(model: str, what: str, folder: Path, error: Exception) -> ModelError:
    """Third parties' readers raise anything; to our callers it is one thing."""
    message = (
        f"{model}: {what} could not be read from {folder} ({brief(error)}); "
        f"save the model and its tokenizer there again with save_pretrained(FOLDER)"
    )
    return ModelError(message)


def unasked(model: str, error: Exception) -> ModelError:
    """Weights of a hub id that are not here, where the hub cannot be asked for them."""
    message = (
        f"{model}: its weights are not downloaded, and the hub cannot be asked for them "
        f"({brief(error)}); check your connection and your access (`hf auth login`)"
    )
    return ModelError(message)


def brief(error: BaseException) -> str:
    """An error's kind and the first line of its text."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def read_config(folder: Path, *, model: str, name: str = "config.json") -> dict[str, Any]:
    """A JSON file of a checkpoint's folder, which holds a mapping.

    Raises:
        ModelError: it is not there, or is none.
    """
    path = folder / name
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        step = newest(folder)
        hint = f" Give one of its checkpoints, such as {step}" if step else ""
        message = f"{model}: no {name} in {folder}; is it a checkpoint folder?{hint}"
        raise ModelError(message) from error
    except ValueError as error:
        message = f"{model}: {path} is not JSON: {error}"
        raise ModelError(message) from error
    if not isinstance(config, dict):
        message = f"{model}: {path} holds no mapping"
        raise ModelError(message)
    return config
