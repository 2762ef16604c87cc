"""Read a checkpoint's config.json and tensor shapes, find its head, and refuse headless ones.

A checkpoint whose head is missing is the trap of this field: transformers would fill it with
random numbers and go on. So the safetensors headers and config.json are read first; a checkpoint
whose head is of no known family (`checkpoints.heads`), or not whole, is refused with the reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rmaudit.checkpoints import (
    adapter_files,
    checkpoint_source,
    config_json,
    heads,
    internlm2,
    weights_headers,
)
from rmaudit.checkpoints.adapter_files import Adapter
from rmaudit.checkpoints.adapter_settings import MERGE_IT_THERE
from rmaudit.checkpoints.checked_checkpoint import Checked, Unchecked
from rmaudit.checkpoints.checkpoint_source import CheckpointFiles
from rmaudit.checkpoints.heads import FoundHead, linear, token_value, value, verdict_logits
from rmaudit.checkpoints.heads.linear import KEY as HEAD_KEY
from rmaudit.checkpoints.heads.linear import Shapes
from rmaudit.checkpoints.heads.logit import SETTING as LOGIT
from rmaudit.checkpoints.third_party_errors import named
from rmaudit.checkpoints.weights_headers import Headers
from rmaudit.config.model_registry import ModelSpec
from rmaudit.errors import ModelError

_LAYER, _PART = re.compile(r"\.[0-9]+\."), re.compile(r"[._]")
_NAMES = {"classifier", "critic", "head", "heads", "regression", "reward", "rm", "score", "value"}
_WHOLE_HEAD = (
    "The head is quantized too: quantize again and leave it out, as with "
    'llm_int8_skip_modules=["score"] or modules_to_not_convert=["score"]'
)
_EXPERT = re.compile(r"(.*\bexperts)\.(\d+)\.(.*)")
_SHOWN = 4  # tensors that may be a head


def find(spec: ModelSpec, cache: Path) -> Checked:
    """Find and check the checkpoint of a models.yaml entry, without downloading its weights.

    Raises:
        ModelError: it cannot be had, or rmaudit cannot score it; the message says why and what to
            do.
    """
    return check(look(checkpoint_source.find(spec, cache), spec, cache))


def look(found: CheckpointFiles, spec: ModelSpec, cache: Path) -> Unchecked:
    """Return config.json and tensor headers of a checkpoint, or of an adapter and its base.

    Raises:
        ModelError: config.json or the headers cannot be read, or the base cannot be had.
    """
    adapter = adapter_files.find(found, spec, cache)
    base = found if adapter is None else adapter.base
    config = config_json.read(base.path, model=spec.name)
    if spec.logit is None and spec.judge is None:
        heads.refuse_others(config, f"{spec.source} {base.path}", model=spec.name)
    if spec.logit is not None:
        config[LOGIT] = spec.logit
    if spec.judge is not None:
        config[verdict_logits.SETTING] = ()  # the ids come with the tokenizer
    if spec.objective is not None:
        config[linear.OBJECTIVE] = spec.objective
    headers = checkpoint_source.read(base) if adapter is None else adapter.headers
    whole = {} if adapter is None else adapter.added
    head = value.separate_headers(found, [*headers, *whole])
    return Unchecked(spec, found, config, {**headers, **head}, adapter, head)


def check(looked: Unchecked) -> Checked:
    """Return the checkpoint with its head; raise if rmaudit cannot score it.

    Raises:
        ModelError: the checkpoint is quantized and models.yaml does not say so, or it has no head
            that rmaudit can score.
    """
    spec, adapter, config = looked.spec, looked.adapter, looked.config
    if adapter is not None:
        _refuse_quantized_base(adapter, config)  # asked for or not
    folder = looked.base.path
    config_json.refuse_quantized(config, folder, spec.name, wanted=spec.quantized)
    weights_headers.refuse_empty(looked.headers, folder, model=spec.name)
    head = _find_head(looked)
    if adapter is not None and not looked.beside and spec.judge is None:
        _refuse_other_head(adapter, head)
    if internlm2.is_one(config):
        _refuse_as_llama(looked, head)
    quantized = config_json.quantization(config) is not None
    floats = {
        key: header
        for key, header in looked.headers.items()
        if key in head.keys or (key.endswith(".weight") and not quantized)
    }
    weights_headers.refuse_no_floats(
        floats, folder, model=spec.name, remedy=_WHOLE_HEAD if quantized else ""
    )
    checked = Checked(**vars(looked), head=head)
    _ = checked.objective  # whose errors cost no download
    return checked


def _refuse_other_head(adapter: Adapter, head: FoundHead) -> None:
    """Raise if an adapter's head is not the plain linear one: with no other is one merged."""
    if head.family.NAME != linear.NAME:
        raise ModelError(
            f"{adapter.model}: an adapter on a {head.family.NAME} head; rmaudit merges adapters of "
            f"plain sequence classifiers (score.weight) only. {MERGE_IT_THERE}"
        )


def _refuse_quantized_base(adapter: Adapter, config: Mapping[str, Any]) -> None:
    """Raise if an adapter's base is quantized, since merging would round the adapter away.

    This holds even if models.yaml allows quantized weights.
    """
    if config_json.quantization(config) is not None:
        raise ModelError(
            f"{adapter.model}: its base {adapter.base.path} is quantized, and merging an adapter "
            f"into quantized weights rounds it away. Name the base from before it was quantized as "
            f"base_model_name_or_path in {adapter.config}: that merge is what servers of 16 bits "
            f"run, and differs from the model in training by the rounding of the base"
        )


