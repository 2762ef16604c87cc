"""models.yaml is read strictly: what it means, and that nothing wrong in it goes unseen."""

from __future__ import annotations

import math
import re
import string
from dataclasses import MISSING, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rmaudit.checkpoints import bundled_model
from rmaudit.cli.list_models import explanation
from rmaudit.config.model_registry import FILE, ModelSpec, Registry, load_registry
from rmaudit.config.model_spec import Implicit
from rmaudit.config.models_yaml_schema import OWN
from rmaudit.config.paths_and_atomic_writes import bundled
from rmaudit.errors import SpecError
from rmaudit.verdicts.estimates_and_bounds import Severity
from rmaudit.verdicts.verdict_policy import NamedAudit, Policy, Rules, Waiver

ROOT = Path(__file__).parents[2]
HASH = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = "ab" * 32
ONE_LINE = re.compile(r"models\.yaml:[0-9]+: [^\n\r]+")
FULL = f"""\
bounds:
  skew: {{above: -1.5}}
  gap[best]: {{above: 0, below: 2.5e-1}}
severity: {{skew: info, 'gap[best+worst]': gate}}
models:
  A:
    source: owner/name
    revision: {HASH}
    dtype: bfloat16
    pool: last
    logit: 0
    quantized: true
    template: chat.jinja
    base: owner/base@{HASH}
    base_model: Llama 3
    rewardbench_rank: 7
    default: true
    trained_on: salt
    wanted:
      identifiers of code: It is a reward model for code.
      wine: 'So: it judges wine lists.'
    notes:
      - Written on
        two lines.
      - 'With: a colon.'
    bounds:
      skew[54 prompts]: {{below: 3}}
    severity:
      gap: info
    waivers:
      skew: {{owner: me@example.org, reason: so, expires: 2030-02-28, accepted: -0.2}}
  B: {{source: embedded, known: {{'skew[worst]': It is flat.}}, weights: {WEIGHTS}}}
"""


def line_of(part: str) -> int:
    """The only line of `FULL` that holds this."""
    (found,) = [i for i, line in enumerate(FULL.splitlines(), 1) if part in line]
    return found


SPEC = ModelSpec(
    "A",
    "owner/name",
    revision=HASH,
    dtype="bfloat16",
    pool="last",
    logit=0,
    quantized=True,
    template="chat.jinja",
    base=f"owner/base@{HASH}",
    base_model="Llama 3",
    rewardbench_rank=7,
    default=True,
    trained_on="salt",
    wanted=(
        ("identifiers of code", "It is a reward model for code."),
        ("wine", "So: it judges wine lists."),
    ),
    notes=("Written on two lines.", "With: a colon."),
)
POLICY = Policy(
    everywhere=Rules(
        bounds={"skew": (-1.5, math.inf), "gap[best]": (0, 0.25)},
        severity={"skew": Severity.INFO, "gap[best+worst]": Severity.GATE},
    ),
    models={
        "A": Rules(
            bounds={"skew[54 prompts]": (-math.inf, 3)},
            severity={"gap": Severity.INFO},
            waivers={"skew": Waiver("me@example.org", "so", date(2030, 2, 28), -0.2)},
        ),
        "B": Rules(known={"skew[worst]": "It is flat."}, weights=WEIGHTS),
    },
    sources={"A": "owner/name", "B": "embedded"},
    named=(
        NamedAudit("skew", "bounds: ", line_of("skew: {above: -1.5}")),
        NamedAudit("gap[best]", "bounds: ", line_of("gap[best]: {above")),
        NamedAudit("skew", "severity: ", line_of("severity: {skew")),
        NamedAudit("gap[best+worst]", "severity: ", line_of("severity: {skew")),
        NamedAudit("skew[54 prompts]", "A: bounds: ", line_of("skew[54 prompts]")),
        NamedAudit("gap", "A: severity: ", line_of("gap: info")),
        NamedAudit("skew", "A: waivers: ", line_of("skew: {owner")),
        NamedAudit("skew[worst]", "B: known: ", line_of("known: {'skew[worst]'")),
    ),
)


