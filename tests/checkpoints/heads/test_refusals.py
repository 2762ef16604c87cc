"""Half a head, another head, or a configuration that disagrees: refused, and the text says why.

Each row has the tensors and the entry of config.json that are wrong, and what the text must name:
what was found, what is needed, and what to do. That any tensor gone or of another shape is refused,
`test_every_family` has; of the words for it, which are one function's, two layers are the example.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from rmaudit.checkpoints.heads import (
    HeadFamily,
    encoder,
    gated,
    logit,
    mlp,
    token_classifier,
    token_value,
    uncertainty,
    value,
    verdict_logits,
)
from rmaudit.errors import ModelError
from tests.checkpoints.folders import refused
from tests.checkpoints.heads import whole
from tests.checkpoints.heads.whole import ONE, SCORE, grm

HIDDEN, WIDTH = whole.WIDTH, whole.INNER
Shapes = dict[str, Any]
Case = tuple[HeadFamily, dict[str, Any], Shapes, tuple[str, ...]]
AGAIN, CARD = "copy the checkpoint again", "compare with its model card"
ONE_SAVE, CORRECT = "one and the same checkpoint", "correct it"
GONE = None  # in place of a shape, or of an entry

PRM = {"score.2.weight": (2, WIDTH), "score.2.bias": (2,)}


def of(family: Any, config: Any, own: Any, change: Any, *named: str, **entries: Any) -> Case:
    """A family's whole checkpoint with tensors or entries of config.json changed or gone."""
    shapes = {key: shape for key, shape in {**own, **change}.items() if shape is not GONE}
    return family, {**config, **entries}, shapes, named


layers = partial(of, mlp, whole.MLP, whole.LAYERS)
openrlhf = partial(of, value, whole.named("value_head"), whole.OPENRLHF)
row = partial(of, logit, whole.LOGIT, whole.LM_HEAD)
pair = partial(of, encoder, whole.ENCODER, whole.PAIR)
urm = partial(of, uncertainty, whole.URM.config, whole.URM.shapes)


def gate(name: str, change: Any, *named: str, **entries: Any) -> Case:
    """A gated head, of the toys by their names."""
    toy = whole.GATED[name]
    return of(gated, toy.config, toy.shapes, change, *named, **entries)


at_token = partial(of, token_value, whole.INTERNLM2, whole.AT_TOKEN)
labels = partial(of, token_classifier, whole.LLAMA_TOKENS, whole.one_label("score"))


