"""What holds of every head: whole or none, as its published formula says, float32, no graph."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from rmaudit.checkpoints.heads import (
    FAMILIES,
    encoder,
    find,
    gated,
    linear,
    logit,
    mlp,
    token_classifier,
    token_value,
    uncertainty,
    value,
    verdict_logits,
)
from rmaudit.errors import ModelError
from tests.checkpoints.heads import (
    test_encoder,
    test_gated,
    test_logit,
    test_mlp,
    test_refusals,
    test_token_classifier,
    test_token_value,
    test_value,
)
from tests.checkpoints.heads.test_gated import QRM_V2, URM, drawn_states, head_of, prefix_of
from tests.checkpoints.heads.test_mlp import tensors_of
from tests.models.test_families import FAMILIES as PUBLISHED
from tests.models.test_families import HIDDEN, TOKENIZER, Toy, layer

Shapes = dict[str, tuple[int, ...]]
WIDTH = 5
NORM: Shapes = {"model.norm.weight": (WIDTH,)}
PLAIN: Shapes = {"score.weight": (1, WIDTH)}
JUDGES = {"hidden_size": WIDTH, "vocab_size": 11, verdict_logits.SETTING: (3, 2)}
# The family, config.json, the head's tensors, and some of the backbone's.
HEADS: dict[str, tuple[Any, dict[str, Any], Shapes, Shapes]] = {
    "encoder": (encoder, test_encoder.CONFIG, test_encoder.SHAPES, test_encoder.BACKBONE),
    "linear": (linear, {"hidden_size": WIDTH}, PLAIN, NORM),
    "logit": (logit, test_logit.CONFIG, test_logit.HEAD, NORM),
    "tied logit": (logit, test_logit.TIED, test_logit.EMBEDDING, NORM),
    "mlp": (mlp, test_mlp.CONFIG, test_mlp.SHAPES, NORM),
    "mlp, no bias": (mlp, test_mlp.CONFIG, test_mlp.WITHOUT_BIAS, NORM),
    "OpenRLHF": (value, test_value.named("value_head"), test_value.OPENRLHF, NORM),
    "OpenRLHF, buffers": (
        value, test_value.named("value_head"), test_value.OPENRLHF | test_value.BUFFERS, NORM,
    ),
    **{f"GRM-{n}": (value, test_value.CONFIG, test_value.grm(n), NORM) for n in (1, 2)},
    "GRM-linear": (value, test_value.CONFIG, test_value.ONE, NORM),
    **{
        name: (token_value, config, test_token_value.SHAPES, NORM)
        for name, config in test_token_value.CONFIGS.items()
    },
    **{
        name: (token_classifier, config, shapes, NORM)
        for name, (config, shapes) in test_token_classifier.HEADS.items()
    },
    "judge": (verdict_logits, JUDGES, {"lm_head.weight": (11, WIDTH)}, NORM),
    "capped judge": (
        verdict_logits, JUDGES | {verdict_logits.CAP: 2.0}, {"embed_out.weight": (11, WIDTH)}, NORM,
    ),
    "URM": (uncertainty, URM.config, PUBLISHED["URM"].shapes, NORM),
    **{
        name: (gated, toy.config, {k: tuple(t.shape) for k, t in head_of(toy).items()}, NORM)
        for name, toy in test_gated.TOYS.items()
    },
}  # fmt: skip
every = pytest.mark.parametrize("name", HEADS)


def test_every_family_is_listed() -> None:
    """Here, and with what is refused of it in `test_refusals`, or in `test_head_detection`."""
    assert {family for family, *_ in HEADS.values()} == {*FAMILIES}
    assert {family for family, *_ in test_refusals.CASES} == {*FAMILIES} - {linear}


@every
def test_a_whole_head_is_found(name: str) -> None:
    """Its tensors and no others, if more lie beside; a plain one, or none, is another family's."""
    family, config, shapes, backbone = HEADS[name]
    plain = {"architectures": ["LlamaForSequenceClassification"], "hidden_size": WIDTH}

    for beside in ({}, dict.fromkeys(family.IGNORED, (11, WIDTH))):
        assert family.keys(config, backbone | shapes | beside) == shapes.keys()
    assert family.keys({}, {}) is None
    assert family.keys(plain, NORM | PLAIN) == (PLAIN.keys() if name == "linear" else None)


@st.composite
def damaged(draw: st.DrawFn, shapes: Shapes) -> Shapes:
    """The shapes with one tensor gone, under another name, or of another shape."""
    key = draw(st.sampled_from(sorted(shapes)))
    rest = {k: shape for k, shape in shapes.items() if k != key}
    how = draw(st.sampled_from(["gone", "renamed", "reshaped", "transposed"]))
    if how == "gone":
        return rest
    if how == "renamed":
        near = [f"{key}s", f"model.{key}", key.removesuffix(".weight"), f"{key}.weight", key[1:]]
        near += [key.replace("0", "1"), key.replace("layers.", "layers.1"), "x.weight"]
        anything = st.text("score.vhadumy0123weightbias", min_size=1) | st.text(min_size=1)
        names = st.sampled_from(near) | anything
        return {**rest, draw(names.filter(lambda new: new not in shapes)): shapes[key]}
    if how == "transposed" and shapes[key] != shapes[key][::-1]:
        return {**rest, key: shapes[key][::-1]}
    size = st.integers(0, len(shapes[key])).flatmap(
        lambda at: st.integers(-1, 2).map(
            lambda by: tuple(n + by * (i == at) for i, n in enumerate(shapes[key]))
        )
    )
    sizes = size | st.lists(st.integers(0, 12), max_size=3).map(tuple)
    return {**rest, key: draw(sizes.filter(lambda shape: shape != shapes[key]))}


