"""Regular expressions that others wrote, tried before they are used: some never come to an end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rmaudit.checkpoints.reading import short
from rmaudit.errors import ModelError

_SECONDS = 10  # honest ones take milliseconds
_WHERE = (  # entries of LoraConfig that PEFT takes for regular expressions
    "target_modules",
    "exclude_modules",
    "layers_pattern",
    "rank_pattern",
    "alpha_pattern",
    "modules_to_save",
)
_PLAIN = re.compile(r"[\w.-]*")
# In the ways in which PEFT puts them together; what is no regular expression, it tells itself.
_TRY = r"""
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


def refuse_endless(
    settings: Mapping[str, Any], tensors: Iterable[str], path: Path, *, model: str
) -> None:
    """Refuse an adapter's regular expressions that take too long on the names of its base's layers.

    They are matched in a process of their own, which is ended after ten seconds.

    Raises:
        ModelError: one takes too long; they are those of the adapter_config.json at `path`.
    """
    patterns = {key: sorted(_patterns(settings.get(key))) for key in _WHERE}
    names = sorted({part for name in tensors for part in _prefixes(name)})
    for key, found in patterns.items():
        if found and not _ends(found, names):
            message = (
                f"{model}: {key} {short(found[0])!r} in {path} is a regular expression that "
                f"does not come to an end within {_SECONDS} s on the names of the base's layers; "
                f"name the layers in a list instead"
            )
            raise ModelError(message)


def _patterns(value: object) -> set[str]:
    """The texts of a setting that are more than a plain name."""
    texts = value if isinstance(value, list | tuple | dict) else [value]
    return {text for text in texts if isinstance(text, str) and not _PLAIN.fullmatch(text)}


def _prefixes(name: str) -> list[str]:
    """A tensor's layer, and the layers that it is in."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _ends(patterns: list[str], names: list[str]) -> bool:
    given = json.dumps([patterns, names])
    command = [sys.executable, "-I", "-S", "-c", _TRY]
    try:
        subprocess.run(  # noqa: S603  (this program, which gets them as data)
            command, input=given, text=True, timeout=_SECONDS, check=False, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return False
    return True
