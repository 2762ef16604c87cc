"""Compare what two checkouts found on the same model, to the last bit.

python scripts/same_results.py OLD/results.json NEW/results.json [--only-gates]

Run it after code was taken away or moved: OLD was written by the code of before, NEW by that of
after, on OLD's cache (`--rm-cache`), so that NEW computes nothing anew. Of each finding of NEW, the
claim, the estimate with all of its parts, the judgement with both p-values, the null controls and
the reference band must be OLD's; of each figure of NEW, the estimate, whatever OLD made of it; of
each sweep, its key and its rewards; of the run, the verdict.

It prints what differs, a line each, and exits with 1 if anything does. Where a test lies and how
to repeat it may differ. `--only-gates` leaves out audits that only inform.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

APART = {"nodeid", "repeat"}  # names the file and the line of a test, not what it found


def main() -> None:
    """Print each difference, and how much was compared."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only-gates", action="store_true", help="leave out what only informs")
    given = parser.parse_args()
    old, new = _read(given.old), _read(given.new)
    found = [*_findings(old, new, gates=given.only_gates), *_sweeps(old, new)]
    found += _differences(old["verdict"], new["verdict"], "verdict")
    for line in found:
        print(line)
    count, sweeps = len(_by_name(new, gates=given.only_gates)), len(_sweeps_of(new))
    print(f"{count} findings and {sweeps} sweeps compared: {len(found)} differences")
    sys.exit(bool(found))


def _read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    document: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return document


def _findings(old: dict[str, Any], new: dict[str, Any], *, gates: bool) -> Iterator[str]:
    before, after = _by_name(old, gates=gates), _by_name(new, gates=gates)
    for name in before.keys() - after.keys():
        yield f"{' '.join(name)}: is missing"
    for name, finding in after.items():
        if name not in before:
            yield f"{' '.join(name)}: is new"
        else:
            was = before[name]
            if "claim" not in finding:  # a figure
                was = {key: was[key] for key in finding}
            yield from _differences(was, finding, " ".join(name))


def _by_name(document: dict[str, Any], *, gates: bool) -> dict[tuple[str, str, str], Any]:
    """Return the findings, and what figures have in common with these, by model, audit, prompt."""
    found = {
        (claim["model"], claim["audit"], claim["prompt"]): finding
        for finding in document["findings"]
        for claim in (finding["claim"],)
        if not (gates and finding["judgement"]["severity"] == "info")
    }
    figures = [] if gates else document.get("figures", [])
    return found | {
        (each["model"], each["audit"], each["prompt"]): {
            key: each[key] for key in ("estimate", "reason", "sweeps")
        }
        for each in figures
    }


def _sweeps(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    before, after = _sweeps_of(old), _sweeps_of(new)
    for name in before.keys() ^ after.keys():
        yield f"sweep {' '.join(name)}: only in {'OLD' if name in before else 'NEW'}"
    for name in before.keys() & after.keys():
        yield from _differences(before[name], after[name], f"sweep {' '.join(name)}")


def _sweeps_of(document: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (model["name"], sweep["prompt"]): {
            "key": sweep["key"],
            "scores": sweep["scores"] and sweep["scores"]["sha256"],
        }
        for model in document["models"]
        for sweep in model["sweeps"]
    }


def _differences(old: Any, new: Any, where: str) -> Iterator[str]:  # noqa: ANN401  (any JSON)
    """Yield a line for each value that is not the same in both, by its path of keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(new.keys() - old.keys())]:
            if key in APART:
                continue
            if key in old and key in new:
                yield from _differences(old[key], new[key], f"{where}: {key}")
            else:
                yield f"{where}: {key}: only in {'OLD' if key in old else 'NEW'}"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, f"{where}: {index}")
    elif old != new or type(old) is not type(new):
        yield f"{where}: {_short(old)} in OLD, {_short(new)} in NEW"


def _short(value: Any) -> str:  # noqa: ANN401  (any JSON)
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


if __name__ == "__main__":
    main()
