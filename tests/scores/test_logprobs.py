"""A base's log-probabilities are kept by what decides them, and found again without a model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.errors import NotRecorded
from rmaudit.models import loading
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.models.language_model import base_of
from rmaudit.models.recorded import Recorded
from rmaudit.prompts import PROMPTS
from rmaudit.scores.logprobs import base_logprobs
from rmaudit.scores.store import Store
from rmaudit.scores.stored_scores import checksum
from tests.toys import toy_checkpoint, toy_language_model

GREATEST = PROMPTS["greatest"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two reward models and a base."""
    folder = tmp_path_factory.mktemp("home")
    toy_language_model(folder / "lm1", seed=1)
    for seed in (1, 2):
        toy_checkpoint(folder / f"rm{seed}", seed=seed)
    return folder


@pytest.mark.slow
def test_they_are_by_token_id_and_read_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the base gives each id, under what decides it; then for any model with these rows."""
    toy, other = (
        Checkpoint(ModelSpec(rm, str(home / rm), base=str(home / "lm1")), cache=tmp_path)
        for rm in ("rm1", "rm2")
    )

    found = base_logprobs(toy, GREATEST, cache=tmp_path)

    base, prefix = base_of(toy.spec, cache=tmp_path), toy.slot(GREATEST.text).prefix
    expected = base.logprobs(prefix, toy.vocabulary())
    assert tuple(found.by_id.index) == toy.vocabulary().ids
    np.testing.assert_array_equal(found.by_id.to_numpy(), expected)
    assert found.by_id.dtype == np.float32
    stored = Store(tmp_path).read(found.key)
    assert stored is not None
    assert list(stored.frame.columns) == ["id", "token", "score"]  # no `token_id`: no sweep
    assert stored.provenance["base"] == "lm1"
    assert stored.fields == {
        **base.identity,
        "prompt": GREATEST.text,
        "prefix": hashlib.sha256(json.dumps(prefix).encode()).hexdigest(),
        "rows": checksum(stored.frame[["id", "token"]]),
        "protocol": "next-token log-probability",
        "version": "1",
    }
    monkeypatch.setattr(loading, "load", None)
    again = base_logprobs(other, GREATEST, cache=tmp_path)
    assert again.key == found.key
    assert again.by_id.equals(found.by_id)


def test_of_a_recorded_model_there_are_none(home: Path, tmp_path: Path) -> None:
    """Even where a base is named: there is no tokenizer to render with."""
    toy = Recorded(ModelSpec("Q", "owner/q", base=str(home / "lm1")))

    with pytest.raises(NotRecorded) as caught:
        base_logprobs(toy, GREATEST, cache=tmp_path)

    for named in ("Q: log-probabilities of its base", "pytest audits --model Q"):
        assert named in str(caught.value)
