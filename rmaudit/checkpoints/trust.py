"""Code that a checkpoint brings, and whether its commit pins all of it. Nothing is run here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rmaudit.config.registry import ModelSpec, is_hub_id
from rmaudit.errors import ModelError

MAPPED = ("config.json", "tokenizer_config.json")


def refuse_loose(spec: ModelSpec) -> None:
    """Refuse code that no commit pins. The registry's own check is of models.yaml only.

    Raises:
        ModelError: the source is no hub id, or its revision no full commit hash.
    """
    if not is_hub_id(spec.source) or not re.fullmatch("[0-9a-f]{40}", spec.revision or ""):
        message = (
            f"{spec.name}: trust_remote_code is for a hub id with its `revision`, a full commit "
            f"hash of 40 hex digits, and this is {spec.source!r} at {spec.revision!r}; its code is "
            f"not run. Put the checkpoint and its code on the hub, and name that commit"
        )
        raise ModelError(message)


def refuse_foreign(folder: Path, spec: ModelSpec) -> None:
    """Refuse code of another repository (`owner/name--module.Class`), which no hash here pins.

    Raises:
        ModelError: config.json or tokenizer_config.json points at such code.
    """
    for name in MAPPED:
        for reference in code(folder / name):
            repository, apart, _ = reference.rpartition("--")
            if apart and repository != spec.source:
                message = (
                    f"{spec.name}: {name} in {folder} points at code of another repository, "
                    f"{reference!r}; `revision` pins {spec.source} only, so it is not run. Copy "
                    f"that code into a repository of your own, read it, and name its commit"
                )
                raise ModelError(message)


def code(path: Path) -> Iterator[str]:
    """What a JSON file's `auto_map` points at, such as `modeling_own.OwnModel`."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # whoever needs the file says what is wrong with it
    mapped = said.get("auto_map") if isinstance(said, Mapping) else None
    values: list[Any] = list(mapped.values()) if isinstance(mapped, Mapping) else [mapped]
    for value in values:
        yield from (str(one) for one in (value if isinstance(value, list) else [value]) if one)