def write(folder: Path, content: str | bytes) -> Path:
    """A models.yaml in `folder`, beside the template that `FULL` names."""
    (folder / "chat.jinja").touch()
    path = folder / "models.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_or_refused(path: Path) -> Registry | str:
    """The registry, or the text of the SpecError without the folder; nothing else is caught."""
    try:
        return load_registry(path)
    except SpecError as error:
        return str(error).replace(f"{path.parent}/", "")


def refusal(folder: Path, content: str | bytes) -> str:
    """The one line with which a file is refused."""
    said = read_or_refused(write(folder, content))
    assert isinstance(said, str)
    assert ONE_LINE.fullmatch(said)
    return said.removeprefix("models.yaml:")


def entry(lines: str) -> str:
    """A registry whose default model A, on line 2, has `lines` from line 3 on."""
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"models:\n  A:\n{indented}    default: true\n"


# What a correct file means


def test_every_key_reaches_the_spec_and_the_policy(tmp_path: Path) -> None:
    """With the right types, texts folded, files absolute, and every audit with its line."""
    read = load_registry(write(tmp_path, FULL))

    assert list(read.models) == ["A", "B"]
    assert read.default == replace(SPEC, template=str(tmp_path / "chat.jinja"))
    assert {read.default: 1}[replace(read.default)] == 1  # models are cached by their specs
    assert read.policy == POLICY
    least = load_registry(write(tmp_path, "models: {A: {source: embedded, default: true}}"))
    assert least.models == {"A": ModelSpec("A", "embedded", default=True)}
    assert least.policy == Policy(sources={"A": "embedded"})


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
    path = write(tmp_path, entry(f"source: {written}\nbase: {written}"))
    monkeypatch.chdir(tmp_path / "elsewhere")

    spec = load_registry(path).default

    expected = meant.format(tmp_path).replace(f"{tmp_path.name}/../", "")
    assert (spec.source, spec.base) == (expected, expected)


def test_an_implicit_reward_is_made_of_the_models_that_it_names(tmp_path: Path) -> None:
    """Models of the file, folders beside it and hub ids; it takes what it does not say itself."""
    (tmp_path / "run").mkdir()
    start = f"source: owner/base, revision: {HASH}, dtype: float16, template: chat.jinja"
    text = f"""models:
  A: {{implicit: {{policy: start, reference: run, beta: 0.5, closing: true}}, dtype: bfloat16}}
  B: {{implicit: {{policy: run, reference: owner/base, beta: 0.1}}}}
  C: {{implicit: {{policy: owner/base}}}}
  start: {{{start}, default: true}}
"""
    models, folder = load_registry(write(tmp_path, text)).models, str(tmp_path / "run")

    taken = (models["A"].source, models["A"].revision, models["A"].dtype, models["A"].template)
    assert taken == ("owner/base", HASH, "bfloat16", str(tmp_path / "chat.jinja"))
    assert models["A"].implicit == Implicit(ModelSpec("A's reference", folder), 0.5, closing=True)
    assert (models["B"].source, models["C"].source) == (folder, "owner/base")
    own = ModelSpec("B's reference", "owner/base")
    assert models["B"].implicit == Implicit(own, 0.1, closing=False)
    assert models["C"].implicit == Implicit(None, 1.0, closing=False)
    text = text.replace("policy: owner/base", "policy: E") + "  D: {source: a/b}\n"
    said = refusal(tmp_path, f"{text}  E: {{ensemble: {{members: [start, D], rule: mean}}}}\n")
    assert said.startswith("4: C: implicit: policy: E is an ensemble, and no language model")


# What is wrong with a file: where, what was found, what is allowed

