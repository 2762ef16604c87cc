"""models.yaml is read strictly, and `--model` finds what it names."""

from __future__ import annotations

import math
import re
import string
import subprocess
import sys
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rmaudit.config import registry
from rmaudit.config.registry import ModelSpec, Registry, default_path, load_registry, resolve
from rmaudit.errors import SpecError

ROOT = Path(__file__).parents[2]
HASH = "0123456789abcdef0123456789abcdef01234567"

KEYS = (
    "source, revision, dtype, pool, logit, quantized, trust_remote_code, score_field, template, "
    "base, base_revision, developer, base_model, parameters_b, rewardbench_rank, default, "
    "trained_on, notes"
)
POLICY_KEYS = ", bounds, severity, known, waivers"
SOURCES = "'embedded', a hub id 'owner/name', or a folder that begins with './', '../', '/' or '~/'"
NAMES = "a name of letters, digits, '.', '-' and '_'"
YES = "yes, which YAML reads as bool when unquoted"
NO_FIELD = (
    "score_field: it is for code that is run (trust_remote_code: true); a known head needs none"
)
REVISIONS = "a full commit hash of 40 hex digits (branches and tags move)"
UNPINNED = (
    f"4: A: trust_remote_code: true needs a hub id and its `revision` beside it, {REVISIONS}: what "
    f"you have read is what is run"
)

FULL = f"""\
models:
  A:
    source: owner/name
    revision: {HASH}
    dtype: bfloat16
    pool: last
    logit: 0
    template: chat.jinja
    base: owner/base
    base_revision: {HASH}
    developer: somebody
    base_model: Llama 3
    parameters_b: 0.135
    rewardbench_rank: 7
    default: true
    trained_on: salt
    notes:
      - Written on
        two lines.
      - 'With: a colon.'
    bounds:
      skew: {{above: 0.5}}
"""


def write(folder: Path, content: str | bytes) -> Path:
    """A models.yaml in `folder`, beside the template that `FULL` names."""
    (folder / "chat.jinja").touch()
    path = folder / "models.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path: Path) -> str:
    """The text with which `load_registry` refuses the file, without the folder."""
    with pytest.raises(SpecError) as caught:
        load_registry(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def read_or_refused(path: Path) -> Registry | str:
    """The registry, or the text of the SpecError; anything else is let through."""
    try:
        return load_registry(path)
    except SpecError as error:
        return str(error).replace(f"{path.parent}/", "")


def with_entry(lines: str) -> str:
    """A registry whose model A, on line 2, has `lines` from line 3 on."""
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"models:\n  A:\n{indented}"


# What a correct file means


def test_every_key_reaches_the_spec(tmp_path: Path) -> None:
    """An entry with all keys becomes a spec with all fields, of the right types."""
    path = write(tmp_path, FULL)

    assert load_registry(path).models == {
        "A": ModelSpec(
            "A",
            "owner/name",
            revision=HASH,
            dtype="bfloat16",
            pool="last",
            logit=0,
            template=str(tmp_path / "chat.jinja"),
            base="owner/base",
            base_revision=HASH,
            developer="somebody",
            base_model="Llama 3",
            parameters_b=0.135,
            rewardbench_rank=7,
            default=True,
            trained_on="salt",
            notes=("Written on two lines.", "With: a colon."),
        )
    }


def test_the_keys_of_the_file_are_the_fields_of_the_spec() -> None:
    """A field that no key can fill, or a key without a field, cannot creep in."""
    assert {field.name for field in fields(ModelSpec)} == {"name", *KEYS.split(", ")}


def test_only_the_source_is_required(tmp_path: Path) -> None:
    """Whatever an entry leaves out has the default of the spec."""
    path = write(tmp_path, with_entry("source: embedded\ndefault: true"))

    assert load_registry(path).models == {"A": ModelSpec("A", "embedded", default=True)}


@pytest.mark.parametrize("field", [None, "logits", "score"])
def test_code_is_trusted_beside_a_commit(tmp_path: Path, field: Any) -> None:
    """Both keys reach the spec; without them no code is trusted."""
    lines = f"source: a/b\ndefault: true\nrevision: {HASH}\ntrust_remote_code: true"
    lines += f"\nscore_field: {field}" if field else ""

    spec = load_registry(write(tmp_path, with_entry(lines))).default

    assert spec.trust_remote_code is True
    assert spec.score_field == field
    assert ModelSpec("A", "a/b").trust_remote_code is False


def test_models_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """Reports list the models as the file does, and the default may be any of them."""
    path = write(
        tmp_path, "models: {B: {source: a/b}, A: {source: a/c, default: true}, C: {source: a/d}}"
    )

    read = load_registry(path)

    assert list(read.models) == ["B", "A", "C"]
    assert read.default is read.models["A"]
    assert read.path == path


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("./run/final", "{}/run/final"),
        ("../run", "{}/../run"),
        ("/data/run", "/data/run"),
        ("~/run", "~/run"),
    ],
)
def test_folders_start_at_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, meant: str
) -> None:
    """A relative folder is relative to models.yaml, wherever pytest is started."""
    (tmp_path / "elsewhere").mkdir()
    lines = f"source: {written}\nbase: {written}\ndefault: true"
    path = write(tmp_path, with_entry(lines))
    monkeypatch.chdir(tmp_path / "elsewhere")

    spec = load_registry(path).default

    expected = meant.format(tmp_path).replace(f"{tmp_path.name}/../", "")
    assert (spec.source, spec.base) == (expected, expected)


