"""A Hugging Face sequence-classification checkpoint as a reward model.

Making one reads the tokenizer and the safetensors headers only; the weights are loaded at the
first score, so a run that finds every sweep in the cache loads no model.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rmaudit.errors import ModelError
from rmaudit.models import conversation, files
from rmaudit.models.heads.linear import KEY as HEAD_KEY
from rmaudit.models.heads.linear import linear
from rmaudit.models.identity import tokenizer_identity, weights_identity
from rmaudit.models.protocol import Response, Slot, Vocabulary
from rmaudit.registry import ModelSpec
from rmaudit.scoring import ATTENTION

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

    from rmaudit.scoring.engine import Scorer


_DTYPES = ("float32", "bfloat16", "float16")


class Checkpoint:
    """A reward model in a folder; see `rmaudit.models.protocol.RewardModel`."""

    def __init__(self, spec: ModelSpec, *, cache: Path) -> None:
        """Find the folder and check it.

        Raises:
            ModelError: it cannot be had, or is no reward model that rmaudit can score.
        """
        self.spec = spec
        self._cache = cache
        self.folder = files.locate(spec, cache)
        self._config = files.check(self.folder, model=spec.name)
        self._scorer: Scorer | None = None

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.spec.name

    @cached_property
    def identity(self) -> dict[str, str]:
        """Hashes of weights and tokenizer, and the settings that decide a score."""
        return {
            "weights": weights_identity(self.folder, self._cache),
            "tokenizer": tokenizer_identity(self.folder, self._cache),
            "head": "linear",
            "pool": f"rightmost id but {self._pad}",
            "dtype": self.dtype,
        }

    @property
    def provenance(self) -> dict[str, str | int | float]:
        """Versions and the machine."""
        import torch
        import transformers

        return {
            "source": self.spec.source,
            "architecture": (self._config.get("architectures") or ["(none)"])[0],
            "layers": int(self._config.get("num_hidden_layers", 0)),
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
                f"{self.name}: dtype {own!r} in {self.folder / 'config.json'}; known: "
                f"{', '.join(_DTYPES)}. Name one of these as `dtype` in models.yaml"
            )
            raise ModelError(message)
        return own

    @cached_property
    def _defaults(self) -> PretrainedConfig:
        """The configuration with the defaults of its class, such as Gemma's pad id."""
        from transformers import AutoConfig

        try:
            return AutoConfig.from_pretrained(self.folder, trust_remote_code=False)
        except Exception as error:
            raise self._unreadable("config.json", error) from error

    @property
    def _pad(self) -> int | None:
        pad = self._defaults.pad_token_id
        return None if pad is None else int(pad)

    @property
    def _rows(self) -> int:
        """Rows of the embedding: ids go from 0 to one less."""
        return int(self._defaults.vocab_size)

    def _unreadable(self, what: str, error: Exception) -> ModelError:
        """Third parties' readers raise anything; to our callers it is one thing."""
        message = (
            f"{self.name}: {what} could not be read from {self.folder} ({files.brief(error)}); "
            f"save the model and its tokenizer there again with save_pretrained(FOLDER)"
        )
        return ModelError(message)

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The checkpoint's tokenizer, with the registry's chat template if it gives one."""
        from transformers import AutoTokenizer

        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(self.folder, trust_remote_code=False)
        except Exception as error:
            raise self._unreadable("its tokenizer", error) from error
        if self.spec.template is not None:
            try:
                tokenizer.chat_template = Path(self.spec.template).read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                message = f"{self.name}: template {self.spec.template}: {files.brief(error)}"
                raise ModelError(message) from error
        return tokenizer

    def vocabulary(self) -> Vocabulary:
        """Every id that the tokenizer knows and the embedding has a row for."""
        return self._vocabulary

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        ids = sorted({i for i in self.tokenizer.get_vocab().values() if i < self._rows})
        pieces = self.tokenizer.convert_ids_to_tokens(ids)
        texts = self.tokenizer.batch_decode(
            [[i] for i in ids], skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return Vocabulary(tuple(ids), tuple(map(str, pieces)), tuple(texts))

    def slot(self, prompt: str) -> Slot:
        """The prompt, rendered with the checkpoint's chat template."""
        return conversation.render(self.tokenizer, prompt, model=self.name)

    def ids(self, response: Response) -> tuple[int, ...]:
        """A text's ids as it stands, no special tokens added; ids as they are."""
        if isinstance(response, str):
            return tuple(self.tokenizer(response, add_special_tokens=False).input_ids)
        ids = tuple(int(i) for i in response)
        if unknown := [i for i in ids if not 0 <= i < self._rows]:
            message = f"{self.name}: no token id {unknown[0]}; ids go from 0 to {self._rows - 1}"
            raise ModelError(message)
        return ids

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
        if self._scorer is None:
            self._scorer = self._load()
        return engine.score(
            self._scorer, slot.prefix, answers, slot.suffix, on_progress=on_progress
        )

    def close(self) -> None:
        """Free the weights."""
        self._scorer = None

    def _load(self) -> Scorer:
        import torch
        from transformers import AutoModelForSequenceClassification
        from transformers.utils import logging

        from rmaudit.scoring.engine import Scorer

        logging.disable_progress_bar()
        try:
            model, loaded = AutoModelForSequenceClassification.from_pretrained(
                self.folder,
                dtype=getattr(torch, self.dtype),
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # so that they are told to us, and refused below
            )
        except Exception as error:
            raise self._unreadable("its weights", error) from error
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
            if keys := sorted(str(key) for key in loaded[kind]):
                message = (
                    f"{self.name}: {len(keys)} {kind.replace('_', ' ')} in {self.folder}, first "
                    f"{keys[0]!r}: not a plain sequence classifier, or a wrong architecture in "
                    f"config.json; scoring it would use random or ignored weights"
                )
                raise ModelError(message)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = model.eval().to(device)
        model.set_attn_implementation(ATTENTION)
        head = linear(model.get_parameter(HEAD_KEY))
        return Scorer(trunk=model.base_model, head=head, pad=self._pad)
