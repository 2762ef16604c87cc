"""Load a checkpoint with transformers' class for its backbone and one of rmaudit's heads.

An adapter is merged into its base as it is loaded. Torch is imported by `load` and what it calls,
so that a run whose sweeps are all in the cache does without.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import config_json, internlm2, weights_headers
from rmaudit.checkpoints.checked_checkpoint import Checked
from rmaudit.checkpoints.heads import CLASSIFIERS, encoder, linear, verdict_logits
from rmaudit.checkpoints.heads.single_objective import OneOutput
from rmaudit.models.checkpoint_rows import CheckpointRows

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig

    from rmaudit.models.loaded_weights import LoadRequest
    from rmaudit.models.own_forward import Weights


def refuse_misfits(rows: CheckpointRows) -> None:
    """Raise what `load` would raise of the tensors' names and shapes, by their headers alone.

    The model is built, loaded and merged on torch's meta device, which has shapes and no numbers.
    That takes seconds, so it is remembered what fits. Quantized weights, whose names and shapes are
    the quantizer's own, are not tried.

    Raises:
        ModelError: transformers cannot build it, a tensor is missing, left over or of another
            shape, or an adapter is not one of this base.
    """
    checked = rows.checked
    if config_json.quantization(checked.config) is not None:
        _try_on_meta(rows)
        return
    adapter = {} if checked.adapter is None else checked.adapter.saved
    said = repr([*sorted(checked.headers.items()), *adapter.items()])
    tensors = hashlib.sha256(said.encode()).hexdigest()
    rows.remembered_of_config("fits", partial(_try_on_meta, rows), tensors=tensors)


def _try_on_meta(rows: CheckpointRows) -> bool:
    """Return True if `load` would find all tensors in place. Raises as `refuse_misfits`."""
    from rmaudit.checkpoints import adapter_merge
    from rmaudit.models import loaded_weights

    checked, asked = rows.checked, _request(rows, "meta")
    # A class that is no auto class was chosen by the tensors that it has.
    if asked.quantized is None and asked.kind.startswith("Auto"):
        there = {name: header.shape for name, header in checked.headers.items()}
        own = {name: shape for name, shape in there.items() if name not in checked.beside}
        model = loaded_weights.on_meta(asked, own, **_labels(checked))
        if (adapter := checked.adapter) is not None:
            adapter_merge.merge(model, adapter, loaded_weights.meta_tensors(adapter.saved))
    return True


def load(rows: CheckpointRows, device: str) -> Weights:
    """Load the checkpoint's weights onto `device`; an adapter is merged into its base.

    Raises:
        ModelError: they cannot be read or merged, do not fit, or are not those of the class.
    """
    from rmaudit.models import loaded_weights, own_forward
    from rmaudit.scoring import compiled_layers, row_runners
    from rmaudit.scoring.scorer import Scorer

    checked, asked = rows.checked, _request(rows, device)
    family, classifier = checked.head.family, _is_classifier(checked)
    # Its attention is transformers' choice, whatever config.json says.
    model = loaded_weights.load(asked, attn_implementation=None, **_labels(checked))
    model, saved = _with_head(model, checked, asked)
    model = model.eval().requires_grad_(requires_grad=False)
    built = rows.head_of(saved)
    every = built.every if isinstance(built, OneOutput) else built
    if classifier and isinstance(every, linear.Linear):
        head_of, several = every, every is not built
        model.score.register_forward_hook(  # in float32 as ours
            lambda _, seen, __: head_of(seen[0].float())[... if several else (..., None)]
        )
    backbone = getattr(model.base_model, "language_model", model.base_model)
    if encoder.is_bert(checked.config):
        tokenizer, longest = rows.layout.tokenizer, int(model.config.max_position_embeddings)
        types = "token_type_ids" in tokenizer.model_input_names
        sep = int(tokenizer.sep_token_id) if types else None
        row_runners.add_token_types(backbone, sep, longest=longest, name=checked.name)
    scorer = Scorer(backbone, built, rows.pad, first=family.POOL == "first", token=rows.token)
    scorer.odd_in_files = partial(loaded_weights.first_non_finite, rows.files(), name=checked.name)
    weights = own_forward.as_weights(
        model, scorer, classifier=classifier, name=checked.name, verdict=rows.verdict
    )
    weights.use_path(rows.path)
    if rows.spec.compiled:
        compiled_layers.fuse(scorer, name=checked.name)
    return weights


def _request(rows: CheckpointRows, device: str) -> LoadRequest:
    """Return the request to load the weights; raise if transformers has no class for them."""
    from rmaudit.models import loaded_weights

    checked = rows.checked
    folder, config = checked.base.path, checked.config
    kind = str(config.get("model_type"))
    if _is_classifier(checked):
        config_json.refuse_unclassified(folder, kind, model=checked.name)
    return loaded_weights.LoadRequest(
        name=checked.name,
        folder=folder,
        kind=_class_of(checked),
        dtype=rows.dtype,
        device=device,
        backbone=f"a backbone of model_type {kind!r}",
        head=f"its {checked.head.family.NAME} head",
        ours=_head_tensors(checked),
        quantized=config_json.quantization(config),
        converted=partial(_as_llama, checked) if internlm2.is_one(config) else None,
    )


def _is_classifier(checked: Checked) -> bool:
    return checked.head.family.NAME in CLASSIFIERS


def _is_judge(checked: Checked) -> bool:
    return checked.head.family.NAME == verdict_logits.NAME


def _class_of(checked: Checked) -> str:
    """Return the name of transformers' auto class for the checkpoint, such as AutoModel.

    A judge is a causal language model. An adapter beside a value head was trained on one, so its
    tensors have the names of that class.
    """
    if _is_classifier(checked):
        return "AutoModelForSequenceClassification"
    if internlm2.is_one(checked.config):
        return "LlamaModel"
    return "AutoModelForCausalLM" if _is_judge(checked) or checked.adapter else "AutoModel"


def _labels(checked: Checked) -> dict[str, int]:
    """Return the `num_labels` of transformers' class; {} if the class has no head."""
    return {"num_labels": len(checked.objectives) or 1} if _is_classifier(checked) else {}