TWO = "models:\n  A: {source: a/b, default: true}\n"
SOURCES = "'embedded', a hub id 'owner/name', or a folder"
COMMIT = "commit hash of 40 hex digits"
NUMBER = "a whole number above 0"


@pytest.mark.parametrize(
    ("content", "line", "named"),
    [
        ("", 1, "empty|'models'"),
        ("\n- A\n", 2, "mapping|models|got a list"),
        ("A", 1, "mapping|models|got the text 'A'"),
        ("{}", 1, "'models' is missing"),
        ("\nmodel: {}", 2, "unknown key 'model'|did you mean 'models'?|bounds, severity"),
        ("models: {}\nwaivers: {}", 2, "unknown key 'waivers'|allowed: models, bounds, severity"),
        ("models: {}\nmodels: {}", 2, "duplicate key 'models'|line 1"),
        ("models:", 1, "models: |mapping|got nothing"),
        ("\nmodels: {}", 2, "there is no model|write one"),
        (f"{TWO}  C: {{source: a/b, default: true}}", 3, "C: |second 'default: true'|A"),
        (f"{TWO}  A: {{source: a/b}}", 3, "models: |duplicate key 'A'|line 2"),
        ('models: {"a\\nb": {x: 1, x: 2}}', 1, r"'a\nb': |duplicate key 'x'"),
        ('models: {"a\\nb": 1}', 1, r"a name of|'a\nb'"),
        ("models:\n  A:", 2, "A: |mapping|source|got nothing"),
        ("models:\n  no: {source: a/b}", 2, "got no, which YAML reads as bool|; put it in quotes"),
        ("models:\n  'N-*': {source: a/b}", 2, "models: |a name of|got the text 'N-*'"),
        ("models:\n  ? [A]\n  : 1", 2, "models: |got a list"),
        ("a: b: c", 1, "not valid YAML|mapping values"),
        ("models:\n  A: 'x", 2, "not valid YAML|end of stream"),
        ("models:\n  A: \0", 2, "not valid YAML|control character"),
        ('models:\n  A: "\\UFFFFFFFF"', 2, "not valid YAML|escape"),
        ('models:\n  A: "\\U00110000"', 2, "not valid YAML|escape"),
        ("models:\n  A: *a", 2, "anchors and aliases are refused|'a'"),
        ("models:\n  A: !!python/object/apply:os.getcwd []", 2, "tags are refused|os.getcwd"),
        (b"models:\n  A: \xff", 2, "not UTF-8"),
    ],
)
def test_a_wrong_layout(tmp_path: Path, content: str | bytes, line: int, named: str) -> None:
    """What is no plain YAML, could run or point elsewhere, or is wrong above the entries."""
    said = refusal(tmp_path, content)

    assert said.startswith(f"{line}: ")
    assert [part for part in named.split("|") if part not in said] == []


