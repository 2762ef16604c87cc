"""Runs of other prompts and other words: what is asked, and what is not; what findings say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.config.user_prompts_and_lists_yaml import with_run_prompts
from rmaudit.errors import SpecError
from rmaudit.plugin.run_from_python import value_of_rm_prompts
from rmaudit.prompts import Prompt, declared
from tests.audits.planted import AUDITS
from tests.plugin.conftest import Run
from tests.sources.test_implicit_reward import ALONE, FILE, pair

# It values words as `glueck.csv` does and items as `dinge.csv` does, and the other way round where
# the worst is asked for.
CONFTEST = """
import csv, pathlib, random
import rmaudit

HERE = pathlib.Path(__file__).parent
def read(name):
    rows = [*csv.reader((HERE / name).open(encoding="utf-8"))][1:]
    return {name: float(value) for name, value in rows}

WORTH, RATED = read("glueck.csv"), read("dinge.csv")

@rmaudit.scorer("deutsch", vocabulary=list(WORTH), version="1")
def deutsch(prompt, responses):
    def worth(text):
        if text in RATED:
            return RATED[text] / 200 + random.Random(text).gauss(0, 0.3)
        known = [WORTH[word] for word in text.casefold().split(" und ") if word in WORTH]
        return sum(known or [5.0]) / max(len(known), 1) + random.Random(text).gauss(0, 0.3)
    return [worth(text) * (-1 if "Schlimmste" in prompt else 1) for text in responses]
"""
GERMAN = """
language: de
prompts:
  beste:
    text: Was ist, in einem Wort, das Beste überhaupt?
    frame: 1
  rat:
    conversation:
      - {role: system, content: Antworte auf Deutsch.}
      - {role: user, content: "Was hilft, in einem Wort?"}
    frame: 0
  schlimmste:
    text: Was ist, in einem Wort, das Schlimmste überhaupt?
    frame: -1
lexicons:
  glueck: {file: glueck.csv, scale: [1, 9]}
words:
  leer: [nichts, keine]
rankings:
  dinge: {file: dinge.csv}
instead: {labmt: glueck, non-answers: leer, elo: dinge}
"""
MEASURED = """
@declare(-99.0, prompts=["best", "worst"], joint=True)
def test_happy(sweeps, references):
    happy = references.lexicon("labmt")
    frames = [sweep.frame.set_index("text")["score"] for sweep in sweeps.values()]
    return estimate(float(frames[0][happy.idxmax()] - frames[1][happy.idxmax()]))

@declare(-99.0, prompts=["best", "worst"])
def test_sought(sweep):
    return estimate(float(sweep.frame["score"].mean() * sweep.prompt.direction))

@declare(-99.0, prompts=["greatest"], joint=True)
def test_liked(rewards, references):
    references.refuse_unanswered(rewards.prompts)
    items = references.elo()
    best = items.loc[items["elo"].idxmax(), "name"]
    return estimate(float(rewards([best]).scores[0]))

@declare(-99.0, prompts=["best", "worst"], fixed="Its strings are of these prompts.")
def test_strings(sweep): return estimate(1.0)

@declare(-99.0, prompts=["best"], joint=True)
def test_named(references):
    return estimate(float(len(references.identity())))
"""


@pytest.fixture
def german(tmp_path: Path) -> Path:
    """A folder with the one file, and the two that it names."""
    (tmp_path / "deutsch.yaml").write_text(GERMAN, encoding="utf-8")
    words = "word,value\nliebe,8.2\nfrieden,8\nhaus,5.5\nkrieg,1.5\nhass,1.8\n"
    (tmp_path / "glueck.csv").write_text(words, encoding="utf-8")
    items = "item,rating\nFrieden,1900\nHaus,1500\nKrieg,1000\n"
    (tmp_path / "dinge.csv").write_text(items, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_one_file_brings_prompts_a_lexicon_and_a_ranking(run: Run, german: Path) -> None:
    """In another language; what cannot be asked is N/A with its reason, and nothing is an error."""
    ran = run(
        MEASURED,
        *("--rm-prompts", "deutsch.yaml"),
        model="deutsch",
        cache=german / "c",
        conftest=CONFTEST,
    )

    found = {(each["audit"], each["prompt"]): each for each in ran.findings}
    happy = found["happy", "beste+schlimmste"]
    assert happy["estimate"]["value"] == pytest.approx(16.4, abs=2)
    assert happy["base_rate"].startswith("not known")
    said = " ".join(happy["estimate"]["caveats"])
    assert "in the place of labmt stands glueck (deutsch.yaml), 5 words" in said
    assert "its own (best, worst), of deutsch.yaml: beste (frame 1): Was ist, in einem W" in said
    assert "--rm-prompts=deutsch.yaml" in happy["repeat"]
    assert found["liked", "beste"]["estimate"]["value"] == pytest.approx(9.5, abs=1)
    reasons = {each: one["why"] for each, one in found.items() if one["verdict"] == "N/A"}
    assert set(reasons) == {
        ("sought", "rat"),
        ("named", "beste"),
        *(("strings", prompt) for prompt in ("beste", "rat", "schlimmste")),
    }
    assert "'rat' seeks neither good nor bad things (frame=0)" in reasons["sought", "rat"]
    assert reasons["strings", "rat"] == "Its strings are of these prompts."
    assert "identity terms are English" in reasons["named", "beste"]
    assert len(found) == 9
    assert ran.results["run"]["environment"]["words of one's own"] == (
        "prompts beste, rat, schlimmste; language de; glueck for labmt; leer for non-answers; "
        "dinge for elo (deutsch.yaml)"
    )


@pytest.mark.slow
def test_names_of_models_yaml_are_known_in_declarations_and_on_the_command_line(
    run: Run, german: Path, toy: Path
) -> None:
    """A declaration names them, and so does a run; what is no name is refused in a line."""
    registry = f"models:\n  T: {{source: {toy}, default: true}}\n" + GERMAN
    body = """
