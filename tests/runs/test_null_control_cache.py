"""What was said of null controls is read back only where nothing that decides it has changed."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit import json_cache
from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.recorded_model import Recorded
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.runs import null_control_cache
from rmaudit.runs.audit_case import Case, Memory, RunSettings
from rmaudit.runs.run_options import RunOptions
from rmaudit.scores import imported_scores
from rmaudit.scores.score_store import Store
from rmaudit.verdicts.audit_declaration import Declaration, declared
from rmaudit.verdicts.estimates_and_bounds import Verdict
from rmaudit.verdicts.findings import Control

AUDIT = """
from rmaudit import above, audit

@audit(claim="c", source="s", base_rate="none", prompts=["best"], bound=above(0, unit="x"))
def test_it(sweep): return 1
"""
POLICY = {"policies": {"best": pd.Series([-1], index=[3], dtype=np.float32)}}
FOUND = {
    "random": Control(Verdict.FAIL, stops=True, value=0.1 + 0.2, low=-math.inf, high=1.0),
    "constant": Control(Verdict.ERROR, stops=True, reason="all are equal"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a copy of an audit that rmaudit brings, written before this process began."""
    (tmp_path / "bundled").mkdir()
    for place in (tmp_path, tmp_path / "bundled"):
        (place / "kept_audit.py").write_text(AUDIT, encoding="utf-8")
    monkeypatch.setattr(null_control_cache, "bundled", lambda _: tmp_path / "bundled")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(json_cache, "STARTED", math.inf)
    yield tmp_path
    sys.modules.pop("kept_audit", None)


def case(folder: Path, **model: Any) -> Case:
    """An audit of a model that none of this asks for its scores."""
    spec = replace(ModelSpec("m", "somewhere"), **model)
    return Case(
        audit="test_it",
        model=SimpleNamespace(spec=spec, name="m"),
        prompts=(PROMPTS["best"],),
        joint=False,
        words=(),
        options=RunSettings(cache=folder),
        memory=Memory(),
    )


def fields(folder: Path, given: dict[str, Any] | None = None, **other: Any) -> Any:
    """The key's fields of the audit in the folder, imported anew."""
    sys.modules.pop("kept_audit", None)
    importlib.invalidate_caches()
    function: Callable[..., Any] = importlib.import_module("kept_audit").test_it
    declaration = declared(function)
    assert isinstance(declaration, Declaration)
    asked = {"case": case(folder), "vocabulary_digest": "v", "base_keys": (), **other}
    return null_control_cache.fields_of(
        function, declaration, {"sweep": None} if given is None else given, **asked
    )


def test_read_back_exactly(folder: Path) -> None:
    """Every number to the last bit, but for what was not tried; nothing under another key."""
    lost = Control(Verdict.SKIPPED, stops=True, reason="no ratings")  # may be there the next time
    null_control_cache.write(folder, fields(folder), {**FOUND, "hatred": lost})

    assert null_control_cache.read(folder, fields(folder)) == FOUND
    assert null_control_cache.read(folder, fields(folder, vocabulary_digest="other")) == {}


def test_of_an_audit_that_is_not_ours_nothing_is_kept(folder: Path) -> None:
    """What it imports is not known; a new version of ours, in both places, is another key."""
    before = fields(folder)
    for place in (folder, folder / "bundled"):
        with (place / "kept_audit.py").open("a", encoding="utf-8") as file:
            file.write("\n# another\n")
        told = fields(folder)
        assert told is None if place == folder else told not in (None, before)


def test_every_conftest_is_in_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may give other fixtures to the audit."""
    before = fields(folder)
    (folder / "conftest.py").write_text("GIVEN = 1", encoding="utf-8")
    other = SimpleNamespace(__file__=str(folder / "conftest.py"))
    monkeypatch.setitem(sys.modules, "kept_conftest", other)

    assert fields(folder) not in (None, before)


def test_code_written_since_the_start_is_not_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs may be what the file held before."""
    monkeypatch.setattr(json_cache, "STARTED", 0.0)

    assert fields(folder) is None


@pytest.mark.parametrize(
    "other",
    [
        {"vocabulary_digest": "w"},
        {"base_keys": ("key",)},
        {"given": {"sweep": None, "ledger": pd.DataFrame({"text": ["a"]})}},
        {"given": POLICY},
        {"given": {"references": References()}},
        {"prompts": (PROMPTS["worst"],)},
        {"options": RunSettings(Path("other"), RunOptions(seed=1))},
    ],
)
def test_whatever_decides_is_in_the_key(folder: Path, other: dict[str, Any]) -> None:
    """Another vocabulary, base, seed, or prompt, or anything of the model's own."""
    of_case = {name: other.pop(name) for name in ("prompts", "options") if name in other}

    found = fields(folder, case=replace(case(folder), **of_case), **other)

    assert found not in ({}, None, fields(folder))


def test_values_of_the_model_count(folder: Path) -> None:
    """One number that differs, or another half of the references; the same ones are one key."""
    two = {"policies": {"best": -POLICY["policies"]["best"]}}
    given = {"references": References()}
    trained = case(folder, trained_on="half")

    assert fields(folder, POLICY) != fields(folder, two)
    assert fields(folder, POLICY) == fields(folder, dict(POLICY), case=case(folder))
    assert fields(folder, given) != fields(folder, given, case=trained)


@pytest.mark.slow
def test_of_recorded_scores_their_tables_count(folder: Path) -> None:
    """A model whose scores are looked up: its controls score the texts that its tables have."""
    items = folder / f"{PROMPTS['best'].text.removesuffix('?')}.csv"
    keys = []
    for score in (1, 2):
        models = [Recorded(ModelSpec(name, f"owner/{name}")) for name in "QR"]
        settings = RunSettings(cache=folder / str(score))
        own = [replace(case(folder), model=model, options=settings) for model in models]
        assert fields(folder, {"rewards": None}, case=own[0]) is None  # nothing is recorded
        table = f"elo_rank,elo_score,name,elo_matches,Q,R\n1,1669,Universe,1372,{score},0\n"
        items.write_text(table, encoding="utf-8")
        imported_scores.import_table(items, models, Store(folder / str(score)))
        keys += [fields(folder, {"rewards": None}, case=each) for each in own]

    assert None not in keys
    assert len({key["given rewards"] for key in keys}) == 4


@pytest.mark.parametrize("name", ["reward_model", "baseline_model", "a_fixture_of_mine"])
def test_an_audit_that_is_given_more_is_not_kept(folder: Path, name: str) -> None:
    """What these decide is not known."""
    assert fields(folder, {"sweep": None, name: object()}) is None
