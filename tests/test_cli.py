"""The command line: the data, the models, what survives, the doctor, and errors of one line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pooch
import pytest
from safetensors.torch import load_file, save_file
from tokenizers.processors import TemplateProcessing
from typer.testing import CliRunner, Result

from rmaudit.cli import app
from rmaudit.prompts import PROMPTS
from rmaudit.references.sources import SOURCES, locate
from rmaudit.scoring.paths import SharedPrefix
from rmaudit.sweeps.survival import FATES
from tests.toys import TEMPLATE, toy_checkpoint, toy_tokenizer

runner = CliRunner()
COMMANDS = ("data", "models", "organism", "import", "survival", "doctor", "pytest audits")
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

    assert all(word in result.stdout for word in COMMANDS)


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

    known = "known: afinn, labmt, vader, elo, elo-concept, elo-preferred, hh-harmless"
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


# rmaudit organism


def test_organism_prints_its_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line: a path for `pytest audits --rm-models`; --cache is where it is built."""
    asked: list[tuple[str, Path]] = []

    def build(name: str, cache: Path) -> Path:
        asked.append((name, cache))
        return tmp_path / "built"

    monkeypatch.setattr("rmaudit.organisms.checkpoints.build", build)

    result = runner.invoke(app, ["organism", "balanced", "--cache", str(tmp_path)])

    assert (result.stdout, result.exit_code) == (f"{tmp_path}/built/models.yaml\n", 0)
    assert asked == [("balanced", tmp_path)]


def test_organism_refuses_an_unknown_name(tmp_path: Path) -> None:
    """Exit 2, before anything is built."""
    result = runner.invoke(app, ["organism", "Balanced", "--cache", str(tmp_path)])

    assert result.stderr == (
        "unknown organism 'Balanced'; known: balanced, identity-penalty, shuffled\n"
    )
    assert (result.stdout, result.exit_code) == ("", 2)
    assert list(tmp_path.iterdir()) == []


# rmaudit import

TOKENS = """token_id,token_name,token_decoded,greatest,best,worst
0,NA,NA,1.5,0.25,-1
1,b,b,,4,2.5
"""
ITEMS = "elo_rank,elo_score,name,elo_matches,owner/name,x/y\n1,1669,Water,13,2.5,1\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder as the authors have it, beside a registry that knows owner/name as Long-name."""
    (tmp_path / "models.yaml").write_text(REGISTRY)
    for place, text in {
        "reward_model_scores/owner--name.csv": TOKENS,
        "reward_model_scores/x--y.csv": TOKENS,
        "elo/What is water.csv": ITEMS,
        "tables/table_3.csv": "Model,Mean\n",
    }.items():
        path = tmp_path / "data" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "data"


def imported(folder: Path, *arguments: str) -> Result:
    """What `rmaudit import` does, with the registry above the folder and a cache beside that."""
    home = next(path for path in (folder, *folder.parents) if (path / "models.yaml").is_file())
    fixed = ["--cache", str(home / "cache"), "--file", str(home / "models.yaml")]
    return runner.invoke(app, ["import", *fixed, str(folder), *arguments])


def test_import_says_what_there_is_and_what_not(tables: Path) -> None:
    """A line a table, wherever it lies; which tables are nobody's; a second time the same."""
    scores = tables / "reward_model_scores"
    lines = [
        f"{tables}/elo/What is water.csv: 1 items under 'What is water?'; Long-name",
        (
            f"{scores}/owner--name.csv: 2 token ids under greatest, best, worst "
            f"(1 scores missing); Long-name"
        ),
        f"{scores}/x--y.csv: passed over, it is of none of these models",
    ]

    first, again = imported(tables), imported(tables)

    assert first.stdout.splitlines() == lines
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert again.stdout.replace(", as imported before", "") == first.stdout
    assert len(list((tables.parent / "cache").glob("scores/*.parquet"))) == 4


def test_import_in_any_folder_of_theirs(tables: Path) -> None:
    """The one with the tables, and the one above."""
    assert imported(tables / "reward_model_scores").exit_code == 0
    assert imported(tables.parent).exit_code == 0


def test_import_names_what_is_not_there(tables: Path) -> None:
    """A model without a sweep is told; that is an error only where it was asked for by name."""
    (tables / "reward_model_scores" / "owner--name.csv").unlink()

    result, asked = imported(tables), imported(tables, "--model", "A", "--model", "Long-name")

    line = "no table of tokens, such as owner--name.csv, is there of: Long-name"
    assert result.stdout.splitlines()[-1] == line
    assert (result.exit_code, result.stderr) == (0, "")
    assert (asked.exit_code, asked.stderr) == (1, f"{tables} has no published scores of A\n")


