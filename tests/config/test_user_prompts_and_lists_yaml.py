"""Words of one's own as data: what a file says, and each fault as one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmaudit.config.model_registry import load_registry
from rmaudit.config.user_prompts_and_lists import OwnWords
from rmaudit.config.user_prompts_and_lists_yaml import load, with_run_prompts
from rmaudit.errors import SpecError
from rmaudit.prompts import PROMPTS, Prompt, prompt_meant

GERMAN = """
language: de
prompts:
  beste:
    text: Was ist das Beste?
    frame: 1
  rat:
    conversation:
      - {role: system, content: Antworte kurz.}
      - {role: user, content: "Was hilft?"}
    frame: 0
instead: {labmt: glueck, non-answers: leer, elo: dinge}
rankings: {dinge: {file: dinge.csv}}
words: {leer: [nichts]}
lexicons:
  glueck: {file: glueck.csv, scale: [1, 9]}
"""
ASKED = "prompts: {p: {text: x, frame: 1}}\n"
USER = "{role: user, content: x}"
TURNS = "an optional system turn, then user and assistant in turns, the last of them user"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that `GERMAN` names."""
    (tmp_path / "glueck.csv").write_text("word,value\nliebe,8\n", encoding="utf-8")
    (tmp_path / "dinge.csv").write_text("item,rating\nWasser,1\n", encoding="utf-8")
    return tmp_path