def _refuse_as_llama(looked: Unchecked, head: FoundHead) -> None:
    """Raise if an InternLM2 cannot be loaded as the Llama that it is (`checkpoints.internlm2`)."""
    if looked.adapter is not None or config_json.quantization(looked.config) is not None:
        raise ModelError(
            f"{looked.spec.name}: rmaudit loads InternLM2 as a Llama, whole and not quantized: "
            f"merge an adapter into its base, or give the checkpoint from before quantization"
        )
    if head.family.NAME != token_value.NAME:
        raise ModelError(
            f"{looked.spec.name}: InternLM2 with a {head.family.NAME} head: rmaudit knows the "
            f"class {token_value.INTERNLM2} of it only, whose head is {token_value.KEY!r}"
        )
    with named(looked.spec.name):
        internlm2.refuse_others(looked.config, looked.shapes, head.keys)


def _find_head(looked: Unchecked) -> FoundHead:
    """Return the head's family and tensor names; raise if neither base nor adapter has one.

    Raises:
        ModelError: there is no head, or none that rmaudit knows.
    """
    model, folder, config = looked.spec.name, looked.base.path, looked.config
    _refuse_doubles(looked.headers, folder, model)
    _refuse_experts_apart(looked.headers, folder, model)
    with named(model):
        found = heads.find(config, looked.shapes)
    if found is not None:
        return found
    unknown = _unknown_heads(config, looked.shapes)
    train = "Otherwise, train" if unknown else "Train"
    if looked.adapter is not None:
        raise ModelError(
            f"{model}: the head was never saved: {HEAD_KEY!r} is neither among the adapter's "
            f"tensors nor in its base {folder}, so transformers would give it a random one."
            f'{unknown} {train} the adapter again with task_type="SEQ_CLS" or '
            f'modules_to_save=["score"] in its LoraConfig, which save the head with it; or, if '
            f"LLaMA-Factory or ms-swift trained it, copy its {weights_headers.HEAD} too"
        )
    raise ModelError(
        f"{model}: no {HEAD_KEY!r} in {folder} ({linear.architecture(config)}); "
        f"transformers would give it a random head.{unknown} {train} a head and save it in "
        f"the same folder (TRL's RewardTrainer does); or give the folder that holds the head, with "
        f"{weights_headers.HEAD} if LLaMA-Factory or ms-swift trained it; or, "
        f"if the reward is a language model's logit, name the token's id as `logit` in "
        f"models.yaml; if it judges in words (a generative reward model), the word that it gives "
        f"as verdict with `judge:` (docs/how-to/judges.md)"
    )


def _unknown_heads(config: Mapping[str, Any], shapes: Shapes) -> str:
    """Return a sentence on tensors that may be a head of an unknown family; "" without any.

    Such tensors are named like a head, or have one row of the hidden size. A tensor in a layer of
    the backbone is none; a head may have layers itself.
    """
    row = (1, linear.hidden_size(config))
    seen = []
    for key, shape in sorted(shapes.items()):
        outside = _LAYER.split(key)[0]
        like_one = _NAMES & set(_PART.split(outside)) and "lm_head" not in key
        if like_one or (shape == row and outside == key):
            seen.append(f"{key!r} {shape}")
    if not seen:
        return ""
    more = f" and {len(seen) - _SHOWN} more" if len(seen) > _SHOWN else ""
    return (
        f" These tensors may be a head of a kind that rmaudit does not know: "
        f"{', '.join(seen[:_SHOWN])}{more}. Do not rename them: at which token a head is read, "
        f"and what is done with it, is in the code of its class, which rmaudit never runs: "
        f"score it with a function of yours that calls it (@rmaudit.scorer, "
        f"docs/how-to/any-scorer.md)."
    )


def _refuse_doubles(headers: Headers, folder: Path, model: str) -> None:
    """Raise if tensors are named both `X` and `PART.X`, which transformers may take for the same.

    It takes `model.x` for `model.model.x`, and of two such tensors it would pick one.
    """
    doubles = ((key, key.partition(".")[2]) for key in sorted(headers))
    for longer, shorter in doubles:
        if shorter in headers:
            raise ModelError(
                f"{model}: both {longer!r} and {shorter!r} are in {folder}, which may be read as "
                f"one and the same tensor: remove the one that is not the model's, or save it again"
            )


def _refuse_experts_apart(headers: Headers, folder: Path, model: str) -> None:
    """Raise if the tensors of a layer's experts are not numbered from 0 under one name.

    transformers sorts them by their names before it puts them into one tensor, so an expert whose
    name begins in another way would take the place of another one.
    """
    numbers = defaultdict[tuple[str, str], dict[int, str]](dict)
    for key in headers:
        if found := _EXPERT.fullmatch(key):
            before, number, after = found.groups()
            numbers[before, after][int(number)] = key
    for keys in numbers.values():
        if sorted(keys) != list(range(len(keys))):
            raise ModelError(
                f"{model}: the experts of a layer in {folder} are not numbered from 0 under one "
                f"name: see {keys[max(keys)]!r}; save the checkpoint again, all experts alike"
            )
