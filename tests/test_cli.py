"""The command line: the data, the models, what survives, and errors of one line."""

from __future__ import annotations

from pathlib import Path

import pooch
import pytest
from tokenizers.processors import TemplateProcessing
from typer.testing import CliRunner

from rmaudit.cli import app
from rmaudit.references.sources import SOURCES, locate
from rmaudit.sweeps.survival import FATES
from tests.toys import TEMPLATE, toy_tokenizer

runner = CliRunner()
REGISTRY = "models: {A: {source: embedded, default: true}, Long-name: {source: owner/name}}"


@pytest.fixture(autouse=True)
def _no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is installed, and no download."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.delenv("RMAUDIT_DATA", raising=False)
    monkeypatch.setattr(pooch, "retrieve", refuse)


# rmaudit


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_the_help_names_every_command(arguments: list[str]) -> None:
    """Asked or not, rmaudit says what it can do and how the audits are run."""
    result = runner.invoke(app, arguments)

    assert all(word in result.stdout for word in ("data", "models", "survival", "pytest audits"))


# rmaudit data


def test_data_says_where_a_file_is_and_under_which_licence() -> None:
    """One line a reference: name, path, licence."""
    result = runner.invoke(app, ["data", "afinn", "vader"])

    assert result.stdout.splitlines() == [
        f"afinn: {locate('afinn')} (ODbL 1.0 (Nielsen 2011))",
        f"vader: {locate('vader')} (MIT (Hutto and Gilbert 2014))",
    ]
    assert result.exit_code == 0


def test_data_without_a_name_gets_all(mirror: Path) -> None:
    """All references are located and checked, in the order of the table."""
    result = runner.invoke(app, ["data"])

    lines = [f"{name}: {mirror / s.mirror} ({s.licence})" for name, s in SOURCES.items()]
    assert result.stdout.splitlines() == lines
    assert result.exit_code == 0


def test_data_refuses_an_unknown_name() -> None:
    """Exit 2, with what was asked for and what there is."""
    result = runner.invoke(app, ["data", "bing"])

    known = "known: afinn, labmt, vader, elo, hh-harmless"
    assert result.stderr == f"unknown reference 'bing'; {known}\n"
    assert (result.stdout, result.exit_code) == ("", 2)


def test_data_goes_on_after_what_cannot_be_had() -> None:
    """One missing file hides no other: exit 1, the error on stderr, the rest on stdout."""
    result = runner.invoke(app, ["data", "elo", "afinn"])

    assert result.stdout == f"afinn: {locate('afinn')} (ODbL 1.0 (Nielsen 2011))\n"
    assert result.stderr.startswith("elo: https://")
    assert result.stderr.endswith("get it with: rmaudit data elo\n")
    assert len(result.stderr.splitlines()) == 1
    assert result.exit_code == 1


# rmaudit models


def test_models_lists_the_file_and_marks_the_default(tmp_path: Path) -> None:
    """One line a model, in the order of the file, with the source in a column."""
    path = tmp_path / "models.yaml"
    path.write_text(REGISTRY)

    result = runner.invoke(app, ["models", "--file", str(path)])

    assert result.stdout.splitlines() == ["* A          embedded", "  Long-name  owner/name"]
    assert result.exit_code == 0


def test_models_reads_the_file_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --file it is ./models.yaml, as for the audits."""
    (tmp_path / "models.yaml").write_text(REGISTRY)
    monkeypatch.chdir(tmp_path)

    assert "Long-name" in runner.invoke(app, ["models"]).stdout


def test_models_lists_those_of_rmaudit_where_there_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere it lists rmaudit's own: the default and the ten of the paper."""
    monkeypatch.chdir(tmp_path)

    lines = runner.invoke(app, ["models"]).stdout.splitlines()

    assert len(lines) == 11
    assert [line for line in lines if line.startswith("*")] == ["* R-Smol-135M     embedded"]


