"""Read the settings in an adapter_config.json; say which of them change the merged weights.

Nothing that it names is run or imported. Of its entries, those that decide the merged weights are
handed to PEFT; those that only guide training, or that PEFT needs to find the base's class by
itself (`auto_mapping`), are left out; any other that is set is refused. So is a regular expression
that does not come to an end on the names of the base's layers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rmaudit.checkpoints.third_party_errors import short
from rmaudit.errors import ModelError

MERGE_IT_THERE = "Merge it where it was trained, save the merged model, and audit that folder"
_PROMPTS = ("PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING", "CARTRIDGE")
_DECIDING = (  # entries of LoraConfig that decide the merged weights
    "r lora_alpha target_modules exclude_modules layers_to_transform layers_pattern rank_pattern "
    "alpha_pattern fan_in_fan_out bias use_rslora use_dora lora_bias modules_to_save "
    "trainable_token_indices target_parameters"
)
_UNDECIDING = (  # entries that do not: PEFT needs them to train, or to find what is found here
    "peft_type peft_version task_type auto_mapping base_model_name_or_path revision inference_mode "
    "init_lora_weights lora_dropout megatron_core qalora_group_size runtime_config loftq_config "
    "eva_config"
)
MERGED = frozenset(_DECIDING.split())
_KNOWN = frozenset(f"{_DECIDING} {_UNDECIDING}".split())
# Others change the base's weights before training, so an adapter alone is not what was trained.
_INITS_THAT_KEEP_THE_BASE = (True, False, None, "gaussian", "eva", "orthogonal")
_SECONDS = 10  # honest ones take milliseconds
_PATTERN_KEYS = (  # entries of LoraConfig that PEFT takes for regular expressions
    "target_modules",
    "exclude_modules",
    "layers_pattern",
    "rank_pattern",
    "alpha_pattern",
    "modules_to_save",
)
_PLAIN_NAME = re.compile(r"[\w.-]*")
# In the ways in which PEFT puts them together; what is no regular expression, it tells itself.
_MATCH_ALL = r"""
import json, re, sys
patterns, names = json.load(sys.stdin)
for pattern in patterns:
    for whole in (pattern, rf"(.*\.)?({pattern})$", rf"(^|.*\.){pattern}($|\..*)",
                  rf"(?:^|.*?\.){pattern}\.(?P<idx>\d+)\."):
        try:
            matches = re.compile(whole).match
        except (re.error, OverflowError, RecursionError):
            continue
        for name in names:
            matches(name)
"""


def deciding_entries(given: Mapping[str, Any], path: Path, *, model: str) -> dict[str, Any]:
    """Return adapter_config.json's entries that change the merged weights; raise if it is no LoRA.

    Raises:
        ModelError: it is no LoRA, or one that cannot be merged or is not checked.
    """
    kind = given.get("peft_type")
    if kind in _PROMPTS:
        raise ModelError(
            f"{model}: {path} has peft_type {kind!r}, which puts trained vectors before the prompt "
            f"and cannot be merged into weights; rmaudit audits full checkpoints and LoRA adapters"
        )
    if kind != "LORA":
        raise ModelError(
            f"{model}: {path} has peft_type {kind!r}; rmaudit merges LORA only. {MERGE_IT_THERE}"
        )
    start = given.get("init_lora_weights")
    if start not in _INITS_THAT_KEEP_THE_BASE:
        raise ModelError(
            f"{model}: {path} has init_lora_weights {start!r}, which changed the base's weights "
            f"before training, so base and adapter are not what was trained. {MERGE_IT_THERE}"
        )
    if odd := sorted(key for key, value in given.items() if value and key not in _KNOWN):
        raise ModelError(
            f"{model}: {path} has {odd[0]} {short(repr(given[odd[0]]))}, which rmaudit does not "
            f"merge: what it does to the weights, or which code it loads, is not checked. "
            f"{MERGE_IT_THERE}"
        )
    return {key: given[key] for key in MERGED if given.get(key) is not None}


def refuse_endless(
    settings: Mapping[str, Any], tensors: Iterable[str], path: Path, *, model: str
) -> None:
    """Raise if an adapter's regular expressions take too long on the base's layer names.

    `path` is the adapter_config.json that they are from. They are matched in a process of their
    own, which is ended after ten seconds.

    Raises:
        ModelError: one takes too long.
    """
    patterns = {key: sorted(_patterns(settings.get(key))) for key in _PATTERN_KEYS}
    names = sorted({part for name in tensors for part in _prefixes(name)})
    for key, found in patterns.items():
        if found and not _matching_ends(found, names):
            raise ModelError(
                f"{model}: {key} {short(found[0])!r} in {path} is a regular expression that "
                f"does not come to an end within {_SECONDS} s on the names of the base's layers; "
                f"name the layers in a list instead"
            )


def _patterns(value: object) -> set[str]:
    """Return the regular expressions in a setting: its texts that are more than plain names."""
    texts = value if isinstance(value, list | tuple | dict) else [value]
    return {text for text in texts if isinstance(text, str) and not _PLAIN_NAME.fullmatch(text)}


def _prefixes(name: str) -> list[str]:
    """Return every dotted prefix of a tensor's name, the whole name last."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _matching_ends(patterns: list[str], names: list[str]) -> bool:
    given = json.dumps([patterns, names])
    command = [sys.executable, "-I", "-S", "-c", _MATCH_ALL]
    try:
        subprocess.run(  # noqa: S603  (this program, which gets them as data)
            command, input=given, text=True, timeout=_SECONDS, check=False, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return False
    return True
