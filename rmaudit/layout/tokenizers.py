"""A model's tokenizer, its chat template and its vocabulary: all that needs no weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import trust
from rmaudit.checkpoints.reading import brief
from rmaudit.config.registry import ModelSpec
from rmaudit.errors import ModelError
from rmaudit.layout.slot import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def read(folder: Path, spec: ModelSpec) -> PreTrainedTokenizerBase:
    """The tokenizer in `folder`, with the registry's chat template if it gives one.

    Code that it brings is run only where the registry says so, beside a commit.

    Raises:
        ModelError: the tokenizer or the template cannot be read.
    """
    from transformers import AutoTokenizer

    trusted: dict[str, Any] = {"trust_remote_code": False}
    if spec.trust_remote_code:
        trust.refuse_loose(spec)
        trust.refuse_foreign(folder, spec)
        trusted = {"trust_remote_code": True, "code_revision": spec.revision}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, **trusted)
    except Exception as error:  # third parties' readers raise anything; to our callers it is one
        message = (
            f"{spec.name}: its tokenizer could not be read from {folder} ({brief(error)}); "
            f"save the model and its tokenizer there again with save_pretrained(FOLDER)"
        )
        raise ModelError(message) from error
    if spec.template is not None:
        try:
            tokenizer.chat_template = Path(spec.template).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            message = f"{spec.name}: template {spec.template}: {brief(error)}"
            raise ModelError(message) from error
    return tokenizer


def vocabulary(tokenizer: PreTrainedTokenizerBase, *, rows: int | None = None) -> Vocabulary:
    """Every id that the tokenizer knows, and the embedding of `rows` rows has a row for."""
    known = set(tokenizer.get_vocab().values())
    ids = sorted(i for i in known if rows is None or i < rows)
    texts = tokenizer.batch_decode(
        [[i] for i in ids], skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    pieces = tokenizer.convert_ids_to_tokens(ids)
    return Vocabulary(tuple(ids), tuple(map(str, pieces)), tuple(texts))