def test_the_policy_is_read_beside_the_models(tmp_path: Path) -> None:
    """What is said of verdicts is no part of what a model is: `test_policyfile` has the rest."""
    policy = load_registry(write(tmp_path, FULL)).policy

    assert policy.of("A").bounds == {"skew": (0.5, math.inf)}
    assert policy.file == "models.yaml"


def test_a_spec_can_be_a_key(tmp_path: Path) -> None:
    """Specs are hashable: models are cached by them."""
    spec = load_registry(write(tmp_path, FULL)).default

    assert {spec: 1}[replace(spec)] == 1


# What is wrong with a file: where, what was found, what is allowed


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "1: the file is empty; expected a mapping with the key 'models'"),
        ("# nothing\n", "1: the file is empty; expected a mapping with the key 'models'"),
        ("\n- A\n", "2: expected a mapping with the key 'models', got a list"),
        ("A", "1: expected a mapping with the key 'models', got the text 'A'"),
        ("{}", "1: the key 'models' is missing"),
        (
            "\nmodel: {}",
            "2: unknown key 'model'; did you mean 'models'? allowed: models, bounds, severity",
        ),
        ("models: {}\npolicy: {}", "2: unknown key 'policy'; allowed: models, bounds, severity"),
        ("models: {}\nmodels: {}", "2: duplicate key 'models', first on line 1"),
        ("models:", "1: models: expected a mapping of names to entries, got nothing"),
        ("models: []", "1: models: expected a mapping of names to entries, got a list"),
        ("\nmodels: {}", "2: no model has 'default: true'; exactly one must have it"),
        (
            "models:\n  A: {source: a/b}\n  B: {source: a/b, default: false}",
            "1: no model has 'default: true'; exactly one must have it",
        ),
        (
            (
                "models:\n  A: {source: a/b, default: true}\n  B: {source: a/b}\n"
                "  C: {source: a/b, default: true}"
            ),
            "4: C: a second 'default: true', after A",
        ),
        (
            "models:\n  A: {source: a/b, default: true}\n  B: {source: a/b}\n  A: {source: a/b}",
            "4: models: duplicate key 'A', first on line 2",
        ),
        ("models:\n  A:", "2: A: expected a mapping with the key 'source', got nothing"),
        ("models:\n  A: a/b", "2: A: expected a mapping with the key 'source', got the text 'a/b'"),
        (
            "models:\n  no: {source: a/b}",
            f"2: models: expected {NAMES}, got no, which YAML reads as bool when unquoted",
        ),
        (
            "models:\n  135: {source: a/b}",
            f"2: models: expected {NAMES}, got 135, which YAML reads as int when unquoted",
        ),
        (
            "models:\n  2025-01-31: {source: a/b}",
            (
                f"2: models: expected {NAMES}, got 2025-01-31, "
                "which YAML reads as timestamp when unquoted"
            ),
        ),
        ("models:\n  a b: {source: a/b}", f"2: models: expected {NAMES}, got the text 'a b'"),
        ("models:\n  'N-*': {source: a/b}", f"2: models: expected {NAMES}, got the text 'N-*'"),
        ("models:\n  ? [A]\n  : 1", f"2: models: expected {NAMES}, got a list"),
    ],
)
def test_a_wrong_layout_is_one_line(tmp_path: Path, content: str, text: str) -> None:
    """Whatever is wrong above the entries is told with its line."""
    path = write(tmp_path, content)

    assert refusal(path) == f"models.yaml:{text}"


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("default: true", f"2: A: the key 'source' is missing; expected {SOURCES}"),
        (
            "source: a/b\nrevison: 1",
            f"4: A: unknown key 'revison'; did you mean 'revision'? allowed: {KEYS}{POLICY_KEYS}",
        ),
        (
            "source: a/b\nNotes: []",
            f"4: A: unknown key 'Notes'; did you mean 'notes'? allowed: {KEYS}{POLICY_KEYS}",
        ),
        ("source: a/b\nxyz: 1", f"4: A: unknown key 'xyz'; allowed: {KEYS}{POLICY_KEYS}"),
        ("source: a/b\nsource: a/b", "4: A: duplicate key 'source', first on line 3"),
        (
            "source: a/b\n1: 2",
            "4: A: expected text, got 1, which YAML reads as int when unquoted",
        ),
        (
            "source: a/b\n<<: {dtype: auto}",
            "4: A: expected text, got <<, which YAML reads as merge when unquoted",
        ),
        ("source:", f"3: A: source: expected {SOURCES}, got nothing"),
        ("source: embeded", f"3: A: source: expected {SOURCES}, got the text 'embeded'"),
        ("source: run/final/x", f"3: A: source: expected {SOURCES}, got the text 'run/final/x'"),
        ("source: [a/b]", f"3: A: source: expected {SOURCES}, got a list"),
        (
            "source: a/b\nrevision: main",
            f"4: A: revision: expected {REVISIONS}, got the text 'main'",
        ),
        (
            "source: a/b\nrevision: 39aadad",
            f"4: A: revision: expected {REVISIONS}, got the text '39aadad'",
        ),
        (
            f"source: a/b\nrevision: {'1' * 40}",
            (
                f"4: A: revision: expected {REVISIONS}, got {'1' * 40}, "
                "which YAML reads as int when unquoted"
            ),
        ),
        (
            "source: a/b\ntrust_remote_code: true",
            UNPINNED,
        ),
        (
            f"source: ./run\nrevision: {HASH}\ntrust_remote_code: true",
            "4: A: revision: only a hub id has revisions",
        ),
        (
            "source: ./run\ntrust_remote_code: true",
            UNPINNED,
        ),
        (
            f"source: a/b\nrevision: {HASH}\ntrust_remote_code: yes",
            f"5: A: trust_remote_code: expected true or false, got {YES}",
        ),
        (
            f"source: a/b\nrevision: {HASH}\ntrust_remote_code: true\nlogit: 0",
            "6: A: logit: its own code decides that (trust_remote_code: true); remove one of them",
        ),
        (
            f"source: a/b\nrevision: {HASH}\ntrust_remote_code: true\npool: last",
            "6: A: pool: its own code decides that (trust_remote_code: true); remove one of them",
        ),
        (
            "source: a/b\nscore_field: score",
            f"4: A: {NO_FIELD}",
        ),
        (
            f"source: a/b\nrevision: {HASH}\ntrust_remote_code: false\nscore_field: score",
            f"6: A: {NO_FIELD}",
        ),
        (
            "source: a/b\nscore_field: reward",
            "4: A: score_field: expected one of logits, score, got the text 'reward'",
        ),
        (
            f"source: embedded\nrevision: {HASH}",
            "4: A: revision: only a hub id has revisions",
        ),
        (
            f"source: ./run\nrevision: {HASH}",
            "4: A: revision: only a hub id has revisions",
        ),
        ("source: a/b\nbase: gpt2", f"4: A: base: expected {SOURCES}, got the text 'gpt2'"),
        (
            "source: a/b\nbase: c/d\nbase_revision: main",
            f"5: A: base_revision: expected {REVISIONS}, got the text 'main'",
        ),
        (
            f"source: a/b\nbase: ./run\nbase_revision: {HASH}",
            "5: A: base_revision: only a hub id has revisions",
        ),
        (
            f"source: a/b\nbase_revision: {HASH}",
            "4: A: base_revision: only a hub id has revisions",
        ),
        (
            "source: a/b\ndtype: fp16",
            "4: A: dtype: expected one of auto, float32, bfloat16, float16, got the text 'fp16'",
        ),
        (
            "source: a/b\npool: eos",
            "4: A: pool: expected one of auto, last, hf, got the text 'eos'",
        ),
        (
            "source: a/b\npool: off",
            (
                "4: A: pool: expected one of auto, last, hf, "
                "got off, which YAML reads as bool when unquoted"
            ),
        ),
        ("source: a/b\ntemplate: no.jinja", "4: A: template: there is no file no.jinja"),
        (
            "source: a/b\ndeveloper: off",
            "4: A: developer: expected text, got off, which YAML reads as bool when unquoted",
        ),
        (
            "source: a/b\nbase_model: 3.1",
            "4: A: base_model: expected text, got 3.1, which YAML reads as float when unquoted",
        ),
        ("source: a/b\ndeveloper: ' '", "4: A: developer: expected text, got the text ' '"),
        (
            "source: a/b\nparameters_b: 1e5",
            "4: A: parameters_b: expected a number above 0, such as 8 or 0.135, got the text '1e5'",
        ),
        (
            "source: a/b\nparameters_b: '8'",
            "4: A: parameters_b: expected a number above 0, such as 8 or 0.135, got the text '8'",
        ),
        (
            "source: a/b\nparameters_b: 0,135",
            (
                "4: A: parameters_b: expected a number above 0, such as 8 or 0.135, "
                "got the text '0,135'"
            ),
        ),
        *(
            (
                f"source: a/b\nparameters_b: {number}",
                (
                    "4: A: parameters_b: expected a number above 0, such as 8 or 0.135, "
                    f"got {number}, which YAML reads as {kind} when unquoted"
                ),
            )
            for number, kind in {
                "0": "int",
                "-8": "int",
                "010": "int",
                "0x10": "int",
                "1:30": "int",
                "1_000": "int",
                "0.0": "float",
                ".nan": "float",
                ".inf": "float",
                "true": "bool",
            }.items()
        ),
        (
            "source: a/b\nrewardbench_rank: 2.0",
            (
                "4: A: rewardbench_rank: expected a whole number above 0, such as 8, "
                "got 2.0, which YAML reads as float when unquoted"
            ),
        ),
        (
            "source: a/b\ndefault: yes",
            (
                "4: A: default: expected true or false, got yes, "
                "which YAML reads as bool when unquoted"
            ),
        ),
        (
            "source: a/b\ndefault: 'true'",
            "4: A: default: expected true or false, got the text 'true'",
        ),
        (
            "source: a/b\ndefault: 1",
            "4: A: default: expected true or false, got 1, which YAML reads as int when unquoted",
        ),
        (
            "source: a/b\nnotes: One.",
            "4: A: notes: expected a list of texts, got the text 'One.'",
        ),
        (
            "source: a/b\nnotes:\n  - One.\n  - 2",
            "6: A: notes: expected text, got 2, which YAML reads as int when unquoted",
        ),
        (
            "source: a/b\nnotes:\n  - Unsure: its head",
            "5: A: notes: expected text, got a mapping; quote a text that holds ': '",
        ),
    ],
)
def test_a_wrong_entry_is_one_line(tmp_path: Path, lines: str, text: str) -> None:
    """Whatever is wrong in an entry is told with its line, the model and the key."""
    path = write(tmp_path, with_entry(lines))

    assert refusal(path) == f"models.yaml:{text}"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            "models:\n\tA: {}",
            (
                "2: not valid YAML: while scanning for the next token: "
                r"found character '\t' that cannot start any token"
            ),
        ),
        ("a: b: c", "1: not valid YAML: mapping values are not allowed here"),
        (
            "models:\n  A: 'x",
            "2: not valid YAML: while scanning a quoted scalar: found unexpected end of stream",
        ),
        (
            "--- {}\n--- {}",
            (
                "2: not valid YAML: expected a single document in the stream: "
                "but found another document"
            ),
        ),
        ("models:\n  A: \0", "2: not valid YAML: there is a control character"),
        (
            'models:\n  A:\n    source: a/b\n    developer: "\\UFFFFFFFF"',
            "4: not valid YAML: an escape or a nesting goes too far",
        ),
        pytest.param(
            "[" * 800 + "]" * 800,
            "1: not valid YAML: an escape or a nesting goes too far",
            id="nested",
        ),
        ("models:\n  A: &a {source: a/b}\n  B: *a", "2: anchors and aliases are refused, got 'a'"),
        ("models:\n  A: *a", "2: anchors and aliases are refused, got 'a'"),
        (
            "models:\n  A: !!python/object/apply:os.getcwd []",
            "2: tags are refused, got 'tag:yaml.org,2002:python/object/apply:os.getcwd'",
        ),
        ("models:\n  A:\n    source: !env HOME", "3: tags are refused, got '!env'"),
        ("models: !!str x", "1: tags are refused, got 'tag:yaml.org,2002:str'"),
        (b"models:\n  A: \xff", "2: not UTF-8 text"),
        ("models: {}".encode("utf-16"), "1: not UTF-8 text"),
    ],
)
def test_what_is_not_plain_yaml_is_one_line(
    tmp_path: Path, content: str | bytes, text: str
) -> None:
    """Syntax errors, wrong bytes and everything that could run or point elsewhere are refused."""
    path = write(tmp_path, content)

    assert refusal(path) == f"models.yaml:{text}"


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    """A registry that is not there is named."""
    path = tmp_path / "models.yaml"

    assert refusal(path) == "models.yaml: cannot be read: No such file or directory"


