"""Run many rows of one prompt through a backbone in three ways, with the same hidden states.

Each is made with a backbone and a prefix and has `states(rows, at)`: the hidden states, shape
(rows, hidden), of prefix + row at the place `at`, counted from the prefix's start. Where `causal`,
a row ends at its place `at`: what comes later could not change it. All rows of a call have one
length, unless it `pads`: then ids that no state is read from follow the shorter rows.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from rmaudit.errors import ModelError
from rmaudit.scoring import ATTENTION, ScoringPath
from rmaudit.scoring.shared_prefix_attention import Prefix

Ids = tuple[int, ...]


class PreparedPrefix(ABC):
    """A prompt that was run once (cached), so that rows of ids can be run after it.

    Where it is `causal`, a row ends at its place `at`: what comes later could not change it. Where
    it `pads`, rows of one call may differ in length. `copied` is how many ids of the prompt each
    row has in a batch beside its own.
    """

    causal: ClassVar[bool] = True
    pads: ClassVar[bool] = False
    copied: int = 0
    _own: Tensor

    @abstractmethod
    def states(self, rows: Sequence[Ids], at: Sequence[int]) -> Tensor:
        """Return each row's hidden state at its index in `at`, shape (rows, hidden).

        Indices count from the prefix's start.
        """

    def prefix_states(self) -> Tensor:
        """Return the prefix's own hidden states, shape (prefix length, hidden)."""
        return self._own

    def ids_of(self, row: Ids) -> int:
        """Return how many ids a row adds to a batch: its own, and the prompt's if copied for it."""
        return self.copied + len(row)


def prepare(path: ScoringPath, backbone: nn.Module, prefix: Ids) -> PreparedPrefix:
    """Return a prompt prefix that is ready for rows to run after it, in the way that `path` names.

    The prefix is run once where the path shares it.

    Raises:
        ModelError: the path does not suit the backbone.
    """
    if path is ScoringPath.SHARED_PREFIX:
        return SharedPrefix(backbone, prefix)
    return (ExpandedCache if path is ScoringPath.EXPANDED_CACHE else FullRows)(backbone, prefix)


class SharedPrefix(PreparedPrefix):
    """A prompt prefix whose keys and values are computed once, for all rows that follow.

    See `rmaudit.scoring.shared_prefix_attention`.
    """

    pads = True

    def __init__(self, backbone: nn.Module, prefix: Ids) -> None:
        """Run the prompt prefix once, and store each layer's keys and values."""
        self._backbone, self._prefix = backbone, Prefix(recording=True)
        ids = torch.tensor([prefix], device=device_of(backbone))
        output = backbone(input_ids=ids, use_cache=False, shared_prefix=self._prefix)
        self._own: Tensor = output.last_hidden_state[0]
        layers = backbone.config.num_hidden_layers  # type: ignore[union-attr]
        if len(self._prefix.keys) != layers:
            message = (
                f"{type(backbone).__name__}: the attention {ATTENTION!r} was reached in "
                f"{len(self._prefix.keys)} of {layers} layers; this backbone cannot share a prefix"
            )
            raise ModelError(message)
        self._prefix.recording, self._prefix.length = False, len(prefix)

    def states(self, rows: Sequence[Ids], at: Sequence[int]) -> Tensor:
        """Return each row's hidden state (rows, hidden) at its last id; of empty rows, at `at`.

        The final norm, where the backbone has one, runs on the last ids only.
        """
        longest = max(map(len, rows))
        if not longest:
            return self._own[list(at)]
        ids = ids_on_device([row + row[-1:] * (longest - len(row)) for row in rows], self._backbone)
        ends: Tensor | None = None
        if len(rows[0]) < longest:
            ends = ids_on_device([len(row) - 1 for row in rows], self._backbone)
        positions = torch.arange(longest, device=ids.device) + self._prefix.length
        norm = getattr(self._backbone, "norm", None)
        only_last = (
            None
            if norm is None
            else norm.register_forward_pre_hook(
                lambda _, inputs: (_at_ends(inputs[0], ends)[:, None], *inputs[1:])
            )
        )
        try:
            output = self._backbone(
                input_ids=ids,
                position_ids=positions.expand(len(rows), -1),
                use_cache=False,
                shared_prefix=self._prefix,
            )
        finally:
            if only_last is not None:
                only_last.remove()
        return _at_ends(output.last_hidden_state, ends if norm is None else None)


def _at_ends(states: Tensor, ends: Tensor | None) -> Tensor:
    """Return each row's state at its index in `ends`, (n, hidden); None is the last for all."""
    if ends is None:
        return states[:, -1]
    return states[torch.arange(len(ends), device=ends.device), ends.to(states.device)]


