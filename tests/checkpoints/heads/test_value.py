"""Value heads are torch's own layers, normalised if they say so; anything less is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from rmaudit.checkpoints.heads import value
from rmaudit.errors import ModelError
from tests.checkpoints.heads.test_mlp import (
    HIDDEN,
    TRUNK,
    WIDTH,
    damaged,
    gives_no_head,
    refusal,
    rewards,
    states,
    tensors_of,
)

CONFIG: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "hidden_size": HIDDEN}
ONE = {"v_head.summary.weight": (1, HIDDEN), "v_head.summary.bias": (1,)}
OPENRLHF = {"value_head.weight": (1, HIDDEN)}
BUFFERS = {"mean": (1,), "std": (1,)}


def grm(depth: int) -> dict[str, tuple[int, ...]]:
    """The shapes of GRM's head with so many hidden layers (vhead_num_layers)."""
    widths = [HIDDEN, *[WIDTH] * depth, 1]
    return {
        f"v_head.summary.{2 * place}.{part}": shape
        for place, (inputs, outputs) in enumerate(pairwise(widths))
        for part, shape in (("weight", (outputs, inputs)), ("bias", (outputs,)))
    }


def named(name: str, **config: Any) -> dict[str, Any]:
    """OpenRLHF's config.json."""
    return {**CONFIG, "value_head_prefix": name, **config}


def linear(weight: Tensor) -> Tensor:
    """The values of `states()` before they are normalised."""
    return (states() * weight).sum(dim=1)


# GRM


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_grm_is_torchs_own(depth: int) -> None:
    """(Linear, ReLU) for each hidden layer, then Linear, with the tensors' published names."""
    tensors = tensors_of(grm(depth))
    widths = [HIDDEN, *[WIDTH] * depth]
    hidden = [
        part
        for inputs, outputs in pairwise(widths)
        for part in (nn.Linear(inputs, outputs), nn.ReLU())
    ]
    summary = nn.Sequential(*hidden, nn.Linear(WIDTH, 1))
    summary.load_state_dict({k.removeprefix("v_head.summary."): t for k, t in tensors.items()})
    expected = summary(states()).detach()[:, 0]

    reward = rewards(value, tensors, CONFIG)

    torch.testing.assert_close(reward, expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))


def test_grm_of_one_layer() -> None:
    """Reward = w · h + b."""
    tensors = tensors_of(ONE)
    expected = linear(tensors["v_head.summary.weight"]) + tensors["v_head.summary.bias"]

    reward = rewards(value, tensors, CONFIG)

    torch.testing.assert_close(reward, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shapes", [grm(1), grm(2), ONE], ids=["1", "2", "linear"])
def test_what_config_says_of_grm_is_not_read(shapes: dict[str, tuple[int, ...]]) -> None:
    """Stale vhead_* entries neither change a value head nor make one."""
    stale = {"vhead_layer_type": "mlp", "vhead_num_layers": 4, "vhead_num_neurons": 1024}

    assert value.keys({**CONFIG, **stale}, TRUNK | shapes) == shapes.keys()
    assert value.keys({**CONFIG, **stale}, TRUNK | {"score.weight": (1, HIDDEN)}) is None


def test_no_language_head_is_needed() -> None:
    """A *ForCausalLM checkpoint may have `lm_head.weight`, which is no part of the head."""
    assert value.keys(CONFIG, TRUNK | grm(1) | {"lm_head.weight": (11, HIDDEN)}) == grm(1).keys()
    assert value.POOL == "last"
    assert [*value.IGNORED] == ["lm_head.weight"]


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.data(), st.sampled_from([grm(1), grm(2), grm(3), ONE]))
def test_a_damaged_grm_head_is_none(data: st.DataObject, shapes: dict[str, Any]) -> None:
    """Any tensor gone, under another name or of another shape: never a head."""
    assert gives_no_head(value, CONFIG, data.draw(damaged(shapes)))


def test_grm_with_a_missing_layer() -> None:
    """The last layer, both tensors, in a shard that was not copied."""
    shapes = {key: shape for key, shape in grm(1).items() if ".2." not in key}

    assert refusal(value, CONFIG, shapes) == (
        "no 'v_head.summary.2.weight' among its tensors; GRM's value head has "
        "v_head.summary.0.weight, v_head.summary.0.bias, v_head.summary.2.weight, "
        "v_head.summary.2.bias. Its head would be incomplete: copy the checkpoint again, with all "
        "its *.safetensors"
    )