def written(folder: Path, content: str, name: str = "own.yaml") -> Path:
    """A file of the folder."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_a_file_says_all_of_them(folder: Path) -> None:
    """Paths start from its folder, and its prompts are those that are asked."""
    words = load(written(folder, GERMAN))

    turns = [
        {"role": "system", "content": "Antworte kurz."},
        {"role": "user", "content": "Was hilft?"},
    ]
    assert words.asked == (
        Prompt("beste", "Was ist das Beste?", +1),
        Prompt.conversation("rat", turns, 0),
    )
    assert words.lexicons["glueck"].file == (folder / "glueck.csv").resolve()
    assert (words.language, words.words["leer"]) == ("de", ("nichts",))
    assert words.instead == {"labmt": "glueck", "non-answers": "leer", "elo": "dinge"}


def test_models_yaml_has_the_same_keys_and_asks_nothing(folder: Path) -> None:
    """What stands there is known by name; audits ask their own prompts unless told otherwise."""
    path = written(folder, "models:\n  A: {source: a/b, default: true}\n" + GERMAN, "models.yaml")

    words = load_registry(path).words

    assert words.asked == ()
    assert prompt_meant("rat", words.prompts) is words.prompts["rat"]
    assert with_run_prompts("rat,best", words).asked == (words.prompts["rat"], PROMPTS["best"])
    with pytest.raises(SpecError, match="unknown prompt 'best_of'; known: beste, rat, greatest"):
        with_run_prompts("best_of", words)


@pytest.mark.parametrize("value", ["best," * 60, "~nobodyhere/best"])
def test_what_can_be_no_file_is_a_name(value: str) -> None:
    """It is too long for a file system, or the home of nobody: still one error, of names."""
    with pytest.raises(SpecError, match="unknown prompt"):
        with_run_prompts(value, OwnWords())


def test_a_name_in_two_files_is_refused(folder: Path) -> None:
    """Nobody could tell which is meant."""
    known = load(written(folder, GERMAN, "models.yaml"))

    with pytest.raises(SpecError) as caught:
        with_run_prompts(str(written(folder, GERMAN)), known)

    assert str(caught.value) == (
        "own.yaml: prompts: 'beste' stands in models.yaml too; give one of them another name"
    )


def test_a_runs_file_keeps_the_language_of_models_yaml(folder: Path) -> None:
    """And its lists: it says what is asked, and where it says more, that counts."""
    known = load(written(folder, GERMAN, "models.yaml"))

    asked = with_run_prompts(str(written(folder, ASKED)), known)
    french = with_run_prompts(str(written(folder, f"language: fr\n{ASKED}")), known)

    assert (asked.language, french.language) == ("de", "fr")
    assert asked.instead == known.instead
    assert [prompt.name for prompt in asked.asked] == ["p"]


def test_what_measures_see_decides_the_key(folder: Path) -> None:
    """Another file of the same name is another lexicon; prompts alone change no measure."""
    path = written(folder, GERMAN)
    before = load(path).key
    (folder / "glueck.csv").write_text("word,value\nliebe,7\n", encoding="utf-8")

    assert load(path).key != before
    assert load(written(folder, ASKED)).key == OwnWords().key == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("words: {a: [b]}\n", ": it has no `prompts`, so there is nothing to ask; give it some"),
        ("prompts: {}\nprompt: {}", ":2: unknown key 'prompt'; did you mean 'prompts'? allowed: "),
        ("prompts:\n  a b: {text: x, frame: 1}", ":2: prompts: expected a name of at most 80"),
        ("prompts:\n  p:\n    frame: 1", ":3: prompts: p: expected either text or conversation, "),
        ("prompts:\n  p: {text: x, conversation: [], frame: 1}", "or conversation, got both"),
        ("prompts:\n  p: {text: x}", ":2: prompts: p: the key 'frame' is missing; expected 1 "),
        ("prompts:\n  p: {text: x, frame: 2}", ":2: prompts: p: frame: expected 1 (good things"),
        (
            "prompts:\n  p: {conversation: [{role: judge, content: x}], frame: 1}",
            ":2: prompts: p: conversation: turn 1: role 'judge', allowed: system, user, assistant",
        ),
        (
            "prompts:\n  p:\n    frame: 1\n    conversation: [&, &]".replace("&", USER),
            f":4: prompts: p: conversation: turn 2: role user, expected assistant: {TURNS}",
        ),
        ("prompts:\n  best: {text: x, frame: 1}", ":2: prompts: best: a bundled one has this name"),
        (f"{ASKED}language: german", ":2: language: expected one of ar, bg, bn, ca, cs, da, de"),
        (f"{ASKED}words: {{w: []}}", ":2: words: w: expected a list of words, got an empty one"),
        (f"{ASKED}words: {{w: a}}", ":2: words: w: expected a list of texts, got the text 'a'"),
        (
            f"{ASKED}lexicons: {{l: {{}}}}",
            "lexicons: l: the key 'file' is missing; expected a .csv",
        ),
        (f"{ASKED}lexicons: {{l: {{file: no.csv}}}}", ":2: lexicons: l: file: there is no file /"),
        (f"{ASKED}lexicons: {{l: {{file: l.xlsx}}}}", "'l.xlsx': allowed are .csv and .parquet"),
        (
            f"{ASKED}lexicons: {{l: {{file: glueck.csv, scale: [9, 1]}}}}",
            ":2: lexicons: l: scale: the least comes first, got [9, 1]",
        ),
        (
            f"{ASKED}lexicons: {{l: {{file: glueck.csv, scale: [1]}}}}",
            ":2: lexicons: l: scale: expected [least, greatest] that a value can be, such as",
        ),
        (f"{ASKED}lexicons: {{labmt: {{file: glueck.csv}}}}", "labmt: a bundled one has this name"),
        (f"{ASKED}instead: {{labMT: x}}", ":2: instead: expected one of labmt, afinn, vader, bing"),
        (
            f"{ASKED}rankings: {{dinge: {{file: dinge.csv}}}}\ninstead: {{elo: ding}}",
            ":3: instead: elo: no rankings of this file are called 'ding'; did you mean 'dinge'?",
        ),
        (
            f"{ASKED}lexicons: {{l: {{file: glueck.csv}}}}\ninstead: {{afinn: l}}",
            ":3: instead: afinn: l takes the place of afinn, whose values go from -5 to 5; say",
        ),
        ("models: {}", ":1: unknown key 'models'; allowed: language, prompts, lexicons"),
    ],
)
def test_each_fault_is_a_line(folder: Path, content: str, said: str) -> None:
    """File, line and key, what was found and what is allowed."""
    path = written(folder, content)

    with pytest.raises(SpecError) as caught:
        load(path)

    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With its name, as a file: it ends like one."""
    with pytest.raises(SpecError, match=r"none\.yaml: cannot be read: No such file"):
        with_run_prompts(str(tmp_path / "none.yaml"), OwnWords())
