"""Token types of BERT: 0 up to the first [SEP] of a row, 1 after it, as its tokenizer gives them.

Rows are ids alone everywhere else in rmaudit, and a pair's ids tell where its second text begins.
"""

from __future__ import annotations

from typing import Any

from torch import nn


def give(backbone: nn.Module, end: int) -> None:
    """Have a backbone run each row with its token types; `end` is the id of [SEP]."""

    def typed(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:  # noqa: ANN401  (a hook's)
        ids = given[0] if given else named["input_ids"]
        ends = (ids == end).long()
        return given, {**named, "token_type_ids": (ends.cumsum(1) - ends).clamp(max=1)}

    backbone.register_forward_pre_hook(typed, with_kwargs=True)