@pytest.mark.parametrize("key", ["v_head.summary.1.weight", "v_head.scale", "v_head.summary.00.x"])
def test_grm_with_another_tensor(key: str) -> None:
    """What the head does with it is not known."""
    assert refusal(value, CONFIG, {**ONE, **grm(1), key: (1,)}).startswith(
        f"unexpected '{min(key, 'v_head.summary.bias')}' among its tensors; GRM's value head has "
    )
    assert refusal(value, CONFIG, {**grm(1), key: (1,)}) == (
        f"unexpected {key!r} among its tensors; GRM's value head has v_head.summary.0.weight, "
        f"v_head.summary.0.bias, v_head.summary.2.weight, v_head.summary.2.bias. It is another "
        f"head than rmaudit knows, or a damaged one: compare with its model card"
    )


def test_grm_of_another_width() -> None:
    """Layers must fit onto each other."""
    assert refusal(value, CONFIG, grm(1) | {"v_head.summary.2.weight": (1, HIDDEN)}) == (
        "'v_head.summary.2.weight' has shape (1, 5), expected (1, 7) in GRM's value head on a "
        "hidden size of 5; take config.json and *.safetensors from one and the same checkpoint"
    )


# OpenRLHF


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (named("score"), "score"),
        (named("value_head"), "value_head"),
        (named("reward.out"), "reward.out"),
        (CONFIG, "value_head"),
        (CONFIG, "head"),
    ],
)
def test_openrlhf_is_the_scalar_product(config: dict[str, Any], name: str) -> None:
    """Reward = w · h, under the name in config.json or one of the older ones."""
    tensors = tensors_of({f"{name}.weight": (1, HIDDEN)})

    torch.testing.assert_close(
        rewards(value, tensors, config), linear(tensors[f"{name}.weight"]), rtol=1e-5, atol=1e-5
    )


def test_a_plain_score_is_openrlhfs_only_if_config_says_so() -> None:
    """`score.weight` alone is transformers' own head, which pools elsewhere."""
    plain = TRUNK | {"score.weight": (1, HIDDEN)}

    assert value.keys(CONFIG, plain) is None
    assert value.keys(named("value_head"), plain) is None
    assert value.keys(named("score"), plain) == {"score.weight"}


def test_openrlhf_normalises_if_it_says_so() -> None:
    """(value - mean) / std with config.json's numbers; without normalize_reward, the value."""
    tensors = tensors_of(OPENRLHF)
    plain = linear(tensors["value_head.weight"])
    numbers = {"mean": -1.5, "std": 4}

    for config, expected in [
        (named("value_head", **numbers, normalize_reward=True), (plain + 1.5) / 4),
        (named("value_head", **numbers, normalize_reward=False), plain),
        (named("value_head", **numbers), plain),
        (named("value_head", normalize_reward=True), plain),  # as OpenRLHF, which starts from 0, 1
    ]:
        reward = rewards(value, tensors, config)
        torch.testing.assert_close(reward, expected, rtol=1e-5, atol=1e-5)


def test_openrlhfs_buffers() -> None:
    """Saved ones are the head's; they count only where config.json has no mean and std."""
    tensors = tensors_of(OPENRLHF) | {"mean": torch.tensor([2.0]), "std": torch.tensor([0.5])}
    plain = linear(tensors["value_head.weight"])

    assert value.keys(CONFIG, TRUNK | OPENRLHF | BUFFERS) == {"value_head.weight", "mean", "std"}
    for config, expected in [
        (named("value_head", normalize_reward=True), (plain - 2) / 0.5),
        (named("value_head", normalize_reward=True, mean=-1.5, std=4.0), (plain + 1.5) / 4),
        (named("value_head"), plain),
    ]:
        reward = rewards(value, tensors, config)
        torch.testing.assert_close(reward, expected, rtol=1e-5, atol=1e-5)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.data(), st.sampled_from([OPENRLHF, OPENRLHF | BUFFERS]))
def test_a_damaged_openrlhf_head_is_none(data: st.DataObject, shapes: dict[str, Any]) -> None:
    """Any tensor gone, under another name or of another shape: never a head."""
    assert gives_no_head(value, named("value_head"), data.draw(damaged(shapes)))


def test_openrlhf_with_a_bias() -> None:
    """OpenRLHF's layer has none."""
    assert refusal(value, named("score"), {"score.weight": (1, HIDDEN), "score.bias": (1,)}) == (
        "unexpected 'score.bias' among its tensors; OpenRLHF's value head has score.weight. It is "
        "another head than rmaudit knows, or a damaged one: compare with its model card"
    )


