"""A reward head in a file of its own beside the weights: `value_head.safetensors`.

LLaMA-Factory and ms-swift (up to 3.x) train a causal language model with a value head of one layer
and save the two apart, in a checkpoint's folder or in an adapter's. The head is the one that GRM
saves among its weights (`heads/value.py`); the language model's own output layer is not used.
"""

from __future__ import annotations

from collections.abc import Iterable

from rmaudit.checkpoints import weights_headers
from rmaudit.checkpoints.checkpoint_source import CheckpointFiles
from rmaudit.checkpoints.heads.value import GRM
from rmaudit.checkpoints.weights_headers import Headers
from rmaudit.errors import ModelError

_TENSORS = {f"{GRM}.weight", f"{GRM}.bias"}
_OTHER_HEADS = ("score.", "v_head.")  # how heads among the weights begin
_CONVERT = (
    "import torch, safetensors.torch as s; "
    "s.save_file(torch.load('value_head.bin', weights_only=True), 'value_head.safetensors')"
)


def headers(found: CheckpointFiles, tensor_names: Iterable[str]) -> Headers:
    """Return the headers in value_head.safetensors, or {}; raise if `tensor_names` have a head too.

    `tensor_names` are those of the weights, an adapter's whole tensors among them.

    Raises:
        ModelError: the head is a pickle, has other tensors than a value head of one layer, or
            there is another head among the weights.
    """
    names = found.names()
    inside = sorted(key for key in tensor_names if key.startswith(_OTHER_HEADS))
    if weights_headers.HEAD not in names:
        if weights_headers.HEAD_PICKLE in names and not inside:
            message = (
                f"{found.model}: its head is in {weights_headers.HEAD_PICKLE} in {found.where}, a "
                "pickle, which can run code. Where you trust it, run in that folder: "
                f'python -c "{_CONVERT}"'
            )
            raise ModelError(message)
        return {}
    if inside:
        message = (
            f"{found.model}: {weights_headers.HEAD} lies in {found.where}, and {inside[0]!r} is "
            f"among the weights: which of the two heads is meant is unknown. To use "
            f"{inside[0]!r}, move the file elsewhere; to use the file, save the model again "
            f"without its own head"
        )
        raise ModelError(message)
    head = found.headers(weights_headers.HEAD)
    if set(head) != _TENSORS:
        there = ", ".join(sorted(head)[:4]) or "nothing"
        message = (
            f"{found.model}: {weights_headers.HEAD} in {found.where} has {there}; expected "
            f"{' and '.join(sorted(_TENSORS))}, as LLaMA-Factory and ms-swift save them. Copy the "
            f"file again from where it was trained"
        )
        raise ModelError(message)
    return head