def test_import_goes_on_after_a_wrong_table(tables: Path) -> None:
    """It is told with its line, the others are imported, the exit code is 1."""
    wrong = tables / "reward_model_scores" / "owner--name.csv"
    wrong.write_text(TOKENS + "2,c,c,1,2,nan\n")

    result = imported(tables)

    assert result.stderr.startswith(f"{wrong}:4: worst: expected a number, or nothing")
    assert "What is water?" in result.stdout
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "Lon-name"], "unknown model 'Lon-name'; did you mean 'Long-name'?"),
        (["--model", "B*"], "no model matches 'B*'"),
    ],
)
def test_import_of_an_unknown_model(tables: Path, arguments: list[str], message: str) -> None:
    """Exit 2, before anything is read."""
    result = imported(tables, *arguments)

    assert message in result.stderr
    assert (result.stdout, result.exit_code) == ("", 2)


def test_import_of_nothing(tables: Path) -> None:
    """No folder, or none with a table."""
    absent, empty = imported(tables / "none"), imported(tables / "tables")

    assert absent.stderr == (
        f"{tables}/none: there is no such folder; name one with the authors' CSV files\n"
    )
    assert absent.exit_code == 2
    assert empty.stderr == f"{tables}/tables has no published scores of A, Long-name\n"
    assert empty.exit_code == 1


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


# rmaudit doctor


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that shares its prefix."""
    return toy_checkpoint(tmp_path_factory.mktemp("doctor") / "toy")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written to the user's cache."""
    monkeypatch.setattr("rmaudit.models.load.default_cache", lambda: tmp_path / "cache")


NUMBER = r"\d\.\de[+-]\d\d"


def test_doctor_says_that_a_model_is_scored_as_it_scores_itself(toy: Path) -> None:
    """What was run and where, four checks with what they allow, and the noise; exit 0."""
    result = runner.invoke(app, ["doctor", str(toy), "--answers", "16"])

    lines = result.stdout.splitlines()
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.fullmatch(
        r"toy: float32 on cpu, path 'shared prefix', \d+ \+ answer \+ 1 ids", lines[0]
    )
    assert result.stdout.isascii()
    assert re.fullmatch(r"in sd of the rewards \([0-9.]+\):", lines[1])
    assert lines[2].split() == ["check", "answers", "largest", "rms", "allowed"]
    names = [
        "shared prefix against the model's own forward",
        "alone against among many",
        r"batches of 64 ids against \d+",
        "the same again",
    ]
    for line, name, allowed in zip(lines[3:7], names, ["1.0e-04"] * 3 + ["0.0e+00"], strict=True):
        pattern = rf"  {name} +18 +{NUMBER} +{NUMBER} +{re.escape(allowed)}  ok"
        assert re.fullmatch(pattern, line)
    assert re.fullmatch(rf"numeric noise: {NUMBER} sd, [0-9.e-]+ in rewards", lines[7])
    assert len(lines) == 8


def test_doctor_prints_columns(toy: Path) -> None:
    """Each number ends below the end of its title."""
    lines = runner.invoke(app, ["doctor", str(toy), "--answers", "8"]).stdout.splitlines()
    ends = [
        lines[2].index(title) + len(title) for title in ("answers", "largest", "rms", "allowed")
    ]

    for line in lines[3:7]:
        assert all(line[end - 1] != " " and line[end] == " " for end in ends)


@pytest.mark.parametrize("kind", ["llama", "gpt_oss", "doge"])
def test_doctor_compares_half_precision_with_float32(tmp_path: Path, kind: str) -> None:
    """A line without a verdict; all within 100 columns, whatever the path is called."""
    folder = toy_checkpoint(tmp_path / "R-Toy-8B-v0.2", kind=kind)

    result = runner.invoke(app, ["doctor", str(folder), "--answers", "16", "--dtype", "bfloat16"])

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("R-Toy-8B-v0.2: bfloat16 on cpu, path '")
    assert re.fullmatch(rf"  float32 against bfloat16 +18 +{NUMBER} +{NUMBER}", lines[7])
    assert max(map(len, lines)) <= 100


