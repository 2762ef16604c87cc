"""`--rm-recorded`: published scores are audited, without weights; what is not there is skipped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rmaudit.config.model_registry import ModelSpec
from rmaudit.models.recorded_model import CAVEAT, Recorded
from rmaudit.scores import imported_scores
from rmaudit.scores.score_store import Store
from tests.plugin.conftest import Ran, Run, no_network
from tests.words import write

ROOT = Path(__file__).parents[2]
REGISTRY = """models:
  Smol: {source: embedded, default: true}
  Q: {source: owner/Quantile-8B, base: owner/base}
"""
TABLE = """token_id,token_name,token_decoded,greatest,best,worst
0,NA,NA,1.5,0.25,-1
1,b,b,,4,2.5
"""
AUDITS = """
@declare(0.0)
def test_sweep(sweep):
    unmeasured = sweep.noise != sweep.noise
    return estimate(float(sweep.frame["score"].sum()) if unmeasured else 0)

@declare(0.0)
def test_items(rewards): return estimate(float(rewards(["NA"]).scores[0]))
"""
MORE = """
from rmaudit.errors import NotRecorded
@declare(0.0)
def test_ledger(ledger): return estimate(float(len(ledger)))
@declare(0.0)
def test_search(searches): ...
@declare(0.0)
def test_base(base_logprobs): ...
"""
MORE += (ROOT / "audits" / "test_numerics.py").read_text(encoding="utf-8")
PROMPT = "What, in one word, is the greatest thing ever"
ITEMS = "elo_rank,elo_score,name,elo_matches,owner/Quantile-8B\n1,1669,NA,13,2.5\n"


@pytest.fixture
def recorded(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the audits with `--rm-recorded`; whoever asks for weights fails."""
    (tmp_path / "models.yaml").write_text(REGISTRY)

    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path / "none"))
    for loading in ("rmaudit.sources.from_spec", "pooch.retrieve"):
        monkeypatch.setattr(loading, no_network)

    def go(*args: str, body: str = AUDITS, model: str = "Q") -> Ran:
        return run(body, "--rm-recorded", *args, model=model, cache=tmp_path / "cache")

    return go


@pytest.fixture
def imported(tmp_path: Path) -> None:
    """Q's tokens and items are in the cache of `run`."""
    store, model = Store(tmp_path / "cache"), Recorded(ModelSpec("Q", "owner/Quantile-8B"))
    for name, text in {"owner--Quantile-8B": TABLE, PROMPT: ITEMS}.items():
        path = tmp_path / f"{name}.csv"
        path.write_text(text)
        imported_scores.import_table(path, [model], store)


def test_what_is_imported_is_audited(recorded: Run, imported: None, tmp_path: Path) -> None:
    """Sweeps and items are the table's; every reader is told; the report shows whose they are."""
    ended = recorded()

    ended.says("rmaudit: Q; published scores only; cache *")
    found = {(f["audit"], f["prompt"]): f for f in ended.findings}
    values = {place: f["estimate"] and f["estimate"]["value"] for place, f in found.items()}
    assert values == {
        ("sweep", "greatest"): 1.5,
        ("sweep", "worst"): 1.5,
        ("items", "greatest"): 2.5,
        ("items", "worst"): None,
    }
    for finding in found.values():
        assert finding["repeat"].endswith(f"--rm-cache={tmp_path / 'cache'} --rm-recorded")
        assert finding["estimate"] is None or CAVEAT in finding["estimate"]["caveats"]
    assert found["items", "worst"]["verdict"] == "SKIPPED"
    greatest, worst = ended.results["models"][0]["sweeps"]
    assert (greatest["prompt"], greatest["n"], worst["prompt"]) == ("greatest", 1, "worst")
    about = greatest["provenance"]
    assert about["recorded"] == "published scores"
    assert about["file"] == "owner--Quantile-8B.csv"


