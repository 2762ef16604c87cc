"""Every kind of backbone that is known to have a path gives the checkpoint's own scores on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoConfig

from rmaudit.scoring import EXPANDED, SHARED, ScoringPath, engine, path_of
from tests.scoring.rows import (
    ANSWERS,
    END,
    EOS,
    NEWLINE,
    PAD,
    PREFIX,
    TOLERANCE,
    Ids,
    Toy,
    assert_same,
    load,
)
from tests.toys import toy_checkpoint

SHARES, EXPANDS, FULL = (
    ScoringPath.SHARED_PREFIX,
    ScoringPath.EXPANDED_CACHE,
    ScoringPath.FULL_ROWS,
)
KNOWN = {**dict.fromkeys(SHARED, SHARES), **dict.fromkeys(EXPANDED, EXPANDS)}
# `test_any_checkpoint` draws pads and suffixes, on the kinds that matter most.
CASES: list[tuple[int | None, Ids]] = [(PAD, (END,)), (None, (END, NEWLINE))]
LONGEST = len(PREFIX) + 2  # beyond it, changing rotations change
WINDOW: dict[str, Any] = {"sliding_window": 8}
SWITCHED = {**WINDOW, "use_sliding_window": True, "max_window_layers": 1}
DYNAMIC = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}
STILL = {"rope_type": "default", "rope_theta": 1e4}
WHOLE = {"full_attention": STILL}
LONG = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "partial_rotary_factor": 1.0,
    "original_max_position_embeddings": LONGEST,
    "short_factor": [1.0] * 4,
    "long_factor": [4.0] * 4,
}
LLAMA_4 = {
    "rope_type": "yarn",
    "rope_theta": 1e4,
    "factor": 4.0,
    "original_max_position_embeddings": 8,
    "llama_4_scaling_beta": 0.1,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
}
# Settings other than those of tests/toys.py that change what runs, and what is left to full rows.
VARIANTS: dict[str, tuple[ScoringPath, dict[str, Any]]] = {
    "gpt2, scaled by layer": (SHARES, {"scale_attn_by_inverse_layer_idx": True}),
    "gpt2, unscaled": (SHARES, {"scale_attn_weights": False}),
    "gpt_bigcode, a key head each": (SHARES, {"multi_query": False}),
    "gpt_neox, one after the other": (SHARES, {"use_parallel_residual": False}),
    "llama, yarn": (SHARES, {"rope_parameters": {k: LLAMA_4[k] for k in list(LLAMA_4)[:4]}}),
    "ministral3, scaled by position": (SHARES, {"rope_parameters": LLAMA_4}),
    "mistral, no window": (SHARES, {"sliding_window": None}),
    "olmo, clipped": (SHARES, {"clip_qkv": 0.5}),
    "opt, norm after": (SHARES, {"do_layer_norm_before": False, "word_embed_proj_dim": 16}),
    "phi, normed queries": (SHARES, {"qk_layernorm": True}),
    "falcon, alibi": (EXPANDS, {"alibi": True}),
    "falcon, new": (EXPANDS, {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "mpt, no alibi": (EXPANDS, {"attn_config": {"alibi": False}}),
    "phimoe, window in the mask": (EXPANDS, WINDOW),
    "qwen2_moe, window in the mask": (EXPANDS, SWITCHED),
    "stablelm, parallel": (EXPANDS, {"qk_layernorm": True, "use_parallel_residual": True}),
    "axk2": (FULL, {}),
    "doge": (FULL, {"keep_window_size": 8}),
    "gemma, two-way": (FULL, {"use_bidirectional_attention": True}),
    "gemma3_text, two-way": (FULL, {"use_bidirectional_attention": True}),
    "jamba": (FULL, {}),
    "llama, two-way": (FULL, {"is_causal": False}),
    "llama, dynamic": (FULL, {"max_position_embeddings": LONGEST, "rope_parameters": DYNAMIC}),
    "minimax": (FULL, {}),
    "openai-gpt": (FULL, {}),
    "phi3, longrope": (
        FULL,
        {"original_max_position_embeddings": LONGEST, "rope_parameters": LONG},
    ),
    "phimoe, longrope": (
        FULL,
        {"rope_parameters": {**LONG, "short_mscale": 1.1, "long_mscale": 1.3}},
    ),
    "zamba": (FULL, {}),
    "zamba2": (FULL, {}),
}
# transformers' eager attention gives other scores than what it runs by default.
EAGER_IS_ANOTHER = {"falcon, alibi"}
ALL = {**{kind: (path, {}) for kind, path in sorted(KNOWN.items())}, **VARIANTS}


def toy(folder: Path, name: str, path: ScoringPath | None = None) -> Toy:
    """The checkpoint of a kind or a variant, on its own path if none is given."""
    expected, settings = ALL[name]
    kind = name.split(",", maxsplit=1)[0]
    saved = toy_checkpoint(folder, kind=kind, **{"eos_token_id": EOS, **settings})
    eager_is_another = name in EAGER_IS_ANOTHER or expected is FULL
    return load(saved, path, own=None if eager_is_another else "eager")


def assert_exact(found: Toy) -> None:
    """In every case, the scores are the checkpoint's own."""
    for pad, suffix in CASES:
        scores = engine.score(found.scorer(pad), PREFIX, ANSWERS, suffix)

        assert_same(scores, found.expected(PREFIX, ANSWERS, suffix, pad))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_each_kind_is_exact_on_its_path(tmp_path: Path, name: str) -> None:
    """The path is the expected one, and the scores are those of full unpadded rows."""
    found = toy(tmp_path, name)

    assert found.path is ALL[name][0]
    assert_exact(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path"),
    [
        *((name, EXPANDS) for name in ("deepseek_v3", "gemma3_text", "gpt2", "jetmoe")),
        *((name, FULL) for name in ("gemma3_text", "qwen2_moe", "bloom", "gpt_oss", "qwen3_next")),
    ],
)
def test_a_backbone_can_go_the_slower_ways_too(
    tmp_path: Path, name: str, path: ScoringPath
) -> None:
    """Windows, experts, latent heads and caches of another kind are exact there."""
    assert_exact(toy(tmp_path, name, path))


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("phimoe, window in the mask", SHARES),
        ("qwen2_moe, window in the mask", SHARES),
        ("llama, two-way", SHARES),
        ("llama, two-way", EXPANDS),
        ("llama, dynamic", SHARES),
        ("phi3, longrope", SHARES),
        ("phi3, longrope", EXPANDS),
        ("jamba", EXPANDS),
        ("zamba", EXPANDS),
    ],
)
def test_a_faster_path_would_give_other_scores(
    tmp_path: Path, name: str, path: ScoringPath
) -> None:
    """The exceptions are needed, and so the tests above can fail."""
    found = toy(tmp_path, name, path)
    assert path is not ALL[name][0]

    scores = engine.score(found.scorer(), PREFIX, ANSWERS, (END,))

    expected = found.expected(PREFIX, ANSWERS, (END,), PAD)
    assert np.abs(scores - expected).max() > 100 * TOLERANCE * expected.std()