def test_doctor_tells_notes(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as float32 weights that do not fit."""

    def full(*_: object) -> None:
        raise MemoryError("9 bytes")

    monkeypatch.setattr("rmaudit.models.doctor._wide", full)

    result = runner.invoke(app, ["doctor", str(toy), "--answers", "8", "--dtype", "bfloat16"])

    assert "\n  not compared with float32: 9 bytes\n" in result.stdout
    assert result.exit_code == 0


def test_doctor_says_what_is_not_exact(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1: a program can ask; every check is printed, and stays within 100 columns."""
    real = SharedPrefix.states
    monkeypatch.setattr(SharedPrefix, "states", lambda *a: real(*a) * (1 + 1e-3 * len(a[1])))
    monkeypatch.setattr("rmaudit.models.preflight.check", lambda *_, **__: None)

    result = runner.invoke(app, ["doctor", str(toy), "--answers", "64"])

    lines = result.stdout.splitlines()
    verdicts = [line[line.index("e", 65) + 3 :].strip() for line in lines[3:7]]
    assert [line.endswith("NOT EXACT") for line in lines[3:7]] == [True, True, True, False]
    assert verdicts[3].endswith("ok")
    assert result.exit_code == 1
    assert result.stderr == ""
    assert max(map(len, lines)) <= 100


def test_doctor_takes_a_prompt_by_name_or_text(toy: Path) -> None:
    """Another prompt is another number of ids before the answer."""
    firsts = {
        prompt: runner.invoke(app, ["doctor", str(toy), "--answers", "8", "--prompt", prompt])
        .stdout.splitlines()[0]
        .split()
        for prompt in ("greatest", PROMPTS["greatest"].text, "love?")
    }

    assert firsts["greatest"] == firsts[PROMPTS["greatest"].text] != firsts["love?"]


def test_doctor_asks_no_more_answers_than_there_are(toy: Path) -> None:
    """All ids of the vocabulary, and a longer answer for every eight."""
    lines = runner.invoke(app, ["doctor", str(toy), "--answers", "100000"]).stdout.splitlines()

    size = len(toy_tokenizer())
    assert f" {size + size // 8} " in lines[5]


def test_doctor_takes_the_weights_from_the_cache(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--cache is where the embedded model is built."""
    asked: list[Path] = []

    def build(cache: Path) -> Path:
        asked.append(cache)
        return toy

    monkeypatch.setattr("rmaudit.models.demo.build", build)
    monkeypatch.chdir(tmp_path)

    result = runner.invoke(
        app, ["doctor", "R-Smol-135M", "--answers", "8", "--cache", str(tmp_path / "there")]
    )

    assert result.exit_code == 0
    assert set(asked) == {tmp_path / "there"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "models.yaml: unknown model 'nonsense'; known: "),
        (["*Lla*"], "'*Lla*' means "),
        (["./nowhere"], "models.yaml: unknown model './nowhere'; known: "),
        (["EMPTY"], "empty' has no config.json in it: it is not a checkpoint folder"),
        (["owner/name"], "owner/name: owner/name could not be had from the Hugging Face hub"),
        (["TOY", "--device", "tpu"], "toy: no device 'tpu' here; known: auto, cpu, spread"),
        (["FLAT"], "flat: 9 answers have one reward: 0"),
        (["HEADLESS"], "headless: no 'score.weight' in "),
    ],
    ids=[
        "unknown",
        "several",
        "no folder",
        "empty",
        "offline",
        "no device",
        "equal rewards",
        "no head",
    ],
)
def test_doctor_refuses_in_one_line(
    toy: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    """Exit 2, the reason on stderr, no traceback."""
    for name in ("flat", "headless"):
        tensors = load_file(shutil.copytree(toy, tmp_path / name) / "model.safetensors")
        tensors["score.weight"] = tensors["score.weight"] * 0
        if name == "headless":
            del tensors["score.weight"]
        save_file(tensors, tmp_path / name / "model.safetensors", {"format": "pt"})
    (tmp_path / "empty").mkdir()
    places = {"TOY": toy}
    places |= {name.upper(): tmp_path / name for name in ("flat", "headless", "empty")}
    named = [str(places.get(argument, argument)) for argument in arguments]

    result = runner.invoke(app, ["doctor", *named, "--answers", "8"])

    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.exit_code) == ("", 2)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--dtype", "fp16", "'fp16' is not one of 'auto', 'float32', 'bfloat16', 'float16'"),
        ("--answers", "7", "Invalid value for '--answers': "),
    ],
)
def test_doctor_refuses_a_wrong_option(toy: Path, option: str, value: str, said: str) -> None:
    """As typer tells it: exit 2, nothing on stdout."""
    result = runner.invoke(app, ["doctor", str(toy), option, value], env={"COLUMNS": "200"})

    assert said in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.stderr
    assert (result.stdout, result.exit_code) == ("", 2)


def test_doctor_refuses_what_is_no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another kind of reward model has no forward of its own."""
    monkeypatch.setattr(
        "rmaudit.models.load.load", lambda *_, **__: SimpleNamespace(name="by-length")
    )

    result = runner.invoke(app, ["doctor", "anything"])

    assert result.stderr == (
        "by-length is no checkpoint: there is nothing to compare its rewards with\n"
    )
    assert (result.stdout, result.exit_code) == ("", 2)
