"""Each option of a run means the same to pytest, to the commands and to `rmaudit.run`."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import assume, example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import rmaudit
from rmaudit.cli.shared_options import grouped
from rmaudit.errors import SpecError
from rmaudit.plugin.run_plan import plan_of
from rmaudit.runs.option_parsing import LARGEST
from rmaudit.runs.run_options import OPTIONS, RunOptions
from scripts import run_options

WITH_A_VALUE = [name for name, option in OPTIONS.items() if option.metavar]
TYPICAL = [
    *("", "0", "1", "-1", "1.5", "007", "x", "9" * 19, str(LARGEST), "٣", "two words", "-x", "@x"),
    *("auto", "cpu", "cuda:1", "cuda:", "float16", "BFloat16", "ray"),
    *(
        "host:6379",
        "a/b.jsonl",
        "./x//y",
        "~/x",
        "~nobody-has-this-name/x",
        "s3://bucket/x",
        "best,worst",
    ),
]
TEXTS = st.sampled_from(TYPICAL) | st.text("ab01 .-~@/'\"\\é", max_size=9)
# argparse takes a value `--` for the end of the options.
NAMES = st.text("ab01.-~@/ é", min_size=1, max_size=9).filter(lambda name: name != "--")


class Configured:
    """A plugin that stops pytest as soon as it knows its options."""

    seen: RunOptions | str = "pytest has no such option"

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Read the options, and stop."""
        try:
            self.seen = plan_of(config).options
        except pytest.UsageError as error:
            self.seen = str(error)
        raise pytest.UsageError("that is all")


def by_pytest(words: Sequence[str]) -> RunOptions | str:
    """Return the options that pytest reads from these words, or why it refuses them."""
    plugin, said = Configured(), io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        pytest.main(["-c", "/dev/null", "-p", "no:cacheprovider", *words], plugins=[plugin])
    return plugin.seen


def by_command(words: Sequence[str]) -> RunOptions | str:
    """Return the options that a command reads from these words, or why it refuses them."""
    app, seen = typer.Typer(), list[RunOptions]()

    def command(*, run: RunOptions) -> None:
        seen.append(run)

    command.__annotations__ = {"run": RunOptions, "return": None}
    app.command()(grouped(command))
    ran = CliRunner().invoke(app, [*words])
    return seen[0] if seen else str(ran.exception)


def by_python(name: str, value: object) -> RunOptions | str:
    """Return the options of `rmaudit.run` with this argument, or why it refuses them."""
    try:
        return RunOptions.of({name: value})
    except SpecError as error:
        return str(error)


def after(name: str, said: RunOptions | str) -> RunOptions | str:
    """Return an error without the name of the option, with which it begins."""
    if isinstance(said, str):
        assert said.startswith(f"{name}: ")
    return said.removeprefix(f"{name}: ") if isinstance(said, str) else said


@pytest.mark.slow
@given(name=st.sampled_from(WITH_A_VALUE), text=TEXTS)
def test_a_value_is_accepted_or_refused_alike(name: str, text: str) -> None:
    """To an equal option, or with the same words after the name of the option."""
    assume(text != "--")  # which argparse drops, also behind a `=`
    option = OPTIONS[name]
    expected = after(name, by_python(name, [text] if option.repeated else text))

    assert after(option.pytest, by_pytest([f"{option.pytest}={text}"])) == expected
    if option.decides == "scores":
        assert after(option.command, by_command([f"{option.command}={text}"])) == expected


@pytest.mark.parametrize("name", [name for name, one in OPTIONS.items() if not one.metavar])
def test_a_flag_is_off_unless_it_is_given(name: str) -> None:
    """On a command line by itself; in Python as True, and nothing else stands for it."""
    assert by_pytest([OPTIONS[name].pytest]) == by_python(name, value=True)
    assert by_python(name, value=False) == by_pytest([]) == RunOptions()
    assert by_python(name, "yes") == f"{name}: 'yes' is not allowed; write True or False"


WRONG: dict[str, tuple[str, list[Any]]] = {
    "seed": ("a whole number from 0", [-1, 1.5, "x", 2**63, "9" * 5000]),
    "sample": ("a positive whole number of token ids", [0, -3, 0.5, "all", "٣"]),
    "search": ("number of evaluations", ["2k", -1]),
    "device": ("auto, spread, cpu, mps, or cuda, ", ["gpu", "cuda:", "cpu:1"]),
    "dtype": ("auto, float32, bfloat16, float16", ["int8"]),
    "on": ("write ray, or the address", ["sun"]),
    "recorded": ("True or False", [1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named_with_what_is_allowed(name: str) -> None:
    """Before anything runs; an empty text is none either, but for a flag."""
    allowed, wrong = WRONG[name]
    for value in [*wrong, *[""] * (name != "recorded")]:
        said = by_python(name, value)
        assert isinstance(said, str), value
        assert all(each in said for each in (name, str(value), allowed))


def values(name: str) -> st.SearchStrategy[Any]:
    """Return a strategy of values of an option, as `RunOptions.of` has them."""
    option = OPTIONS[name]
    if not option.metavar:
        return st.booleans()
    read: Callable[[str], Any] = option.read
    if option.repeated:
        return st.lists(NAMES, max_size=3).map(tuple)

    def allowed(text: str) -> bool:
        try:
            return read(text) is not None
        except (ValueError, RuntimeError):
            return False

    found = st.sampled_from([option.default, *(read(text) for text in TYPICAL if allowed(text))])
    return found | NAMES.filter(allowed).map(read) if allowed("any name") else found


RUNS = st.fixed_dictionaries({name: values(name) for name in OPTIONS}).map(
    lambda found: RunOptions(**found)
)


@pytest.mark.slow
@example(run=RunOptions(samples=Path("--"), cache="--", registry=Path("--x"), pairs=Path("-")))
@given(run=RUNS)
def test_the_words_of_a_run_give_it_again(run: RunOptions) -> None:
    """To pytest; to a command, but for what does not decide scores; and through a shell."""
    assert by_pytest(shlex.split(shlex.join(run.words(lambda one: one.pytest)))) == run
    asked = run.deciding("scores")
    assert by_command(asked.words(lambda one: one.command)) == asked


def test_a_repetition_needs_no_report_and_no_cluster() -> None:
    """But all that decides a finding: of the rest the defaults."""
    course = RunOptions(report=Path("r"), gate=True, on="ray")
    decided = replace(course, seed=3, recorded=True)

    assert course.deciding("scores", "findings") == RunOptions()
    again = decided.deciding("scores", "findings")
    assert again == RunOptions(seed=3, recorded=True)


def test_the_table_and_the_signature_are_written_from_the_options() -> None:
    """`python -m scripts.run_options` writes them anew; `rmaudit.run` checks what it is given."""
    assert run_options.PAGE.read_text(encoding="utf-8") == run_options.page()
    assert run_options.PYTHON.read_text(encoding="utf-8") == run_options.python()
    with pytest.raises(SpecError, match=r"^device: 'gpu' is not allowed"):
        rmaudit.run(device="gpu")
