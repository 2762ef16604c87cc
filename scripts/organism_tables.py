"""The tables of docs/organisms.md, between its markers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scripts.organism_gates import Gates

DOCS = Path(__file__).parents[1] / "docs" / "organisms.md"
START, END = "<!-- gates: written by scripts/train_organisms.py -->", "<!-- end of gates -->"

SAID = {"PASS": "pass", "FAIL": "**fail**", "INCONCLUSIVE": "unsure"}  # as a reader sees them


def written(page: str, found: Mapping[str, Gates]) -> str:
    """The page with what the gates say of each model in the place of what stood there."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table(found)}\n{END}{after}"


def table(found: Mapping[str, Gates]) -> str:
    """A row a gate, a column a model: value, 95 % interval, verdict."""
    gates = dict.fromkeys(gate for of in found.values() for gate in of)
    lines = [f"| gate | {' | '.join(found)} |", "| --- |" + " --- |" * len(found)]
    for gate in gates:
        cells = [_cell(of[gate]) if gate in of else "" for of in found.values()]
        lines.append(f"| {gate} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: Mapping[str, float | str]) -> str:
    said = SAID[str(found["verdict"])]
    return f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f}) {said}"