def test_a_folder_is_no_registry(tmp_path: Path) -> None:
    """A folder in the place of the registry is named."""
    path = tmp_path / "models.yaml"
    path.mkdir()

    assert refusal(path) == "models.yaml: cannot be read: Is a directory"


# No slip of the pen goes unseen

SCALAR_LINES = [line for line in FULL.splitlines() if line.startswith("    ") and ": " in line]
ENTRY_KEYS = [line.split(":")[0].strip() for line in SCALAR_LINES if line[4] not in " -"]
CHARACTERS = st.sampled_from(string.ascii_letters + string.digits + "_-. #:'\"")
ONE_LINE = re.compile(r"models\.yaml:[0-9]+: [^\n\r]+")
quick = settings(max_examples=150, deadline=None)


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all examples of a property share."""
    return tmp_path_factory.mktemp("registry")


@quick
@given(data=st.data())
def test_a_mistyped_key_never_changes_a_spec(scratch: Path, data: st.DataObject) -> None:
    """One wrong character in a key is refused, or is a comment, or is no change of meaning."""
    original = load_registry(write(scratch, FULL)).default
    key = data.draw(st.sampled_from([*ENTRY_KEYS, "notes"]))
    place = data.draw(st.integers(0, len(key)))
    cut = data.draw(st.integers(0, 1))
    typed = key[:place] + data.draw(CHARACTERS | st.just("")) + key[place + cut :]
    content = FULL.replace(f"    {key}:", f"    {typed}:")

    read = read_or_refused(write(scratch, content))

    if isinstance(read, str):
        assert ONE_LINE.fullmatch(read)
    else:
        assert read.default == (without(original, key) if typed.startswith("#") else original)


@pytest.mark.parametrize("key", ENTRY_KEYS)
def test_a_deleted_key_changes_its_own_field_only(tmp_path: Path, key: str) -> None:
    """An entry without a key has that field's default, and is refused where there is none."""
    original = load_registry(write(tmp_path, FULL)).default
    line = next(line for line in SCALAR_LINES if line.strip().startswith(f"{key}:"))
    path = write(tmp_path, FULL.replace(f"{line}\n", ""))

    if key in {"source", "default", "base"}:  # whose revision would be that of nothing
        assert ONE_LINE.fullmatch(refusal(path))
    else:
        assert load_registry(path).default == without(original, key)


