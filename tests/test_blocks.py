"""Every code block of README and of the site runs, and every command that they show is one.

Python runs in a folder where a toy bears the name of the embedded model, and another that of the
language model that the tutorial trains: nothing is downloaded. Audits that a page declares are run
on the toy. Commands are parsed, with all their options, and not run.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from _pytest.config import get_config

import rmaudit
from rmaudit.cli import app
from rmaudit.config.model_registry import load_registry
from rmaudit.errors import SpecError
from rmaudit.references import References
from rmaudit.references.text_changes import BUNDLED
from rmaudit.runs.run_options import OPTIONS, RunOptions
from rmaudit.verdicts.audit_declaration import declared
from tests.conftest import unavailable
from tests.toys import toy_checkpoint, toy_language_model, toy_tokenizer

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
FENCE = re.compile(r"^ *```(\w*)$", re.MULTILINE)
KNOWN = {"python", "console", "yaml", "text", "jinja"}
INLINE = re.compile(r"`((?:rmaudit|pytest) [^`]+)`")
INDENTED = re.compile(r"^    (?:rmaudit|pytest|pip|python|just) .*$", re.MULTILINE)
# What trains with TRL, or writes the pages of a report; and programs that are not ours to parse.
SLOW = {"tutorial", "in-training", "notebook", "outputs"}
OTHERS = {"pip", "python", "just", "pre-commit", "sbatch", ".", "hf", "sed"}
STEMS = [str(page.relative_to(ROOT)) for page in PAGES]


def having(language: str) -> Iterator[Any]:
    """The pages with blocks of a language."""
    for page, name in zip(PAGES, STEMS, strict=True):
        if f"```{language}\n" in page.read_text(encoding="utf-8"):
            slow = page.stem in SLOW and language == "python"
            yield pytest.param(page, id=name, marks=[pytest.mark.slow] if slow else [])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints whose tokens are words that labMT rates."""
    home = tmp_path_factory.mktemp("models")
    words = list(References().lexicon("labmt").index[::25])
    tokenizer = toy_tokenizer([*words, "love", "Love", "peace", "joy", "pain", "war", "table"])
    toy_checkpoint(home / "toy", tokenizer=tokenizer)
    toy_language_model(home / "HuggingFaceTB/SmolLM2-135M-Instruct", tokenizer=tokenizer)
    return home


@pytest.fixture
def home(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for path in models.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "models.yaml").write_text(
        "models: {R-Smol-135M: {source: ./toy, pairs: ./mine.jsonl, default: true}}\n",
        encoding="utf-8",
    )
    shutil.copy(BUNDLED, tmp_path / "mine.jsonl")
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n# A model\n", encoding="utf-8")
    return tmp_path


