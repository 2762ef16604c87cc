"""Write a mended checkpoint beside the old one, with notes of what was done to it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rmaudit.checkpoints import head_writing
from rmaudit.config.model_lookup import MENDED
from rmaudit.config.model_registry import FILE
from rmaudit.config.model_spec import ModelSpec
from rmaudit.runs.gate_contrasts import HALVED
from rmaudit.runs.gates_on_a_half import GateChange
from rmaudit.runs.head_mending import Mended, salt_of
from rmaudit.runs.states_of_pairs import HeadAndPairs
from rmaudit.scores.score_parquet import checksum

_DECIDING = (
    "revision",
    "dtype",
    "pool",
    "compiled",
    "quantized",
    "template",
    "base",
    "policy",
    "pairs",
)
_README = "README.md"


def write(given: HeadAndPairs, found: Mended, to: Path) -> tuple[dict[str, Any], tuple[str, str]]:
    """Write the checkpoint to the folder `to`, with rmaudit_mend.json, models.yaml and README.md.

    models.yaml has the new checkpoint and the old one, both with the salt of the half that judges.
    Return what rmaudit_mend.json says, and the names of the old and of the new one.

    Raises as `head_writing.write` does.
    """
    model, pairs = given.model, given.pairs
    gates = list(dict.fromkeys(each.gate for each in found.gates))
    salt = salt_of(model)
    said = (
        f"Mended by rmaudit: the head of {model.name} was changed by as little as its owner's "
        f"pairs allow, so that {', '.join(gates)} would not fail on one half of their words and "
        f"contexts (salt {salt!r}). Audits of this model look at the other half of the words."
    )
    if whole := [gate for gate in gates if gate not in HALVED]:
        said += (
            f" Its audits of {', '.join(whole)} look at all contexts, also at those that decided "
            f"the change, so that they flatter it; {MENDED} has what the other half finds."
        )
    head_writing.write(given.checked, found.old, found.head, to)
    old, new = (re.sub(r"[^\w.-]", "-", name)[:190] for name in (model.name, to.name))
    new = f"{new}-mended" if new == old else new
    entries = {
        new: {**_entry(model.spec), "source": "./.", "default": True, "notes": [said]},
        old: {**_entry(model.spec), "source": _absolute(model.spec.source)},
    }
    for entry in entries.values():
        entry["trained_on"] = salt
    entries[new].pop("revision", None)
    note = {
        "said": said,
        "from": {"name": model.name, "source": model.spec.source, "identity": dict(model.identity)},
        "gates": gates,
        "salt": salt,
        "pairs": {"source": pairs.source, "sha256": checksum(pairs.frame.drop(columns="reward"))},
        "accuracy": found.accuracy,
        "held_out_pairs": found.held_out,
        "agreement": found.agreement,
        "cosine": found.cosine,
        "found": [as_json(each) for each in found.gates],
    }
    _write(to / MENDED, note)
    _write(to / FILE, {"models": entries})
    readme = to / _README
    card = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    done = (
        f"{said} {MENDED} says what this changed, and what it cost. Only the head is another: the "
        f"backbone is as it was."
    )
    readme.write_text(f"{card}\n\n## Mended by rmaudit\n\n{done}\n", encoding="utf-8")
    return note, (old, new)


def as_json(change: GateChange) -> dict[str, Any]:
    """Return what a gate finds before and after as plain data, without its evidence."""
    kept = ("value", "low", "high", "unit")
    found = [each and {name: asdict(each)[name] for name in kept} for each in change.found]
    about = {name: getattr(change, name) for name in ("gate", "half", "contrast", "excess")}
    return {**about, "found": found, "verdicts": change.verdicts}


def _entry(spec: ModelSpec) -> dict[str, Any]:
    """Return what an entry of models.yaml says of how the model is scored."""
    given = {name: getattr(spec, name) for name in _DECIDING}
    return {name: value for name, value in given.items() if value not in {None, "auto", False}}


def _absolute(source: str) -> str:
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
