"""Names of an adapter's tensors as PEFT saves them, whichever state dict they were saved from.

PEFT saves a LoRA's tensors as `base_model.model.LAYER.lora_A.weight`, and whole ones (a trained
head, a resized embedding) as `base_model.model.LAYER.weight`. A trainer that saves the state dict
of the wrapped model itself writes other names of the same tensors: those of more wrappers
(`wrapper_prefixes`), `lora_A.default` for `lora_A`, and a trained head as
`score.modules_to_save.default.weight`, with the untrained one as `score.original_module.weight`
beside it, which PEFT does not use either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rmaudit.checkpoints import wrapper_prefixes
from rmaudit.checkpoints.wrapper_prefixes import PEFT

PART = ".lora_"  # in the name of a LoRA's tensor
_NAMED = re.compile(r"(\.lora_\w+)\.default(?=\.|$)")
_TRAINED, _UNTRAINED = re.compile(r"\.modules_to_save(\.default)?\."), ".original_module."
_WRAPPED = ".base_layer."


def as_peft_saves(stored: Iterable[str]) -> dict[str, str]:
    """Return the stored names by those that PEFT would have given them, in the same order.

    An untrained head beside its trained copy is left out. Names that would meet another one's stay
    as they are.
    """
    names = wrapper_prefixes.plain(stored)
    if not any(name.startswith(PEFT) for name in names):
        names = {PEFT + name: own for name, own in names.items()}
    there, found = set(names), dict[str, str]()
    trained = {_TRAINED.sub(".", name) for name in names if _TRAINED.search(name)}
    for name, own in names.items():
        new = _TRAINED.sub(".", _NAMED.sub(r"\1", name))
        if _UNTRAINED not in name or name.replace(_UNTRAINED, ".") not in trained:
            found[name if new in there else new] = own
    return found


def in_base(name: str) -> str:
    """Return the name that the base has for a tensor that an adapter stores whole."""
    return name.removeprefix(PEFT).replace(_WRAPPED, ".")
