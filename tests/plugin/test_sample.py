"""`--rm-sample`: which ids are scored, what is shared, and what every reader is told."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rmaudit.models.checkpoint import Checkpoint
from rmaudit.verdicts.declare import declared
from tests.plugin.conftest import Run
from tests.toys import toy_tokenizer

Results = Callable[[], dict[str, Any]]

SIZE = len(toy_tokenizer())
AUDITS = """
def naming(words):
    return audit(claim="", source="", prompts=["greatest", "worst"], base_rate="",
                 bound=above(0.0, unit="points"), words=words)

@declare({low})
def test_plain(sweep): return estimate(float(len(sweep.frame)))

@naming(["love", "war", "xyzzy"])
def test_naming(sweep):
    texts = list(sweep.frame["text"])
    assert {{"love", " love", "Love", " Love", "war", " war"}} <= set(texts)
    ids = list(sweep.frame["token_id"])
    assert ids == sorted(set(ids))
    return estimate(float(len(ids)))
"""
PLAIN = AUDITS.format(low=0.0)
FAILING = AUDITS.format(low=1000.0)
OF_30 = f"Rests on a sample of 30 of {SIZE} token ids (seed 0)"
NAMING = f"{OF_30}, and on all 6 ids of the words that the audit names."


def by_audit(data: dict[str, Any], prompt: str = "greatest") -> dict[str, dict[str, Any]]:
    """The findings under one prompt by the name of their audit."""
    return {f["audit"]: f for f in data["findings"] if f["prompt"] == prompt}


def test_every_reader_is_told(run: Run, results: Results, pytester: pytest.Pytester) -> None:
    """On the terminal, in results.json and on the page; the command to repeat it says so too."""
    result = run(FAILING, "--rm-sample", "30")

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "rmaudit: toy; a sample of 30 token ids; cache *",
            f"  note       {OF_30}.",
            "  repeat     pytest '*::test_plain[[]toy-greatest[]]' * --rm-seed 0 --rm-sample 30",
        ]
    )
    found = by_audit(results())
    assert found["plain"]["estimate"]["caveats"] == [f"{OF_30}."]
    assert found["plain"]["estimate"]["value"] == 30
    assert found["naming"]["estimate"]["caveats"] == [NAMING]
    assert found["naming"]["repeat"].endswith("--rm-seed 0 --rm-sample 30")
    (page,) = pytester.path.glob("reports/*/index.html")
    text = page.read_text(encoding="utf-8")
    assert f'<p class="soft">{OF_30}.</p>' in text
    assert f'<p class="soft">{NAMING}</p>' in text
    assert "Scores of a sample of the vocabulary" in text
    assert "Distribution of the scores of a sample of the vocabulary" in text


def test_audits_share_the_sample(run: Run, results: Results) -> None:
    """Whatever another audit names, and whether it runs: a plain audit rests on the sample alone.

    The ids that are named are no sweep of the vocabulary, so the report draws them nowhere.
    """
    run(PLAIN, "--rm-sample", "30")
    data = results()
    run(PLAIN, "--rm-sample", "30", "-k", "naming", "--rm-report", "reports/some")
    (selected,) = Path("reports/some").glob("*/results.json")

    plain, naming = by_audit(data)["plain"], by_audit(data)["naming"]
    assert plain["sweeps"] == naming["sweeps"][:1]
    assert len(naming["sweeps"]) == 2
    assert f'"{naming["sweeps"][1]}"' in selected.read_text(encoding="utf-8")
    sweeps = {sweep["key"]: sweep for sweep in data["models"][0]["sweeps"]}
    assert len(sweeps) == 2  # one a prompt
    assert sweeps[plain["sweeps"][0]]["n"] == 30
    part = f"a sample: 30 of {SIZE} token ids (seed 0)"
    assert sweeps[plain["sweeps"][0]]["provenance"]["part"] == part


def test_the_second_run_scores_nothing(
    run: Run, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a third with another seed score again what is named."""
    run(PLAIN, "--rm-sample", "30").assert_outcomes(passed=4)
    first = by_audit(results())
    scored: list[int] = []
    real = Checkpoint.score

    def score(self: Checkpoint, prompt: str, responses: Any, **settings: Any) -> Any:
        scored.append(len(responses))
        return real(self, prompt, responses, **settings)

    monkeypatch.setattr(Checkpoint, "score", score)

    run(PLAIN, "--rm-sample", "30", "--rm-report", "again").assert_outcomes(passed=4)
    assert scored == []

    run(PLAIN, "--rm-sample", "30", "--rm-seed", "1", "--rm-report", "seed").assert_outcomes(
        passed=4
    )
    assert [n for n in scored if n > 1] == [30, 30]
    assert first["naming"]["sweeps"][0] not in next(Path("seed").glob("*/results.json")).read_text(
        encoding="utf-8"
    )


