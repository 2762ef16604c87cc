"""Tensor names without what wrappers of training put before them: DDP, torch.compile and PEFT.

A state dict of a wrapped model has `module.` (DDP), `_orig_mod.` (torch.compile) or
`base_model.model.` (PEFT) before every name, nested in any order; a layer that was compiled alone
has `_orig_mod.` inside its names. What is left is the name that the model's class knows.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable

PEFT = "base_model.model."
_RUN = re.compile(rf"(?:module\.|_orig_mod\.|{re.escape(PEFT)})*")
_INSIDE = r"\._orig_mod\."


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