def _head_tensors(checked: Checked) -> frozenset[str]:
    """Return names of tensors, such as the head's, that class or files may be without."""
    head, adapter = checked.head, checked.adapter
    ours = frozenset[str]() if _is_judge(checked) else head.keys | head.family.IGNORED
    if _is_classifier(checked):  # no place for the output layer of the language model that it was
        ours = frozenset({"lm_head.weight"})
    if adapter is not None:  # on a language model, whose own head is not used
        ours |= adapter.added.keys() | {"lm_head.weight"}
    return ours


def _as_llama(checked: Checked) -> tuple[PretrainedConfig, dict[str, Tensor]]:
    """Return configuration and tensors of InternLM2 as those of LlamaModel."""
    files = weights_headers.weights_paths(checked.base.path, model=checked.name)
    return checked.defaults, internlm2.tensors(files, checked.config)


def _with_head(model: Any, checked: Checked, asked: LoadRequest) -> tuple[Any, dict[str, Tensor]]:  # noqa: ANN401  (transformers' classes)
    """Return the model with any adapter merged into it, and the head's tensors as saved."""
    if checked.adapter is None:
        return model, weights_headers.tensors(checked.base.path, checked.head.keys)
    from rmaudit.checkpoints import adapter_merge
    from rmaudit.models import loaded_weights

    try:
        merged = adapter_merge.merge(
            model, checked.adapter, checked.adapter.tensors(str(model.device))
        )
    except (RuntimeError, MemoryError) as error:  # all else is a ModelError
        raise loaded_weights.too_big(asked) from error
    if _is_judge(checked):
        (key,) = checked.head.keys  # which the adapter may have changed
        return merged, {key: merged.get_output_embeddings().weight}
    if checked.beside:
        return merged, weights_headers.tensors_in(
            weights_headers.separate_head(checked.source.path), checked.head.keys
        )
    return merged, checked.adapter.head(merged, checked.head.keys)
