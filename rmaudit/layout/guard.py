"""Tokenizers fail in any way on a text: with a panic of Rust code, or for want of an unknown token.

To our callers it is one thing, a `ModelError` of one line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from rmaudit.checkpoints.reading import brief, is_failure
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

P = ParamSpec("P")
R = TypeVar("R")


def failures_told(
    function: Callable[Concatenate[PreTrainedTokenizerBase, P], R],
) -> Callable[Concatenate[PreTrainedTokenizerBase, P], R]:
    """A function of a tokenizer that raises `ModelError` where the tokenizer fails."""

    @wraps(function)
    def guarded(tokenizer: PreTrainedTokenizerBase, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(tokenizer, *args, **kwargs)
        except BaseException as error:
            if not is_failure(error):
                raise
            whose = tokenizer.name_or_path or type(tokenizer).__name__
            message = (
                f"the tokenizer of {whose} failed on a text ({brief(error)}), so no rows can be "
                f"made with it; copy all tokenizer files of the model that it was trained from "
                f"into its folder"
            )
            raise ModelError(message) from error

    return guarded