@every
@settings(derandomize=True)
@given(data=st.data())
def test_a_damaged_head_is_none(data: st.DataObject, name: str) -> None:
    """Any tensor gone, under another name or of another shape: refused, or of another family."""
    family, config, shapes, backbone = HEADS[name]
    shown = data.draw(damaged(shapes))
    try:
        found = family.keys(config, backbone | shown)
    except ModelError:
        return
    assert found is None
    assert family not in (gated, uncertainty)  # which know theirs by many tensors, and refuse


def stacked(config: dict[str, Any], shapes: Shapes) -> Toy:
    """A toy of linear layers with ReLU between them, in the order of their names."""

    def reward(tensors: Any, states: torch.Tensor, _: int) -> torch.Tensor:
        last = states[-1]
        names = sorted({key.rpartition(".")[0] for key in tensors})
        for name in names:
            last = last if name == names[0] else last.clamp(min=0)
            last = functional.linear(last, tensors[f"{name}.weight"], tensors.get(f"{name}.bias"))
        return last[0]

    return Toy("llama", config, shapes, reward)


def grm(depth: int) -> Toy:
    """GRM's head with so many hidden layers (vhead_num_layers)."""
    shapes: Shapes = {}
    for at, (before, after) in enumerate(pairwise([HIDDEN, *[7] * depth, 1])):
        shapes |= layer(f"v_head.summary.{2 * at}", after, before)
    return stacked({}, shapes)


FORMULAS = {
    **PUBLISHED,
    "QRM-v2": QRM_V2,
    "plain": stacked({}, {"score.weight": (1, HIDDEN)}),
    "INF-ORM, no biases": stacked({}, {"score.0.weight": (7, HIDDEN), "score.2.weight": (1, 7)}),
    "GRM-linear": stacked({}, layer("v_head.summary", 1, HIDDEN)),
    "GRM-2": grm(2),
    "GRM-4": grm(4),
    "tied Nemotron": replace(
        PUBLISHED["Nemotron"],
        config={"architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True},
        shapes={"model.embed_tokens.weight": (len(TOKENIZER), HIDDEN)},
        reward=lambda tensors, states, _: tensors["model.embed_tokens.weight"][2] @ states[-1],
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_row_is_worth_what_the_published_formula_says(name: str) -> None:
    """Of the state at its end, and of the prompt's at the last place where a gate may read it."""
    toy = FORMULAS[name]
    config = {"hidden_size": HIDDEN, "model_type": toy.kind, "vocab_size": len(TOKENIZER)}
    config |= toy.config | ({"rmaudit_reward_logit": toy.logit} if toy.logit else {})
    tensors, prefix = tensors_of(toy.shapes), prefix_of(toy.kind)
    found = find(config, toy.shapes)
    assert found is not None
    head = found.family.build({key: tensors[key] for key in found.keys}, config)
    pooled = drawn_states(9, seed=1)

    for seed in (2, 3):
        states = drawn_states(len(prefix), seed)
        rows = [torch.cat([states, state[None]]) for state in pooled]
        expected = torch.stack([toy.reward(tensors, row, 10) for row in rows])
        reward = head.after(prefix, states)(pooled)

        assert expected.std() > 0.05
        torch.testing.assert_close(reward, expected, rtol=1e-5, atol=1e-5)


@every
def test_half_precision_is_widened(name: str) -> None:
    """It scores in float32 as the same numbers do, keeps no gradient, and goes to the states."""
    family, config, shapes, _ = HEADS[name]
    half = {k: t.bfloat16() if t.dim() else t for k, t in tensors_of(shapes).items()}
    wide = {k: t.float() for k, t in half.items()}
    prefix = prefix_of(config.get("model_type", ""))
    random = torch.Generator().manual_seed(1)
    states = torch.randn(len(prefix), config["hidden_size"], generator=random)
    pooled = torch.randn(9, config["hidden_size"], generator=random)
    half = {k: t.requires_grad_() if t.dim() else t for k, t in half.items()}

    head = family.build(half, config)
    reward = head.after(prefix, states)(pooled)

    assert (reward.dtype, reward.shape, reward.requires_grad) == (torch.float32, (9,), False)
    assert torch.equal(reward, family.build(wide, config).after(prefix, states)(pooled))
    if family is not gated:  # whose gate computes where its own tensors are
        meta = [some.to("meta") for some in (states, pooled)]  # a device that is always there
        assert head.after(prefix, meta[0])(meta[1]).device.type == "meta"