@pytest.mark.slow
def test_what_is_not_recorded(recorded: Run, imported: None, tmp_path: Path) -> None:
    """Skipped with the reason and the command; nothing measured is not green."""
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    nothing = recorded()
    assert nothing.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert {finding["verdict"] for finding in nothing.findings} == {"SKIPPED"}
    reason = next(f["why"] for f in nothing.findings if f["nodeid"].endswith("sweep[Q-worst]"))
    assert "Q: no sweep under 'What, in one word, is the worst thing ever?' is recorded" in reason
    assert "; get it with: rmaudit data import DIR --model Q --cache " in reason

    shutil.rmtree(tmp_path / "cache", ignore_errors=True)  # what is kept of null controls
    (tmp_path / "elsewhere").rename(tmp_path / "cache")
    more = recorded("-k", "greatest", body=MORE)
    said = {f["audit"]: (f["verdict"], f["why"]) for f in more.findings}
    assert said.pop("ledger") == ("PASS", "")  # it needs no weights
    assert {found for found, _ in said.values()} == {"SKIPPED"}
    assert "Q: what a search would find is not recorded; get it " in said["search"][1]
    assert "Q: log-probabilities of its base are not recorded" in said["base"][1]
    (noise,) = more.figures
    assert "Q: the numeric noise of these scores was not measured" in noise["reason"]


@pytest.mark.slow
def test_a_glob_leaves_out_what_nobody_published(
    recorded: Run, imported: None, tmp_path: Path
) -> None:
    """Hub ids without a rank in the paper and without records, which a warning names."""
    more = "  New: {source: owner/new}\n  Ranked: {source: owner/ranked, rewardbench_rank: 7}\n"
    (tmp_path / "models.yaml").write_text(REGISTRY + more)

    ended = recorded("-k", "test_sweep and greatest", model="*")

    found = {f["model"]: f for f in ended.findings}
    assert found.keys() == {"Q", "Smol", "Ranked"}
    assert found["Q"]["verdict"] == "PASS"
    assert found["Smol"]["verdict"] == "SKIPPED"
    assert found["Smol"]["why"].endswith(
        "Smol: its scores are not published, so nothing of it is recorded; "
        "get it with: pytest audits --model Smol"
    )
    left = "left out 1 of 4 models, of which no scores are published or imported: New"
    ended.says(f"*PytestWarning: --rm-model '[*]' --rm-recorded: {left}".replace("[*]", "*"))
    alone = recorded("-k", "test_sweep and greatest", model="New")
    alone.said.assert_outcomes(skipped=1, deselected=3)


@pytest.mark.slow
def test_words_are_audited(recorded: Run, tmp_path: Path) -> None:
    """What they allow is measured and says so; what they do not is skipped, for one reason."""
    paths = [write(tmp_path, "big2", {"good": 4, "bad": 1}), write(tmp_path, "MFD20", {"so": 2})]
    model = Recorded(ModelSpec("Q", "owner/Quantile-8B"))
    imported_scores.import_words(paths, model, Store(tmp_path / "cache"))
    body = """
from rmaudit.errors import MeasureError
@declare(0.0, prompts=["good_time_please"])
def test_sweep(sweep): return estimate(float(sweep.frame["score"].max()))
@declare(0.0, prompts=["best"])
def test_few(sweep): raise MeasureError("3 words, 30 are needed")
"""
    found = {f["audit"]: f for f in recorded(body=body).findings}

    values = {name: f["estimate"] and f["estimate"]["value"] for name, f in found.items()}
    assert values == {"sweep": 30, "few": None}
    caveats = found["sweep"]["estimate"]["caveats"]
    assert caveats == ["Rests on 3 published words, not on a vocabulary.", CAVEAT]
    assert found["few"]["verdict"] == "SKIPPED"
    assert "its published words do not allow this (3 words, 30 are needed)" in found["few"]["why"]


def test_options_of_scoring_are_refused(recorded: Run) -> None:
    """They would do nothing."""
    for option in ("--rm-sample=9", "--rm-device=cpu", "--rm-dtype=float16", "--rm-on=ray"):
        recorded(option).refuses(option.partition("=")[0], "--rm-recorded", "leave out one of them")