# From the configuration alone


@pytest.mark.parametrize(
    ("kind", "settings", "path"),
    [
        ("llama", {"is_causal": True}, SHARES),
        ("llama", {"is_causal": False}, FULL),
        ("bloom", {"is_causal": False}, FULL),
        ("gemma2", {"use_bidirectional_attention": True}, FULL),
        ("llama", {"rope_parameters": DYNAMIC}, FULL),
        ("phimoe", {"sliding_window": None}, SHARES),
        ("phimoe", {"sliding_window": 8}, EXPANDS),
        ("qwen2_moe", {"use_sliding_window": False, "sliding_window": 8}, SHARES),
        ("qwen2_moe", {"use_sliding_window": True, "sliding_window": 8}, EXPANDS),
        ("bert", {}, FULL),
        ("gemma3", {}, SHARES),  # with eyes: its text part decides
        ("gemma3_text", {"rope_parameters": {"sliding_attention": STILL, **WHOLE}}, SHARES),
        ("gemma3_text", {"rope_parameters": {"sliding_attention": DYNAMIC, **WHOLE}}, FULL),
    ],
)
def test_the_path_is_known_from_the_configuration(
    kind: str, settings: dict[str, Any], path: ScoringPath
) -> None:
    """No weights are needed."""
    assert path_of(AutoConfig.for_model(kind, **settings)) is path