class ExpandedCache(PreparedPrefix):
    """A prompt prefix in transformers' own cache, which is copied for each batch of rows.

    For backbones whose attention is not ours.
    """

    def __init__(self, backbone: nn.Module, prefix: Ids) -> None:
        """Run the prompt prefix once, and store transformers' cache of it."""
        from transformers import DynamicCache

        ids = torch.tensor([prefix], device=device_of(backbone))
        output = backbone(input_ids=ids, use_cache=True)
        self._backbone, self.copied = backbone, len(prefix)
        self._own: Tensor = output.last_hidden_state[0]
        self._cache: Any = getattr(output, "past_key_values", None)
        if type(self._cache) is not DynamicCache:  # others keep state where no copy reaches it
            message = (
                f"{type(backbone).__name__}: its cache is a {type(self._cache).__name__}, not a "
                f"DynamicCache; the prefix's cache cannot be copied for many rows"
            )
            raise ModelError(message)

    def states(self, rows: Sequence[Ids], at: Sequence[int]) -> Tensor:
        """Return each row's hidden state (rows, hidden) at its last id; of empty rows, at `at`."""
        if not rows[0]:
            return self._own[list(at)]
        ids = ids_on_device(rows, self._backbone)
        cache = copy.deepcopy(self._cache)  # the backbone writes into it
        cache.reorder_cache(torch.zeros(len(rows), dtype=torch.long, device=ids.device))
        options = {}
        if "position_ids" in inspect.signature(self._backbone.forward).parameters:
            positions = torch.arange(ids.shape[1], device=ids.device) + self.copied
            options["position_ids"] = positions.expand(len(rows), -1)
        output = self._backbone(input_ids=ids, past_key_values=cache, use_cache=True, **options)
        states: Tensor = output.last_hidden_state[:, -1]
        return states


class FullRows(PreparedPrefix):
    """A prompt prefix that is run again with every row: exact for all backbones, but slow.

    Two-way backbones are among them.
    """

    causal = False

    def __init__(self, backbone: nn.Module, prefix: Ids) -> None:
        """Take the backbone and the prefix; nothing runs yet."""
        self._backbone, self._prefix, self.copied = backbone, prefix, len(prefix)

    def states(self, rows: Sequence[Ids], at: Sequence[int]) -> Tensor:
        """Return each row's hidden state at its index in `at`, shape (rows, hidden).

        Rows that ran before, longer ones too, change nothing.
        """
        reset_rotary_lengths(self._backbone)
        ids = ids_on_device([(*self._prefix, *row) for row in rows], self._backbone)
        states: Tensor = self._backbone(input_ids=ids, use_cache=False).last_hidden_state
        return states[torch.arange(len(rows)), list(at)]

    def prefix_states(self) -> Tensor:
        """Run the prefix alone and return its hidden states, shape (prefix length, hidden)."""
        reset_rotary_lengths(self._backbone)
        ids = torch.tensor([self._prefix], device=device_of(self._backbone))
        states: Tensor = self._backbone(input_ids=ids, use_cache=False).last_hidden_state
        return states[0]


def reset_rotary_lengths(backbone: nn.Module) -> None:
    """Make dynamic rotary embeddings forget the longest row so far, to suit the next row."""
    for module in backbone.modules():
        if "dynamic" in str(getattr(module, "rope_type", "")):
            for name in [name for name in vars(module) if name.endswith("max_seq_len_cached")]:
                setattr(module, name, 0)


def ids_on_device(rows: Sequence[Ids] | Sequence[int], backbone: nn.Module) -> Tensor:
    """Return rows of one length, or numbers, as a tensor on the device of the first layer.

    A GPU gets them from pinned memory. From any other the host would wait until the GPU has done
    all that it was given before, and then the GPU for the host.
    """
    device = device_of(backbone)
    if device.type != "cuda":
        return torch.tensor(rows, device=device)
    return torch.tensor(rows).pin_memory().to(device, non_blocking=True)


def device_of(backbone: nn.Module) -> torch.device:
    """Return the device of the input embedding, where ids enter the backbone.

    If accelerate offloads the embedding, its hook knows where it runs.
    """
    embedding: nn.Module = backbone.get_input_embeddings()  # type: ignore[operator]
    device = next(embedding.parameters()).device
    hook: Any = getattr(embedding, "_hf_hook", None)
    if device.type == "meta" and hook is not None:
        return torch.device(hook.execution_device)
    return device


def add_token_types(backbone: nn.Module, sep: int | None, *, longest: int, name: str) -> None:
    """Hook `backbone` to give rows token types by the id `sep`, and refuse rows over `longest` ids.

    `sep` is the id of [SEP], None for a tokenizer that gives no types; `name` is for errors. Types
    are 0 up to the first [SEP] of a row and 1 after it: rows are ids alone everywhere else, and a
    pair's ids tell where its second text begins.
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
