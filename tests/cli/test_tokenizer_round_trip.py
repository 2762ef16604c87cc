"""rmaudit round-trip and rmaudit doctor: what is told, and errors of one line."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from tokenizers.processors import TemplateProcessing

from rmaudit.models import forward_parity_check
from rmaudit.prompts import PROMPTS
from rmaudit.scores.token_survival import FATES
from rmaudit.scoring.row_runners import SharedPrefix
from tests.cli.running import run
from tests.hub import Hub, serving
from tests.toys import TEMPLATE, WORDS, pair_tokenizer, toy_checkpoint, toy_tokenizer

# rmaudit round-trip


@pytest.fixture
def tokenizer_folder(tmp_path: Path) -> Path:
    """A folder with tokenizer files only, of a tokenizer that adds a BOS."""
    tokenizer = toy_tokenizer()
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokenizer.save_pretrained(tmp_path / "toy")
    return tmp_path / "toy"


def test_round_trip_counts_without_weights(tokenizer_folder: Path) -> None:
    """Five fates that add up, how many rows are left, what the tokenizer adds, and no words."""
    result = run("round-trip", str(tokenizer_folder))
    told = json.loads(run("round-trip", str(tokenizer_folder), "--json").stdout)

    lines = result.stdout.splitlines()
    size = len(toy_tokenizer())
    counts = [int(line[16:26].replace(",", "")) for line in lines[2:8]]
    assert result.exit_code == 0
    assert lines[0] == f"toy: {size:,} token ids, 'What, in one word, is the greatest thing ever?'"
    assert [line[2:16].strip() for line in lines[2:7]] == list(FATES)
    assert sum(counts[:5]) == size
    assert counts[0] > size / 3
    assert counts[2] > 100  # bytes that are no character: U+FFFD has three of its own
    assert lines[8].startswith("BOS at the start of each row: not doubled")
    assert lines[9].endswith(": [2]")
    assert "love" not in result.stdout
    assert result.stdout.isascii()
    assert told == {
        "model": "toy",
        "prompt": PROMPTS["greatest"].text,
        "token_ids": size,
        "fates": dict(zip(FATES, counts[:5], strict=True)),
        "distinct_rows": counts[5],
        "doubled_bos": False,
        "closing": [2],
    }


def test_round_trip_takes_a_template_and_a_prompt(tokenizer_folder: Path) -> None:
    """Another template replaces the folder's; a prompt is a name or any text."""
    template = tokenizer_folder / "other.jinja"
    template.write_text("{{ bos_token }}" + TEMPLATE.replace("['content']", "['content'] | trim"))
    command = ["round-trip", str(tokenizer_folder), "--template", str(template)]

    trimmed = run(*command, "--prompt", "Is it love?").stdout.splitlines()

    assert trimmed[0].endswith("token ids, 'Is it love?'")
    assert "BOS at the start of each row: two" in trimmed
    assert int(trimmed[5].split()[1]) > 0  # white space leaves nothing
    named = run("round-trip", str(tokenizer_folder), "--prompt", "worst")
    assert "the worst thing" in named.stdout.splitlines()[0]


def test_round_trip_of_an_encoder_is_that_of_its_pairs(tmp_path: Path) -> None:
    """No template is needed, and one that is given is refused."""
    folder = tmp_path / "toy"
    pair_tokenizer().save_pretrained(folder)
    config = {"architectures": ["DebertaV2ForSequenceClassification"], "model_type": "deberta-v2"}
    (folder / "config.json").write_text(json.dumps(config))

    result = run("round-trip", str(folder))

    counts = [int(line[16:26].replace(",", "")) for line in result.stdout.splitlines()[2:7]]
    assert result.exit_code == 0
    assert sum(counts) == len(pair_tokenizer())
    assert counts[0] >= len(WORDS)  # each a piece of its own
    assert counts[4] == 0
    assert "ids that the tokenizer adds" not in result.stdout
    template = tmp_path / "any.jinja"
    template.write_text(TEMPLATE)
    refused = run("round-trip", str(folder), "--template", str(template))
    assert "remove `template`" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["FOLDER", "--template", "nowhere.jinja"], 4, "template: there is no file nowhere.jinja"),
        (["EMPTY"], 3, "empty: its tokenizer could not be read from"),
    ],
)
def test_round_trip_refuses_in_one_line(
    tokenizer_folder: Path, arguments: list[str], code: int, said: str
) -> None:
    """Exit 4 where the command is wrong, 3 where the model is; the reason on stderr."""
    empty = tokenizer_folder.parent / "empty"
    empty.mkdir()
    places = {"FOLDER": str(tokenizer_folder), "EMPTY": str(empty)}

    result = run("round-trip", *(places.get(a, a) for a in arguments))

    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.exit_code) == ("", code)


