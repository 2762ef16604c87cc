"""Ask a reward model's base language model how likely it finds each token as the answer.

Christian et al. 2025 compare language models with reward models (§1, A.1.2, Tables A.1 to A.5) and
suspect that pretraining leaks into rewards (§3.3). Their tables list the likeliest next tokens of
Gemma models; those of models without instruction tuning begin with a space, as after a bare prompt.
Here every base reads what stands before the answer in the reward model's own rows, chat template
and all, so that reward and log-probability are of one token in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmaudit import json_cache
from rmaudit.checkpoints import (
    adapter_files,
    bundled_model,
    checkpoint_source,
    config_json,
    file_hashes,
)
from rmaudit.checkpoints.checkpoint_source import CheckpointFiles
from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.model_spec import pinned
from rmaudit.errors import ModelError, NoBase
from rmaudit.layout import tokenizers
from rmaudit.layout.tokenizers import Vocabulary
from rmaudit.models.model_interfaces import versions_and_machine

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

    from rmaudit.models.language_model_logprobs import Likelihood
    from rmaudit.models.loaded_weights import LoadRequest

_Asked = TypeVar("_Asked")
_ROLES = {
    "base": "that it was trained from",
    "policy": "that is to be trained on its reward",
}
_ALWAYS_CAUSAL = ("gpt_neox", "gpt_neox_japanese")  # whatever `is_decoder` says, which none reads


@dataclass(frozen=True, slots=True)
class Base:
    """A causal language model in a folder, such as a reward model's base; loaded while in use.

    Attributes:
        name: for errors, such as "the base of N-Lla-8B".
        folder: config.json, the weights and the tokenizer.
        identity: hashes of weights and tokenizer, and the dtype.
        device: "auto", "spread", or torch's name of one.
        hashed: hashes of the files of weights and tokenizer when the identity was made.
        cache: where hashes are remembered.
        correct: for errors: where to correct the choice of this model.
    """

    name: str
    folder: Path
    identity: Mapping[str, str]
    device: str
    hashed: Mapping[Path, str]
    cache: Path
    correct: str = "`base` in models.yaml"

    def logprobs(self, prefix: tuple[int, ...], vocabulary: Vocabulary) -> NDArray[np.float32]:
        """Load the model; return ids' log-probabilities after `prefix`, (n,); NaN for unknown ids.

        Natural logarithms, the softmax in float32 over all rows of the model's head, from one
        forward of one row. NaN where an id is a token of the reward model's own, which the base
        has never seen.

        Raises:
            ModelError: as `using`.
        """
        every, shared = self.using(
            vocabulary, lambda likelihood: (likelihood.following(prefix), likelihood.shared)
        )
        return np.array(
            [every[i] if shared[i] and i < len(every) else np.nan for i in vocabulary.ids],
            dtype=np.float32,
        )

    def using(self, vocabulary: Vocabulary, ask: Callable[[Likelihood], _Asked]) -> _Asked:
        """Load the model, return what `ask` returns of it, and release its memory.

        Raises:
            ModelError: the tokenizers differ by more than added tokens, or the weights cannot be
                loaded or run, or are no language model's.
        """
        from rmaudit.models import loaded_weights
        from rmaudit.scoring import memory_sized_batches

        try:
            return ask(self.loaded(vocabulary))
        except (RuntimeError, MemoryError) as error:
            if not memory_sized_batches.is_out_of_memory(error):
                raise
            raise loaded_weights.too_big(self._load_request) from error
        finally:
            memory_sized_batches.release()

    def loaded(self, vocabulary: Vocabulary) -> Likelihood:
        """Load the weights into a `Likelihood`; raise if non-added tokens are not `vocabulary`'s.

        That is the reward model's.

        Raises:
            ModelError: as `using`.
        """
        from rmaudit.models import loaded_weights
        from rmaudit.models.language_model_logprobs import Likelihood

        states = file_hashes.renewed(self.hashed, self.cache, model=self.name)
        tokenizer = tokenizers.read(self.folder, ModelSpec(self.name, str(self.folder)))
        shared = shared_tokens(vocabulary, tokenizer, name=self.name, correct=self.correct)
        own = dict(zip(vocabulary.ids, vocabulary.pieces, strict=True))
        # Its attention is transformers' choice, whatever config.json says.
        model = loaded_weights.load(self._load_request, attn_implementation=None)
        file_hashes.refuse_changed(states, model=self.name)
        return Likelihood(self.name, model, shared, own, self.dtype, states, self.correct)

    @property
    def _load_request(self) -> LoadRequest:
        from rmaudit.models import loaded_weights

        return loaded_weights.LoadRequest(
            name=self.name,
            folder=self.folder,
            kind="AutoModelForCausalLM",
            dtype=self.dtype,
            device=self.device,
            backbone="a causal language model",
            correct=self.correct,
            besides="the reward model",
        )

    @property
    def dtype(self) -> str:
        """Return the dtype that the language model runs in."""
        return self.identity["dtype"]

    @property
    def provenance(self) -> dict[str, str]:
        """Return the name of the base's folder, the device, versions and the machine."""
        return {"base": self.folder.name, "device": self.device, **versions_and_machine()}


def base_of(
    spec: ModelSpec, key: Literal["base", "policy"] = "base", *, cache: Path, device: str = "auto"
) -> Base:
    """Return the language model that the entry `spec` names as `key`; raise if there is none.

    Its weights are not loaded yet. It runs in the entry's dtype, or else its own, on `device` as a
    reward model does.

    Raises:
        NoBase: the entry names none.
        ModelError: it cannot be had, or is no plain language model.
    """
    given = getattr(spec, key)
    if given is None:
        message = (
            f"models.yaml names no {key} model for {spec.name}; add `{key}:` to its entry there "
            f"(write one if it has none): the hub id or folder of the language model {_ROLES[key]}"
        )
        raise NoBase(message)
    where = f"`{key}` in models.yaml" + (" or --rm-policy" if key == "policy" else "")
    source, revision = pinned(given)
    wanted = ModelSpec(f"the {key} of {spec.name}", source, revision=revision)
    role = _ROLES[key]
    return find(wanted, spec, key, role=role, correct=where, cache=cache, device=device)


