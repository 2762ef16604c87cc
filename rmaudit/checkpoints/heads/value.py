"""Read value heads at the row's last id: GRM's of one or more layers, OpenRLHF's of one.

GRM (Yang et al. 2024, arXiv:2406.10216; its ValueHead): `v_head.summary.{0,2,…}` are linear layers
with ReLU between them, or `v_head.summary` is a single one; all have a bias. The `vhead_*` entries
of config.json are not read: models with a plain head carry them too.

OpenRLHF (openrlhf/models/model.py): one layer without a bias, named by `value_head_prefix` in
config.json; older ones, without that entry, name it `value_head` or `head`. The reward is
(value - mean) / std if `normalize_reward` in config.json is true, else the value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmaudit.checkpoints import weights_headers
from rmaudit.checkpoints.checkpoint_source import CheckpointFiles
from rmaudit.checkpoints.heads import mlp
from rmaudit.checkpoints.heads.linear import SameForEveryPrompt, Shapes, match
from rmaudit.checkpoints.weights_headers import Headers
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

    from rmaudit.scoring import Head

NAME, POOL = "value", "last"
IGNORED = frozenset({"lm_head.weight", "lm_head.bias", "embed_out.weight"})
GRM = "v_head.summary"
OLDER = ("value_head", "head")
BUFFERS = ("mean", "std")
_BESIDE = {f"{GRM}.weight", f"{GRM}.bias"}  # of value_head.safetensors
_OTHER_HEADS = ("score.", "v_head.")  # how heads among the weights begin
_CONVERT = (
    "import torch, safetensors.torch as s; "
    "s.save_file(torch.load('value_head.bin', weights_only=True), 'value_head.safetensors')"
)


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the names of a value head's tensors, GRM's or OpenRLHF's; None if there is neither.

    OpenRLHF's come with the buffers `mean` and `std` if they were saved.

    Raises:
        ModelError: one is missing, unexpected or of a wrong shape, or what config.json says of
            OpenRLHF's head is of a wrong kind.
    """
    if any(key.startswith(f"{GRM}.") for key in shapes):
        what = "GRM's value head"
        return mlp.check_layers(config, shapes, "v_head.", _layers(shapes), what=what)
    name = _openrlhf_layer(config, shapes)
    if name is None:
        return None
    what = "OpenRLHF's value head"
    head = mlp.check_layers(config, shapes, f"{name}.", [name], what=what, biases=False)
    _mean_and_std(config, None)
    if not {*BUFFERS} & shapes.keys():
        return head
    # OpenRLHF's releases of 2023 saved both.
    return head | match(shapes, (), dict.fromkeys(BUFFERS, (1,)), what=f"{what} with its numbers")


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Head:
    """Return a value head, GRM's or OpenRLHF's, with these tensors as its weights.

    They are those that `keys` named.

    Raises:
        ModelError: rewards are to be normalised by an impossible mean or std.
    """
    if any(key.startswith(f"{GRM}.") for key in tensors):
        return mlp.stack(tensors, _layers(tensors))
    (name,) = [key.removesuffix(".weight") for key in tensors if key not in BUFFERS]
    mean, std = _mean_and_std(config, tensors)
    return Normalised(mlp.stack(tensors, [name]), mean, std)


@dataclass(frozen=True, slots=True, eq=False)
class Normalised(SameForEveryPrompt):
    """A value head whose reward is (value - mean) / std, in float32."""

    value: mlp.Stack
    mean: float
    std: float

    def __call__(self, states: Tensor) -> Tensor:
        """Return the rewards, shape (...), of states (..., hidden), in float32."""
        return (self.value(states) - self.mean) / self.std


def _layers(tensors: Mapping[str, Any]) -> list[str]:
    """Return the names of the linear layers in GRM's value head, such as `v_head.summary.0`.

    They have even numbers, or the single one has none.
    """
    found = (re.match(rf"{re.escape(GRM)}\.([0-9]+)\.", key) for key in tensors)
    numbers = {int(match[1]) for match in found if match}
    if not numbers:
        return [GRM]
    count = max(2, len({number for number in numbers if number % 2 == 0}))
    return [f"{GRM}.{2 * place}" for place in range(count)]


