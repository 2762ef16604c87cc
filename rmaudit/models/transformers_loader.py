"""Load a checkpoint with transformers' class for its backbone and one of rmaudit's heads.

An adapter is merged into its base as it is loaded. Torch is imported by `Native.load` and what it
calls, so that a run whose sweeps are all in the cache does without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit import json_cache
from rmaudit.checkpoints import config_json, file_hashes, internlm2, weights_headers
from rmaudit.checkpoints.head_detection import Checked
from rmaudit.checkpoints.heads import (
    CLASSIFIERS,
    encoder,
    linear,
    single_objective,
    token_value,
    verdict_logits,
)
from rmaudit.checkpoints.heads.single_objective import OneOutput
from rmaudit.config.model_registry import checkpoint_of
from rmaudit.errors import ModelError
from rmaudit.layout import layouts
from rmaudit.layout.answer_slot import Ids
from rmaudit.layout.layouts import Layout, layout_in
from rmaudit.layout.verdict_words import verdict_ids
from rmaudit.scoring import ScoringPath, path_of

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig

    from rmaudit.models.loaded_weights import LoadRequest, Weights
    from rmaudit.scoring import Head
    from rmaudit.scoring.engine import Scorer


class Native:
    """A loader of checkpoints whose backbone is a class of transformers."""

    def __init__(self, checked: Checked, cache: Path | None = None) -> None:
        """Take a checked checkpoint, whose weights `load` can load if they are on this machine.

        What its configuration means is remembered in `cache`, if that is given: to read it again
        takes transformers, which takes seconds.

        Raises:
            ModelError: models.yaml asks for what the checkpoint does not have, or config.json
                claims more layers than there can be.
        """
        self.checked, self._cache = checked, cache
        self._opened = self._config_states()
        self.spec = checked.spec
        self.folder = checked.source.path
        at_token = checked.head.family.POOL == "token"
        self.token = token_value.reward_id(checked.config) if at_token else None
        if self.token is not None and checked.spec.pool != "auto":
            message = (
                f"{checked.name}: its reward is read at the token {self.token}, which ends its "
                f"rows; remove `pool` from its entry in models.yaml"
            )
            raise ModelError(message)
        self.layout: Layout = layout_in(
            checked.tokenizer_folder,
            checked.spec,
            pairs=checked.reads_pairs,
            reward_id=self.token,
        )
        config_json.refuse_too_many_layers(
            checked.config, checked.headers, checked.base.path, name=checked.name
        )

    @property
    def defaults(self) -> PretrainedConfig:
        """Return the configuration with the defaults of its class filled in."""
        return self.checked.defaults

    @cached_property
    def _configured(self) -> Mapping[str, Any]:
        """Return the embedding's `rows`, the `pad` id and the `ScoringPath` as `path`, by name."""
        if self._cache is None:
            return self._read_configuration()
        found: Mapping[str, Any] = json_cache.cached(
            self._cache,
            "configuration",
            self.decided_by(self._cache),
            self._read_configuration,
            sure=lambda: self._config_states() == self._opened,
        )
        return found

    def _config_states(self) -> file_hashes.States:
        """Return size and times of the configuration files as they are now."""
        checked = self.checked
        folders = {checked.base.path, checked.tokenizer_folder, checked.source.path}
        return file_hashes.states(
            path for each in folders for path in file_hashes.layout_files(each)
        )

    def _read_configuration(self) -> dict[str, Any]:
        adapter, text = self.checked.adapter, self.defaults.get_text_config()
        rows = int((adapter and adapter.rows) or text.vocab_size)
        return {"rows": rows, "pad": self._pad(), "path": str(path_of(self.defaults))}

    @property
    def rows(self) -> int:
        """Return the embedding's row count: the adapter's if it has one, else config.json's."""
        return int(self._configured["rows"])

    @property
    def pad(self) -> int | None:
        """Return the pad id that pooling skips (transformers' rule); None if pooling skips no id.

        It is the configuration's, unless the registry says otherwise. An adapter was
        trained with its tokenizer's pad id, which the base's config.json need not have.
        """
        pad: int | None = self._configured["pad"]
        return pad

    def _pad(self) -> int | None:
        pad = self.defaults.get_text_config().pad_token_id
        if self.checked.adapter is not None and self.layout.tokenizer.pad_token_id is not None:
            pad = self.layout.tokenizer.pad_token_id
        family, asked = self.checked.head.family, self.spec.pool
        pool = family.POOL if asked == "auto" else asked
        return None if pad is None or pool != "hf" else int(pad)

    @property
    def path(self) -> ScoringPath:
        """Return the fastest exact way to run many rows (`ScoringPath`), going by config.json."""
        return ScoringPath(self._configured["path"])

    @property
    def dtype(self) -> str:
        """Return models.yaml's dtype, or else the checkpoint's own, or else float32."""
        config = self.checked.config
        own = config.get("dtype") or config.get("torch_dtype")
        return config_json.dtype_of(self.spec, own, self.checked.base.path, name=self.spec.name)

    @cached_property
    def settings(self) -> dict[str, str]:
        """Return how the model is scored: head, pooling, dtype, `ScoringPath` and others."""
        logit, objective = self.spec.logit, self.checked.objective
        pool = "first id" if self.checked.reads_pairs else f"rightmost id but {self.pad}"
        converted = internlm2.is_one(self.checked.config)
        return {
            "head": self.checked.head.family.NAME,
            "pool": pool if self.token is None else f"rightmost id {self.token}",
            "dtype": self.dtype,
            "path": str(self.path),
            **({} if logit is None else {"logit": str(logit)}),
            **({} if objective is None else {"objective": str(objective)}),
            **({} if self.spec.judge is None else {"verdict": "{} less {}".format(*self.verdict)}),
            **({"compiled": "layers"} if self.spec.compiled else {}),
            **({"conversion": internlm2.CONVERSION} if converted else {}),
        }

    @cached_property
    def verdict(self) -> tuple[int, ...]:
        """Return the token ids of a judge's yes and no; () for other models. See `verdict_ids`."""
        return verdict_ids(self.spec, self.layout, self.checked.tokenizer_folder)

    @property
    def provenance(self) -> dict[str, str]:
        """Return facts for the report: model class, an adapter's base, if layers are compiled."""
        base = {} if self.checked.adapter is None else {"base": str(self.checked.base.path)}
        compiled = {"compiled": "layers"} if self.spec.compiled else {}
        kind = linear.architecture(self.checked.config)
        return {**base, **compiled, "architecture": kind}

    def files(self) -> list[Path]:
        """Return the files of weights and tokenizer, and of the adapter if there is one."""
        return [path for files in self._files_by_name().values() for path in files]

    def _files_by_name(self) -> dict[str, list[Path]]:
        checked = self.checked
        adapter = {}
        if checked.adapter is not None:
            adapter = {"adapter": file_hashes.adapter_files(checked.adapter.folder)}
        return {
            "weights": file_hashes.config_and_weights_files(checked.base.path),
            "tokenizer": file_hashes.tokenizer_files(checked.tokenizer_folder),
            **adapter,
        }

    def hashes(self, cache: Path) -> dict[str, str]:
        """Return hashes of weights, tokenizer and adapter, and the commit of the adapter's base."""
        found = {
            name: file_hashes.identity(files, cache)
            for name, files in self._files_by_name().items()
        }
        if (adapter := self.checked.adapter) is not None and adapter.revision is not None:
            found["base_revision"] = adapter.revision
        return found

    def decided_by(self, cache: Path) -> dict[str, str]:
        """Return what determines the rows of token ids, as fields of a cache key."""
        checked = self.checked
        folders = [checked.base.path, checked.tokenizer_folder, self.folder]
        return layouts.decided_by(checkpoint_of(self.spec), folders, cache)

    def head_of(self, saved: Mapping[str, Tensor]) -> Head:
        """Return the head with these tensors, `saved` by name, reduced to the chosen output."""
        family, config, at = self.checked.head.family, self.checked.config, self.checked.objective
        if at is None:
            return family.build(saved, {**config, verdict_logits.SETTING: self.verdict})
        return single_objective.build(family.NAME, saved, config, at)

    def refuse_misfits(self) -> None:
        """Raise what `load` would raise of the tensors' names and shapes, by their headers alone.

        The model is built, loaded and merged on torch's meta device, which has shapes and no
        numbers. That takes seconds, so it is remembered what fits. Quantized weights, whose names
        and shapes are the quantizer's own, are not tried.

        Raises:
            ModelError: transformers cannot build it, a tensor is missing, left over or of another
                shape, or an adapter is not one of this base.
        """
        checked = self.checked
        if self._cache is None or config_json.quantization(checked.config) is not None:
            self._try_on_meta()
            return
        adapter = {} if checked.adapter is None else checked.adapter.saved
        tensors = hashlib.sha256(
            repr([*sorted(checked.headers.items()), *adapter.items()]).encode()
        )
        json_cache.cached(
            self._cache,
            "fits",
            {**self.decided_by(self._cache), "tensors": tensors.hexdigest()},
            self._try_on_meta,
            sure=lambda: self._config_states() == self._opened,
        )

    def _try_on_meta(self) -> bool:
        """Return True if `load` would find all tensors in place. Raises as `refuse_misfits`."""
        from rmaudit.checkpoints import adapter_merge
        from rmaudit.models import loaded_weights

        checked, asked = self.checked, self._request("meta")
        # A class that is no auto class was chosen by the tensors that it has.
        if asked.quantized is None and asked.kind.startswith("Auto"):
            there = {name: header.shape for name, header in checked.headers.items()}
            own = {name: shape for name, shape in there.items() if name not in checked.beside}
            model = loaded_weights.on_meta(asked, own, **self._labels)
            if (adapter := checked.adapter) is not None:
                adapter_merge.merge(model, adapter, loaded_weights.meta_tensors(adapter.saved))
        return True

    @property
    def _is_classifier(self) -> bool:
        return self.checked.head.family.NAME in CLASSIFIERS

    @property
    def _class(self) -> str:
        """Return the name of transformers' auto class for the checkpoint, such as AutoModel.

        A judge is a causal language model. An adapter beside a value head was trained on one, so
        its tensors have the names of that class.
        """
        if self._is_classifier:
            return "AutoModelForSequenceClassification"
        if internlm2.is_one(self.checked.config):
            return "LlamaModel"
        causal = self._is_judge or self.checked.adapter
        return "AutoModelForCausalLM" if causal else "AutoModel"

    @property
    def _head_tensors(self) -> frozenset[str]:
        """Return names of tensors, such as the head's, that class or files may be without."""
        head, adapter = self.checked.head, self.checked.adapter
        ours = frozenset[str]() if self._is_judge else head.keys | head.family.IGNORED
        if self._is_classifier:  # no place for the output layer of the language model that it was
            ours = frozenset({"lm_head.weight"})
        if adapter is not None:  # on a language model, whose own head is not used
            ours |= adapter.added.keys() | {"lm_head.weight"}
        return ours

    @property
    def _is_judge(self) -> bool:
        return self.checked.head.family.NAME == verdict_logits.NAME

    @property
    def _labels(self) -> dict[str, int]:
        """Return the `num_labels` of transformers' class; {} if the class has no head."""
        return {"num_labels": len(self.checked.objectives) or 1} if self._is_classifier else {}

    def _request(self, device: str) -> LoadRequest:
        """Return the request to load the weights; raise if transformers has no class for them."""
        from rmaudit.models import loaded_weights

        checked = self.checked
        folder, config = checked.base.path, checked.config
        kind = str(config.get("model_type"))
        if self._is_classifier:
            config_json.refuse_unclassified(folder, kind, model=checked.name)
        return loaded_weights.LoadRequest(
            name=checked.name,
            folder=folder,
            kind=self._class,
            dtype=self.dtype,
            device=device,
            backbone=f"a backbone of model_type {kind!r}",
            head=f"its {checked.head.family.NAME} head",
            ours=self._head_tensors,
            quantized=config_json.quantization(config),
            converted=self._as_llama if internlm2.is_one(config) else None,
        )

    def load(self, device: str) -> Weights:
        """Load the weights onto `device`; an adapter is merged into its base."""
        from rmaudit.models import loaded_weights
        from rmaudit.scoring.engine import Scorer

        checked = self.checked
        family, config, classifier = checked.head.family, checked.config, self._is_classifier
        asked = self._request(device)
        model = loaded_weights.load(
            asked,
            attn_implementation=None,  # transformers' choice, whatever config.json says
            **self._labels,
        )
        model, saved = _with_head(model, checked, asked)
        model = model.eval().requires_grad_(requires_grad=False)
        built = self.head_of(saved)
        every = built.every if isinstance(built, OneOutput) else built
        if classifier and isinstance(every, linear.Linear):
            head_of, several = every, every is not built
            model.score.register_forward_hook(  # in float32 as ours
                lambda _, seen, __: head_of(seen[0].float())[... if several else (..., None)]
            )
        backbone = getattr(model.base_model, "language_model", model.base_model)
        if encoder.is_bert(config):
            from rmaudit.scoring import row_runners

            tokenizer, longest = self.layout.tokenizer, int(model.config.max_position_embeddings)
            types = "token_type_ids" in tokenizer.model_input_names
            sep = int(tokenizer.sep_token_id) if types else None
            row_runners.add_token_types(backbone, sep, longest=longest, name=checked.name)
        scorer = Scorer(backbone, built, self.pad, first=family.POOL == "first", token=self.token)
        scorer.odd_in_files = partial(
            loaded_weights.first_non_finite, self.files(), name=checked.name
        )
        weights = as_weights(
            model, scorer, classifier=classifier, name=checked.name, verdict=self.verdict
        )
        weights.use_path(self.path)
        if self.spec.compiled:
            from rmaudit.scoring import compiled_layers

            compiled_layers.fuse(scorer, name=checked.name)
        return weights

    def _as_llama(self) -> tuple[PretrainedConfig, dict[str, Tensor]]:
        """Return configuration and tensors of InternLM2 as those of LlamaModel."""
        folder, config = self.checked.base.path, self.checked.config
        files = weights_headers.weights_paths(folder, model=self.checked.name)
        return self.defaults, internlm2.tensors(files, config)


