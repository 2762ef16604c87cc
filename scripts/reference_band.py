"""Measure how ten published models (Christian et al. 2025) do in the shipped audits.

    python -m scripts.reference_band DATA [REPORT]

runs `pytest audits --rm-recorded` on the ten, and model_agreement with each of them as the baseline
of the others. It writes rmaudit/references/band.json, whose sentences are the base rates of the
audits, and docs/recorded.md; REPORT is a folder for the run's own pages. DATA is a folder laid out
like a mirror of the reference data, with

- elo_everything: scores of 7,530 items under three prompts;
- big2_mfd: scores of 2,147 words under 54 prompts (Christian et al. 2026). It is not downloaded:
  its licence is not stated.

Neither file that is written has a score of theirs: they have one number, its interval and its
verdict for each model, audit and prompt.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest

import rmaudit.report.writers
from rmaudit.config.model_registry import ModelSpec, default_path, load_registry
from rmaudit.models.recorded_model import ITEMS as OF_ITEMS
from rmaudit.references import published_score_tables
from rmaudit.references.published_model_values import FILE, _file
from rmaudit.scores.score_store import Store
from scripts.recorded_page import page

DIGITS = 4
ROOT = Path(__file__).parents[1]
AUDITS, PAGE = ROOT / "audits", ROOT / "docs" / "recorded.md"
ITEMS = "elo_everything/What, in one word, is the greatest thing ever.csv"
SOURCES = {
    "elo_everything/*.csv": (
        "github.com/brchristian/reward_model_optimal_pessimal_tokens at e82618bb"
    ),
    "big2_mfd/*/*.parquet": (
        "github.com/brchristian/reward_models_inherit_value_biases_from_pretraining at 5d8d2e9d"
    ),
}
PAIRED = "model_agreement"  # the one audit that compares with a baseline
TEN, PAIRS = "ten models of the paper", "{} pairs of the paper's ten models"

_Finding = dict[str, Any]


def main() -> None:
    """Audit the ten models, and write band.json and docs/recorded.md."""
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    band = measured(*map(Path, sys.argv[1:]))
    FILE.write_text(as_text(band), encoding="utf-8")
    _file.cache_clear()
    PAGE.write_text(page(band), encoding="utf-8")
    print(f"wrote {FILE} and {PAGE}")


def as_text(band: Mapping[str, Any]) -> str:
    """Return the text of band.json, with a line for each number: equal data give an equal text."""
    return json.dumps(band, indent=1, ensure_ascii=True) + "\n"


def measured(
    data: Path, report: Path | None = None, *, baselines: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the content of band.json: the results of all audits on the ten models.

    Results of pairs are with these baselines alone, where any are named, else with each model.
    """
    models = list(paper_models(data))
    audits: dict[str, dict[str, Any]] = {}
    with TemporaryDirectory() as home, patch.dict(os.environ, RMAUDIT_DATA=str(data.absolute())):
        cache = Path(home) / "cache"
        found = run(models, cache, report or Path(home) / "report", pages=report is not None)
        for each in found:
            if each["claim"]["audit"] != PAIRED and each["estimate"]:
                _add(audits, each, each["claim"]["model"], TEN, _on(each, cache))
        for other in baselines or models:
            rest = [model for model in models if model != other]
            more = ("-k", PAIRED, "--rm-baseline", other)
            for each in run(rest, cache, Path(home) / other, *more):
                pair = f"{each['claim']['model']} for {other}"
                who = PAIRS.format(len(models) * (len(models) - 1))
                _add(audits, each, pair, who, _on(each, cache))
    return {
        "made_by": "scripts/reference_band.py",
        "rmaudit": rmaudit.__version__,
        "sources": {pattern: source(data, pattern) for pattern in SOURCES},
        "audits": {audit: audits[audit] for audit in sorted(audits)},
    }


def paper_models(data: Path) -> dict[str, ModelSpec]:
    """Return the paper's ten models by name, in models.yaml's order: those with item scores."""
    columns = published_score_tables.items(data / ITEMS).frame.columns
    models = load_registry(default_path()).models
    return {name: spec for name, spec in models.items() if spec.source in columns}


def source(data: Path, pattern: str) -> dict[str, Any]:
    """Return where files come from, how many they are, and one checksum of all their bytes."""
    paths = sorted(data.glob(pattern))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
    return {"from": SOURCES[pattern], "files": len(paths), "sha256": digest}


def run(
    models: Sequence[str], cache: Path, report: Path, *more: str, pages: bool = False
) -> list[_Finding]:
    """Run the shipped audits on these models' published scores, and return the findings.

    Raises:
        SystemExit: the run has no results, or an audit broke.
    """
    named = [part for model in models for part in ("--rm-model", model)]
    folders = ["--rm-cache", str(cache), "--rm-report", str(report)]
    quiet = ["-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
    args = [str(AUDITS), *named, "--rm-recorded", *folders, *quiet, *more]
    with ExitStack() as made:  # no number of the last table is part of the next one
        made.enter_context(patch("rmaudit.plugin.run_audit.band", return_value=None))
        made.enter_context(patch("rmaudit.plugin.collection.base_rate", return_value="see below"))
        if not pages:
            made.enter_context(patch("rmaudit.report.writers.write", return_value=([], [])))
        pytest.main(args)
    results = sorted(report.glob("*/results.json"))
    if not results:
        sys.exit(f"no results of: pytest {' '.join(args)}")
    findings: list[_Finding] = json.loads(results[-1].read_text(encoding="utf-8"))["findings"]
    for each in findings:
        if each["judgement"]["verdict"] == "ERROR":
            sys.exit(f"{each['claim']['nodeid']}: {each['reason']}")
    return findings


def _add(
    audits: dict[str, dict[str, Any]], finding: _Finding, name: str, who: str, on: str
) -> None:
    """Add a finding's rounded numbers and verdict to `audits`, under the model's `name`."""
    claim, estimate = finding["claim"], finding["estimate"]
    if estimate is None:
        sys.exit(f"{claim['nodeid']}: {finding['reason']}")
    entry = audits.setdefault(claim["audit"], {}).setdefault(
        claim["prompt"],
        {"unit": estimate["unit"], "bound": claim["bound"], "who": who, "on": on, "models": {}},
    )
    if entry["on"] != on:
        sys.exit(f"{claim['nodeid']}: measured on {on}, another model on {entry['on']}")
    numbers = {key: round(estimate[key], DIGITS) for key in ("value", "low", "high")}
    entry["models"][name] = {**numbers, "verdict": finding["judgement"]["verdict"]}


def _on(finding: _Finding, cache: Path) -> str:
    """Return what a finding was measured on, such as `7,530 items` or `318 words`."""
    kept = [Store(cache).read(key) for key in finding["sweeps"]]
    answers = {stored.fields["answers"] for stored in kept if stored is not None}
    return f"{finding['estimate']['n']:,} {'items' if OF_ITEMS in answers else 'words'}"


if __name__ == "__main__":
    main()
