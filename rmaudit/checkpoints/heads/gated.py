"""Read gated heads: rewards of several objectives, weighted by a gate that reads the prompt.

With x the pooled state, p the prompt's state that the gate reads, and a row vector r:

    r = W x, for QRM the mean over each objective's quantiles (W's rows are objective-major)
    r = r T, where the checkpoint has a transform
    g = softmax(gate(p) / temperature) · logit_scale
    reward = Σ g_i r_i

The gate reads where a fixed pattern of ids last starts in the prompt: the end of the user's turn.
The published code looks in the whole row, so it differs for an answer that holds all of these ids.
No other answer changes that state, so to one prompt the head is one vector w, and the reward is
w · x.

ArmoRM's gate is Linear → ReLU, then a last Linear; QRM's is Linear (no bias) → ReLU → BatchNorm,
between which Gemma's has Dropout, then a last Linear. Keys and formulas: the published classes,
as copied in RewardBench (`models/qrm.py`, QRM-Llama), by One-Judge-After-Another (`scoring/qrm.py`,
QRM-Gemma), and RLHFlow's (ArmoRM). The code of the revisions on the hub was not read: BatchNorm's
eps is torch's default, as in both copies, and QRM-Llama v2 is taken to differ from QRM-Llama by
five objectives and no transform.

ArmoRM: arXiv:2406.12845. QRM: arXiv:2409.10164.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rmaudit.checkpoints.heads.linear import Linear, Shapes, architecture, match
from rmaudit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

NAME, POOL, IGNORED = "gated", "last", frozenset[str]()
PATTERNS: dict[str, tuple[int, ...]] = {  # by model_type: end of turn, start of the answer's
    "llama": (128009, 128006, 78191, 128007, 271),
    "gemma2": (107, 108, 106, 2516, 108),
}
_CLASSES = {  # the backbone, and what its configuration means where it is silent
    "LlamaForRewardModelWithGating": ("llama", {"num_objectives": 19, "gating_temperature": 10}),
    "Gemma2ForQuantileSequenceClassification": (
        "gemma2",
        {"num_objectives": 5, "num_quantiles": 19, "gating_temperature": 1},
    ),
}
_GATE = {"gating_n_hidden": 3, "gating_hidden_dim": 1024}
_WEIGHT, _TRANSFORM = "regression_layer.weight", "reward_transform_matrix"
_LAYERS, _SCALE = "gating.layers.", "gating.logit_scale"
_NORM = ("weight", "bias", "running_mean", "running_var")
_HELPSTEER = 5  # objectives of the QRMs that have no transform
_EPS = 1e-5


def keys(config: Mapping[str, Any], shapes: Shapes) -> frozenset[str] | None:
    """Return the names of the head's tensors if the architecture has a gate, else None.

    They are all names but the backbone's.

    Raises:
        ModelError: they are not exactly those that its configuration needs, or the architecture
            is unknown.
    """
    found = {key: tuple(shape) for key, shape in shapes.items() if not key.startswith("model.")}
    named = architecture(config)
    if named not in _CLASSES:
        if found.keys() >= {_WEIGHT, _SCALE}:
            raise ModelError(
                f"a gated head ({_SCALE!r}) under the architecture {named!r}; rmaudit knows "
                f"the gates of {' and '.join(_CLASSES)}, and how others read a prompt is unknown"
            )
        return None
    settings = _settings(config)
    layouts = list(_layouts(settings))
    needed = min(layouts, key=lambda layout: len(layout.keys() ^ found.keys()))
    wanted = dict(sorted(needed.items()))
    return match(found, found, wanted, what=f"by config.json a gated head ({settings})")


def build(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Gated:
    """Return the gated head with these tensors as its weights, on the device they are on."""
    settings = _settings(config)
    objectives = _transformed(_mean_rows(tensors, settings), tensors, settings)
    gate = {
        key: tensor.detach().float() for key, tensor in tensors.items() if key.startswith("gating.")
    }
    return Gated(gate, objectives, settings.temperature, PATTERNS[settings.backbone])


def outputs(config: Mapping[str, Any], shapes: Shapes) -> int:  # noqa: ARG001  (as all families have it)
    """Return the number of objectives (outputs) that the gate combines."""
    return _settings(config).objectives


def each(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> Linear:
    """Return a head that maps states (..., hidden) to the rewards of all objectives.

    The rewards, shape (..., objectives), are those that the published class returns as `rewards`:
    QRM's are transformed, ArmoRM's are not.
    """
    settings = _settings(config)
    rows = _mean_rows(tensors, settings)
    if settings.quantiles is not None:
        rows = _transformed(rows, tensors, settings)
    return Linear(rows.float().T)


def _mean_rows(tensors: Mapping[str, Tensor], settings: _Settings) -> Tensor:
    """Return each objective's weights, averaged over quantiles, (objectives, hidden) in float64."""
    rows = tensors[_WEIGHT].detach().double()
    return rows.reshape(settings.objectives, -1, settings.hidden).mean(1)


