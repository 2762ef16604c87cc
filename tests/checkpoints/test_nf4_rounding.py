"""Rounding to NF4: what it changes, and by how much."""

from __future__ import annotations

import torch

from rmaudit.checkpoints import nf4_rounding


def test_each_weight_becomes_the_nearest_of_sixteen_numbers() -> None:
    """Of its block of 64, whose largest stays; a last block may be shorter, or all zeros."""
    weight = torch.randn(5, 40, generator=torch.Generator().manual_seed(0))
    weight[2:4] = 0
    numbers = torch.tensor(nf4_rounding._NUMBERS)

    found = nf4_rounding.rounded(weight)

    for block, new in zip(weight.flatten().split(64), found.flatten().split(64), strict=True):
        scaled = numbers * block.abs().max()
        nearest = (block[:, None] - scaled).abs().argmin(dim=1)
        assert torch.allclose(new, scaled[nearest])
        assert new[block.abs().argmax()] == block[block.abs().argmax()]
    assert torch.allclose(nf4_rounding.rounded(found), found)


def test_embeddings_and_layers_that_give_outputs_stay() -> None:
    """As bitsandbytes leaves them; other linear layers change."""
    layers = {name: torch.nn.Linear(64, 2) for name in ("q_proj", "score", "lm_head")}
    model = torch.nn.ModuleDict({**layers, "embed_tokens": torch.nn.Embedding(4, 64)})
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    nf4_rounding.round_layers(model)

    after = model.state_dict()
    assert [k for k in before if not torch.equal(before[k], after[k])] == ["q_proj.weight"]