def test_round_trip_downloads_no_weights(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a hub id only the small files are asked for; the command's old name still works."""
    with serving(Hub({"owner/toy": toy}), tmp_path / "hub", monkeypatch) as hub:
        result = run("survival", "owner/toy")

    assert result.exit_code == 0, result.stderr
    assert "config.json" in hub.served
    assert not [name for name in hub.served if name.endswith(".safetensors")]


# rmaudit doctor


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that shares its prefix."""
    return toy_checkpoint(tmp_path_factory.mktemp("doctor") / "toy")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written to the user's cache."""
    monkeypatch.setattr("rmaudit.models.checkpoint_model.default_cache", lambda: tmp_path / "cache")


NUMBER = r"\d\.\de[+-]\d\d"


def test_doctor_says_that_a_model_is_scored_as_it_scores_itself(toy: Path) -> None:
    """What was run and where, four checks with what they allow, and the noise; exit 0."""
    result = run("doctor", str(toy), "--answers", "16")
    told = json.loads(run("doctor", str(toy), "--answers", "16", "--json").stdout)

    lines = result.stdout.splitlines()
    titles = ("answers", "largest", "rms", "allowed")
    ends = [lines[2].index(title) + len(title) for title in titles]
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.isascii()
    assert lines[0].startswith("toy: float32 on cpu, path 'shared prefix', ")
    assert len(lines) == 9
    for line, check in zip(lines[3:7], told["checks"], strict=True):
        assert line.startswith(f"  {check['name']} ")
        assert line.endswith(f" {check['allowed']:.1e}  ok")
        assert re.search(rf" 16 +{NUMBER} +{NUMBER} ", line)
        assert all(line[end - 1] != " " and line[end] == " " for end in ends)
        assert (check["ok"], check["answers"]) == (True, 16)
    assert [check["allowed"] for check in told["checks"]] == [1e-4] * 3 + [0.0]
    assert re.fullmatch(rf"numeric noise: {NUMBER} sd, [0-9.e-]+ in rewards", lines[8])
    assert lines[7].endswith(
        " gives the ids of tokenizer.json to 70 texts of 18 kinds, from digits to prose"
    )
    assert told["noise_sd"] == max(check["rms"] for check in told["checks"])
    place = (told["model"], told["dtype"], told["device"], told["exact"])
    assert place == ("toy", "float32", "cpu", True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["llama", "gpt_oss", "doge"])
def test_doctor_compares_half_precision_with_float32(tmp_path: Path, kind: str) -> None:
    """A line without a verdict; all within 100 columns, whatever the path is called."""
    folder = toy_checkpoint(tmp_path / "R-Toy-8B-v0.2", kind=kind)

    result = run("doctor", str(folder), "--answers", "16", "--dtype", "bfloat16")

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("R-Toy-8B-v0.2: bfloat16 on cpu, path '")
    assert re.fullmatch(rf"  float32 against bfloat16 +16 +{NUMBER} +{NUMBER}", lines[7])
    assert max(map(len, lines)) <= 100


def test_doctor_tells_notes(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as float32 weights that do not fit."""

    def full(*_: object) -> None:
        raise MemoryError("9 bytes")

    monkeypatch.setattr("rmaudit.models.checkpoint_doctor.rewards_in_dtype", full)

    result = run("doctor", str(toy), "--answers", "8", "--dtype", "bfloat16")

    assert "\n  not compared with float32: 9 bytes\n" in result.stdout
    assert result.exit_code == 0


def test_doctor_says_what_is_not_exact(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1: a program can ask; every check is printed, and stays within 100 columns."""
    real = SharedPrefix.states
    monkeypatch.setattr(SharedPrefix, "states", lambda *a: real(*a) * (1 + 1e-3 * len(a[1])))
    nothing = forward_parity_check.PathChecks(sd=1.0, every=True, loosely="")
    monkeypatch.setattr(forward_parity_check, "check", lambda *_, **__: nothing)

    result = run("doctor", str(toy), "--answers", "64")

    lines = result.stdout.splitlines()
    verdicts = [line[line.index("e", 65) + 3 :].strip() for line in lines[3:7]]
    assert [line.endswith("NOT EXACT") for line in lines[3:7]] == [True, True, True, False]
    assert verdicts[3].endswith("ok")
    assert result.exit_code == 1
    assert result.stderr == ""
    assert max(map(len, lines)) <= 100


def test_doctor_takes_the_weights_from_the_cache(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--cache is where the embedded model is built."""
    asked: list[Path] = []

    def build(cache: Path) -> Path:
        asked.append(cache)
        return toy

    monkeypatch.setattr("rmaudit.checkpoints.bundled_model.build", build)
    monkeypatch.chdir(tmp_path)

    result = run("doctor", "R-Smol-135M", "--answers", "8", "--cache", str(tmp_path / "there"))

    assert result.exit_code == 0
    assert set(asked) == {tmp_path / "there"}


@pytest.mark.parametrize(
    ("model", "code", "said"),
    [
        ("*Lla*", 4, "'*Lla*' means "),
        ("./flat", 3, "flat: 8 answers have one reward: 0"),
        ("./headless", 3, "headless: no 'score.weight' in "),
    ],
)
def test_doctor_refuses_in_one_line(  # noqa: PLR0917
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, code: int, said: str
) -> None:
    """Exit 4 where the command is wrong, 3 where the model is; the reason on stderr."""
    monkeypatch.chdir(tmp_path)
    tensors = load_file(toy / "model.safetensors")
    flat = tensors | {"score.weight": tensors.pop("score.weight") * 0}
    for name, own in (("flat", flat), ("headless", tensors)):
        save_file(own, Path(shutil.copytree(toy, name)) / "model.safetensors", {"format": "pt"})

    result = run("doctor", model, "--answers", "8")

    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.exit_code) == ("", code)


@pytest.mark.parametrize("command", [["round-trip"], ["doctor", "--answers", "8"]], ids=" ".join)
def test_a_model_of_another_registry(toy: Path, tmp_path: Path, command: list[str]) -> None:
    """--file names it, as for `rmaudit models`."""
    path = tmp_path / "other.yaml"
    path.write_text(f"models: {{mine: {{source: {toy}, default: true}}}}")

    result = run(*command, "mine", "--file", str(path))

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("mine: ")
