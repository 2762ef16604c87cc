"""What holds of every head: whole or none, as its published formula says, float32, no graph."""

from __future__ import annotations

from dataclasses import replace
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
from tests.checkpoints.heads import test_refusals, whole
from tests.checkpoints.heads.whole import (
    HIDDEN,
    NORM,
    PUBLISHED,
    ROWS,
    SCORE,
    WIDTH,
    Shapes,
    drawn_states,
    grm,
    named,
    one_label,
    prefix_of,
    tensors_of,
)
from tests.models.test_families import TOKENIZER, Toy, layer

OPENRLHF = named("value_head")
CAPPED = whole.JUDGE | {verdict_logits.CAP: 2.0}
# The family, config.json, and the head's tensors.
HEADS: dict[str, tuple[Any, dict[str, Any], Shapes]] = {
    "encoder": (encoder, whole.ENCODER, whole.PAIR),
    "linear": (linear, {"hidden_size": WIDTH}, SCORE),
    "logit": (logit, whole.LOGIT, whole.LM_HEAD),
    "tied logit": (logit, whole.TIED, whole.EMBEDDING),
    "mlp": (mlp, whole.MLP, whole.LAYERS),
    "mlp, no bias": (mlp, whole.MLP, {k: s for k, s in whole.LAYERS.items() if "bias" not in k}),
    "OpenRLHF": (value, OPENRLHF, whole.OPENRLHF),
    "OpenRLHF, buffers": (value, OPENRLHF, whole.OPENRLHF | whole.BUFFERS),
    **{f"GRM-{n}": (value, whole.VALUE, grm(n)) for n in (1, 2)},
    "GRM-linear": (value, whole.VALUE, whole.ONE),
    "InternLM2": (token_value, whole.INTERNLM2, whole.AT_TOKEN),
    "Athene": (token_value, whole.ATHENE, whole.AT_TOKEN),
    "Llama, every token": (token_classifier, whole.LLAMA_TOKENS, one_label("score")),
    "GPT-2, every token": (token_classifier, whole.GPT2_TOKENS, one_label("classifier")),
    "judge": (verdict_logits, whole.JUDGE, whole.LM_HEAD),
    "capped judge": (verdict_logits, CAPPED, {"embed_out.weight": (ROWS, WIDTH)}),
    "URM": (uncertainty, whole.URM.config, PUBLISHED["URM"].shapes),
    **{
        name: (gated, toy.config, {k: tuple(t.shape) for k, t in whole.head_of(toy).items()})
        for name, toy in whole.GATED.items()
    },
}
every = pytest.mark.parametrize("name", HEADS)


def test_every_family_is_listed() -> None:
    """Here, and with what is refused of it in `test_refusals`, or in `test_head_detection`."""
    assert {family for family, *_ in HEADS.values()} == {*FAMILIES}
    assert {family for family, *_ in test_refusals.CASES} == {*FAMILIES} - {linear}


@every
def test_a_whole_head_is_found(name: str) -> None:
    """Its tensors and no others, if more lie beside; a plain one, or none, is another family's."""
    family, config, shapes = HEADS[name]
    plain = {"architectures": ["LlamaForSequenceClassification"], "hidden_size": WIDTH}

    for beside in ({}, dict.fromkeys(family.IGNORED, (ROWS, WIDTH))):
        assert family.keys(config, NORM | shapes | beside) == shapes.keys()
    assert family.keys({}, {}) is None
    assert family.keys(plain, NORM | SCORE) == (SCORE.keys() if name == "linear" else None)


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
    family, config, shapes = HEADS[name]
    shown = data.draw(damaged(shapes))
    try:
        found = family.keys(config, NORM | shown)
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


FORMULAS = {
    **PUBLISHED,
    "QRM-v2": whole.QRM_V2,
    "plain": stacked({}, {"score.weight": (1, HIDDEN)}),
    "INF-ORM, no biases": stacked({}, {"score.0.weight": (7, HIDDEN), "score.2.weight": (1, 7)}),
    "GRM-linear": stacked({}, layer("v_head.summary", 1, HIDDEN)),
    "GRM-2": stacked({}, grm(2, HIDDEN)),
    "GRM-4": stacked({}, grm(4, HIDDEN)),
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
    family, config, shapes = HEADS[name]
    half = {k: t.bfloat16() if t.dim() else t for k, t in tensors_of(shapes).items()}
    wide = {k: t.float() for k, t in half.items()}
    prefix = prefix_of(config.get("model_type", ""))
    states = drawn_states(len(prefix), 1, config["hidden_size"])
    pooled = drawn_states(9, 2, config["hidden_size"])
    half = {k: t.requires_grad_() if t.dim() else t for k, t in half.items()}

    head = family.build(half, config)
    reward = head.after(prefix, states)(pooled)

    assert (reward.dtype, reward.shape, reward.requires_grad) == (torch.float32, (9,), False)
    assert torch.equal(reward, family.build(wide, config).after(prefix, states)(pooled))
    if family is not gated:  # whose gate computes where its own tensors are
        meta = [some.to("meta") for some in (states, pooled)]  # a device that is always there
        assert head.after(prefix, meta[0])(meta[1]).device.type == "meta"
