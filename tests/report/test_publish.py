"""A run's folder: which sweeps are in it, and how much of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from rmaudit.prompts import FAMILY
from rmaudit.report import document, packing
from rmaudit.report.publish import record
from rmaudit.scores.store import Store
from tests.findings import but
from tests.report.test_document import FINDING, SPEC


def test_prompts_that_audits_name_keep_every_score(tmp_path: Path) -> None:
    """Of a family of wordings there are summaries; one that is also named alone is whole."""
    store = Store(tmp_path)
    frame = pd.DataFrame({"token_id": np.arange(9, dtype=np.int32)})
    frame["token"] = frame["text"] = [f"w{i}" for i in frame["token_id"]]
    scores = np.arange(9, dtype=np.float32)[::-1]
    wordings = list(FAMILY.values())[:5]
    keys = [
        store.fill({"prompt": prompt.text}, frame, lambda which: scores[which], dict).key
        for prompt in wordings
    ]
    findings = [
        but(FINDING, prompt="5 prompts", sweeps=tuple(keys)),
        but(FINDING, prompt=wordings[1].name, sweeps=(keys[1],)),
    ]

    _, folder = record(findings, [SPEC], store, base=tmp_path / "out", command="pytest", seed=0)

    made = document.read(folder / "results.json")
    sweeps = {sweep.prompt: sweep for sweep in made.models[0].sweeps}
    assert list(sweeps) == [prompt.name for prompt in wordings]
    assert [name for name, sweep in sweeps.items() if sweep.scores] == [wordings[1].name]
    found = packing.frame(made.vocabularies, sweeps[wordings[1].name])
    pd.testing.assert_frame_equal(found, frame.assign(score=scores))
