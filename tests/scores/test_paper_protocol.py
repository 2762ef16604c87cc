"""The paper's protocol: rows that ids share, rendered once and scored once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rmaudit.config.registry import ModelSpec
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.prompts import PROMPTS
from rmaudit.scores import store
from rmaudit.scores.sweep import sweep
from tests.scores.letters import Letters
from tests.toys import toy_checkpoint, toy_tokenizer

SIZE = len(toy_tokenizer())


def test_under_the_papers_protocol_ids_share_rows(tmp_path: Path, unmeasured: None) -> None:
    """The frame is the exact one's but for the scores; each distinct row is scored once."""
    model = Letters()

    swept = sweep(model, "best", protocol="paper", cache=tmp_path)

    base = len(PROMPTS["best"].text) + 9
    exact = sweep(model, "best", cache=tmp_path / "exact")
    assert swept.frame["score"].tolist() == [base, base + 1, base + 1, base - 1, base - 1]
    assert swept.frame["score"].dtype == np.float32
    assert list(swept.frame.columns) == list(exact.frame.columns)
    pd.testing.assert_frame_equal(
        swept.frame.drop(columns="score"), exact.frame.drop(columns="score")
    )
    assert len([row for prompt, row in model.scored if not prompt]) == 3
    assert swept.key != exact.key


def test_a_paper_sweep_says_so(tmp_path: Path) -> None:
    """Protocol, template, what stands around the hole, and what became of the ids."""
    about = sweep(Letters(), "best", protocol="paper", cache=tmp_path).provenance

    assert (about["protocol"], about["template"], about["distinct_rows"]) == ("paper", "1a", 3)
    assert (about["prefix"], about["suffix"]) == (f"<{PROMPTS['best'].text}>", "</>")
    assert len(about["rendered_rows"]) == 64


def test_a_paper_sweep_is_read_back_without_rendering(tmp_path: Path) -> None:
    """Rendering a vocabulary takes long: the key does not need it. Another template does."""
    first = sweep(Letters(), "best", protocol="paper", cache=tmp_path)
    model, other = Letters(), Letters()
    other.template_digest = "1b"

    again = sweep(model, "best", protocol="paper", cache=tmp_path)
    anew = sweep(other, "best", protocol="paper", cache=tmp_path)

    assert (model.rendered, model.scored, other.rendered) == (0, [], 1)
    assert (again.key, again.provenance) == (first.key, first.provenance)
    assert anew.key != first.key
    pd.testing.assert_frame_equal(again.frame, first.frame)


def test_a_broken_paper_sweep_goes_on(
    tmp_path: Path, unmeasured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The distinct rows that were scored before a kill are not scored again."""
    monkeypatch.setattr(store, "SHARD", 1)
    model, real = Letters(), Letters.score_rows

    def score(self: Letters, rows: Sequence[Any], **settings: Any) -> Any:
        if len(self.scored) == 2:
            raise KeyboardInterrupt
        return real(self, rows, **settings)

    with monkeypatch.context() as broken:
        broken.setattr(Letters, "score_rows", score)
        with pytest.raises(KeyboardInterrupt):
            sweep(model, "best", protocol="paper", cache=tmp_path)
    again = Letters()

    swept = sweep(again, "best", protocol="paper", cache=tmp_path)

    assert (len(model.scored), len(again.scored)) == (2, 1)
    assert swept.frame["score"].notna().all()


def test_a_checkpoint_sweeps_under_the_papers_protocol(tmp_path: Path) -> None:
    """Where a row is the exact one's, so is the score; the rest are their rows' scores."""
    folder = toy_checkpoint(tmp_path / "toy")
    model = Checkpoint(ModelSpec("toy", str(folder)), cache=tmp_path)

    swept = sweep(model, "greatest", protocol="paper", cache=tmp_path).frame
    exact = sweep(model, "greatest", cache=tmp_path).frame

    rows = model.retokenized(PROMPTS["greatest"].text, swept["text"].tolist())
    slot = model.slot(PROMPTS["greatest"].text)
    same = [row == (*slot.prefix, i, *slot.suffix) for i, row in enumerate(rows)]
    of_row = dict(zip(rows, swept["score"], strict=True))
    assert swept["token_id"].tolist() == list(range(SIZE))
    assert 0 < sum(same) < SIZE
    assert swept["score"][same].tolist() == pytest.approx(exact["score"][same].tolist(), abs=1e-5)
    assert swept["score"].tolist() == [of_row[row] for row in rows]
