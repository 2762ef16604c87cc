"""A Hugging Face checkpoint, its trunk and its head, as a reward model.

Making one reads the tokenizer and the safetensors headers only; the weights are loaded at the
first score, so a run that finds every sweep in the cache loads no model.
"""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from rmaudit.checkpoints import checked as checks
from rmaudit.checkpoints import hub
from rmaudit.checkpoints.checked import Checked
from rmaudit.checkpoints.digest import adapter_identity, tokenizer_identity, weights_identity
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout import chat, pair, retokenize, splice, tokenizers
from rmaudit.layout.slot import Response, Slot, Vocabulary
from rmaudit.models import backbones
from rmaudit.scoring import ScoringPath

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

    from rmaudit.models.loading import Weights
    from rmaudit.models.protocol import RewardModel
    from rmaudit.models.recorded import Recorded
    from rmaudit.scoring.gradient import Slopes


T = TypeVar("T")

_DTYPES = ("float32", "bfloat16", "float16")


class Checkpoint:
    """A reward model in a folder; see `rmaudit.models.protocol.RewardModel`."""

    def __init__(
        self, spec: ModelSpec, *, cache: Path, device: str = "auto", checked: Checked | None = None
    ) -> None:
        """Find the folder and check it. `device` is "auto", "spread", or torch's name of one.

        What was `checked` already is taken as it is: its weights may be elsewhere, to be looked
        at and not scored.

        Raises:
            ModelError: it cannot be had, or is no reward model that rmaudit can score.
        """
        self.spec = spec
        self.cache = cache
        self.checked = checked or checks.of(spec, cache).downloaded()
        self.folder, self._base = self.checked.source.path, self.checked.base.path
        self._adapter, self._config = self.checked.adapter, self.checked.config
        self._head, self._pairs = self.checked.head, self.checked.reads_pairs
        if self._pairs:
            pair.refuse_settings(spec)
        self.device = device
        self._weights: Weights | None = None

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.spec.name

    def scores(
        self,
        *,
        computed: Callable[[RewardModel], T],
        published: Callable[[Recorded], T],  # noqa: ARG002
    ) -> T:
        """Computed from its weights."""
        return computed(self)

    def with_weights(self, what: str) -> RewardModel:  # noqa: ARG002
        """Itself."""
        return self

    @cached_property
    def identity(self) -> dict[str, str]:
        """Hashes of weights and tokenizer, and the settings that decide a score."""
        return {
            "weights": weights_identity(self._base, self.cache),
            **self._adapter_identity,
            "tokenizer": tokenizer_identity(self._tokenizer_folder, self.cache),
            **self.settings,
        }

    @property
    def settings(self) -> dict[str, str]:
        """How its weights are run and read: all of the identity that needs no hash of a file."""
        return {
            "head": self._head.family.NAME,
            "pool": "first id" if self._pairs else f"rightmost id but {self._pad}",
            "dtype": self.dtype,
            "path": str(self._path),
            **({} if self.spec.logit is None else {"logit": str(self.spec.logit)}),
        }

    @property
    def _adapter_identity(self) -> dict[str, str]:
        """What else makes an adapter's weights: its own, and the commit of a base from the hub."""
        if self._adapter is None:
            return {}
        revision = self._adapter.revision
        return {
            "adapter": adapter_identity(self._adapter.folder, self.cache),
            **({} if revision is None else {"base_revision": revision}),
        }

    @property
    def _tokenizer_folder(self) -> Path:
        return self.folder if self._adapter is None else self._adapter.tokenizer

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Versions and the machine."""
        import torch
        import transformers

        return {
            "source": self.spec.source,
            **({"revision": commit} if (commit := hub.commit(self.folder)) else {}),
            **({} if self._adapter is None else {"base": str(self._base)}),
            "architecture": (self._config.get("architectures") or ["(none)"])[0],
            "layers": int(self._defaults.get_text_config().num_hidden_layers),
            "path": str(self._path if self._weights is None else self._weights.scorer.path),
            "device": self.device if self._weights is None else self._weights.device,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "machine": platform.machine(),
            "threads": torch.get_num_threads(),
        }

    @property
    def dtype(self) -> str:
        """The registry's dtype, or else the checkpoint's own, or else float32."""
        if self.spec.dtype != "auto":
            return self.spec.dtype
        own = str(self._config.get("dtype") or self._config.get("torch_dtype") or "float32")
        if own not in _DTYPES:
            message = (
                f"{self.name}: dtype {own!r} in {self._base / 'config.json'}; known: "
                f"{', '.join(_DTYPES)}. Name one of these as `dtype` in models.yaml"
            )
            raise ModelError(message)
        return own

    @cached_property
    def _defaults(self) -> PretrainedConfig:
        """The configuration with the defaults of its class, such as Gemma's pad id."""
        return self.checked.defaults

    @property
    def _path(self) -> ScoringPath:
        """The path that is exact for its trunk, as far as its configuration tells."""
        return backbones.path_of(self._defaults)

    @property
    def _pad(self) -> int | None:
        """The id that pooling skips: by transformers' rule the pad id, unless told otherwise.

        An adapter was trained with its tokenizer's, which the base's config.json need not have.
        """
        pad = self._defaults.get_text_config().pad_token_id
        if self._adapter is not None and self.tokenizer.pad_token_id is not None:
            pad = self.tokenizer.pad_token_id
        pool = self._head.family.POOL if self.spec.pool == "auto" else self.spec.pool
        return None if pad is None or pool != "hf" else int(pad)

    @cached_property
    def _rows(self) -> int:
        """Rows of the embedding: ids go from 0 to one less."""
        added = None if self._adapter is None else self._adapter.rows
        return added or int(self._defaults.get_text_config().vocab_size)

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The checkpoint's tokenizer, with the registry's chat template if it gives one."""
        _ = self._defaults  # whose errors say more of a wrong config.json than the tokenizer's
        return tokenizers.read(self._tokenizer_folder, self.spec)

    def vocabulary(self) -> Vocabulary:
        """Every id that the tokenizer knows and the embedding has a row for."""
        return self._vocabulary

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        """Ids without a row cannot be scored; they may be what the tokenizer's makers reserved."""
        names = {i: piece for piece, i in self.tokenizer.get_vocab().items() if i >= self._rows}
        if names:
            first = min(names)
            warnings.warn(
                f"{self.name}: {len(names)} of its tokenizer's ids, first {first} "
                f"({names[first]!r}), have no row in the embedding, whose ids go from 0 to "
                f"{self._rows - 1}: they are not scored. If it was trained with them, these are "
                f"not its weights: save it again after resize_token_embeddings",
                stacklevel=2,
            )
        return tokenizers.vocabulary(self.tokenizer, rows=self._rows)

    def slot(self, prompt: str) -> Slot:
        """The prompt, rendered with the checkpoint's chat template, or in an encoder's pair.

        Raises:
            ModelError: it cannot be, or has an id that the embedding has no row for.
        """
        if self._pairs:
            slot = pair.render(self.tokenizer, prompt, model=self.name)
        else:
            slot = chat.render(self.tokenizer, prompt, model=self.name)
        if beyond := [i for i in (*slot.prefix, *slot.suffix) if i >= self._rows]:
            message = (
                f"{self.name}: its tokenizer and chat template give a prompt the id {beyond[0]} "
                f"({self.tokenizer.convert_ids_to_tokens(beyond[0])!r}), and the embedding's ids "
                f"go from 0 to {self._rows - 1}: tokenizer and weights are not of one model. Save "
                f"the model again after resize_token_embeddings, or give it its own tokenizer"
            )
            raise ModelError(message)
        return slot

    @cached_property
    def _before(self) -> str:
        """A text as stands before answers."""
        return self.slot("?").prefix_text

    def ids(self, response: Response) -> tuple[int, ...]:
        """A text's ids where an answer stands, no special tokens added; ids as they are."""
        if isinstance(response, str):
            if self._pairs:
                return pair.ids(self.tokenizer, response)
            return splice.following(self.tokenizer, self._before, response)
        ids = tuple(int(i) for i in response)
        if unknown := [i for i in ids if not 0 <= i < self._rows]:
            message = f"{self.name}: no token id {unknown[0]}; ids go from 0 to {self._rows - 1}"
            raise ModelError(message)
        return ids

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of special and added tokens."""
        tokenizer = self.tokenizer
        return frozenset((*tokenizer.all_special_ids, *tokenizer.added_tokens_decoder))

    def texts(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """What each answer's ids read as where an answer stands; an encoder's stands alone."""
        return splice.read(self.tokenizer, answers, alone=self._pairs)

    def tokenized(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The `ids` of each text, of many at once."""
        if self._pairs:
            return [pair.ids(self.tokenizer, text) for text in texts]
        return splice.following_each(self.tokenizer, self._before, texts)

    def score(
        self,
        prompt: str,
        responses: Sequence[Response],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """Shape (n,): the reward of each response to the prompt, higher is better.

        Raises:
            ModelError: a response has an unknown id, or the weights cannot be loaded.
            ScoreError: a reward is not a finite number.
        """
        from rmaudit.scoring import engine

        slot = self.slot(prompt)
        answers = [self.ids(response) for response in responses]
        scorer = self.weights(slot.prefix, slot.suffix).scorer
        return engine.score(scorer, slot.prefix, answers, slot.suffix, on_progress=on_progress)

    def gradient(self, prompt: str, answers: Sequence[Sequence[int]]) -> Slopes:
        """Rewards and slopes of answers to the prompt (`rmaudit.scoring.gradient`).

        Raises:
            ModelError: as for `score`, or the answers are not all of one length of at least 1.
            NoGradient: the model cannot be differentiated.
            ScoreError: a reward or a slope is not a finite number, or a row does not fit.
        """
        from rmaudit.scoring import gradient

        slot, ids = self.slot(prompt), [self.ids(answer) for answer in answers]
        scorer = self.weights(slot.prefix, slot.suffix).scorer
        return gradient.slopes(scorer, slot.prefix, ids, slot.suffix, name=self.name)

    @property
    def template_digest(self) -> str:
        """Hash of the chat template and the day it is given, or of the pair's layout."""
        if self._pairs:
            return pair.digest()
        return chat.template_digest(self.tokenizer, model=self.name)

    def retokenized(self, prompt: str, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The whole row of ids that each answer becomes under the paper's protocol."""
        if self._pairs:
            return pair.rows(self.tokenizer, prompt, texts)
        return retokenize.rows(self.tokenizer, prompt, texts, model=self.name)

    def score_rows(
        self,
        rows: Sequence[tuple[int, ...]],
        *,
        on_progress: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """Shape (n,): the reward of each whole row; what they share at the start is run once.

        Raises:
            ModelError: the rows share no first id, one has an unknown id, or the weights cannot
                be loaded.
            ScoreError: a reward is not a finite number.
        """
        from rmaudit.scoring import engine

        prefix, rests = retokenize.split([self.ids(row) for row in rows])
        if rests and not prefix:
            message = (
                f"{self.name}: the rows to score share no id at their start, or one has a single "
                f"id; they must be of one prompt, or give a `template:` in models.yaml with a BOS"
            )
            raise ModelError(message)
        scorer = self.weights(prefix, rests[0] if rests else ()).scorer
        return engine.score(scorer, prefix, rests, (), on_progress=on_progress)

    def own_rewards(self, rows: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """Shape (n,): the rewards of whole rows by the checkpoint's own forward, one at a time."""
        if not rows:
            return np.empty(0, dtype=np.float32)
        return self.weights(rows[0][:-1], ()).own_rewards(rows)

    def weights(self, prefix: tuple[int, ...], suffix: tuple[int, ...]) -> Weights:
        """The weights, loaded at the first call, which tries them on this prefix and suffix.

        Raises:
            ModelError: they cannot be loaded, or are scored in another way than ours.
        """
        if self._weights is None:
            from rmaudit.models import preflight

            loaded = self._load()
            preflight.check(loaded, prefix, suffix, name=self.name, dtype=self.dtype)
            self._weights = loaded
        if self.spec.pool == "auto" and suffix and suffix[-1] == self._pad:
            warnings.warn(
                f"{self.name}: its pad token {self._pad} is also what ends a turn, so the reward "
                f"is read at the answer's last token (transformers' rule). If it was trained to be "
                f"read at the turn's end, add `pool: last` to its entry in models.yaml; "
                f"`pool: hf` accepts this rule",
                stacklevel=2,
            )
        return self._weights

    def _load(self) -> Weights:
        from rmaudit.models import loading

        return loading.load(
            self._base,
            name=self.name,
            head=self._head,
            config=self._config,
            dtype=self.dtype,
            device=self.device,
            pad=self._pad,
            path=self._path,
            adapter=self._adapter,
        )

    def close(self) -> None:
        """Free the weights."""
        if self._weights is not None:
            from rmaudit.scoring import memory

            self._weights = None
            memory.release()
