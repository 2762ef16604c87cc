"""rmaudit new-audit: an audit to be edited, with its page and its test."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from rmaudit.cli.common import ERROR, USAGE, AsJson, echo_json, fail, say

_STARTER = Path(__file__).parent / "starter"
_FILES = {
    "audits/test_{}.py": "new_audit.txt",
    "docs/audits/{}.md": "new_audit_page.txt",
    "tests/test_{}_audit.py": "new_audit_test.txt",
}


def new_audit(
    name: Annotated[str, typer.Argument(help="what findings call it, such as kind_words")],
    folder: Annotated[Path, typer.Argument(file_okay=False, help="the repository")] = Path(),
    *,
    as_json: AsJson = False,
) -> None:
    """Write an audit for you to edit, with its page and a test of a planted flaw.

    The test puts two functions to the audit: one with the flaw, which must fail, and one without.
    Nothing is overwritten.
    """
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        fail(f"{name!r} is no name of an audit; allowed: small letters, digits and _", USAGE)
    texts = {
        folder / path.format(name): (_STARTER / text).read_text(encoding="utf-8")
        for path, text in _FILES.items()
    }
    if there := [path for path in texts if path.exists()]:
        fail(f"{there[0]} is there already; give the audit another name, or edit the file", USAGE)
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("NAME", name), encoding="utf-8")
        except OSError as error:
            fail(f"{path}: cannot be written: {error.strerror}", ERROR)
    if as_json:
        echo_json({"wrote": [str(path) for path in texts]})
        return
    for path in texts:
        say(f"wrote: {path}")
    audit, _, test = texts
    say(f"next: pytest {test}; then pytest {audit} --model NAME")
