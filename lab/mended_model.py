"""Record what every gate finds before and after a repair by `rmaudit mend`.

    python -m lab training.hh_pairs hh.jsonl --pairs 300
    rmaudit mend R-Smol-135M --pairs hh.jsonl --gate edits --to FOLDER
    python -m lab mended_model FOLDER [--results FILE]

Reads the folder's rmaudit_mend.json and the results.json of its report, or of another run of both
models, and puts them into docs/data/mend.json, rounded, and their table into
docs/evidence/finding-to-fix.md. The audits look at the half of the words that no repair saw, those
of sentences, edits and conduct at all contexts.
"""

from __future__ import annotations

import json
from pathlib import Path

from lab.finding_to_fix import EVERY, MENDED
from lab.harness import arguments
from rmaudit.cli.mend import rows
from rmaudit.config.model_lookup import MENDED as NOTE
from rmaudit.config.model_registry import FILE
from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.report import results_reader
from rmaudit.runs.audit_importer import audits_in
from scripts import audit_pages

OUT = Path(__file__).parents[1] / "docs" / "data" / MENDED
_COPIED = ("gates", "accuracy", "held_out_pairs", "agreement", "cosine", "found")


def main() -> None:
    """Write what was found into the data, and the table."""
    parser = arguments(__doc__)
    parser.add_argument("folder", type=Path, help="the mended checkpoint")
    parser.add_argument("--results", type=Path, help="results.json of a run of both models")
    asked = parser.parse_args()
    results = asked.results or max(asked.folder.glob("reports/*/results.json"))
    note = json.loads((asked.folder / NOTE).read_text(encoding="utf-8"))
    new, old = json.loads((asked.folder / FILE).read_text(encoding="utf-8"))["models"]
    audits = rows(results_reader.read(results), (old, new), note["gates"])
    declared = (each for _, each in audits_in(bundled("audits")).values())
    gates = {each.name for each in declared if each.severity.gates and not each.figure}
    measured = {each["audit"] for each in audits if each["before"] and each["after"]}
    found = {
        "model": old,
        **{name: note[name] for name in _COPIED},
        "audits": audits,
        "not measured": sorted(gates - measured),
    }
    text = json.dumps(found)
    data = json.loads(OUT.read_text(encoding="utf-8"))
    data[EVERY] = json.loads(text, parse_float=lambda digits: round(float(digits), 4))
    OUT.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    audit_pages.main()