@pytest.mark.nightly
@pytest.mark.filterwarnings("default")  # TRL's
@pytest.mark.parametrize("page", list(having("python")))
def test_python_runs(page: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block after block in one namespace; then each audit that the page declares, on the toy."""
    document = parsed(page, "python")
    for example in document.examples():
        example.evaluate()

    declarations = [each for each in document.namespace.values() if declared(each) is not None]
    if declarations:
        monkeypatch.setattr("rmaudit.report.writers.write", lambda *_, **__: ([], []))  # dear
        findings = rmaudit.run("R-Smol-135M", audits=declarations, cache=home / "scores").findings
        assert [each for each in findings if each.estimate is None] == []
        assert len(findings) >= len(declarations)


@pytest.mark.parametrize("page", list(having("console")))
def test_commands_are_commands(page: Path, home: Path) -> None:
    """With all their options, in blocks and between ticks."""
    document = parsed(page, "console")
    lines = [line for each in document.examples() for line in commands(str(each.parsed))]
    between = [
        each.replace("\n", " ")
        for each in INLINE.findall(page.read_text(encoding="utf-8"))
        if "..." not in each and each.count(" ") > 1  # `rmaudit search` alone is its name
    ]

    assert lines
    assert {line: why for line in [*lines, *between] if (why := refused(line, home))} == {}


@pytest.mark.parametrize("page", list(having("yaml")))
def test_yaml_is_read(page: Path, home: Path) -> None:
    """What names models is a registry, with its keys; everything else is YAML."""
    for name in ("our-rm", "our-judge", "dpo", "sft"):
        (home / "checkpoints" / name).mkdir(parents=True)
    for name in ("judge", "shorter", "formal"):
        text = "{{ messages[0].content }} {{ messages[-1].content }}"
        (home / f"{name}.jinja").write_text(text)
    document = parsed(page, "yaml")
    for example in document.examples():
        if "models" in yaml.safe_load(example.parsed):
            (home / "models.yaml").write_text(example.parsed, encoding="utf-8")
            assert load_registry(home / "models.yaml").default.name.startswith("our-")


@pytest.mark.parametrize("page", PAGES, ids=STEMS)
def test_no_block_escapes(page: Path) -> None:
    """A fence says its language, and no command stands in an indented block."""
    text = page.read_text(encoding="utf-8")

    assert {*FENCE.findall(text)[::2]} <= KNOWN
    assert INDENTED.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)) == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rmaudit models check owner/name", ""),
        ("rmaudit nosuch", "nosuch"),
        ("rmaudit search NAME --nosuch 3", "--nosuch"),
        ("rmaudit compare one.json", "new"),
        ("pytest audits --model '*' --rm-recorded -k framing_inversion", ""),
        ("pytest audits --rm-device never", "never"),
        ("pytest audits --nosuch", "--nosuch"),
        ("pytest audits/test_nosuch.py", "test_nosuch"),
        ("audit it", "audit it"),
    ],
)
def test_what_is_no_command_is_found(line: str, why: str, home: Path) -> None:
    """Commands, options, values, missing arguments and files of audits."""
    said = refused(line, home)

    assert why in said
    assert bool(why) == bool(said)


def parsed(page: Path, language: str) -> Any:
    """The page as sybil reads it, with its blocks of a language as examples."""
    try:
        from sybil.document import Document
        from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
    except ImportError:
        unavailable("sybil is not installed: pip install -c constraints.txt -e '.[dev]'")
    python = language == "python"
    parser = PythonCodeBlockParser() if python else CodeBlockParser(language, lambda example: None)
    return Document.parse(str(page), parser)


def commands(block: str) -> Iterator[str]:
    """The commands of a block: without comments and prompts, one a line, loops undone."""
    for line in block.replace("\\\n", " ").splitlines():
        words = line.strip().removeprefix("$ ")
        for part in re.split(r"&&|;| > \S+", words.partition("  #")[0].partition(" # ")[0]):
            if part.strip() and not re.match(r"\s*(for .*|do|done)$", part):
                yield part.strip()


def refused(line: str, home: Path) -> str:
    """Why this is no command of ours; "" if it is one, or somebody else's."""
    program, *words = shlex.split(re.sub(r"^(\w+=\S+ )+", "", line))  # settings go before
    for word in words:
        if word.endswith((".json", ".yaml")):  # readers refuse a file that is not there
            (home / word).parent.mkdir(parents=True, exist_ok=True)
            (home / word).touch()
    if program == "rmaudit":
        return refused_by_click(words)
    if program == "pytest":
        return refused_by_pytest(words)
    return "" if program in OTHERS else f"{line}: no program that a reader has"


def refused_by_click(words: Sequence[str]) -> str:
    """What the command says of its options and arguments."""
    command: Any = typer.main.get_command(app)
    name = "rmaudit"
    while (
        words
        and hasattr(command, "commands")
        and (name == "rmaudit" or words[0] in {"check", "import"})
    ):
        name, *words = words
        if name not in command.commands:
            return f"no command {name!r}"
        command = command.commands[name]
    try:
        command.make_context(name, list(words))
    except typer._click.exceptions.ClickException as error:
        return str(error.format_message())
    except typer._click.exceptions.Exit:  # --help
        return ""
    return ""


def refused_by_pytest(words: Sequence[str]) -> str:
    """What pytest says of its options, those of plugins included; and audits that are not there."""
    config = get_config()
    config.pluginmanager.import_plugin("rmaudit.plugin")
    config.pluginmanager.import_plugin("xdist.plugin")
    try:
        given = config._parser.parse([word.replace("--model", "--rm-model") for word in words])
        places = {name: each.pytest[2:].replace("-", "_") for name, each in OPTIONS.items()}
        RunOptions.of({name: getattr(given, place, None) for name, place in places.items()})
    except (pytest.UsageError, SpecError) as error:
        return str(error)
    for path in given.file_or_dir:
        if path != "audits" and path not in HERE and not (ROOT / path).exists():
            return f"no such file: {path}"
    return ""


HERE = {"audits/test_capitals.py"}  # what a page tells its reader to write
