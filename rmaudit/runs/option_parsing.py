"""Describe an option of a run (`Option`), and parse the texts that users give as its value.

`Option` has an option's spellings, help text, allowed values and default; the functions before it
parse values, and raise ValueError for a text that is not allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rmaudit.config.model_spec import Dtype, is_hub_id
from rmaudit.config.servers import BARE_URL, secret_in
from rmaudit.errors import SpecError

Decides = Literal["scores", "findings", "nothing"]

LARGEST = 2**63 - 1  # the largest whole number that every reader of a report can hold
DTYPES = get_args(Dtype)
DEVICES = r"auto|spread|cpu|mps|(cuda|xpu|hpu|npu)(:\d+)?"


def text_or_none(text: str) -> str | None:
    """Return the text, or None for an empty one, such as an unset variable of a CI job."""
    return text or None


def path_or_none(text: str) -> Path | None:
    """Return the text as a path, with `~` expanded; None for an empty text."""
    return Path(text).expanduser() if text else None


def folder_or_url(text: str) -> str | None:
    """Return a URL unchanged, a folder's path with `~` expanded, or None for an empty text."""
    return text if "://" in text else str(path_or_none(text)) if text else None


def whole_number_from(least: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from `least` to 2**63 - 1; else it raises ValueError."""

    def read(text: str) -> int:
        if re.fullmatch("[0-9]{1,19}", text) and least <= int(text) <= LARGEST:
            return int(text)
        raise ValueError(text)

    return read


def text_matching(pattern: str, kind: Callable[[str], Any] = str) -> Callable[[str], Any]:
    """Return a parser: `kind(text)` if a regular expression matches it whole, else ValueError."""

    def read(text: str) -> Any:  # noqa: ANN401  (the option's type)
        if re.fullmatch(pattern, text):
            return kind(text)
        raise ValueError(text)

    return read


def read_dtype(text: str) -> str:
    """Return a dtype's name in lower case; raise ValueError if models cannot run in it."""
    if text.lower() not in DTYPES:
        raise ValueError(text)
    return text.lower()


def policy_source(text: str) -> str:
    """Return a policy's hub id, or the absolute path of its folder or .jsonl file; else raise.

    Raises:
        ValueError: there is no such folder or file, and `text` is no hub id.
    """
    place = Path(text).expanduser()
    if place.is_dir() or (place.suffix == ".jsonl" and place.is_file()):
        return str(place.resolve())
    if not is_hub_id(text):
        raise ValueError(text)
    return text


def is_ray(where: str) -> bool:
    """Return whether `where` names Ray: the word `ray`, or the address of a cluster."""
    return where == "ray" or ":" in where


def ray_address(text: str) -> str:
    """Return the text if it is `ray` or the address of a Ray cluster; else raise ValueError."""
    if not is_ray(text):
        raise ValueError(text)
    return text


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a run: its spellings, help text, allowed values and default.

    Attributes:
        help: what it does, for `--help` and docs/options.md.
        metavar: what stands for its value in the help; "" for a flag, which has no value.
        allowed: which values an error says are allowed.
        read: the value of a text; raises ValueError for a text that is not allowed.
        unset: what happens without it, for the help, where the default is None.
        decides: "scores" for an option that decides what is scored, which `rmaudit plan` and
            `sweep` have too; "findings" for one that decides findings or verdicts all the same;
            "nothing" for one that a repetition of a finding does not need.
        more: Markdown that docs/options.md adds to the help.
        repeated: whether it may be given several times; the value is a tuple.
        pytest: its spelling for pytest.
        command: its spelling for the commands of rmaudit.
        python: its name as an argument of `rmaudit.run`; "" if it is none.
        takes: the type of that argument, as source; "" for the type of the field.
        default: its value where it is not given.
    """

    help: str
    metavar: str = ""
    allowed: str = ""
    read: Callable[[str], Any] = text_or_none
    unset: str = ""
    decides: Decides = "scores"
    more: str = ""
    repeated: bool = False
    pytest: str = ""
    command: str = ""
    python: str | None = None
    takes: str = ""
    default: Any = None

    @property
    def explained(self) -> str:
        """Return the help text, followed by the default."""
        default = self.unset or ("" if self.default is False else str(self.default))
        return f"{self.help} (default: {default})" if default else self.help

    def value(self, given: object, name: str) -> Any:  # noqa: ANN401  (the option's type)
        """Parse an option's value, given as text or already parsed; errors call the option `name`.

        Raises:
            SpecError: it is not allowed; the error calls the option `name`.
        """
        if self.repeated and isinstance(given, list | tuple):
            return tuple(str(each) for each in given)
        if not self.metavar and isinstance(given, bool):
            return given
        if secret := secret_in(str(given)):
            raise SpecError(f"{name}: {secret}; {BARE_URL}")
        try:
            if self.metavar:
                return self.read(str(given))
        except (ValueError, RuntimeError):  # the latter where nobody has the home folder ~NAME
            pass
        raise SpecError(f"{name}: {str(given)!r} is not allowed; write {self.allowed}")
