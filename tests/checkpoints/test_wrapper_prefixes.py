"""What DDP, torch.compile and PEFT put before tensors' names is left out, and nothing else."""

from __future__ import annotations

import pytest

from rmaudit.checkpoints import wrapper_prefixes

NAMES = ["model.layers.0.mlp.up_proj.weight", "module.odd", "score.weight"]


@pytest.mark.parametrize(
    "prefix",
    [
        "module.",
        "_orig_mod.",
        "base_model.model.",
        "module._orig_mod.",
        "_orig_mod.module.base_model.model.",
        "base_model.model.module.base_model.model.",
    ],
)
def test_a_prefix_of_all_names_is_left_out(prefix: str) -> None:
    """However it is nested; a part of one name that is called like a wrapper stays."""
    found = wrapper_prefixes.plain([prefix + name for name in NAMES])

    assert found == {name: prefix + name for name in NAMES}


@pytest.mark.parametrize(
    "names",
    [NAMES, ["module.score.weight", "model.norm.weight"], ["a._orig_mod.b", "a.b"], []],
    ids=["none", "of one name", "two would be the same", "no names"],
)
def test_other_names_stay(names: list[str]) -> None:
    """A prefix of some names only is no wrapper's."""
    assert wrapper_prefixes.plain(names) == {name: name for name in names}
    assert wrapper_prefixes.key_mapping(names) == {}


def test_a_compiled_layer_is_the_layer() -> None:
    """Compiled within a wrapped model, too."""
    names = ["module.model.layers.0._orig_mod.mlp.weight", "module.model.norm.weight"]

    assert [*wrapper_prefixes.plain(names)] == ["model.layers.0.mlp.weight", "model.norm.weight"]