def _transformed(rows: Tensor, tensors: Mapping[str, Tensor], settings: _Settings) -> Tensor:
    """Return the objectives' rows after a saved transform.

    Raises:
        ModelError: the head's class applies none, and the saved one is not the identity.
    """
    if _TRANSFORM not in tensors:
        return rows
    transform = tensors[_TRANSFORM].detach().double()
    if not _transforms(settings) and not transform.equal(transform.new_ones(len(rows)).diag()):
        raise ModelError(
            f"its {_TRANSFORM!r} is not the identity, and the published class of a head with "
            f"{settings.objectives} objectives has no transform; whether it is applied is unknown: "
            f"compare with its model card"
        )
    return transform.T @ rows


@dataclass(frozen=True, slots=True, eq=False)
class Gated:
    """A head that combines several objectives by a gate that reads the prompt (ArmoRM, QRM).

    `gate` has the gate's tensors in float32; `objectives`, shape (objectives, hidden) in float64,
    is transformed already.
    """

    reads_prefix: ClassVar[bool] = True
    gate: Mapping[str, Tensor]
    objectives: Tensor
    temperature: float
    pattern: tuple[int, ...]

    def after(self, prefix: tuple[int, ...], states: Tensor) -> Callable[[Tensor], Tensor]:
        """Return a function that maps states (..., hidden) to rewards (...) after this prompt.

        Raises:
            ModelError: the prompt has no place that the gate could read.
        """
        at = _last_start(self.pattern, prefix)
        if at is None:
            raise ModelError(
                f"its gate reads a prompt where the ids {list(self.pattern)} start, the end of the "
                f"user's turn, and the {len(prefix)} ids before the answer, which end in "
                f"{list(prefix[-len(self.pattern) :])}, do not have them: use the checkpoint's own "
                f"tokenizer and chat template, without a `template` in models.yaml"
            )
        weights = self.weights(states[at])
        vector = (weights.double() @ self.objectives).float().to(states.device)
        return lambda pooled: pooled @ vector.to(pooled.device)

    def weights(self, state: Tensor) -> Tensor:
        """Return the gate's weight of each objective, (objectives,), for a prompt state (hidden,).

        It is the state of the prompt that the gate reads.
        """
        from torch.nn import functional

        x = state.float().to(self.objectives.device)[None]
        places = sorted({int(key.split(".")[2]) for key in self.gate if key.startswith(_LAYERS)})
        for place in places:
            layer = f"{_LAYERS}{place}."
            weight, bias = self.gate[layer + "weight"], self.gate.get(layer + "bias")
            if (mean := self.gate.get(layer + "running_mean")) is not None:
                variance = self.gate[layer + "running_var"]
                x = functional.batch_norm(x, mean, variance, weight, bias, eps=_EPS)
                continue
            x = functional.linear(x, weight, bias)
            x = x if place == places[-1] else x.relu()
        return (x[0] / self.temperature).softmax(0) * self.gate[_SCALE]


