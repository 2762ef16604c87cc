"""Give BERT's rows the token types of its tokenizer; refuse rows that exceed its positions.

Types are 0 up to the first [SEP] of a row and 1 after it. Rows are ids alone everywhere else in
rmaudit, and a pair's ids tell where its second text begins.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from rmaudit.errors import ModelError


def add_token_types(backbone: nn.Module, sep: int | None, *, longest: int, name: str) -> None:
    """Hook `backbone` to give rows token types by the id `sep`, and refuse rows over `longest` ids.

    `sep` is the id of [SEP], None for a tokenizer that gives no types; `name` is for errors.
    """

    def typed(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:  # noqa: ANN401  (a hook's)
        ids = given[0] if given else named["input_ids"]
        if ids.shape[1] > longest:
            message = (
                f"{name}: a row to score has {ids.shape[1]} ids, and the model has {longest} "
                f"positions (max_position_embeddings in config.json): it can read no longer "
                f"question and answer; audit it on shorter ones"
            )
            raise ModelError(message)
        if sep is None:
            return given, named
        ends = (ids == sep).long()
        return given, {**named, "token_type_ids": (ends.cumsum(1) - ends).clamp(max=1)}

    backbone.register_forward_pre_hook(typed, with_kwargs=True)