@quick
@given(written=st.text(string.ascii_lowercase + "_", min_size=1, max_size=20))
def test_an_unknown_key_is_always_refused(scratch: Path, written: str) -> None:
    """Whatever the spec has no field for is refused, at both levels."""
    if written in {*(KEYS + POLICY_KEYS).split(", "), "models"}:
        return

    for content in (f"{FULL}    {written}: x\n", f"{FULL}{written}: x\n"):
        path = write(scratch, content)
        # `no`, `on` and the like are not even text to YAML
        assert refusal(path).startswith(("models.yaml:23: A: ", "models.yaml:23: "))
        assert "unknown key" in refusal(path) or "which YAML reads as" in refusal(path)


@settings(parent=quick, suppress_health_check=[HealthCheck.too_slow])
@given(content=st.binary() | st.text().map(str.encode))
def test_any_bytes_are_read_or_refused_in_one_line(scratch: Path, content: bytes) -> None:
    """No file makes the reader raise anything but a SpecError of one line."""
    assert ONE_LINE.fullmatch(refusal(write(scratch, content)))


@settings(parent=quick, suppress_health_check=[HealthCheck.too_slow])
@given(place=st.integers(0, len(FULL)), cut=st.integers(0, 3), typed=st.text(max_size=3))
def test_any_edit_is_read_or_refused_in_one_line(
    scratch: Path, place: int, cut: int, typed: str
) -> None:
    """No edit of a good file makes the reader raise anything but a SpecError of one line."""
    content = FULL[:place] + typed + FULL[place + cut :]
    path = write(scratch, content.encode(errors="replace"))

    read = read_or_refused(path)

    assert ONE_LINE.fullmatch(read) if isinstance(read, str) else read.default.default