def test_a_sample_as_large_as_the_vocabulary_is_the_census(run: Run, results: Results) -> None:
    """No caveat, no second key, and no lexicon is needed."""
    run(PLAIN, "--rm-sample", str(SIZE)).assert_outcomes(passed=4)
    data = results()
    run(PLAIN, "--rm-report", "reports/census")

    found = by_audit(data)
    assert found["naming"]["estimate"]["caveats"] == []
    assert found["naming"]["estimate"]["value"] == SIZE
    assert found["naming"]["sweeps"] == found["plain"]["sweeps"]
    (census,) = Path("reports/census").glob("*/results.json")
    assert f'"{found["plain"]["sweeps"][0]}"' in census.read_text(encoding="utf-8")


@pytest.mark.parametrize("given", ["0", "-3", "1.5", "all", "", "٣"])
def test_a_sample_of_no_size(run: Run, given: str) -> None:
    """One line, and exit code 4."""
    result = run(PLAIN, f"--rm-sample={given}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = f"ERROR: --rm-sample: {given!r}; a positive whole number of token ids is needed"
    assert [line for line in result.errlines if line] == [message]


@pytest.mark.parametrize("mode", ["skip", "fail"])
def test_a_lexicon_that_is_missing(
    run: Run, results: Results, mode: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It skips the audit that names its words, or makes it an ERROR; others go on."""
    (tmp_path / "afinn").mkdir()
    (tmp_path / "afinn" / "AFINN-111.txt").write_text("damaged")
    monkeypatch.setenv("RMAUDIT_DATA", str(tmp_path))
    body = PLAIN.replace('"xyzzy"', '"lexicon:afinn"')

    run(body, "--rm-sample", "30", "--rm-missing", mode, "-k", "greatest")

    found = by_audit(results())
    assert found["plain"]["verdict"] == "PASS"
    assert found["naming"]["verdict"] == {"skip": "SKIPPED", "fail": "ERROR"}[mode]
    assert "; get it with: " in found["naming"]["reason"]
    assert found["naming"]["repeat"].endswith("--rm-sample 30")


def test_the_same_under_xdist(run: Run, results: Results) -> None:
    """Workers draw the same ids and send the caveats."""
    run(PLAIN, "--rm-sample", "30", "--rm-seed", "3")
    alone = [(f["audit"], f["sweeps"], f["estimate"]) for f in results()["findings"]]
    result = run(PLAIN, "--rm-sample", "30", "--rm-seed", "3", "-n2", "--rm-report", "both")

    result.assert_outcomes(passed=4)
    path = next(Path("both").glob("*/results.json"))
    both = json.loads(path.read_text(encoding="utf-8"))["findings"]
    key = str
    assert sorted(((f["audit"], f["sweeps"], f["estimate"]) for f in both), key=key) == sorted(
        alone, key=key
    )
    assert all("(seed 3)" in f["estimate"]["caveats"][0] for f in both)


def test_which_audits_name_words() -> None:
    """Framing names all lexicons that it reads; skewness rests on the whole distribution."""
    folder = Path(__file__).parents[2] / "audits"
    framing = declared(
        runpy.run_path(str(folder / "test_framing_inversion.py"))["test_framing_inversion"]
    )
    skew = declared(runpy.run_path(str(folder / "test_positive_skew.py"))["test_positive_skew"])

    assert framing is not None
    assert framing.words == tuple(f"lexicon:{name}" for name in ("labmt", "bing", "afinn", "vader"))
    assert skew is not None
    assert skew.words == ()
