"""Name tensors as their class, or PEFT, does, whatever wrappers of training made of the names.

A state dict of a wrapped model has `module.` (DDP), `_orig_mod.` (torch.compile) or
`base_model.model.` (PEFT) before every name, nested in any order; a layer that was compiled alone
has `_orig_mod.` inside its names. What is left is the name that the model's class knows.

PEFT saves a LoRA's tensors as `base_model.model.LAYER.lora_A.weight`, and whole ones (a trained
head, a resized embedding) as `base_model.model.LAYER.weight`. A trainer that saves the state dict
of the wrapped model itself writes other names of the same tensors: those of more wrappers,
`lora_A.default` for `lora_A`, and a trained head as `score.modules_to_save.default.weight`, with
the untrained one as `score.original_module.weight` beside it, which PEFT does not use either.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable

PEFT = "base_model.model."
_RUN = re.compile(rf"(?:module\.|_orig_mod\.|{re.escape(PEFT)})*")
_INSIDE = r"\._orig_mod\."
PART = ".lora_"  # in the name of a LoRA's tensor
_NAMED = re.compile(r"(\.lora_\w+)\.default(?=\.|$)")
_TRAINED, _UNTRAINED = re.compile(r"\.modules_to_save(\.default)?\."), ".original_module."
_WRAPPED = ".base_layer."


def key_mapping(stored: Iterable[str]) -> dict[str, str]:
    """Return regular expressions and their replacements, each to be applied once, in this order.

    They are transformers' `key_mapping`, which makes plain names of the `stored` ones. {} if these
    are plain already, or if two of them would become the same.
    """
    names = set(stored)
    # No name of a wrapper begins as another does, so what runs have in common is whole names.
    runs = [found[0] for name in names if (found := _RUN.match(name))]  # it matches "", too
    run = os.path.commonprefix(runs)  # noqa: RUF071  (character by character, as is meant)
    patterns = {f"^{re.escape(run)}": ""} if run else {}
    if any(re.search(_INSIDE, name) for name in names):
        patterns[_INSIDE] = "."
    return patterns if len({_renamed(name, patterns) for name in names}) == len(names) else {}


def plain(stored: Iterable[str]) -> dict[str, str]:
    """Return the stored names by their plain ones, in the same order."""
    names = list(stored)
    patterns = key_mapping(names)
    return {_renamed(name, patterns): name for name in names}


def _renamed(name: str, patterns: dict[str, str]) -> str:
    for pattern, replacement in patterns.items():
        name = re.sub(pattern, replacement, name, count=1)
    return name


def as_peft_saves(stored: Iterable[str]) -> dict[str, str]:
    """Return the stored names by those that PEFT would have given them, in the same order.

    An untrained head beside its trained copy is left out. Names that would meet another one's stay
    as they are.
    """
    names = plain(stored)
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