def as_weights(
    model: Any,  # noqa: ANN401  (transformers' classes)
    scorer: Scorer,
    *,
    classifier: bool,
    name: str,
    verdict: Sequence[int] = (),
) -> Weights:
    """Return a model and its scorer as `Weights`, with a function for the model's own rewards.

    The own rewards are those of a `classifier`'s forward, of a language model's logits of the two
    ids in `verdict` if there are any, or else of our head.
    """
    from rmaudit.models.loaded_weights import Weights
    from rmaudit.scoring import pipeline_parallelism

    scorer.pipeline = pipeline_parallelism.pipeline_of(model)
    if verdict:
        own = _by_logits(model, verdict)
    else:
        own = _by_class(model, scorer) if classifier else _by_head(scorer)
    attention = model.config._attn_implementation  # noqa: SLF001  (its only name)
    return Weights(name, model, scorer, own, attention)


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
    except (RuntimeError, MemoryError) as error:  # all else is told by a ModelError
        raise loaded_weights.too_big(asked) from error
    if checked.head.family.NAME == verdict_logits.NAME:
        (key,) = checked.head.keys  # which the adapter may have changed
        return merged, {key: merged.get_output_embeddings().weight}
    if checked.beside:
        return merged, weights_headers.tensors_in(
            weights_headers.separate_head(checked.source.path), checked.head.keys
        )
    return merged, checked.adapter.head(merged, checked.head.keys)


