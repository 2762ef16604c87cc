"""scripts/same_results.py sees a number that moved in its last bit, and what is missing."""

from __future__ import annotations

import copy
import gzip
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import same_results

DEMO = Path(__file__).parents[1] / "rmaudit" / "cli" / "demo" / "results.json.gz"


def moved(document: dict[str, Any]) -> None:
    """Move one value by its last bit."""
    estimate = next(each["estimate"] for each in document["findings"] if each["estimate"])
    estimate["value"] = math.nextafter(estimate["value"], math.inf)


def dropped(document: dict[str, Any]) -> None:
    """Take away an audit that is not removed."""
    document["findings"] = [
        each for each in document["findings"] if each["claim"]["audit"] != "positive_skew"
    ]


def rekeyed(document: dict[str, Any]) -> None:
    """Give a sweep another key."""
    document["models"][0]["sweeps"][0]["key"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (moved, "estimate: value: "),
        (dropped, "positive_skew greatest: is missing"),
        (rekeyed, "key: "),
        (lambda _: None, "0 differences"),
    ],
)
def test_what_differs_is_named(
    change: Any,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By its path; the exit code says whether anything does."""
    document = json.loads(gzip.decompress(DEMO.read_bytes()))
    other = copy.deepcopy(document)
    change(other)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(other))
    monkeypatch.setattr(sys, "argv", ["same_results", str(DEMO), str(path)])

    with pytest.raises(SystemExit) as ended:
        same_results.main()

    printed = capsys.readouterr().out
    assert said in printed
    assert bool(ended.value.code) == ("0 differences" not in printed)