def _openrlhf_layer(config: Mapping[str, Any], shapes: Shapes) -> str | None:
    """Return the name of the layer that is OpenRLHF's value head; None if there is none.

    Without `value_head_prefix` in config.json, `score.weight` is transformers' plain head.
    """
    name = config.get("value_head_prefix")
    if name is not None and not (isinstance(name, str) and name):
        raise ModelError(
            f"config.json has value_head_prefix {name!r}; it should be the name of OpenRLHF's "
            f"value head, such as 'score': correct it, or remove it if another head is meant"
        )
    names = [n for n in ([name] if name else OLDER) if f"{n}.weight" in shapes]
    if len(names) > 1:
        raise ModelError(
            f"both {names[0] + '.weight'!r} and {names[1] + '.weight'!r} are among its tensors, "
            f"and either may be OpenRLHF's value head; say which in config.json: "
            f'"value_head_prefix": "{names[0]}"'
        )
    return names[0] if names else None


def _mean_and_std(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor] | None
) -> tuple[float, float]:
    """Return the mean and sd that normalise rewards (config.json's, else saved); (0, 1) if none do.

    OpenRLHF writes what it measured into config.json; its buffers keep what they were made with.
    """
    wanted = config.get("normalize_reward")
    if not isinstance(wanted, bool | None):
        raise ModelError(
            f"config.json has normalize_reward {wanted!r}; it should be true (rewards are "
            f"(value - mean) / std) or false (they are the value): correct it"
        )
    if not wanted:
        return 0.0, 1.0
    if any(key in config for key in BUFFERS):
        given = [config.get(key) for key in BUFFERS]
    elif tensors and "mean" in tensors:
        given = [tensors[key].float().item() for key in BUFFERS]
    else:
        return 0.0, 1.0
    mean, std = map(_as_number, given)
    if not (math.isfinite(mean) and math.isfinite(std) and std > 0):
        raise ModelError(
            f"rewards are to be normalised (normalize_reward in config.json is true) by mean "
            f"{given[0]!r} and std {given[1]!r}; they should be finite numbers, std above 0: "
            f"correct both in config.json, or set normalize_reward to false"
        )
    return mean, std


def _as_number(given: object) -> float:
    """Return `given` as a float; NaN if it is no number."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return math.nan
    return float(given)


def separate_headers(found: CheckpointFiles, tensor_names: Iterable[str]) -> Headers:
    """Return the headers in value_head.safetensors, or {}; raise if `tensor_names` have a head too.

    LLaMA-Factory and ms-swift (up to 3.x) train a causal language model with a value head of one
    layer, GRM's, and save it in that file of a checkpoint's or an adapter's
    folder. `tensor_names` are those of the weights, an adapter's whole tensors among them.

    Raises:
        ModelError: the head is a pickle, has other tensors than a value head of one layer, or
            there is another head among the weights.
    """
    names = found.names()
    inside = sorted(key for key in tensor_names if key.startswith(_OTHER_HEADS))
    if weights_headers.HEAD not in names:
        if weights_headers.HEAD_PICKLE in names and not inside:
            raise ModelError(
                f"{found.model}: its head is in {weights_headers.HEAD_PICKLE} in {found.where}, a "
                "pickle, which can run code. Where you trust it, run in that folder: "
                f'python -c "{_CONVERT}"'
            )
        return {}
    if inside:
        raise ModelError(
            f"{found.model}: {weights_headers.HEAD} lies in {found.where}, and {inside[0]!r} is "
            f"among the weights: which of the two heads is meant is unknown. To use "
            f"{inside[0]!r}, move the file elsewhere; to use the file, save the model again "
            f"without its own head"
        )
    head = found.headers(weights_headers.HEAD)
    if set(head) != _BESIDE:
        there = ", ".join(sorted(head)[:4]) or "nothing"
        raise ModelError(
            f"{found.model}: {weights_headers.HEAD} in {found.where} has {there}; expected "
            f"{' and '.join(sorted(_BESIDE))}, as LLaMA-Factory and ms-swift save them. Copy the "
            f"file again from where it was trained"
        )
    return head