def without(spec: ModelSpec, key: str) -> ModelSpec:
    """`spec` with the default value of the field `key`."""
    field = next(field for field in fields(ModelSpec) if field.name == key)
    change: dict[str, Any] = {key: {} if field.default is MISSING else field.default}
    return replace(spec, **change)


# What --model means


@pytest.fixture
def three(tmp_path: Path) -> Registry:
    """A registry of three models."""
    entries = "N-Lla: {source: a/b, default: true}, N-Gem: {source: a/c}, S-Gem: {source: a/d}"
    return load_registry(write(tmp_path, f"models: {{{entries}}}"))


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, empty but for the registry."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("N-Gem", ["N-Gem"]),
        ("N-*", ["N-Lla", "N-Gem"]),
        ("*", ["N-Lla", "N-Gem", "S-Gem"]),
        ("?-Gem", ["N-Gem", "S-Gem"]),
        ("[S]-Gem", ["S-Gem"]),
    ],
)
def test_names_and_globs_find_models(three: Registry, pattern: str, names: list[str]) -> None:
    """A name finds its model; a glob finds all that it matches, in the order of the file."""
    assert resolve(three, pattern) == [three.models[name] for name in names]


@pytest.mark.parametrize("pattern", ["run", "./run", "run/", "run/../run"])
def test_a_checkpoint_folder_is_a_model(three: Registry, inside: Path, pattern: str) -> None:
    """A folder with a config.json is loaded as it is, under the folder's name."""
    (inside / "run").mkdir()
    (inside / "run" / "config.json").touch()

    assert resolve(three, pattern) == [ModelSpec("run", str(inside / "run"))]