VERDICTS = {verdict_logits.SETTING: (3, 2)}
CASES = [
    at_token({"v_head.bias": (1,)}, "unexpected 'v_head.bias'", CARD),
    *(
        at_token({}, "InternLM2ForRewardModel", f"id is {odd!r} (reward_token_id in config.json)",
                 "below vocab_size, 11", reward_token_id=odd)
        for odd in (GONE, 11, -1, "7", True, 7.0)
    ),
    of(token_value, whole.ATHENE, whole.AT_TOKEN, {},
       "128003 (in its makers' code)", "below vocab_size, 32000", vocab_size=32000),
    labels({"score.0.weight": (1, HIDDEN)}, "unexpected 'score.0.weight'", CARD),
    labels({"score.weight": (2, HIDDEN), "score.bias": (2,)}, "'score.weight' has 2 labels",
           "process reward model", "outcome reward model"),
    of(verdict_logits, VERDICTS, {}, {}, "none of lm_head.weight, ", "remove `judge`"),
    of(verdict_logits, VERDICTS, SCORE, {}, "'score.weight' is", "remove `judge`"),
    layers({"score.2.bias": GONE}, "no 'score.2.bias'", "score.0.weight, score.0.bias, ", AGAIN),
    layers({"score.4.weight": (1, 1)}, "unexpected 'score.4.weight'", "score.0.weight, ", CARD),
    layers({"score.0.weight": (7, 6)}, "(7, 6), expected (7, 5)", "hidden size of 5", ONE_SAVE),
    layers(PRM, "'score.2.weight' has 2 outputs", "process reward model", "outcome reward model"),
    *(
        layers({}, "config.json names no hidden size", "hidden_size, n_embd", hidden_size=odd)
        for odd in (GONE, "5")
    ),
    *(
        of(value, whole.VALUE, grm(1), {key: (1,)}, f"unexpected {key!r}", CARD)
        for key in ("v_head.summary.1.weight", "v_head.scale", "v_head.summary.00.x")
    ),
    of(value, whole.VALUE, {**ONE, **grm(1)}, {}, "unexpected 'v_head.summary.bias'"),
    openrlhf({"value_head.bias": (1,)}, "unexpected 'value_head.bias'", CARD),
    openrlhf({"std": (1,)}, "no 'mean' among its tensors", "with its numbers has mean, std", AGAIN),
    openrlhf({"head.weight": (1, HIDDEN)}, "both 'value_head.weight' and 'head.weight'",
             '"value_head_prefix": "value_head"', value_head_prefix=GONE),
    *(
        of(value, whole.VALUE, SCORE, {}, f"value_head_prefix {odd!r}", CORRECT,
           value_head_prefix=odd)
        for odd in ("", 3, True, ["score"])
    ),
    *(
        openrlhf({}, f"normalize_reward {odd!r}", "true", "false", CORRECT, normalize_reward=odd)
        for odd in ("false", 1, 0.0)
    ),
    *(
        openrlhf({}, f"by mean {mean!r} and std {std!r}", "std above 0",
                 "set normalize_reward to false", normalize_reward=True, mean=mean, std=std)
        for mean, std in [(1.0, GONE), (GONE, 1.0), (1.0, 0), (1.0, -2.0), (float("nan"), 1.0),
                          (1.0, float("inf")), ("1", 1.0), (1.0, True)]
    ),
    row({}, "Gemma2ForCausalLM", "known of LlamaForCausalLM", architectures=["Gemma2ForCausalLM"]),
    row({"lm_head.weight": GONE}, "no 'lm_head.weight'", "tie_word_embeddings", AGAIN),
    row({"lm_head.weight": GONE}, "no 'model.embed_tokens.weight'", "tied to it", AGAIN,
        tie_word_embeddings=True),
    row({"lm_head.bias": (11,)}, "unexpected 'lm_head.bias'", "a logit as reward with", CARD),
    *(
        row({}, f"the logit of id {odd!r}", "whole numbers from 0 to 10", "models.yaml",
            rmaudit_reward_logit=odd)
        for odd in (-1, 11, True, "0", 0.0, GONE)
    ),
    pair({"classifier.extra": (1,)}, "unexpected 'classifier.extra'", CARD),
    pair({"classifier.weight": (3, HIDDEN), "classifier.bias": (3,)}, "3 outputs, one for each"),
    pair({}, "type_vocab_size 2", "token types", "DeBERTa-v3", type_vocab_size=2),
    *(
        pair({}, f"pooler_hidden_act {odd!r}", "gelu, relu, silu, tanh", pooler_hidden_act=odd)
        for odd in ("swish", ["gelu"])
    ),
    *(
        pair({}, f"this is '{one}ForSequenceClassification'", "'classifier.bias' is among its ",
             "of that name in DebertaForSequenceClassification, DebertaV2ForSequ",
             "no other name in config.json", "@rmaudit.scorer",
             architectures=[f"{one}ForSequenceClassification"])
        for one in ("Electra", "DistilBert")
    ),
    # ArmoRM's class reads num_quantiles nowhere: these tensors are QRM's
    gate("QRM-Llama", {}, "no 'gating.layers.0.bias'", "no num_quantiles", num_quantiles=GONE),
    gate("QRM-Llama", {}, "(12, 32)", "num_quantiles 4", "expected (16, 32)", num_quantiles=4),
    # 3 objectives of 4 quantiles have as many rows
    gate("QRM-Llama", {}, "'gating.layers.9.bias' has shape (4,)", "expected (3,)", num_quantiles=4,
         num_objectives=3),
    gate("ArmoRM", {}, "'gating.logit_scale'", "'MistralForRewardModelWithGating'",
         "Gemma2ForQuantile", architectures=["MistralForRewardModelWithGating"]),
    gate("ArmoRM", {}, "model_type 'gemma2'", "has 'llama'", model_type="gemma2"),
    gate("ArmoRM", {}, "num_objectives is '4'", "whole number from 1", num_objectives="4"),
    gate("ArmoRM", {}, "hidden_size is None", "whole number from 1", hidden_size=GONE),
    *(
        gate("ArmoRM", {}, "gating_temperature", "a number above 0", gating_temperature=odd)
        for odd in (0, -1, True, "5", float("nan"), float("inf"))
    ),
    *(
        gate("ArmoRM", {key: (1, 6)}, f"unexpected '{key}' among its tensors", CARD)
        for key in ("score.weight", "gating.layers.0.SCB", "lm_head.weight")
    ),
    urm({}, "hidden_size None", hidden_size=GONE),
    urm({"score.weight": (1, 32)}, "'weights.fc.0.bias'", "'LlamaForSequenceClassification'",
        "WithNormal_Weights only", architectures=["LlamaForSequenceClassification"]),
]  # fmt: skip


@pytest.mark.parametrize(("family", "config", "shapes", "named"), CASES, ids=range(len(CASES)))
def test_what_is_wrong_is_named(
    family: HeadFamily, config: dict[str, Any], shapes: Shapes, named: tuple[str, ...]
) -> None:
    """And what it should be, and what to do."""
    text = refused(family.keys, config, shapes)

    assert [part for part in named if part not in text] == []


@pytest.mark.parametrize("name", whole.GATED)
@pytest.mark.parametrize("other", whole.GATED)
def test_one_gates_tensors_under_anothers_configuration(name: str, other: str) -> None:
    """No toy's configuration takes another's tensors."""
    config, shapes = whole.GATED[name].config, whole.GATED[other].shapes
    if name == other:
        assert gated.keys(config, shapes)
        return
    with pytest.raises(ModelError):
        gated.keys(config, shapes)


def test_nothing_is_refused_that_is_not_read() -> None:
    """Numbers that cannot normalise, where nothing is to be normalised."""
    config = whole.named("value_head", normalize_reward=False, mean="1", std=0)

    assert value.keys(config, whole.OPENRLHF) == whole.OPENRLHF.keys()
