"""Build an organism that is a checkpoint: R-Smol-135M with its head retrained on flawed labels.

    pytest audits --rm-models "$(python -m lab organism NAME)"

In `fair` no flaw was planted; each of the others fails at least one gate.

The heads are made by `lab/training/organisms.py` and committed under `heads/`, each with what
was planted. `heads/gates.json` has what every gate finds; `docs/organisms.md` has it in a table.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

from lab.harness import arguments
from rmaudit.checkpoints import bundled_model, folders_built_once
from rmaudit.config.model_registry import FILE
from rmaudit.config.paths_and_atomic_writes import default_cache
from rmaudit.errors import ModelError, SpecError, nearest

HEADS = Path(__file__).parent / "heads"
KEY = "score.weight"
_WEIGHTS = "model.safetensors"
_FORMAT = 1  # raise it when the way the folder is built changes


def names() -> list[str]:
    """Return the sorted names of the trained organisms (checkpoints with a planted flaw)."""
    return sorted(path.stem for path in HEADS.glob("*.safetensors"))


def build(name: str, cache: Path) -> Path:
    """Return the checkpoint folder of a trained organism (flawed model); build it if missing.

    It is below `cache`. The folder has a registry of one model, `models.yaml`, which says that it
    was trained on half of the references: `pytest audits --rm-models FOLDER/models.yaml`. Builds
    R-Smol-135M first if need be; an organism is 283 MB on disk.

    Raises:
        SpecError: there is no such organism.
        ModelError: R-Smol-135M cannot be had, or the head was trained on another backbone.
    """
    if name not in names():
        near = nearest(name, names())
        raise SpecError(f"unknown organism {name!r};{near} known: {', '.join(names())}")
    head = HEADS / f"{name}.safetensors"
    about = json.loads(head.with_suffix(".json").read_text(encoding="utf-8"))
    _refuse_another_backbone(name, about["trunk_sha256"])
    base = bundled_model.build(cache)
    parts = (base.name.encode(), head.read_bytes(), about["planted"].encode(), bytes([_FORMAT]))
    version = hashlib.sha256(b"|".join(parts)).hexdigest()[:12]
    folder = base.parent / f"R-Smol-{name}-{version}"

    def write(to: Path) -> None:
        _write_with_head(base, head, to)
        (to / FILE).write_text(_registry_text(name, about["planted"]), encoding="utf-8")

    return folders_built_once.build(folder, cache, write)


def _refuse_another_backbone(name: str, trained_on: str) -> None:
    found = hashlib.sha256(bundled_model.UPDATE.read_bytes()).hexdigest()
    if found != trained_on:
        message = (
            f"{name}: its head was trained on the backbone of {bundled_model.UPDATE.name} "
            f"{trained_on[:12]}, but {bundled_model.NAME} has {found[:12]}; train it again: "
            f"python -m lab training.organisms"
        )
        raise ModelError(message)


def _write_with_head(base: Path, head: Path, folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors, own = load_file(base / _WEIGHTS), load_file(head)
    tensors[KEY] = own[KEY].to(tensors[KEY].dtype).reshape_as(tensors[KEY])
    save_file(tensors, folder / _WEIGHTS, metadata={"format": "pt"})
    for path in base.iterdir():
        if path.name != _WEIGHTS:
            _link(path, folder / path.name)


def _link(path: Path, to: Path) -> None:
    try:
        os.link(path, to)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, to)


def _registry_text(name: str, planted: str) -> str:
    """Return the text of the organism's models.yaml, written as JSON (which is valid YAML)."""
    entry = {
        "source": "./.",
        "default": True,
        "base_model": bundled_model.NAME,
        "trained_on": bundled_model.SPLIT_SALT,
        "notes": [f"A model organism: {bundled_model.NAME} with its head retrained. {planted}"],
    }
    return json.dumps({"models": {f"R-Smol-{name}": entry}}, indent=1) + "\n"


def main() -> None:
    """Build the organism that is named, and print the path of its registry."""
    parser = arguments(__doc__)
    parser.add_argument("name", help="a wrong one lists all")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="built models")
    asked = parser.parse_args()
    print(build(asked.name, asked.cache) / FILE)