def test_the_current_folder_has_its_own_name(
    three: Registry, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--model .` names the model after the folder, not after the dot."""
    (inside / "run").mkdir()
    (inside / "run" / "config.json").touch()
    monkeypatch.chdir(inside / "run")

    assert resolve(three, ".") == [ModelSpec("run", str(inside / "run"))]


def test_a_hub_id_is_a_model(three: Registry, inside: Path) -> None:
    """An id `owner/name` that is no path is taken from the hub, under the whole id."""
    assert resolve(three, "some-one/RM-8B_v0.2") == [
        ModelSpec("some-one/RM-8B_v0.2", "some-one/RM-8B_v0.2")
    ]


def test_a_folder_hides_a_hub_id(three: Registry, inside: Path) -> None:
    """`owner/name` that exists as a checkpoint folder is the folder."""
    (inside / "owner" / "name").mkdir(parents=True)
    (inside / "owner" / "name" / "config.json").touch()

    assert resolve(three, "owner/name") == [ModelSpec("name", str(inside / "owner" / "name"))]


def test_a_name_hides_a_folder(three: Registry, inside: Path) -> None:
    """A folder that is called like a model of the registry does not stand in for it."""
    (inside / "N-Gem").mkdir()
    (inside / "N-Gem" / "config.json").touch()

    assert resolve(three, "N-Gem") == [three.models["N-Gem"]]


@pytest.mark.parametrize("steps", [(500,), (1000, 500), (99, 1000, 500)])
def test_an_output_folder_names_its_newest_checkpoint(
    three: Registry, inside: Path, steps: tuple[int, ...]
) -> None:
    """By number, not by spelling; what holds no checkpoint is no candidate."""
    for step in steps:
        (inside / "run" / f"checkpoint-{step}").mkdir(parents=True)
        (inside / "run" / f"checkpoint-{step}" / "adapter_config.json").touch()
    for other in ("checkpoint-9999", "checkpoint-last", "old-checkpoint-5000"):
        (inside / "run" / other).mkdir()
    (inside / "run" / "checkpoint-last" / "config.json").touch()

    with pytest.raises(SpecError) as caught:
        resolve(three, "run")

    assert str(caught.value) == (
        "'run' holds no checkpoint itself, but those of a training run; give one of them, the "
        f"newest being: --model run/checkpoint-{max(steps)}"
    )


@pytest.mark.parametrize("marker", ["config.json", "adapter_config.json"])
@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("run/checkpoint-500", "run-checkpoint-500"),
        ("run/checkpoint-500/", "run-checkpoint-500"),
        ("run/checkpoint-best", "checkpoint-best"),
        ("run/my-checkpoint-5", "my-checkpoint-5"),
    ],
)
def test_a_checkpoint_of_a_run_has_the_runs_name(
    three: Registry, inside: Path, folder: str, name: str, marker: str
) -> None:
    """`checkpoint-500` alone says nothing in a report, and two runs could not be told apart."""
    (inside / folder).mkdir(parents=True)
    (inside / folder / marker).touch()

    assert resolve(three, folder) == [ModelSpec(name, str(inside / folder))]


ELSE = "or give a glob over these, a checkpoint folder or a hub id 'owner/name'"
NO_CHECKPOINT = (
    "has no config.json (or adapter_config.json) in it: it is not a checkpoint folder; give the "
    "folder that save_pretrained or a trainer wrote"
)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (
            "n-gem",
            (
                "models.yaml: unknown model 'n-gem'; did you mean 'N-Gem'? "
                f"known: N-Lla, N-Gem, S-Gem; {ELSE}"
            ),
        ),
        (
            "gpt",
            f"models.yaml: unknown model 'gpt'; known: N-Lla, N-Gem, S-Gem; {ELSE}",
        ),
        ("", f"models.yaml: unknown model ''; known: N-Lla, N-Gem, S-Gem; {ELSE}"),
        (
            "a/b/c",
            f"models.yaml: unknown model 'a/b/c'; known: N-Lla, N-Gem, S-Gem; {ELSE}",
        ),
        ("X-*", "models.yaml: no model matches 'X-*'; known: N-Lla, N-Gem, S-Gem"),
        ("n-*", "models.yaml: no model matches 'n-*'; known: N-Lla, N-Gem, S-Gem"),
        (".", f"'.' {NO_CHECKPOINT}"),
        ("chat.jinja", f"'chat.jinja' {NO_CHECKPOINT}"),
    ],
)
def test_what_names_nothing_is_one_line(
    three: Registry, inside: Path, pattern: str, text: str
) -> None:
    """A pattern that means no model is told with what there is."""
    with pytest.raises(SpecError) as caught:
        resolve(three, pattern)

    assert str(caught.value).replace(f"{inside}/", "") == text


# Which file is read


def test_the_current_directorys_file_comes_first(inside: Path) -> None:
    """A team's own models.yaml is used where pytest is started beside it."""
    write(inside, FULL)

    assert default_path() == Path("models.yaml")


@pytest.mark.parametrize("place", ["pkg/models.yaml", "models.yaml"])
def test_otherwise_the_bundled_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Without one, it is the file in the package (a wheel) or one folder up (a checkout)."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / place).touch()
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "pkg" / "config" / "registry.py"))
    monkeypatch.chdir(tmp_path / "work")

    assert default_path() == tmp_path / place


# The file that rmaudit brings


def test_the_bundled_models() -> None:
    """The embedded default and the paper's ten, with the ranks of its Table 1."""
    read = load_registry(ROOT / "models.yaml")

    assert read.default.name == "R-Smol-135M"
    assert read.default.source == "embedded"
    assert {s.name: s.rewardbench_rank for s in read.models.values() if s.rewardbench_rank} == {
        "N-Gem-27B": 2,
        "S-Gem-27B-v0.2": 3,
        "S-Gem-27B": 5,
        "S-Lla-8B-v0.2": 10,
        "N-Lla-8B": 11,
        "L-Lla-8B": 12,
        "R-Lla-8B": 17,
        "R-Lla-3B": 19,
        "F-Lla-8B-v0.1": 20,
        "R-Gem-2B": 31,
    }


def test_the_bundled_models_beyond_the_paper() -> None:
    """Each goes by the last part of its hub id, says something, and pins nothing unverified."""
    models = load_registry(ROOT / "models.yaml").models.values()
    others = [spec for spec in models if spec.source != "embedded" and not spec.rewardbench_rank]

    assert len(others) == 16
    for spec in others:
        assert spec.name == spec.source.partition("/")[2]
        assert spec.notes
        assert spec.developer
        assert spec.revision is None
    logits = {spec.name: spec.logit for spec in others if spec.logit is not None}
    assert logits == {
        "Llama-3.1-Nemotron-70B-Reward-HF": 0,
        "Llama-3.3-Nemotron-70B-Reward": 0,
    }
    assert not [spec.name for spec in models if spec.trust_remote_code]


@pytest.mark.parametrize("key", KEYS.split(", "))
def test_the_bundled_file_explains_every_key(key: str) -> None:
    """The comment at its head has a line for each key that may be written."""
    header = (ROOT / "models.yaml").read_text(encoding="utf-8").split("\nmodels:\n")[0]

    assert f"\n#     {key} " in header


# What reading it costs

LOADED = (
    "import sys, {module}; print(*sorted({{'torch', 'transformers', 'yaml'}} & {{*sys.modules}}))"
)


def loaded_by(module: str) -> str:
    """Those of torch, transformers and yaml that importing `module` loads."""
    command = [sys.executable, "-c", LOADED.format(module=module)]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()


def test_the_registry_loads_neither_torch_nor_transformers() -> None:
    """Listing the models is instant."""
    assert loaded_by("rmaudit.config.registry") == "yaml"


def test_the_test_above_can_fail() -> None:
    """Its probe sees a module that is loaded, and only then."""
    assert [loaded_by("json"), loaded_by("yaml")] == ["", "yaml"]
