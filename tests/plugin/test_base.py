"""The audit of leakage on toys with a planted leak, and what becomes of it without a base."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rmaudit.config.registry import ModelSpec
from rmaudit.models import loading
from rmaudit.models.checkpoint import Checkpoint
from rmaudit.models.recorded import Recorded
from rmaudit.prompts import PROMPTS
from rmaudit.references import References
from rmaudit.scores import published_scores
from rmaudit.scores.logprobs import base_logprobs
from rmaudit.scores.store import Store
from tests.plugin.conftest import Run
from tests.toys import toy_checkpoint, toy_language_model, toy_tokenizer

Results = Callable[[], dict[str, Any]]
Go = Callable[..., pytest.RunResult]

AUDIT = Path(__file__).parents[2] / "audits" / "test_base_leakage.py"
REGISTRY = """models:
  Toy: {{source: {home}/toy, base: {home}/lm, default: true}}
  Bare: {{source: {home}/toy}}
  Wrong: {{source: {home}/toy, base: {home}/other}}
  Q: {{source: owner/Q-8B, base: {home}/lm}}
"""


@pytest.fixture(scope="session")
def words() -> list[str]:
    """Some hundred words of labMT, of all valences."""
    return list(References().lexicon("labmt").index[::25])


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> Path:
    """A reward model whose tokens are words of labMT, its base, and another base."""
    folder = tmp_path_factory.mktemp("home")
    tokenizer = toy_tokenizer(words)
    toy_checkpoint(folder / "toy", tokenizer=tokenizer)
    toy_language_model(folder / "lm", tokenizer=tokenizer)
    toy_language_model(folder / "other")
    return folder


@pytest.fixture
def go(run: Run, pytester: pytest.Pytester, home: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    """Run the audit on a model of the registry."""
    (pytester.path / "models.yaml").write_text(REGISTRY.format(home=home))
    monkeypatch.setattr("rmaudit.scores.protocols.ANSWERS", 0)
    body = AUDIT.read_text(encoding="utf-8")

    def audit(*args: str, model: str = "Toy") -> pytest.RunResult:
        return run(body, *args, model=model)

    return audit


@pytest.fixture
def leak(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> Callable[[float], None]:
    """Give the toy rewards that are its base's log-probability by so much, and noise."""

    def plant(share: float) -> None:
        rng = np.random.default_rng(0)
        noise = rng.normal(size=100_000)

        def score(
            self: Checkpoint, prompt: str, answers: Sequence[tuple[int, ...]], **_: object
        ) -> NDArray[np.float32]:
            asked = next(known for known in PROMPTS.values() if known.text == prompt)
            known = base_logprobs(self, asked, cache=pytester.path / "elsewhere").by_id
            z = (known - known.mean()) / known.std()
            ids = [i for (i,) in answers]
            mixed = share * z.loc[ids] + (1 - share**2) ** 0.5 * noise[ids]
            return mixed.to_numpy(np.float32)

        monkeypatch.setattr(Checkpoint, "score", score)

    return plant


def verdicts(data: dict[str, Any]) -> set[str]:
    """The distinct verdicts of all findings."""
    return {finding["verdict"] for finding in data["findings"]}


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.0, "PASS"), (0.42, "INCONCLUSIVE"), (0.8, "FAIL"), (-0.8, "FAIL")]
)
def test_a_planted_leak_is_found(
    go: Go, leak: Callable[[float], None], results: Results, share: float, verdict: str
) -> None:
    """By its size, whatever its sign; the finding rests on both stored vectors."""
    leak(share)

    go()

    assert verdicts(results()) == {verdict}
    for finding in results()["findings"]:
        assert finding["estimate"]["value"] == pytest.approx(share, abs=0.15)
        assert finding["estimate"]["n"] > 300
        assert len(finding["sweeps"]) == 2
    assert len(results()["models"][0]["sweeps"]) == 3  # those of rewards


def test_an_independent_reward_model_passes(go: Go, results: Results) -> None:
    """Another random network on the same tokens, scored in earnest."""
    go("-k", "greatest")

    (finding,) = results()["findings"]
    assert finding["verdict"] in {"PASS", "INCONCLUSIVE"}
    assert abs(finding["estimate"]["value"]) < 0.3


def test_the_second_run_loads_no_model(
    go: Go, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the reward model nor its base."""
    go("-k", "worst", "--rm-report", "first")
    monkeypatch.setattr(loading, "load", None)

    go("-k", "worst")

    assert verdicts(results()) <= {"PASS", "INCONCLUSIVE"}


@pytest.mark.parametrize(("missing", "verdict"), [("skip", "SKIPPED"), ("fail", "ERROR")])
def test_without_a_base(go: Go, results: Results, missing: str, verdict: str) -> None:
    """Skipped with the reason, or an ERROR where nothing may be missing."""
    result = go("--rm-missing", missing, model="Bare")

    assert verdicts(results()) == {verdict}
    result.stdout.fnmatch_lines([f"{verdict}: *models.yaml gives no base: for Bare; name the *"])
    assert result.ret != pytest.ExitCode.OK


def test_a_wrong_base_is_an_error(go: Go, results: Results) -> None:
    """Another tokenizer is a mistake to mend, no reason to skip."""
    result = go(model="Wrong")

    assert verdicts(results()) == {"ERROR"}
    result.stdout.fnmatch_lines(["ERROR: *the base of Wrong: its tokenizer is another one: *"])


def test_a_recorded_model_is_skipped(go: Go, results: Results, pytester: pytest.Pytester) -> None:
    """Its sweep is there, but there are no weights to put the prompt to."""
    table = pytester.path / "owner--Q-8B.csv"
    table.write_text("token_id,token_name,token_decoded,greatest,best,worst\n0,a,a,1,2,3\n")
    model = Recorded(ModelSpec("Q", "owner/Q-8B"))
    published_scores.import_table(table, [model], Store(pytester.path / "cache"))

    result = go("--rm-recorded", model="Q")

    assert verdicts(results()) == {"SKIPPED"}
    result.stdout.fnmatch_lines(["SKIPPED: *Q: log-probabilities of its base are not recorded*"])


def test_a_sample_has_the_words(go: Go, leak: Callable[[float], None], results: Results) -> None:
    """The estimate is that of the whole vocabulary; what stands beside it is told apart."""
    leak(0.8)
    go("-k", "best", "--rm-report", "whole")

    go("-k", "best", "--rm-sample", "30")

    (finding,) = results()["findings"]
    assert finding["verdict"] == "FAIL"
    assert finding["estimate"]["value"] == pytest.approx(0.8, abs=0.1)
    assert "sample" in finding["estimate"]["caveats"][0]


def test_the_same_under_xdist(go: Go, results: Results) -> None:
    """Two workers give the findings of one."""
    go()
    alone = sorted(str(finding["estimate"]) for finding in results()["findings"])

    go("-n2", "--rm-report", "both")

    (path,) = Path("both").glob("*/results.json")
    both = json.loads(path.read_text(encoding="utf-8"))["findings"]
    assert sorted(str(finding["estimate"]) for finding in both) == alone
