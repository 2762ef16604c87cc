"""A base's log-probabilities are kept by what decides them, and found again without a model."""

from __future__ import annotations

from dataclasses import replace
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
from tests.toys import TEMPLATE, toy_checkpoint, toy_language_model

GREATEST, WORST = PROMPTS["greatest"], PROMPTS["worst"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two reward models and two bases."""
    folder = tmp_path_factory.mktemp("home")
    for seed in (1, 2):
        toy_checkpoint(folder / f"rm{seed}", seed=seed)
        toy_language_model(folder / f"lm{seed}", seed=seed)
    return folder


def model(home: Path, cache: Path, rm: str = "rm1", lm: str = "lm1") -> Checkpoint:
    """A reward model with a base."""
    return Checkpoint(ModelSpec(rm, str(home / rm), base=str(home / lm)), cache=cache)


def test_they_are_by_token_id(home: Path, tmp_path: Path) -> None:
    """Each id of the vocabulary has what the base itself gives, at the right place."""
    toy = model(home, tmp_path)

    found = base_logprobs(toy, GREATEST, cache=tmp_path).by_id

    base = base_of(toy.spec, cache=tmp_path)
    expected = base.logprobs(toy.slot(GREATEST.text).prefix, toy.vocabulary())
    assert tuple(found.index) == toy.vocabulary().ids
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert found.dtype == np.float32


@pytest.mark.parametrize("rm", ["rm1", "rm2"])
def test_they_are_read_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rm: str
) -> None:
    """Without loading the base; for another reward model with the same rows as well."""
    first = base_logprobs(model(home, tmp_path), GREATEST, cache=tmp_path)
    monkeypatch.setattr(loading, "load", None)

    again = base_logprobs(model(home, tmp_path, rm), GREATEST, cache=tmp_path)

    assert again.key == first.key
    assert again.by_id.equals(first.by_id)


def test_what_decides_them_is_another_key(home: Path, tmp_path: Path) -> None:
    """Prompt, base, dtype, and what the template prints before the answer."""
    toy = model(home, tmp_path)
    other = tmp_path / "other.jinja"
    other.write_text(TEMPLATE.replace("<|start|>", "<|start|><|start|>"), encoding="utf-8")
    again = replace(toy.spec, template=str(other))
    half = Checkpoint(
        ModelSpec("rm1", str(home / "rm1"), base=str(home / "lm1"), dtype="bfloat16"),
        cache=tmp_path,
    )
    keys = {
        base_logprobs(toy, GREATEST, cache=tmp_path).key,
        base_logprobs(toy, WORST, cache=tmp_path).key,
        base_logprobs(model(home, tmp_path, lm="lm2"), GREATEST, cache=tmp_path).key,
        base_logprobs(half, GREATEST, cache=tmp_path).key,
        base_logprobs(Checkpoint(again, cache=tmp_path), GREATEST, cache=tmp_path).key,
    }

    assert len(keys) == 5


def test_a_reward_model_s_own_key_is_no_such(home: Path, tmp_path: Path) -> None:
    """No report takes them for a sweep: a sweep's rows have a `token_id`."""
    found = base_logprobs(model(home, tmp_path), GREATEST, cache=tmp_path)

    stored = Store(tmp_path).read(found.key)

    assert stored is not None
    assert list(stored.frame.columns) == ["id", "token", "score"]
    assert stored.fields["protocol"] == "next-token log-probability"
    assert stored.provenance["base"] == "lm1"


def test_of_a_recorded_model_there_are_none(home: Path, tmp_path: Path) -> None:
    """Even where a base is named: there is no tokenizer to render with."""
    toy = Recorded(ModelSpec("Q", "owner/q", base=str(home / "lm1")))

    with pytest.raises(NotRecorded) as caught:
        base_logprobs(toy, GREATEST, cache=tmp_path)

    assert str(caught.value) == (
        "Q: log-probabilities of its base are not recorded; get it with: pytest audits --model Q"
    )