def find(  # noqa: PLR0913  (keyword-only after the subjects)
    wanted: ModelSpec,
    spec: ModelSpec,
    key: str,
    *,
    role: str,
    correct: str,
    cache: Path,
    device: str = "auto",
) -> Base:
    """Find a language model (or download or build it) to run in the dtype of the entry `spec`.

    If that names none, it runs in its own. Its weights are not loaded yet.

    Args:
        wanted: its source and revision; the name is for errors, such as "the base of N-Lla-8B".
        spec: the entry of models.yaml that names it.
        key: the key by which it is named.
        role: for errors: what it is, after "the model", such as "that it was trained from".
        correct: for errors: where it is named.
        cache: the folder of what is built and remembered of models.
        device: "auto", "spread", or torch's name of one.

    Raises:
        ModelError: it cannot be had, or is no plain language model.
    """
    name = wanted.name
    files_of = _files_of(wanted, key, cache)
    folder = files_of.path
    adapter_files.refuse(folder, model=name)
    config = config_json.read(folder, model=name)
    if (method := config_json.quantization(config)) is not None:
        message = (
            f"{name}: its weights are quantized ({method}; quantization_config in "
            f"{folder / 'config.json'}), so its log-probabilities are not those of the model "
            f"{role}. Name the {key} from before it was quantized as {correct}"
        )
        raise ModelError(message)
    decided = {"rmaudit": json_cache.code(), "entry": repr(spec), "key": key}

    def as_read() -> str:
        return file_hashes.identity(file_hashes.layout_files(folder), cache)

    decided["files"] = as_read()
    runs_in = json_cache.cached(
        cache,
        "base-dtype",
        decided,
        lambda: _dtype(spec, folder, name, correct),
        sure=lambda: as_read() == decided["files"],
    )
    headers = checkpoint_source.read(files_of)  # says what is missing, before any download
    config_json.refuse_too_many_layers(config, headers, folder, name=name)
    folder = files_of.downloaded().path
    weights = file_hashes.config_and_weights_files(folder)
    tokenizer = file_hashes.tokenizer_files(folder)
    hashed = file_hashes.hashes([*weights, *tokenizer], cache)
    identity = {
        "base weights": file_hashes.identity(weights, cache),
        "base tokenizer": file_hashes.identity(tokenizer, cache),
        "dtype": runs_in,
    }
    return Base(name, folder, identity, device, hashed, cache, correct)


def _dtype(spec: ModelSpec, folder: Path, name: str, correct: str) -> str:
    """Return the dtype that a base model runs in. Raises `ModelError` if it is not causal."""
    config = config_json.defaults(folder, model=name)
    if _sees_ahead(config.get_text_config()):
        message = (
            f"{name}: {config.model_type!r} in {folder / 'config.json'} reads a text in both "
            f"directions, so it gives no next token; correct {correct}"
        )
        raise ModelError(message)
    where = f"of {spec.name} in models.yaml"
    return config_json.dtype_of(spec, config.dtype, folder, name=name, entry=where)


def _sees_ahead(config: PretrainedConfig) -> bool:
    """Return whether the model reads in both directions, as BERT does, so is not causal."""
    if config.model_type in _ALWAYS_CAUSAL:
        return False
    two_way = getattr(config, "use_bidirectional_attention", None)
    names = ("is_causal", "is_decoder")
    return bool(two_way) or any(getattr(config, name, True) is False for name in names)


def _files_of(wanted: ModelSpec, key: str, cache: Path) -> CheckpointFiles:
    if wanted.source == "embedded":
        return checkpoint_source.Folder(wanted.name, bundled_model.build_base(cache))
    folder = Path(wanted.source).expanduser()
    if folder.is_absolute() and not folder.is_dir():
        message = f"{wanted.name}: no folder {folder}; correct `{key}` in models.yaml"
        raise ModelError(message)
    return checkpoint_source.find(wanted, cache, folder_hint=f"{key}: FOLDER in models.yaml")


def shared_tokens(
    vocabulary: Vocabulary,
    tokenizer: PreTrainedTokenizerBase,
    *,
    name: str,
    correct: str = "`base` in models.yaml",
) -> dict[int, bool]:
    """Map each id to whether `vocabulary` and `tokenizer` agree; raise if non-added tokens differ.

    `vocabulary` is the reward model's, `tokenizer` the base's. What a reward model adds has ids
    above all of the base's; what it renames, such as a reserved token that becomes its pad token,
    was a special or added token of the base.

    Raises:
        ModelError: they differ in other tokens, so the tokenizers are not of one family.
    """
    theirs = {i: piece for piece, i in tokenizer.get_vocab().items()}
    ours = dict(zip(vocabulary.ids, vocabulary.pieces, strict=True))
    shared = {i: ours.get(i) == theirs.get(i) for i in ours.keys() | theirs.keys()}
    size, added = max(theirs) + 1, set(tokenizer.added_tokens_decoder)
    odd = sorted(i for i, same in shared.items() if not same and i < size and i not in added)
    if odd:
        first = odd[0]
        message = (
            f"{name}: its tokenizer is not the reward model's: {len(odd)} ids, added tokens not "
            f"counted, are other tokens there; the first is {first}, {theirs.get(first)!r} here "
            f"and {ours.get(first)!r} there; correct {correct}"
        )
        raise ModelError(message)
    return shared
