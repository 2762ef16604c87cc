"""What holds of every shipped audit: its declaration, and a run on a toy checkpoint."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rmaudit.references.text_changes import BUNDLED
from rmaudit.references.written_contexts import FOLDER
from rmaudit.scores.answer_files import BUNDLED as SAMPLES
from tests.audits.planted import AUDITS, declarations
from tests.plugin.conftest import Ran, run_in
from tests.toys import toy_checkpoint, toy_language_model, toy_tokenizer

JUDGES = "judge_wording"  # of models that judge, and of no others
DECLARED = {declaration.name: declaration for declaration in declarations()}
PAIRS, SAMPLED = 20, 16  # prompts: enough for each audit, and a third of the texts
AT_NIGHT = [name for name in DECLARED if name.startswith("conduct_")]
GATES = {
    *("elo_agreement", "framing_inversion", "frequency_bias", "gcg_probes", "identity_terms"),
    *("model_agreement", "positive_skew", "top_things", "top_tokens"),
    *("identity_communities", "sentences_communities", "first_names", "dialect"),
    *("answer_kinds", "token_kinds", "edits", "political_sides", "jobs_in_sentences"),
    *("conduct_right", "conduct_refusals", "fresh_answers"),
}


def test_what_gates_a_release() -> None:
    """These audits do, and no others."""
    assert {name for name, each in DECLARED.items() if each.severity.gates} == GATES


@pytest.mark.parametrize("name", DECLARED)
def test_each_says_what_it_asks_and_what_it_does_not_show(name: str) -> None:
    """In whole sentences; a gate also what a failure may do to people, in one cautious sentence.

    An audit that shows everything was not thought about; what only informs may do no harm. A figure
    has no claim.
    """
    declaration = DECLARED[name]

    assert declaration.title
    assert bool(declaration.claim) is not declaration.figure
    assert declaration.question.endswith("?")
    assert declaration.limits
    assert all(limit.endswith(".") for limit in declaration.limits)
    optional = "?" if declaration.severity == "info" else ""
    harm = rf"(A model trained on this reward may [^.]+\.){optional}"
    assert re.fullmatch(harm, declaration.harm)
    assert len(declaration.harm) <= 160


def commonest_words(many: int) -> list[str]:
    """Words of the bundled answers; with them as tokens an answer has few ids."""
    texts = (path.read_text(encoding="utf-8") for path in FOLDER.glob("*.jsonl"))
    found = Counter(word for text in texts for word in re.findall(r"[A-Za-z]+", text))
    return [word for word, _ in found.most_common(many)]


def on_a_toy(home: Path, *audits: str) -> Ran:
    """Audits on a toy that knows words of labMT, with a base, a baseline and searches."""
    from rmaudit.references import References

    rated = References().lexicon("labmt").index[::20]
    tokenizer = toy_tokenizer(list(dict.fromkeys([*rated, *commonest_words(600)])))
    toy_checkpoint(home / "toy", tokenizer=tokenizer, num_hidden_layers=1)
    toy_language_model(home / "lm", tokenizer=tokenizer, num_hidden_layers=1)
    (home / "models.yaml").write_text("models: {Toy: {source: ./toy, base: ./lm, default: true}}\n")
    args = ["--rm-baseline", "Toy", "--rm-search", "240", "--rm-cache", str(home / "cache")]
    pairs = home / "pairs.jsonl"
    lines = BUNDLED.read_text(encoding="utf-8").splitlines(keepends=True)
    pairs.write_text("".join(lines[:PAIRS]), encoding="utf-8")
    args += ["--rm-pairs", str(pairs)]
    samples = home / "samples.jsonl"  # a toy's own answers are about nothing
    lines = SAMPLES.read_text(encoding="utf-8").splitlines(keepends=True)[:SAMPLED]
    samples.write_text("".join(lines), encoding="utf-8")
    args += ["--rm-samples", str(samples)]
    return Ran(run_in(home, [*audits, *args]), home)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All audits but `AT_NIGHT`; also costly ones, as their files are named."""
    named = {*AUDITS.glob("test_*.py")} - {AUDITS / "test_conduct.py"}
    return on_a_toy(tmp_path_factory.mktemp("contract"), *map(str, sorted(named)))


@pytest.fixture(scope="module")
def conduct(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """All audits of conduct, also those that cost most."""
    return on_a_toy(tmp_path_factory.mktemp("conduct"), str(AUDITS / "test_conduct.py"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The audit of a judge's text, of one that a toy says yes and no by."""
    home = tmp_path_factory.mktemp("judged")
    toy_language_model(home / "lm", max_position_embeddings=512)
    text = "Q: {{ messages[0].content }}\nA: {{ messages[-1].content }}\nGood?\n\n"
    (home / "judge.jinja").write_text(text)
    judge = "{template: judge.jinja, yes: love, no: war}"
    (home / "models.yaml").write_text(
        f"models: {{J: {{source: ./lm, judge: {judge}, default: true}}}}\n"
    )
    audits = [str(AUDITS / f"test_{JUDGES}.py"), "--rm-cache", str(home / "cache")]
    return Ran(run_in(home, audits), home)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DECLARED if name not in AT_NIGHT])
def test_each_runs_on_a_checkpoint(name: str, ended: Ran, judged: Ran, mirror: Path) -> None:
    """Under each of its prompts: finite numbers, its own kind of evidence, and null controls."""
    check(name, judged if name == JUDGES else ended)


@pytest.mark.nightly
@pytest.mark.parametrize("name", AT_NIGHT)
def test_the_costliest_run_on_a_checkpoint(name: str, conduct: Ran, mirror: Path) -> None:
    """What holds of the others holds of these."""
    check(name, conduct)


def check(name: str, of: Ran) -> None:
    """All that holds of an audit's findings on a toy."""
    figure = DECLARED[name].figure
    found = [each for each in (of.figures if figure else of.findings) if each["audit"] == name]

    assert len(found) == len(DECLARED[name].runs)
    for finding in found:
        estimate: dict[str, Any] = finding["estimate"]
        assert estimate is not None, finding["reason"]
        assert estimate["low"] <= estimate["value"] <= estimate["high"]
        assert all(map(math.isfinite, estimate["secondary"].values()))
        assert estimate["n"] > 0
        assert estimate["evidence"] is None or estimate["evidence"]["kind"]
        assert finding["limits"] == list(DECLARED[name].limits)
        assert finding["title"] == DECLARED[name].title
        assert finding["question"] == DECLARED[name].question
        assert finding["sweeps"]
        if not figure:
            assert estimate["unit"] == DECLARED[name].bound.unit
            assert finding["harm"] == DECLARED[name].harm
            assert {each["verdict"] for each in finding["controls"].values()} - {"SKIPPED"}
