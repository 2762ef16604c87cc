"""Names become those of the class, or those that PEFT saves, and nothing else is left out.

That each wrapper's prefix is left out, `tests/models/test_transformers_loader.py` has.
"""

from __future__ import annotations

import pytest

from rmaudit.checkpoints import tensor_names
from rmaudit.checkpoints.tensor_names import as_peft_saves

A = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
HEAD = "base_model.model.score.weight"
NAMES = ["model.layers.0.mlp.up_proj.weight", "module.odd", "score.weight"]


@pytest.mark.parametrize(
    "names",
    [NAMES, ["module.score.weight", "model.norm.weight"], ["a._orig_mod.b", "a.b"], []],
    ids=["none", "of one name", "two would be the same", "no names"],
)
def test_other_names_stay(names: list[str]) -> None:
    """A prefix of some names only is no wrapper's."""
    assert tensor_names.plain(names) == {name: name for name in names}
    assert tensor_names.key_mapping(names) == {}


def test_a_compiled_layer_is_the_layer() -> None:
    """Within a wrapped model, too; a part of a name that is called like a wrapper stays."""
    names = ["module.model.layers.0._orig_mod.mlp.weight", "module.model.module.weight"]

    assert [*tensor_names.plain(names)] == ["model.layers.0.mlp.weight", "model.module.weight"]


@pytest.mark.parametrize(
    "stored",
    [
        (A, HEAD),
        ("model.layers.0.self_attn.q_proj.lora_A.weight", "score.weight"),
        (f"module.{A}", f"module.{HEAD}"),
        (f"base_model.model._orig_mod.{A}", f"base_model.model._orig_mod.{HEAD}"),
        (A.replace("lora_A", "lora_A.default"), HEAD),
        (A, HEAD.replace("score", "score.modules_to_save")),
        (A, HEAD.replace("score", "score.modules_to_save.default")),
    ],
    ids=["PEFT's", "bare", "DDP", "nested", "lora_A.default", "modules_to_save", "both"],
)
def test_names_are_those_that_peft_saves(stored: tuple[str, ...]) -> None:
    """Each with the name that it has in the file."""
    assert as_peft_saves(stored) == dict(zip((A, HEAD), stored, strict=True))


def test_an_untrained_head_beside_the_trained_one_is_left_out() -> None:
    """As PEFT leaves it out when it saves; alone, it is no trained head, and stays what it is."""
    trained, untrained = (
        HEAD.replace("score", f"score.{part}") for part in ("modules_to_save", "original_module")
    )

    assert as_peft_saves([A, untrained, trained]) == {A: A, HEAD: trained}
    assert as_peft_saves([A, untrained]) == {A: A, untrained: untrained}


@pytest.mark.parametrize(
    "names",
    [
        [A, f"module.{HEAD}"],
        [A, HEAD, HEAD.replace("score", "score.modules_to_save")],
    ],
    ids=["one has a prefix", "two heads"],
)
def test_what_is_not_understood_stays(names: list[str]) -> None:
    """So that it is refused by its own name."""
    assert as_peft_saves(names) == {name: name for name in names}