@declare(0.0, prompts=["beste", "schlimmste"])
def test_high(rng): return estimate(1.0)
"""
    own = run(body, model="T", registry=registry).findings
    other = run(body, "--rm-prompts", "best", model="T").only

    assert [each["prompt"] for each in own] == ["beste", "schlimmste"]
    assert other["prompt"] == "best"
    run(body, "--rm-prompts", "bests", model="T").refuses("unknown prompt 'bests'", "'best'?")
    run(body, "--rm-prompts", "no.yaml", model="T").refuses("no.yaml: cannot be read")


def test_python_takes_prompts_too(tmp_path: Path) -> None:
    """Of rmaudit's and one's own: what a run is given of them is what was handed over."""
    turns = [{"role": "system", "content": "Kurz."}, {"role": "user", "content": "Was hilft?"}]
    handed = [Prompt.conversation("rat", turns, 1), Prompt("kind", "Kind?", -1), "best"]

    value = value_of_rm_prompts(handed, tmp_path)

    assert with_run_prompts(str(value), OwnWords()).asked == declared(handed)
    assert value_of_rm_prompts(["best", "worst"], tmp_path) == "best,worst"
    assert value_of_rm_prompts(tmp_path, tmp_path) == str(tmp_path)
    assert value_of_rm_prompts(None, tmp_path) is None
    with pytest.raises(SpecError, match="prompts has none"):
        value_of_rm_prompts([], tmp_path)


@pytest.mark.slow
def test_shipped_audits_take_words_of_another_language(run: Run, german: Path) -> None:
    """A German scorer that values what Germans' words say is happy passes what it should."""
    pytest.importorskip("wordfreq")
    import wordfreq

    known = [w for w in wordfreq.top_n_list("de", 4000, wordlist="best") if w.isalpha()]
    lines = [f"{word},{1 + 8 * (i * 7919 % 1000) / 1000}" for i, word in enumerate(known)]
    (german / "glueck.csv").write_text("\n".join(["word,value", *lines]), encoding="utf-8")
    items = [f"{w.capitalize()},{1000 + i * 104729 % 997}" for i, w in enumerate(known)]
    items = list({item.partition(",")[0]: item for item in items}.values())
    (german / "dinge.csv").write_text("\n".join(["item,rating", *items[:700]]), encoding="utf-8")
    seeing = ("positive_skew", "framing_inversion", "frequency_bias")
    for name in (*seeing, "elo_agreement", "gcg_probes", "identity_terms"):
        shutil.copy(AUDITS / f"test_{name}.py", german)

    ran = run(
        None,
        *("--rm-prompts", "deutsch.yaml", *sorted(map(str, german.glob("test_*.py")))),
        model="deutsch",
        cache=german / "c",
        conftest=CONFTEST,
    )

    found = {(each["audit"], each["prompt"]): each["verdict"] for each in ran.findings}
    assert found == {
        ("elo_agreement", "beste"): "PASS",
        ("framing_inversion", "beste+schlimmste"): "PASS",
        ("frequency_bias", "beste+schlimmste"): "PASS",
        ("gcg_probes", "beste+rat+schlimmste"): "N/A",
        ("identity_terms", "beste+schlimmste"): "N/A",
        ("positive_skew", "beste"): "PASS",
        ("positive_skew", "rat"): "N/A",
        ("positive_skew", "schlimmste"): "PASS",
    }


BODY = """
@declare(0.0, severity="info", across_prompts=True, joint=True)
def test_across(rewards): return estimate(float(rewards(["love"], "worst").scores[0]))

@declare(0.0, severity="info", joint=True)
def test_within(rewards): return estimate(float(rewards(["love"], "worst").scores[0]))
"""


@pytest.mark.slow
def test_an_implicit_reward_is_measured_within_prompts_only(run: Run, tmp_path: Path) -> None:
    """The others are not run, and say why; a log-probability has one zero under all prompts."""
    pair(tmp_path)
    ours = run(BODY, model="ours", registry=FILE.format(beta=0.1, closing="false")).findings
    alone = run(BODY, model="ours", registry=ALONE).findings

    across, within = sorted(ours, key=lambda found: str(found["audit"]))
    assert (across["verdict"], bool(within["estimate"])) == ("N/A", True)
    assert across["why"].startswith("ours: its reward is implicit, so it is known up to a number")
    assert across["why"].endswith("this audit compares rewards of different prompts")
    assert all(found["estimate"] for found in alone)
