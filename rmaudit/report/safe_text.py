"""Make texts that others wrote (tokens, names, reasons) safe to show: vocabularies are hostile.

What would not show, or would not show as it is, is spelled out as Python writes it: control and
bidirectional characters, ANSI escapes, lone surrogates, spaces of another width.
"""

from __future__ import annotations

import re

from rmaudit.invisible_characters import spelled_out

_LONGEST = 40  # characters of a token that are shown
_LONGEST_URL = 48  # characters of a web address that is shown in full
_OUTER_SPACE = re.compile("^ | $")
_BETWEEN_BREAKS = re.compile(r"[^\n\t]+")
_URL = re.compile(r"https?://[^\s<>\"']+")

# What CI systems obey when it is printed: GitHub's at the start of a line (`::error::`), and
# anywhere in it those of GitHub's older form (`##[error]`), Azure (`##vso[`) and TeamCity.
_COMMAND = re.compile(r"^\s*:(?=:)|#(?=#\w*\[)", re.MULTILINE)


def visible(text: str, longest: int = _LONGEST) -> str:
    """Write a token's invisible characters as escapes, and cut it after `longest` characters."""
    shown = _OUTER_SPACE.sub("␣", spelled_out(text[:longest]))
    more = f"… ({len(text)} characters)" if len(text) > longest else ""
    return shown + more if text else "(empty)"


def block(text: str) -> str:
    """Write a text's invisible characters as escapes, except line breaks and tabs."""
    return _BETWEEN_BREAKS.sub(lambda found: spelled_out(found[0]), text)


def line(text: str) -> str:
    """Write a text's invisible characters as escapes, and join its lines to one."""
    return block(" ".join(text.split()))


def log(text: str) -> str:
    """Escape a text for a CI log, so that the CI system does not execute any line as a command."""
    return _COMMAND.sub(_escaped_mark, block(text))


def addressed(text: str) -> str:
    """Return the text with long web addresses cut after their host: `https://example.org/…`."""
    return _URL.sub(_host_only, text)


def _host_only(url: re.Match[str]) -> str:
    if len(url[0]) <= _LONGEST_URL:
        return url[0]
    return f"{'/'.join(url[0].split('/')[:3])[: _LONGEST_URL - 2]}/…"


def _escaped_mark(command: re.Match[str]) -> str:
    """Escape the last character of the mark that starts a CI command, so that CI ignores it."""
    return f"{command[0][:-1]}\\x{ord(command[0][-1]):02x}"