def _by_class(model: Any, scorer: Scorer) -> Callable[[Ids], float]:  # noqa: ANN401  (transformers' classes)
    """Return a function from a row of ids to its reward, a logit of transformers' forward pass.

    Backbone, attention and pooling are transformers'; a plain head is in float32. Of an encoder all
    is transformers', its head in the run's dtype too.
    """
    import torch

    from rmaudit.scoring.row_runners import device_of, reset_rotary_lengths

    label = scorer.head.at if isinstance(scorer.head, OneOutput) else 0

    def reward(row: Ids) -> float:
        reset_rotary_lengths(scorer.backbone)
        ids = torch.tensor([row], device=device_of(scorer.backbone))
        with _pooled_as(model, scorer.pad):
            return float(model(input_ids=ids, use_cache=False).logits[0].flatten()[label])

    return reward


def _by_logits(model: Any, verdict: Sequence[int]) -> Callable[[Ids], float]:  # noqa: ANN401  (transformers' classes)
    """Return a function from a row of ids to its reward: the logit of yes minus that of no.

    `verdict` has the two ids.
    """
    import torch

    from rmaudit.scoring.row_runners import device_of, reset_rotary_lengths

    yes, no = verdict

    def reward(row: Ids) -> float:
        reset_rotary_lengths(model.base_model)
        ids = torch.tensor([row], device=device_of(model))
        logits = model(input_ids=ids, use_cache=False).logits[0, -1].float()
        return float(logits[yes] - logits[no])

    return reward


@contextmanager
def _pooled_as(model: Any, pad: int | None) -> Iterator[None]:  # noqa: ANN401  (transformers' classes)
    """Set the model's pad id inside a `with` block: it decides where transformers reads the reward.

    That is the rightmost id that is not the pad id, as in our scorer; without one, the last id.
    """
    config = model.config.get_text_config()
    before, config.pad_token_id = config.pad_token_id, pad
    try:
        yield
    finally:
        config.pad_token_id = before


def _by_head(scorer: Scorer) -> Callable[[Ids], float]:
    """Return a function from a row of ids to the reward of rmaudit's head for it.

    It is for heads that transformers has no class for.
    """
    from rmaudit.scoring.engine import no_token, pooled_at
    from rmaudit.scoring.row_runners import FullRows

    def reward(row: Ids) -> float:
        if (at := pooled_at(row, scorer)) is None and scorer.token is not None:
            raise no_token(scorer.token)
        states, at = FullRows(scorer.backbone, row).prefix_states().float(), at or 0
        return float(scorer.head.after(row, states)(states[at : at + 1])[0])

    return reward