WRONG = {  # the lines of an entry, the last of which is wrong, and what the error names
    "dtype: auto": f"'source' is missing|{SOURCES}",
    "source: a/b\nNotes: []": "unknown key 'Notes'|did you mean 'notes'?",
    "source: a/b\n1: 2": "expected text|got 1, which YAML reads as int when unquoted",
    "source: a/b\n<<: {dtype: auto}": "expected text|merge",
    "source:": f"{SOURCES}|got nothing",
    "source: embeded": f"{SOURCES}|'embeded'",
    "source: [a/b]": f"{SOURCES}|got a list",
    f"source: a/{'b' * 5000}": f"{SOURCES}|(5,002 characters)",
    f"source: ./{'b' * 5000}": "name too long|(5,002 characters)",
    f"source: a/b\ntemplate: {'b' * 5000}": "name too long",
    'source: "./a\\0b"': "NUL",
    'source: "./a\\ud800b"': "half a character",
    "source: ./loop": "levels of symbolic links",
    "source: a/b\nrevision: main": f"{COMMIT}|'main'",
    f"source: a/b\nrevision: {HASH[:12]}": COMMIT,
    f"source: a/b\nbase: a/c@{HASH[:12]}": f"'owner/name@COMMIT'|{COMMIT}",
    "source: a/b\npolicy: a/c@main": f"{COMMIT}|'a/c@main'",
    f"source: a/b@{HASH}": f"{SOURCES}|'a/b@",
    f"source: a/b\nrevision: {'1' * 40}": f"{COMMIT}|which YAML reads as int when unquoted",
    f"source: ./run\nrevision: {HASH}": "only a hub id has revisions",
    "source: a/b\ndtype: fp16": "one of auto, float32, bfloat16, float16|'fp16'",
    "source: a/b\npool: off": "one of auto, last, hf|got off, which YAML reads as bool",
    "source: a/b\ntemplate: no.jinja": "there is no file|no.jinja",
    "source: a/b\njudge: {yes: a, no: b, paraphrases: [no.jinja]}": "paraphrases: there is no file",
    "source: a/b\nbase_model: ' '": "expected text|' '",
    "source: a/b\nrewardbench_rank: 1e5": f"{NUMBER}|the text '1e5'",
    "source: a/b\nrewardbench_rank: '8'": f"{NUMBER}|the text '8'",
    **{
        f"source: a/b\nrewardbench_rank: {number}": f"{NUMBER}|got {number}, which YAML reads as"
        for number in ("0", "-8", "010", "0x10", "1:30", "1_000", "0.0", ".nan", ".inf", "true")
    },
    "source: a/b\nquantized: 'true'": "true or false|the text 'true'",
    "source: a/b\nnotes: One.": "a list of texts|'One.'",
    "source: a/b\nnotes:\n  - One.\n  - 2": "expected text|got 2",
    "source: a/b\nnotes:\n  - Unsure: its head": "got a mapping|quote a text",
    "source: a/b\nwanted: wine": "a mapping of names to what is said of each|'wine'",
    "source: a/b\nwanted: [wine]": "a mapping of names to what is said of each|got a list",
    "source: a/b\nwanted: {wine: ''}": "wanted: wine: expected text|''",
    "source: a/b\nwanted: {wine: }": "wanted: wine: expected text|got nothing",
    "source: a/b\nwanted: {wine: 7}": "wanted: wine: expected text|got 7|in quotes",
    "source: a/b\nwanted: {wine: {reason: So.}}": "wanted: wine: expected text|got a mapping",
    "source: a/b\nwanted: {'': So.}": "wanted: expected text|the text ''",
    "source: a/b\nwanted: {' ': So.}": "wanted: expected text|the text ' '",
    "source: a/b\nwanted: {7: So.}": "wanted: expected text|in quotes",
    "source: a/b\nwanted: {wine: So., wine: Too.}": "wanted: duplicate key 'wine'",
    "source: a/b\nbounds: {skew: 1}": "skew: |above, below|got 1",
    "source: a/b\nbounds: {skew: {}}": "skew: |{above: 0}",
    "source: a/b\nbounds: {skew: {above: .inf}}": "skew: above: |a number|.inf",
    "source: a/b\nbounds: {skew: {below: 1e-3}}": "skew: below: |a number|the text '1e-3'",
    f"source: a/b\nbounds: {{skew: {{below: {'9' * 400}}}}}": "skew: below: |a number",
    "source: a/b\nbounds: {skew: {above: 1, below: 1}}": "skew: |above 1 and below 1",
    "source: a/b\nbounds: {'s k[': {above: 1}}": "bounds: |the name of an audit|'s k['",
    "source: a/b\nseverity: {skew: warn}": "skew: |gate, info|'warn'",
    "source: embedded\nknown: {skew: }": "known: skew: |expected text|got nothing",
    "source: a/b\nknown: {skew: It is.}": "embedded|`waivers`|owner, reason, expires, accepted",
    "source: a/b\nweights: "
    + "a" * 64: "weights: |for which weights `waivers` hold|there are none",
    "source: embedded\nknown: {skew: So.}\nweights: abc": "weights: |64 hex digits|'abc'",
    "source: a/b\nwaivers: {skew: It is.}": "skew: |owner, reason, expires, accepted|'It is.'",
}
GOOD = {"owner": "me", "reason": "so", "expires": "2030-01-31", "accepted": "1"}


