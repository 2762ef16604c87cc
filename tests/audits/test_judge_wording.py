"""A judge's wording is audited from its template, for judges and for nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from rmaudit.config.model_registry import ModelSpec
from rmaudit.config.model_spec import Judge
from rmaudit.models.checkpoint_model import Checkpoint
from rmaudit.scores.answer_files import rewards
from rmaudit.scores.changed_answers import probes_of, subset_of_pairs
from tests.audits.planted import AUDITS
from tests.models.test_judges import VERDICTS
from tests.plugin.conftest import Ran, run_in
from tests.toys import TEMPLATE, WORDS, toy_checkpoint, toy_language_model, toy_tokenizer

ASK = "\nGood? Yes or No.<|end|>\n<|start|>assistant\n\n"
HEAD = "<|start|>user\n"
PROMPT, ANSWER = "{{ messages[0].content }}", "{{ messages[-1].content }}"
TEXTS = {
    "judge": f"{HEAD}Question: {PROMPT}\nAnswer:\n{ANSWER}{ASK}",
    "swapped": f"{HEAD}Answer:\n{ANSWER}\nQuestion: {PROMPT}{ASK}",
    "mine": f"{HEAD}{PROMPT}\n\nIs this right?\n{ANSWER}{ASK}",
    "turns": f"{HEAD}{PROMPT}<|end|>\n<|start|>assistant\n{ANSWER}<|end|>\n{HEAD}{ASK}",
}
ENTRY = "models:\n  J: {{default: true, source: {source}}}\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, and templates."""
    home = tmp_path_factory.mktemp("wording")
    tokenizer = toy_tokenizer((*WORDS, *VERDICTS), template=TEMPLATE)
    toy_checkpoint(home / "rm")
    toy_language_model(home / "lm", tokenizer=tokenizer, max_position_embeddings=512)
    for name, text in TEXTS.items():
        (home / f"{name}.jinja").write_text(text)
    return home


def audited(home: Path, keys: str) -> dict[str, Any]:
    """The finding of the audit, of a judge with these keys, or of a reward model without any."""
    judge = f"./lm, judge: {{{keys}, yes: 'Yes', no: 'No'}}" if keys else "./rm"
    (home / "models.yaml").write_text(ENTRY.format(source=judge))
    ran = Ran(
        run_in(home, [str(AUDITS / "test_judge_wording.py"), "--rm-cache", str(home / "cache")]),
        home,
    )
    (found,) = ran.findings
    return dict(found)


@pytest.mark.nightly
def test_each_rewording_is_scored_as_a_judge_of_its_own(home: Path) -> None:
    """Two that are made of the template, one that is given: tau by their own entries' rewards."""
    found = audited(home, "template: judge.jinja, paraphrases: [mine.jinja]")
    answers = probes_of(subset_of_pairs(None)).answers
    scores = {}
    for name in ("judge", "swapped", "mine"):
        file = str(home / f"{name}.jinja")
        spec = ModelSpec("J", str(home / "lm"), judge=Judge("Yes", "No", file), template=file)
        model = Checkpoint(spec, cache=home / "own")
        scores[name] = rewards(model, answers, cache=home / "own").scores

    estimate = found["estimate"]
    own, swapped, mine = scores.values()
    given = f"paraphrase {(home / 'mine.jinja').resolve()}"
    names = ("prompt and answer swapped", "a blank line more", given)
    taus = {name: estimate["secondary"][name] for name in names}
    assert taus["prompt and answer swapped"] == pytest.approx(
        stats.kendalltau(own, swapped).statistic, abs=1e-3
    )
    assert taus[given] == pytest.approx(stats.kendalltau(own, mine).statistic, abs=1e-3)
    assert estimate["value"] == pytest.approx(min(taus.values()), abs=1e-6)
    assert found["severity"] == "info"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("", "J is no judge: its reward has no text around the answer"),
        ("template: turns.jinja", "prompt and answer cannot change places in its template"),
    ],
)
def test_where_it_does_not_apply_it_says_so(home: Path, keys: str, said: str) -> None:
    """In plain words, and not as a failure."""
    found = audited(home, keys)
    assert found["estimate"] is None
    assert said in found["why"]
    assert found["verdict"] in {"N/A", "SKIPPED"}