def test_openrlhf_of_two_outputs() -> None:
    """One reward a row."""
    assert refusal(value, named("score"), {"score.weight": (2, HIDDEN)}) == (
        "'score.weight' has shape (2, 5), expected (1, 5) in OpenRLHF's value head on a hidden "
        "size of 5; take config.json and *.safetensors from one and the same checkpoint"
    )


def test_two_value_heads() -> None:
    """Without a name in config.json either may be meant."""
    shapes = {"head.weight": (1, HIDDEN), **OPENRLHF}

    assert refusal(value, CONFIG, shapes) == (
        "both 'value_head.weight' and 'head.weight' are among its tensors, and either may be "
        'OpenRLHF\'s value head; say which in config.json: "value_head_prefix": "value_head"'
    )


@pytest.mark.parametrize("name", ["", 3, True, ["score"]])
def test_a_prefix_that_is_no_name(name: object) -> None:
    """It is not passed over, for then a plain head would be taken."""
    assert refusal(value, {**CONFIG, "value_head_prefix": name}, {"score.weight": (1, HIDDEN)}) == (
        f"config.json has value_head_prefix {name!r}; it should be the name of OpenRLHF's value "
        f"head, such as 'score': correct it, or remove it if another head is meant"
    )


@pytest.mark.parametrize("wanted", ["false", 1, 0.0])
def test_normalize_reward_that_is_neither(wanted: object) -> None:
    """The text "false" would count as true."""
    assert refusal(value, named("value_head", normalize_reward=wanted), OPENRLHF) == (
        f"config.json has normalize_reward {wanted!r}; it should be true (rewards are "
        f"(value - mean) / std) or false (they are the value): correct it"
    )


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ({"mean": 1.0}, "mean 1.0 and std None"),
        ({"std": 1.0}, "mean None and std 1.0"),
        ({"mean": 1.0, "std": 0}, "mean 1.0 and std 0"),
        ({"mean": 1.0, "std": -2.0}, "mean 1.0 and std -2.0"),
        ({"mean": float("nan"), "std": 1.0}, "mean nan and std 1.0"),
        ({"mean": 1.0, "std": float("inf")}, "mean 1.0 and std inf"),
        ({"mean": "1", "std": 1.0}, "mean '1' and std 1.0"),
        ({"mean": 1.0, "std": True}, "mean 1.0 and std True"),
    ],
)
def test_numbers_that_cannot_normalise(numbers: dict[str, Any], shown: str) -> None:
    """Half a pair, zero, NaN and other kinds are refused, unless nothing is to be normalised."""
    config = named("value_head", normalize_reward=True, **numbers)

    assert refusal(value, config, OPENRLHF) == (
        f"rewards are to be normalised (normalize_reward in config.json is true) by {shown}; they "
        f"should be finite numbers, std above 0: correct both in config.json, or set "
        f"normalize_reward to false"
    )
    assert value.keys({**config, "normalize_reward": False}, TRUNK | OPENRLHF) == OPENRLHF.keys()


def test_buffers_that_cannot_normalise() -> None:
    """Their numbers are seen when the head is built."""
    tensors = tensors_of(OPENRLHF) | {"mean": torch.tensor([2.0]), "std": torch.tensor([0.0])}

    with pytest.raises(ModelError, match=r"by mean 2\.0 and std 0\.0; they should be finite"):
        value.build(tensors, named("value_head", normalize_reward=True))


def test_half_the_buffers() -> None:
    """`std` without `mean`, and one that is no number."""
    assert refusal(value, CONFIG, {**OPENRLHF, "std": (1,)}) == (
        "no 'mean' among its tensors, but 'std'; OpenRLHF's value head has both or neither: copy "
        "the checkpoint again, with all its *.safetensors"
    )
    assert refusal(value, CONFIG, {**OPENRLHF, **BUFFERS, "std": (2,)}) == (
        "'std' has shape (2,), expected (1,) in OpenRLHF's value head; it is another head than "
        "rmaudit knows: compare with its model card"
    )


def test_normalised_rewards_leave_no_trace_either() -> None:
    """Half precision is widened, no graph is built, and the head goes where the states are."""
    weight = nn.Parameter(torch.tensor([[1.0, 2**-7, 0, 0, 0]], dtype=torch.bfloat16))
    head: Any = value.build({"score.weight": weight}, named("score"))

    reward = head(torch.tensor([[1.0, 2**-7, 0, 0, 0]]))

    assert reward.dtype == torch.float32
    assert reward.item() == 1 + 2**-14  # which bfloat16 would round to 1
    assert not reward.requires_grad
    assert head(states().to("meta")).device.type == "meta"
