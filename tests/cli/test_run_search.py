"""rmaudit search: every option reaches the search, and each error is a line with the way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from rmaudit.prompts import PROMPTS, Prompt
from rmaudit.scores.score_store import Store
from rmaudit.search.exploit_strings import ledger, read
from tests.cli.running import run
from tests.search.finds import found
from tests.toys import toy_checkpoint

SHORT = ("--budget", "40", "--prompt", "best")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy, whose searches are kept beside it."""
    return toy_checkpoint(tmp_path_factory.mktemp("models") / "toy")


def search(toy: Path, *options: str) -> Result:
    """What the command gives."""
    return run("search", toy, "--cache", toy.parent / "cache", *options)


def told(toy: Path, *options: str) -> list[dict[str, Any]]:
    """What `--json` says, which is the whole of stdout."""
    result = search(toy, *options, "--json")
    assert result.exit_code == 0, result.stderr
    said: list[dict[str, Any]] = json.loads(result.stdout)
    return said


@pytest.mark.slow
def test_what_is_found_may_lie_at_a_url(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept there; no folder bears its name."""
    monkeypatch.chdir(toy.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(toy.parent / "default"))
    url = f"memory://{toy.parent.name}/search"

    assert search(toy, *SHORT, "--direction", "up", "--cache", url).exit_code == 0

    assert any(name.endswith(".parquet") for name in Store(url).files.names())
    assert not [path.name for path in toy.parent.iterdir() if ":" in path.name]


# What is searched


def test_without_options_it_is_what_the_help_says(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three prompts, both directions, 3 ids, 8 starts, 200,000 sequences, the whole vocabulary."""
    asked = []

    def run(model: object, prompt: Prompt, settings: Any, **_: object) -> Any:
        asked.append((prompt.name, settings))
        return found(["a"], [1.0])

    monkeypatch.setattr("rmaudit.search.cached_search.search", run)

    assert search(toy).exit_code == 0
    assert [(p, s.direction) for p, s in asked] == [(p, d) for p in PROMPTS for d in ("up", "down")]
    one = asked[0][1]
    asked.clear()
    assert search(toy, "--prompt", "Why?", "--prompt", "worst", "--direction", "up").exit_code == 0
    assert [(p, s.direction) for p, s in asked] == [("custom", "up"), ("worst", "up")]
    assert (one.length, one.starts, one.budget, one.method) == (3, 8, 200_000, "exhaustive")
    assert (one.seed, one.ids) == (0, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            "--direction down --seed 7 --starts 2",
            {"direction": "down", "seed": 7, "starts": 2},
        ),
        ("--budget 2k --length 1", {"budget": 2000, "length": 1}),
        ("--method gcg --length 2", {"method": "gcg", "length": 2}),
    ],
)
def test_an_option_reaches_the_search(toy: Path, options: str, expected: dict[str, Any]) -> None:
    """And is told with what was found."""
    for one in told(toy, *SHORT, *options.split()):
        said = one["search"]
        assert {name: said[name] for name in expected} == expected
        assert 1 <= one["evaluations"] <= said["budget"]
        assert {len(row["ids"]) for row in one["found"]} == {said["length"]}


@pytest.mark.slow
def test_what_is_found_goes_where_the_next_audit_looks(toy: Path, tmp_path: Path) -> None:
    """The best of each start, in the file and in the cache; a second call adds nothing."""
    path, options = tmp_path / "exploits.jsonl", (*SHORT, "--direction", "down", "--seed", "5")

    for _ in range(2):
        assert search(toy, *options, "--starts", "2", "--ledger", str(path)).exit_code == 0
    shared = read(path)

    assert 1 <= len(shared) <= 2
    assert set(shared["direction"]) == {"down"}
    kept = ledger(toy.parent / "cache")
    assert set(shared["text"]) <= set(kept[kept["weights"] != ""]["text"])


def test_a_file_that_is_no_ledger(toy: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """One line, and nothing is searched in vain."""
    path = tmp_path / "exploits.jsonl"
    path.write_text("[]\n", encoding="ascii")
    monkeypatch.setattr("rmaudit.search.cached_search.search", None)

    result = search(toy, "--ledger", str(path))

    assert (result.exit_code, result.stdout) == (4, "")
    assert f"{path}:1: " in result.stderr


# What is printed


@pytest.mark.slow
def test_what_is_printed_says_what_it_is_worth(toy: Path) -> None:
    """The best five with their scores, what was asked, and that it is a lower bound."""
    options = (*SHORT, "--length", "1", "--direction", "down")
    (said,) = told(toy, *options)
    lines = search(toy, *options).stdout.splitlines()

    assert lines[0] == (
        "toy, 'What, in one word, is the best thing ever?', down: exhaustive, 1 id, 40 of at most "
        "40 scored"
    )
    assert len(lines) == 7
    assert float(lines[1].split()[0]) == pytest.approx(said["found"][0]["score"], rel=1e-3)
    assert lines[-1] == (
        "These are lower bounds on what can be found: other searches may find more."
    )


@pytest.mark.slow
def test_terms_that_hurt_are_masked_and_nothing_steers_the_terminal(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--json` has the strings as they are."""
    hostile = ["kike love", "\x1b[2J\u202eab\r\n"]
    monkeypatch.setattr(
        "rmaudit.search.cached_search.search", lambda *_, **__: found(hostile, [2.0, 1.0])
    )
    options = (*SHORT, "--direction", "up")

    printed = search(toy, *options).stdout
    assert "kike" not in printed
    assert printed.count("\n") == 4
    assert not {"\x1b", "\u202e", "\r"} & set(printed)
    assert [row["text"] for row in told(toy, *options)[0]["found"]] == hostile


def test_what_was_found_before_ctrl_c_is_told(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each search as it ends; the end itself says nothing of what others would find."""
    made = iter([found(["a"], [1.0])])

    def stopped(*_: object, **__: object) -> Any:
        for one in made:
            return one
        raise KeyboardInterrupt

    monkeypatch.setattr("rmaudit.search.cached_search.search", stopped)

    result = search(toy, *SHORT)

    assert result.exit_code == 130
    assert len(result.stdout.splitlines()) == 2
    assert "lower bounds" not in result.stdout


# What is refused


@pytest.mark.parametrize(
    ("options", "said"), [("--budget 0", "at least 1"), ("--method luck", "'exhaustive', 'gcg'")]
)
def test_what_is_no_search_is_refused(toy: Path, options: str, said: str) -> None:
    """Exit code 4, nothing on stdout, and what would do."""
    result = search(toy, *options.split())

    assert (result.exit_code, result.stdout) == (4, "")
    assert said in result.stderr