def test_models_refuses_a_wrong_file_in_one_line(tmp_path: Path) -> None:
    """Exit 2, with the file and the line; no traceback."""
    path = tmp_path / "models.yaml"
    path.write_text("models:\n  A: 3\n")

    result = runner.invoke(app, ["models", "--file", str(path)])

    assert result.stderr.startswith(f"{path}:2: A: ")
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.exit_code) == ("", 2)


def test_data_refuses_an_unknown_name_before_it_downloads() -> None:
    """Nothing is fetched for a command that is wrong."""
    assert CliRunner().invoke(app, ["data", "afinn", "bing"]).stdout == ""


# rmaudit survival


@pytest.fixture
def tokenizer_folder(tmp_path: Path) -> Path:
    """A folder with tokenizer files only, of a tokenizer that adds a BOS."""
    tokenizer = toy_tokenizer()
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokenizer.save_pretrained(tmp_path / "toy")
    return tmp_path / "toy"


def test_survival_counts_without_weights(tokenizer_folder: Path) -> None:
    """Five fates that add up, how many rows are left, what the tokenizer adds, and no words."""
    result = runner.invoke(app, ["survival", str(tokenizer_folder)])

    lines = result.stdout.splitlines()
    size = len(toy_tokenizer())
    counts = [int(line[16:26].replace(",", "")) for line in lines[2:7]]
    assert result.exit_code == 0
    assert lines[0] == f"toy: {size:,} token ids, 'What, in one word, is the greatest thing ever?'"
    assert [line[2:16].strip() for line in lines[2:7]] == list(FATES)
    assert sum(counts) == size
    assert counts[0] > size / 3
    assert counts[2] > 100  # bytes that are no character: U+FFFD has three of its own
    assert lines[8:] == [
        "BOS at the start of each row: not doubled",
        "ids that the tokenizer adds at the end of each row: [2]",
    ]
    assert "love" not in result.stdout
    assert result.stdout.isascii()


def test_survival_takes_a_template_and_a_prompt(tokenizer_folder: Path) -> None:
    """Another template replaces the folder's; a prompt is a name or any text."""
    template = tokenizer_folder / "other.jinja"
    template.write_text("{{ bos_token }}" + TEMPLATE.replace("['content']", "['content'] | trim"))
    command = ["survival", str(tokenizer_folder), "--template", str(template)]

    trimmed = runner.invoke(app, [*command, "--prompt", "Is it love?"]).stdout.splitlines()

    assert trimmed[0].endswith("token ids, 'Is it love?'")
    assert "BOS at the start of each row: two" in trimmed
    assert int(trimmed[5].split()[1]) > 0  # white space leaves nothing
    named = runner.invoke(app, ["survival", str(tokenizer_folder), "--prompt", "worst"])
    assert "the worst thing" in named.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "unknown model 'nonsense'"),
        (["*Lla*"], "'*Lla*' means"),
        (["FOLDER", "--template", "nowhere.jinja"], "template: there is no file nowhere.jinja"),
        (["EMPTY"], "empty: its tokenizer could not be read from"),
        (["owner/name"], "owner/name: owner/name could not be had from the Hugging Face hub"),
    ],
    ids=["unknown", "several", "no template", "no tokenizer", "offline"],
)
def test_survival_refuses_in_one_line(
    tokenizer_folder: Path, arguments: list[str], said: str
) -> None:
    """Exit 2, the reason on stderr, no traceback."""
    empty = tokenizer_folder.parent / "empty"
    empty.mkdir()
    places = {"FOLDER": str(tokenizer_folder), "EMPTY": str(empty)}

    result = runner.invoke(app, ["survival", *(places.get(a, a) for a in arguments)])

    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.exit_code) == ("", 2)


def test_survival_downloads_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hub id only the small files are asked for."""
    asked: list[str] = []

    def refuse(*_: object, allow_patterns: list[str], **__: object) -> None:
        asked.extend(allow_patterns)
        raise OSError("no network in tests")

    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)

    assert runner.invoke(app, ["survival", "owner/name"]).exit_code == 2
    assert "*.json" in asked
    assert "*.safetensors" not in asked