class _Settings(NamedTuple):
    """A gated head's settings, as config.json gives them; `quantiles` is None for ArmoRM."""

    architecture: str
    backbone: str
    hidden: int
    objectives: int
    quantiles: int | None
    depth: int
    width: int
    temperature: float

    def __str__(self) -> str:
        quantiles = f"num_quantiles {self.quantiles}" if self.quantiles else "no num_quantiles"
        return (
            f"{self.architecture}, hidden_size {self.hidden}, num_objectives {self.objectives}, "
            f"{quantiles}, gating_n_hidden {self.depth} and gating_hidden_dim {self.width}"
        )


def _settings(config: Mapping[str, Any]) -> _Settings:
    named = architecture(config)
    backbone, defaults = _CLASSES[named]
    if config.get("model_type") != backbone:
        kind = config.get("model_type")
        raise ModelError(f"model_type {kind!r} in config.json; {named} has {backbone!r}")
    given = {**_GATE, **defaults, **{k: v for k, v in config.items() if v is not None}}

    def whole(key: str) -> int:
        value = given.get(key)
        if type(value) is not int or value < 1:
            message = f"{key} is {value!r} in config.json; a gated head needs a whole number from 1"
            raise ModelError(message)
        return value

    temperature = given["gating_temperature"]
    number = type(temperature) in (int, float)
    if not number or not math.isfinite(temperature) or temperature <= 0:
        raise ModelError(
            f"gating_temperature is {temperature!r} in config.json; a gated head needs a number "
            f"above 0"
        )
    return _Settings(
        named,
        backbone,
        whole("hidden_size"),
        whole("num_objectives"),
        whole("num_quantiles") if "num_quantiles" in given else None,
        whole("gating_n_hidden"),
        whole("gating_hidden_dim"),
        float(temperature),
    )


def _layouts(settings: _Settings) -> Iterator[dict[str, tuple[int, ...]]]:
    """Yield each set of tensors, as shapes by name, that a head with these settings may have."""
    objectives, quantiles = settings.objectives, settings.quantiles
    head = {_WEIGHT: (objectives * (quantiles or 1), settings.hidden), _SCALE: (1,)}
    transform = {_TRANSFORM: (objectives, objectives)}
    if _transforms(settings):
        head |= transform
    if quantiles is None:
        yield head | _gate(settings, step=1)
        return
    for step in (3, 4):  # without and with Dropout, which has no tensors but a place
        yield head | _gate(settings, step=step)
        if settings.backbone == "llama":  # some save one that changes nothing
            yield head | transform | _gate(settings, step=step)


def _gate(settings: _Settings, *, step: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a gate, by name, whose linear layers stand `step` places apart.

    If that is more than one, each but the last has a norm two places behind it in place of a bias.
    """
    depth, width, objectives = settings.depth, settings.width, settings.objectives
    found: dict[str, tuple[int, ...]] = {}
    for at in range(depth):
        found[f"{step * at}.weight"] = (width, width if at else settings.hidden)
        if step == 1:
            found[f"{at}.bias"] = (width,)
            continue
        norm = f"{step * at + 2}."
        found |= {f"{norm}num_batches_tracked": (), **{norm + name: (width,) for name in _NORM}}
    last = depth if step == 1 else step * (depth - 1) + 3
    found |= {f"{last}.weight": (objectives, width), f"{last}.bias": (objectives,)}
    return {_LAYERS + name: shape for name, shape in found.items()}


def _transforms(settings: _Settings) -> bool:
    """Return whether the head's published class applies a transform matrix to its objectives."""
    if settings.backbone != "llama":
        return False
    return settings.quantiles is None or settings.objectives != _HELPSTEER


def _last_start(pattern: tuple[int, ...], ids: tuple[int, ...]) -> int | None:
    """Return the index in `ids` at which `pattern` last starts; None if it does not occur."""
    starts = reversed(range(len(ids) - len(pattern) + 1))
    return next((at for at in starts if ids[at : at + len(pattern)] == pattern), None)