def waiver(**changes: str) -> str:
    """The line of a waiver with other words in it, or without a key where these are ""."""
    inner = ", ".join(f"{key}: {value}" for key, value in {**GOOD, **changes}.items() if value)
    return f"source: embedded\nwaivers: {{'skew[best]': {{{inner}}}}}"


WAIVERS = {
    **{waiver(**{key: ""}): f"'{key}' is missing" for key in GOOD},
    waiver(owner="' '"): "owner: expected text",
    waiver(owner='"\\u200b \\u3164"'): r"owner: expected text|'\u200b ",
    waiver(expires="soon"): "expires: |a day, such as 2030-01-31|'soon'",
    waiver(expires="2030-02-30"): "expires: |2030-02-30|no day",
    waiver(expires="2030-1-3"): "expires: |'2030-1-3'",
    waiver(accepted="all"): "accepted: |a number|'all'",
    waiver(owners="you"): "unknown key 'owners'|did you mean 'owner'?",
}


@pytest.mark.parametrize(("lines", "named"), (WRONG | WAIVERS).items())
def test_a_wrong_entry(tmp_path: Path, lines: str, named: str) -> None:
    """Told with its line, the model, the key, what was found and what is allowed."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    said = refusal(tmp_path, entry(lines))

    line = 2 if "source" not in lines else 2 + len(lines.splitlines())
    key = re.findall(r"^(\w{2,}):", lines, re.MULTILINE)[-1]
    assert said.startswith(f"{line}: A: ")
    assert key in said or "A: expected text" in said or "'source' is missing" in said
    assert [part for part in named.split("|") if part not in said] == []


def test_a_failure_is_known_or_waived(tmp_path: Path) -> None:
    """Not both: the one without an end would hide that the other ended."""
    said = refusal(tmp_path, entry(f"{waiver()}\nknown: {{skew: So.}}"))

    assert said.startswith("4: A: waivers: skew[best]: it is in `known` too")


@pytest.mark.parametrize("bomb", ["[", "{a: ", "- ", "? ", "models: [", "[[1]," * 9])
def test_nesting_costs_no_time(tmp_path: Path, bomb: str) -> None:
    """PyYAML takes time that grows with the square of the depth, here for hours."""
    assert "nested" in refusal(tmp_path, bomb * 100_000)


@pytest.mark.parametrize(
    ("make", "said"), [(False, "there is no such file"), (True, "cannot be read: Is a directory")]
)
def test_what_is_no_file(tmp_path: Path, make: bool, said: str) -> None:
    """It is named, with the system's reason."""
    if make:
        (tmp_path / "models.yaml").mkdir()

    with pytest.raises(SpecError, match=rf"models\.yaml: {said}; give the path"):
        load_registry(tmp_path / "models.yaml")


# No slip of the pen goes unseen

SCALAR_LINES = [line for line in FULL.splitlines() if re.match(r"    \w+: ", line)]
ENTRY_KEYS = [line.split(":")[0].strip() for line in SCALAR_LINES]
CHARACTERS = st.sampled_from(string.ascii_letters + string.digits + "_-. #:'\"")
long = settings(suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all examples of a property share."""
    return tmp_path_factory.mktemp("registry")


def without(spec: ModelSpec, key: str) -> ModelSpec:
    """`spec` with the default value of the field `key`."""
    field = next(field for field in fields(ModelSpec) if field.name == key)
    change: dict[str, Any] = {key: {} if field.default is MISSING else field.default}
    return replace(spec, **change)


@pytest.mark.slow
@long
@given(data=st.data())
def test_a_mistyped_key_never_changes_a_spec(scratch: Path, data: st.DataObject) -> None:
    """One wrong character in a key is refused, or is a comment, or is no change of meaning."""
    original = load_registry(write(scratch, FULL)).default
    key = data.draw(st.sampled_from([*ENTRY_KEYS, "wanted", "notes"]))
    place, cut = data.draw(st.integers(0, len(key))), data.draw(st.integers(0, 1))
    typed = key[:place] + data.draw(CHARACTERS | st.just("")) + key[place + cut :]

    read = read_or_refused(write(scratch, FULL.replace(f"    {key}:", f"    {typed}:")))

    if isinstance(read, str):
        assert ONE_LINE.fullmatch(read)
    else:
        assert read.default == (without(original, key) if typed.startswith("#") else original)


@long
@given(place=st.integers(0, len(FULL)), cut=st.integers(0, 3), typed=st.text(max_size=3))
@example(place=0, cut=0, typed="0")
def test_any_edit_is_read_or_refused_in_one_line(
    scratch: Path, place: int, cut: int, typed: str
) -> None:
    """No edit of a good file makes the reader raise anything but a SpecError of one line."""
    content = FULL[:place] + typed + FULL[place + cut :]

    read = read_or_refused(write(scratch, content.encode(errors="replace")))

    assert ONE_LINE.fullmatch(read) if isinstance(read, str) else read.default.default


def test_what_is_known_of_the_embedded_model_is_known_of_these_weights() -> None:
    """The hash in the bundled file is that of the model that this version builds.

    After a new training, look at each known failure again, and then change the hash.
    """
    (rules,) = (of for of in load_registry(bundled(FILE)).policy.models.values() if of.known)

    assert rules.weights == bundled_model.ingredients()


# The explanation


def test_the_bundled_file_begins_with_the_explanation_of_every_key() -> None:
    """It is made of the fields, each of which says what it means."""
    said = explanation()

    current = (ROOT / "models.yaml").read_text(encoding="utf-8").startswith(said)
    assert current, (
        "put what `rmaudit models --keys` prints in place of the comment at the top of models.yaml"
    )
    names = [field.name for field in (*fields(ModelSpec)[1:], *fields(Rules))]
    for name in [*names, *OWN.model_fields]:
        assert re.search(rf"^# +{name} +\w+[;:,]? \w+", said, re.MULTILINE), name
    assert max(map(len, said.splitlines())) <= 100


EDGES = {  # the least and the greatest that is allowed, and what lies beyond
    "concurrency": (("1", "9", "10", "59", "60", "64"), ("0", "65", "69", "70", "640")),
    "batch": (("1", "9999"), ("0", "10000")),
    "logit": (("0", "9999999"), ("-1", "10000000")),
    "rewardbench_rank": (("1", "999999"), ("0", "1000000")),
    "beta": (("0.0001", "999999.5"), ("0", "0.0", "-0.1", "1000000")),
}
SERVED = ("concurrency", "batch")


@pytest.mark.parametrize("key", EDGES)
def test_the_edges_of_a_number(tmp_path: Path, key: str) -> None:
    """Each is allowed, and what lies beyond it is not."""
    source = "source: vllm+http://host:8000" if key in SERVED else "source: a/b"
    line = "implicit: {{policy: a/b, reference: a/c, beta: {}}}" if key == "beta" else ""
    line = line or f"{source}\n{key}: {{}}"
    path = tmp_path / "models.yaml"
    for value in EDGES[key][0]:
        path.write_text(entry(line.format(value)), encoding="utf-8")
        load_registry(path)
    for value in EDGES[key][1]:
        assert f"{key}: expected" in refusal(tmp_path, entry(line.format(value)))
